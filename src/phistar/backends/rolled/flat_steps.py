"""Steps between the sweeps of a long mechanism: at its task frames, one after the other, and on flat spaces.

A frame reads what its link has kept for it. Forces at frames are brought to their links before the sweep that takes
them in; motions are read off after the sweep that made them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links import values as link
from phistar.backends.links.formulas import FORMULAS
from phistar.backends.programs.body_axes import LIFT
from phistar.backends.rolled.plan import AT_FRAMES, BIAS, FRAME_POSES, Plan, is_taken_in, read_off, total
from phistar.backends.rolled.recorder import Recorder, Step
from phistar.backends.traces.solve import Block, BlockDomain, block_times
from phistar.spatial import cross
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate_sweep
from phistar.sweeps.ir import Statement, Sweep, Term, parts

POSE = ("R(0) 1", "R(0) 2")  # twelve numbers of each frame: its rotation by rows, then its origin
TAKEN_SQUARE = "BUB*"


def clearing_step(plan: Plan, sweep: Sweep) -> Step | None:
    """Zero forces at a frame's link."""
    names = _names_taken_in(sweep)
    entries = [("task", name, i) for name in names for i in range(6 * _columns(plan, name))]
    return Recorder({}).finish([(place, 0.0) for place in entries]) if names else None


def bringing_step(plan: Plan, sweep: Sweep) -> Step | None:
    """B_f x_f, or B_f B_f*, added to what the frame's link takes in."""
    names, record = _names_taken_in(sweep), Recorder({})
    stores: list[tuple[Any, Any]] = []
    for name in names:
        square = name == TAKEN_SQUARE
        given = np.eye(6) if square else record.array("row", name, (6, plan.columns(name)))
        moved = link.from_world_axes(_turn(record), record.array("point", "", (3,)), given)
        moved = np.matmul(moved, moved.T) if square else moved
        stores += [(("task", name, i), x) for i, x in enumerate(moved.reshape(-1))]
    return record.finish(stores) if names else None


def _names_taken_in(sweep: Sweep) -> list[str]:
    found: Any = (x for s in sweep.statements for x in parts(s.term) if is_taken_in(x))
    return list(dict.fromkeys(x.name for x in found))


def _columns(plan: Plan, name: str) -> int:
    return 6 if name == TAKEN_SQUARE else plan.columns(name)


def _turn(record: Recorder) -> np.ndarray:
    return record.array("kept", "X", (9,)).reshape(3, 3)


