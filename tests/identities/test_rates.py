"""Rates and derivatives of operators: what the product rule gives, against differences of matrices, and as sweeps."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import StatementError
from phistar.operators.nodes import Sum
from tests.trees import KINDS, mechanism, relative

CASES = [mechanism(5, kind=kind, bodies=3, rotors=False) for kind in KINDS]
CASES += [mechanism(seed, bodies=4) for seed in (1, 2, 3, 4)]
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.model.name)


def operators(A):
    return [
        *(A.phi, A.E_phi, A.E, A.H, A.J, A.mass, A.mass.inv, A.psi, A.K, A.E_psi, A.D, A.P, A.Omega, A.Delta, A.r),
        *(A.Gamma, A.J @ A.mass.inv @ A.J.T, A.psi.T @ A.H.T @ A.D.inv @ A.H @ A.psi, A.I + A.H @ A.phi @ A.K),
    ]


@pytest.mark.sampled(6)
@EVERY
def test_rates_of_operators_are_the_differences_of_their_matrices(case):
    A, rng = case.algebra, np.random.default_rng(0)
    w = A.vector("w", "Rates")
    direction = rng.normal(size=case.model.nv)
    if case.symbols.rotors and not case.setting.constant_axes:
        pytest.skip("rotors on axes that move are refused")
    for statement in operators(A):
        for made, values in (
            (statement.rate(), {"v": case.vectors["v"]}),
            (statement.derivative(along=w), {"w": direction}),
        ):
            expected = made.dense(case.q, **values)
            scale = max(1.0, np.abs(expected).max())
            shortest = made.simplify()
            constant = isinstance(shortest.node, Sum) and not shortest.node.terms
            given = {} if constant else values
            assert np.abs(shortest.dense(case.q, **given) - expected).max() < 1e-8 * scale, made.show()
            x = rng.normal(size=expected.shape[1])
            swept = made.apply(case.q, x, **values)
            assert np.abs(swept - expected @ x).max() < 1e-8 * max(scale, np.abs(x).max()), made.show()


@EVERY
def test_the_rate_of_a_vector_follows_the_motion(case):
    """d/dt of V, the gravity load and J θ̇ along q̇ = θ̇ and dθ̇/dt = θ̈."""
    A, v, a = case.algebra, case.vectors["v"], case.vectors["qdd"]
    for statement in (A.V, A.g, A.J @ A.v, A.mass @ A.v):
        try:
            made = statement.rate()
        except StatementError:
            assert case.symbols.rotors
            continue
        given = {"v": v, "qdd": a} if "θ̈" in made.simplify().show() else {"v": v}
        h, total = 1e-3, 0.0
        for steps, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for sign in (1, -1):
                e = sign * steps * h
                there = {"v": v + e * a} if statement is not A.g and "𝒢" not in statement.show() else {}
                total = total + sign * weight * statement.dense(case.model.integrate(case.q, e * v), **there)
        scale = max(1.0, np.abs(total / (60 * h)).max())
        assert np.abs(made.apply(case.q, **given) - total / (60 * h)).max() < 1e-8 * scale


@EVERY
def test_the_gradient_of_log_det_is_that_of_the_sum_over_joints(case):
    potential = case.algebra.mass.log_determinant()
    assert np.isclose(potential.value(case.q), potential.dense(case.q), rtol=1e-10)
    found = potential.derivative(wrt="q")
    assert np.abs(found.apply(case.q) - found.dense(case.q)).max() < 1e-8


@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_derivatives_by_q_have_a_last_axis_of_rates(seed):
    case = mechanism(seed, varying=False, rotors=False, bodies=3)
    A, q, v, nv = case.algebra, case.q, case.vectors["v"], case.model.nv
    energy = (A.v.T @ A.mass @ A.v / 2).derivative(wrt="q")
    assert energy.apply(q, v=v).shape == (nv,)
    assert relative(energy.apply(q, v=v), energy.dense(q, v=v)) < 1e-9
    forces = (A.C + A.g).derivative(wrt="q")
    assert relative(forces.simplify(matrix=True).dense(q, v=v), forces.dense(q, v=v)) < 1e-9
    slope = A.mass.derivative(wrt="q")
    stacked = slope.dense(q)
    assert stacked.shape == (nv, nv, nv)
    assert relative(slope.apply(q, v), np.einsum("ijk,j->ik", stacked, v)) < 1e-9
    gyroscopic = (A.mass @ A.v).derivative(wrt="q")
    assert relative(gyroscopic.dense(q, v=v), slope.apply(q, v)) < 1e-9


def test_statements_with_inverses_are_differentiated_by_q():
    case = mechanism(9, varying=False, rotors=False, bodies=4)
    A, given = case.algebra, {name: case.vectors[name] for name in ("v", "T")}
    f = A.vector("push", "TaskForces")
    push = np.random.default_rng(1).normal(size=6 * len(case.frames))
    x = np.random.default_rng(2).normal(size=case.model.nv)
    for statement, values in (
        (A.mass.inv @ (A.T - A.C - A.g), given),
        (A.J @ A.mass.inv @ A.J.T @ f, {"push": push}),
        (A.Jdot_v, {"v": given["v"]}),
    ):
        made = statement.derivative(wrt="q")
        assert relative(made.apply(case.q, x, **values), made.dense(case.q, **values) @ x) < 1e-9


def test_rates_are_compiled_as_other_statements_are():
    model = ps.chain(7)
    A = ps.algebra(model, frames=["tip"])
    rng = np.random.default_rng(0)
    q, v, x = rng.normal(size=(3, 5, 7))
    for statement in (
        A.mass.rate(),
        A.J.rate(),
        A.mass.inv.rate(),
        A.H @ A.P @ A.phi.T @ A.Omega.rate() @ A.phi @ A.P @ A.H.T,
    ):
        function = ps.compile(statement)
        assert function.inputs == ("q", "x", "v")
        assert relative(function(q, x, v), statement.apply(q, x, v=v)) < 1e-11
    slope = A.mass.derivative(wrt="q")
    function = ps.compile(slope)
    assert function.inputs == ("q", "x")
    assert relative(function(q, x), slope.apply(q, x)) < 1e-11
    assert ps.compile(slope, matrix=True)(q[0]).shape == (7, 7, 7)


def test_long_robots_run_rates_link_by_link():
    model = ps.chain(60)
    A = ps.algebra(model, frames=["tip"])
    rng = np.random.default_rng(1)
    q, v, x = rng.normal(size=(3, 60))
    for statement in (A.mass.rate(), A.J.rate()):
        function = ps.compile(statement, schedule="link by link")
        assert relative(function(q, x, v), statement.apply(q, x, v=v)) < 1e-10
    gradient = A.mass.log_determinant().derivative(wrt="q")
    assert relative(ps.compile(gradient, schedule="link by link")(q), gradient.apply(q)) < 1e-10


def test_the_gradient_of_log_det_costs_as_much_again_for_twice_the_links():
    gradient = ps.algebra().mass.log_determinant().derivative(wrt="q")
    counts = [gradient.cost(n).total for n in (10, 20, 40, 80)]
    assert counts[3] - counts[2] == 2 * (counts[2] - counts[1]) == 4 * (counts[1] - counts[0])


def test_fixmans_potential_of_a_chain_of_a_hundred():
    model = ps.chain(100)
    potential = ps.algebra(model).mass.log_determinant()
    q, h = np.random.default_rng(0).normal(size=100), 1e-3
    some = np.random.default_rng(1).normal(size=(4, 100))
    slope = sum(
        sign * weight * potential.value(q + sign * steps * h * some)
        for steps, weight in ((1, 45.0), (2, -9.0), (3, 1.0))
        for sign in (1, -1)
    ) / (60 * h)
    assert np.abs(some @ potential.derivative(wrt="q").apply(q) - slope).max() < 1e-8


def test_second_derivatives_are_rates_of_rates():
    case = mechanism(11, varying=False, rotors=False, bodies=3)
    A = case.algebra
    u, w = A.vector("u_1", "Rates"), A.vector("w_1", "Rates")
    rng = np.random.default_rng(3)
    given = {"u_1": rng.normal(size=case.model.nv), "w_1": rng.normal(size=case.model.nv)}
    x = rng.normal(size=case.model.nv)
    twice = A.mass.derivative(along=u).derivative(along=w)
    h, total = 1e-3, 0.0
    for steps, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
        for sign in (1, -1):
            there = case.model.integrate(case.q, sign * steps * h * given["w_1"])
            total = total + sign * weight * A.mass.derivative(along=u).apply(there, x, u_1=given["u_1"])
    assert relative(twice.apply(case.q, x, **given), total / (60 * h)) < 1e-8


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [3, 4])
def test_second_derivatives_of_the_dynamics_are_statements_and_compiled(seed):
    """Along a direction, of the derivatives of inverse and of forward dynamics by q."""
    case = mechanism(seed, varying=False, rotors=False, bodies=3)
    A, rng, nv = case.algebra, np.random.default_rng(seed), case.model.nv
    w, x = A.vector("w", "Rates"), rng.normal(size=nv)
    given = {name: case.vectors[name] for name in ("v", "qdd", "T")} | {"w": rng.normal(size=nv)}
    inverse, forward = A.mass @ A.qdd + A.C + A.g, A.mass.inv @ (A.T - A.C - A.g)
    for statement, names in ((inverse, ("v", "qdd")), (forward, ("v", "T"))):
        first = statement.derivative(wrt="q")
        second, held, total, h = first.derivative(along=w), {name: given[name] for name in names}, 0.0, 1e-3
        for steps, weight in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for sign in (1, -1):
                there = case.model.integrate(case.q, sign * steps * h * given["w"])
                total = total + sign * weight * first.apply(there, x, **held)
        expected = total / (60 * h)
        assert relative(second.apply(case.q, x, w=given["w"], **held), expected) < 1e-8
        function = ps.compile(second)
        arguments = {"q": case.q, "x": x, **given}
        assert relative(function(*(arguments[name] for name in function.inputs)), expected) < 1e-8


def test_a_trace_is_that_of_the_matrix():
    case = mechanism(2, rotors=False, frames=2)
    A, v = case.algebra, case.vectors["v"]
    for statement, given in (
        (A.J @ A.mass.inv @ A.J.T @ A.U_task, {}),
        (A.D.inv @ A.D.rate(), {"v": v}),
        (A.phi @ A.E_phi + A.I, {}),
    ):
        trace = statement.trace()
        assert np.isclose(trace.value(case.q, **given), trace.dense(case.q, **given), rtol=1e-9, atol=1e-9)
    slope = (A.J @ A.mass.inv @ A.J.T @ A.U_task).trace().derivative(along=A.v)
    assert np.isclose(slope.value(case.q, v=v), slope.dense(case.q, v=v), rtol=1e-8)
    with pytest.raises(StatementError, match="map a space to itself"):
        A.mass.trace()


def test_what_cannot_be_differentiated_is_said():
    A = ps.algebra(ps.chain(3))
    with pytest.raises(StatementError, match="one of the two"):
        A.mass.derivative()
    with pytest.raises(StatementError, match="wrt='q'"):
        A.mass.derivative(wrt="p")
    with pytest.raises(StatementError, match="vector in Rates"):
        A.mass.derivative(along=A.T)
    with pytest.raises(StatementError, match="given with the state"):
        A.mass.derivative(along=A.mass.inv @ A.T)
    with pytest.raises(StatementError, match="holds it"):
        (A.mass.inv @ A.T).rate()
    with pytest.raises(StatementError, match="once only"):
        A.D.rate().rate()


def test_derivations_name_what_they_use():
    A = ps.algebra()
    assert "product rule, SRW22" in str(A.J.rate().derivation())
    told = str(A.mass.log_determinant().derivative(wrt="q").derivation())
    assert "gradient of log det, RJK91 lemma 1; KJR92 eq. 57" in told
    assert A.mass.rate().latex() == r"\dot{\mathcal{M}}"


def test_the_adjoint_of_a_derivative_is_differentiated_too():
    """It stayed as it was written."""
    A = ps.algebra(ps.chain(4), frames=["tip"])
    for statement in ((A.C + A.g).derivative(wrt="q"), A.J.derivative(along=A.v)):
        assert statement.T.equals(statement.simplify().T).proved
        assert "∂" not in statement.T.simplify().show()
