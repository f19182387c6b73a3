"""Films of examples/gallery for the site: `make gallery`, or `python tools/gallery.py NAME…` for some of them.

Each program there has a `motion()`, a sentence, and how fast its film runs; the films are small and kept in
docs/static/films, so that building the site need not draw them.
"""

import argparse
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import phistar as ps

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS, FILMS = ROOT / "examples" / "gallery", ROOT / "docs" / "static" / "films"
SIZE, RATE = (480, 320), 20.0
BACKGROUND = (246, 247, 248)


def programs() -> list[Path]:
    return sorted(PROGRAMS.glob("*.py"))


def program(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"gallery_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def film(path: Path, folder: Path, size: tuple[int, int] = SIZE, rate: float = RATE) -> Path:
    """Run a program and write its film."""
    scene = program(path)
    folder.mkdir(parents=True, exist_ok=True)
    return ps.view.film(scene.motion(), folder / f"{path.stem}.mp4", size, rate, background=BACKGROUND, **scene.FILM)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/gallery.py", description=__doc__)
    parser.add_argument("names", nargs="*", help="which of them; all by default")
    parser.add_argument("--out", type=Path, default=FILMS)
    given = parser.parse_args()
    for path in programs():
        if not given.names or path.stem in given.names:
            begin = time.perf_counter()
            made = film(path, given.out)
            print(
                f"{made.name:20} {made.stat().st_size / 1e3:6.0f} kB  {time.perf_counter() - begin:5.1f} s", flush=True
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
