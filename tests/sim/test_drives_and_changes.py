"""Joints that move as prescribed, and loops that close and open on the way."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar, random_inertia


def arm(**parts) -> ps.Model:
    rng, b, parent = np.random.default_rng(0), ps.ModelBuilder("arm", gravity=(0, -9.81, 0)), "world"
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (0, 0, 1))):
        joint = ps.Revolute(axis=axis, **parts)
        b.body(f"j{k}", parent, joint, ps.Pose(xyz=(0.5 * (k > 0), 0, 0)), random_inertia(rng))
        parent = f"j{k}"
    b.frame("tip", parent, ps.Pose(xyz=(0.4, 0, 0)))
    return b.build()


def test_prescribed_joints_move_as_told_locked_ones_stay_and_forces_are_told():
    model, q0, v0 = arm(damping=0.1), np.array([0.3, -0.4, 0.2]), np.array([0.5, 0.0, 0.1])
    law = lambda t, q, v: np.array([2.0 * np.cos(t), 99.0, 7.0])  # noqa: E731
    run = ps.simulate(model, q0, v0, 1.0, law, rtol=1e-11, prescribed=["j0"], locked=["j1"], passive=["j2"])
    np.testing.assert_allclose(run.q[:, 0], 0.3 + 0.5 * run.t + 2.0 * (1.0 - np.cos(run.t)), atol=1e-9)
    assert np.abs(run.q[:, 1] + 0.4).max() < 1e-14 and np.abs(run.tau[:, 2]).max() == 0.0
    assert np.abs(run.energy - run.work - run.energy[0]).max() < 1e-8
    again = ps.forward_dynamics(model, run.q, run.v, run.tau + ps.joint_friction(model, run.q, run.v))
    np.testing.assert_allclose(again[:, 0], 2.0 * np.cos(run.t), atol=1e-9)
    assert np.abs(again[:, 1]).max() < 1e-9


def test_rollouts_drive_joints_alike():
    model, q0, v0 = arm(damping=0.1), np.array([0.3, -0.4, 0.2]), np.array([0.5, 0.0, 0.1])
    how = {"prescribed": ["j0"], "locked": ["j1"]}
    law = lambda t, q, v: np.array([2.0 * np.cos(t), 0.0, -0.5 * v[2]])  # noqa: E731
    run = ps.rollout(model, q0, np.stack([v0, v0]), dt=2e-3, steps=250, controller=law, **how)
    exact = ps.simulate(model, q0, v0, 0.5, law, t_eval=[0.5], **how)
    np.testing.assert_allclose(run.q[1, -1], exact.q[-1], atol=2e-3)  # the controller is asked once a step
    assert np.abs(run.q[0, :, 1] + 0.4).max() == 0.0
    held = ps.rollout(model, q0, v0, np.tile([1.0, 0.0, 0.0], (100, 1)), dt=1e-3, **how)
    assert held.q[-1, 0] == pytest.approx(0.3 + 0.05 + 0.005, abs=1e-12)


def test_dry_friction_sticks_beside_a_prescribed_joint():
    model = arm(friction=50.0)
    run = ps.simulate(model, [0.3, -0.4, 0.2], np.zeros(3), 0.2, lambda t, q, v: [1.0, 0, 0], prescribed=["j0"])
    assert np.abs(run.q[-1, 1:] - [-0.4, 0.2]).max() < 1e-12 and run.q[-1, 0] == pytest.approx(0.3 + 0.02)


def test_contradictions_are_told():
    model, state = arm(), (np.zeros(3), np.ones(3))
    with pytest.raises(ps.ModelError, match="two ways"):
        ps.simulate(model, *state, 1.0, prescribed=["j0"], locked=["j0"])
    with pytest.raises(ps.ModelError, match="is locked, but starts"):
        ps.simulate(model, *state, 1.0, locked=["j1"])
    with pytest.raises(ps.UnknownNameError, match="j9"):
        ps.simulate(model, *state, 1.0, passive=["j9"])


def test_a_latch_keeps_momentum_loses_energy_and_tells_its_impulse():
    """Two free bodies that meet: what one loses the other gains; welded, they go on together."""
    rng, b = np.random.default_rng(1), ps.ModelBuilder("docking", gravity=(0, 0, 0))
    for name in ("chaser", "target"):
        b.body(name, joint=ps.Free(), inertia=random_inertia(rng))
    model = b.build()
    q0 = model.integrate(model.neutral(), [0, 0, 0, 0, 0, 0, 0.1, 0.2, 0, 1.0, 0, 0])
    v0 = 0.3 * rng.standard_normal(12)
    catch = ps.Latch("dock", "chaser", "target", when=lambda t, q, v: 0.3 - t)
    run = ps.simulate(model, q0, v0, 1.0, rtol=1e-11, changes=[catch, ps.Release("dock", when=0.7)])
    momenta = ps.momentum(model, run.q, run.v)
    assert np.abs(momenta - momenta[0]).max() < 1e-9
    latch, release = run.summary["changes"]
    assert latch["time"] == pytest.approx(0.3) and release["time"] == 0.7
    assert [event.what for event in run.events] == ["latch", "release"] and "N s" in run.events[0].where
    assert latch["energy_lost"] == pytest.approx(run.energy[0] - run.energy[-1], rel=1e-8) and latch["energy_lost"] > 0
    both = (run.t > 0.31) & (run.t < 0.69)
    relative = [
        np.linalg.solve(ps.forward_kinematics(model, q, "target"), ps.forward_kinematics(model, q, "chaser"))
        for q in run.q[both]
    ]
    assert np.ptp(np.array(relative), axis=0).max() < 1e-9


def test_the_impulse_is_the_jump_of_the_momentum_of_what_is_caught():
    """A ball joint at the tip of an arm catches a body: the impulse at the frame is what the body's momentum gains."""
    b = ps.ModelBuilder("catch", gravity=(0, 0, 0))
    b.body("hand", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    b.frame("palm", "hand", ps.Pose(xyz=(1.0, 0, 0)))
    b.body("ball", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), 0.02 * np.eye(3)))
    model = b.build()
    q0 = np.concatenate([[0.0], model.neutral()[1:]])
    q0[1] = 1.0  # the ball stands at the palm
    v0 = np.array([0.0, 0, 0, 0, 0.0, -3.0, 0.0])
    run = ps.simulate(model, q0, v0, 0.1, changes=[ps.Latch("grip", "palm", "ball", 0.0, joint=ps.Spherical())])
    spin = -6.0 / (0.1 + 0.25 + 2.0)  # of the hand with the ball: its momentum about the hinge stays −6 N m s
    assert run.v[-1, 0] == pytest.approx(spin, rel=1e-8)
    np.testing.assert_allclose(run.summary["changes"][0]["impulse"], [0, 0, 0, 0, 0.35 * spin, 0], atol=1e-9)


def test_a_loop_of_the_model_opens_and_the_rest_swings_free():
    model = four_bar((0.5, 1.0, 0.9, 1.1))
    q0 = ps.assemble(model, [0.7, 0.1, 1.0])
    opens = [ps.Release("closure", when=0.2)]
    run = ps.simulate(model, q0, np.zeros(3), 0.6, rtol=1e-10, changes=opens, t_eval=[0.1, 0.6])
    closed = ps.simulate(model, q0, np.zeros(3), 0.2, rtol=1e-10)
    tree = ps.simulate(model.tree, closed.q[-1], closed.v[-1], 0.4, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1], tree.q[-1], atol=1e-7)
    with pytest.raises(ps.PhistarError, match="independent rates"):
        ps.simulate(model.embedded(q=q0), q0, [0.0], 0.1, changes=[ps.Release("closure", when=0.05)])
