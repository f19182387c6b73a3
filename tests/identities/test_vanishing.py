"""A difference of two statements that are one operator simplifies to 0, and costs nothing."""

import json

import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from tests.identities.printed import PRINTED
from tests.identities.test_proof import CHAIN, statement

ZEROS = {
    "lemma 1": lambda a: a.mass - (a.I + a.H @ a.phi @ a.K) @ a.D @ (a.I + a.H @ a.phi @ a.K).T,
    "(8), (24)": lambda a: a.E_psi @ a.P @ a.E_psi.T + a.M - a.P,
    "Riccati's equation": lambda a: a.P - a.E_phi @ a.P @ a.E_phi.T + a.K @ a.D @ a.K.T - a.M,
    "(57)": lambda a: a.E_psi.T @ a.Omega @ a.E_psi + a.H.T @ a.D.inv @ a.H - a.Omega,
    "(9)": lambda a: (a.I - a.E_phi @ (a.I - a.G @ a.H)).inv - a.psi,
    "terms of one sign": lambda a: a.B_v @ a.V + a.V_tilde.T @ a.M @ a.V,
}


@pytest.mark.parametrize("name", ZEROS)
def test_zeros_of_the_papers_cost_nothing(name):
    zero = ZEROS[name](CHAIN)
    assert zero.simplify().show() == "0"
    assert zero.cost(100).total == 0


@pytest.mark.parametrize("name", [name for name in PRINTED if name != "RJ2W (23)"])  # which is a product, not a sum
def test_the_difference_of_the_sides_of_a_papers_equation_is_zero(name):
    left, right = statement(PRINTED[name])
    assert (left - right).simplify().show() == "0"


@pytest.mark.parametrize("name", ["(57)", "(9)", "lemma 1"])
def test_the_steps_to_zero_are_certified(name):
    certificate = json.loads(json.dumps(ZEROS[name](CHAIN).derivation().certificate()))
    replay(certificate)
    assert evaluate(certificate, 0) < 1e-50


def test_what_does_not_vanish_stays():
    a = CHAIN
    spring = a.operator("S", "Rates", "Torques", structure="positive block-diagonal")
    for whole in (a.mass - spring, a.T - a.C, a.phi - a.psi, a.mass.inv - (a.mass + spring).inv):
        assert whole.simplify().show() != "0"
    tree = ps.algebra(tree=True)  # (57) is a law of chains
    assert ZEROS["(57)"](tree).simplify().show() != "0"


def test_the_shift_of_articulated_bodies_is_named_and_the_smoothers_recursion_is_its_symbol():
    """ℰφ − KH is ℰψ (RJK91 eq. 10), ℰψ*Ωℰψ + H*D⁻¹H is Ω (KJR92 eq. 57), ℰφ*Ωℰφ is Δ⁺ (R87 eq. 81)."""
    a = CHAIN
    recursion = a.E_psi.T @ a.Omega @ a.E_psi + a.H.T @ a.D.inv @ a.H
    assert (a.E_phi - a.K @ a.H).simplify().show() == "ℰψ"
    assert (a.E_phi - a.K @ a.H).T.simplify().show() == "ℰψ*"
    assert recursion.simplify().show() == "Ω"
    assert (a.E_phi.T @ a.Omega @ a.E_phi).simplify().show() == "Δ"