def at_frames(plan: Plan, sweep: Sweep) -> Step | None:
    """Step at each frame for the flat statements of a sweep: B_f* x, poses, the bias from link to frame."""
    asked = list(dict.fromkeys(x for s in sweep.statements for x in parts(s.term)))
    record, stores = Recorder({}), []
    for term in asked:
        if isinstance(term, ir.ToTask):
            value = _at_link(plan, record, term.name)
            moved = link.to_world_axes(_turn(record), record.array("point", "", (3,)), value)
            stores += [(("row", read_off(term.name), i), x) for i, x in enumerate(moved.reshape(-1))]
        elif isinstance(term, ir.Call) and term.function == FRAME_POSES:
            stores += [(("row", POSE[i // 6], i % 6), x) for i, x in enumerate(_frame_pose(record))]
        elif isinstance(term, ir.Call) and term.function == "bias_acceleration_at_frames":
            omega = record.array("kept", "V", (3,))
            linear = np.matmul(_turn(record), cross(omega, cross(omega, record.array("point", "", (3,)))))
            stores += [(("row", BIAS, i), x) for i, x in enumerate([0.0, 0.0, 0.0, *linear])]
    return record.finish(stores) if stores else None


def _frame_pose(record: Recorder) -> np.ndarray:
    """Pose of a frame: its rotation by rows, then its origin."""
    turn, origin, point = _turn(record), record.array("kept", "X", (3,), 9), record.array("point", "", (12,))
    rotation = np.matmul(turn, point[3:].reshape(3, 3))
    return np.concatenate([rotation.reshape(-1), origin + np.matmul(turn, point[:3])])


def _at_link(plan: Plan, record: Recorder, name: str) -> np.ndarray:
    """Field kept by the frame's link, or made from fields it kept."""
    made = plan.only_at_frames.get(name)
    if made is None:
        return record.array("kept", name, plan.shape(name))
    square, forces = made.left.name, made.right.name  # type: ignore[attr-defined]
    block = link.mirror_upper(record.array("kept", square, (6, 6)))
    return np.matmul(block, record.array("task", forces, (6, plan.columns(forces))))


class FlatTracer(BlockDomain):
    """Runs flat statements; flat fields are stacks (rows, columns) in memory."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.shapes: dict[str, tuple[int, int]] = {}
        for name, space in plan.program.inputs:
            if space in plan.flat_rows:
                self.shapes[name] = plan.flat_rows[space], plan.columns(name)
        for term in plan.everything:
            if isinstance(term, ir.ToTask):
                self.shapes[read_off(term.name)] = 6 * plan.frames, plan.columns(term.name)
            elif isinstance(term, ir.Call) and term.function == "bias_acceleration_at_frames":
                self.shapes[BIAS] = 6 * plan.frames, 1
            elif isinstance(term, ir.Call) and term.function == FRAME_POSES:
                self.shapes |= dict.fromkeys(POSE, (6 * plan.frames, 1))
        for term in plan.totals:
            one = isinstance(term, ir.ToScalar)
            self.shapes[total(term)] = (1, 1) if one else (6, plan.columns(term.name))

    def trace(self, sweep: Sweep) -> Step:
        self.record, self.made = Recorder({}), {}
        evaluate_sweep(sweep, self)
        stores = []
        for name, value in self.made.items():
            self.shapes[name] = value.shape
            stores += [(("flat", name, i), x) for i, x in enumerate(value.reshape(-1))]
        return self.record.finish(stores)

    def field(self, name: str) -> np.ndarray:
        if name in self.plan.program.columns:
            return np.eye(self.shapes[name][0])
        return self.made[name] if name in self.made else self.record.array("flat", name, self.shapes[name])

    def sites(self, sweep: Sweep) -> tuple[str]:
        return ("flat",)

    def put(self, statement: Statement, at: str, value: Block) -> None:
        self.made[statement.target] = value

    def get(self, name: str, at: str) -> np.ndarray:
        return self.field(name)

    def data(self, name: str, at: str) -> Block:
        raise NotImplementedError(name)

    def apply(self, function: str, arguments: list[Any], at: str) -> Block:
        return self.call(function, arguments)

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        if name == "U_task":
            return x
        operator = np.array(dict(self.plan.operators)[name])
        return block_times(operator.T if transposed else operator, x)

    def move(self, term: Term, at: str) -> Block:
        match term:
            case ir.ToTask(name=name):
                return self.field(read_off(name))
            case ir.ToBase() | ir.ToRoot() | ir.ToScalar():
                return self.field(total(term))
            case ir.Call(function=function):
                return self.call(function, [])
        raise NotImplementedError(term)

    def call(self, function: str, arguments: list[Any]) -> Block:
        if function in AT_FRAMES:
            return FORMULAS[function](None, -1, *arguments)
        if function == LIFT:  # E*a_g stands for gravity (KJR92 eq. 45)
            return np.concatenate([np.zeros((3, 1)), -arguments[0]])
        if function != FRAME_POSES:
            return self.field(BIAS)
        first, second = (self.field(name).reshape(-1, 6) for name in POSE)
        numbers = np.concatenate([first, second], axis=-1)
        upper = np.concatenate([numbers[:, :9].reshape(-1, 3, 3), numbers[:, 9:, None]], axis=-1)
        last = np.broadcast_to([[[0.0, 0.0, 0.0, 1.0]]], (len(numbers), 1, 4))
        return np.concatenate([upper, last], axis=-2).reshape(-1, 1)
