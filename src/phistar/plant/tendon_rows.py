"""Tendons in the step's tables: their terms as numbers, and rows on their lengths (springs, dampers, stops, servos)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.errors import ModelError
from phistar.model import Free, Model
from phistar.model.parts import Frame
from phistar.plant.single_rows import DEAD
from phistar.plant.tendon_moves import (
    JOINT_TERM,
    ROW_SLACK,
    STRETCH_TERM,
    TENDON_WHOLES,
    TERM_FLOATS,
    TERM_WHOLES,
    THRUST_TERM,
)
from phistar.plant.tendons import JointTerm, Stretch, Tendon, Term

MARGIN = 1e-3  # m or rad: where a stop begins to push


@dataclass(frozen=True)
class TendonRow:
    """A law on the length of tendon `tendon`; `values` by column."""

    law: int
    tendon: int
    sign: float = 1.0
    values: tuple[tuple[int, float], ...] = ()

    def fill(self, number: int, table: dict[str, np.ndarray], jacobians: tuple[int, int]) -> None:
        whole, row = table["row_wholes"][number], table["rows"][number]
        nodes = table["tendon_wholes"][self.tendon, :2]
        whole[[c.LAW, c.ROW_NODE_A, c.ROW_NODE_B, c.ROW_RATE, c.ROW_Q]] = self.law, *nodes, -1, self.tendon
        whole[[c.ROW_JAC_A, c.ROW_JAC_B]] = jacobians
        row[c.SIGN] = self.sign
        for column, value in self.values:
            row[column] = value


def tendon_servo(tendon: int, stiffness: float, damping: float, bounds: tuple[float, float]) -> TendonRow:
    """K(r − L) + B(r' − L̇) within bounds; without gains the force that equal bounds state."""
    values = ((c.FIRST, stiffness), (c.SECOND, damping), (c.LOW, bounds[0]), (c.HIGH, bounds[1]))
    return TendonRow(c.SERVO_LAW, tendon, 1.0, values)


def tendon_rows(tendons: Sequence[Tendon]) -> list[TendonRow]:
    """Rows of springs, stops and friction along tendons; their strengths follow from the inertia that is met."""
    rows: list[TendonRow] = []
    for number, tendon in enumerate(tendons):
        unbounded = ((c.LOW, -np.inf), (c.HIGH, np.inf))
        if tendon.stiffness:
            low, high = tendon.rest
            rest = ((c.FIRST, tendon.stiffness), (c.BOUND, low), (ROW_SLACK, high - low), *unbounded)
            rows.append(TendonRow(c.SERVO_LAW, number, 1.0, rest))
        if tendon.damping:
            rows.append(TendonRow(c.SERVO_LAW, number, 1.0, ((c.SECOND, tendon.damping), *unbounded)))
        for sign, end in zip((1.0, -1.0), tendon.limits, strict=True):
            if np.isfinite(end):
                stop = ((c.BOUND, end), (c.FIRST, MARGIN), (c.THIRD, DEAD))
                rows.append(TendonRow(c.LIMIT_LAW, number, sign, stop))
        if tendon.friction:
            rows.append(TendonRow(c.DRY_LAW, number, 1.0, ((c.LOW, -tendon.friction), (c.HIGH, tendon.friction))))
        if tendon.held is not None:
            rows.append(TendonRow(c.EQUAL_LAW, number, 1.0, ((c.BOUND, tendon.held),)))
    return rows


def tendon_bodies(model: Model, tendons: Sequence[Tendon]) -> set[int]:
    """Bodies that tendons act on."""
    found = {body for tendon in tendons for term in tendon.terms for body in _bodies(model, term)}
    return found - {-1}


def tendon_frames(model: Model, tendons: Sequence[Tendon]) -> list[Frame]:
    """Frames that tendons run to or act at, but the world's."""
    names = [name for tendon in tendons for term in tendon.terms for name in _frame_names(term)]
    return [model.frame(name) for name in names if name != "world"]


def _frame_names(term: Term) -> tuple[str, ...]:
    if isinstance(term, JointTerm):
        return ()
    return (term.start, term.end) if isinstance(term, Stretch) else (term.frame,)


def _bodies(model: Model, term: Term) -> tuple[int, ...]:
    """Numbers of the bodies of a term, −1 for the world."""
    if isinstance(term, JointTerm):
        return (model.joint_indices[term.joint],)
    return tuple(model.frame(name).body if name != "world" else -1 for name in _frame_names(term))


def _places(model: Model, term: Term, numbers: Mapping[tuple[int, int], int]) -> list[int]:
    """The step's numbers of what a term acts on, −1 for the world."""
    if isinstance(term, JointTerm):
        return [numbers[model.joint_indices[term.joint], -1]]
    frames = [model.frame(name) if name != "world" else None for name in _frame_names(term)]
    return [-1 if frame is None else numbers[frame.body, frame.node] for frame in frames]


def row_room(rows: Sequence[Any], tendons: int, widest: int) -> int:
    """Entries of Jacobians of tendons and of their rows."""
    own = sum(isinstance(row, TendonRow) for row in rows)
    return 2 * widest * (tendons + own)


def fill_tendons(
    model: Model,
    tendons: Sequence[Tendon],
    rows: Sequence[Any],
    table: dict[str, np.ndarray],
    numbers: Mapping[tuple[int, int], int],
) -> None:
    """The tables of tendons and their rows, for the step's numbers of places; Jacobians stand behind those of
    closures."""
    own = [number for number, row in enumerate(rows) if isinstance(row, TendonRow)]
    widest = int(table["counts"][c.WIDEST])
    first = len(table["row_jacobian"]) - row_room(rows, len(tendons), widest)
    terms = [(number, term) for number, tendon in enumerate(tendons) for term in tendon.terms]
    table["tendon_counts"] = np.array([len(terms), len(tendons), len(own)], dtype=np.int64)
    table["tendon_length"], table["tendon_unit"] = np.zeros(max(len(tendons), 1)), np.zeros(6)
    table["tendon_wrench"] = np.zeros((max(2 * len(tendons), 1), 6))
    table["tendon_ends"] = np.zeros(6)
    table["tendon_wholes"] = np.full((max(len(tendons), 1), TENDON_WHOLES), -1, dtype=np.int64)
    table["tendon_terms"] = np.zeros((max(len(terms), 1), TERM_FLOATS))
    table["term_wholes"] = np.full((max(len(terms), 1), TERM_WHOLES), -1, dtype=np.int64)
    table["tendon_rows"] = np.array([*own, 0], dtype=np.int64)
    for number, tendon in enumerate(tendons):
        nodes = _nodes(model, tendon, table)
        at = first + 2 * widest * number
        table["tendon_wholes"][number] = [*nodes, at, at + widest]
    for number, (tendon, term) in enumerate(terms):
        _fill_term(model, term, (tendon, number), table, _places(model, term, numbers))
    for place, number in enumerate(own):
        at = first + 2 * widest * (len(tendons) + place)
        rows[number].fill(number, table, (at, at + widest))


def _nodes(model: Model, tendon: Tendon, table: dict[str, np.ndarray]) -> list[int]:
    """The trees that a tendon acts on, two at most; −1 in place of a second."""
    bodies = sorted(tendon_bodies(model, [tendon]))
    nodes = sorted({int(table["tree_of"][table["body_number"][body]]) for body in bodies})
    if len(nodes) > 2:
        raise ModelError(
            f"The tendon '{tendon.name}' ties {len(nodes)} robots together; two at most can be. Give each pair its own."
        )
    at_world = any(-1 in _bodies(model, term) for term in tendon.terms)
    if len(nodes) == 2 and at_world and any(isinstance(joint.kind, Free) for joint in model.joints):
        raise ModelError(
            f"The tendon '{tendon.name}' ties two robots to each other and to the world, one of which floats; give "
            "each pair a tendon of its own."
        )
    return [*nodes, -1, -1][:2]


def _fill_term(
    model: Model, term: Term, which: tuple[int, int], table: dict[str, np.ndarray], bodies: Sequence[int]
) -> None:
    """The row of a term, the second of `which`, of a tendon, the first."""
    tendon, number = which
    whole, row = table["term_wholes"][number], table["tendon_terms"][number]
    if isinstance(term, JointTerm):
        joint = model.joints[model.joint_indices[term.joint]]
        whole[:] = JOINT_TERM, tendon, joint.q_slice.start, table["first_rate"][bodies[0]]
        row[0] = term.factor
        return
    names = _frame_names(term)
    places = [np.zeros(3) if name == "world" else np.asarray(model.frame(name).placement.translation) for name in names]
    if isinstance(term, Stretch):
        whole[:] = STRETCH_TERM, tendon, *bodies
        row[:7] = term.share, *places[0], *places[1]
        return
    turn = np.eye(3) if term.frame == "world" else np.asarray(model.frame(term.frame).placement.rotation)
    moment, force = np.asarray(term.wrench, dtype=float).reshape(2, 3) @ turn.T
    whole[:] = THRUST_TERM, tendon, bodies[0], -1
    row[:] = 1.0, *places[0], *moment, *force


def tendon_jacobian(table: dict[str, np.ndarray], tendon: int, nv: int) -> np.ndarray:
    """∂L/∂q (nv,) of a tendon at the state of the tables, in the order of the model's rates."""
    made, whole = np.zeros(nv), table["tendon_wholes"][tendon]
    for node, at in zip(whole[:2], whole[2:], strict=True):
        if node >= 0:
            start, size = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN]])
            made[table["rate_of"][start : start + size]] += table["row_jacobian"][at : at + size]
    return made
