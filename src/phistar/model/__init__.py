"""Mechanisms: bodies, joints, frames and loops, collected by a ModelBuilder into an immutable Model."""

from phistar.model.beams import beam
from phistar.model.builder import ModelBuilder
from phistar.model.chain import chain, planar_chain
from phistar.model.check import require_rigid, require_tree
from phistar.model.craig_bampton import craig_bampton
from phistar.model.flexible import FlexibleInertia
from phistar.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Plane, Polytope, Shape, Sphere
from phistar.model.joints import (
    Coupling,
    CutKind,
    Cylindrical,
    Distance,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from phistar.model.mechanism_graph import Connection, from_graph
from phistar.model.model import Model
from phistar.model.parts import Body, CoupledJoints, Frame, Joint, Loop

__all__ = [
    "Body",
    "Box",
    "Capsule",
    "Connection",
    "CoupledJoints",
    "Coupling",
    "CutKind",
    "Cylinder",
    "Cylindrical",
    "Distance",
    "Ellipsoid",
    "Fixed",
    "FlexibleInertia",
    "Frame",
    "Free",
    "Geometry",
    "Helical",
    "Joint",
    "JointKind",
    "Loop",
    "Mesh",
    "Model",
    "ModelBuilder",
    "Planar",
    "Plane",
    "Polytope",
    "Prismatic",
    "Revolute",
    "Shape",
    "Sphere",
    "Spherical",
    "Universal",
    "beam",
    "chain",
    "craig_bampton",
    "from_graph",
    "planar_chain",
    "require_rigid",
    "require_tree",
]
