"""What a user holds: statements that build, explain and evaluate themselves, and say what is wrong in sentences."""

from fractions import Fraction

import numpy as np
import pytest

import phistar as ps
from phistar.operators.symbols import NAMES
from tests.trees import mechanism, relative

A = ps.algebra()
CASE = mechanism(95, serial=True, tips=True, frames=1, bodies=3, armature=False, kind="revolute")


def test_expressions_build_as_the_algebra_does():
    e = A.H @ A.phi @ A.M @ A.phi.T @ A.H.T
    assert e.show() == str(e) == repr(e) == "HφMφ*H*"
    assert e.latex() == r"H \phi M \phi^{*} H^{*}"
    assert e == A.H @ (A.phi @ A.M @ A.phi.T) @ A.H.T and hash(e) == hash(e.T)
    assert (2 * e - e * 2).show() == "0"
    assert (0.5 * e).show() == (Fraction(1, 2) * e).show() == "1/2·(HφMφ*H*)"
    assert (-e).show() == "−HφMφ*H*" and (-(-e)) == e  # noqa: B002
    assert e.inv.inv == e and e == e.T


def test_simplified_expressions_are_expressions():
    simple = A.mass.inv.simplify()
    assert simple.show() == "(I − HψK)*D⁻¹(I − HψK)"
    assert simple.derivation().steps == ()
    assert A.mass.inv.derivation().result is simple.node
    assert [sweep.direction for sweep in A.mass.inv.sweeps] == ["inward", "outward"]


def test_the_algebra_offers_every_symbol_and_names_them_when_asked_for_another():
    for name in NAMES:
        assert isinstance(getattr(A, name), ps.Expression)
    with pytest.raises(ps.UnknownNameError, match=r"no symbol 'Phi'; did you mean phi\?"):
        A.Phi  # noqa: B018
    with pytest.raises(ps.UnknownNameError, match=r"no symbol 'xyz'; it has H, phi, psi"):
        A.xyz  # noqa: B018
    assert A.Lambda.show() == "(Jℳ⁻¹J*)⁻¹"


def test_abstract_mechanisms_are_what_they_are_said_to_be():
    def form(**said):
        a = ps.algebra(**said)
        return (a.J @ a.mass.inv @ a.J.T).simplify(matrix=True).show()

    assert form() == "B*ΩB"
    assert form(tree=True) == "B*ψ*H*D⁻¹HψB"
    assert ps.algebra(armature=True).mass.simplify().show() == "HφMφ*H* + A"
    nonredundant = ps.algebra(nonredundant=True)
    assert "D′⁻¹" in (nonredundant.J.T @ nonredundant.U_task @ nonredundant.J).inv.simplify().show()


def test_what_an_algebra_knows_of_a_model_is_true_of_it():
    setting = CASE.setting
    assert setting.serial and setting.tips and setting.one_frame and setting.no_armature and setting.nonredundant
    tree = mechanism(96, serial=False, tips=False, frames=2, bodies=6, armature=True, kind="universal")
    setting = tree.setting
    assert not (setting.serial or setting.tips or setting.one_frame or setting.no_armature)
    assert setting.nonredundant == (tree.model.nv <= 12)


def test_dense_and_apply_agree_over_leading_axes():
    q = CASE.model.random(np.random.default_rng(0), (2, 3))
    x = np.random.default_rng(1).normal(size=(2, 3, CASE.model.nv))
    e = CASE.algebra.mass.inv
    assert e.dense(q).shape == (2, 3, CASE.model.nv, CASE.model.nv)
    assert relative(np.einsum("...ij,...j->...i", e.dense(q), x), e.apply(q, x)) < 1e-11


# Sentences


def test_an_abstract_statement_has_no_numbers():
    for call in (lambda: A.mass.dense([0.0]), lambda: A.mass.apply([0.0], [0.0])):
        with pytest.raises(ps.StatementError, match=r"ℳ is abstract.* Bind it: ps\.algebra\(model"):
            call()


