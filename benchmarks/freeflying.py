"""The two-way mass matrix against the floating-base one and its Schur complement: operations counted, times measured.

    python benchmarks/freeflying.py [links …]

Chains of n revolute joints with general placements on a free base. Counted: instructions of one state as they would be
compiled; the Schur complement's are those of an LDL* of six rows, n solves and one triangle of the product. Measured:
seconds per state of a batch, in one run, with the arrays' Schur complement by NumPy; beyond 40 links kernels are rolled
over the links, and matrices are made column by column.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import phistar as ps
from phistar.backends.kernel import Statements, trace_statements
from phistar.expression import setting_of, symbols_of
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols

SIZES = (3, 6, 10, 20, 30, 60, 100)


def floating_chain(n: int) -> ps.Model:
    builder = ps.ModelBuilder(f"floating_chain{n}", gravity=(0, 0, 0))
    builder.body("link0", joint=ps.Free(), inertia=ps.Inertia(10.0, (0.1, 0.02, 0.03), np.diag([1.0, 1.2, 1.3])))
    place = ps.Pose(xyz=(0.5, 0.1, 0.2), rpy=(0.3, 0.4, 0.1))
    link = ps.Inertia(1.0, (0.2, 0.03, 0.01), np.diag([0.1, 0.12, 0.13]))
    for k in range(n):
        builder.body(f"link{k + 1}", parent=f"link{k}", joint=ps.Revolute(), placement=place, inertia=link)
    return builder.build()


def instructions(model: ps.Model, statement: Callable[[Symbols], Node]) -> int:
    symbols = symbols_of(model, ())
    nodes = (("y", statement(symbols)),)
    return trace_statements(Statements(nodes, symbols, setting_of(model, ()), True, model, {}))[0].operations


def schur_operations(n: int) -> int:
    """LDL* of 6 rows (35 multiplications and 35 additions, 15 and 6 for scales), n solves, n(n + 1)/2 dot products."""
    return 91 + n * 66 + n * (n + 1) // 2 * 12


def schur_complement(mass: np.ndarray) -> np.ndarray:
    across = mass[..., :6, 6:]
    return mass[..., 6:, 6:] - np.swapaxes(across, -1, -2) @ np.linalg.solve(mass[..., :6, :6], across)


def seconds(function: Callable[[], object], states: int) -> float:
    """Per state, the best of three."""
    function()
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best / states


def row(n: int) -> str:
    model = floating_chain(n)
    two_way = instructions(model, lambda s: s.M_i)
    floating = instructions(model, lambda s: s.mass) + schur_operations(n)
    states = 2048 if n <= 10 else 256 if n <= 30 else 16
    q = model.random(0, (states,))
    ours = seconds(lambda: ps.freeflying.mass_matrix(model, q), states)
    theirs = seconds(lambda: schur_complement(ps.mass_matrix(model, q)), states)
    apart = np.abs(ps.freeflying.mass_matrix(model, q) - schur_complement(ps.mass_matrix(model, q))).max()
    counted = f"{two_way:9d} {floating:9d} {floating / two_way:6.2f}"
    return f"{n:4d} {counted} {1e6 * ours:10.2f} {1e6 * theirs:10.2f} {theirs / ours:6.2f} {apart:9.1e}"


def main(sizes: tuple[int, ...]) -> None:
    print("   n   two-way  floating  ratio   two-way µs  floating µs ratio  difference")
    for n in sizes:
        print(row(n), flush=True)


if __name__ == "__main__":
    main(tuple(int(x) for x in sys.argv[1:]) or SIZES)
