"""The free-flying nine-link tree of the two-way decomposition paper."""

from collections.abc import Sequence

from phistar.io.robots.solids import BLUE, GOLD, LIGHT, block, block_inertia, rod, rod_inertia
from phistar.model import Free, Model, ModelBuilder, Revolute
from phistar.spatial import Pose

SOURCE = (
    "G. Rodriguez, A. Jain, Two-way recursive decomposition of the free-flying robot mass matrix, section 6, Fig. 3 "
    "and Table 4 (the topology; the dimensions and masses are phistar's)"
)

_RADIUS = 0.04
_BASE = (60.0, (0.8, 0.8, 0.8))  # link 9: mass, size
# Link k: its parent (from Table 4's forward trees), its joint in the parent's frame, the joint's axis, length, mass
_LINKS = {
    8: (9, (0.4, 0.0, 0.0), (0, 0, 1), 0.6, 8.0),
    7: (8, (0.6, 0.0, 0.0), (0, 1, 0), 0.4, 6.0),
    6: (7, (0.4, -0.2, 0.0), (0, 0, 1), 0.5, 4.0),
    5: (7, (0.4, 0.2, 0.0), (1, 0, 0), 0.5, 5.0),
    4: (5, (0.5, 0.0, 0.0), (0, 1, 0), 0.5, 4.0),
    3: (4, (0.5, 0.0, 0.0), (0, 0, 1), 0.3, 3.0),
    2: (3, (0.3, -0.15, 0.0), (0, 1, 0), 0.3, 1.0),
    1: (3, (0.3, 0.15, 0.0), (0, 0, 1), 0.3, 1.0),
}


def rj2w_tree(gravity: Sequence[float], strict: bool = False) -> Model:
    """Links 9 (the free base) → 8 → 7 → {6, 5}, 5 → 4 → 3 → {2, 1}; joint k moves link k, and all below it.

    RJ2W's forward tree of joint k is the subtree of link k here. Frames `tip1`, `tip2`, `tip6` end the branches.
    """
    builder = ModelBuilder("rj2w_tree", gravity=gravity)
    mass, size = _BASE
    builder.body(
        "link9", joint=Free(), inertia=block_inertia(mass, size), geometry=block(size, color=GOLD), joint_name="root"
    )
    for number, (parent, xyz, axis, length, mass) in _LINKS.items():
        end = (length, 0.0, 0.0)
        builder.body(
            f"link{number}",
            parent=f"link{parent}",
            joint=Revolute(axis=axis),
            placement=Pose(xyz=xyz),
            inertia=rod_inertia(mass, (0, 0, 0), end, _RADIUS),
            geometry=_shape(number, end),
            joint_name=f"joint{number}",
        )
    for number in (1, 2, 6):
        builder.frame(f"tip{number}", f"link{number}", Pose(xyz=(_LINKS[number][3], 0.0, 0.0)))
    return builder.build(strict=strict)


def _shape(number: int, end: tuple[float, float, float]) -> list:
    """A rod, with a cross-bar to the side joints where the tree branches."""
    shapes = [*rod((0, 0, 0), end, _RADIUS, BLUE if number in (3, 7) else LIGHT)]
    sides = [xyz for parent, xyz, *_ in _LINKS.values() if parent == number and xyz[1] != 0.0]
    if sides:
        shapes += rod(sides[0], sides[1], 0.6 * _RADIUS, BLUE)
    return shapes
