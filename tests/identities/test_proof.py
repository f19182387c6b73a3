"""The papers' numbered equations between operators, typed as they are printed (corrected where the print is wrong):
each is proved unaided, each misprint refuted, and each proof survives the independent check."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.check import evaluate, replay
from phistar.errors import StatementError
from phistar.expression.mechanisms import mechanisms
from phistar.identities.law import LAWS
from phistar.operators.parse import parse
from phistar.operators.symbols import NAMES

CHAIN = ps.algebra()
MOST_STEPS = 80
FACTOR, WHITE = "(I + H @ phi @ K)", "(I - H @ psi @ K)"
GRAM = "psi.T @ H.T @ inv(D) @ H @ psi"
OMEGA0 = "J @ inv(mass) @ J.T"
C0 = "(J @ inv(mass) @ C - Jdot_v)"
ARTICULATED = "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ a + b) - a) - a0"

PRINTED = {
    "RJK91 (1)": ("J", "B.T @ phi.T @ H.T"),
    "RJK91 (3)": ("mass", "H @ phi @ M @ phi.T @ H.T"),
    "RJK91 (4)": ("C", "H @ phi @ (M @ phi.T @ a + b)"),
    "RJK91 (5)": ("J.T", "H @ phi @ B"),
    "RJK91 (7)": ("mass @ qdd", "H @ phi @ M @ phi.T @ H.T @ qdd"),
    "RJK91 §4, D": ("D", "H @ P @ H.T"),
    "RJK91 §4, G": ("G", "P @ H.T @ inv(D)"),
    "RJK91 §4, K": ("K", "E_phi @ G"),
    "RJK91 (8)": ("P", "E_psi @ P @ E_psi.T + M"),
    "RJK91 (10), first": ("E_psi", "E_phi @ (I - G @ H)"),
    "RJK91 (10), second": ("E_psi", "E_phi - K @ H"),
    "RJK91 (11), lemma 1": ("mass", f"{FACTOR} @ D @ {FACTOR}.T"),
    "RJK91 (12), lemma 2": (f"inv{FACTOR}", WHITE),
    "RJK91 (13), lemma 3": ("inv(mass)", f"{WHITE}.T @ inv(D) @ {WHITE}"),
    "RJK91 (14), (15)": (
        "inv(mass) @ (T - C - J.T @ f)",
        f"{WHITE}.T @ inv(D) @ {WHITE} @ (T - H @ phi @ (M @ phi.T @ a + b + B @ f))",
    ),
    "RJK91 (16), lemma 4": (f"{WHITE} @ H @ phi", "H @ psi"),
    "RJK91 (17)": ("-inv(mass) @ J.T @ f", f"-{WHITE}.T @ inv(D) @ {WHITE} @ H @ phi @ B @ f"),
    "RJK91 (18)": ("-inv(mass) @ J.T @ f", f"-{WHITE}.T @ inv(D) @ H @ psi @ B @ f"),
    "RJK91 (19)": (OMEGA0, f"B.T @ phi.T @ H.T @ {WHITE}.T @ inv(D) @ {WHITE} @ H @ phi @ B"),
    "RJK91 (20)": (OMEGA0, f"B.T @ {GRAM} @ B"),
    "RJK91 (24)": ("inv(mass) @ (T - C)", f"{WHITE}.T @ inv(D) @ {WHITE} @ (T - C)"),
    "RJK91 lemma 5": ("inv(psi)", "inv(phi) + K @ H"),
    "RJK91 appendix, M": ("M", "P - E_psi @ P @ E_psi.T"),
    "RJK91 appendix, lemma 1": ("M", "P - E_phi @ P @ E_phi.T + K @ D @ K.T"),
    "RJK91 appendix, lemma 1, φMφ*": (
        "phi @ M @ phi.T",
        "P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T",
    ),
    "RJK91 appendix, lemma 2": (f"inv{FACTOR}", "I - H @ phi @ inv(I + K @ H @ phi) @ K"),
    "RJK91 appendix, lemma 2, end": (f"inv{FACTOR}", "I - H @ phi @ inv(inv(psi) @ phi) @ K"),
    "RJK91 appendix, lemma 4": ("I - psi @ K @ H", "psi @ inv(phi)"),
    "KJR92 (16)": (
        f"J.T @ inv({OMEGA0}) @ (u + J @ inv(mass) @ (C + g) - Jdot_v)",
        f"J.T @ inv({OMEGA0}) @ (u + {C0} + J @ inv(mass) @ g)",
    ),
    "KJR92 (23)": ("phi", "inv(I - E_phi)"),
    "KJR92 (24)": ("P", "E_psi @ P @ E_psi.T + M"),
    "KJR92 (25)": ("D", "H @ P @ H.T"),
    "KJR92 (26)": ("G", "P @ H.T @ inv(D)"),
    "KJR92 (27)": ("K", "E_phi @ G"),
    "KJR92 (28)": ("E_psi", "E_phi @ (I - G @ H)"),
    "KJR92 (29)": ("psi", "inv(I - E_psi)"),
    "KJR92 (34)": ("W", "E @ (I - G @ H)"),
    "KJR92 (38)": ("J.T", "H @ phi @ B"),
    "KJR92 (40)": ("J @ v", "B.T @ phi.T @ H.T @ v"),
    "KJR92 (41)": ("V", "phi.T @ H.T @ v"),
    "KJR92 (42)": ("mass", "H @ phi @ M @ phi.T @ H.T"),
    "KJR92 (43)": ("C", "H @ phi @ (M @ phi.T @ a + b)"),
    "KJR92 (44)": ("g", "H @ phi @ M @ phi.T @ E.T @ a_g"),
    "KJR92 (45)": ("C + g", "H @ phi @ (M @ phi.T @ (a + E.T @ a_g) + b)"),
    "KJR92 (46)": ("Jdot_v", "B.T @ phi.T @ a + a0"),
    "KJR92 (49)": ("mass", f"{FACTOR} @ D @ {FACTOR}.T"),
    "KJR92 (50)": (f"inv{FACTOR}", WHITE),
    "KJR92 (51)": ("inv(mass)", f"{WHITE}.T @ inv(D) @ {WHITE}"),
    "KJR92 (52), first": ("phi @ K @ H @ psi", "phi - psi"),
    "KJR92 (52), second": ("psi @ K @ H @ phi", "phi - psi"),
    "KJR92 (53)": (f"{WHITE} @ H @ phi", "H @ psi"),
    "KJR92 (54), first": ("psi @ M @ phi.T", "P + psi_tilde @ P + P @ phi_tilde.T"),
    "KJR92 (54), second": ("psi @ M @ phi.T", "psi @ P + P @ phi_tilde.T"),
    "KJR92 (55), first": ("phi_tilde", "phi @ E_phi"),
    "KJR92 (55), second": ("phi_tilde", "E_phi @ phi"),
    "KJR92 (56)": (GRAM, "Omega + psi_tilde.T @ Omega + Omega @ psi_tilde"),
    "KJR92 (57)": ("Omega", "E_psi.T @ Omega @ E_psi + H.T @ inv(D) @ H"),
    "KJR92 (59)": ("(I - H.T @ inv(D) @ H @ psi @ P) @ E.T", "W.T"),
    "KJR92 §4.1": (OMEGA0, f"B.T @ {GRAM} @ B"),
    "KJR92 (60)": (OMEGA0, "B.T @ Omega @ B"),
    "KJR92 (61)": (f"inv({OMEGA0})", "inv(B.T @ Omega @ B)"),
    "KJR92 (62)": (
        f"inv({OMEGA0}) @ {C0}",
        f"inv({OMEGA0}) @ (B.T @ {GRAM} @ (M @ phi.T @ a + b) - B.T @ phi.T @ a - a0)",
    ),
    "KJR92 (63), first": (f"{GRAM} @ M @ phi.T", "psi.T @ H.T @ inv(D) @ H @ (psi @ P + P @ phi_tilde.T)"),
    "KJR92 (63), second": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + psi.T @ H.T @ G.T @ phi_tilde.T"),
    "KJR92 (63), third": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + psi.T @ H.T @ K.T @ phi.T"),
    "KJR92 (63), fourth": (f"{GRAM} @ M @ phi.T", f"{GRAM} @ P + phi.T - psi.T"),
    "KJR92 (64)": (f"inv({OMEGA0}) @ {C0}", f"inv({OMEGA0}) @ ({ARTICULATED})"),
    "KJR92 (65)": (C0, ARTICULATED),
    "KJR92 (69)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ {GRAM} @ M @ phi.T @ E.T @ a_g",
    ),
    "KJR92 (70)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ (phi.T - psi.T @ (I - H.T @ inv(D) @ H @ psi @ P)) @ E.T @ a_g",
    ),
    "KJR92 (71)": (
        f"inv({OMEGA0}) @ J @ inv(mass) @ g",
        f"inv({OMEGA0}) @ B.T @ (phi.T @ E.T - psi.T @ W.T) @ a_g",
    ),
    "KJR92 (72)": ("J @ inv(mass) @ g", "B.T @ (phi.T @ E.T - psi.T @ W.T) @ a_g"),
    "KJR92 §4.3, c(0) + g(0)": (
        "J @ inv(mass) @ (C + g) - Jdot_v",
        "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ (a + E.T @ a_g) + b) - a - E.T @ a_g) - a0 "
        "+ B.T @ phi.T @ E.T @ a_g",
    ),
}
"""RJK91 and KJR92, by number. R87's and the rest are laws of the registry, below."""

