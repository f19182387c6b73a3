"""A body reached through WD89's five massless links, and through a free joint: the same motion, in contact too."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.sim.motion import Motion
from tests.worlds import world_of as touching

pytest.importorskip("coal")
INERTIA = ps.Inertia(20.0, (0, 0, 0), np.diag([0.5, 0.6, 0.4]))
AXES = np.eye(3)


def world_of(massless):
    """A box before a wall: on three sliding and three turning joints, five of whose links have no mass, or free."""
    builder = ps.ModelBuilder("object", gravity=(0, 0, 0))
    builder.body("wall", "world", geometry=[ps.Geometry(ps.Plane(), name="wall", role="collision")])
    own, parent = [ps.Geometry(ps.Sphere(0.2), role="collision")], "world"
    if massless:
        kinds = [ps.Prismatic(axis=tuple(axis)) for axis in AXES] + [ps.Revolute(axis=tuple(axis)) for axis in AXES]
        for number, kind in enumerate(kinds[:-1]):
            builder.body(f"massless{number}", parent, kind, inertia=ps.Inertia(0.0, (0, 0, 0), np.zeros((3, 3))))
            parent = f"massless{number}"
        builder.body("object", parent, kinds[-1], inertia=INERTIA, geometry=own)
    else:
        builder.body("object", "world", ps.Free(), inertia=INERTIA, geometry=own)
    return touching(builder.build(strict=False), Surface(friction=0.4))


def test_five_massless_links_move_a_body_as_a_free_joint_does():
    turn, velocity = np.array([0.3, -0.4, 0.2]), np.array([0.05, 0.02, -0.06])
    chain, free = world_of(True), world_of(False)
    assert chain.model.total_mass == free.model.total_mass
    q = np.concatenate([[0.0, 0.0, 0.21], np.zeros(3)])
    starts = [
        (chain, chain.start(q, [*velocity, *turn])),
        (free, free.start([0.0, 0.0, 0.21, 0, 0, 0, 1], [*turn, *velocity])),
    ]
    ends, touched = [], []
    for world, start in starts:
        motion = Motion(world, lambda t, q, v, world=world: np.zeros(world.model.nv), rtol=1e-8, atol=1e-10)
        moments = list(motion.moments(start, 0.0, [0.6]))
        touched.append(max(m.step.peak for m in moments))
        ends.append(ps.forward_kinematics(world.model, moments[-1].state.q, "object"))
    assert min(touched) > 10.0
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)
