"""Runs a program on arrays, link by link: on floats with leading batch axes, or on traced scalars to record it.

A field that is zero by structure is None: nothing is computed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links import values as link
from phistar.backends.links.formulas import FORMULAS
from phistar.backends.links.newton_euler import carried, inertial_force
from phistar.backends.links.values import Links, space_sizes
from phistar.backends.programs.biases import WAY
from phistar.backends.programs.blocks import Block, BlockDomain, block_times, block_total, block_transposed
from phistar.backends.traces.solve import solve, solve_symmetric
from phistar.backends.traces.trace import Scalar
from phistar.spatial import cross
from phistar.sweeps import ir
from phistar.sweeps.evaluate import evaluate
from phistar.sweeps.ir import Program, Statement, Sweep, Term

UNTURNED = ("motion_of_body", "force_of_body", "motion_in_body", "force_in_body")
"""The axes of links are those of their bodies here."""


def run(program: Program, links: Links, inputs: Mapping[str, Any], operators: Mapping[str, Any] | None = None) -> Any:
    """The outputs of a program, each (…, rows, columns). `inputs` are flat or stacked arrays (…, rows, columns);
    `operators` gives constant task operators such as Q."""
    machine = _run(program, links, inputs, operators or {})
    return {name: machine.whole(name, space) for name, space in program.outputs}


def tabled(program: Program, links: Links, inputs: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run a program with tables: the operators wanted whole, and all fields link by link."""
    machine, made = _run(program, links, inputs, {}), program.result_names
    return {name: machine.whole(made[name], "joints") for name in program.matrices}, machine.fields


def _run(program: Program, links: Links, inputs: Mapping[str, Any], operators: Mapping[str, Any]) -> _Machine:
    machine = _Machine(links, operators)
    for name, space in program.inputs:
        machine.fields[name] = _stacked(links, np.asarray(inputs[name]), space)
        if name in program.columns:
            machine.columns = np.asarray(inputs[name]).shape[-1]
    evaluate(program, machine)
    return machine