MISPRINTS = {
    "RJK91 §6: ν with ψ for φ, so that ν*ν is not twice the energy": (
        "mass",
        "(I + H @ psi @ K) @ D @ (I + H @ psi @ K).T",
    ),
    "KJR92 (46) with J for its rate": ("J @ v", "B.T @ phi.T @ a + a0"),
    "KJR92 §4.3, −J̇θ̇ with ā": (
        "J @ inv(mass) @ (C + g) - Jdot_v",
        "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ (a + E.T @ a_g) + b) - a - E.T @ a_g) - a0",
    ),
    "R87 (36), z⁺(i) for z⁺(k−1)": ("psi", "I + psi"),
    "RJ2W (18): the fixed base's diagonal": ("H @ rho @ H.T", "H @ r @ H.T"),
    "RJ2W Table 3: the diagonal twice": (
        "rho + C_f @ phi_tilde @ r + C_b @ phi_b_tilde @ r_b",
        "2 * rho + C_f @ phi_tilde @ r + C_b @ phi_b_tilde @ r_b",
    ),
    "RJ2W (38), without tildes": (
        "rho + C_f @ phi_tilde @ r + C_b @ phi_b_tilde @ r_b",
        "rho + C_f @ phi @ r + C_b @ phi_b @ r_b",
    ),
    "RJ2W (12), second, to the last block": ("M", "E_phi @ M_b @ E_phi.T"),
}
ILL_TYPED = {
    "RJK91, lemma 1's proof without the =": "P - E_psi @ P @ E_psi.T @ P - E_phi @ P @ E_phi.T + K @ D @ K.T",
    "KJR92 §3.2: φ for φ* on relative velocities": "phi @ H.T @ v",
    "R87 (68), transposes swapped": "(I - G @ H) @ Delta @ (I - G @ H).T + H.T @ inv(D) @ H",
    "R87 (83), HH* for H*H": "H @ H.T @ inv(D)",
}
"""Misprints that the spaces refuse before anything is evaluated."""


