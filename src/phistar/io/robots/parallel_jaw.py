"""A parallel jaw: two pads that slide towards each other on screws."""

from collections.abc import Sequence

import numpy as np

from phistar.io.robots.solids import DARK, GOLD
from phistar.model import Box, Fixed, Geometry, Model, ModelBuilder, Prismatic
from phistar.spatial import Inertia, Pose

SOURCE = "A parallel jaw of phistar's own: pads of 60 mm by 40 mm, 100 mm apart when open, that push with up to 120 N"

_PALM = Inertia(0.8, (0.0, 0.0, 0.06), 0.002 * np.eye(3))
_FORCE = 120.0  # N
_TRAVEL = 0.045  # m of each pad
_DRAG = 300.0  # N s/m of a screw


def parallel_jaw(gravity: Sequence[float], strict: bool = False) -> Model:
    """Palm on the world, fingers along z; `slide1` and `slide2` close the shapes `pad1` and `pad2`, along ±x."""
    builder = ModelBuilder("parallel_jaw", gravity=gravity)
    builder.body(
        "palm", "world", Fixed(), inertia=_PALM, geometry=_block("palm", (0.16, 0.06, 0.028), (0.0, 0.0, 0.066), DARK)
    )
    for number, side in ((1, -1.0), (2, 1.0)):
        pad = _block(f"pad{number}", (0.016, 0.06, 0.04), (side * 0.058, 0.0, 0.145), GOLD)
        stem = _block(f"stem{number}", (0.012, 0.03, 0.04), (side * 0.066, 0.0, 0.105), DARK)
        builder.body(
            f"jaw{number}",
            "palm",
            Prismatic((-side, 0.0, 0.0), limits=(0.0, _TRAVEL), effort=_FORCE, velocity=0.2, damping=_DRAG),
            inertia=Inertia(0.15, (side * 0.06, 0.0, 0.12), np.diag([1e-4, 1e-4, 5e-5])),
            geometry=[*pad, *stem],
            joint_name=f"slide{number}",
        )
    return builder.build(strict=strict)


def _block(
    name: str, size: Sequence[float], middle: Sequence[float], color: tuple[float, float, float, float]
) -> list[Geometry]:
    return [Geometry(Box(size), Pose(xyz=middle), name, color, role) for role in ("visual", "collision")]
