"""The page that simulates: its step is the robot's motion, and the file stands for itself."""

import re

import numpy as np
import pytest

import phistar as ps
from phistar.view.robot_page import STEP, simulating_page, step_function


def stepped(model, q, v, steps, force=None):
    """The page's own step, compiled for this machine."""
    step = ps.compile(step_function(model), model)
    force = np.zeros(6 * len(model.bodies)) if force is None else force
    for _ in range(steps):
        q, v, poses = step(q, v, force, [STEP])
    return q, v, poses


def test_a_free_motion_is_that_of_a_rollout():
    """Semi-implicit Euler, as in `ps.rollout`, on a robot without friction."""
    model = ps.planar_chain(3, gravity=(0, -9.81, 0))
    q, v = np.array([0.3, -0.5, 0.8]), np.array([1.0, -2.0, 0.5])
    found = ps.rollout(model, q, v, np.zeros((300, 3)), dt=STEP, steps=300, method="euler")
    q, v, poses = stepped(model, q, v, 300)
    assert np.abs(q - found.q[-1]).max() < 1e-11
    expected = np.stack([ps.forward_kinematics(model, q, body.name)[:3] for body in model.bodies])
    assert np.abs(poses.reshape(-1, 3, 4) - expected).max() < 1e-12


def test_a_free_body_keeps_its_momentum_and_follows_a_force():
    builder = ps.ModelBuilder("brick", gravity=(0, 0, 0))
    inertia = ps.Inertia(2.0, (0, 0, 0), np.diag([0.3, 0.5, 0.7]))
    builder.body("brick", parent="world", joint=ps.Free(), inertia=inertia)
    model = builder.build()
    spin = np.array([0.4, -1.2, 0.9, 0.1, 0.2, -0.3])
    q, v, _ = stepped(model, model.neutral(), spin, 1000)
    before, after = ps.momentum(model, model.neutral(), spin), ps.momentum(model, q, v)
    assert np.abs(after - before).max() < 2e-3  # a first-order method, over a second
    _, v, _ = stepped(model, model.neutral(), np.zeros(6), 500, force=np.array([0, 0, 0, 4.0, 0, 0]))
    assert v[3] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("damping, stiffness", [(50.0, 0.0), (0.0, 1e5), (5.0, 1e4)])
def test_strong_dampers_and_springs_are_stable(damping, stiffness):
    """Explicit steps of 1 ms would need hb/m < 2: here it is 50 of a mass of 1e-3 kg m²."""
    builder = ps.ModelBuilder("wheel", gravity=(0, 0, 0))
    joint = ps.Revolute(axis=(0, 0, 1), damping=damping, stiffness=stiffness)
    inertia = ps.Inertia(1.0, (0, 0, 0), np.diag([1e-3, 1e-3, 1e-3]))
    builder.body("wheel", parent="world", joint=joint, inertia=inertia)
    model = builder.build()
    q, v, _ = stepped(model, np.array([0.1]), np.array([1.0]), 2000)
    assert abs(q[0]) < 0.2 and abs(v[0]) < 1.1
    if stiffness:
        assert abs(q[0]) < 1e-2


def test_stops_hold_a_falling_arm():
    model = ps.load("puma560")
    q, v, _ = stepped(model, np.array([0, 0.8, 0, 0, 0.1, 0]), np.zeros(6), 4000)
    lower, upper = np.array([joint.limits for joint in model.joints])[..., 0].T
    assert np.all(q > lower - 0.03) and np.all(q < upper + 0.03)
    assert np.abs(v).max() < 0.1


def test_the_file_holds_all_that_it_needs(tmp_path):
    text = simulating_page(ps.load("puma560"), tmp_path / "arm.html").read_text("utf-8")
    assert "default-src 'none'" in text and "connect-src" not in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)
    assert "AGFzbQ" in text  # a module of WebAssembly, by its first bytes


@pytest.mark.parametrize("name, what", [("wd89_fig1", "loops"), ("a beam", "flexible bodies")])
def test_what_a_page_cannot_simulate_is_refused(name, what, tmp_path):
    if what == "loops":
        model = ps.load(name)
    else:
        builder = ps.ModelBuilder("beam", gravity=(0, 0, 0))
        builder.body("arm", parent="world", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(1.0, 10.0, 1.0, modes=2))
        model = builder.build()
    with pytest.raises(ps.PhistarError, match=what):
        simulating_page(model, tmp_path / "robot.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "start",
    [{"q": [1, 2, 3]}, {"v": [1]}, {"q": "abc"}, {"q": [np.nan, 0]}, {"v": [0, np.inf]}, {"q": [[0, 0], [1, 1]]}],
)
def test_a_start_that_is_no_state_is_refused_with_a_sentence(start, tmp_path):
    with pytest.raises(ps.PhistarError):
        simulating_page(ps.load("planar2"), tmp_path / "robot.html", **start)
    assert not list(tmp_path.iterdir())
