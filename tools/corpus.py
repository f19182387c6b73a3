"""How many robot files of strangers load: `python tools/corpus.py FOLDER…`, each an unpacked wheel or a checkout.

Of every MJCF file that MuJoCo loads and every URDF with links, it says whether `ps.load` does, with the folder given as
`packages`, and lists the refusals and what the warnings say was left out, most frequent first.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

SKIPPED = "random_urdfs"  # of PyBullet: a thousand pebbles


def files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".xml", ".urdf", ".sdf") and SKIPPED not in path.parts:
            head = path.read_text("utf-8", "replace")
            if re.search(r"<(mujoco|robot|sdf)\b", head) and not re.search(r"<mujocoinclude", head):
                yield path


def kind_of(path: Path) -> str:
    found = re.search(r"<(mujoco|robot|sdf)\b", path.read_text("utf-8", "replace"))
    return {"mujoco": "MJCF", "robot": "URDF", "sdf": "SDF"}[found[1]] if found else ""


def peer_loads(path: Path) -> bool:
    """Whether the format's own library takes the file; SDF has none here."""
    try:
        if kind_of(path) == "MJCF":
            import mujoco

            getattr(mujoco, "MjModel").from_xml_path(str(path))  # noqa: B009 - its types are not known
        return True
    except Exception:  # whatever it raises, it does not load
        return False


def outcome(path: Path, alone: bool, packages: Path) -> tuple[str, str, list[str]]:
    """Kind, the refusal ("" where it loads), and the warnings, numbers taken out."""
    import phistar as ps

    if not peer_loads(path):
        return kind_of(path), "the peer refuses it too", []
    try:
        model = ps.load(path, packages=() if alone else packages)
    except ps.PhistarError as error:
        return kind_of(path), str(error), []
    except Exception as error:
        return kind_of(path), f"CRASH {type(error).__name__}: {error}", []
    return kind_of(path), "", [re.sub(r"[\d.]+", "#", warning) for warning in model.warnings]


def plain(reason: str) -> str:
    """A refusal without the names in it."""
    reason = re.sub(r"^\S+?:(\d+:)? ", "", reason)
    return re.sub(r"'[^']*'|\d+(\.\d+)?(e[+-]?\d+)?", "…", reason)[:160]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/corpus.py", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--alone", action="store_true", help="give no folder as packages")
    parser.add_argument("--refused", action="store_true", help="list every file that is refused")
    given = parser.parse_args()
    reasons, told, counts, crashed = Counter(), Counter(), {}, 0
    with ProcessPoolExecutor(1) as pool:
        for folder in given.folders:
            paths = list(files(folder))
            own: dict[str, Counter[str]] = {}
            for path, (kind, reason, warnings) in zip(
                paths, pool.map(partial(outcome, alone=given.alone, packages=folder), paths)
            ):
                tally = own.setdefault(kind, Counter())
                tally["peer" if reason != "the peer refuses it too" else "left"] += 1
                tally["loaded"] += not reason
                if reason and reason != "the peer refuses it too":
                    reasons[plain(reason)] += 1
                    crashed += reason.startswith("CRASH")
                    if given.refused:
                        print(f"    {path.relative_to(folder)}: {reason[:300]}")
                told.update(set(warnings))
            for kind, tally in own.items():
                print(f"{folder.name:20} {kind:5} {tally['loaded']:4} of {tally['peer']:4}", flush=True)
                counts[kind] = counts.get(kind, Counter()) + tally
    for kind, tally in counts.items():
        print(f"{'all':20} {kind:5} {tally['loaded']:4} of {tally['peer']:4}")
    for heading, each in (("refused", reasons), ("warned", told)):
        print(f"\n{heading}:")
        for text, count in each.most_common(25):
            print(f"{count:5} {text[:200]}")
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