def test_statements_of_different_robots_do_not_mix():
    other = mechanism(97, frames=1, bodies=2).algebra
    with pytest.raises(ps.SpaceError, match=r"belong to different robots.*; take both from one algebra"):
        CASE.algebra.mass + other.mass
    with pytest.raises(ps.SpaceError, match=r"TaskForces\[frame0\]"):
        CASE.algebra.J.T @ A.f


def test_an_operator_takes_an_operand_and_a_vector_none():
    with pytest.raises(ps.StatementError, match="ℳ takes an operand in Rates"):
        CASE.algebra.mass.apply(CASE.q)
    with pytest.raises(ps.StatementError, match="𝒢 takes no operand: it is a vector"):
        CASE.algebra.g.apply(CASE.q, CASE.vectors["T"])


def test_what_a_statement_needs_is_asked_for_by_name():
    with pytest.raises(ps.PhistarError, match=r"needs .*, \(…, 3\); it was not given"):
        (CASE.algebra.mass @ CASE.algebra.qdd).apply(CASE.q)
    with pytest.raises(ps.ShapeError):
        CASE.algebra.mass.apply(CASE.q, np.zeros(CASE.model.nv + 1))


def test_a_vector_to_the_left_of_a_number_is_refused():
    with pytest.raises(ps.StatementError, match="stands to the left of a number made by the same statement"):
        (A.T @ A.v.T).simplify()


@pytest.mark.parametrize("wrong", [lambda: A.mass @ np.ones(3), lambda: np.eye(3) @ A.mass, lambda: A.M + 1.0])
def test_arrays_and_numbers_are_no_statements(wrong):
    with pytest.raises(ps.StatementError, match=r"is no statement.*\.apply\(q, x\)"):
        wrong()


@pytest.mark.parametrize("wrong", [lambda: A.H * A.phi, lambda: A.mass * float("nan"), lambda: A.mass * [2.0]])
def test_a_star_takes_a_finite_number(wrong):
    with pytest.raises(ps.StatementError, match="composed with @"):
        wrong()


def test_numbers_of_numpy_are_numbers():
    assert np.float64(0.5) * A.mass == A.mass * Fraction(1, 2) == A.mass * 0.5
    assert np.int64(2) * A.mass == A.mass * 2


def test_one_frame_may_be_named_alone():
    arm = ps.load("puma560")
    assert ps.algebra(arm, "tool").J == ps.algebra(arm, ["tool"]).J


# Evaluating


CHAIN_7 = ps.chain(7)
Q_7 = np.full(7, 0.3)


def test_the_inertia_of_closures_is_applied_as_its_matrix_is():
    """Λ_c of RJK91 (26), as a statement with Q."""
    algebra = ps.algebra(CHAIN_7, frames=["tip"], Q=np.eye(6)[3:])
    inertia = (algebra.Q @ algebra.J @ algebra.mass.inv @ algebra.J.T @ algebra.Q.T).inv
    x = np.arange(3.0)
    assert relative(inertia.dense(Q_7) @ x, inertia.apply(Q_7, x)) < 1e-11
    with pytest.raises(ps.ShapeError, match=r"x has shape \(4,\); chain7 needs \(…, 3\)"):
        inertia.apply(Q_7, np.zeros(4))


@pytest.mark.parametrize("closures", [np.eye(5), np.zeros((0, 6)), [[np.nan] * 6], "Q", np.ones(6)])
def test_closures_that_do_not_fit_the_frames_are_refused(closures):
    with pytest.raises(ps.ShapeError, match=r"Q .*\(rows, 6\)"):
        ps.algebra(CHAIN_7, frames=["tip"], Q=closures)


@pytest.mark.parametrize("flag", [{"nonredundant": True}, {"tree": True}, {"armature": True}])
def test_what_is_said_of_a_model_and_is_not_true_is_refused(flag):
    with pytest.raises(ps.StatementError, match=r"chain7 (has 7 dofs|is a serial chain|has no armature).*leave"):
        ps.algebra(CHAIN_7, frames=["tip"], **flag)
    (name,) = flag
    assert ps.algebra(CHAIN_7, frames=["tip"], **{name: False}).setting == ps.algebra(CHAIN_7, frames=["tip"]).setting


