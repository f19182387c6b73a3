"""Quantities as CasADi functions: the same values, and derivatives that an optimiser can use."""

import subprocess
import sys

import numpy as np
import pytest

import phistar as ps
from tests.trees import KINDS, mechanism, relative

casadi = pytest.importorskip("casadi")
CASES = {kind: mechanism(80, kind=kind, bodies=2, frames=1, armature=True) for kind in KINDS}
CASES["floating tree"] = mechanism(81, serial=False, floating=True, bodies=4, frames=1)
FUNCTIONS = {
    "forward_dynamics": ("v", "tau"),
    "inverse_dynamics": ("v", "a"),
    "mass_matrix": (),
    "bias": ("v",),
    "kinetic_energy": ("v",),
    "center_of_mass": (),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_casadi_function_has_the_value_of_the_function(case, name):
    function = ps.casadi_function(getattr(ps, name), case.model)
    rng = np.random.default_rng(0)
    state = [case.q, *rng.normal(size=(len(FUNCTIONS[name]), case.model.nv))]
    expected = np.asarray(getattr(ps, name)(case.model, *state))
    result = function(*state).full()
    assert result.shape == (*expected.shape, 1, 1)[:2]
    assert relative(np.ravel(result), np.ravel(expected)) < 1e-10


def test_arguments_and_results_have_names():
    function = ps.casadi_function(ps.forward_dynamics, ps.load("puma560"), "tool")
    assert function.name_in() == ["q", "v", "tau", "f_ext"] and function.name_out() == ["out"]
    assert function.name() == "puma560_forward_dynamics"
    state = np.random.default_rng(0).normal(size=(4, 6))
    expected = ps.forward_dynamics(ps.load("puma560"), *state[:3], {"tool": state[3]})
    named = function(**dict(zip(function.name_in(), state, strict=True)))
    assert relative(named["out"].full()[:, 0], expected) < 1e-12


@pytest.mark.parametrize("name", ["jacobian", "forward_kinematics"])
def test_quantities_of_a_frame(name):
    model, q = ps.load("puma560"), np.random.default_rng(0).normal(size=6)
    result = ps.casadi_function(getattr(ps, name), model, "tool")(q).full()
    assert relative(result, getattr(ps, name)(model, q, "tool")) < 1e-13


def test_several_results():
    model, q = ps.load("planar3"), np.array([0.1, 0.2, 0.3])
    function = ps.casadi_function(ps.innovations, model)
    assert function.name_out() == ["factor", "inverse", "D"]
    for ours, theirs in zip(function(q), ps.innovations(model, q), strict=True):
        assert relative(ours.full(), theirs) < 1e-13


def test_statements_with_parameters():
    model = ps.load("planar3")
    algebra = ps.algebra(model)
    function = ps.casadi_function(algebra.mass.inv, model, parameters=("inertia",))
    assert function.name_in() == ["q", "x", "inertia"]
    q, x = np.random.default_rng(0).normal(size=(2, 3))
    inertia = np.concatenate([body.inertia.parameters for body in model.bodies])
    assert relative(function(q, x, inertia).full()[:, 0], ps.mass_matrix_inverse(model, q) @ x) < 1e-12
    matrix = ps.casadi_function(algebra.mass.inv, model, matrix=True)
    assert relative(matrix(q).full(), ps.mass_matrix_inverse(model, q)) < 1e-12


def test_derivatives_of_the_symbolic_function():
    """The gradient of the potential energy is the gravity load; ∂(inverse dynamics)/∂a is the mass matrix."""
    model, q = ps.load("puma560"), np.random.default_rng(0).normal(size=6)
    x = casadi.SX.sym("x", 6)
    energy = ps.casadi_function(ps.potential_energy, model)
    gradient = casadi.Function("gradient", [x], [casadi.gradient(energy(x), x)])
    assert relative(gradient(q).full()[:, 0], ps.gravity_load(model, q)) < 1e-12
    dynamics = ps.casadi_function(ps.inverse_dynamics, model)
    mass = casadi.Function("mass", [x], [casadi.jacobian(dynamics(q, q, x), x)])
    assert relative(mass(q).full(), ps.mass_matrix(model, q)) < 1e-12


def test_it_solves_for_an_equilibrium():
    """As in an optimal-control problem: IPOPT finds torques at rest and phistar agrees that nothing moves."""
    model = ps.load("planar2")
    dynamics = ps.casadi_function(ps.forward_dynamics, model)
    tau, q = casadi.MX.sym("tau", 2), np.array([0.4, -0.7])
    problem = {"x": tau, "f": casadi.sumsqr(dynamics(q, np.zeros(2), tau))}
    solver = casadi.nlpsol("solver", "ipopt", problem, {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}})
    found = solver(x0=0)["x"].full()[:, 0]
    np.testing.assert_allclose(found, ps.gravity_load(model, q), atol=1e-6)
    np.testing.assert_allclose(ps.forward_dynamics(model, q, np.zeros(2), found), 0.0, atol=1e-4)


def test_casadi_is_loaded_only_when_asked_for():
    code = "import sys, phistar as ps; ps.casadi_function; ps.export_c; print('casadi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_casadi_cannot_hold_is_refused():
    with pytest.raises(ps.StatementError, match="two axes"):
        ps.casadi_function(lambda q: np.multiply.outer(np.outer(q, q), q), ps.load("planar3"))
