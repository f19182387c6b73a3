"""Derivatives of statements: what the product rule and the laws make of them, against differences of the matrices."""

import pytest

import phistar as ps
from phistar.errors import StatementError
from phistar.identities.law import TREE
from phistar.identities.polynomial import expand
from phistar.identities.rewriter import simplify
from phistar.identities.vector_derivatives import differentiate
from phistar.operators.linearized import ACCELERATION, PLACE, VELOCITY, partial
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from tests.trees import mechanism, relative

NAMES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
KINDS = ("revolute", "prismatic", "helical", "spherical", "free")
CASES = [mechanism(5, kind=kind, bodies=2, rotors=False) for kind in KINDS]
CASES += [mechanism(seed, varying=False, rotors=False, bodies=4) for seed in (1, 2, 3)]
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: case.model.name)


def joint_forces(s):
    return s.mass @ s.qdd + s.C + s.g


@pytest.mark.sampled(6)
@EVERY
@pytest.mark.parametrize("by", [PLACE, VELOCITY, ACCELERATION])
def test_the_product_rule_gives_what_differences_of_the_matrices_give(case, by):
    statement = partial(joint_forces(case.symbols), by)
    found = differentiate(statement, case.symbols)
    assert relative(case.dense(found), case.dense(statement)) < 1e-11


@pytest.mark.sampled(6)
@EVERY
@pytest.mark.parametrize("name", NAMES)
def test_the_shortest_form_is_the_derivative_and_runs_as_sweeps(case, name):
    vectors = {key: case.vectors[key] for key in ("v", "qdd")}
    for node in getattr(ps, name).nodes(case.symbols).values():
        stated = case.algebra.expression(node)
        expected = case.dense(node)
        shortest = stated.simplify(matrix=True)
        assert relative(case.dense(shortest.node), expected) < 1e-10
        x = case.vectors["T"]
        assert relative(shortest.apply(case.q, x, **vectors), expected @ x) < 1e-10


def literature(s):
    """Singh, Russell and Wensing's forms, and forward dynamics' by P and 𝒴."""
    by_q = s.H @ s.phi @ (s.M @ s.phi.T @ s.Psi_ddot + 2 * s.B_v @ s.phi.T @ s.Psi_dot)
    columns = (s.phi @ s.r + s.r @ s.phi_tilde.T) @ s.Psi_prime
    squares = 2 * (s.phi @ s.r_v + s.r_v @ s.phi_tilde.T) @ s.H.T
    start = s.psi @ (2 * s.Y @ s.H.T + s.P @ s.Psi_prime) + 2 * s.Y @ s.phi_tilde.T @ s.H.T
    eliminated = s.whitening.T @ s.D.inv @ s.H @ start + s.K.T @ s.psi.T @ s.Psi_prime
    return {
        (NAMES[0], "dq"): by_q + s.H @ s.phi_tilde @ s.F_hat @ s.H.T,
        (NAMES[0], "dv"): s.H @ (columns + squares),
        (NAMES[0], "da"): s.A + s.H @ (s.phi @ s.r + s.r @ s.phi_tilde.T) @ s.H.T,
        (NAMES[1], "dv"): -eliminated,
    }


@pytest.mark.parametrize(("name", "table"), literature(Symbols()))
def test_the_laws_find_the_forms_of_the_literature(name, table):
    found = getattr(ps, name).statements[table].simplify(matrix=True).node
    assert dict(expand(found).terms) == dict(expand(literature(Symbols())[name, table]).terms)


def test_a_derivation_tells_how_brackets_pass_the_links():
    told = str(ps.inverse_dynamics_derivatives.statement.derivation(matrix=True))
    assert told.startswith("  ∂(ℳ θ̈ + 𝒞 + 𝒢)/∂θ")
    places = [told.index(law) for law in ("product rule", "bracket crosses phi", "axes accelerated")]
    assert places == sorted(places)


def test_by_its_own_acceleration_forward_dynamics_changes_as_it_should():
    """ℳ⁻¹∂τ/∂θ̈ = I, found."""
    s = Symbols()
    assert text(simplify(s.mass.inv @ partial(joint_forces(s), ACCELERATION), s, TREE, True).result) == "I"


def test_what_no_law_differentiates_is_refused_in_a_sentence():
    s = Symbols()
    with pytest.raises(StatementError, match="No law says how"):
        differentiate(partial(s.H @ s.psi @ s.b, PLACE), s)


def test_axes_that_move_in_their_link_are_refused():
    case = mechanism(5, kind="universal", bodies=2)
    statement = partial(joint_forces(case.symbols), PLACE)
    with pytest.raises(StatementError, match="axis by axis"):
        case.algebra.expression(statement).simplify()
