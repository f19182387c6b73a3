"""What a reader sees: the papers' letters, as text and as LaTeX."""

import re
from fractions import Fraction

import pytest
from hypothesis import given

from phistar.operators.nodes import zero
from phistar.operators.show import latex, text
from phistar.operators.spaces import FORCES
from phistar.operators.symbols import NAMES, Symbols
from tests.statements import statements

S = Symbols()
SHOWN = {
    "HφMφ*H*": (S.H @ S.phi @ S.M @ S.phi.T @ S.H.T, r"H \phi M \phi^{*} H^{*}"),
    "(I + HφK)D(I + HφK)*": (
        (S.I + S.H @ S.phi @ S.K) @ S.D @ (S.I + S.H @ S.phi @ S.K).T,
        r"(I + H \phi K) D (I + H \phi K)^{*}",
    ),
    "(I − HψK)*D⁻¹(I − HψK)": (
        (S.I - S.H @ S.psi @ S.K).T @ S.D.inv @ (S.I - S.H @ S.psi @ S.K),
        r"(I - H \psi K)^{*} D^{-1} (I - H \psi K)",
    ),
    "ψP + Pφ̃*": (S.psi @ S.P + S.P @ S.phi_tilde.T, r"\psi P + P \tilde\phi^{*}"),
    "ℳ θ̈ + 𝒞 + 𝒢": (S.mass @ S.qdd + S.C + S.g, r"\mathcal{M} \ddot\theta + \mathcal{C} + \mathcal{G}"),
    "B*ψ*W* a_g": (S.B.T @ S.psi.T @ S.W.T @ S.a_g, r"B^{*} \psi^{*} W^{*} a_g"),
    "−2·(ℰφφ)": (-2 * (S.E_phi @ S.phi), r"-2\,(\mathcal{E}_\phi \phi)"),
    "1/2·Ω": (Fraction(1, 2) * S.Omega, r"\tfrac{1}{2}\,\Omega"),
    "φ − ψ": (S.phi - S.psi, r"\phi - \psi"),
    "Jℳ⁻¹J*": (S.J @ S.mass.inv @ S.J.T, r"J \mathcal{M}^{-1} J^{*}"),
}


@pytest.mark.parametrize("expected", SHOWN)
def test_a_statement_is_printed_as_the_papers_print_it(expected):
    node, in_latex = SHOWN[expected]
    assert text(node) == repr(node) == expected
    assert latex(node) == in_latex


def test_a_sum_leads_with_a_positive_term():
    assert text(-S.psi + S.phi) == "φ − ψ"
    assert text(-S.psi - S.phi) == "−ψ − φ"
    assert text(zero(FORCES, FORCES)) == "0"


def test_a_prime_marks_a_riccati_set_that_is_not_the_mechanisms_own():
    assert text(S.D) == text(Symbols(armature=False).D) == "D"
    other = S.with_pair(S.B @ S.U_task @ S.B.T, zero(S.A.domain, S.A.codomain))
    assert text(other.H @ other.psi @ other.K) == "Hψ′K′"
    assert latex(other.psi_tilde) == r"\tilde\psi'"


def test_every_symbol_has_a_glyph_of_its_own():
    everything = Symbols(rotors=True)
    shown = {name: text(getattr(everything, name)) for name in NAMES}
    twice = {name for name, glyph in shown.items() if list(shown.values()).count(glyph) > 1}
    assert twice <= {"U", "U_task"}  # the unit metric of whichever space its neighbours are on


@given(statements(S))
def test_brackets_balance_in_text_and_latex(node):
    for shown in (text(node), latex(node)):
        depth = 0
        for sign in re.findall(r"[(){}]", shown):
            depth += 1 if sign in "({" else -1
            assert depth >= 0
        assert depth == 0
