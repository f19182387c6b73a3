"""Operators of low rank: declared with their rank, checked on the numbers, inverted by the matrix inversion lemma."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.errors import ShapeError, StatementError


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
