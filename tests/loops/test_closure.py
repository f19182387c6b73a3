"""Closure rows: Q and C are the gradient of the residual, the drift its second derivative; for every kind of cut."""

import numpy as np
import pytest

import phistar as ps
from phistar.loops.closure import closures, loop_frames, loop_slices, row_count
from phistar.loops.cut import cut_rows
from tests.loops.mechanisms import CUTS, two_arms


def state_rows(model, q, v):
    frames = loop_frames(model)
    poses = {f: ps.forward_kinematics(model, q, f) for f in frames}
    jacobians = {f: ps.jacobian(model, q, f) for f in frames}
    motions = {f: J @ v for f, J in jacobians.items()}
    made = closures(model, q, poses, v, motions)
    stacked = np.concatenate([np.zeros((0, model.nv)), *jacobians.values()])
    bent = np.concatenate([np.zeros(0), *(ps.jacobian_dot_v(model, q, v, f) for f in frames)])
    return made, made.on_frames @ stacked + made.on_rates, made.drift + made.on_frames @ bent


@pytest.mark.sampled(6)
@pytest.mark.parametrize("joint", CUTS, ids=repr)
def test_rows_are_the_gradient_of_the_residual_and_the_drift_is_what_is_left_of_its_second_derivative(joint):
    model = two_arms(joint, seed=3, couplings=True)
    rng = np.random.default_rng(1)
    q, v, h = model.random(rng), rng.standard_normal(model.nv), 1e-5
    made, rows, drift = state_rows(model, q, v)
    ahead, back = (state_rows(model, model.integrate(q, step * v), v) for step in (h, -h))
    assert made.residual.shape == (row_count(model),) == (joint_rows(model),)
    np.testing.assert_allclose((ahead[0].residual - back[0].residual) / (2 * h), rows @ v, atol=1e-8)
    np.testing.assert_allclose((ahead[1] @ v - back[1] @ v) / (2 * h), drift, atol=2e-8 * max(1, np.abs(drift).max()))


def joint_rows(model):
    return sum(loop.rows for loop in model.loops)


@pytest.mark.parametrize("joint", [cut for cut in CUTS if not isinstance(cut, (ps.Cylindrical, ps.Distance))], ids=repr)
def test_a_cut_joint_is_closed_wherever_its_coordinates_take_it(joint):
    rng = np.random.default_rng(5)
    q = 3.0 * joint.random(rng, (6,)) if joint.nq < 4 and joint.nv < 4 else joint.random(rng, (6,))
    turn, shift = joint.pose(q)
    rows = cut_rows(joint, turn, shift, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(rows.value, 0.0, atol=1e-15)
    allowed = np.broadcast_to(joint.subspace(q), (6, 6, joint.nv))  # in child axes: turn them to the parent's
    by_child = np.concatenate([rows.by_turn @ turn, rows.by_shift @ turn], axis=-1)
    np.testing.assert_allclose(by_child @ allowed, 0.0, atol=1e-14)


def test_the_residual_near_closing_is_the_angle_and_the_gap_in_the_axes_of_the_first_frame():
    small = 1e-6
    turn, shift = ps.Pose(rpy=(small, 0, 0)).rotation, np.array([0.0, 0.0, 2 * small])
    rows = cut_rows(ps.Fixed(), turn, shift, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(rows.value, [small, 0, 0, 0, 0, 2 * small], atol=1e-15)
    rows = cut_rows(ps.Revolute(axis=(0, 0, 1)), turn, shift, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(rows.value, [small, 0, 0, 0, 2 * small], atol=1e-15)


def test_rows_stand_in_loop_order():
    model = two_arms(ps.Revolute(), couplings=True)
    assert loop_slices(model) == {"closure": slice(0, 5), "gear": slice(5, 6), "stop": slice(6, 7)}
    assert loop_frames(model) == ("left tip", "right tip")


def test_closures_take_batches_and_frames_on_the_world():
    b = ps.ModelBuilder("pendulum")
    b.body("rod", joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    b.frame("tip", "rod", ps.Pose(xyz=(1, 0, 0)))
    b.frame("hook", "world", ps.Pose(xyz=(0, 1, 0)))
    b.loop("rope", "hook", "tip", joint=ps.Distance(1.2))
    model = b.build()
    q = model.random(0, (2, 3))
    tip = ps.forward_kinematics(model, q, "tip")
    made = closures(model, q, {"tip": tip})
    assert made.on_frames.shape == (2, 3, 1, 6) and made.on_rates.shape == (1, 3)
    gap = np.linalg.norm(tip[..., :3, 3] - [0, 1, 0], axis=-1)
    np.testing.assert_allclose(made.residual[..., 0], gap - 1.2, atol=1e-15)
