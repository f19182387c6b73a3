"""The example system of WD89's Fig. 1: a planar arm of three links held by two legs, with two loops."""

from collections.abc import Sequence

from phistar.io.robots.solids import BLUE, LIGHT, ORANGE, rod, rod_inertia
from phistar.model import Model, ModelBuilder, Revolute
from phistar.spatial import Pose

SOURCE = (
    "M. Walker, J. Dionise, On the simulation of space based manipulators with contact, 1989, Fig. 1 and equations "
    "(8), (9) (the topology; joints all revolute, dimensions and masses are phistar's)"
)

_RADIUS = 0.03
_DENSITY = 8.0  # kg per metre of rod
_AXIS = (0.0, -1.0, 0.0)  # a positive angle turns x towards z
Point = tuple[float, float, float]

# Link k: its parent (0 is the world), where its joint and its far end are when every joint is at zero
_LINKS: dict[int, tuple[int, Point, Point]] = {
    1: (0, (0.0, 0.0, 0.0), (0.2, 0.0, 1.0)),
    2: (1, (0.2, 0.0, 1.0), (1.2, 0.0, 1.2)),
    3: (2, (1.2, 0.0, 1.2), (1.7, 0.0, 0.9)),
    4: (0, (-0.6, 0.0, 0.0), (-0.55, 0.0, 0.5)),
    5: (4, (-0.55, 0.0, 0.5), (0.12, 0.0, 0.6)),
    6: (0, (0.8, 0.0, 0.0), (1.0, 0.0, 0.55)),
    7: (6, (1.0, 0.0, 0.55), (0.7, 0.0, 1.1)),
}
# Cut joint: the link it ends (whose far end it is), and the link that it closes on
_CUTS = {8: (5, 1), 9: (7, 2)}


def wd89_fig1(gravity: Sequence[float], strict: bool = False) -> Model:
    """Links 1 → 2 → 3, 4 → 5 and 6 → 7 on the ground; cut joint 8 holds 5 to 1, cut joint 9 holds 7 to 2.

    A mechanism in the vertical x-z plane with three degrees of freedom (7 joints, 2 equations a loop), assembled where
    every joint is at zero: there all frames are parallel to the world's. Frame `tip` is the far end of link 3.
    """
    builder = ModelBuilder("wd89_fig1", gravity=gravity)
    for number, (parent, joint, end) in _LINKS.items():
        far = _from(joint, end)
        length = sum(x * x for x in far) ** 0.5
        builder.body(
            f"link{number}",
            parent=f"link{parent}" if parent else "world",
            joint=Revolute(axis=_AXIS),
            placement=Pose(xyz=_from(_LINKS[parent][1] if parent else (0.0, 0.0, 0.0), joint)),
            inertia=rod_inertia(_DENSITY * length, (0, 0, 0), far, _RADIUS),
            geometry=rod((0, 0, 0), far, _RADIUS, ORANGE if number <= 3 else BLUE if number <= 5 else LIGHT),
            joint_name=f"joint{number}",
        )
    for cut, (ended, held) in _CUTS.items():
        _, joint, end = _LINKS[ended]
        builder.frame(f"end{ended}", f"link{ended}", Pose(xyz=_from(joint, end)))
        builder.frame(f"pin{held}", f"link{held}", Pose(xyz=_from(_LINKS[held][1], end)))
        builder.loop(f"joint{cut}", f"end{ended}", f"pin{held}", joint=Revolute(axis=_AXIS))
    builder.frame("tip", "link3", Pose(xyz=_from(_LINKS[3][1], _LINKS[3][2])))
    return builder.build(strict=strict)


def _from(origin: Point, point: Point) -> Point:
    """The vector from origin to point."""
    return (point[0] - origin[0], point[1] - origin[1], point[2] - origin[2])
