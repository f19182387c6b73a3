"""The table of captures: many runs of every cell, kept as they go, so that a stopped table is taken up again.

    python tools/capture_cells.py FOLDER                        every cell, 20 runs each
    python tools/capture_cells.py FOLDER --runs 200 --seed 5    more of them
    python tools/capture_cells.py FOLDER --only puma            cells whose names begin so
    python tools/capture_cells.py FOLDER --table                the table of what is there

A run takes 0.5 to 3 s of a core. FOLDER/CELL is the folder of a campaign, FOLDER/scenes holds the scene files.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import phistar as ps
from phistar.errors import PhistarError
from phistar.sim.scenes.toml import text_of
from tests.capture import pairs, variants

Maker = Callable[[Path], dict[str, Any]]


def _tumbling(base: str, degrees: float) -> Maker:
    spin = degrees * 3.141592653589793 / 180.0
    return lambda folder: variants.changed(base, spin={"vector": [spin, spin]})


def _pair(arm: str, target: str) -> Maker:
    return lambda folder: pairs.content(arm, target, folder)


def _mesh(arm: str) -> Maker:
    def made(folder: Path) -> dict[str, Any]:
        variants.write_mesh(folder)
        return pairs.content(arm, "box", folder, shapes=variants.MESH)

    return made


def _slippery(folder: Path) -> dict[str, Any]:
    made = variants.changed("grapple")
    made["surface"]["friction"], made["controller"]["friction"] = 0.2, 0.2
    return made


CELLS: dict[str, Maker] = {
    "puma-5-fixed": lambda folder: variants.changed("grapple"),
    "puma-5-free": lambda folder: variants.changed("grapple-free"),
    **{f"puma-{d}-fixed": _tumbling("grapple", d) for d in (10, 20, 30)},
    **{f"puma-{d}-free": _tumbling("grapple-free", d) for d in (10, 20, 30)},
    **{f"puma-{target}": _pair("puma", target) for target in ("cylinder", "prism", "ball")},
    "puma-mesh": _mesh("puma"),
    **{f"{arm}-{target}": _pair(arm, target) for arm in ("ur5", "panda") for target in ("box", "cylinder", "prism")},
    **{f"{arm}-mesh": _mesh(arm) for arm in ("ur5", "panda")},
    "one-arm-handle": lambda folder: variants.changed("grapple-handle"),
    "one-arm-ring": lambda folder: variants.changed("grapple-handle", shapes=variants.ring()),
    "one-arm-ball": lambda folder: variants.changed("grapple-handle", shapes=variants.sphere_with_handle()),
    "three-arms-box": lambda folder: variants.three_arms(),
    "three-arms-prism": lambda folder: variants.three_arms(pairs.TARGETS["prism"]),
    "mass-centre-20%": lambda folder: variants.changed("grapple", com={"vector": [0.08, 0.08]}),
    "friction-0.2": _slippery,
    "drift-10mm": lambda folder: variants.changed("grapple", velocity={"vector": [0.01, 0.01]}),
    "panels-slosh-wheel": variants.spacecraft,
}
COLUMNS = ("cell", "captured", "at 95 %", "peak force, N: median, greatest", "distance, mm", "momentum", "s of a core")


def run(name: str, folder: Path, runs: int, seed: int, workers: int) -> None:
    scenes = folder / "scenes"
    scenes.mkdir(parents=True, exist_ok=True)
    path = scenes / f"{name}.toml"
    path.write_text(text_of(CELLS[name](scenes) | {"name": name}), "utf-8")
    ps.campaign(path, runs, seed, folder / name, workers=workers, resume=True)


def line(name: str, folder: Path) -> str:
    place = folder / name / "campaign.json"
    if not place.is_file():
        return ""
    told = json.loads(place.read_text("utf-8"))
    share, numbers = told["reached"], told["numbers"]
    if not share:
        return f"| {name} | {'; '.join(str(each['reason']) for each in told['failures'])[:200]} |"
    cells = [
        name,
        f"{share['count']} of {share['of']}",
        f"{share['low']:.1%} to {share['high']:.1%}",
        f"{numbers['peak_force']['median']:.1f}, {numbers['peak_force']['max']:.1f}",
        f"{1e3 * numbers['min_distance']['min']:.2f}",
        f"{numbers['momentum_drift']['max']:.0e}" if "momentum_drift" in numbers else "",
        f"{numbers['core_time']['median']:.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="cells whose names begin so")
    parser.add_argument("--table", action="store_true", help="print what is there, run nothing")
    given = parser.parse_args()
    names = [name for name in CELLS if name.startswith(given.only)]
    print("| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS), sep="\n", flush=True)
    for name in names:
        try:
            if not given.table:
                run(name, given.folder, given.runs, given.seed, given.workers)
        except PhistarError as error:
            print(f"| {name} | {error} |", flush=True)
            continue
        if told := line(name, given.folder):
            print(told, flush=True)


if __name__ == "__main__":
    main()
