"""Potential fields: the energy never rises, obstacles are not entered."""

import numpy as np
import pytest

import phistar as ps
from tests.control.closed_loop import run

ARM = ps.chain(7)
Q = np.array([0.3, -0.5, 0.6, 0.4, -0.7, 0.5, 0.3])
POINTS = {"link4": 0.05, "link6": 0.05}


def law_and_reference():
    law = ps.control.PotentialFieldControl(ARM, "tip", POINTS, radii=[0.1], kp=40, kd=0.6, strength=0.05, reach=0.15)
    tip, near = (ps.forward_kinematics(ARM, Q, name)[:3, 3] for name in ("tip", "link6"))
    goal = tip + np.array([-0.3, 0.25, 0.1])
    return law, law.reference(goal, [near + 0.22 * (goal - tip) / np.linalg.norm(goal - tip)])


def test_the_energy_with_the_field_never_rises_and_no_ball_enters_another():
    law, reference = law_and_reference()
    fast = ps.compile(law)
    found = run(ARM, lambda t, q, v: fast(t, q, v, reference), Q, np.zeros(7), dt=1e-3, steps=1500)
    energy = law.storage(found.q, found.v, reference)
    assert energy[-1] < 0.5 * energy[0]
    assert np.diff(energy).max() <= 1e-9 * energy[0]
    gaps = [np.linalg.norm(ps.forward_kinematics(ARM, found.q, name)[:, :3, 3] - reference[3:], axis=-1) - 0.15
            for name in POINTS]  # fmt: skip
    assert np.min(gaps) > 0.0
    assert np.min(gaps) < law.reach  # it came near enough to be pushed


def test_the_forces_are_the_slope_of_the_field():
    law, reference = law_and_reference()
    rng = np.random.default_rng(0)
    for q in Q + 0.1 * rng.normal(size=(5, 7)):
        field = [(law.storage(q + h, np.zeros(7), reference) - law.storage(q - h, np.zeros(7), reference)) / 2e-6
                 for h in 1e-6 * np.eye(7)]  # fmt: skip
        expected = ps.gravity_load(ARM, q) - np.array(field)
        np.testing.assert_allclose(law(0.0, q, np.zeros(7), reference), expected, rtol=1e-6, atol=1e-5)


def test_beyond_its_reach_an_obstacle_is_not_felt():
    law, reference = law_and_reference()
    far = law.reference(reference[:3], [[9.0, 9.0, 9.0]])
    other = law.reference(reference[:3], [[-9.0, 9.0, 9.0]])
    np.testing.assert_array_equal(law(0.0, Q, np.zeros(7), far), law(0.0, Q, np.zeros(7), other))


def test_inside_an_obstacle_the_law_stays_finite_and_pushes_out():
    law, reference = law_and_reference()
    place = ps.forward_kinematics(ARM, Q, "link6")[:3, 3]
    inside = law(0.0, Q, np.zeros(7), law.reference(reference[:3], [place + 0.01]))
    assert np.isfinite(inside).all()
    a = ps.forward_dynamics(ARM, Q, np.zeros(7), inside)
    assert np.sum(ps.jacobian(ARM, Q, "link6")[3:] @ a) < 0.0  # away from the centre


def test_bad_input_is_said():
    with pytest.raises(ps.UnknownNameError):
        ps.control.PotentialFieldControl(ARM, "tip", {"nowhere": 0.1}, radii=[0.1])
    with pytest.raises(ps.ShapeError, match="protect"):
        ps.control.PotentialFieldControl(ARM, "tip", {}, radii=[0.1])
    with pytest.raises(ps.ShapeError, match="1 obstacles"):
        law_and_reference()[0].reference(np.zeros(3), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"radii": []}, "at least one obstacle"),
        ({"radii": "wide"}, "radii"),
        ({"points": {"link3": -0.1}}, "radius of a point"),
        ({"points": ["link3"]}, "frame: radius"),
        ({"reach": 0.0}, "reach must be positive"),
        ({"reach": np.nan}, "reach"),
    ],
)
def test_obstacles_and_points_are_checked(change, says):
    arguments = {"points": {"link3": 0.05}, "radii": [0.1]} | change
    with pytest.raises(ps.ShapeError, match=says):
        ps.control.PotentialFieldControl(ps.chain(4), "tip", **arguments)


def test_a_point_in_the_centre_of_an_obstacle_is_not_pushed_anywhere():
    model = ps.chain(4)
    law, q = ps.control.PotentialFieldControl(model, "tip", {"link3": 0.05}, radii=[0.1]), np.full(4, 0.3)
    centre, goal = (ps.forward_kinematics(model, q, name)[:3, 3] for name in ("link3", "tip"))
    tau = law(0.0, q, np.zeros(4), law.reference(goal, [centre]))
    np.testing.assert_allclose(tau, ps.gravity_load(model, q), atol=1e-9)
