"""Operators and vectors of one's own take part in everything, and are what they were declared to be."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import StatementError
from tests.trees import mechanism, relative

MODEL = ps.chain(5)
A = ps.algebra(MODEL, ["tip"])
Q = np.full(5, 0.3)
S = A.operator("S", "Rates", "Torques", structure="symmetric positive block-diagonal")
SPRING = np.diag([2.0, 1.0, 3.0, 0.5, 1.5])
X = np.arange(5.0)


def test_it_is_rewritten_and_printed_as_a_symbol_is():
    assert S.show() == "S" and S.T == S and S.latex() == "S"
    derivation = (A.mass + S).inv.derivation()
    assert str(derivation.result) == "(I − Hψ′K′)*D′⁻¹(I − Hψ′K′)"
    assert str(derivation.cost(derivation.result)) == "O(n)"
    assert "lemma 1" in [step.law for step in derivation.steps]
    assert (A.mass + S).inv.sweeps and "S(k)" in str((A.mass + S).inv.algorithm())


def test_values_are_given_by_name():
    weighted = (A.mass + S).inv
    wanted = np.linalg.solve(ps.mass_matrix(MODEL, Q) + SPRING, X)
    assert relative(weighted.apply(Q, X, S=SPRING), wanted) < 1e-12
    assert relative(weighted.dense(Q, S=SPRING) @ X, wanted) < 1e-12
    with pytest.raises(ps.ShapeError, match=r"needs S, \(5, 5\); give it by name: S="):
        weighted.apply(Q, X)


def test_a_bound_value_is_a_constant_of_the_compiled_function():
    weighted = (A.mass + S).inv.given(S=SPRING)
    function = ps.compile(weighted)
    assert relative(function(Q, X), weighted.apply(Q, X)) < 1e-11
    assert weighted.cost().total == function.operations
    assert ps.compile((A.mass + S).inv).inputs == ("q", "x", "S")
    with pytest.raises(ps.UnknownNameError, match="has no operator Z of your own; it has S"):
        weighted.given(Z=SPRING)


def test_a_compiled_function_is_exported_as_casadi_and_c(tmp_path):
    weighted = (A.mass + S).inv.given(S=SPRING)
    function = ps.casadi_function(weighted, MODEL)
    assert relative(np.asarray(function(Q, X)).reshape(-1), weighted.apply(Q, X)) < 1e-11


def test_a_metric_on_the_links_and_one_on_the_task_take_part():
    case = mechanism(98, serial=False, frames=1, bodies=5, kind="universal", armature=True)
    algebra = case.algebra
    added = algebra.operator("M_a", "Motions", "Forces", structure="positive block-diagonal")
    metric = algebra.operator("W_t", "TaskMotions", "TaskForces", structure="positive")
    rng, n = np.random.default_rng(0), len(case.model.bodies)
    blocks = [(lambda x: x @ x.T + np.eye(6))(rng.normal(size=(6, 6))) for _ in range(n)]
    heavy = np.kron(np.eye(n), np.ones((6, 6))) * np.block([[blocks[k] for k in range(n)]] * n)
    heavy = (heavy + heavy.T) / 2
    x = rng.normal(size=case.model.nv)
    mass = algebra.H @ algebra.phi @ (algebra.M + added) @ algebra.phi.T @ algebra.H.T + algebra.A
    assert relative(mass.inv.apply(case.q, x, M_a=heavy), mass.inv.dense(case.q, M_a=heavy) @ x) < 1e-9
    weight = rng.normal(size=(6, 6))
    weight = weight @ weight.T + np.eye(6)
    stiff = algebra.J.T @ metric @ algebra.J
    assert relative(stiff.apply(case.q, x, W_t=weight), stiff.dense(case.q, W_t=weight) @ x) < 1e-10


def test_vectors_of_ones_own_are_given_as_v_and_t_are():
    w = A.vector("w", "Torques")
    statement = A.mass.inv @ (A.T - w)
    torques = {"T": X, "w": X[::-1]}
    wanted = np.linalg.solve(ps.mass_matrix(MODEL, Q), X - X[::-1])
    assert relative(statement.apply(Q, **torques), wanted) < 1e-11
    assert relative(statement.dense(Q, **torques), wanted) < 1e-11
    function = ps.compile(statement)
    assert set(function.inputs) == {"q", "T", "w"}
    with pytest.raises(ps.ShapeError, match=r"w has shape \(4,\)"):
        statement.apply(Q, T=X, w=np.ones(4))
    with pytest.raises(ps.PhistarError, match="w"):
        statement.apply(Q, T=X)


def test_proofs_and_refutations_speak_of_it():
    abstract = ps.algebra()
    spring = abstract.operator("S", "Rates", "Torques", structure="positive block-diagonal")
    weight = abstract.operator("Z", "Torques", "Rates", structure="positive block-diagonal")
    woodbury = abstract.mass.inv - abstract.mass.inv @ (weight + abstract.mass.inv).inv @ abstract.mass.inv
    assert (abstract.mass + weight.inv).inv.equals(woodbury).proved is True
    assert (abstract.mass + spring).inv.equals(abstract.mass.inv).proved is False


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.diag([1.0, 1, 1, 1, -1]), "declared positive, but its least eigenvalue is -1"),
        (np.eye(5) + np.eye(5, k=1), "declared symmetric, but entry"),
        (np.ones((5, 5)) + np.eye(5), "declared block-diagonal, but entry"),
        (np.eye(4), r"S has shape \(4, 4\); chain5 needs finite numbers of shape \(5, 5\)"),
        (np.full((5, 5), np.nan), "needs finite numbers"),
        ("S", "must be an array of real numbers"),
    ],
)
def test_numbers_that_are_not_what_was_declared_are_refused(value, sentence):
    with pytest.raises(ps.PhistarError, match=sentence):
        (A.mass + S).inv.apply(Q, X, S=value)


@pytest.mark.parametrize(
    ("declare", "sentence"),
    [
        (lambda: A.operator("phi", "Rates", "Torques"), "phi is a symbol of the algebra already"),
        (lambda: A.operator("Z", "Rate", "Torques"), "There is no space 'Rate'; there are"),
        (lambda: A.operator("Z", "Rates", "Torques", structure="sparse"), "sparse is no structure"),
        (lambda: A.operator("Z", "Rates", "Torques", structure=("positive",)), "it is said in words"),
        (
            lambda: A.operator("Z", "Rates", "Rates", structure="symmetric"),
            "only operators between a space and its dual",
        ),
        (
            lambda: A.operator("Z", "Rates", "TaskForces", structure="block-diagonal"),
            "said over links and joints",
        ),
        (lambda: A.operator("2 Z", "Rates", "Torques"), "is no name of a symbol"),
        (lambda: A.mass @ A.operator("Z", "Torques", "Torques"), "do not compose"),
        (lambda: (A.mass + A.operator("Z", "Rates", "Torques")).apply(Q, X, Z=SPRING), "is a full operator over links"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(declare, sentence):
    with pytest.raises(ps.PhistarError, match=sentence):
        declare()


def test_a_full_operator_over_the_joints_is_evaluated_as_a_matrix():
    full = A.operator("Z", "Rates", "Torques", structure="symmetric")
    value = np.ones((5, 5))
    assert relative((A.mass + full).dense(Q, Z=value), ps.mass_matrix(MODEL, Q) + value) < 1e-12


def test_an_operator_times_its_adjoint_asks_for_a_metric():
    model = ps.chain(7)
    with_closures = ps.algebra(model, frames=["tip"], Q=np.eye(6)[3:])
    for left, right, metric in (
        (with_closures.J, with_closures.J.T, "(J) @ U @ (J*), where U is the unit"),
        (with_closures.J.T, with_closures.J, "(J*) @ U_task @ (J), where U_task is the unit"),
        (with_closures.Q.T, with_closures.Q, 'where Z is A.operator("Z", "ClosureMotions", "ClosureForces"'),
    ):
        with pytest.raises(ps.SpaceError) as refused:
            left @ right
        assert metric in str(refused.value)
    z = with_closures.operator("Z", "ClosureMotions", "ClosureForces", structure="positive")
    squared, weights = with_closures.Q.T @ z @ with_closures.Q, np.diag([1.0, 2.0, 3.0])
    x = np.arange(6.0)
    expected = np.concatenate([np.zeros(3), [3.0, 8.0, 15.0]])
    assert np.allclose(squared.apply(np.zeros(7), x, Z=weights), expected)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["s", "t", "z", "y", "λ", "ν"])
def test_a_vector_may_be_called_as_programs_call_what_they_make(name):
    a = ps.algebra(ps.chain(6), frames=["tip"])
    metric = a.operator("Zt", "TaskMotions", "TaskForces", structure="positive")
    q, x = np.full(6, 0.3), np.arange(6.0)
    inverse = (a.mass + a.J.T @ metric @ a.J).inv
    named = inverse @ a.vector(name, "Torques")
    expected = np.linalg.solve((a.mass + a.J.T @ metric @ a.J).dense(q, Zt=np.eye(6)), x)
    assert np.allclose(named.apply(q, Zt=np.eye(6), **{name: x}), expected, rtol=1e-8)
    assert np.allclose(ps.compile(named.given(Zt=np.eye(6)))(q, x), expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["ω", "Ω", "ρ", "Γ"])
def test_a_name_that_programs_have_for_a_symbol_is_refused(name):
    with pytest.raises(StatementError, match="symbol of the algebra already"):
        ps.algebra().vector(name, "Torques")
