"""A satellite with two PUMA 560 arms."""

from collections.abc import Sequence

import numpy as np

from phistar.io.robots import puma560
from phistar.io.robots.solids import BLUE, GOLD, block, block_inertia
from phistar.model import Free, Model, ModelBuilder
from phistar.spatial import Pose

SOURCE = (
    "M. Walker, J. Dionise, On the simulation of space based manipulators with contact, 1989, section 4: two PUMA 560 "
    "on a single base, here set free (the satellite's size and mass are phistar's). Arms: " + puma560.CORKE
)

_MASS = 300.0
_SIZE = (0.8, 2.0, 0.8)
_PANEL = (0.7, 1.6, 0.03)
_FORWARD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # the arm's z (its waist) along the base's x


def freeflyer(gravity: Sequence[float], strict: bool = False, motors: bool = True, friction: bool = True) -> Model:
    """A uniform 300 kg box, free, with an arm at either end of its front face: frames `left_tool`, `right_tool`."""
    arm = puma560.corke(gravity, strict=strict, motors=motors, friction=friction)
    builder = ModelBuilder("freeflyer", gravity=gravity)
    panels = [block(_PANEL, (0.0, side * 1.85, 0.0), BLUE) for side in (1.0, -1.0)]
    builder.body(
        "base",
        joint=Free(),
        inertia=block_inertia(_MASS, _SIZE),
        geometry=[*block(_SIZE, color=GOLD), *panels[0], *panels[1]],
        joint_name="root",
    )
    for prefix, side in (("left_", 1.0), ("right_", -1.0)):
        mount = Pose(xyz=(_SIZE[0] / 2, side * 0.8, 0.0), rotation=_FORWARD)
        builder.attach(arm, parent="base", placement=mount, prefix=prefix)
    return builder.build(strict=strict)
