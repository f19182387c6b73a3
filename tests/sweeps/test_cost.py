"""Operations counted on the program: exact polynomials, linear where the papers promise it."""

import pytest

import phistar as ps
from phistar.identities.rewriter import simplify
from phistar.sweeps.cost import CostPolynomial, Count, cost_polynomial
from phistar.sweeps.lower import lower
from phistar.sweeps.patterns import count
from tests.identities.targets import CHAIN, TARGETS

S = CHAIN[0]


def program_of(node, matrix=False):
    return lower(simplify(node, *CHAIN, matrix).result, matrix)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("n", [4, 13, 40])
def test_the_polynomial_is_what_is_counted_at_any_n(name, n):
    program = program_of(TARGETS[name].statement(S))
    assert cost_polynomial(program)(n) == count(program, n)


@pytest.mark.parametrize("matrix", [lambda s: s.mass, lambda s: s.mass.inv, lambda s: s.I + s.H @ s.phi @ s.K])
def test_matrices_are_quadratic_and_the_polynomial_is_exact(matrix):
    program = program_of(matrix(S), matrix=True)
    polynomial = cost_polynomial(program)
    assert polynomial.degree == 2
    assert polynomial(17) == count(program, 17)


@pytest.mark.parametrize("name", TARGETS)
def test_what_acts_on_a_vector_is_linear(name):
    assert cost_polynomial(program_of(TARGETS[name].statement(S))).degree == 1


@pytest.mark.parametrize("name", ["inverse operational inertia", "closed-chain inertia", "JJ*"])
def test_task_space_matrices_are_linear_in_n(name):
    assert cost_polynomial(program_of(TARGETS[name].statement(S), matrix=True)).degree == 1


def test_a_dense_solve_is_cubic():
    unresolved = (S.mass + S.H @ S.phi @ S.phi @ S.M @ S.H.T).inv
    assert cost_polynomial(program_of(unresolved)).degree == 3


# Counts that can be made by hand, for revolute joints about z


def test_a_link_inertia_takes_24_multiplications_and_18_additions():
    """M(k)x: three full rows with a skew part, three of a skew part and the mass."""
    assert count(lower(S.M), 10) == Count(180, 240, 0)


def test_a_transport_takes_24_multiplications_and_18_additions_and_a_scan_six_more():
    """φ(k,k−1)x: two rotations and a lever; f(k) adds what is there."""
    assert count(lower(S.phi), 10) == Count(9 * 24, 9 * 24, 0)


def test_joint_axes_along_z_and_zeros_cost_nothing():
    assert count(lower(S.H), 10) == Count(0, 0, 0)
    assert count(lower(S.U @ S.T), 10).total == 0


def test_the_filter_divides_once_per_joint():
    for name in ("mass matrix inverse", "forward dynamics", "inverse operational inertia"):
        assert count(program_of(TARGETS[name].statement(S)), 12).divides == 12


def test_newton_and_euler_need_fewer_operations_than_the_filter():
    """ID below FD, and both below forming and solving, from some size on (R87 Fig. 4)."""
    forward = cost_polynomial(program_of(TARGETS["forward dynamics"].statement(S)))
    inverse = cost_polynomial(program_of(TARGETS["inverse dynamics"].statement(S)))
    mass = cost_polynomial(program_of(S.mass, matrix=True))
    assert all(inverse(n).total < forward(n).total for n in (3, 7, 100))
    assert mass(30).total > forward(30).total


# What a person reads


def test_counts_print_as_polynomials():
    polynomial = CostPolynomial((-24, 33), (0, 1), (0,), 3)
    assert str(polynomial) == "33n − 24 additions, n multiplications, 0 divisions"
    assert str(polynomial(4)) == "108 additions, 4 multiplications, 0 divisions"
    assert polynomial(4).total == 112


def test_expressions_and_public_functions_know_their_cost():
    expression = ps.algebra().mass.inv
    assert expression.cost(7) == cost_polynomial(program_of(S.mass.inv))(7)
    assert ps.forward_dynamics.statement.cost_polynomial().degree == 1
    assert ps.mass_matrix.statement.cost_polynomial(matrix=True).degree == 2
