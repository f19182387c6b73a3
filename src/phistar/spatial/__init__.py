"""Spatial algebra: 3- and 6-vectors (angular first), rotations, poses, inertias."""

from phistar.spatial.inertia import Inertia, mass_moment
from phistar.spatial.pose import Pose
from phistar.spatial.rotations import (
    conjugate,
    exp,
    exp_quaternion,
    exp_translation,
    from_axis_angle,
    from_quaternion,
    from_rpy,
    log,
    log_quaternion,
    log_translation,
    multiply,
    to_quaternion,
)
from phistar.spatial.vectors import axial, cross, force_transform, skew, times, transposed

__all__ = [
    "Inertia",
    "Pose",
    "axial",
    "conjugate",
    "cross",
    "exp",
    "exp_quaternion",
    "exp_translation",
    "force_transform",
    "from_axis_angle",
    "from_quaternion",
    "from_rpy",
    "log",
    "log_quaternion",
    "log_translation",
    "mass_moment",
    "multiply",
    "skew",
    "times",
    "to_quaternion",
    "transposed",
]
