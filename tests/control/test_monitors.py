"""Monitors against their definitions, against physics, and as a picture."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import ShapeError, UnknownNameError
from tests.trees import relative

PUMA = ps.load("puma560")
RNG = np.random.default_rng(4)
Q = RNG.uniform(-1, 1, (4, 6)) + np.array([0, 0, 0.9, 0, 0.8, 0])
STRAIGHT = np.zeros(6)  # the wrist's outer axes in line


@pytest.mark.parametrize("part, rows", [("all", slice(0, 6)), ("rotation", slice(0, 3)), ("position", slice(3, 6))])
def test_manipulability_is_the_volume_of_the_jacobian(part, rows):
    jacobian = ps.jacobian(PUMA, Q, "tool")[:, rows]
    expected = np.prod(np.linalg.svd(jacobian, compute_uv=False), axis=-1)
    assert relative(ps.control.manipulability(PUMA, Q, "tool", part), expected) < 1e-9


def test_manipulability_vanishes_in_singular_positions():
    assert ps.control.manipulability(PUMA, STRAIGHT, "tool") < 1e-8 < ps.control.manipulability(PUMA, Q[0], "tool")


def test_a_two_link_arm_has_the_textbook_measure():
    """l₁ l₂ |sin θ₂| (Yoshikawa 1985)."""
    builder = ps.ModelBuilder("planar")
    body = ps.Inertia(1.0, tensor=np.eye(3))
    for name, parent, x in (("upper", "world", 0.0), ("lower", "upper", 0.7)):
        builder.body(name, parent, joint=ps.Revolute(axis=(0, 0, 1)), placement=ps.Pose(xyz=(x, 0, 0)), inertia=body)
    builder.frame("hand", body="lower", placement=ps.Pose(xyz=(0.4, 0, 0)))
    q = np.array([[0.3, 0.0], [0.3, 0.5], [1.0, np.pi / 2]])
    gramian = ps.jacobian(builder.build(), q, "hand")[:, 3:5]
    assert np.allclose(np.abs(np.linalg.det(gramian)), 0.7 * 0.4 * np.abs(np.sin(q[:, 1])))
    assert np.allclose(
        ps.control.manipulability(builder.build(), q, "hand", "position"), 0.0
    )  # it cannot leave its plane


@pytest.mark.parametrize("part, rows", [("rotation", slice(0, 3)), ("position", slice(3, 6))])
def test_the_dynamic_ellipsoid_is_that_of_accelerations_under_bounded_forces(part, rows):
    """No unit of joint forces pushes the frame beyond it, and some push reaches its longest axis."""
    forces = np.array([10.0, 20.0, 15.0, 5.0, 4.0, 3.0])
    axes = ps.control.dynamic_manipulability(PUMA, Q[0], "tool", forces, part)
    push = ps.jacobian(PUMA, Q[0], "tool")[rows] @ np.linalg.inv(ps.mass_matrix(PUMA, Q[0])) @ np.diag(forces)
    left, values, _ = np.linalg.svd(push)
    assert relative(axes.lengths, values) < 1e-8
    assert np.allclose(np.abs(np.sum(axes.directions * left, axis=0)), 1.0, atol=1e-6)
    samples = RNG.normal(size=(500, 6))
    reached = (samples / np.linalg.norm(samples, axis=-1, keepdims=True)) @ push.T
    inside = np.sum(np.square(reached @ axes.directions / axes.lengths), axis=-1)
    assert inside.max() <= 1 + 1e-9


def test_twice_the_forces_give_twice_the_accelerations_in_any_batch():
    one, two = (ps.control.dynamic_manipulability(PUMA, Q, "tool", f).lengths for f in (1.0, 2.0))
    assert one.shape == (4, 3) and np.allclose(two, 2 * one)
    assert np.all(np.diff(one, axis=-1) <= 0)


def test_the_effective_mass_is_force_over_acceleration():
    """A push along d accelerates the frame along d by force/mass, from rest and without gravity."""
    model = PUMA.replace(gravity=(0, 0, 0))
    d = np.array([0.6, 0.0, 0.8])
    force = np.concatenate([np.zeros(3), 7.0 * d])
    a = ps.forward_dynamics(model, Q[0], np.zeros(6), np.zeros(6), f_ext={"tool": force})
    along = d @ (ps.jacobian(model, Q[0], "tool") @ a)[3:]
    assert np.isclose(ps.control.effective_mass(model, Q[0], "tool", 2.5 * d), 7.0 / along, rtol=1e-9)


def test_a_free_body_weighs_what_it_weighs():
    builder = ps.ModelBuilder("stone")
    builder.body("stone", joint=ps.Free(), inertia=ps.Inertia(3.5, tensor=np.diag([1.0, 2.0, 2.5])))
    builder.frame("centre", body="stone")
    model = builder.build()
    q = model.neutral()
    assert np.allclose(ps.control.effective_mass(model, q, "centre", np.eye(3)), 3.5)
    assert np.allclose(ps.control.effective_mass(model, q, "centre", np.eye(3), "rotation"), [1.0, 2.0, 2.5])


def test_what_cannot_give_way_is_infinitely_heavy():
    model = ps.load("planar3")
    frame = list(model.frames)[-1]
    masses = ps.control.effective_mass(model, [0.2, 0.3, 0.4], frame, np.eye(3))
    assert np.sum(np.isinf(masses)) == 1


def test_monitors_refuse_what_makes_no_sense():
    with pytest.raises(UnknownNameError, match="'sideways'"):
        ps.control.manipulability(PUMA, Q, "tool", "sideways")
    with pytest.raises(ShapeError, match="not all zero"):
        ps.control.effective_mass(PUMA, Q, "tool", (0, 0, 0))
    with pytest.raises(ShapeError, match="finite numbers, 3 of them"):
        ps.control.effective_mass(PUMA, Q, "tool", (1, 0))
    with pytest.raises(ShapeError, match=r"q \(samples, 6\)"):
        ps.control.plot_monitors(PUMA, Q[0], "tool")


def test_the_plot_shows_what_was_measured(tmp_path):
    pytest.importorskip("matplotlib")
    motion = ps.control.joint_trajectory(PUMA, Q[:2], duration=2.0)
    t = np.linspace(0, 2, 40)
    figure = ps.control.plot_monitors(PUMA, motion(t).q, "tool", t)
    volume, mass, above = figure.axes
    drawn = mass.lines[2].get_ydata()
    assert np.allclose(drawn, ps.control.effective_mass(PUMA, motion(t).q, "tool", (0, 0, 1)))
    assert len(volume.lines) == 2 and len(above.patches) == 8
    figure.savefig(tmp_path / "monitors.png")
    assert (tmp_path / "monitors.png").stat().st_size > 10_000
