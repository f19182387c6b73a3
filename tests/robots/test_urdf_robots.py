"""Real URDF robots agree with Pinocchio: inertias, placements and Jacobians, with a fixed and with a floating base."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import phistar as ps

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

TOLERANCE = 1e-12
DATA = Path(__file__).resolve().parents[1] / "data" / "urdf"
# Robots that every run compares; the others are marked slow.
QUICK = (
    "panda.urdf",
    "ur5_robot.urdf",
    "double_pendulum_continuous.urdf",
    "talos_reduced.urdf",
    "tiago.urdf",
    "TwoDofs.urdf",
)
LEFT_OUT = {"ur3.urdf": "a xacro macro file with no links"}


def corpus() -> list[Path]:
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    return sorted(Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf")


def cases():
    for path in [*sorted(DATA.glob("[!f]*.urdf")), *corpus()]:
        quick = path.name in QUICK or path.parent == DATA
        for base in ("fixed", "floating"):
            label = f"{path.parent.name if path.parent == DATA else path.parents[1].name}/{path.stem}"
            yield pytest.param(path, base, id=f"{label}-{base}", marks=[] if quick else [pytest.mark.slow])
