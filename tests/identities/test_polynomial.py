"""Polynomials of words: written out and factored again, nothing is lost; adjoints and products as in any algebra."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from phistar.identities.factor import factor
from phistar.identities.law import ANY_TO_MOTIONS
from phistar.identities.match import WordRule
from phistar.identities.polynomial import expand, is_memoryless
from phistar.operators.nodes import Inverse
from phistar.operators.show import text
from phistar.operators.symbols import Symbols
from tests.statements import statements

S = Symbols()
nodes = statements(S, longest=4)


@given(nodes)
def test_factoring_loses_nothing(node):
    polynomial = expand(node)
    assert expand(factor(polynomial)).same_as(polynomial)


@given(nodes)
def test_adjoint_of_a_polynomial_is_the_polynomial_of_the_adjoint(node):
    assert expand(node.T).same_as(expand(node).adjoint())
    assert expand(node).adjoint().adjoint().same_as(expand(node))


@settings(max_examples=50)
@given(nodes, nodes)
def test_products_distribute(left, right):
    if left.domain == right.codomain:
        assert expand(left @ right).same_as(expand(left) @ expand(right))
    if (left.domain, left.codomain) == (right.domain, right.codomain):
        assert expand(left - right).same_as(expand(left) - expand(right))


FACTORED = {
    "(I − HψK)*D⁻¹(I − HψK)": lambda s: (s.I - s.H @ s.psi @ s.K).T @ s.D.inv @ (s.I - s.H @ s.psi @ s.K),
    "(I + HφK)D(I + HφK)*": lambda s: (s.I + s.H @ s.phi @ s.K) @ s.D @ (s.I + s.H @ s.phi @ s.K).T,
    "ψ(P + KDK*)φ*": lambda s: s.psi @ s.P @ s.phi.T + s.psi @ s.K @ s.D @ s.K.T @ s.phi.T,
    "Hφ(Mφ*a + b)": lambda s: s.H @ s.phi @ s.M @ s.phi.T @ s.a + s.H @ s.phi @ s.b,
}


@pytest.mark.parametrize("expected", FACTORED)
def test_shared_factors_come_out_as_a_person_would_write_them(expected):
    assert text(factor(expand(FACTORED[expected](S)))) == expected


def test_only_single_letters_are_memoryless():
    assert is_memoryless(S.D.inv) and is_memoryless(S.H.T) and is_memoryless(S.P)
    assert not is_memoryless(S.K) and not is_memoryless(S.phi.T)
    assert not is_memoryless(Inverse(S.phi @ S.psi))


# Rules


def rule(left, right) -> WordRule:
    (word,) = expand(left).terms
    return WordRule(None, word, right)  # type: ignore[arg-type]


def test_a_rule_replaces_every_occurrence_until_none_is_left():
    shift = rule(S.phi @ S.E_phi, S.phi_tilde)
    result = shift.apply(expand(S.phi @ S.E_phi @ S.E_phi))
    assert result.same_as(expand(S.phi - S.I - S.E_phi))


def test_a_rule_that_fits_nowhere_gives_back_the_polynomial_itself():
    polynomial = expand(S.H @ S.psi)
    assert rule(S.phi @ S.E_phi, S.phi_tilde).apply(polynomial) is polynomial


def test_a_wild_letter_takes_a_run_of_memoryless_letters_and_gives_it_back():
    wild = rule(S.B.T @ ANY_TO_MOTIONS @ S.phi, S.B.T @ ANY_TO_MOTIONS)
    run = S.B.T @ S.H.T @ S.D.inv @ S.H
    assert wild.apply(expand(run @ S.phi)).same_as(expand(run))
    not_memoryless = expand(S.B.T @ S.psi.T @ S.H.T @ S.D.inv @ S.H @ S.phi)
    assert wild.apply(not_memoryless) is not_memoryless


def test_coefficients_are_exact():
    third = expand(Fraction(1, 3) * S.phi)
    assert (third + third + third).same_as(expand(S.phi))
    assert not (third - third).terms
