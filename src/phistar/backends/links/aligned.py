"""The same mechanism in numbers that suit a compiler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phistar.model import Model, require_rigid
from phistar.spatial import Pose


def without_roundoff(model: Model) -> Model:
    """The same model where quarter turns of placements are exact: cos(π/2) is 6e-17 in a file's rotation, zero here.

    What is below the rounding of the numbers themselves is not information; as zeros it saves a third of the work.
    """
    require_rigid(model, "what was asked")
    bodies = tuple(replace(body, placement=_rounded(body.placement)) for body in model.bodies)
    return replace(model, bodies=bodies)


def _rounded(pose: Pose) -> Pose:
    rotation = pose.rotation
    whole = np.round(rotation)
    return Pose(xyz=pose.translation, rotation=np.where(np.abs(rotation - whole) < 4e-16, whole, rotation))
