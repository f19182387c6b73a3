"""Walker and Dionise's grapple of 1989, and its failure: one law for all phases does not hold the object.

python examples/wd89_failure.py                       one run of the paper's controller on the paper's faces
python examples/wd89_failure.py --table FILE          every cell of the table in docs/simulation/wd89.md; what FILE has
                                                      already is kept, so that it can be stopped and taken up again
"""

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import phistar as ps
from phistar import capture
from phistar.capture import baseline
from phistar.sim.trajectory import Stopped

ERRING = "friction, with errors"  # of sensors, and dry friction in the joints
PRINTED = "as printed"  # the object on five massless links, the contact law to the letter
SURFACES = {
    PRINTED: "wd89",
    "flat, no friction": "grapple-flat-frictionless",
    "friction": "grapple",
    "grooves": "grapple-grooved",
    ERRING: "grapple",
}
LAWS, SIDES = ("inverse dynamics", "supervisor"), ("left", "right")
EXACT = ("name", "kind", "part", "frame", "shapes", "of", "seen_from")  # what a sensor is, without its errors
SWEPT = (0.25, 0.5, 1.0, 2.0)  # settling times, s
SWEPT_ON = (PRINTED, "friction")


def paper_world(surface: str, duration: float) -> ps.Scene:
    """A bundled scene as the paper has it, joints without dry friction and sensors that err in nothing; or as it is."""
    scene = ps.Scene.load(SURFACES[surface])
    content = json.loads(json.dumps(dict(scene.content)))
    fingers = [f"{side}_finger{number}" for side in SIDES for number in (1, 2, 3)]
    hands = [f"{side}/tool" for side in SIDES]
    content["task"] = {"kind": "hold", "object": "satellite", "hands": hands, "fingers": fingers}
    content["time"] |= {"duration": duration, "stop": ["held", "aborted", "over"]}
    content["controller"].pop("delay", None)
    if surface != ERRING:
        content["sensors"] = [{key: sensor[key] for key in EXACT if key in sensor} for sensor in content["sensors"]]
        for part in content["parts"]:
            part |= {"options": {"friction": False}} if "robot" in part else {}
    return replace(scene, content=content)


def simulated(surface: str, law: str, seed: int, settling: float = 1.0, duration: float = 60.0) -> Any:
    """One capture, under "inverse dynamics" or under the "supervisor"; of a run that had to stop, what there is."""
    scene = paper_world(surface, duration)
    model = scene.setting(seed).model
    who = {key: scene.content["controller"][key] for key in ("base", "target", "hands")}
    control = capture.from_scene(model, {**who, "delay": 0.04 if surface == ERRING else 0.0})
    if law == "inverse dynamics":
        control = baseline.from_scene(model, {**who, "settling": settling})
    try:
        return scene.run(seed=seed, control=control)
    except Stopped as stop:
        return stop.result


def row(surface: str, law: str, seed: int, settling: float = 1.0, duration: float = 60.0) -> dict[str, Any]:
    """Run one capture and return its outcome."""
    result = simulated(surface, law, seed, settling, duration)
    told = result.summary
    twist = told["final_relative_twist"]
    touched = next((event.time for event in result.events if event.what == "touch"), math.inf)
    errors = result.signals.get("facts/joint_error", np.zeros(len(result.t)))[result.t > touched]
    return {
        "surface": surface,
        "law": law,
        "seed": seed,
        "settling": settling,
        "captured": bool(told["captured"]),
        "missing": told["reason"] or told["missing"],
        "peak_force": round(told["peak_force"], 2),
        "joint_error": round(float(np.max(errors, initial=0.0)), 4),
        "spin": float(f"{math.hypot(*twist[:3]):.3g}"),
        "speed": float(f"{math.hypot(*twist[3:]):.3g}"),
    }


def table(path: Path, seeds: int) -> None:
    """Every cell, and the sweep of gains; rows are written as they come."""
    rows = json.loads(path.read_text()) if path.exists() else []
    known = {(one["surface"], one["law"], one["seed"], one["settling"]) for one in rows}
    wanted = [(surface, law, seed, 1.0) for seed in range(seeds) for surface in SURFACES for law in LAWS]
    wanted += [(on, "inverse dynamics", seed, time) for seed in range(seeds) for on in SWEPT_ON for time in SWEPT]
    for cell in sorted(dict.fromkeys(wanted), key=lambda cell: cell[2]):
        if cell not in known:
            rows.append(row(*cell))
            path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
            print(*cell, "captured" if rows[-1]["captured"] else rows[-1]["missing"], flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--table", type=Path)
    arguments.add_argument("--seeds", type=int, default=50)
    given = arguments.parse_args()
    if given.table:
        table(given.table, given.seeds)
    else:
        told = row("flat, no friction", "inverse dynamics", seed=1, duration=14.0)
        print(f"held: {told['captured']}. {told['missing'] or ''}")
        print(f"Peak force of a finger {told['peak_force']:.0f} N; at the end the object still moves against the hands")
        print(f"at {1e3 * told['speed']:.1f} mm/s and {math.degrees(told['spin']):.2f} degrees/s.")