def poses(program: Program, links: Links) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pose (R, p) of each link, from the program that places them."""
    machine = _Machine(links, {})
    evaluate(program, machine)
    return machine.fields["X"]


def _stacked(links: Links, array: np.ndarray, space: str) -> Any:
    """An input as one block per link (joints, links) or as it is (flat spaces)."""
    if space == "joints":
        return [array[..., joint.v_slice, :] for joint in links.model.joints]
    if space == "inner":
        inner = iter(np.split(array, np.cumsum(_inner_sizes(links))[:-1], axis=-2))
        return [None if parent < 0 else next(inner) for parent in links.parents]
    if space in ("links", "parameters"):
        rows = 6 if space == "links" else 10
        return [array[..., rows * k : rows * k + rows, :] for k in range(len(links.model.bodies))]
    return array


class _Machine(BlockDomain):
    """The fields of one run: a list with a block per link, or one flat array."""

    def __init__(self, links: Links, operators: Mapping[str, Any]) -> None:
        self.links, self.operators = links, operators
        self.fields: dict[str, Any] = {}
        self.inverted: dict[str, str] = {}  # X⁻¹ by name, and X
        self.columns = 1  # of what is zero by structure
        self.count = len(links.model.bodies)

    def sites(self, sweep: Sweep) -> Iterable[int]:
        if sweep.direction == "flat":
            return (-1,)
        return range(self.count) if sweep.direction == ir.OUTWARD else range(self.count - 1, -1, -1)

    def begin(self, sweep: Sweep) -> None:
        if sweep.direction == "flat":
            return
        for statement in sweep.statements:
            self.fields[statement.target] = [None] * self.count
            if isinstance(statement.term, ir.Invert) and isinstance(statement.term.of, ir.Field):
                self.inverted[statement.target] = statement.term.of.name

    def put(self, statement: Statement, at: int, value: Block) -> None:
        if at < 0:
            self.fields[statement.target] = value
        else:
            if statement.symmetric and value is not None:
                value = link.mirrored(value)
            self.fields[statement.target][at] = value

    def get(self, name: str, at: int) -> Block:
        return self.fields[name] if at < 0 else self.fields[name][at]

    def apply(self, function: str, arguments: list[Block], at: int) -> Block:
        if function == "pose":
            return self.pose(at)
        if function in UNTURNED:
            return arguments[0]
        return FORMULAS[function](self.links, at, *arguments)

    def operator(self, name: str, transposed: bool, x: Block) -> Block:
        if name == "U_task":
            return x
        operator = np.asarray(self.operators[name])
        return np.matmul(operator.T if transposed else operator, x)

    def product(self, left: Block, right: Block, term: ir.Times, at: int, half: bool) -> Block:
        """XY. Where D is large and G*φ*λ is none, on the world, D⁻¹y is solved for; there U is D and G = I if the joint
        is free."""
        inverse = [self.inverted.get(getattr(x, "name", ""), "") for x in (term.left, term.right)]
        if at >= 0 and self.links.parents[at] < 0 and any(inverse) and self.links.model.joints[at].nv > 1:
            matrix = self.fields[inverse[0] or inverse[1]][at]
            if inverse[0] and right is not None:
                return solve_symmetric(matrix, right)
            if left is not None and left.shape == matrix.shape and all(map(_is_same, left.flat, matrix.flat)):
                return np.eye(len(left))
        return block_times(left, right)

    def paired(self, terms: Any, at: int) -> list[tuple[Any, tuple[ir.Call, Any]]]:
        if not any(isinstance(x, ir.Call) for _, x in terms):
            return []
        return [(c, p) for c in (1, -1) for p in self.pairs([x for d, x in terms if d == c], at)]

    def pairs(self, terms: list[Term], k: int) -> list[tuple[ir.Call, Any]]:
        """b with Mα, a(k) with φ*α: what is cheaper together than apart."""
        found: dict[ir.Call, Any] = {}
        parent = self.links.parents[k] if k >= 0 else -1  # a flat term is about no link, and there may be none
        for first in (term for term in terms if isinstance(term, ir.Call)):
            for second in (term for term in terms if term not in found.values()):
                match first, second:
                    case (
                        ir.Call(function="bias_force", arguments=(ir.Data(name="M"), _)),
                        ir.Times(left=ir.Data(name="M"), right=ir.Field()),
                    ):
                        found.setdefault(first, second)
                    case ir.Call(function="bias_acceleration", arguments=(ir.Field(), _)), ir.FromParent(name=name):
                        if parent >= 0 and self.fields[name][parent] is not None:
                            found.setdefault(first, second)
                    case ir.Call(function=function, arguments=(ir.Field(), _)), ir.FromParent() if function == WAY:
                        found.setdefault(first, second)
        return list(found.items())

    def together(self, call: ir.Call, other: Any, k: int) -> Block:
        """Mα + b, φ*α + a(k), or φ*α and the way's part of a(k)."""
        if call.function == "bias_force":
            mass, velocity = (self.value(x, k) for x in call.arguments)
            return inertial_force(mass, velocity, _filled(self.value(other.right, k), velocity))
        rate: Any = call.arguments[0]
        parent = self.links.parents[k]
        if parent < 0:
            return None  # the world does not turn
        velocity, alpha = (self.fields[field.name][parent] for field in (rate, other))
        above = carried(self.links.way(k), velocity, _filled(alpha, velocity))
        if call.function == WAY:
            return above
        own = link.bias_acceleration(self.links, k, *(self.value(x, k) for x in call.arguments), reaching=False)
        return own + above

    def move(self, term: Term, k: int) -> Block:
        rotation, offset, parents = self.links.rotation, self.links.offset, self.links.parents
        match term:
            case ir.FromChildren(name=name) | ir.CongruentChildren(name=name) | ir.CarriedChildren(name=name):
                children = [c for c in self.links.model.children[k] if self.fields[name][c] is not None]
                moved = (self.from_child(term, c, self.fields[name][c]) for c in children)
                return block_total([(1.0, x) for x in moved])
            case ir.FromParent(name=name) | ir.CongruentParent(name=name):
                above = self.fields[name][parents[k]] if parents[k] >= 0 else None
                if above is None or self.links.still:
                    return above
                if isinstance(term, ir.FromParent):
                    return moves.outward(self.links.way(k), above)
                return moves.congruent_outward(self.links.path(k), above)
            case ir.FromBase(name=name):
                return link.outward(rotation[k], offset[k], self.fields[name]) if parents[k] < 0 else None
            case ir.FromRoot(name=name):
                return self.fields[name][..., self.root_rows(k), :] if parents[k] < 0 else None
            case ir.FromTask(name=name):
                return self.from_task(name, k)
        return self.back(term, k)

    def from_child(self, term: Term, c: int, x: np.ndarray) -> np.ndarray:
        """φx or φXφ*."""
        if self.links.still:
            return x
        if isinstance(term, ir.CarriedChildren):
            return moves.carried_inward(self.links.way(c), x)
        if isinstance(term, ir.FromChildren):
            return moves.inward(self.links.way(c), x)
        return moves.congruent_inward(self.links.path(c), x)

    def back(self, term: Term, k: int) -> Block:
        """φ(k,p) = φ⁻¹(p,k), and sums over the siblings, each seen at the parent first."""
        rotation, offset, children = self.links.rotation, self.links.offset, self.links.model.children
        parent = self.links.parents[k] if k >= 0 else -1  # a flat term is about no link, and there may be none
        name = getattr(term, "name", "")

        def moved(move: Any, c: int, back: bool = False) -> tuple[float, Block]:
            step = link.reversed_step(rotation[c], offset[c]) if back else (rotation[c], offset[c])
            return 1.0, None if self.fields[name][c] is None else move(*step, self.fields[name][c])

        match term:
            case ir.BackFromChildren():
                return block_total([moved(link.outward, c, True) for c in children[k]])
            case ir.BackFromParent() | ir.BackCongruentParent():
                out = link.inward if isinstance(term, ir.BackFromParent) else link.congruent_inward
                above = self.fields[name][parent] if parent >= 0 else None
                return None if above is None else out(*link.reversed_step(rotation[k], offset[k]), above)
            case ir.FromSiblings() | ir.CongruentSiblings() | ir.BackFromSiblings():
                forces, motions = link.inward, isinstance(term, ir.BackFromSiblings)
                move = forces if isinstance(term, ir.FromSiblings) else link.congruent_inward
                move = link.outward if motions else move
                others = [c for c in children[parent] if c != k] if parent >= 0 else []
                at_parent = block_total([moved(move, c, motions) for c in others])
                own = (rotation[k], offset[k]) if motions else link.reversed_step(rotation[k], offset[k])
                return None if at_parent is None else move(*own, at_parent)
        return self.flat(term)

    def root_rows(self, k: int) -> slice:
        """Where a link that hangs on the world stands among those that do."""
        before = sum(parent < 0 for parent in self.links.parents[:k])
        return slice(6 * before, 6 * before + 6)

    def flat(self, term: Term) -> Block:
        match term:
            case ir.ToTask(name=name):
                return self.to_task(name)
            case ir.ToBase(name=name):
                roots = [k for k in range(self.count) if self.links.parents[k] < 0 and self.fields[name][k] is not None]
                moved = [link.inward(self.links.rotation[k], self.links.offset[k], self.fields[name][k]) for k in roots]
                return block_total([(1.0, x) for x in moved])
            case ir.ToRoot(name=name):
                roots = [self.fields[name][k] for k in range(self.count) if self.links.parents[k] < 0]
                columns = next((x.shape[-1] for x in roots if x is not None), self.columns)
                return _concatenated([np.zeros((6, columns)) if x is None else x for x in roots])
            case ir.ToScalar(left=left, right=right):
                pairs = zip(self.fields[left], self.fields[right], strict=True)
                return block_total([(1.0, block_times(block_transposed(x), y)) for x, y in pairs])
            case ir.Call(function="bias_acceleration_at_frames", arguments=(ir.Field(name=name),)):
                return self.bias_acceleration_at_frames(self.fields[name])
            case ir.SolveStacked(matrix=matrix, right=right, symmetric=symmetric, over=over):
                chosen = solve_symmetric if symmetric else solve
                return _stacked(self.links, chosen(self.whole(matrix, over), self.whole(right, over)), over)
        raise AssertionError(term)

    # The robot's blocks

    def data(self, name: str, k: int) -> Block:
        if name == "H":
            return np.swapaxes(self.links.subspace[k], -1, -2)
        if name == "M":
            return self.links.mass(k)
        if name == "A":
            return self.links.armature(k)
        if name == "S":
            return self.links.rotor(k)
        if name == "N":
            return None if self.links.parents[k] < 0 else np.eye(self.links.model.joints[k].nv)
        if name in ("Pi_f", "Pi_b"):
            kept = self.links.parents[k] < 0 if name == "Pi_f" else not self.links.model.children[k]
            return np.eye(6) if kept else None
        if name == "BUB*":
            own = [f for f, body in enumerate(self.frame_bodies()) if body == k]
            unit = np.eye(6)
            blocks = [link.from_world_axes(self.fields["X"][k][0], self.point(f), unit) for f in own]
            return block_total([(1.0, np.matmul(b, np.swapaxes(b, -1, -2))) for b in blocks])
        operator = np.asarray(self.operators[name])
        return operator[..., self.rows_at(k, operator.shape[-2]), self.rows_at(k, operator.shape[-1])]

    def rows_at(self, k: int, size: int) -> slice:
        """Where link k, or its joint, stands in a stack; where both are as long, every joint has six rates."""
        return slice(6 * k, 6 * k + 6) if size == 6 * self.count else self.links.model.joints[k].v_slice

    def frame_bodies(self) -> list[int]:
        return [self.links.model.frame(name).body for name in self.links.frames]

    def point(self, f: int) -> np.ndarray:
        return self.links.model.frame(self.links.frames[f]).placement.translation

    # Where the links are

    def pose(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        rotation, offset, parent = self.links.rotation[k], self.links.offset[k], self.links.parents[k]
        if parent < 0:
            return rotation, offset
        above, place = self.fields["X"][parent]
        return np.matmul(above, rotation), place + np.matmul(above, offset[..., None])[..., 0]

    def bias_acceleration_at_frames(self, velocities: list[np.ndarray]) -> np.ndarray:
        rows = []
        for f, body in enumerate(self.frame_bodies()):
            if body < 0:
                rows.append(np.zeros((6, 1)))
                continue
            omega = velocities[body][..., :3, 0]
            linear = cross(omega, cross(omega, self.point(f)))
            linear = np.matmul(self.fields["X"][body][0], linear[..., None])
            rows.append(np.concatenate([0.0 * linear, linear], axis=-2))
        return _concatenated(rows)

    # Task frames

    def from_task(self, name: str, k: int) -> Block:
        own = [f for f, body in enumerate(self.frame_bodies()) if body == k]
        rows = self.fields[name]
        turn = self.fields["X"][k][0]
        moved = [link.from_world_axes(turn, self.point(f), rows[..., 6 * f : 6 * f + 6, :]) for f in own]
        return block_total([(1.0, x) for x in moved])

    def to_task(self, name: str) -> np.ndarray:
        blocks = self.fields[name]
        rows: list[Any] = []
        for f, body in enumerate(self.frame_bodies()):
            known = body >= 0 and blocks[body] is not None
            rows.append(link.to_world_axes(self.fields["X"][body][0], self.point(f), blocks[body]) if known else None)
        columns = next((x.shape[-1] for x in rows if x is not None), self.columns)
        return _concatenated([np.zeros((6, columns)) if x is None else x for x in rows])

    def whole(self, name: str, space: str) -> np.ndarray:
        """A field as one array (…, rows, columns)."""
        blocks: Any = self.fields[name]
        if space == "inner":
            blocks = [x for x, parent in zip(blocks, self.links.parents, strict=True) if parent >= 0]
        if space not in ("joints", "inner", "links", "parameters"):
            rows = space_sizes(self.links.model, self.links.frames).get(space, 1)
            return np.zeros((rows, 1 if space == "scalars" else self.columns)) if blocks is None else blocks
        joints, rows = self.links.model.joints, 10 if space == "parameters" else 6
        sizes = _inner_sizes(self.links) if space == "inner" else [j.nv if space == "joints" else rows for j in joints]
        columns = next((x.shape[-1] for x in blocks if x is not None), self.columns)
        filled = [np.zeros((n, columns)) if x is None else x for n, x in zip(sizes, blocks, strict=True)]
        return _concatenated([np.zeros((0, columns)), *filled])


def _is_same(x: Any, y: Any) -> bool:
    """Whether two numbers of a trace are one by structure."""
    return type(x) is type(y) is Scalar and x.index == y.index


def _inner_sizes(links: Links) -> list[int]:
    """Dofs of the joints between links."""
    return [joint.nv for joint, parent in zip(links.model.joints, links.parents, strict=True) if parent >= 0]


def _concatenated(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in rows], axis=-2)


def _filled(block: Block, like: np.ndarray) -> np.ndarray:
    """A motion, zeros where it is zero by structure."""
    return np.full((6, 1), 0.0, dtype=like.dtype) if block is None else block
