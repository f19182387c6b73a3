"""One link's work in one sweep, traced once per kind of joint: what a long chain repeats.

A step reads the link's constants from a table, its own fields, its parent's fields (outward) and what its children have
accumulated for it (inward); it writes its own fields and adds to its parent's accumulators. Everything is a place in
memory, numbered here and addressed in `rolled.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phistar.backends import links as link
from phistar.backends import mixed
from phistar.backends.interpret import Block, block_times, block_total, block_transposed
from phistar.backends.links import Links
from phistar.backends.solve import invert
from phistar.backends.trace import INPUT, Tape, Trace, finish
from phistar.model import Model
from phistar.sweeps import ir
from phistar.sweeps.ir import Program, Sweep, Term

CONSTANTS = 9 + 3 + 10 + 6 + 6 + 1  # placement rotation and offset, inertia, armature, rotors, whether at the base

CALLS: dict[str, Callable[..., Block]] = {
    "bias_acceleration": lambda links, *velocities: link.bias_acceleration(links, 0, *velocities),
    "rotor_moment": lambda links, *velocities: link.rotor_moment(links, 0, *velocities),
    "bias_force": lambda links, mass, velocity: link.bias_force(mass, velocity),
    "reference_acceleration": lambda links, *velocities: mixed.reference_acceleration(links, 0, *velocities),
    "reference_turning": lambda links, *velocities: mixed.reference_turning(links, 0, *velocities),
    "reference_rotor_moment": lambda links, *velocities: mixed.reference_rotor_moment(links, 0, *velocities),
    "reference_force": lambda links, *blocks: mixed.reference_force(*blocks),
    "subspace_rate": lambda links, v: links.subspace_rate(0, v[..., 0]),
    "turning": lambda links, block, v: mixed.turning(links, 0, block, v),
}
"""The memoryless functions that a step may call, of the one link."""

Place = tuple[str, Any, int]
"""(memory, name, entry): "constant", "q", "input", "own", "parent", "children", "flat", "output", "contribution"."""


@dataclass
class Layout:
    """Sizes of the fields and accumulators that links keep in memory, found while tracing."""

    own: dict[str, int] = field(default_factory=dict)
    children: dict[str, int] = field(default_factory=dict)

    def note(self, memory: dict[str, int], name: str, size: int) -> None:
        memory[name] = max(memory.get(name, 0), size)


@dataclass(frozen=True)
class Step:
    """A traced step: `loads[number]` and `stores[position]` are places."""

    trace: Trace
    loads: tuple[Place, ...]
    stores: tuple[Place, ...]


class StepTracer:
    """Runs the statements of a sweep at a symbolic link of one kind."""

    def __init__(self, program: Program, model: Model, layout: Layout, shapes: dict[str, tuple[int, int]]) -> None:
        """`model` has one body: the kind of joint. `shapes` are those of its fields, from the sweeps before."""
        self.program, self.model, self.layout, self.shapes = program, model, layout, shapes
        self.nv = model.nv
        self.spaces = dict(program.inputs)
        self.outputs = dict(program.outputs)

    def trace(self, sweep: Sweep, later: set[str]) -> Step:
        """`later`: fields that other sweeps read."""
        self.tape, self.loads, self.made = Tape(), [], {}
        self.seen: dict[Place, Any] = {}
        self.links = self.symbolic_link()
        stores: list[tuple[Place, Any]] = []
        for statement in sweep.statements:
            value = self.value(statement.term)
            if statement.symmetric and value is not None:
                value = link.mirrored(value)
            self.made[statement.target] = value
        kept = later | {name for s in sweep.statements for name in _parent_fields(s.term)}
        for name, value in self.made.items():
            if value is None:
                continue
            self.shapes[name] = value.shape
            if name in kept:
                self.layout.note(self.layout.own, name, value.size)
                stores += [(("own", name, i), x) for i, x in enumerate(value.reshape(-1))]
            if name in self.outputs:
                stores += [(("output", name, i), x) for i, x in enumerate(value.reshape(-1))]
        stores += self.contributions(sweep)
        places = tuple(place for place, _ in stores)
        return Step(finish(self.tape, [x for _, x in stores]), tuple(self.loads), places)

    def contributions(self, sweep: Sweep) -> list[tuple[Place, Any]]:
        """What this link adds to its parent: φx, or the upper triangle of φXφ*."""
        result: list[tuple[Place, Any]] = []
        rotation, offset = self.links.rotation[0], self.links.offset[0]
        for term in _unique(t for s in sweep.statements for t in _gathered(s.term)):
            value = self.made.get(term.name, self.own(term.name) if term.name not in self.made else None)
            if value is None:
                continue
            if isinstance(term, ir.FromChildren):
                moved = link.inward(rotation, offset, value).reshape(-1)
            else:
                moved = link.mirrored(link.congruent_inward(rotation, offset, value))[np.triu_indices(6)]
            key = _accumulator(term)
            self.layout.note(self.layout.children, key, moved.size)
            result += [(("contribution", key, i), x) for i, x in enumerate(moved)]
        return result

    # The symbolic link

    def load(self, memory: str, name: Any, entry: int) -> Any:
        place = (memory, name, entry)
        if place not in self.seen:
            self.seen[place] = self.tape.emit(INPUT, len(self.loads))
            self.loads.append(place)
        return self.seen[place]

    def array(self, memory: str, name: Any, shape: tuple[int, ...], start: int = 0) -> np.ndarray:
        result = np.empty(shape, dtype=object)
        for offset, index in enumerate(np.ndindex(*shape)):
            result[index] = self.load(memory, name, start + offset)
        return result

    def symbolic_link(self) -> Links:
        rotation, shift = self.array("constant", "", (3, 3)), self.array("constant", "", (3,), 9)
        inertia = self.array("constant", "", (1, 10), 12)
        q = self.array("q", "", (self.model.nq,))
        kind = self.model.joints[0].kind
        turn, move = kind.pose(q)
        offset = shift + np.matmul(rotation, move[..., None])[..., 0]
        spins = self.array("constant", "", (self.nv,), 28)
        turned = (np.matmul(rotation, turn),)
        return Links(self.model, q, turned, (offset,), (kind.subspace(q),), spins=spins, inertias=inertia)

    # Terms

    def value(self, term: Term) -> Block:
        match term:
            case ir.Field(name=name):
                return self.made[name] if name in self.made else self.own(name)
            case ir.Times(left=left, right=right):
                return block_times(self.value(left), self.value(right))
            case ir.Plus(terms=terms):
                return block_total([(float(c), self.value(inner)) for c, inner in terms])
            case ir.Data(name=name):
                return self.data(name)
            case ir.Transpose(of=inner):
                return block_transposed(self.value(inner))
            case ir.Invert(of=inner):
                return invert(self.value(inner))
            case ir.Call(function=function, arguments=arguments):
                return CALLS[function](self.links, *(self.value(x) for x in arguments))
        return self.transport(term)

    def transport(self, term: Term) -> Block:
        rotation, offset = self.links.rotation[0], self.links.offset[0]
        match term:
            case ir.FromChildren():
                return self.array("children", _accumulator(term), (6, 1))
            case ir.CongruentChildren():
                upper = self.array("children", _accumulator(term), (21,))
                result = np.empty((6, 6), dtype=object)
                result[np.triu_indices(6)] = upper
                return link.mirrored(result)
            case ir.FromParent(name=name):
                return link.outward(rotation, offset, self.array("parent", name, (6, 1)))
            case ir.CongruentParent(name=name):
                return link.congruent_outward(rotation, offset, link.mirrored(self.array("parent", name, (6, 6))))
            case ir.FromBase(name=name):
                at_base = self.load("constant", "", CONSTANTS - 1)
                given = self.array("flat", name, (6, 1)) * at_base
                return link.outward(rotation, offset, given)
        raise NotImplementedError(term)

    def own(self, name: str) -> Block:
        if name in self.spaces:
            return self.array("input", name, (self.nv, 1))
        return None if name not in self.shapes else self.array("own", name, self.shapes[name])

    def data(self, name: str) -> np.ndarray:
        if name == "H":
            return block_transposed(self.links.subspace[0])
        if name == "M":
            return self.links.mass(0)
        if name == "S":
            return self.links.rotor(0)
        if name == "A":
            diagonal = np.zeros((self.nv, self.nv), dtype=object)
            for i in range(self.nv):
                diagonal[i, i] = self.load("constant", "", 22 + i)
            return diagonal
        raise NotImplementedError(name)


def _accumulator(term: Any) -> str:
    return f"{'Σ' if isinstance(term, ir.FromChildren) else 'ΣΣ'}{term.name}"


def _gathered(term: Term) -> list[Any]:
    own = [term] if isinstance(term, ir.FromChildren | ir.CongruentChildren) else []
    return own + [x for part in ir.subterms(term) for x in _gathered(part)]


def _parent_fields(term: Term) -> set[str]:
    own = {term.name} if isinstance(term, ir.FromParent | ir.CongruentParent) else set()
    return own.union(*(_parent_fields(part) for part in ir.subterms(term)))


def _unique(terms: Any) -> list[Any]:
    return list(dict.fromkeys(terms))
