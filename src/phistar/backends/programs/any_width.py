"""Runs a program over links of any width, on floats with leading axes or on traced scalars.

Nothing is said of what a link is: φ, H, M, a and b come from the mechanism as blocks, w(k) numbers high. Programs are
the same that rigid links run; terms that take φ⁻¹, which a link that bends does not have, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np

from phistar.backends.links.brackets import root
from phistar.backends.links.values import diagonal, mirrored
from phistar.backends.programs.blocks import Block, BlockDomain, block_times, block_total, block_transposed
from phistar.backends.traces.solve import invert, solve, solve_symmetric
from phistar.errors import StatementError
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term


class Mechanism(Protocol):
    """Links of any width at a configuration; blocks are (…, rows, columns)."""

    @property
    def parents(self) -> tuple[int, ...]: ...
    @property
    def rates(self) -> tuple[slice, ...]: ...
    def width(self, k: int) -> int: ...
    def crossing(self, k: int) -> np.ndarray: ...
    def subspace(self, k: int) -> np.ndarray: ...
    def armature(self, k: int) -> np.ndarray: ...
    def mass(self, k: int) -> np.ndarray: ...
    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray: ...
    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray: ...
    def pose(self, k: int, above: Any) -> Any: ...
    def link_of(self, frame: str) -> int: ...
    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]: ...
    def frame_motion(self, frame: str, pose: Any) -> np.ndarray: ...
    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray: ...


def run_any_width(
    program: Program,
    mechanism: Mechanism,
    frames: tuple[str, ...],
    inputs: Mapping[str, Any],
    operators: Mapping[str, Any] | None = None,
) -> dict[str, np.ndarray]:
    """The outputs of a program, each (…, rows, columns); inputs are stacked arrays (…, rows, columns)."""
    machine = _Machine(mechanism, frames, operators or {})
    for name, space in program.inputs:
        array = np.asarray(inputs[name])
        machine.fields[name] = machine.cut(array, space)
        if name in program.columns:
            machine.columns = array.shape[-1]
    evaluate(program, machine)
    return {name: machine.whole(name, space) for name, space in program.outputs}


def link_poses(mechanism: Mechanism) -> list[Any]:
    """Pose of each link."""
    found: list[Any] = []
    for k, parent in enumerate(mechanism.parents):
        found.append(mechanism.pose(k, found[parent] if parent >= 0 else None))
    return found


class _Machine(BlockDomain):
    """The fields of one run: a list with a block per link, or one flat array."""

    def __init__(self, mechanism: Mechanism, frames: tuple[str, ...], operators: Mapping[str, Any]) -> None:
        self.mechanism, self.frames, self.operators = mechanism, frames, operators
        self.fields: dict[str, Any] = {}
        self.columns = 1
        self.parents = mechanism.parents
        self.count = len(self.parents)
        self.children: list[list[int]] = [[] for _ in self.parents]
        for k, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(k)
        self.blocks: dict[tuple[str, int], Any] = {}

    # What goes in and out

    def sizes(self, space: str) -> list[int]:
        """Rows of each link's part of a space."""
        if space in ("joints", "inner"):
            found = [each.stop - each.start for each in self.mechanism.rates]
            return (
                found
                if space == "joints"
                else [n for n, parent in zip(found, self.parents, strict=True) if parent >= 0]
            )
        return [self.mechanism.width(k) for k in range(self.count)]

    def cut(self, array: np.ndarray, space: str) -> Any:
        """An input link by link, or as it is."""
        if space == "joints":
            return [array[..., each, :] for each in self.mechanism.rates]
        if space == "links":
            return np.split(array, np.cumsum(self.sizes(space))[:-1], axis=-2)
        if space == "inner":
            inner = iter(np.split(array, np.cumsum(self.sizes(space))[:-1], axis=-2))
            return [None if parent < 0 else next(inner) for parent in self.parents]
        return array

    def roots(self) -> list[int]:
        """The links that hang on the world; those over whose six motions something is stated must be rigid."""
        found = [k for k, parent in enumerate(self.parents) if parent < 0]
        if any(self.mechanism.width(k) != 6 for k in found):
            raise StatementError(
                "A base that bends has more than six motions, for which what is stated about a free base is not there; "
                "let the robot stand on a rigid body: put one under the body that bends, with a Fixed joint between."
            )
        return found

    def whole(self, name: str, space: str) -> np.ndarray:
        """A field as one array."""
        blocks: Any = self.fields[name]
        if space == "inner":
            blocks = [x for x, parent in zip(blocks, self.parents, strict=True) if parent >= 0]
        if space not in ("joints", "inner", "links"):
            rows = {"task": 6 * len(self.frames), "base": 6}.get(space, 6 * len(self.roots()) if space == "root" else 1)
            return np.zeros((rows, 1 if space == "scalars" else self.columns)) if blocks is None else blocks
        columns = next((x.shape[-1] for x in blocks if x is not None), self.columns)
        filled = [np.zeros((n, columns)) if x is None else x for n, x in zip(self.sizes(space), blocks, strict=True)]
        if space != "joints":
            return concatenated([np.zeros((0, columns)), *filled])
        order = np.argsort([i for each in self.mechanism.rates for i in range(each.start, each.stop)])
        return concatenated([np.zeros((0, columns)), *filled])[..., order, :]

    # The language

    def sites(self, sweep: Sweep) -> Iterable[int]:
        if sweep.direction == "flat":
            return (-1,)
        return range(self.count) if sweep.direction == ir.OUTWARD else range(self.count - 1, -1, -1)

    def begin(self, sweep: Sweep) -> None:
        if sweep.direction != "flat":
            self.fields |= {statement.target: [None] * self.count for statement in sweep.statements}

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if at < 0:
            self.fields[statement.target] = value
        else:
            if statement.symmetric and value is not None:
                value = mirrored(value)
            self.fields[statement.target][at] = value

    def get(self, name: str, at: int) -> Block:
        return self.fields[name] if at < 0 else self.fields[name][at]

    def invert(self, x: Block) -> Block:
        return inverse(x)

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        operator = None if name == "U_task" else np.asarray(self.operators[name])
        return x if operator is None else np.matmul(operator.T if transposed else operator, x)

    def data(self, name: str, k: int) -> Block:
        if (name, k) not in self.blocks:
            self.blocks[name, k] = self._block(name, k)
        return self.blocks[name, k]

    def _block(self, name: str, k: int) -> Block:
        match name:
            case "H":
                return block_transposed(self.mechanism.subspace(k))
            case "M":
                return self.mechanism.mass(k)
            case "A":
                return self.mechanism.armature(k)
            case "E_phi":
                return self.mechanism.crossing(k)
            case "N":
                return np.eye(self.sizes("joints")[k]) if self.parents[k] >= 0 else None
            case "BUB*":
                own = [self.motion(f, k) for f in self.on(k)]
                return block_total([(1.0, np.matmul(block_transposed(x), x)) for x in own])
        raise refused(name)

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        """The memoryless functions: poses, a, b and diagonals."""
        parent = self.parents[at]
        match function:
            case "pose":
                return self.mechanism.pose(at, self.fields["X"][parent] if parent >= 0 else None)
            case "bias_acceleration":
                velocity, v = arguments
                above = self.fields["V"][parent] if parent >= 0 else None
                return self.mechanism.bias_acceleration(at, velocity, above, v)
            case "bias_force":
                return self.mechanism.bias_force(at, *arguments)
            case "diagonal":
                return diagonal(arguments[0])
            case "root":
                return root(arguments[0])
        raise refused(function.replace("_", " "))

    def move(self, term: Term, at: int) -> Block:
        return self.transport(term, at) if at >= 0 else self.flat(term)

    def transport(self, term: Term, k: int) -> Block:
        """Value brought over φ from neighbours, the base or task frames."""
        parent = self.parents[k]
        match term:
            case ir.FromChildren(name=name):
                return block_total(
                    [(1.0, block_times(self.data("E_phi", c), self.fields[name][c])) for c in self.children[k]]
                )
            case ir.CongruentChildren(name=name) | ir.CarriedChildren(name=name):
                return block_total([(1.0, self.congruent(name, c)) for c in self.children[k]])
            case ir.FromParent(name=name):
                above = self.fields[name][parent] if parent >= 0 else None
                return block_times(block_transposed(self.data("E_phi", k)), above)
            case ir.CongruentParent(name=name):
                across = self.data("E_phi", k)
                above = self.fields[name][parent] if parent >= 0 else None
                return block_times(block_times(block_transposed(across), above), across)
            case ir.FromBase(name=name):
                return block_times(block_transposed(self.data("E_phi", k)), self.fields[name]) if parent < 0 else None
            case ir.FromRoot(name=name):
                if parent >= 0:
                    return None
                at = 6 * self.roots().index(k)
                return self.fields[name][..., at : at + 6, :]
            case ir.FromTask(name=name):
                parts = [(f, slice(6 * i, 6 * i + 6)) for i, f in enumerate(self.frames) if f in self.on(k)]
                moved = [block_transposed(self.motion(f, k)) @ self.fields[name][..., rows, :] for f, rows in parts]
                return block_total([(1.0, x) for x in moved])
        raise refused("the way back over φ, which has no inverse there")

    def congruent(self, name: str, c: int) -> Block:
        across = self.data("E_phi", c)
        return block_times(block_times(across, self.fields[name][c]), block_transposed(across))

    def flat(self, term: Term) -> Block:
        match term:
            case ir.ToTask(name=name):
                return self.to_task(name)
            case ir.ToBase(name=name):
                roots = [k for k in range(self.count) if self.parents[k] < 0]
                return block_total([(1.0, block_times(self.data("E_phi", k), self.fields[name][k])) for k in roots])
            case ir.ToRoot(name=name):
                parts = [self.fields[name][k] for k in self.roots()]
                columns = next((x.shape[-1] for x in parts if x is not None), self.columns)
                return concatenated([np.zeros((6, columns)) if x is None else x for x in parts])
            case ir.ToScalar(left=left, right=right):
                pairs = zip(self.fields[left], self.fields[right], strict=True)
                return block_total([(1.0, block_times(block_transposed(x), y)) for x, y in pairs])
            case ir.Call(function="bias_acceleration_at_frames", arguments=(ir.Field(name=name),)):
                return concatenated([self.frame_bias(f, self.fields[name]) for f in self.frames])
            case ir.SolveStacked(matrix=matrix, right=right, symmetric=symmetric, over=over):
                chosen = solve_symmetric if symmetric else solve
                return self.cut(chosen(self.whole(matrix, over), self.whole(right, over)), over)
        raise refused(type(term).__name__)

    # Task frames

    def on(self, k: int) -> list[str]:
        return [frame for frame in self.frames if self.mechanism.link_of(frame) == k]

    def motion(self, frame: str, k: int) -> np.ndarray:
        return self.mechanism.frame_motion(frame, self.fields["X"][k])

    def to_task(self, name: str) -> np.ndarray:
        rows = []
        for frame in self.frames:
            k = self.mechanism.link_of(frame)
            value = self.fields[name][k] if k >= 0 else None
            rows.append(None if value is None else np.matmul(self.motion(frame, k), value))
        columns = next((x.shape[-1] for x in rows if x is not None), self.columns)
        return concatenated([np.zeros((6, columns)) if x is None else x for x in rows])

    def frame_bias(self, frame: str, velocities: list[np.ndarray]) -> np.ndarray:
        k = self.mechanism.link_of(frame)
        return np.zeros((6, 1)) if k < 0 else self.mechanism.frame_bias(frame, self.fields["X"][k], velocities[k])


def inverse(block: np.ndarray) -> np.ndarray:
    """X⁻¹ of a joint-sized block; over no rates there is nothing to invert."""
    return invert(block) if block.shape[-1] else block


def concatenated(rows: list[np.ndarray]) -> np.ndarray:
    """Blocks one under the other, with common leading axes."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-2)


def refused(what: str) -> StatementError:
    """Error for a statement that such links lack."""
    return StatementError(
        f"Bodies that bend and compound links do not have {what}, which this statement takes; a rigid model does."
    )
