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


def test_columns_of_low_rank_are_made_by_one_sweep():
    """At n = 30, by hand: Riccati's equation and two columns inward; Ω(0) and the columns outward again."""
    a = ps.algebra()
    few = a.operator("Few", "Rates", "R2")
    seen, stiff = (few @ a.mass.inv @ few.T).inv, (a.J @ (a.mass + few.T @ few).inv @ a.J.T).inv
    assert seen.cost(30).total < 15_000 and stiff.cost(30).total < 24_000
    assert seen.simplify().show() == "([(I − HψK)Few*]*[D⁻¹[(I − HψK)Few*]])⁻¹"
    for statement in (seen, stiff):
        data = json.loads(json.dumps(statement.derivation().certificate()))
        replay(data)
        assert evaluate(data, 0) < 1e-50


def test_columns_of_low_rank_have_the_value_of_matrices():
    model, rng = ps.chain(7), np.random.default_rng(3)
    a = ps.algebra(model, ["tip"])
    few = a.operator("Few", "Rates", "R2")
    q, rows, x = model.random(rng), rng.normal(size=(2, 7)), rng.normal(size=7)
    mass, J = ps.mass_matrix(model, q), ps.jacobian(model, q, "tip")
    mobility = np.linalg.inv(mass)
    cases = (
        ((few @ a.mass.inv @ few.T).inv, np.linalg.inv(rows @ mobility @ rows.T)),
        ((a.J @ (a.mass + few.T @ few).inv @ a.J.T).inv, np.linalg.inv(J @ np.linalg.inv(mass + rows.T @ rows) @ J.T)),
        (
            a.mass.inv @ few.T @ (few @ a.mass.inv @ few.T).inv @ few @ a.mass.inv,
            mobility @ rows.T @ np.linalg.inv(rows @ mobility @ rows.T) @ rows @ mobility,
        ),
    )
    for statement, matrix in cases:
        y = x[: len(matrix)]
        assert np.allclose(statement.apply(q, y, Few=rows), matrix @ y, rtol=1e-9)
        assert np.allclose(ps.compile(statement, model)(q, y, rows), matrix @ y, rtol=1e-9)


@pytest.mark.parametrize("c, d", [(1, 2), (3, -0.25)])
def test_multiples_of_inverses_add_up_to_one_inverse(c, d):
    model, rng = ps.chain(5), np.random.default_rng(0)
    a = ps.algebra(model)
    weight = a.operator("W_j", "Rates", "Torques", structure="positive block-diagonal")
    q, x, w = model.random(rng), rng.normal(size=5), np.diag(rng.uniform(0.5, 2.0, 5))
    mass = ps.mass_matrix(model, q)
    for statement, matrix in (
        ((c * a.mass.inv + d * weight.inv).inv, c * np.linalg.inv(mass) + d * np.linalg.inv(w)),
        ((a.mass + a.mass @ weight.inv @ a.mass).inv, mass + mass @ np.linalg.inv(w) @ mass),
    ):
        assert np.allclose(statement.apply(q, x, W_j=w), np.linalg.solve(matrix, x), rtol=1e-8)
        data = json.loads(json.dumps(statement.derivation().certificate()))
        replay(data)
        assert evaluate(data, 0) < 1e-50
