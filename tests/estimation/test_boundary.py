"""The two-point boundary-value problem (R87 eqs. 16-21), solved both ways, under every boundary condition."""

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError, UnknownNameError
from tests.estimation import r87
from tests.trees import mechanism, relative

LOAD = np.array([0.3, -0.2, 0.5, 4.0, -2.0, 1.0])
MOTION = np.array([0.4, -0.3, 0.2, 1.0, 2.0, -1.0])
CONDITIONS = {
    ("free", "fixed"): {},
    ("loaded", "fixed"): {"tip_forces": {"tip": LOAD}},
    ("free", "driven"): {"base_acceleration": MOTION},
    ("moved", "fixed"): {"tip_accelerations": {"tip": np.zeros(6)}},
    ("moved", "driven"): {"tip_accelerations": {"tip": MOTION}, "base_acceleration": LOAD},
}


@pytest.fixture(scope="module")
def arm():
    return r87.arm(6, seed=2)


def assert_solved(problem, solution):
    scale = np.abs(solution.states).max() + np.abs(solution.costates).max()
    for name, defect in problem.defects(solution).items():
        assert np.abs(defect).max() < 1e-11 * scale, name


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("ends", "conditions"), CONDITIONS.items(), ids=map(" ".join, CONDITIONS))
def test_forward_and_inverse_solve_the_equations(arm, ends, conditions):
    model, q, v, tau = arm
    problem = estimation.BoundaryValueProblem(model, q, v, **conditions)
    assert (problem.tip, problem.base) == ends
    solution = problem.forward(tau)
    assert_solved(problem, solution)
    opened = estimation.BoundaryValueProblem(
        model, q, v, tip_forces=solution.tip_forces, base_acceleration=conditions.get("base_acceleration")
    )
    back = opened.inverse(solution.accelerations)
    assert_solved(opened, back)
    assert relative(back.joint_forces, tau) < 1e-9
    assert relative(back.states, solution.states) < 1e-9


def test_free_and_loaded_tips_are_forward_dynamics(arm):
    model, q, v, tau = arm
    for loads in ({}, {"tip": LOAD}):
        solution = estimation.BoundaryValueProblem(model, q, v, tip_forces=loads).forward(tau)
        assert relative(solution.accelerations, ps.forward_dynamics(model, q, v, tau, loads)) < 1e-11


def test_inverse_dynamics_is_the_outward_and_inward_recursion(arm):
    """(23)-(31)."""
    model, q, v, a = arm
    solution = estimation.BoundaryValueProblem(model, q, v).inverse(a)
    assert relative(solution.joint_forces, ps.inverse_dynamics(model, q, v, a)) < 1e-12
    assert relative(solution.joint_forces, ps.mass_matrix(model, q) @ a + ps.bias(model, q, v)) < 1e-12  # (30)


def test_a_tip_moves_as_it_is_told_and_an_anchored_one_not_at_all(arm):
    model, q, v, tau = arm
    jacobian, rate = ps.jacobian(model, q, "tip"), ps.jacobian_dot_v(model, q, v, "tip")
    for wanted in (np.zeros(6), MOTION):
        problem = estimation.BoundaryValueProblem(model, q, v, tip_accelerations={"tip": wanted})
        solution = problem.forward(tau)
        assert np.allclose(jacobian @ solution.accelerations + rate, wanted, atol=1e-9)
        loaded = ps.forward_dynamics(model, q, v, tau, solution.tip_forces)
        assert relative(solution.accelerations, loaded) < 1e-9


def test_a_base_driven_along_a_line_is_gravity_the_other_way(arm):
    model, q, v, tau = arm
    upward = np.array([0, 0, 0, 0.5, -1.0, 2.0])
    driven = estimation.BoundaryValueProblem(model, q, v, base_acceleration=upward).forward(tau)
    heavier = model.replace(gravity=model.gravity - upward[3:])
    assert relative(driven.accelerations, ps.forward_dynamics(heavier, q, v, tau)) < 1e-11


def test_a_driven_base_is_a_free_one_pushed_hard_enough():
    """With the force that makes a free base move so, the joints do the same."""
    fixed, floating = _arm_on(ps.Fixed()), _arm_on(ps.Free())
    rng = np.random.default_rng(5)
    q, v = rng.normal(size=(2, 2))
    on_base = np.concatenate([np.zeros(6), [1.0], q])
    accelerations = np.concatenate([MOTION, rng.normal(size=2)])
    joint_forces = ps.inverse_dynamics(floating, on_base, np.concatenate([np.zeros(6), v]), accelerations)[6:]
    driven = estimation.BoundaryValueProblem(fixed, q, v, base_acceleration=MOTION).forward(joint_forces)
    assert relative(driven.accelerations, accelerations[6:]) < 1e-11


