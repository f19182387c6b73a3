"""The cheapest form is the one whose program has the fewest operations; forms found by hand are met."""

import numpy as np
import pytest

import phistar as ps
from phistar.identities.graph import apply
from phistar.identities.graph_values import Total, operand_of, walk
from phistar.identities.negatives import with_shared_negatives
from phistar.sweeps.search import operations
from tests.trees import mechanism, relative


def projected(A):
    return A.mass.inv @ (A.mass - A.J.T @ A.Lambda @ A.J) @ A.mass.inv


def closed_dynamics(A):
    effective, forces = (A.Q @ A.J @ A.mass.inv @ A.J.T @ A.Q.T).inv, A.T - A.C - A.g
    pull = effective @ (A.Q @ A.J @ A.mass.inv @ forces + A.Q @ A.Jdot_v)
    return A.mass.inv @ (forces - A.J.T @ A.Q.T @ pull)


def test_forms_found_by_hand_are_beaten():
    """At n = 30: 22,957 for the inverse that leaves the task alone, 47,520 for constrained forward dynamics."""
    assert projected(ps.algebra(frames=["tip"])).cost(30).total < 22957
    assert closed_dynamics(ps.algebra(frames=["left", "right"], tree=True)).cost(30).total < 47520


def test_one_frame_on_a_tree_has_the_form_of_one_frame():
    A = ps.algebra(frames=["x"], tree=True)
    assert (A.J @ A.mass.inv @ A.J.T).simplify(matrix=True).show() == "B*ΩB"


@pytest.mark.parametrize("seed", range(6))
def test_the_forms_are_one_operator(seed):
    case = mechanism(seed, rotors=False, frames=1, bodies=7)
    statement = projected(case.algebra)
    if np.linalg.cond(case.dense(case.symbols.J @ case.symbols.mass.inv @ case.symbols.J.T)) > 1e6:
        pytest.skip("the task loses a direction")
    x = np.random.default_rng(seed).normal(size=case.model.nv)
    expected = case.dense(statement.node)
    for tried in statement.simplify(explain=True).tried:
        assert relative(case.dense(tried.form.node), expected) < 1e-7
    assert relative(statement.apply(case.q, x), expected @ x) < 1e-7


def test_what_is_explained_begins_with_what_is_taken():
    A = ps.algebra(frames=["tip"])
    statement = A.mass.inv @ (A.T - A.C - A.g)
    search = statement.simplify(explain=True)
    assert search.tried[0].form.node is statement.simplify().node
    assert search.tried[0].operations == statement.cost(30).total
    counts = [each.operations for each in search.tried if each.operations is not None]
    assert counts == sorted(counts) and len(counts) > 2
    assert str(search).splitlines()[0] == "ℳ⁻¹(T − 𝒞 − 𝒢): operations at n = 30"
    assert "20,040    (I − HψK)*D⁻¹(T − Hψ(KT + b + P(a + E* a_g))) − K*ψ*(a + E* a_g)" in str(search)


def test_counts_go_on_as_polynomials_do():
    A = ps.algebra(frames=["tip"])
    for statement in (A.mass, A.Lambda, A.mass.inv, A.phi):
        node = statement.simplify().node
        assert operations(node) == statement.cost(30).total


def test_a_sum_and_its_negative_are_made_once():
    A = ps.algebra()
    statement = A.H @ A.phi @ (A.K @ A.T - A.b) - A.H @ A.psi @ (A.b - A.K @ A.T)
    apart = apply(statement.node, operand_of(statement.node))
    (shared,) = with_shared_negatives([apart])
    found = [[x for x in walk(root) if isinstance(x, Total) and len(x.terms) > 1] for root in (apart, shared)]
    assert [len(sums) for sums in found] == [3, 2]  # KT − b, b − KT and φ… + ψ…
