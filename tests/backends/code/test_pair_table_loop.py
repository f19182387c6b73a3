"""Products over pairs of joints: the loop makes what is written out, wherever the entries stand."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.packed import module_text
from phistar.backends.code.pair_table_loop import Made, Pairs
from phistar.backends.code.unsolved import Unsolved
from phistar.backends.links.common_frame import common_frame, single_axes
from phistar.backends.machine.jit import Signature, compile_object, gufunc, host, load_object
from phistar.backends.programs.derivative_program import evaluate, symbols_under_forces, tables_program
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Scalar, Tape, finish
from phistar.operators.symbols import Symbols
from tests.trees import mechanism, relative

PRODUCTS = (((0, 2),), ((3, 0), (1, 1)), ((0, 3),), ((2, 0), (0, 1)))
WIDE = 24  # numbers of a joint's rate on either side

MOVED = symbols_under_forces(Symbols())
INVERSE = tables_program(tuple(ps.inverse_dynamics_derivatives.nodes(Symbols()).items()), Symbols())
FORWARD = tables_program(tuple(ps.forward_dynamics_derivatives.nodes(MOVED).items()), MOVED)


def inverse_dynamics_derivatives(program, frame, v, a):
    return evaluate(program, frame, {"θ̇": v, "θ̈": a})


def forward_dynamics_derivatives(program, frame, v, tau):
    return evaluate(program, frame, {"θ̇": v, "T": tau})


SIZE = 5
CARRIED = ((0, 1), (0, 2), (1, 2), (0, 4))  # joint 3 is on the world alone


def traced(sign):
    """Tables of traced numbers with products left open, and the tape."""
    tape = Tape()
    left, right, own = (tape.inputs((SIZE * columns,)).reshape(SIZE, columns) for columns in (WIDE, WIDE, SIZE))
    pairs = Pairs(left, right, CARRIED, sign, PRODUCTS)
    diagonal = np.where(np.eye(SIZE, dtype=bool), own, 0.0)
    tables = pairs.table(diagonal, 0, 1), pairs.table(diagonal, 2, 3)
    return tape, Unsolved(np.eye(SIZE), tables, (), pairs)


def expected(left, right, own, sign):
    """The same by matrix products."""
    parts = [(left[..., 6 * a : 6 * a + 6], right[..., 6 * b : 6 * b + 6]) for p in PRODUCTS for a, b in p]
    dots = [np.einsum("...ki,...ji->...kj", x, y) for x, y in parts]
    outer_q, inner_q, outer_v, inner_v = dots[0], dots[1] + dots[2], dots[3], dots[4] + dots[5]
    mask = np.zeros((SIZE, SIZE))
    mask[tuple(np.array(CARRIED).T)] = 1.0
    diagonal = own * np.eye(SIZE)
    return [
        diagonal + sign * (mask * outer + (mask * inner).swapaxes(-1, -2))
        for outer, inner in ((outer_q, inner_q), (outer_v, inner_v))
    ]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_the_loop_gives_what_matrix_products_give(lanes, sign):
    tape, unsolved = traced(sign)
    values, loops = unsolved.record()
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
    signature, target = Signature((SIZE * WIDE, SIZE * WIDE, SIZE * SIZE), ((SIZE, SIZE),) * 2), host()
    code = compile_object(module_text(trace, signature, lanes, target.fma, loops), target)
    function = gufunc(load_object(code), signature, "pairs", "a test")
    rng = np.random.default_rng(0)
    left, right, own = (rng.normal(size=(11, SIZE, columns)) for columns in (WIDE, WIDE, SIZE))
    found = function(*(x.reshape(11, -1) for x in (left, right, own)))
    for table, wanted in zip(found, expected(left, right, own, sign), strict=True):
        np.testing.assert_allclose(table, wanted, rtol=0, atol=1e-13)


def test_written_out_they_are_the_same_numbers():
    tape, unsolved = traced(-1.0)
    results = unsolved.solve()
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for table in results for x in table.reshape(-1)])
    rng = np.random.default_rng(1)
    left, right, own = (rng.normal(size=(SIZE, columns)) for columns in (WIDE, WIDE, SIZE))
    found = np.array(replay(trace, [*left.ravel(), *right.ravel(), *own.ravel()]), dtype=float).reshape(2, SIZE, SIZE)
    for table, wanted in zip(found, expected(left, right, own, -1.0), strict=True):
        np.testing.assert_allclose(table, wanted, rtol=0, atol=1e-13)


def test_numbers_that_are_zero_by_structure_are_not_multiplied():
    """Of one motion half is zero for every rate: the loop does without it and gives the same."""
    tape, open_tables = traced(-1.0)
    full = open_tables.pairs
    right = full.right.copy()
    right[:, 9:12] = 0.0
    pairs = Pairs(full.left, right, CARRIED, -1.0, PRODUCTS)
    values, loops = Unsolved(np.eye(SIZE), open_tables.tables, (), pairs).record()
    assert loops.operations == open_tables.record()[1].operations - 12 * len(CARRIED)
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
    signature, target = Signature((SIZE * WIDE, SIZE * WIDE, SIZE * SIZE), ((SIZE, SIZE),) * 2), host()
    code = compile_object(module_text(trace, signature, 2, target.fma, loops), target)
    function = gufunc(load_object(code), signature, "pairs", "a test")
    rng = np.random.default_rng(3)
    left, numbers, own = (rng.normal(size=(5, SIZE, columns)) for columns in (WIDE, WIDE, SIZE))
    found = function(*(x.reshape(5, -1) for x in (left, numbers, own)))
    numbers[..., 9:12] = 0.0
    for table, wanted in zip(found, expected(left, numbers, own, -1.0), strict=True):
        np.testing.assert_allclose(table, wanted, rtol=0, atol=1e-13)


def test_entries_move_with_their_table():
    """A table may be part of a larger one: the loop writes where its entries are found."""
    _, unsolved = traced(1.0)
    wide = np.concatenate([np.zeros((SIZE, 3)), *unsolved.tables], axis=-1)
    _, loops = unsolved.rearrange((wide,), ()).record()
    made = [place for place, x in enumerate(wide.reshape(-1)) if isinstance(x, Made)]
    assert loops.made == frozenset(made) and loops.pairs is not None
    assert sorted(place for row in loops.pairs.rows for place in row[2:]) == made


def test_only_joints_that_carry_one_another_are_paired():
    model = mechanism(7, serial=False, bodies=6, floating=True, kind="revolute").model
    tape = Tape()
    q, v, a = (tape.inputs((size,)) for size in (model.nq, model.nv, model.nv))
    pairs = inverse_dynamics_derivatives(INVERSE, common_frame(single_axes(model), q), v, a).pairs
    assert pairs is not None
    mass = ps.mass_matrix(model, model.random(np.random.default_rng(0)))
    joint_of = np.repeat(np.arange(len(model.joints)), [joint.nv for joint in model.joints])
    coupled = {(i, j) for i, j in np.argwhere(mass != 0.0) if joint_of[i] < joint_of[j]}
    assert set(pairs.carried) == coupled


def test_a_free_base_falls_as_before_however_it_is_turned():
    """Columns that are known without ℳ are those that ℳ⁻¹ gives; a base with armature has none."""
    model = mechanism(3, serial=False, bodies=4, floating=True, kind="revolute").model
    free = model.replace(joints={model.joints[0].name: ps.Free()})
    rng = np.random.default_rng(1)
    for each, count in ((model, 0), (free, 6)):
        tape = Tape()
        q, v, a = (tape.inputs((size,)) for size in (each.nq, each.nv, each.nv))
        unsolved = forward_dynamics_derivatives(FORWARD, common_frame(single_axes(each), q), v, a)
        assert len(unsolved.known) == count
        state = each.random(rng), rng.normal(size=each.nv), rng.normal(size=each.nv)
        table = unsolved.solve()[0].reshape(-1)
        trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in table])
        found = np.array(replay(trace, np.concatenate(state)), dtype=float).reshape(each.nv, each.nv)
        on_arrays = forward_dynamics_derivatives(
            FORWARD, common_frame(single_axes(each), state[0]), *state[1:]
        ).solve()[0]
        np.testing.assert_allclose(found, on_arrays, rtol=0, atol=1e-11 * np.abs(on_arrays).max())


@pytest.mark.slow
def test_a_humanoid_s_size_of_tree_has_the_derivatives_of_the_arrays():
    model = mechanism(8, serial=False, bodies=9, floating=True, kind="revolute").model
    rng = np.random.default_rng(0)
    q, v, tau = model.random(rng, (5,)), rng.normal(size=(5, model.nv)), rng.normal(size=(5, model.nv))
    frame = common_frame(single_axes(model), q)
    forward = forward_dynamics_derivatives(FORWARD, frame, v, tau)
    inverse = inverse_dynamics_derivatives(INVERSE, frame, v, tau)
    for name, on_arrays in (("forward", forward), ("inverse", inverse)):
        found = getattr(ps, f"{name}_dynamics_derivatives")(model, q, v, tau)
        assert max(relative(x, y) for x, y in zip(found, on_arrays.solve(), strict=True)) <= 1e-11