def _arm_on(base):
    builder = ps.ModelBuilder("arm")
    inertia = ps.Inertia(1.0, (0.2, 0.1, 0), np.diag([0.1, 0.2, 0.25]))
    builder.body("pedestal", parent="world", joint=base, inertia=inertia)
    builder.body("one", parent="pedestal", joint=ps.Revolute(), inertia=inertia)
    builder.body(
        "two", parent="one", joint=ps.Revolute(axis=(0, 1, 0)), placement=ps.Pose(xyz=(0.4, 0, 0)), inertia=inertia
    )
    return builder.build()


def test_free_free_is_a_free_joint_without_force():
    """x⁺ at the base vanishes, and momentum changes by gravity alone."""
    model = _arm_on(ps.Free())
    rng = np.random.default_rng(3)
    q, v = np.concatenate([rng.normal(size=3), [0, 0, 0, 1], rng.normal(size=2)]), rng.normal(size=8)
    problem = estimation.BoundaryValueProblem(model, q, v)
    solution = problem.forward(np.concatenate([np.zeros(6), [0.7, -0.4]]))
    assert problem.base == "free"
    assert np.abs(solution.states[0]).max() < 1e-12
    assert_solved(problem, solution)
    with pytest.raises(ModelError, match="found, not given"):
        estimation.BoundaryValueProblem(model, q, v, base_acceleration=MOTION)


def test_trees_with_rotors_are_solved_too():
    case = mechanism(14, serial=False, floating=False, armature=True, rotors=True, kind="revolute")
    assert case.symbols.rotors
    loads = dict(zip(case.frames, case.vectors["f"].reshape(-1, 6)))
    problem = estimation.BoundaryValueProblem(
        case.model, case.q, case.vectors["v"], tip_forces=loads, base_acceleration=case.vectors["a_b"]
    )
    solution = problem.forward(case.vectors["T"])
    assert_solved(problem, solution)
    assert relative(problem.inverse(solution.accelerations).joint_forces, case.vectors["T"]) < 1e-10


def test_states_come_in_batches():
    model = ps.chain(3)
    q, v, tau = np.random.default_rng(0).normal(size=(3, 5, 3))
    problem = estimation.BoundaryValueProblem(model, q, v, tip_forces={"tip": LOAD})
    solution = problem.forward(tau)
    assert solution.states.shape == (5, 3, 6) and solution.accelerations.shape == (5, 3)
    assert_solved(problem, solution)


def test_contradictions_are_refused(arm):
    model, q, v, tau = arm
    with pytest.raises(UnknownNameError, match="tip is given a force and an acceleration"):
        estimation.BoundaryValueProblem(model, q, v, tip_forces={"tip": LOAD}, tip_accelerations={"tip": MOTION})
    with pytest.raises(ModelError, match="not determined"):
        estimation.BoundaryValueProblem(model, q, v, tip_accelerations={"tip": MOTION}).inverse(tau)
    with pytest.raises(UnknownNameError):
        estimation.BoundaryValueProblem(model, q, v, tip_forces={"nose": LOAD}).forward(tau)


def test_a_planar_arm_anchored_at_its_tip_is_a_closed_chain():
    """Six conditions, three of which planar joints meet by themselves; the forces there are the least."""
    model = ps.planar_chain(4)
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, size=(3, 4))
    problem = estimation.BoundaryValueProblem(model, q, v, tip_accelerations={"tip": np.zeros(6)})
    solution = problem.forward(tau)
    assert_solved(problem, solution)
    tip = ps.jacobian(model, q, "tip") @ solution.accelerations + ps.jacobian_dot_v(model, q, v, "tip")
    assert np.abs(tip).max() < 1e-8
    assert np.abs(solution.tip_forces["tip"][[0, 1, 5]]).max() < 1e-8
    with pytest.raises(ModelError, match="tip of planar4 cannot accelerate as told in direction 5"):
        estimation.BoundaryValueProblem(model, q, v, tip_accelerations={"tip": [0, 0, 0, 0, 0, 1.0]}).forward(tau)
