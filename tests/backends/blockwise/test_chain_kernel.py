"""Kernels over chains take what statements lower to, and refuse the rest with a sentence."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.blockwise.chain_blocks import Widths, record
from phistar.backends.blockwise.chain_kernel import ChainKernel
from phistar.backends.programs.derivations import FACTORED
from phistar.backends.programs.program import program_of
from phistar.errors import StatementError
from phistar.steps.step_links import SystemLinks
from phistar.steps.sweep import RiccatiSweep, motion


def program(statement):
    return program_of((("y", statement.node),), statement.symbols, statement.setting, False, FACTORED)


def test_only_what_is_read_of_a_block_is_made():
    """Of the gain the rows that φ* carries, of P⁺ those and their columns, of P all."""
    found = {kept.name: kept.needed for kept in record(program(motion()), Widths(5, 2)).kept}
    assert found["P"] == (7, 7) and found["P⁺"] == (5, 5) and found["G"] == (5, 2) and found["λ"] == (7, 1)


def test_a_negative_statement_gives_the_opposite_motion():
    """The kernel is the statement's: nothing knows which one it is."""
    N, n, m, rng = 4, 3, 2, np.random.default_rng(0)
    made = []
    for statement in (motion(), -motion()):
        kernel = ChainKernel(program(statement), SystemLinks(n, m, False), ("test", statement.show()))
        arrays = {name: room.array(N + 1) for name, room in kernel.rooms.items()}
        arrays["whole"] = np.array([N, 0])
        rng = np.random.default_rng(0)
        root = rng.normal(size=(N + 1, n + m, n + m))
        arrays["A"][:], arrays["B"][:], arrays["W"][:] = rng.normal(size=(N + 1, n, n)), 1.0, root @ root.mT
        (start,) = (name for name, _ in kernel.program.inputs)
        arrays[start][0, 0, : n + 1] = 1.0
        for number in range(len(kernel.program.sweeps)):
            kernel.bind(number, arrays)()
        made.append(arrays[kernel.result("y")][:, 0, : n + 1 + m].copy())
    assert np.abs(made[0]).max() > 0.1 and np.allclose(made[0], -made[1], rtol=1e-13)


def test_statements_that_are_not_swept_block_by_block_are_refused():
    A = ps.algebra(armature=True)
    with pytest.raises(StatementError, match="chain of wide links"):
        record(program(A.mass), Widths(5, 2))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [(1, 1), (3, 9), (20, 13), (41, 25)])
def test_sizes_of_all_tiles(size):
    (n, m), N, rng = size, 4, np.random.default_rng(3)
    sweep = RiccatiSweep(N, n, m)
    root = rng.normal(size=(N + 1, n + m, n + m))
    sweep.table("A")[:], sweep.table("B")[:] = rng.normal(size=(N, n, n)) / n, rng.normal(size=(N, n, m))
    sweep.table("W")[:], sweep.vector("w")[:] = root @ root.mT + np.eye(n + m), root[:, 0]
    sweep.vector("c")[:] = rng.normal(size=(N, n))
    assert sweep.backward() is None
    P, p = sweep.table("W")[-1][:n, :n], sweep.vector("w")[-1][:n]
    for k in range(N - 1, -1, -1):
        F = np.concatenate([sweep.table("A")[k], sweep.table("B")[k]], axis=1)
        both, slope = sweep.table("W")[k] + F.T @ P @ F, sweep.vector("w")[k] + F.T @ (p + P @ sweep.vector("c")[k])
        K, d = np.linalg.solve(both[n:, n:], both[n:, :n]), -np.linalg.solve(both[n:, n:], slope[n:])
        P, p = both[:n, :n] - both[:n, n:] @ K, slope[:n] + both[:n, n:] @ d
        for found, wanted in ((sweep.table("K")[k], K), (sweep.vector("d")[k], d), (sweep.table("P")[k], P)):
            assert np.abs(found - wanted).max() <= 1e-11 * max(1.0, np.abs(wanted).max())
        assert np.allclose(sweep.vector("p")[k], p, rtol=1e-10, atol=1e-10)
