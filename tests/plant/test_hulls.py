"""Convex hulls: their distances are coal's, and faces rest on faces."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import phistar as ps
from phistar.constraints import columns as c
from phistar.plant.engine import Engine
from tests.plants import heights, plant_of, run

HULL = ps.Polytope([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])


def test_distances_between_hulls_and_everything_are_coals():
    coal = pytest.importorskip("coal")
    random = np.random.default_rng(4)
    cloud = ps.Polytope(random.normal(size=(20, 3)) * 0.08)
    others = [HULL, cloud, ps.Box([0.2, 0.1, 0.3]), ps.Sphere(0.1), ps.Capsule(0.05, 0.2)]
    from phistar.contact.coal_shapes import convex

    for other in others:
        plant = plant_of([cloud, other], [(0, 0, 0), (0, 0, 0)], floor=False, margin=10.0)
        engine = Engine(plant.system)
        for _ in range(5):
            q, shapes = plant.state().q.copy(), [convex(cloud), convex(other)]
            q[:3], q[3:7] = 0.0, Rotation.random(random_state=random.integers(2**31)).as_quat()
            q[7:10] = 0.5 * random.normal(size=3) + [0.4, 0, 0]
            q[10:14] = Rotation.random(random_state=random.integers(2**31)).as_quat()
            turns = [Rotation.from_quat(q[3:7]).as_matrix(), Rotation.from_quat(q[10:14]).as_matrix()]
            places = [coal.Transform3s(turn, at) for turn, at in zip(turns, (q[:3], q[7:10]), strict=True)]
            result = coal.DistanceResult()
            known = coal.distance(shapes[0], places[0], shapes[1], places[1], coal.DistanceRequest(), result)
            if known < 0.01:
                continue
            engine.load(q, np.zeros(12))
            engine.step(1e-9)
            found = engine.tables["contacts"][: engine.counts[c.CONTACTS], c.GAP]
            np.testing.assert_allclose(found.min(), known, atol=1e-7)


def test_a_hull_rests_as_the_box_that_it_is():
    for shape in (HULL, ps.Cylinder(0.1, 0.2)):
        plant = plant_of([shape, HULL], [(0, 0, 0.102), (0.01, 0, 0.304)])
        states = run(plant, 400)
        settled = heights(plant, states[-1])
        assert 0.1 < settled[0] < 0.1015 and 0.2 < settled[1] - settled[0] < 0.2015
        assert np.abs(states[-1].v).max() < 1e-6


def test_an_ellipsoid_comes_to_rest_on_its_flat_side():
    plant = ps.Plant()
    plant.add_shape(ps.Plane())
    moments = np.diag([0.005, 0.0085, 0.0125])
    egg = ps.Inertia(1.0, (0, 0, 0), moments)
    plant.add_body("egg", ps.Ellipsoid((0.2, 0.15, 0.05)), egg, ps.Pose(xyz=(0, 0, 0.06)))
    end = ps.simulate(plant, 1.0)
    assert 0.05 < end.q[-1, 2] < 0.052 and np.abs(end.v[-1]).max() < 1e-3
