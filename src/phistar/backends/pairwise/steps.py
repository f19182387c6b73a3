"""One link's work in one common frame, traced once per kind of link: what tables of a long mechanism repeat.

All frames lie on the world's axes, so that φ = 1 between links: a first sweep places the link and gives H* and M there.
From then on the sweeps are those of the statements' programs (`programs.py`). Where a program eliminates joints (D, G,
P⁺ and what reads them) a joint of several rates is taken rate by rate, the last one first, as massless links between
its parent and itself would be: so a rate has its own 1/D, and `loops.py` goes from rate to rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links.brackets import bracket, coriolis_block, force_bracket, own_bracket
from phistar.backends.links.common_frame import inertia_parameters, moved_moments, moved_subspace
from phistar.backends.links.congruence import turned
from phistar.backends.links.values import Links, mirrored
from phistar.backends.pairwise.programs import PROGRAMS, gain_fields, rigid_fields
from phistar.backends.pairwise.tracer import LinkTracer
from phistar.backends.programs.blocks import Block, BlockDomain, block_total, block_transposed
from phistar.backends.rolled.link_memory import Stage
from phistar.backends.rolled.plan import depending, parts
from phistar.backends.rolled.steps import Kind, symbolic_link
from phistar.sweeps import ir
from phistar.sweeps.ir import INWARD, OUTWARD, Program, Statement, Sweep, Term, fields_anywhere

UPPER = np.triu_indices(6)
GIVEN = {"θ̇": "v", "θ̈": "a", "T": "tau"}
SUBSPACE = ir.Transpose(ir.Data("H"))  # kept where the link is placed
_FROM_CHILDREN = ir.FromChildren | ir.CongruentChildren | ir.CarriedChildren

Work = tuple[str, str, Callable[[LinkTracer], None]]  # what it is called, its direction, what a link does


def stages(kinds: list[Kind], name: str, alone: bool, armature: bool) -> list[Stage]:
    """The sweeps of a program, for all kinds of links."""
    links = [LinkTracer(kind, alone, armature) for kind in kinds]
    return [Stage(direction, [link.trace(work) for link in links], name) for name, direction, work in _works(name)]


def _works(name: str) -> list[Work]:
    program, called = PROGRAMS[name]()
    works: list[Work] = [(name, sweep.direction, Run(program, sweep, called)) for sweep in program.passes]
    if works[0][1] == INWARD:
        return [(name, OUTWARD, _placed), *works]
    return [(name, OUTWARD, _both(_placed, works[0][2])), *works[1:]]


def _both(first: Callable[[LinkTracer], None], then: Callable[[LinkTracer], None]) -> Callable[[LinkTracer], None]:
    def work(t: LinkTracer) -> None:
        first(t)
        then(t)

    return work


# The common frame


def _placed(t: LinkTracer) -> None:
    """The link in the common frame: h = H* and `parameters` of M."""
    path, links = symbolic_link(t.record, t.kind)
    rotation, origin = _place(t, path)
    t.passes("place", np.concatenate([rotation.reshape(-1), origin]))
    mass, moment, second = links.mass_parts(0)  # the table of constants has second moments where a tensor would be
    moment, second = moved_moments(origin, mass, np.matmul(rotation, moment), mirrored(turned(rotation, second)))
    t.masses = mass, moment, second
    h = moved_subspace(rotation, origin, links.subspace[0])
    t.keep(h=h, parameters=inertia_parameters(mass, moment, second))


def _place(t: LinkTracer, path: tuple[moves.Move, ...]) -> moves.Move:
    """The link as the world's axes see it, from the first link's origin if that alone is on the world."""
    if not t.is_root:
        above = t.passed("place", 12)[:, 0]
        return moves.placed(path, above[:9].reshape(3, 3), above[9:])
    rotation, origin = moves.placed(path, np.eye(3), np.zeros(3))
    return rotation, np.zeros(3) if t.alone else origin


def _mass(t: LinkTracer, parameters: np.ndarray) -> np.ndarray:
    """M, (6, 6), of ten parameters."""
    return Links(t.kind.model, None, (), (), (), inertias=parameters[None]).mass(0)


# Sweeps of programs


@dataclass
class Rate:
    """One rate of a joint: its number, what has been made at it, and what was made at the one before."""

    number: int
    made: dict[str, Block] = field(default_factory=dict)
    before: dict[str, Block] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """The statements of a sweep, but for those about columns of operators that are wanted whole."""

    program: Program
    sweep: Sweep
    called: dict[str, tuple[str, int]]

    def __call__(self, t: LinkTracer) -> None:
        t.called |= self.called
        t.axes |= {s.target: 1 for s in self.sweep.statements if s.term is SUBSPACE}
        rates = [s for s in self.statements if s.target in self.by_rates]
        after = self.reading({s.target for s in rates}) - self.by_rates
        for statement in (s for s in self.statements if s.target not in after | self.by_rates):
            t.keep_block(statement.target, self.made(t, statement, None))
        self.eliminate(t, rates)
        for statement in (s for s in self.statements if s.target in after):
            t.keep_block(statement.target, self.made(t, statement, None))
        terms = dict.fromkeys(part for s in self.statements for part in parts(s.term))
        for term in (x for x in terms if isinstance(x, ir.FromParent)):
            t.passes(term.name, _filled(t.block(term.name)))
        for term in (x for x in terms if isinstance(x, _FROM_CHILDREN)):
            t.sends(term.name, _packed(term, _filled(t.block(term.name)), term.name in self.rigid))

    @cached_property
    def rigid(self) -> frozenset[str]:
        return rigid_fields(self.program)

    @cached_property
    def statements(self) -> list[Statement]:
        whole = frozenset().union(*(depending(self.program, operand) for operand in self.program.columns))
        return [s for s in self.sweep.statements if s.target not in whole and s.term is not SUBSPACE]

    @cached_property
    def by_rates(self) -> set[str]:
        """Fields that read a rate's own gains, and those between such fields."""
        gains = gain_fields(self.program)
        readers = {s.target for s in self.statements if isinstance(s.term, ir.Invert) or _reads(s) & gains}
        return readers | {name for name in self.reading(readers) if self.reading({name}) & readers}

    def reading(self, names: set[str]) -> set[str]:
        """Fields that depend on some fields, here or at a neighbour; these only if they do."""
        found: set[str] = set()
        while more := {s.target for s in self.statements if _reads(s) & (names | found)} - found:
            found |= more
        return found

    def eliminate(self, t: LinkTracer, statements: list[Statement]) -> None:
        """Rate by rate. Of what is carried along the links the joint keeps what its own link has, and its parent gets
        what the last one leaves; what rates give to the link's motion adds up; the rest stands side by side."""
        inward = self.sweep.direction == INWARD
        numbers = range(t.nv)
        found: list[Rate] = []
        for number in reversed(numbers) if inward else numbers:
            rate = Rate(number, {}, found[-1].made if found else {})
            for statement in statements:
                rate.made[statement.target] = self.made(t, statement, rate)
            found.append(rate)
        for statement in statements:
            self.keep(t, statement, [rate.made[statement.target] for rate in found])

    def keep(self, t: LinkTracer, statement: Statement, values: list[Block]) -> None:
        inward, name = self.sweep.direction == INWARD, statement.target
        moved = _FROM_CHILDREN | ir.FromParent
        carried = {x.name for s in self.statements for x in parts(s.term) if isinstance(x, moved)}  # type: ignore[attr-defined]
        if name in carried:
            t.keep_block(name, values[-1])
        elif any(isinstance(x, moved) for x in parts(statement.term)):
            t.keep_block(name, values[0])
        elif not inward and len(values[0]) == 6:
            t.keep_block(name, block_total([(1.0, x) for x in values]))
        else:
            t.axes[name] = 0 if len(values[0]) == 1 and name not in self.called else 1
            t.keep_block(name, np.concatenate(values[::-1] if inward else values, axis=t.axes[name]))

    def made(self, t: LinkTracer, statement: Statement, rate: Rate | None) -> Block:
        sent = next((x for x in parts(statement.term) if isinstance(x, _FROM_CHILDREN)), None)
        if rate is not None and rate.before and sent is not None:
            return rate.before[sent.name]  # type: ignore[attr-defined]
        value = _AtRate(t, self.rigid).value(statement.term, rate)
        return mirrored(value) if statement.symmetric and value is not None and len(value) > 1 else value


