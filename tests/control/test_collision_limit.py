"""Distances of shapes as limits of the task program: rows against differences, motions that keep apart, sentences."""

import numpy as np
import pytest

import phistar as ps

pytest.importorskip("coal")
pytest.importorskip("daqp")

BALL = ps.Geometry(ps.Sphere(0.15), ps.Pose(xyz=(1.0, 0.6, 0.0)), role="collision", name="ball")


def snake(links=4):
    builder = ps.ModelBuilder("snake", gravity=(0, 0, 0))
    rod = ps.Inertia(1.0, (0.25, 0, 0), 0.05 * np.eye(3))
    shape = ps.Geometry(ps.Capsule(0.04, 0.4), ps.Pose(xyz=(0.25, 0, 0), rpy=(0, np.pi / 2, 0)), role="collision")
    for k in range(links):
        place = ps.Pose(xyz=(0.5 if k else 0.0, 0, 0))
        parent = {} if k == 0 else {"parent": f"link{k - 1}"}
        joint = ps.Revolute(axis=(0, 0, 1))
        builder.body(f"link{k}", joint=joint, placement=place, inertia=rod, geometry=[shape], **parent)
    builder.frame("tip", body=f"link{links - 1}", placement=ps.Pose(xyz=(0.5, 0, 0)))
    return builder.build()


def test_rows_are_the_rates_of_the_distances():
    arm, rng = snake(), np.random.default_rng(0)
    limit = ps.control.CollisionLimit(0.0, [BALL], within=5.0)
    q = np.array([0.3, 0.9, 0.8, -0.4])
    near, (G, h) = limit.distances(arm, q), limit.rows(arm, q, 1.0)
    assert {pair.names for pair in near} >= {("link0", "link2"), ("link3", "ball")}
    assert not any(set(pair.names) == {"link0", "link1"} for pair in near)
    v, eps = rng.normal(size=arm.nv), 1e-6
    ahead, back = ({d.names: d.distance for d in limit.distances(arm, q + s * eps * v)} for s in (1, -1))
    wanted = [(ahead[d.names] - back[d.names]) / (2 * eps) for d in near]
    assert np.allclose(-G @ v, wanted, atol=1e-6) and np.allclose(h, [d.distance for d in near])


def nearest_on_the_way(arm, task, start, limits, judge):
    """The least distance while rates serve a task, and the last error of it."""
    q, least = start, np.inf
    for _ in range(120):
        v = ps.control.task_rates(arm, q, [task], 0.05, limits=limits, damping=1e-3)
        q = arm.integrate(q, 0.05 * v * min(1.0, 2.0 / max(np.abs(v).max(), 1e-9)))
        least = min([least, *(d.distance for d in judge.distances(arm, q))])
    return least, np.abs(task.rows(arm, q)[0][3:]).max()


def test_links_keep_apart_from_a_ball_that_is_in_the_way():
    arm = snake()
    start, end = np.array([-0.5, 0.2, 0.2, 0.2]), np.array([-0.2, 0.9, 0.9, 0.9])
    task = ps.control.FrameTask("tip", ps.forward_kinematics(arm, end, "tip"), weight=(0, 0, 0, 1, 1, 0))
    limit = ps.control.CollisionLimit(0.02, [BALL])
    free = nearest_on_the_way(arm, task, start, (ps.control.JointLimits(),), limit)
    kept = nearest_on_the_way(arm, task, start, (ps.control.JointLimits(), limit), limit)
    assert free[0] < 0.0 and free[1] < 1e-3  # without the limit it goes through
    assert kept[0] > 0.015


def test_ignored_pairs_and_bad_settings():
    arm, q = snake(), np.array([0.3, 0.9, 0.8, -0.4])
    every = ps.control.CollisionLimit(0.0, within=5.0).distances(arm, q)
    fewer = ps.control.CollisionLimit(0.0, within=5.0, ignored=[("link0", "link2")]).distances(arm, q)
    assert len(fewer) == len(every) - 1
    with pytest.raises(ps.ShapeError, match="margin < within"):
        ps.control.CollisionLimit(0.5, within=0.1)
    with pytest.raises(ps.PhistarError, match="An obstacle is a"):
        ps.control.CollisionLimit(obstacles=[ps.Sphere(0.1)])


def test_a_pose_beside_a_ball_is_met_with_the_margin_kept():
    """Steps that turn back where a distance is curved are halved, so that the search comes to rest."""
    arm, end = snake(), np.array([-0.2, 0.9, 0.9, 0.9])
    limits = (ps.control.JointLimits(), ps.control.CollisionLimit(0.02, [BALL]))
    place = ps.forward_kinematics(arm, end, "tip")[:3, 3]
    tasks = [ps.control.FrameTask("tip", place, weight=(1, 1, 0)), ps.control.PostureTask(end)]
    found = ps.control.solve_tasks(arm, tasks, [-0.5, 0.2, 0.2, 0.2], limits=limits)
    assert found.success
    assert min(pair.distance for pair in limits[1].distances(arm, found.q)) > 0.02 - 1e-6


def test_meshes_keep_apart_by_their_hulls(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.2, 0.2, 0.2)).export(tmp_path / "box.stl")
    arm, q = snake(), np.array([0.3, 0.9, 0.8, -0.4])

    def distances(shape):
        obstacle = ps.Geometry(shape, ps.Pose(xyz=(1.0, 0.6, 0.3)), role="collision", name="box")
        return [(x.names, x.distance) for x in ps.control.CollisionLimit(0.0, [obstacle], within=5.0).distances(arm, q)]

    meshes, boxes = distances(ps.Mesh(str(tmp_path / "box.stl"))), distances(ps.Box((0.2, 0.2, 0.2)))
    assert [names for names, _ in meshes] == [names for names, _ in boxes]
    np.testing.assert_allclose([x for _, x in meshes], [x for _, x in boxes], rtol=0, atol=1e-6)
