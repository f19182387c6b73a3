"""The matrix inversion lemma: springs, metrics and closures at a few points leave an inverse linear in the links."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.cli.checker import evaluate, replay


def with_metric(a, kind):
    """ℳ + J*WJ, ℳ + J*Q*WQJ."""
    weight = a.operator("W_t", f"{kind}Motions", f"{kind}Forces", structure="positive")
    at = a.J if kind == "Task" else a.Q @ a.J
    return (a.mass + at.T @ weight @ at).inv


@pytest.mark.parametrize("kind", ["Task", "Closure"])
def test_what_is_added_at_a_few_points_is_inverted_in_their_space(kind):
    found = with_metric(ps.algebra(), kind)
    counts = [found.cost(n).total for n in (30, 60, 90)]
    assert counts[2] - counts[1] == counts[1] - counts[0]
    derivation = found.derivation()
    assert "matrix inversion lemma" in [step.law for step in derivation.steps]
    data = json.loads(json.dumps(derivation.certificate()))
    replay(data)
    assert evaluate(data, 0) < 1e-50


@pytest.mark.parametrize("kind", ["Task", "Closure"])
def test_its_value_is_that_of_matrices(kind):
    model = ps.load("puma560")
    a = ps.algebra(model, ["tool"], Q=np.eye(6)[3:])
    found, rng = with_metric(a, kind), np.random.default_rng(2)
    root = rng.normal(size=(6, 6) if kind == "Task" else (3, 3))
    weight, q, x = 100 * root @ root.T + np.eye(len(root)), model.random(rng), rng.normal(size=6)
    expected = found.dense(q, W_t=weight) @ x
    assert np.allclose(found.apply(q, x, W_t=weight), expected, rtol=1e-9)
    assert np.allclose(ps.compile(found)(q, x, weight), expected, rtol=1e-9)


def test_several_are_taken_one_after_the_other():
    a = ps.algebra(ps.chain(8), ["tip"], Q=np.eye(6)[:2])
    one = a.operator("W_1", "TaskMotions", "TaskForces", structure="positive")
    two = a.operator("W_2", "ClosureMotions", "ClosureForces", structure="positive")
    found = (a.mass + a.J.T @ one @ a.J + a.J.T @ a.Q.T @ two @ a.Q @ a.J).inv
    q, x = a.model.random(np.random.default_rng(0)), np.arange(8.0)
    given = {"W_1": np.eye(6), "W_2": 2 * np.eye(2)}
    assert np.allclose(found.apply(q, x, **given), found.dense(q, **given) @ x, rtol=1e-8)
    laws = [step.law for step in found.derivation().steps]
    assert "matrix inversion lemma" in laws and "(" in str(found.simplify())
