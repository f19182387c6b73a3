"""ℳ⁻¹X as loops of a kernel: on branching patterns, at every width, X sparse or full, inside larger tables."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.elimination import factor, invert_factors, supports
from phistar.backends.code.elimination_plan import WHOLE, Carrying
from phistar.backends.code.packed import module_text
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.machine.jit import Signature, compile_object, gufunc, host, load_object
from phistar.backends.traces.trace import Scalar, Tape, finish

PARENTS = (-1, 0, 1, 1, 3, 0, 5, 5, 7, -1, 9)
SIZE = len(PARENTS)


def related(i, j):
    """Whether one of two joints carries the other."""
    low, high = sorted((i, j))
    while high > low:
        high = PARENTS[high]
    return high == low


def masses(count):
    """Positive matrices that are zero between branches."""
    rng = np.random.default_rng(0)
    mask = np.array([[related(i, j) for j in range(SIZE)] for i in range(SIZE)])
    found = np.where(mask, rng.normal(size=(count, SIZE, SIZE)), 0.0)
    return found + np.swapaxes(found, -1, -2) + 12.0 * np.eye(SIZE)


def traced_mass(entries):
    table = np.full((SIZE, SIZE), 0.0, dtype=object)
    for i in range(SIZE):
        for j in range(i + 1):
            if related(i, j):
                table[i, j] = table[j, i] = entries[i * SIZE + j]
    return table


def test_the_factors_of_branches_stay_apart():
    tape = Tape()
    factors, scales = factor(traced_mass(tape.inputs((SIZE * SIZE,))))
    assert set(factors) == {(i, k) for k in range(SIZE) for i in range(k) if related(i, k)}
    assert len(scales) == SIZE


def test_the_inverse_of_the_factors_is_an_inverse_on_the_same_pairs():
    for mass in masses(3):
        factors, _ = factor(mass)
        inverse = invert_factors(factors)
        assert list(inverse) == list(factors)
        tables = [np.eye(SIZE), np.eye(SIZE)]
        for table, entries in zip(tables, (factors, inverse), strict=True):
            for (i, k), value in entries.items():
                table[k, i] = value
        assert np.allclose(tables[0] @ tables[1], np.eye(SIZE), rtol=0, atol=1e-14)


def test_columns_of_different_branches_are_not_put_together():
    """Two legs of six joints on six base rates: what moves one has no rows of the other."""
    above = [*(range(k) for k in range(6)), *((*range(6), *range(s, k)) for s in (6, 12) for k in range(s, s + 6))]
    pairs = [(i, k) for k, carrying in enumerate(above) for i in carrying]
    given = [frozenset((*above[k], k, *(j for i, j in pairs if i == k))) for k in range(18)]
    groups = Carrying.of(18, pairs).groups(given, [WHOLE] * 18)
    assert [k for group in groups for k in range(group.first, group.first + group.width)] == list(range(18))
    assert all(set(group.rows).isdisjoint(range(12, 18)) for group in groups if 6 <= group.first < 12)


def test_the_support_of_a_column_is_what_is_not_zero_by_structure():
    tape = Tape()
    (x,) = tape.inputs((1,))
    assert supports(np.array([[0.0, x], [1.0, 0.0]], dtype=object)) == (frozenset({1}), frozenset({0}))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize(("columns", "symmetric"), [(1, True), (7, False), (13, True)])
def test_loops_give_what_a_solver_gives(lanes, columns, symmetric):
    rng, above = np.random.default_rng(1), 2
    pattern = rng.random((SIZE, columns)) < 0.3
    tape = Tape()
    mass = traced_mass(tape.inputs((SIZE * SIZE,)))
    x = tape.inputs((SIZE * columns,)).reshape(SIZE, columns)
    right = np.full((above + SIZE, columns), 0.0, dtype=object)
    right[above:] = np.where(pattern, x, 0.0)
    right[:above] = 5.0
    blocks = Block(0, above), Block(1, symmetric=symmetric)
    values, elimination = Unsolved(mass, (right, np.eye(SIZE)), blocks).record()
    trace = finish(tape, [value if isinstance(value, Scalar) else float(value) for value in values])
    shapes = ((above + SIZE, columns), (SIZE, SIZE))
    signature, target = Signature((SIZE * SIZE, SIZE * columns), shapes), host()
    code = compile_object(module_text(trace, signature, lanes, target.fma, elimination), target)
    function = gufunc(load_object(code), signature, "eliminated", "a test")
    matrices, numbers = masses(11), rng.normal(size=(11, SIZE, columns))
    solved, inverse = function(matrices.reshape(11, -1), numbers.reshape(11, -1))
    assert np.array_equal(solved[:, :above], np.full((11, above, columns), 5.0))
    assert np.allclose(
        solved[:, above:], np.linalg.solve(matrices, np.where(pattern, numbers, 0.0)), rtol=0, atol=1e-13
    )
    assert np.allclose(inverse, np.linalg.inv(matrices), rtol=0, atol=1e-13)
    assert not symmetric or np.array_equal(inverse, np.swapaxes(inverse, -1, -2))


@pytest.mark.parametrize("size", [1, 3, 4, 6, 21])
def test_a_chain_of_any_length_is_solved(size):
    """So many sources that they are written out, and so many that they are a loop; squares that fit and that do not."""
    rng, tape = np.random.default_rng(2), Tape()
    mass = tape.inputs((size * size,)).reshape(size, size)
    mass = np.where(np.tri(size, dtype=bool), mass, mass.T)
    x = tape.inputs((size * size,)).reshape(size, size)
    unsolved = Unsolved(mass, (x, np.eye(size)), (Block(0), Block(1, symmetric=True)))
    values, loops = unsolved.record()
    trace = finish(tape, [value if isinstance(value, Scalar) else float(value) for value in values])
    signature, target = Signature((size * size,) * 2, ((size, size),) * 2), host()
    code = compile_object(module_text(trace, signature, min(target.lanes, 4), target.fma, loops), target)
    function = gufunc(load_object(code), signature, "eliminated", "a test")
    root, right = rng.normal(size=(2, 7, size, size))
    matrices = root @ np.swapaxes(root, -1, -2) + size * np.eye(size)
    solved, inverse = function(matrices.reshape(7, -1), right.reshape(7, -1))
    np.testing.assert_allclose(solved, np.linalg.solve(matrices, right), rtol=0, atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrices), rtol=0, atol=1e-13)
    assert np.array_equal(inverse, np.swapaxes(inverse, -1, -2))


def test_rows_are_cut_to_tiles_along_the_limbs():
    """Two legs of six joints on six base rates: no tile has rows of both, which would have sources that most lack."""
    above = [*(range(k) for k in range(6)), *((*range(6), *range(s, k)) for s in (6, 12) for k in range(s, s + 6))]
    tiles = Carrying.of(18, [(i, k) for k, carrying in enumerate(above) for i in carrying]).tiles()
    assert [row for tile in tiles for row in tile.rows] == list(range(18))
    assert all(tile.carrying == tuple(frozenset(above[k]) for k in tile.rows) for tile in tiles)
    assert not any(11 in tile.rows and 12 in tile.rows for tile in tiles)


def test_a_factor_that_is_zero_by_structure_does_not_make_its_inverse_zero():
    """L(2,0) = 0, yet N(2,0) = L(2,1)L(1,0)."""
    inverse = invert_factors({(1, 2): 3.0, (0, 1): 2.0})
    assert inverse == {(1, 2): -3.0, (0, 1): -2.0, (0, 2): 6.0}


@pytest.mark.slow
def test_reaction_wheels_answer_to_their_motors_as_the_mass_matrix_says():
    """A wheel's axis is along the base's own: there ℳ is zero by structure, and ℳ⁻¹ is not."""
    b, tensor = ps.ModelBuilder("wheels"), np.diag([0.3, 0.4, 0.5])
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(5.0, (0.1, 0.2, -0.1), tensor))
    for k, axis in enumerate(np.eye(3)):
        b.body(f"wheel{k}", "base", ps.Revolute(axis=axis), ps.Pose(xyz=0.2 * axis), ps.Inertia(1, (0.1, 0, 0), tensor))
        b.body(f"arm{k}", f"wheel{k}", ps.Revolute(axis=axis), ps.Pose(xyz=(0.1, 0.3, 0)), ps.Inertia(1, axis, tensor))
        b.body(f"tip{k}", f"arm{k}", ps.Universal(), ps.Pose(xyz=(0.1, 0.3, 0)), ps.Inertia(1, axis, tensor))
    model, rng = b.build(), np.random.default_rng(0)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    made = ps.forward_dynamics_derivatives(model, q, v, tau)
    by = ps.inverse_dynamics_derivatives(model, q, v, ps.forward_dynamics(model, q, v, tau))
    inverse = np.linalg.inv(ps.mass_matrix(model, q))
    assert np.abs(made.dtau - inverse).max() < 1e-11
    assert np.abs(made.dv + inverse @ by.dv).max() < 1e-10 and np.abs(made.dq + inverse @ by.dq).max() < 1e-10
