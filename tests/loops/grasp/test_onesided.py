"""One-sided contacts: forces push only, friction obeys Coulomb's law, what the forces cannot hold opens."""

from functools import cache
from itertools import product

import numpy as np
import pytest

import phistar as ps
from phistar.loops.grasp.contacts import PointContact, SlidingPoint
from phistar.loops.grasp.onesided import one_sided_dynamics
from phistar.loops.primary.primary_closures import closed_state

CORNERS = [(x, y, -0.1) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
FEET = [f"foot{k}" for k in range(4)]
MASS, GRAVITY = 2.0, 9.81


@cache
def box(friction, tilt=0.0):
    """A box on its four corners, on a plane tilted about y."""
    gravity = GRAVITY * np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    b = ps.ModelBuilder("box", gravity=gravity)
    b.body("box", joint=ps.Free(), inertia=ps.Inertia(MASS, tensor=np.diag([0.03, 0.07, 0.09])))
    for k, corner in enumerate(CORNERS):
        b.frame(f"corner{k}", "box", ps.Pose(xyz=corner))
        b.frame(f"ground{k}", "world", ps.Pose(xyz=corner))
        kind = PointContact(friction) if friction else SlidingPoint()
        b.loop(FEET[k], f"ground{k}", f"corner{k}", kind)
    return b.build()


def moved(model, tau, v=(0, 0, 0, 0, 0, 0)):
    return one_sided_dynamics(model, model.neutral(), v, tau, FEET)


def on_ground(found):
    """The force of the box on the ground at each foot, (4, 3)."""
    return np.stack([found.forces[foot][..., 3:] for foot in FEET], axis=-2)


def test_a_resting_box_stands_on_its_feet():
    found = moved(box(0.5), np.zeros(6))
    assert np.abs(found.acceleration).max() < 1e-12
    np.testing.assert_allclose(on_ground(found).sum(axis=0), [0, 0, -MASS * GRAVITY], atol=1e-12)
    assert np.all(found.pressing >= 0.0)


def test_a_lifted_box_leaves_the_ground():
    found = moved(box(0.5), [0, 0, 0, 0, 0, 1.5 * MASS * GRAVITY])
    np.testing.assert_allclose(found.acceleration, [0, 0, 0, 0, 0, 0.5 * GRAVITY], atol=1e-12)
    assert np.all(found.pressing == 0.0)
    np.testing.assert_allclose(found.opening, 0.5 * GRAVITY, rtol=1e-12)


def test_a_tipped_box_turns_about_the_edge_that_stays():
    found = moved(box(0.8), [0, -2.0 * MASS * GRAVITY * 0.3, 0, 0, 0, 0])
    assert np.all(found.pressing[:2] > 0.0)  # x < 0 stays
    assert np.all(found.pressing[2:] == 0.0)
    assert np.all(found.opening[2:] > 0.0)
    lever = np.hypot(0.3, 0.1)
    inertia = 0.07 + MASS * lever**2
    moment = -2.0 * MASS * GRAVITY * 0.3 + MASS * GRAVITY * 0.3
    np.testing.assert_allclose(found.acceleration[1], moment / inertia, rtol=1e-12)


@pytest.mark.parametrize("friction", [0.2, 0.4, 0.7])
def test_a_box_on_a_slope_sticks_or_slides_as_coulomb_says(friction):
    tilt = 0.5
    model = box(friction, tilt)
    wanted = max(0.0, GRAVITY * (np.sin(tilt) - friction * np.cos(tilt)))
    np.testing.assert_allclose(moved(model, np.zeros(6)).acceleration, [0, 0, 0, wanted, 0, 0], atol=1e-9)


@pytest.mark.parametrize("direction", [(1, 0), (0, -1), (0.6, 0.8)])
def test_a_sliding_box_is_braked_against_its_motion(direction):
    model = box(0.3)
    slip = np.array([*direction, 0.0])
    found = moved(model, np.zeros(6), [0, 0, 0, *slip])
    np.testing.assert_allclose(found.acceleration, [0, 0, 0, *(-0.3 * GRAVITY * slip)], atol=1e-9)


def test_frictionless_contacts_solve_the_complementarity_problem_found_by_trying_all_cases():
    rng = np.random.default_rng(0)
    model, q = box(0.0), box(0.0).neutral()
    a, inverse = closed_state(model, q).jacobian, ps.mass_matrix_inverse(model.tree, q)
    seen = set()
    for _ in range(30):
        tau = rng.normal(size=6) * [2, 2, 2, 20, 20, 20]
        free = a @ ps.forward_dynamics(model.tree, q, np.zeros(6), tau)
        found = moved(model, tau)
        for case in product([False, True], repeat=4):
            closed = np.flatnonzero(case)
            forces = np.zeros(4)
            square = a[closed] @ inverse @ a[closed].T
            forces[closed] = np.linalg.lstsq(square, -free[closed], rcond=1e-10)[0]
            rates = free + a @ inverse @ a.T @ forces
            if np.all(forces > -1e-10) and np.all(rates > -1e-10):
                wanted = ps.forward_dynamics(model.tree, q, np.zeros(6), tau) + inverse @ a.T @ forces
                break
        np.testing.assert_allclose(found.acceleration, wanted, atol=1e-8)
        seen.add(tuple(found.pressing > 0.0))
    assert len(seen) >= 4  # open, on an edge, on a corner, closed


def test_coulombs_law_holds_at_every_contact_of_random_pushes():
    rng = np.random.default_rng(1)
    model = box(0.6)
    tau = rng.normal(size=(40, 6)) * [1, 1, 1, 12, 12, 12]
    found = moved(model, tau)
    force = -on_ground(found)  # on the box
    normal, tangential = force[..., 2], force[..., :2]
    assert np.all(normal >= 0.0)
    assert np.all(found.opening >= -1e-9)
    assert np.abs(normal * found.opening).max() < 1e-7
    assert np.all(np.linalg.norm(tangential, axis=-1) <= 0.6 * normal + 1e-9)
    a = closed_state(model, model.neutral()).jacobian
    slip = (found.acceleration @ a.T).reshape(40, 4, 3)[..., :2]
    assert np.all(np.sum(slip * tangential, axis=-1) <= 1e-9)  # friction never drives
    sticks = (np.linalg.norm(slip, axis=-1) < 1e-9) & (normal > 1e-6)
    slides = (np.linalg.norm(slip, axis=-1) > 1e-6) & (normal > 1e-6)
    assert np.any(sticks)
    assert np.any(slides)
    # while it slides, friction is on the pyramid that stands inside the cone
    inside = 0.6 * np.cos(np.pi / 8) * normal
    assert np.all(np.linalg.norm(tangential, axis=-1)[slides] >= inside[slides] - 1e-7)


def test_other_loops_stay_closed_beside_one_sided_contacts():
    """A door on a hinge that is a loop rests on a stop."""
    b = ps.ModelBuilder("door", gravity=(0, -GRAVITY, 0))
    b.body("door", joint=ps.Free(), inertia=ps.Inertia(3.0, (0.5, 0, 0), np.diag([0.1, 0.3, 0.3])))
    b.frame("edge", "door", ps.Pose(xyz=(1.0, 0, 0)))
    b.frame("stop", "world", ps.Pose(xyz=(1.0, 0, 0)))
    b.loop("hinge", "world", "door", ps.Revolute((0, 0, 1)))
    b.loop("rest", "stop", "edge", SlidingPoint((0, 1, 0)))
    model = b.build()
    held = one_sided_dynamics(model, model.neutral(), np.zeros(6), np.zeros(6), ["rest"])
    assert np.abs(held.acceleration).max() < 1e-11
    np.testing.assert_allclose(held.forces["rest"][4], -0.5 * 3.0 * GRAVITY, rtol=1e-11)
    lifted = one_sided_dynamics(
        model, model.neutral(), np.zeros(6), np.zeros(6), ["rest"], f_ext={"edge": [0, 0, 0, 0, 40.0, 0]}
    )
    about_hinge = 40.0 - 0.5 * 3.0 * GRAVITY
    np.testing.assert_allclose(lifted.acceleration, [0, 0, about_hinge / (0.3 + 3.0 * 0.25), 0, 0, 0], atol=1e-10)
    assert lifted.pressing == 0.0


def test_bad_names_and_kinds_are_refused_and_bad_states_spoil_themselves_only():
    model = box(0.5)
    with pytest.raises(ps.UnknownNameError, match="no loop 'boot'"):
        one_sided_dynamics(model, model.neutral(), np.zeros(6), np.zeros(6), ["boot"])
    b = ps.ModelBuilder("welded")
    b.body("box", joint=ps.Free(), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
    b.loop("weld", "world", "box", ps.Fixed())
    with pytest.raises(ps.ModelError, match="holds from both sides"):
        one_sided_dynamics(b.build(), model.neutral(), np.zeros(6), np.zeros(6), ["weld"])
    with pytest.raises(ps.ModelError, match="friction > 0"):
        PointContact(0.0)
    tau = np.zeros((2, 6))
    tau[1] = np.nan
    found = moved(model, tau)
    assert np.isfinite(found.acceleration[0]).all()
    assert np.isnan(found.acceleration[1]).any()


def test_contacts_that_all_hold_from_both_sides_are_ordinary_closures():
    model = box(0.5)
    q = model.neutral()
    tau = np.array([0.0, 0.0, 0.0, 0.3, 0.2, 30.0])
    held = one_sided_dynamics(model, q, np.zeros(6), tau, [])
    np.testing.assert_allclose(held.acceleration, ps.forward_dynamics(model, q, np.zeros(6), tau), atol=1e-9)
    assert held.opening.shape == held.pressing.shape == (0,)


def test_contacts_named_twice_and_models_without_any_are_refused():
    model = box(0.5)
    q = model.neutral()
    name = model.loops[0].name
    with pytest.raises(ps.ModelError, match="once each"):
        one_sided_dynamics(model, q, np.zeros(6), np.zeros(6), [name, name])
    with pytest.raises(ps.ModelError, match="no contacts"):
        one_sided_dynamics(ps.chain(3), np.zeros(3), np.zeros(3), np.zeros(3), [])
