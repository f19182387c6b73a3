"""Momentum, the centre-of-mass frame, the generalized Jacobian and motions without reaction."""

import numpy as np
import pytest

import phistar as ps
from tests.freeflying.robots import nine_links, state, with_wheels
from tests.trees import relative

ff = ps.freeflying
ROBOTS = pytest.mark.parametrize("model", [nine_links(), with_wheels()], ids=lambda model: model.name)


@ROBOTS
def test_the_center_of_mass_frame_agrees_with_the_momentum_about_the_origin(model):
    q, v = state(model)
    frame, about_origin = ff.center_of_mass_frame(model, q, v), ps.momentum(model, q, v)
    assert relative(frame.position, ps.center_of_mass(model, q)) < 1e-13
    assert relative(model.total_mass * frame.velocity, about_origin[..., 3:]) < 1e-13
    shifted = about_origin[..., :3] - np.cross(frame.position, about_origin[..., 3:])
    assert relative(frame.angular_momentum, shifted) < 1e-13
    assert relative((frame.inertia @ frame.angular_velocity[..., None])[..., 0], frame.angular_momentum) < 1e-13
    expected = np.concatenate([frame.angular_momentum, model.total_mass * frame.velocity], axis=-1)
    assert relative(ff.momentum(model, q, v), expected) < 1e-14


def test_the_momentum_about_the_center_of_mass_does_not_care_how_far_the_robot_is():
    """An orbit's radius away from the origin, where the momentum about the origin has lost its last digits."""
    model = nine_links()
    q, v = state(model)
    far = q + np.concatenate([[7e6, -2e6, 1e5], np.zeros(model.nq - 3)])
    near, there = ff.center_of_mass_frame(model, q, v), ff.center_of_mass_frame(model, far, v)
    for part in ("velocity", "inertia", "angular_momentum", "angular_velocity"):
        assert np.array_equal(getattr(near, part), getattr(there, part))
    assert np.array_equal(ff.mass_matrix(model, q), ff.mass_matrix(model, far))


@ROBOTS
def test_joint_forces_do_not_change_the_momentum_and_thrust_does(model):
    """d/dt of [L; p] along the motion is the moment about the centre of mass and the force that act from outside."""
    model = model.replace(gravity=(0, 0, 0))
    (q, v), rng, step = state(model, shape=()), np.random.default_rng(4), 1e-6
    tau, thrust = rng.normal(size=model.nv - 6), rng.normal(size=6)

    def rate(push):
        a = ff.forward_dynamics(model, q, v, tau, push)
        ends = [
            ff.momentum(model, model.integrate(q, s * step * v + 0.5 * step**2 * a), v + s * step * a) for s in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * step)

    scale = np.abs(ff.momentum(model, q, v)).max()
    assert np.abs(rate(None)).max() < 1e-7 * scale
    turn = ps.forward_kinematics(model, q, model.bodies[0].name)
    moment, force = turn[:3, :3] @ thrust[:3], turn[:3, :3] @ thrust[3:]
    moment = moment + np.cross(turn[:3, 3] - ps.center_of_mass(model, q), force)
    assert np.abs(rate(thrust) - np.concatenate([moment, force])).max() < 1e-7 * scale


@pytest.mark.parametrize(("model", "frame"), [(nine_links(), "tip2"), (with_wheels(), "tool")], ids=["tree", "wheels"])
def test_the_generalized_jacobian_is_the_jacobian_of_a_robot_without_momentum(model, frame):
    q, v = state(model)
    rates = v[..., 6:]
    moving = np.concatenate([ff.wiggle_velocity(model, q, rates), rates], axis=-1)
    expected = (ps.jacobian(model, q, frame) @ moving[..., None])[..., 0]
    found = (ff.generalized_jacobian(model, q, frame) @ rates[..., None])[..., 0]
    assert relative(found, expected) < 1e-13


@ROBOTS
@pytest.mark.parametrize(("keep", "rows"), [("attitude", slice(0, 3)), ("pose", slice(0, 6))])
def test_rates_in_the_reaction_null_space_leave_the_base_alone(model, keep, rows):
    q, v = state(model)
    projector = ff.reaction_null_space(model, q, keep)
    rates = (projector @ v[..., 6:, None])[..., 0]
    moved = ff.wiggle_velocity(model, q, rates)[..., rows]
    assert np.abs(moved).max() < 1e-11 * np.abs(ff.wiggle_velocity(model, q, v[..., 6:])).max()
    assert np.abs(projector @ projector - projector).max() < 1e-11
    rank = np.round(np.trace(projector, axis1=-2, axis2=-1))
    assert np.all(rank >= ff.joint_count(model) - (rows.stop - rows.start))


def test_a_reaction_wheel_turns_the_base_the_other_way():
    """I_wheel (ω + θ̇) + I_rest ω = 0 about the wheel's axis, the arm locked."""
    model = with_wheels()
    rates = np.zeros(ff.joint_count(model))
    rates[2] = 100.0
    wiggle = ff.wiggle_velocity(model, model.neutral(), rates)
    whole = ff.mass_at_base(model, model.neutral())
    expected = -np.linalg.solve(whole, np.concatenate([[0, 0, 0.04 * 100.0], np.zeros(3)]))
    assert relative(wiggle, expected) < 1e-13
    assert wiggle[2] < 0


def test_what_the_null_space_keeps_must_be_named():
    model = nine_links()
    with pytest.raises(ps.UnknownNameError, match="keeps 'attitude' or 'pose' of the base; 'tool' is neither"):
        ff.reaction_null_space(model, model.neutral(), "tool")


# Motion


def test_thrusters_push_along_their_lines():
    layout = ff.thrusters([(1, 0, 0), (-1, 0, 0)], [(0, 2, 0), (0, -1, 0)])
    assert np.allclose(layout @ [1.0, 1.0], [0, 0, 2.0, 0, 0, 0])
    assert np.allclose(layout[:, 0], [0, 0, 1, 0, 1, 0])


@pytest.mark.parametrize(
    ("positions", "directions", "words"),
    [
        ([(1, 0, 0)], [(0, 1, 0), (1, 0, 0)], "positions and directions"),
        ([(1, 0, 0)], [(0, 0, 0)], "has no direction"),
    ],
)
def test_thrusters_that_are_none_are_refused(positions, directions, words):
    with pytest.raises(ps.ShapeError, match=words):
        ff.thrusters(positions, directions)


def test_free_flying_inverse_dynamics_is_the_whole_robots():
    """Thrust and joint forces for accelerations of base and joints, and back."""
    model = with_wheels()
    (q, v), a = state(model), np.random.default_rng(9).normal(size=(3, model.nv))
    forces = ps.inverse_dynamics(model, q, v, a)
    found = ff.forward_dynamics(model, q, v, forces[..., 6:], forces[..., :6])
    assert relative(found, a) < 1e-11


def test_functions_are_traced_and_compiled_like_any_other():
    """A controller that holds the base's attitude with the generalized Jacobian's help runs inside the kernel."""
    model = with_wheels()
    compiled = ps.compile(lambda q, v: ff.center_of_mass_frame(model, q, v).angular_velocity, model)
    q, v = state(model)
    assert relative(compiled(q, v), ff.center_of_mass_frame(model, q, v).angular_velocity) < 1e-12
