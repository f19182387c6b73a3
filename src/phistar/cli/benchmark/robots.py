"""The robots that are measured, from one degree of freedom to ten thousand, without springs, dampers and friction.

Arms, the quadruped and the humanoid come with the package example-robot-data; the rest is synthetic. Fingers are held
fast, so that a seven-axis arm has seven degrees of freedom; what closes a loop is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np

from phistar.errors import FileError
from phistar.io import load
from phistar.model import Fixed, Model, Prismatic, chain, planar_chain

EDGEWISE = (0.0, -9.81, 0.0)  # gravity in the plane of a planar chain; across it, it would do nothing
CHAINS = (10, 50, 100, 1000, 10_000)
CLOSED = ("panda_gripper",)  # one finger follows the other: a loop


def build(name: str) -> Model:
    """The robot of this name in ROBOTS, or any bundled robot or robot file."""
    model = ROBOTS[name]() if name in ROBOTS else load(name)
    return without_passive_forces(model if name in CLOSED else model.tree)


def without_passive_forces(model: Model) -> Model:
    """Damping, springs and friction are no part of the functions compared, and would differ in the rollouts."""
    joints = {
        joint.name: replace(joint.kind, damping=0.0, stiffness=0.0, friction=0.0)
        for joint in model.joints
        if np.any(joint.kind.damping) or np.any(joint.kind.stiffness) or np.any(joint.kind.friction)
    }
    return model.replace(joints=joints) if joints else model


def available(name: str) -> bool:
    """Whether the robot needs no file, or its file is installed."""
    return name not in FILES or FILES[name].path() is not None


@dataclass(frozen=True)
class RobotFile:
    """A file of the package example-robot-data, by the end of its path."""

    ending: str
    floating: bool = False
    fingers: bool = False  # which are held fast otherwise

    def path(self) -> Path | None:
        try:
            files = metadata.files("example-robot-data") or []
        except metadata.PackageNotFoundError:
            return None
        found = [Path(str(file.locate())) for file in files if str(file).endswith(self.ending)]
        return found[0] if found else None

    def __call__(self) -> Model:
        path = self.path()
        if path is None:
            raise FileError(f"{self.ending} comes with example-robot-data; pip install 'phistar[peers]' brings it.")
        model = load(path, floating=self.floating)
        if self.fingers:
            return model
        model = model.tree
        fingers = {joint.name: Fixed() for joint in model.joints if isinstance(joint.kind, Prismatic)}
        return model.replace(joints=fingers) if fingers else model


def _chain(links: int) -> Callable[[], Model]:
    return lambda: chain(links)


FILES = {
    "ur5": RobotFile("urdf/ur5_robot.urdf"),
    "panda": RobotFile("urdf/panda.urdf"),
    "panda_gripper": RobotFile("urdf/panda.urdf", fingers=True),
    "baxter": RobotFile("urdf/baxter.urdf"),
    "anymal": RobotFile("anymal_b_simple_description/robots/anymal.urdf", floating=True),
    "talos": RobotFile("robots/talos_reduced.urdf", floating=True),
}

ROBOTS: Mapping[str, Callable[[], Model]] = {
    "pendulum": lambda: planar_chain(1, gravity=EDGEWISE),
    "planar2": lambda: planar_chain(2, gravity=EDGEWISE),
    **FILES,
    **{f"chain{links}": _chain(links) for links in CHAINS},
}
