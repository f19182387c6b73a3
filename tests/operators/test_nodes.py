"""How statements are built: interned, flat, typed by dual spaces, with sentences for what does not fit."""

import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import given

from phistar.errors import SpaceError, StatementError
from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Product,
    Sum,
    adjoint,
    identity,
    product,
    summation,
    zero,
)
from phistar.operators.spaces import FORCES, MOTIONS, RATES, SCALARS, TORQUES, task_forces
from phistar.operators.symbols import NAMES, Symbols
from tests.statements import statements

S = Symbols()
nodes = statements(S, longest=4)


def test_equal_statements_are_one_object():
    assert S.H @ S.phi is S.H @ S.phi
    assert Symbols().P is S.P
    assert S.with_pair(2 * S.M, S.A).P is not S.P


@given(nodes)
def test_nodes_pickle_and_copy_to_themselves(node):
    assert pickle.loads(pickle.dumps(node)) is node
    assert copy.copy(node) is node
    assert copy.deepcopy(node) is node


def test_products_and_sums_are_flat():
    assert ((S.H @ S.phi) @ (S.M @ S.phi.T)).factors == (S.H, S.phi, S.M, Adjoint(S.phi))
    assert (S.phi + (S.psi - S.E_phi)).terms == ((1, S.phi), (1, S.psi), (-1, S.E_phi))


def test_equal_terms_are_collected_and_zeros_dropped():
    assert S.phi + S.phi is 2 * S.phi
    assert (S.phi - S.phi).terms == ()
    assert S.phi + S.psi - S.psi is S.phi
    assert (0 * S.phi) @ S.M @ S.phi.T is zero(MOTIONS, FORCES)


def test_coefficients_move_to_the_front():
    assert (2 * S.H) @ (Fraction(1, 4) * S.phi) is Fraction(1, 2) * (S.H @ S.phi)
    negative = -S.phi
    assert -negative is S.phi


def test_identities_vanish_in_products_and_take_the_space_of_their_neighbours():
    assert S.I @ S.H @ S.I @ S.phi @ S.I is S.H @ S.phi
    assert (S.I - S.E_phi).domain == FORCES
    assert (S.I + S.H @ S.phi @ S.K).codomain == TORQUES
    assert S.I @ S.I is S.I
    assert (2 * S.I) @ S.phi is 2 * S.phi
    assert S.phi + 2 * S.I - S.I is S.phi + S.I


# Adjoints and inverses


@given(nodes)
def test_the_adjoint_of_the_adjoint_is_the_statement(node):
    assert node.T.T is node
    assert node.T.domain == node.codomain.dual
    assert node.T.codomain == node.domain.dual


@given(statements(S, longest=5, terms=1).filter(lambda node: isinstance(node, Product)))
def test_the_adjoint_of_a_product_is_the_reversed_product_of_adjoints(node):
    assert node.T is product(*(factor.T for factor in reversed(node.factors)))


def test_symmetric_symbols_are_their_own_adjoint():
    assert S.M.T is S.M and S.D.T is S.D and S.mass.T is S.mass and S.Omega.T is S.Omega
    assert S.phi.T is Adjoint(S.phi)
    symmetric = S.H @ S.phi @ S.M @ S.phi.T @ S.H.T + S.A
    assert symmetric.T is symmetric
    assert (S.I + S.H @ S.phi @ S.K).T is not S.I + S.H @ S.phi @ S.K


def test_inverses_of_inverses_identities_and_multiples():
    assert S.phi.inv.inv is S.phi
    assert S.I.inv is S.I
    assert (2 * S.D).inv is Fraction(1, 2) * S.D.inv
    assert S.phi.inv.T is S.phi.T.inv
    assert S.mass.inv.domain == TORQUES and S.mass.inv.codomain == RATES


@pytest.mark.parametrize("singular", [S.H, S.J, S.B @ S.U_task @ S.B.T @ S.phi.T @ S.H.T, S.v, S.E])
def test_what_is_not_square_has_no_inverse(singular):
    with pytest.raises(StatementError, match=r"of different size, so it has no inverse\. Invert a square operator"):
        singular.inv  # noqa: B018


def test_zero_has_no_inverse():
    with pytest.raises(StatementError, match="zero operator has no inverse"):
        (S.phi - S.phi).inv  # noqa: B018


# Spaces


@pytest.mark.parametrize("name", [name for name in NAMES if name != "I"])
def test_every_symbol_has_spaces_and_the_dual_of_the_dual_is_the_space(name):
    node = getattr(S, name)
    for space in (node.domain, node.codomain):
        assert space.dual.dual == space
        assert space.dual.over == space.over
    assert SCALARS.dual == SCALARS


def test_a_forgotten_adjoint_fails_at_once_and_says_which_space_was_expected():
    with pytest.raises(SpaceError, match="φ ⟶ H: H gives Torques, but φ takes Forces, so they do not compose"):
        S.phi @ S.H
    with pytest.raises(SpaceError, match=r"Did you mean \(M\) @ \(φ\)\.T\?"):
        S.M @ S.phi
    with pytest.raises(SpaceError, match=r"Did you mean \(H\)\.T @ \(D⁻¹\)\?"):
        S.H @ S.D.inv


def test_only_operators_between_the_same_spaces_add():
    with pytest.raises(SpaceError, match="only operators between the same spaces can be added"):
        S.phi + S.M
    with pytest.raises(SpaceError, match=r"I \+ X needs X to map a space to itself, but M maps Motions to Forces"):
        S.I + S.M


def test_task_spaces_of_different_frames_do_not_mix():
    left, right = Symbols(("hand",)), Symbols(("foot",))
    assert left.B is not right.B
    assert str(task_forces(("hand", "foot"))) == "TaskForces[hand, foot]"
    with pytest.raises(SpaceError, match=r"J gives TaskMotions\[foot\], but U takes TaskMotions\[hand\]"):
        left.J.T @ left.U_task @ right.J


def test_factors_of_a_product_are_never_products_sums_of_one_term_or_identities():
    node = product(S.H, product(S.phi, identity(FORCES)), summation([(2, S.M)]), S.phi.T)
    assert isinstance(node, Sum) and node.terms[0][0] == 2
    factors = node.terms[0][1].factors
    assert not any(isinstance(x, Product | Identity | Sum) for x in factors)


def test_a_matrix_product_is_inverted_as_a_whole_until_a_law_splits_it():
    assert isinstance((S.phi @ S.psi).inv, Inverse)
    assert adjoint((S.phi @ S.psi).inv) is (S.psi.T @ S.phi.T).inv


def test_no_times_the_identity_is_the_zero_of_the_space_it_meets():
    assert (0 * identity()) @ S.phi is zero(FORCES, FORCES)
    assert S.phi + 0 * identity() is S.phi