def typed(text: str):
    return CHAIN.expression(parse(text, {name: getattr(CHAIN, name).node for name in NAMES}))


def statement(pair):
    return tuple(map(typed, pair))


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


# The registry's other laws are R87's, by number, and what the others leave: a chain, one tip, no armature.
OF_R87 = [law for law in LAWS if "R87" in law.citation and "SRW22" not in law.citation]


@pytest.mark.parametrize("law", OF_R87, ids=lambda law: law.name)
def test_the_laws_of_r87_are_proved(law):
    left, right = (CHAIN.expression(side) for side in law.sides(CHAIN.symbols))
    assert left.equals(right).proved is True


@pytest.mark.parametrize("name", MISPRINTS)
def test_the_misprint_is_refuted(name):
    pair = MISPRINTS[name]
    verdict = statement(pair)[0].equals(statement(pair)[1])
    assert verdict.proved is False, str(verdict)
    found = verdict.counterexample
    assert abs(found.left - found.right) > 1e-3 * max(abs(found.left), abs(found.right))
    assert "refuted; on random mechanism" in str(verdict)


@pytest.mark.parametrize("name", ILL_TYPED)
def test_the_misprint_does_not_compose(name):
    with pytest.raises(ps.SpaceError):
        typed(ILL_TYPED[name])


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
    """𝓑V = V ×* MV is true, and no law that is used in proofs says so."""
    verdict = (CHAIN.B_v @ CHAIN.V).equals(-(CHAIN.V_tilde.T @ CHAIN.M @ CHAIN.V))
    assert verdict.proved is None and "not decided" in str(verdict)


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
