"""Rates of operators between joints as tables over triples of joints: every product is one of the statement's own, and
what is stated is what is computed."""

from fractions import Fraction

import numpy as np
import pytest

import phistar as ps
from phistar.backends.programs.solved_statements import solved_statements
from phistar.backends.triplewise.solved_rates import weights_of
from phistar.errors import StatementError
from phistar.identities.derivative_laws import forward_derivatives, inverse_derivatives, second_inverse_derivatives
from phistar.operators.own import own_vector
from phistar.operators.rate_letters import HELD, rate
from phistar.operators.show import text
from phistar.operators.spaces import RATES, TORQUES
from phistar.operators.symbols import Symbols
from phistar.sweeps.triples import CORIOLIS, OWN, triple_form
from tests.trees import mechanism, relative

S, W = Symbols(), own_vector("w", RATES)


def robot(bodies):
    """A tree that is written out, or a chain that is too long for that."""
    return (
        ps.chain(bodies)
        if bodies > 20
        else mechanism(90, serial=False, floating=False, kind="revolute", bodies=bodies).model
    )


def weighted(c, d):
    """The statements with M counted c times in ∂τ/∂θ̇ and ℳ, and 𝓑 d times in ∂τ/∂θ̇."""

    def made(s):
        by_v = c * (s.H @ s.phi @ s.M @ s.phi.T @ s.Psi_prime) + 2 * d * (s.H @ s.phi @ s.B_v @ s.phi.T @ s.H.T)
        by_a = c * (s.H @ s.phi @ s.M @ s.phi.T @ s.H.T)
        return {**second_inverse_derivatives(s), "dqdv": rate(by_v, W), "dadq": rate(by_a, W)}

    return made


def test_the_rate_of_the_mass_matrix_has_a_joint_between_what_it_turns_and_what_carries_it():
    """∂ℳ = Hφ∂ℰφφMφ*H* and its adjoint: w's own joint turns what it carries against what carries it."""
    for _, ways, mass in triple_form(second_inverse_derivatives(S)["dadq"], S):
        along = next(way for way in ways if way.axis == 2)
        assert along.where == OWN and mass is None
        assert any(way.where == "carries" for way in ways)


def test_all_that_moves_together_is_one_composite():
    """2Hφ𝓑(φ*H*w)φ*H*, summed over the links that all three carry, is that of the outermost one's composite."""
    form = triple_form(second_inverse_derivatives(S)["dvdv"], S)
    (found,) = [(ways, mass, c) for (kind, ways, mass), c in form.items() if kind == CORIOLIS]
    ways, mass, c = found
    assert [text(way.right[0]) for way in ways] == ["H*"] * 3 and mass is S.r and c == 2


@pytest.mark.parametrize("factor", [2, Fraction(-1, 3)])
def test_a_factor_of_a_statement_is_one_of_every_product(factor):
    for node in second_inverse_derivatives(S).values():
        plain, scaled = triple_form(node, S), triple_form(factor * node, S)
        assert scaled == {key: factor * c for key, c in plain.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bodies", [4, 30])
def test_the_statement_is_what_runs_part_by_part(bodies, monkeypatch):
    """M and 𝓑 scaled in the statement scale their parts of the result, on robots written out and on long ones."""
    model, rng, function = robot(bodies), np.random.default_rng(3), ps.inverse_dynamics_second_derivatives
    q, (v, a) = model.random(rng), rng.normal(size=(2, model.nv))

    def found(c, d):
        with monkeypatch.context() as patch:
            patch.setattr(function, "_statement", weighted(c, d))
            patch.setattr(function, "_slot", f"{function._slot} {c} {d}")
            return function(model, q, v, a)

    whole, plain = function(model, q, v, a), found(1, 1)
    by_mass, by_coriolis = (found(*weights).dqdv.dense() for weights in ((1, 0), (0, 1)))
    assert relative(plain.dqdv.dense(), whole.dqdv.dense()) < 1e-13
    assert relative(by_mass + by_coriolis, whole.dqdv.dense()) < 1e-12
    assert min(np.abs(by_mass).max(), np.abs(by_coriolis).max()) > 1e-3
    assert relative(found(3, -2).dqdv.dense(), 3 * by_mass - 2 * by_coriolis) < 1e-12
    assert relative(found(3, -2).dadq.dense(), 3 * whole.dadq.dense()) < 1e-13


def weighted_forward(c, d):
    """The statements of ∂²θ̈ with their table of ∂²τ counted c times and ∂ℳ d times."""

    def made(s):
        first, w, x = inverse_derivatives(s), own_vector("w", RATES), own_vector("x", RATES)
        forward = forward_derivatives(s)
        of_mass = [rate(d * s.mass, w) @ forward["dq"] @ x, rate(s.mass, x) @ (d * forward["dq"]) @ w]
        parts = {
            "dqdq": rate(c * first["dq"], w) @ x + of_mass[0] + of_mass[1],
            "dqdv": c * rate(first["dv"], w) @ x + rate(s.mass, w) @ (d * forward["dv"]) @ x,
            "dvdv": rate(c * first["dv"], HELD, w) @ x,
            "dtaudq": d * rate(s.mass, w) @ s.mass.inv @ own_vector("x", TORQUES),
        }
        return {name: -(s.mass.inv @ node) for name, node in parts.items()}

    return made


@pytest.mark.parametrize("bodies", [4, 30])
def test_the_statement_of_accelerations_is_what_runs_term_by_term(bodies, monkeypatch):
    model, rng, function = robot(bodies), np.random.default_rng(4), ps.forward_dynamics_second_derivatives
    q, (v, tau) = model.random(rng), rng.normal(size=(2, model.nv))

    def found(c, d):
        with monkeypatch.context() as patch:
            patch.setattr(function, "_statement", weighted_forward(c, d))
            patch.setattr(function, "_slot", f"{function._slot} {c} {d}")
            return [tensor.dense() for tensor in function(model, q, v, tau)]

    whole = [tensor.dense() for tensor in function(model, q, v, tau)]
    own, changed, both = found(1, 0), found(0, 1), found(3, -2)
    for i, name in enumerate(("dqdq", "dqdv", "dvdv", "dtaudq")):
        assert relative(own[i] + changed[i], whole[i]) < 1e-12, name
        assert relative(both[i], 3 * own[i] - 2 * changed[i]) < 1e-12, name
    assert min(np.abs(x).max() for x in (*own[:3], *changed[:2], changed[3])) > 1e-6


def test_what_no_loop_makes_is_refused():
    x = own_vector("x", RATES)
    for node, told in (
        (S.mass.inv @ S.mass @ x, "not ℳ⁻¹ times a table"),
        (S.mass.inv @ rate(S.mass, W) @ S.U @ S.mass @ x, "no first derivative"),
        (S.mass.inv @ rate(S.mass @ S.U @ S.mass, W) @ x, "no product"),
    ):
        with pytest.raises(StatementError, match=told):
            solved_statements((("dqdq", node),), S)
    lopsided = S.mass.inv @ rate(S.mass, W) @ forward_derivatives(S)["dq"] @ x
    with pytest.raises(StatementError, match="not the same in both orders"):
        weights_of(solved_statements((("dqdq", lopsided),), S)[0])


def test_what_is_no_rate_between_joints_is_refused():
    with pytest.raises(StatementError, match="no sum of rates"):
        triple_form(S.mass, S)
    with pytest.raises(StatementError, match="no product over"):
        triple_form(rate(S.mass @ S.U @ S.mass, W), S)
