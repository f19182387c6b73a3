"""The kinds of joints, one file each."""

from phistar.model.joints.cut_joints import Coupling, CutKind, Cylindrical, Distance
from phistar.model.joints.fixed import Fixed
from phistar.model.joints.free import Free
from phistar.model.joints.helical import Helical
from phistar.model.joints.kind import JointKind
from phistar.model.joints.planar import Planar
from phistar.model.joints.prismatic import Prismatic
from phistar.model.joints.revolute import Revolute
from phistar.model.joints.spherical import Spherical
from phistar.model.joints.universal import Universal

__all__ = [
    "Coupling",
    "CutKind",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Free",
    "Helical",
    "JointKind",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
