"""Balls and capsules before boxes and half-spaces, against coal."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.gaps import Penetration
from phistar.contact.pairs import all_pairs
from phistar.contact.surface import Surface
from phistar.sim.world import World
from phistar.spatial import exp_quaternion

coal = pytest.importorskip("coal")


def world_of(one, other, swapped):
    builder = ps.ModelBuilder("pair")
    shapes = (other, one) if swapped else (one, other)
    for name, shape in zip("ab", shapes, strict=True):
        own = ps.Geometry(shape, ps.Pose(rpy=(0.3, -0.2, 0.5), xyz=(0.02, 0.01, -0.03)), role="collision")
        builder.body(name, "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[own])
    return World(all_pairs(builder.build(), Surface(margin=1.0)))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("one", [ps.Sphere(0.05), ps.Capsule(0.03, 0.4)], ids=["ball", "capsule"])
@pytest.mark.parametrize("other", [ps.Box((0.3, 0.2, 0.4)), ps.Plane()], ids=["box", "plane"])
def test_distance_point_and_normal_are_coals(one, other, swapped):
    world, rng, seen = world_of(one, other, swapped), np.random.default_rng(1), 0
    near = world.nearness
    for _ in range(200):
        q = np.concatenate(
            [np.concatenate([rng.uniform(-0.4, 0.4, 3), exp_quaternion(rng.normal(size=3))]) for _ in "ab"]
        )
        try:
            gaps = world.gaps(world.start(q, np.zeros(12)), 1e-3)
        except Penetration:
            continue
        poses = [near._transform(gaps.known.rotation[site], gaps.known.center[site]) for site in near._numbers[0]]
        known = near._measure(near._between[0], *poses)
        if not gaps.slots:
            assert known[0] > 1.0
            continue
        seen += 1
        assert gaps.distance[0] == pytest.approx(known[0], abs=2e-6)
        assert gaps.distance[0] <= known[0] + 1e-9  # coal stops within its tolerance
        if known[0] > 0.01:
            np.testing.assert_allclose(gaps.normal[0], known[4:], atol=2e-3)
            np.testing.assert_allclose(gaps.point[0], known[1:4], atol=2e-3)
    assert seen > 40


def test_a_capsule_along_a_face_touches_with_its_middle():
    builder = ps.ModelBuilder("lying")
    builder.body("box", "world", geometry=[ps.Geometry(ps.Box((2, 2, 1)), name="box", role="collision")])
    rod = ps.Geometry(ps.Capsule(0.05, 0.4), ps.Pose(rpy=(0, np.pi / 2, 0)), role="collision")
    builder.body("rod", "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[rod])
    world = World(all_pairs(builder.build(), Surface()))
    gaps = world.gaps(world.start([0.3, 0.2, 0.551, 0, 0, 0, 1], np.zeros(6)), 1e-3)
    assert gaps.distance[0] == pytest.approx(1e-3, rel=1e-9)
    np.testing.assert_allclose(gaps.normal[0], [0, 0, 1], atol=1e-12)
    assert abs(gaps.point[0][0] - 0.3) < 0.2 + 1e-9 and gaps.point[0][2] == pytest.approx(0.5005)