@dataclass(frozen=True)
class _AtRate(BlockDomain):
    """Terms at one link, where φ = 1; a site is a rate of its joint, or None: all of them."""

    t: LinkTracer
    rigid: frozenset[str]  # fields that ten parameters tell

    def sites(self, sweep: Sweep) -> tuple[None]:
        return (None,)

    def put(self, statement: Statement, at: Rate | None, value: Block) -> None:
        self.t.keep_block(statement.target, value)

    def get(self, name: str, at: Rate | None) -> Block:
        """A field; of one that the joint's rates have side by side, the rate's own."""
        t = self.t
        if at is not None and name in at.made:
            return at.made[name]
        block = t.given(GIVEN[name]) if name in GIVEN else t.block(name)
        axis = 0 if name in GIVEN else t.axes.get(name)
        if at is None or block is None or axis is None:
            return block
        return block[at.number : at.number + 1] if axis == 0 else block[:, at.number : at.number + 1]

    def data(self, name: str, at: Rate | None) -> Block:
        if name == "H":
            h = self.t.field("h")
            return block_transposed(h if at is None else h[:, at.number : at.number + 1])
        if name == "M":
            return _mass(self.t, self.t.field("parameters"))
        if name == "A" and at is not None:
            return np.array([[self.t.armature_of(at.number)]], dtype=object)
        raise NotImplementedError(name)

    def invert(self, x: Block) -> Block:
        return np.array([[1.0 / x[0, 0]]], dtype=object)

    def apply(self, function: str, arguments: list[Block], at: Rate | None) -> Block:
        return _called(self.t, function, *arguments)

    def move(self, term: Term, at: Rate | None) -> Block:
        t = self.t
        match term:
            case ir.FromParent(name=name):
                if at is not None and at.before:
                    return at.before[name]
                return None if t.is_root else t.passed(name, 6)
            case ir.FromBase(name=name):
                return t.record.array("flat", name, (6, 1)) if t.is_root else None
            case ir.FromChildren(name=name):
                return t.sum_of_children(name, (6, 1))
            case ir.CongruentChildren(name=name) if name in self.rigid:
                return _mass(t, t.sum_of_children(name, (10,)))
            case ir.CongruentChildren(name=name):
                result = np.full((6, 6), 0.0, dtype=object)
                result[UPPER] = t.sum_of_children(name, (21,))
                return mirrored(result)
            case ir.CarriedChildren(name=name):
                return np.concatenate([t.sum_of_children(name, (6, 3)), np.zeros((6, 3))], axis=1)
        raise NotImplementedError(term)


def _reads(statement: Statement) -> frozenset[str]:
    return fields_anywhere(statement.term)


def _called(t: LinkTracer, function: str, argument: Block) -> Block:
    if argument is None:
        return None
    match function:
        case "motion_bracket":
            return bracket(argument)
        case "force_bracket":
            return force_bracket(argument)
        case "own_bracket":
            h = t.field("h")
            return own_bracket(np.matmul(h, argument), h) if t.nv > 1 else None
        case "coriolis_block":
            return coriolis_block(*t.masses, argument)
    raise NotImplementedError(function)


def _packed(term: Term, block: np.ndarray, rigid: bool) -> np.ndarray:
    """Block as sent to parents: ten parameters of a composite M, a triangle of P⁺, the nonzero half of a 𝓑."""
    if isinstance(term, ir.CongruentChildren) and not rigid:
        return block[UPPER]
    if isinstance(term, ir.CongruentChildren):
        lever = [block[2, 4], block[0, 5], block[1, 3]]
        tensor = [block[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
        return np.array([block[3, 3], *lever, *tensor], dtype=object)
    return block[:, :3] if isinstance(term, ir.CarriedChildren) else block


def _filled(block: Block) -> np.ndarray:
    return np.zeros((6, 1)) if block is None else block
