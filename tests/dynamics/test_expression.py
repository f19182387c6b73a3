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
