"""Every law: both sides as explicit matrices, on 200 random mechanisms that meet its side conditions; and no side
condition is there for nothing."""

from collections.abc import Iterator
from functools import cache
from itertools import count, islice

import numpy as np
import pytest

import phistar.identities.rewriter  # noqa: F401 - registers the laws
from phistar.identities.law import LAWS, SENTENCES, Law
from tests.statements import magnitude
from tests.trees import KINDS, Mechanism, mechanism

TREES = 200
TOLERANCE = 1e-11
# A condition, as the generator of mechanisms is asked for it.
ASKED = {
    "serial": {"serial": True},
    "tips": {"tips": True},
    "one_frame": {"frames": 1},
    "no_armature": {"armature": False},
    "nonredundant": {},
    "constant_axes": {"varying": False},
}
PAPERS = ("RJK91", "KJR92", "R87", "RJ2W", "WD89", "SRW22", "EW21")
ALL = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def gap(mechanism: Mechanism, law: Law) -> float:
    """The largest difference of the two sides, relative to the largest term of either."""
    dense, (left, right) = mechanism.dense, law.sides(mechanism.symbols)
    a, b = dense(left), dense(right)
    difference = float(np.abs(a - b).max())
    scale = max(float(np.abs(a).max()), float(np.abs(b).max()))
    if difference > TOLERANCE * scale:  # terms that cancel: I − GH of a free joint is zero up to rounding
        scale = magnitude(dense, left, right)
    return difference / scale if difference else 0.0


def has_full_task_rank(mechanism: Mechanism) -> bool:
    """Λ exists: six dofs or more on the way to every frame, in a regular position."""
    s = mechanism.symbols
    enough = all(mechanism.path_dofs(frame) >= 6 for frame in mechanism.frames)
    return enough and np.linalg.cond(mechanism.dense(s.J @ s.mass.inv @ s.J.T)) < 1e4


def inverts_task_space(law: Law) -> bool:
    return law.name == "operational_inertia"


def drawn(needs: tuple[str, ...], full_rank: bool, violated: str = "") -> Iterator[Mechanism]:
    """Those of all seeds that meet `needs` and break `violated`; everything else is drawn."""
    asked = {key: value for need in needs for key, value in ASKED[need].items()}
    if violated:
        asked |= {key: 2 if key == "frames" else not value for key, value in ASKED[violated].items()}
    for case in (mechanism(seed, **asked) for seed in count()):
        met = case.setting.meets(needs) and not (violated and case.setting.meets((violated,)))  # type: ignore[arg-type]
        if met and (not full_rank or has_full_task_rank(case)):
            yield case


@cache
def mechanisms(needs: tuple[str, ...], full_rank: bool = False) -> tuple[Mechanism, ...]:
    return tuple(islice(drawn(needs, full_rank), TREES))


@ALL
def test_both_sides_are_one_matrix_on_every_mechanism_the_law_is_about(law):
    cases = mechanisms(law.needs, inverts_task_space(law))
    assert len(cases) == TREES
    worst = max(cases, key=lambda case: gap(case, law))
    assert gap(worst, law) <= TOLERANCE, worst.model.name


CONDITIONAL = [(law, need) for law in LAWS for need in law.needs]


@pytest.mark.parametrize(("law", "need"), CONDITIONAL, ids=lambda x: x if isinstance(x, str) else x.name)
def test_a_side_condition_is_needed(law, need):
    """Somewhere the other conditions hold, this one does not, and the two sides differ."""
    others = tuple(other for other in law.needs if other != need)
    cases = islice(drawn(others, inverts_task_space(law), violated=need), 40)
    assert any(gap(case, law) > 1e-2 for case in cases)


def test_armature_is_why_hg_is_not_the_identity():
    """HG = I and ψG = G, as the papers print them, are false with armature; the laws keep the term."""
    armed, plain = mechanism(4, armature=True), mechanism(4, armature=False)
    for case, holds in ((plain, True), (armed, False)):
        s, dense = case.symbols, case.dense
        assert np.allclose(dense(s.H @ s.G), np.eye(case.model.nv), atol=1e-12) == holds
        assert np.allclose(dense(s.psi @ s.G), dense(s.G), atol=1e-12) == holds


def test_the_mechanisms_are_as_varied_as_the_laws_claim():
    cases = mechanisms(())
    kinds = {type(joint.kind).__name__.lower() for case in cases for joint in case.model.joints}
    assert kinds == set(KINDS)
    for feature in ("serial", "tips", "one_frame", "no_armature", "nonredundant"):
        share = sum(getattr(case.setting, feature) for case in cases) / len(cases)
        assert 0.2 < share < 0.8, feature
    floating = [type(case.model.joints[0].kind).__name__ == "Free" for case in cases]
    assert 0.2 < np.mean(floating) < 0.8
    forked = [any(len(children) > 1 for children in case.model.children) for case in cases]
    assert np.mean(forked) > 0.2
    assert np.mean([case.symbols.rotors for case in cases]) > 0.05
    roots = [case.model.parents.count(-1) > 1 for case in cases]
    assert np.mean(roots) > 0.1


@ALL
def test_a_law_cites_a_paper(law):
    assert law.citation.startswith(PAPERS)
    assert set(law.needs) <= set(SENTENCES)


def test_laws_have_names_of_their_own():
    names = [law.name for law in LAWS]
    assert len(names) == len(set(names))


PRINTED = {
    "RJK91": {"eq": [1, 3, 4, 5, 8, 9, 10, 11, 12, 13, 16, 18, 19, 20], "lemma": [1, 2, 3, 4, 5]},
    "KJR92": {
        "eq": [19, *range(23, 30), *range(33, 36), *range(42, 47), *range(49, 58), 59, 61, 64, 71],
    },
    "R87": {"eq": list(range(23, 32))},
    "RJ2W": {"eq": [2, 6, 10, 11, *range(13, 18), *range(22, 35)]},
}


@pytest.mark.parametrize("paper", PRINTED)
def test_every_equation_of_the_papers_that_states_a_law_is_cited(paper):
    cited = {(paper, kind, number) for law in LAWS for paper, kind, number in citations(law.citation)}
    wanted = {(paper, kind, number) for kind, numbers in PRINTED[paper].items() for number in numbers}
    assert sorted(wanted - cited) == []


def citations(text: str):
    """("KJR92", "eq", 34), … of "KJR92 eq. 34; eq. 59"."""
    paper = kind = ""
    for word in text.replace(",", " ").replace(";", " ").split():
        if word in PAPERS:
            paper = word
        elif word.rstrip("s.") in ("eq", "lemma"):
            kind = word.rstrip("s.")
        elif word.isdigit():
            yield paper, kind, int(word)
