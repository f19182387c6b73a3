"""The table of captures: many runs of every cell, kept in a file that the next call goes on from.

    python tools/capture_cells.py                             20 runs of every cell, as far as they are not there yet
    python tools/capture_cells.py --runs 200 --only puma ur5  200 of the cells whose names begin so
    python tools/capture_cells.py --runs 0                    the table of what is there
    python tools/capture_cells.py --scenes FOLDER             the scenes: phistar run FOLDER/CELL.toml --seed S

A run takes 0.5 to 3 s of a core. They are made in campaigns of 20, each with a seed of its own, cell after cell and
then all over again, and written down one by one in docs/simulation/captures.json with the commit that made them. How
often each cell was captured is asked for in `ASKED`; a capture whose greatest contact force is above the cell's limit
is none.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

import phistar as ps
from phistar.errors import PhistarError
from phistar.sim.campaign.counting import share
from phistar.sim.scenes.toml import text_of
from tests.capture import pairs, variants

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "simulation" / "captures.json"
BLOCK = 20  # runs of a campaign
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
    "one-arm-round-bar": lambda folder: variants.round_handle(),
    "one-arm-ball": lambda folder: variants.changed("grapple-handle", shapes=variants.sphere_with_handle()),
    "three-arms-box": lambda folder: variants.three_arms(),
    "three-arms-prism": lambda folder: variants.three_arms(pairs.TARGETS["prism"]),
    "mass-centre-20%": lambda folder: variants.changed("grapple", com={"vector": [0.08, 0.08]}),
    "friction-0.2": _slippery,
    "drift-10mm": lambda folder: variants.changed("grapple", velocity={"vector": [0.01, 0.01]}),
    "drift-50mm-following": lambda folder: variants.following(),
    "panels-slosh-wheel": variants.spacecraft,
}
COLUMNS = (
    "cell", "captured", "at 95 %", "asked", "contact force, N: median, greatest", "distance, mm", "momentum",
    "s of a core",
)  # fmt: skip


class Asked(NamedTuple):
    """Of so many runs which share is to be captured, with no contact force above a limit, N."""

    runs: int
    share: float
    force: float = np.inf


TOLD = Asked(200, 0.0)
ASKED = {
    **dict.fromkeys(("puma-5-fixed", "puma-5-free"), Asked(1000, 0.998, 40.0)),
    **dict.fromkeys(("puma-10-fixed", "puma-10-free"), Asked(200, 0.995, 60.0)),
    **dict.fromkeys(("puma-20-fixed", "puma-20-free"), Asked(200, 0.98, 60.0)),
    **dict.fromkeys(("puma-30-fixed", "puma-30-free"), TOLD),
}
OTHERS = Asked(200, 0.97)


def read_blocks(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8")) if path.is_file() else []


def write_blocks(path: Path, blocks: Sequence[Mapping[str, Any]]) -> None:
    lines = [json.dumps(block, ensure_ascii=False) for block in blocks]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def noted(block: dict[str, Any], row: Mapping[str, Any]) -> None:
    """Write a run into its block: its numbers, and the reason where it was no capture."""
    block["runs"] += 1
    peak = None if row.get("peak_force") is None else round(row["peak_force"], 2)
    if row.get("reached"):
        block["peaks"].append(peak)
    else:
        block["failures"].append({name: row.get(name) for name in ("seed", "outcome", "reason")} | {"peak": peak})
    for name, key, pick in (("distance", "min_distance", min), ("momentum", "momentum_drift", max)):
        if row.get(key) is not None:
            block[name] = row[key] if block[name] is None else pick(block[name], row[key])
    block["core_times"].append(round(row.get("core_time") or 0.0, 2))


def run_in_turn(names: Sequence[str], runs: int, kept: Path, scenes: Path, commit: str) -> None:
    """Make the runs that cells lack, a block of each in turn, so that every cell has some early."""
    refused: set[str] = set()
    for so_far in (*range(BLOCK, runs, BLOCK), runs):
        for name in (each for each in names if each not in refused):
            try:
                run(name, so_far, kept, scenes, commit)
            except PhistarError as error:
                refused.add(name)
                print(f"{name}: {error}", file=sys.stderr, flush=True)


def run(name: str, runs: int, kept: Path, scenes: Path, commit: str) -> None:
    """Make the runs that a cell lacks."""
    path, blocks = write_scene(name, scenes), read_blocks(kept)
    own = [block for block in blocks if block["cell"] == name]
    missing, seed = runs - sum(block["runs"] for block in own), max((block["seed"] for block in own), default=0)
    while missing > 0:
        seed, count = seed + 1, min(missing, BLOCK)
        block: dict[str, Any] = {"cell": name, "seed": seed, "commit": commit, "runs": 0}
        block |= {"peaks": [], "failures": [], "core_times": [], "distance": None, "momentum": None}
        blocks.append(block)

        def keep(row: Mapping[str, Any], block: dict[str, Any] = block) -> None:
            noted(block, row)
            write_blocks(kept, blocks)

        ps.campaign(path, count, seed, workers=1, progress=keep)
        missing -= count


def write_scene(name: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(text_of(CELLS[name](folder) | {"name": name}), "utf-8")
    return path


def line(name: str, blocks: Sequence[Mapping[str, Any]]) -> str:
    """A cell's row of the table."""
    own, asked = [block for block in blocks if block["cell"] == name], ASKED.get(name, OTHERS)
    if not own:
        return ""
    good, lost = (
        [peak for block in own for peak in block["peaks"]],
        [each for block in own for each in block["failures"]],
    )
    peaks = [*good, *(each["peak"] for each in lost if each["peak"] is not None)]
    held = share(sum(peak <= asked.force for peak in good), sum(block["runs"] for block in own))
    limit = f" below {asked.force:g} N" if np.isfinite(asked.force) else ""
    distances, drifts = ([b[name] for b in own if b[name] is not None] for name in ("distance", "momentum"))
    cells = [
        name,
        f"{held['count']} of {held['of']}",
        f"{held['low']:.1%} to {held['high']:.1%}",
        f"{asked.share:.1%} of {asked.runs}{limit}" if asked.share else "told",
        f"{np.median(peaks):.1f}, {max(peaks):.1f}" if peaks else "",
        f"{1e3 * min(distances):.2f}" if distances else "",
        f"{max(drifts):.0e}" if drifts else "",
        f"{np.median([spent for block in own for spent in block['core_times']]):.2f}",
    ]
    return "| " + " | ".join(cells) + " |"