def test_one_frame_named_on_an_abstract_tree_is_one_frame():
    def form(**said):
        a = ps.algebra(**said)
        return (a.J @ a.mass.inv @ a.J.T).simplify().show()

    assert form(frames=["x"], tree=True) == "B*ΩB"
    assert form(frames=["x", "y"], tree=True) == form(frames=["x", "y"]) == "B*ψ*H*D⁻¹HψB"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("robot", [ps.chain(6), ps.load("freeflyer"), ps.load("rj2w_tree")], ids=lambda m: m.name)
def test_the_cost_of_a_bound_statement_is_that_of_the_kernel_that_runs(robot):
    algebra = ps.algebra(robot)
    for statement in (algebra.mass.inv @ (algebra.T - algebra.C - algebra.g), algebra.mass.inv):
        assert statement.cost().total == ps.compile(statement).operations
    assert algebra.mass.cost(matrix=True).total == ps.compile(algebra.mass, matrix=True).operations
    assert statement.cost(len(robot.bodies)) == statement.cost()
    with pytest.raises(ps.StatementError, match=r"is bound to .*cost\(\) counts what runs"):
        statement.cost(len(robot.bodies) + 1)


def test_the_cost_of_a_long_robot_is_that_of_its_loops():
    statement = ps.algebra(ps.chain(45)).mass.inv
    assert statement.cost().total == ps.compile(statement).operations


@pytest.mark.parametrize("links", [-1, 0, 1.5, "7", None, True])
def test_an_abstract_statement_is_counted_for_a_whole_number_of_links(links):
    with pytest.raises(ps.StatementError, match="a whole number from 1 on"):
        A.phi.cost(links)
    assert A.phi.cost(np.int64(7)) == A.phi.cost(7)


def test_statements_are_divided_by_numbers_alone():
    assert A.phi / 2 == 0.5 * A.phi
    for wrong in (lambda: A.phi / 0, lambda: A.phi / A.psi, lambda: 2 / A.phi, lambda: A.phi / float("inf")):
        with pytest.raises(ps.StatementError, match=r"X\.inv"):
            wrong()
    with pytest.raises(ps.StatementError, match=r"no powers; a square is X @ X"):
        A.phi**2
    with pytest.raises(ps.StatementError, match="is no statement"):
        1 + A.phi
    with pytest.raises(ps.StatementError, match="is no statement"):
        1 - A.phi


def test_vectors_given_to_a_matrix_have_the_shape_of_their_symbol():
    algebra = ps.algebra(CHAIN_7)
    weighted = algebra.mass + algebra.R
    for wrong in (np.ones(3), 1.0, np.eye(7), np.ones((7, 1))):
        with pytest.raises(ps.ShapeError, match=r"R has shape"):
            weighted.dense(Q_7, R=wrong)
    with pytest.raises(ps.ShapeError, match=r"needs R, \(…, 7\); it was not given"):
        weighted.dense(Q_7)
    with pytest.raises(ps.ShapeError, match=r"needs v, \(…, 7\)"):
        algebra.C.dense(Q_7)
    with pytest.raises(ps.UnknownNameError, match=r"vv is no vector .* did you mean v"):
        algebra.C.dense(Q_7, vv=np.ones(7))


def test_vectors_given_to_a_matrix_broadcast_with_the_configurations():
    algebra, rng = ps.algebra(CHAIN_7), np.random.default_rng(3)
    q, v = rng.normal(size=(2, 1, 7)), rng.normal(size=(3, 7))
    assert relative(algebra.C.dense(q, v=v), algebra.C.apply(q, v=v)) < 1e-11


def test_an_inverse_that_does_not_exist_is_refused_by_apply_as_by_dense():
    planar = ps.planar_chain(3)
    inertia = ps.algebra(planar, frames=["tip"]).Lambda
    with pytest.raises(ps.StatementError, match="singular at this configuration"):
        inertia.dense(np.full(3, 0.3))
    with pytest.raises(ps.StatementError, match=r"no value at 2 of 2 configurations: .* singular"):
        inertia.apply(np.full((2, 3), 0.3), np.ones(6))
    assert np.isnan(ps.algebra(planar).mass.apply(np.full(3, 0.3), [np.nan, 0, 0])).all()
