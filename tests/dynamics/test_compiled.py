"""`ps.compile` on statements of any kind: what it gives is what the dense operators give."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import phistar as ps
from tests.statements import magnitude, statements
from tests.trees import mechanism, relative

SMALL = mechanism(1)  # a tree with helical and spherical joints, armature, frames inside and at tips
PLAIN = mechanism(81, bodies=3, frames=1, serial=True, floating=False, armature=False)
LONG = mechanism(82, bodies=41, frames=1, kind="helical", serial=True, floating=False)  # too long to be written out
CHAIN = ps.chain(45)


def value(case, expression, matrix):
    """Of the compiled statement, its operand (ones) applied."""
    function = ps.compile(expression, case.model, matrix=matrix)
    sizes = dict(zip(function.inputs, function.kernel.rows, strict=True))
    given = {name: case.vectors.get(name, np.ones(rows)) for name, rows in sizes.items() if name != "q"}
    return function(case.q, *given.values())


def compared(case, node, matrix):
    expression = case.algebra.expression(node)
    dense = expression.dense(case.q, **case.vectors)
    expected = dense if matrix or dense.ndim == 1 else dense.sum(axis=-1)
    found = value(case, expression, matrix)
    scale = max(magnitude(case.dense, node), 1e-6)
    assert np.shape(found) == expected.shape or expected.size == np.size(found) == 1
    assert np.abs(np.ravel(found) - np.ravel(expected)).max(initial=0.0) <= 1e-9 * scale


QUICK = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.sampled(2)
@QUICK
@given(node=statements(SMALL.symbols, longest=4))
@pytest.mark.parametrize("matrix", [False, True])
def test_any_statement_has_its_dense_value(node, matrix):
    compared(SMALL, node, matrix)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", ["written out", "rolled"])
def test_accelerations_at_link_origins_are_those_of_the_links_own_frames(case):
    """Kernels about motion may move link origins; a, a(0) and b tell where they are."""
    case = SMALL if case == "written out" else LONG
    s = case.symbols
    for node in (s.a0, s.Jdot_v - s.a0, s.B.T @ s.phi.T @ s.a, s.H @ s.phi @ s.b):
        compared(case, node, False)


@pytest.mark.parametrize("matrix", [False, True])
def test_what_is_zero_takes_its_operand_and_has_its_shape(matrix):
    s, model = PLAIN.symbols, PLAIN.model
    for node in (s.psi @ s.G - s.G, s.mass - s.mass, s.J - s.J):  # by a law, and by itself
        expression = PLAIN.algebra.expression(node)
        function, dense = ps.compile(expression, model, matrix=matrix), expression.dense(PLAIN.q)
        assert function.inputs == (("q",) if matrix else ("q", "x"))
        q, x = np.stack([PLAIN.q] * 2), np.ones((3, 1, model.nv))
        made = function(q) if matrix else function(q, x)
        assert made.shape == ((2, *dense.shape) if matrix else (3, 2, len(dense))) and not made.any()
        assert expression.apply(q, x).shape == (3, 2, len(dense))


def test_a_statement_that_is_zero_on_the_links_of_a_long_robot():
    """Rotors of links that hang on the world feel no Coriolis forces: a step of the kernel has nothing to do."""
    case = mechanism(1001, bodies=43)
    assert not np.any(value(case, case.algebra.E @ case.algebra.b_r_ref, False))
    nothing = ps.compile(0 * ps.algebra(CHAIN).mass, CHAIN, matrix=True)
    np.testing.assert_array_equal(nothing(np.ones((2, CHAIN.nv))), np.zeros((2, CHAIN.nv, CHAIN.nv)))


@pytest.mark.parametrize("name", ["mass_matrix", "mass_matrix_inverse"])
def test_operators_of_a_long_robot_are_compiled_as_matrices(name):
    bound = ps.algebra(CHAIN)
    function = ps.compile(bound.mass if name == "mass_matrix" else bound.mass.inv, CHAIN, matrix=True)
    q = np.random.default_rng(0).normal(size=(2, 3, 45))
    expected = getattr(ps, name)(CHAIN, q)
    assert function.inputs == ("q",) and function.operations > 0
    assert relative(function(q), expected) < 1e-12 and relative(function(q[0, 0]), expected[0, 0]) < 1e-12
    room = np.empty((2, 3, 45, 45))
    assert function(q, out=room) is room and relative(room, expected) < 1e-12
    for wrong in (q[..., 1:], 0.0, "q"):
        with pytest.raises(ps.ShapeError):
            function(wrong)
    with pytest.raises(ps.ShapeError):
        function(q, out=np.empty(3))


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_results_with_any_number_of_axes_are_written_where_asked(axes):
    """In memory of any order, and nothing beside it."""
    model, q = ps.load("planar3"), np.random.default_rng(0).normal(size=(5, 3))

    def powers(q):
        result = q
        for _ in range(axes - 1):
            result = np.multiply.outer(result, q)
        return result

    function, expected = ps.compile(powers, model), np.stack([powers(x) for x in q])
    assert relative(function(q), expected) < 1e-14
    turned, wide = np.full((3,) * axes + (5,), np.nan).T, np.full((5, *(3,) * axes, 2), np.nan)
    for room in (turned, wide[..., 1]):
        assert function(q, out=room) is room and relative(room, expected) < 1e-14
    assert np.isnan(wide[..., 0]).all()
