"""Derivatives of traces, recorded as more instructions.

Every instruction carries the derivatives it knows of as a sparse mapping: of itself by each direction (`tangents`), or
of each output by itself (`adjoints`). Zeros are never computed and equal instructions are recorded once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace
from phistar.model import Model
from phistar.spatial import from_quaternion, multiply

Sparse = dict[int, Any]  # direction or output → a number, traced or not


def values_of(trace: Trace, inputs: Sequence[Any]) -> list[Any]:
    """The value of every instruction, for inputs that are numbers or scalars of another tape."""
    count = len(trace.code)
    return replay(replace(trace, outputs=tuple(range(count)), output_is_constant=(False,) * count), inputs)


def tangents(trace: Trace, values: Sequence[Any], seeds: Mapping[int, Sparse]) -> list[Sparse]:
    """Forward: ∂output/∂direction, one mapping per output; `seeds` are ∂input/∂direction by input number."""
    slopes: list[Sparse] = []
    for index, (op, left, right) in enumerate(trace.code):
        total: Sparse = dict(seeds.get(left, {})) if op == INPUT else {}
        if op < INPUT and (slopes[left] or (right is not None and slopes[right])):
            for argument, slope in _partials(values, index, op, left, right):
                for direction, value in slopes[argument].items():
                    _accumulate(total, direction, value * slope)
        slopes.append(total)
    places = zip(trace.outputs, trace.output_is_constant, strict=True)
    return [{} if constant else slopes[int(place)] for place, constant in places]


def adjoints(trace: Trace, values: Sequence[Any], weights: Sequence[Sparse]) -> dict[int, Sparse]:
    """Backward: Σ_i weights[i][j] ∂output_i/∂input as a mapping from j, by input number; weights: one per output."""
    pull: list[Sparse] = [{} for _ in trace.code]
    for place, constant, weight in zip(trace.outputs, trace.output_is_constant, weights, strict=True):
        if not constant:
            for key, value in weight.items():
                _accumulate(pull[int(place)], key, value)
    found: dict[int, Sparse] = {}
    for index in range(len(trace.code) - 1, -1, -1):
        op, left, right = trace.code[index]
        if op == INPUT:
            found[left] = pull[index]
        elif op != CONST and pull[index]:
            for argument, slope in _partials(values, index, op, left, right):
                for key, value in pull[index].items():
                    _accumulate(pull[argument], key, value * slope)
    return found


def matrix(rows: Sequence[Sparse], columns: int) -> np.ndarray:
    """Sparse rows as one array of numbers and traced scalars, (rows, columns)."""
    result = np.full((len(rows), columns), 0.0, dtype=object)
    for index, row in enumerate(rows):
        for column, value in row.items():
            result[index, column] = value
    return result


def tangent_map(model: Model, q: np.ndarray) -> list[Sparse]:
    """∂q_i/∂δ of q ⊕ δ (`model.integrate`) at δ = 0: a mapping from the entries of δ for each of the nq entries."""
    if model.embedding is not None:
        return _through(tangent_map(model.tree, q), model.embedding.rate_map(q))
    rows: list[Sparse] = [{} for _ in range(model.nq)]
    for body in model.bodies:
        for i in range(body.modes):
            rows[body.mode_q_slice.start + i][body.mode_slice.start + i] = 1.0
    for joint in model.joints:
        start, first = joint.q_slice.start, joint.v_slice.start
        if joint.kind.flat:
            for i in range(joint.nv):
                rows[start + i][first + i] = 1.0
            continue
        own = q[joint.q_slice]
        for i, half in enumerate(0.5 * np.eye(3)):
            for row, value in enumerate(multiply(own[-4:], np.append(half, 0.0)), joint.q_slice.stop - 4):
                _accumulate(rows[row], first + i, value)
        for row, values in enumerate(from_quaternion(own[-4:]) if joint.nv == 6 else (), start):
            for i, value in enumerate(values):
                _accumulate(rows[row], first + 3 + i, value)
    return rows


def _through(rows: list[Sparse], across: np.ndarray) -> list[Sparse]:
    """Rows over the rates of a spanning tree, through X (rates of the tree, independent ones)."""
    result: list[Sparse] = []
    for row in rows:
        total: Sparse = {}
        for i, value in row.items():
            for j in range(across.shape[-1]):
                _accumulate(total, j, value * across[i, j])
        result.append(total)
    return result


def _accumulate(total: Sparse, key: int, value: Any) -> None:
    if not (isinstance(value, float | int) and value == 0.0):
        total[key] = total[key] + value if key in total else value


def _partials(values: Sequence[Any], index: int, op: int, left: int, right: int | None) -> list[tuple[int, Any]]:
    """The arguments of an instruction, each with the instruction's derivative by it."""
    x, result = values[left], values[index]
    if right is None:
        return [(left, _slope(op, x, result))]
    y = values[right]
    if op == DIV:
        inverse = 1.0 / y
        return [(left, inverse), (right, -(result * inverse))]
    by_left, by_right = {ADD: (1.0, 1.0), SUB: (1.0, -1.0), MUL: (y, x)}[op]
    return [(left, by_left), (right, by_right)]


def _slope(op: int, x: Any, result: Any) -> Any:
    if op == SIN:
        return np.cos(x)
    if op == COS:
        return -np.sin(x)
    return 0.5 / result if op == SQRT else {NEG: -1.0, SIGN: 0.0}[op]
