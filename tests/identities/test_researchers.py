"""Statements nobody has named: linear in the links, and as cheap as the best form known by hand."""

import pytest

from phistar.cli.checker import evaluate, replay
from phistar.sweeps.cost import cost_polynomial
from phistar.sweeps.lower import lower
from phistar.sweeps.search import LINKS, operations
from tests.identities.gains import GAINS
from tests.identities.researchers import CASES as STATICS
from tests.identities.researchers import Study
from tests.identities.triangular import TRIANGULAR

CASES = STATICS | GAINS | TRIANGULAR
WORSE = 1.01  # how much more than the hand's form what is found may cost


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_the_form_that_is_found_is_linear_and_no_dearer_than_the_hand_s(name):
    case = CASES[name]
    study = Study(case.kind)
    found, hand = case.statement(study).simplify(), case.hand(study)
    assert cost_polynomial(lower(found.node)).degree == 1
    assert operations(found.node, n=LINKS) <= WORSE * operations(hand.node, n=LINKS), found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_the_hand_s_form_is_the_statement(name):
    study, case = Study(CASES[name].kind), CASES[name]
    assert case.statement(study).equals(case.hand(study)).proved


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["acceleration energy", "springs after inertia", "inertia through springs", *GAINS, *TRIANGULAR]
)
def test_proofs_with_numbers_and_with_two_inertias_have_certificates_that_hold(name):
    study, case = Study(CASES[name].kind), CASES[name]
    proof = case.statement(study).equals(case.hand(study)).derivation.certificate()
    replay(proof)
    assert evaluate(proof, 0) < 1e-50
