"""What rounding does to the results of a trace: a bound to first order, over some states.

A step that makes z, and is rounded, makes z(1 + δ) with |δ| ≤ u. To first order a result y changes by Σ (∂y/∂z) z δ,
the sum over all steps, so that at most u Σ |∂y/∂z · z| is lost: the adjoints of the trace, one sweep backwards for all
results. That numbers cancel is seen, that errors do is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace

UNIT = 2.0**-24  # of floats of 32 bits
SINE = 4.0  # u of a sine: within two units in the last place (`code/sincos.py`)
WORK = 1e9  # numbers on the way back through a trace; longer ones are bounded at fewer states
MOST_STATES, LEAST_STATES = 64, 4
ABREAST = 2048  # numbers of an adjoint: states times results


def states_worth(trace: Trace) -> int:
    """Number of states at which a trace is bounded in some seconds."""
    return int(np.clip(WORK // (len(trace.code) * len(trace.outputs) + 1), LEAST_STATES, MOST_STATES))


def rounding_bound(trace: Trace, states: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> float:
    """Largest bound on what 32 bits change an entry of an array of results by, arguments and constants of the robot
    rounded as well, relative to that array's largest entry; `states` are rows of arguments, `shapes` those of the
    arrays. NaN where results are not numbers."""
    values = _values(trace, states.T)
    made = [
        values[int(x)] if not fixed else None for x, fixed in zip(trace.outputs, trace.output_is_constant, strict=True)
    ]
    bounds = _bounds(trace, values, len(states))
    results = np.stack([np.full(len(states), trace.outputs[i]) if x is None else x for i, x in enumerate(made)])
    worst = 0.0
    for first, last in pairwise(accumulate((prod(shape) for shape in shapes), initial=0)):
        lost, size = bounds[first:last].max(axis=0), np.abs(results[first:last]).max(axis=0)
        if not np.isfinite(lost).all():
            return float("nan")
        there = size > 0.0
        worst = max(worst, float((lost[there] / size[there]).max(initial=0.0)))
        worst = max(worst, float("inf") if lost[~there].any() else 0.0)
    return worst


def _values(trace: Trace, inputs: np.ndarray) -> list[np.ndarray]:
    """The value of every instruction at every state."""
    every = Trace(trace.code, tuple(range(len(trace.code))), (False,) * len(trace.code))
    with np.errstate(all="ignore"):
        return [np.broadcast_to(np.asarray(x, dtype=float), inputs.shape[1:]) for x in replay(every, list(inputs))]


def _bounds(trace: Trace, values: list[np.ndarray], states: int) -> np.ndarray:
    """The bound of each result at each state."""
    found = np.zeros((len(trace.outputs), states))
    places = [i for i, fixed in enumerate(trace.output_is_constant) if not fixed]
    for position in (i for i in range(len(trace.outputs)) if trace.output_is_constant[i]):
        found[position] = UNIT * abs(float(trace.outputs[position])) * _is_rounded(float(trace.outputs[position]))
    width = max(ABREAST // states, 1)
    with np.errstate(all="ignore"):
        for start in range(0, len(places), width):
            own = places[start : start + width]
            found[own] = _lost(trace, values, own, states)
    return found


def _lost(trace: Trace, values: list[np.ndarray], places: list[int], states: int) -> np.ndarray:
    """The bounds of some results: backwards from them, once through the trace."""
    adjoints: dict[int, np.ndarray] = {}
    for row, position in enumerate(places):
        own = adjoints.setdefault(int(trace.outputs[position]), np.zeros((len(places), states)))
        own[row] += 1.0
    total = np.zeros((len(places), states))

    def add(index: int, change: np.ndarray) -> None:
        adjoints[index] = adjoints[index] + change if index in adjoints else change

    for index in range(len(trace.code) - 1, -1, -1):
        adjoint = adjoints.pop(index, None)
        if adjoint is None:
            continue
        (op, left, right), value = trace.code[index], values[index]
        rounded = SINE if op in (SIN, COS) else _is_rounded(left) if op == CONST else op not in (NEG, SIGN)
        if rounded:
            total += float(rounded) * np.abs(adjoint * value)
        match op:
            case _ if op in (ADD, SUB):
                add(left, adjoint)
                add(right, adjoint if op == ADD else -adjoint)
            case _ if op == MUL:
                add(left, adjoint * values[right])
                add(right, adjoint * values[left])
            case _ if op == DIV:
                slope = adjoint / values[right]
                add(left, slope)
                add(right, -slope * value)
            case _ if op == NEG:
                add(left, -adjoint)
            case _ if op == SIN:
                add(left, adjoint * np.cos(values[left]))
            case _ if op == COS:
                add(left, -adjoint * np.sin(values[left]))
            case _ if op == SQRT:
                add(left, adjoint / (2.0 * value))
            case _:
                assert op in (INPUT, CONST, SIGN)  # what the sign of a number is does not change with its last digits
    return UNIT * total


def _is_rounded(number: float) -> bool:
    return float(np.float32(number)) != number
