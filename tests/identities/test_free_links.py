"""Riccati's set of links that move in all six ways: φMφ* + W, a sum over all pairs of links, is inverted in O(n)."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay
from phistar.identities.law import LAWS
from phistar.identities.polynomial import letters
from phistar.operators.nodes import Symbol, identity
from phistar.operators.spaces import FORCES
from phistar.operators.symbols import has_pair
from tests.statements import magnitude
from tests.trees import mechanism, relative

TOLERANCE = 1e-10


def weighted(a):
    """φMφ* + W."""
    return a.phi @ a.M @ a.phi.T + a.operator("Weight", "Motions", "Forces", "positive block-diagonal")


def compliant(a):
    """φ*Cφ + M⁻¹, what sums compliances outward."""
    return a.phi.T @ a.operator("Give", "Forces", "Motions", "positive block-diagonal") @ a.phi + a.M.inv


def blocks(rng, n):
    found = np.zeros((6 * n, 6 * n))
    for k in range(n):
        x = rng.normal(size=(6, 6))
        found[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = x @ x.T + np.eye(6)
    return found


def chosen(case, kind):
    """Of links that move freely, with a mass as their weight, or of joints that forces drive in part."""
    s = case.symbols
    return s.with_pair(s.M, s.M, identity(FORCES)) if kind == "links" else s.with_pair(s.M, s.R, s.L @ s.H)


def is_about(law, symbols):
    """Whether it speaks of the set, and not of motion, of ℳ, which is the joints' own, or of D^½."""
    there = [x for side in law.sides(symbols) for x in letters(side) if isinstance(x, Symbol)]
    about = any(has_pair(x) and x.of == symbols.pair for x in there)
    return about and not any(x.name in ("mass", "M_i", "D_root") or "vector" in x.traits for x in there)


@pytest.mark.parametrize("kind", ["links", "driven joints"])
def test_the_laws_of_the_set_hold_on_trees_whatever_its_axes(kind):
    checked = set()
    for case in (mechanism(seed, armature=True, rotors=False) for seed in range(12)):
        s = chosen(case, kind)
        for law in LAWS:
            if case.setting.meets(law.needs) and law.speaks_of(s) and is_about(law, s):
                left, right = (case.dense(side) for side in law.sides(s))
                scale = magnitude(case.dense, *law.sides(s))
                assert np.abs(left - right).max() <= TOLERANCE * scale, (law.name, case.model.name)
                checked.add(law.name)
    assert {"lemma_1", "lemma_4", "riccati_equation", "joseph_update", "costate_covariance_gathered"} <= checked
    assert len(checked) > 30


def test_the_inverses_are_linear_in_the_links_and_proved_with_certificates_that_hold():
    a = ps.algebra()
    for statement, most in ((weighted(a).inv, 53_500), (compliant(a).inv, 71_500)):
        counts = [statement.cost(n).total for n in (30, 60, 90)]
        assert counts[2] - counts[1] == counts[1] - counts[0]
        assert counts[0] <= most
        data = json.loads(json.dumps(statement.derivation().certificate()))
        replay(data)
        assert evaluate(data, 0) < 1e-50


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_they_are_the_inverses_of_the_explicit_matrices(seed):
    case, rng = mechanism(seed), np.random.default_rng(seed)
    n = len(case.model.bodies)
    given, x = blocks(rng, n), rng.normal(size=6 * n)
    for make, name in ((weighted, "Weight"), (compliant, "Give")):
        statement = make(case.algebra)
        expected = np.linalg.solve(statement.dense(case.q, **{name: given}), x)
        assert relative(statement.inv.apply(case.q, x, **{name: given}), expected) < 1e-9
        assert relative(ps.compile(statement.inv)(case.q, x, given), expected) < 1e-9
        fixed = statement.inv.given(**{name: given})
        assert relative(np.ravel(ps.casadi_function(fixed, case.model)(case.q, x)), expected) < 1e-9


def test_a_chain_that_is_compiled_is_inverted_link_by_link():
    model, rng = ps.chain(16), np.random.default_rng(1)
    statement, given, x = weighted(ps.algebra(model)), blocks(rng, 16), rng.normal(size=96)
    q = model.random(rng)
    function = ps.compile(statement.inv.given(Weight=given))
    assert relative(function(q, x), np.linalg.solve(statement.dense(q, Weight=given), x)) < 1e-9


def test_the_recursion_is_printed_with_the_name_that_was_given():
    assert "D(k) = P(k) + Weight(k)" in str(weighted(ps.algebra()).inv.algorithm())
