"""An inverse that a lemma gives is found in whatever order, form or multiple it is written."""

import json

import pytest

from phistar.cli.checker import evaluate, replay
from phistar.identities.rewriter import simplify
from phistar.operators.show import text
from tests.identities.test_proof import CHAIN
from tests.identities.test_rewriter import assert_equal
from tests.trees import mechanism

WRITTEN = {
    "(I − ℰφ(I − GH))⁻¹": (lambda s: (s.I - s.E_phi @ (s.I - s.G @ s.H)).inv, "ψ"),
    "(I + KH − ℰφ)⁻¹": (lambda s: (s.I + s.K @ s.H - s.E_phi).inv, "ψ"),
    "(KH + φ⁻¹)⁻¹": (lambda s: (s.K @ s.H + s.phi.inv).inv, "ψ"),
    "(2I − 2ℰφ)⁻¹": (lambda s: (2 * s.I - 2 * s.E_phi).inv, "1/2·φ"),
    "(HφK + I)⁻¹": (lambda s: (s.H @ s.phi @ s.K + s.I).inv, "I − HψK"),
    "(3HφℰφG + 3I)⁻¹": (lambda s: (3 * s.H @ s.phi @ s.E_phi @ s.G + 3 * s.I).inv, "1/3·I − 1/3·(HψK)"),
    "(I − HψℰφG)⁻¹": (lambda s: (s.I - s.H @ s.psi @ s.E_phi @ s.G).inv, "I + HφK"),
    "(I + ℰφGHφ)⁻¹": (lambda s: (s.I + s.E_phi @ s.G @ s.H @ s.phi).inv, "I − KHψ"),
    "(φ − φKHψ)⁻¹": (lambda s: (s.phi - s.phi @ s.K @ s.H @ s.psi).inv, "I − ℰφ + KH"),
    "(HφG)⁻¹": (lambda s: (s.H @ s.phi @ s.G).inv, "I − HψK"),
    "lemma 1 multiplied out": (
        lambda s: (
            (
                s.D
                + s.H @ s.phi @ s.K @ s.D
                + s.D @ s.K.T @ s.phi.T @ s.H.T
                + s.H @ s.phi @ s.K @ s.D @ s.K.T @ s.phi.T @ s.H.T
            ).inv
        ),
        "(I − HψK)*D⁻¹(I − HψK)",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_inverse_is_found_and_has_its_value(name):
    statement, expected = WRITTEN[name]
    case = mechanism(53, serial=True, tips=True, frames=1, bodies=5, kind="revolute", armature=False, rotors=False)
    node = statement(case.symbols)
    derivation = simplify(node, case.symbols, case.setting)
    assert text(derivation.result) == expected
    assert_equal(case, node, derivation.result, 1e-9)


@pytest.mark.parametrize("name", WRITTEN)
def test_it_is_certified(name):
    derivation = WRITTEN[name][0](CHAIN).derivation()
    certificate = json.loads(json.dumps(derivation.certificate()))
    replay(certificate)
    assert evaluate(certificate, 0) < 1e-50


def test_the_adjoint_is_found_too():
    a = CHAIN
    assert (a.K @ a.H - a.E_phi + a.I).T.inv.simplify().show() == "ψ*"
    assert (a.H @ a.phi @ a.K + a.I).T.inv.simplify().show() == "(I − HψK)*"
