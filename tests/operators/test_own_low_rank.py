"""Operators of low rank: declared with their rank, checked on the numbers, inverted by the matrix inversion lemma."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.errors import ShapeError, StatementError
from tests.trees import mechanism, relative


def coupled(a):
    """ℳ with two springs, each between several joints."""
    return (a.mass + a.operator("Z", "Rates", "Torques", structure="positive low rank", rank=2)).inv


def test_what_is_added_to_an_inertia_leaves_its_inverse_linear_in_the_links():
    counts = [coupled(ps.algebra()).cost(n).total for n in (30, 60, 90)]
    assert counts[2] - counts[1] == counts[1] - counts[0]
    assert ps.algebra().operator("Z", "Rates", "Torques", "positive low rank", 2).cost(30).total == 208


def test_the_derivation_uses_the_lemma_and_has_a_certificate_that_holds():
    a = ps.algebra()
    factors = a.operator("U_1", "R3", "Torques") @ a.operator("V_1", "Rates", "R3")
    for found in (coupled(a), (a.mass + factors).inv, (a.mass + a.R + 2 * factors).inv):
        derivation = found.derivation()
        assert "matrix inversion lemma" in [step.law for step in derivation.steps]
        data = json.loads(json.dumps(derivation.certificate()))
        replay(data)
        assert evaluate(data, 0) < 1e-50


@pytest.mark.parametrize("name", ["ur5", "anymal"])
def test_it_is_given_whole_or_by_its_factor_and_compiled(name, tmp_path):
    model, rng = ps.load(name), np.random.default_rng(1)
    found, q, x = coupled(ps.algebra(model)), model.random(rng), rng.normal(size=model.nv)
    factor = rng.normal(size=(2, model.nv))
    expected = found.dense(q, Z=factor.T @ factor) @ x
    assert np.allclose(found.apply(q, x, Z=factor.T @ factor), expected, rtol=1e-8)
    assert np.allclose(found.apply(q, x, Z=factor), expected, rtol=1e-8)
    assert np.allclose(ps.compile(found)(q, x, factor), expected, rtol=1e-8)
    bound = ps.compile(found.given(Z=factor))
    assert np.allclose(bound(q, x), expected, rtol=1e-8)
    assert found.given(Z=factor).cost().total == bound.operations
    written = np.asarray(ps.casadi_function(found, model)(q, x, factor.ravel())).ravel()
    assert np.allclose(written, expected, rtol=1e-8)


def test_each_row_costs_one_column_of_one_inward_sweep():
    """No sweep is run anew: inward with the columns, the few equations, outward with one vector."""
    a = ps.algebra()
    springs = [a.operator(f"Z_{n}", "Rates", "Torques", "positive low rank", rank=n) for n in (1, 2, 3)]
    plain, *tied = [(a.mass + x).inv.cost(30).total for x in (0 * springs[0], *springs)]
    each = (a.D.inv @ (a.I - a.H @ a.psi @ a.K) @ a.T).cost(30).total - (a.D.cost(30).total - 30)  # less P, D, G
    for rank, counted in enumerate(tied, start=1):
        assert counted - plain <= rank * each + 30 * (4 * rank + 2 * rank**2) + 2 * rank**3 + 20
    assert sum(line.startswith("for k") for line in str((a.mass + springs[1]).inv.algorithm()).splitlines()) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
def test_two_couplings_and_rectangular_ones_are_inverted_on_trees(seed):
    case, rng = mechanism(seed), np.random.default_rng(seed)
    a, x = case.algebra, rng.normal(size=case.model.nv)
    two = a.operator("Z", "Rates", "Torques", "positive low rank", 2)
    more = a.operator("Y_1", "Rates", "Torques", "positive low rank", 1)
    factors = a.operator("U_1", "R3", "Torques") @ a.operator("V_1", "Rates", "R3")
    given = {"Z": rng.normal(size=(2, len(x))), "Y_1": rng.normal(size=(1, len(x)))}
    whole = {name: rows.T @ rows for name, rows in given.items()}
    apart = {"U_1": rng.normal(size=(len(x), 3)), "V_1": rng.normal(size=(3, len(x)))}
    for statement, few, all_of in ((a.mass + two + more, given, whole), (a.mass + factors, apart, apart)):
        replay(statement.inv.derivation().certificate())
        expected = np.linalg.solve(statement.dense(case.q, **all_of), x)
        assert relative(statement.inv.apply(case.q, x, **few), expected) < 1e-8
        assert relative(ps.compile(statement.inv.given(**few))(case.q, x), expected) < 1e-8


def test_rows_over_the_links_are_of_low_rank_too():
    model, rng = ps.chain(5), np.random.default_rng(2)
    a = ps.algebra(model)
    rows = a.operator("L_1", "Motions", "R2")
    found = (a.mass + a.H @ a.phi @ rows.T @ rows @ a.phi.T @ a.H.T).inv
    q, x, given = model.random(rng), rng.normal(size=5), rng.normal(size=(2, 30))
    assert np.allclose(found.apply(q, x, L_1=given), found.dense(q, L_1=given) @ x, rtol=1e-9)


def test_numbers_of_another_structure_are_refused():
    a, rng = ps.algebra(ps.chain(5)), np.random.default_rng(3)
    found, q, x = coupled(a), np.zeros(5), np.ones(5)
    factor = rng.normal(size=(2, 5))
    for value, told in (
        (np.eye(5), "declared of rank 2, but has rank 5"),
        (-factor.T @ factor, "least eigenvalue"),
        (rng.normal(size=(5, 5)), "not symmetric"),
    ):
        with pytest.raises(StatementError, match=told):
            found.apply(q, x, Z=value)
    with pytest.raises(ShapeError, match=r"\(2, 5\)"):
        found.apply(q, x, Z=np.eye(3))


def test_what_cannot_be_declared_is_told():
    a = ps.algebra()
    for structure, rank, told in (
        ("low rank", 2, "product of two"),
        ("positive low rank", None, "whole number"),
        ("positive low rank", 0, "whole number"),
    ):
        with pytest.raises(StatementError, match=told):
            a.operator("Z", "Rates", "Torques", structure, rank)
    with pytest.raises(StatementError, match="structurally singular"):
        a.operator("Z", "Rates", "Torques", "positive low rank", 2).inv.simplify()
