"""Balls and capsules before boxes and half-spaces, against coal."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from phistar.contact.coal_shapes import convex
from phistar.contact.surface import Surface
from phistar.spatial import exp_quaternion
from tests.worlds import world_of as touching

coal = pytest.importorskip("coal")


def world_of(one, other, swapped):
    builder = ps.ModelBuilder("pair")
    shapes = (other, one) if swapped else (one, other)
    for name, shape in zip("ab", shapes, strict=True):
        own = ps.Geometry(shape, ps.Pose(rpy=(0.3, -0.2, 0.5), xyz=(0.02, 0.01, -0.03)), role="collision")
        builder.body(name, "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[own])
    return touching(builder.build(), Surface(margin=1.0))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("one", [ps.Sphere(0.05), ps.Capsule(0.03, 0.4)], ids=["ball", "capsule"])
@pytest.mark.parametrize("other", [ps.Box((0.3, 0.2, 0.4)), ps.Plane()], ids=["box", "plane"])
def test_distance_point_and_normal_are_coals(one, other, swapped):
    world, rng, seen = world_of(one, other, swapped), np.random.default_rng(1), 0
    session, pair = world.session(), world.shapes_of(0)
    shapes = [convex(site.shape) for site in pair]
    measure, request = coal.ComputeDistance(*shapes), coal.DistanceRequest()
    for _ in range(200):
        q = np.concatenate(
            [np.concatenate([rng.uniform(-0.4, 0.4, 3), exp_quaternion(rng.normal(size=3))]) for _ in "ab"]
        )
        poses = []
        for site in pair:
            own = ps.forward_kinematics(world.model, q, world.model.bodies[site.body].name)
            turn = own[:3, :3] @ site.placement.rotation
            poses.append(coal.Transform3s(turn, own[:3, 3] + own[:3, :3] @ site.placement.translation))
        result = coal.DistanceResult()
        known = measure(*poses, request, result)
        if known <= 1e-6:
            continue
        contacts, sign = looked(world, session, q)
        if not len(contacts):
            assert known > 1.0
            continue
        seen += 1
        nearest = contacts[np.argmin(contacts[:, c.GAP])]
        assert nearest[c.GAP] == pytest.approx(known, abs=2e-6)
        assert nearest[c.GAP] <= known + 1e-9  # coal stops within its tolerance
        if known > 0.01:
            normal = sign * nearest[c.NORMAL : c.NORMAL + 3]
            np.testing.assert_allclose(normal, -np.array(result.normal), atol=2e-3)
            middle = 0.5 * (np.array(result.getNearestPoint1()) + np.array(result.getNearestPoint2()))
            if isinstance(one, ps.Sphere):  # where a capsule lies along a face, points are many
                np.testing.assert_allclose(nearest[c.POINT : c.POINT + 3], middle, atol=2e-3)
    assert seen > 40


def looked(world, session, q):
    """The contacts of a state, and 1 where their first shape is their pair's first, −1 where it is not."""
    session.load(world.start(q, np.zeros(world.model.nv)))
    session.engine.look(1e-3)
    engine = session.engine
    count = engine.counts[c.CONTACTS]
    sign = world.pair_numbers[1][tuple(engine.tables["contact_wholes"][0, :2])]
    return engine.tables["contacts"][:count], sign


def test_a_capsule_along_a_face_touches_with_its_middle():
    builder = ps.ModelBuilder("lying")
    builder.body("box", "world", geometry=[ps.Geometry(ps.Box((2, 2, 1)), name="box", role="collision")])
    rod = ps.Geometry(ps.Capsule(0.05, 0.4), ps.Pose(rpy=(0, np.pi / 2, 0)), role="collision")
    builder.body("rod", "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[rod])
    world = touching(builder.build(), Surface())
    contacts, _ = looked(world, world.session(), [0.3, 0.2, 0.551, 0, 0, 0, 1])
    for contact in contacts:
        assert contact[c.GAP] == pytest.approx(1e-3, rel=1e-9)
        np.testing.assert_allclose(np.abs(contact[c.NORMAL : c.NORMAL + 3]), [0, 0, 1], atol=1e-12)
        assert abs(contact[c.POINT] - 0.3) < 0.2 + 1e-9 and contact[c.POINT + 2] == pytest.approx(0.5005)
    assert len(contacts)


@pytest.mark.parametrize("bar", [ps.Capsule(0.015, 0.4), ps.Cylinder(0.015, 0.4)], ids=["capsule", "cylinder"])
@pytest.mark.parametrize("tilt", [0.0, 2e-3])
def test_a_bar_across_a_beam_touches_both_edges_of_its_face(bar, tilt):
    builder = ps.ModelBuilder("across")
    builder.body("beam", "world", geometry=[ps.Geometry(ps.Box((0.1, 1.0, 0.1)), name="beam", role="collision")])
    own = ps.Geometry(bar, ps.Pose(rpy=(0, np.pi / 2, 0)), role="collision")
    builder.body("bar", "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)), geometry=[own])
    world = touching(builder.build(), Surface(margin=2e-3))
    height = 0.05 + 0.015 + 1e-3
    contacts, _ = looked(world, world.session(), [0.02, 0.0, height, 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
    order = np.argsort(contacts[:, c.POINT])
    np.testing.assert_allclose(contacts[order, c.POINT], [-0.05, 0.05], atol=1e-4)
    expected = 1e-3 - tilt * np.array([-0.07, 0.03])
    np.testing.assert_allclose(contacts[order, c.GAP], expected, atol=2e-6)


def test_a_capsule_across_a_beam_comes_to_rest_on_it():
    bar, plant = ps.Capsule(0.015, 0.4), ps.Plant()
    plant.add_shape(ps.Box((0.1, 1.0, 0.1)))
    moments = np.diag([1e-4, 0.0134, 0.0134])
    own = ps.Geometry(bar, ps.Pose(rpy=(0, np.pi / 2, 0)), role="collision")
    builder = ps.ModelBuilder("bar")
    builder.body("bar", "world", ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), moments), geometry=[own])
    plant.add(builder.build(), "bar", ps.Pose(xyz=(0.02, 0.0, 0.07), rpy=(0.0, 0.02, 0.0)))  # from which q counts
    run = ps.simulate(plant, 1.0)
    assert np.abs(run.v[-1]).max() < 1e-5 and abs(run.q[-1, 2] + 0.0044) < 2e-4
    assert abs(2.0 * run.q[-1, 4] + 0.02) < 3e-3  # level, but for the gaps under unlike loads
