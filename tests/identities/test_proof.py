"""The papers' numbered equations between operators, typed as they are printed (corrected where the print is wrong):
each is proved unaided, and each proof survives the independent check; test_misprints.py refutes the misprints."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.errors import StatementError
from phistar.expression.mechanisms import mechanisms
from phistar.identities.law import LAWS
from phistar.operators.linearized import force_bracket
from phistar.operators.parse import parse
from phistar.operators.symbols import NAMES
from tests.identities.printed import NOT_OPERATORS, PAPERS, PRINTED, RATES

NUMBERS = tomllib.loads((Path(__file__).parents[1] / "data/papers/numbers.toml").read_text())
CHAIN = ps.algebra()
MOST_STEPS = 80


def typed(text: str):
    known = {name: getattr(CHAIN, name).node for name in NAMES} | {name: f(CHAIN).node for name, f in RATES.items()}
    return CHAIN.expression(parse(text, known))


def statement(pair):
    return tuple(map(typed, pair))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PRINTED)
def test_the_papers_equation_is_proved_in_few_steps(name):
    """benchmarks/proofs.py prints how long each takes."""
    left, right = statement(PRINTED[name])
    verdict = left.equals(right)
    assert verdict.proved is True, str(verdict)
    steps = verdict.derivation.steps
    assert len(steps) <= MOST_STEPS
    assert verdict.derivation.start is verdict.left and verdict.derivation.result is verdict.right
    ends = [verdict.left, *(step.after for step in steps)]
    assert [step.before for step in steps] == ends[:-1] and ends[-1] is verdict.right


@pytest.mark.parametrize(
    "name", ["RJK91 (12), lemma 2", "RJK91 (11), lemma 1", "KJR92 (56)", "KJR92 (61)", "KJR92 (72)"]
)
def test_a_proof_survives_the_check_that_knows_nothing_of_the_rewriter(name):
    left, right = statement(PRINTED[name])
    certificate = json.loads(json.dumps(left.equals(right).derivation.certificate()))
    replay(certificate)
    assert evaluate(certificate, 0) < 1e-50


def test_a_lemma_is_not_proved_by_itself():
    """Lemma 2's proof names no lemma 2, lemma 1's no lemma 1: they follow from what defines the symbols."""
    for number, name in ((1, "RJK91 (11), lemma 1"), (2, "RJK91 (12), lemma 2"), (3, "RJK91 (13), lemma 3")):
        left, right = statement(PRINTED[name])
        laws = [law["name"] for law in left.equals(right).derivation.certificate()["laws"] if law["kind"] == "law"]
        assert f"lemma {number}" not in laws and laws


def numbers_of(name: str) -> set[int]:
    """16, 17 and 61 to 63 of "R87 (16), (17), (61)-(63), second"."""
    spans = re.findall(r"\((\d+)\)(?:-\((\d+)\))?", name)
    return {n for first, last in spans for n in range(int(first), int(last or first) + 1)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_paper_is_proved_or_is_no_equation_between_operators(paper):
    proved = set().union(*map(numbers_of, PAPERS[paper]))
    left = set(range(1, NUMBERS[paper]["equations"] + 1)) - proved
    assert left == set(NOT_OPERATORS[paper]) and all(NOT_OPERATORS[paper].values())


# What says that an operator has blocks on its diagonal only is not proved of any X: it is what memoryless means.
STRUCTURE = {"base_link_is_chosen_link_by_link", "tips_are_chosen_link_by_link"}


@pytest.mark.parametrize("law", [law for law in LAWS if law.name not in STRUCTURE], ids=lambda law: law.name)
def test_every_law_of_the_registry_is_proved_of_a_chain(law):
    left, right = (CHAIN.expression(side) for side in law.sides(CHAIN.symbols))
    assert left.equals(right).proved is True


def test_what_carries_the_whole_mass_is_not_proved_by_itself():
    """qℰφ_b = ℰφ*q follows from steps in and out; all the way along the chain it is then known."""
    s = CHAIN
    proof = (s.q @ s.E_phi_b).equals(s.E_phi.T @ s.q).derivation.certificate()
    assert "whole mass turns one shift" not in {law["name"] for law in proof["laws"]}


# What is true of chains and not of trees


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("psi.T @ H.T @ inv(D) @ H @ psi", "Omega + psi_tilde.T @ Omega + Omega @ psi_tilde"),
        ("H @ G", "I"),
        ("psi @ G", "G"),
        ("P", "E_psi @ P @ E_psi.T + M"),
    ],
)
def test_side_conditions_hold_in_proofs_too(left, right):
    """(56) is false on trees; HG = I, ψG = G and (24) need joints without armature."""
    tree = ps.algebra(tree=True, armature=True)
    sides = [
        tree.expression(parse(f"{x} + 0 * {left}", {n: getattr(tree, n).node for n in NAMES})) for x in (left, right)
    ]
    verdict = sides[0].equals(sides[1])
    assert verdict.proved is False
    assert any(len(children) > 1 for children in verdict.counterexample.model.children)
    assert np.any(verdict.counterexample.model.armature)
    chain = [typed(f"{x} + 0 * {left}") for x in (left, right)]
    assert chain[0].equals(chain[1]).proved is True


def test_what_holds_with_armature_on_trees_is_proved_there():
    """Lemmas 2 and 4, φG = G + φK, φKHψ = φ − ψ and ℳ = (I + HφK)D(I + HφK)*."""
    a = ps.algebra(tree=True, armature=True)
    factor, white = a.I + a.H @ a.phi @ a.K, a.I - a.H @ a.psi @ a.K
    for left, right in [
        (factor.inv, white),
        (white @ a.H @ a.phi, a.H @ a.psi),
        (a.phi @ a.G, a.G + a.phi @ a.K),
        (a.phi @ a.K @ a.H @ a.psi, a.phi - a.psi),
        (a.mass, factor @ a.D @ factor.T),
        (a.mass.inv, white.T @ a.D.inv @ white),
    ]:
        assert left.equals(right).proved is True


# Robots, and what is said


def test_a_robot_is_judged_at_its_own_states():
    arm = ps.algebra(ps.chain(5), ["tip"])
    assert (arm.H @ arm.G).equals(arm.I).proved is True
    found = arm.phi.equals(arm.psi)
    assert found.proved is False and found.counterexample.model is arm.model
    heavy = ps.load("puma560")
    geared = ps.algebra(heavy)
    assert (geared.H @ geared.G).equals(geared.I).proved is (not np.any(heavy.armature))


def test_a_verdict_says_what_it_is():
    verdict = CHAIN.phi.equals(CHAIN.psi)
    with pytest.raises(StatementError, match=r"ask for \.proved"):
        bool(verdict)
    proved = str((CHAIN.phi @ CHAIN.E_phi).equals(CHAIN.phi_tilde))
    assert proved.startswith("φℰφ = φ̃: proved.") and "KJR92" in proved


def test_what_is_neither_proved_nor_refuted_is_not_decided():
    """(MV)^ is linear in V, and no law that is used in proofs says so."""
    twice = CHAIN.expression(force_bracket("hat", 2 * CHAIN.M.node @ CHAIN.V.node))
    verdict = twice.equals(2 * CHAIN.expression(force_bracket("hat", CHAIN.M.node @ CHAIN.V.node)))
    assert verdict.proved is None and "not decided" in str(verdict)


def test_rates_are_proved_by_the_product_rule():
    a = CHAIN
    shift = -(a.E_phi @ a.V_J_tilde.T)
    kept = a.I - a.G @ a.H
    for left, right in [
        (a.phi.rate(), a.phi @ shift @ a.phi),
        (a.psi.rate(), a.psi @ (shift @ kept - a.E_phi @ a.G_dot @ a.H) @ a.psi),
        (a.mass.rate(), a.H @ a.phi @ (shift @ a.phi @ a.M + a.M @ a.phi.T @ shift.T) @ a.phi.T @ a.H.T),
        ((a.mass.inv @ a.mass).rate(), 0 * a.I @ a.mass.inv @ a.mass),
    ]:
        assert left.equals(right).proved is True
    assert a.phi.rate().equals(-(a.phi @ shift @ a.phi)).proved is False


def test_sides_between_different_spaces_are_refused():
    with pytest.raises(ps.SpaceError, match="only operators between the same spaces"):
        CHAIN.phi.equals(CHAIN.H)
    with pytest.raises(ps.StatementError, match="is no statement"):
        CHAIN.phi.equals(np.eye(6))
    assert CHAIN.I.equals(CHAIN.I).proved is True


def test_the_mechanisms_tried_are_of_the_algebras_kind():
    for said in ({}, {"tree": True}, {"armature": True}, {"nonredundant": True}, {"frames": ["a", "b"]}):
        a = ps.algebra(**said)
        for case in mechanisms(a.symbols, a.setting):
            made = ps.algebra(case.model, case.frames).setting
            assert made.serial == a.setting.serial or not a.setting.serial
            assert made.no_armature == a.setting.no_armature
            assert made.tips or not a.setting.tips
            assert made.nonredundant or not a.setting.nonredundant


@pytest.mark.parametrize(
    ("grow", "most", "said"),
    [
        (lambda e: e @ CHAIN.phi, 1000, "more than 1000 factors"),
        (lambda e: (e + CHAIN.I) @ CHAIN.phi, 150, "nested more than 150 operations deep"),
    ],
    ids=["long", "deep"],
)
def test_long_and_deep_statements_are_refused_as_they_are_written(grow, most, said):
    statement = CHAIN.phi
    with pytest.raises(ps.StatementError, match=said):
        for _ in range(most):
            statement = grow(statement)


def test_a_statement_equals_itself_however_long_it_is():
    """A product of 900 operators was not decided."""
    A = ps.algebra()
    long = A.phi
    for _ in range(899):
        long = long @ A.phi
    assert long.equals(long).proved