def failures(name: str, blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every run of a cell that was no capture, with its seed and its reason, and those that touched too hard."""
    limit, told = ASKED.get(name, OTHERS).force, []
    for block in blocks:
        if block["cell"] == name:
            told += [
                f"- {name}, seed {each['seed']}: {each['outcome']}, {each['reason']}" for each in block["failures"]
            ]
            hard = [peak for peak in block["peaks"] if peak > limit]
            told += [f"- {name}, one of the campaign with seed {block['seed']}: {peak:.0f} N" for peak in hard]
    return told


def table(blocks: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    rows = [row for name in names if (row := line(name, blocks))]
    reasons = [each for name in names for each in failures(name, blocks)]
    head = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    return "\n".join([*head, *rows, "", *(reasons or ["None failed."])]) + "\n"


def commit_of(root: Path) -> str:
    return subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="of every cell, with those that are there")
    parser.add_argument("--only", nargs="+", default=[""], help="cells whose names begin so")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the file of results")
    parser.add_argument("--scenes", type=Path, help="write the scene files to this folder, and run nothing")
    given = parser.parse_args()
    names = [name for name in CELLS if name.startswith(tuple(given.only))]
    if given.scenes:
        print(*(write_scene(name, given.scenes) for name in names), sep="\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        run_in_turn(names, given.runs, given.kept, Path(folder), commit_of(ROOT))
    print(table(read_blocks(given.kept), names), end="")


if __name__ == "__main__":
    main()
