"""Memory needs of a program that runs link by link: which fields neighbours read, which the task frames read, which
outlive their sweep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from phistar.backends.choice import is_abreast
from phistar.backends.links.formulas import FORMULAS
from phistar.backends.links.link_sizes import PARAMETERS, link_rows
from phistar.backends.programs.body_axes import AXES, LIFT
from phistar.model import Model
from phistar.sweeps import ir
from phistar.sweeps.ir import Program, Statement, Term, parts
from phistar.sweeps.rate_coordinates import has_rate_coordinates

_DATA = ("H", "M", "A", "S", "N", "I", "unit", "BUB*", "Ψ", "Ψ⁻¹")


FLAT_COLUMNS = {"task", "base", "root", "closures"}  # spaces apart from the links whose identity is an operand
Operators = tuple[tuple[str, tuple[tuple[float, ...], ...]], ...]
OVER_JOINTS = ("joints", "inner")  # all of them, those between links
OVER_LINKS = ("links", "parameters")
BIAS = "a(0)"  # of the frames, stacked
FRAME_POSES = "frame_poses"
AT_FRAMES = ("frame_turn", "frame_sweep")  # functions of task motions


def accumulator(term: ir.Move) -> str:
    """Name of the children's sum for a term."""
    return f"{'Σ' if term.is_plain else 'ΣΣ'}{'−'.join([term.name, *term.update])}"


def total(term: Any) -> str:
    """Name of a term's sum over the links."""
    if isinstance(term, ir.ToScalar):
        return f"{term.left}·{term.right}"
    return f"{'E' if isinstance(term, ir.ToBase) else 'π'}{term.name}"


def read_off(name: str) -> str:
    """The flat field that stacks B_f* x(link of f)."""
    return f"B*{name}"


def gathered_parts(term: Term) -> list[ir.Move]:
    return [part for part in parts(term) if ir.is_sent(part, ir.CHILDREN)]


def is_known_move(term: Term) -> bool:
    """Whether loops over the links know how a term comes from elsewhere."""
    known = {ir.CHILDREN: (ir.FORCE, ir.INERTIA), ir.SIBLINGS: ()}
    return isinstance(term, ir.Move) and term.act in known.get(term.source, (term.act,))


def is_taken_in(term: Term) -> bool:
    """Whether a term is brought by task frames to their links."""
    return ir.is_sent(term, ir.FRAMES) or term is ir.Data("BUB*")


def _has_columns_of(term: Term, names: set[str]) -> bool:
    """Whether a term has the columns of one of some fields: those of its last factor."""
    match term:
        case ir.Times(right=right) | ir.SolveFlat(right=right):
            return _has_columns_of(right, names)
        case ir.Call(function=function) if function not in AXES and function != "without":
            return False
        case ir.Plus() | ir.TaskOperator() | ir.Call():
            return any(_has_columns_of(part, names) for part in ir.subterms(term))
        case ir.Transpose(of=ir.Divide(left=ir.Transpose(of=right))):  # D⁻¹y
            return _has_columns_of(right, names)
        case ir.Transpose() | ir.Invert() | ir.Divide() | ir.Data():
            return False
    return getattr(term, "name", None) in names


def depending(program: Program, operand: str) -> frozenset[str]:
    """Fields that depend on an operand, itself included."""
    found = {operand}
    while True:
        more = {s.target for s in program.statements if ir.fields_anywhere(s.term) & found} - found
        if not more:
            return frozenset(found)
        found |= more


def inverted_fields(program: Program) -> frozenset[str]:
    """The fields that some inverse depends on."""
    made = program.terms
    found: set[str] = set()
    for term in (x for s in made.values() for x in parts(s)):
        match term:
            case ir.Invert(of=matrix) | ir.Divide(matrix=matrix) | ir.SolveFlat(matrix=matrix):
                found |= ir.fields_anywhere(matrix)
    while more := {x for name in found if name in made for x in ir.fields_anywhere(made[name])} - found:
        found |= more
    return frozenset(found)


def poses_first(program: Program) -> Program:
    """The program with links placed before the sweep that brings forces from task frames to them."""
    sweeps: list[ir.Sweep] = []
    for sweep in program.sweeps:
        poses = [s for s in sweep.statements if isinstance(s.term, ir.Call) and s.term.function == "pose"]
        takes_in = any(is_taken_in(x) for s in sweep.statements for x in parts(s.term))
        if poses and takes_in:
            sweeps.append(ir.Sweep(ir.OUTWARD, tuple(poses)))
            sweep = ir.Sweep(sweep.direction, tuple(s for s in sweep.statements if s not in poses))
        sweeps.append(sweep)
    return replace(program, sweeps=tuple(sweeps))


def siblings_by_parents(program: Program) -> Program:
    """The program with sums over the siblings as what the parent has received, seen at the link, without its own."""
    made = {s.target for sweep in program.sweeps if sweep.direction == ir.INWARD for s in sweep.statements}
    sums: dict[str, ir.Statement] = {}

    def change(term: Term) -> Term:
        if ir.is_sent(term, ir.SIBLINGS) and term.act != ir.MOTION and term.name in made:
            name = f"{term.name} of children"
            whole = ir.Move(ir.CHILDREN, term.act, term.name)
            sums[term.name] = ir.Statement(name, whole, term.act == ir.INERTIA)
            return ir.Call("without", (ir.Move(ir.PARENT, term.act, name), ir.Field(term.name)))
        return ir.rebuild(term, change)

    sweeps = [[replace(s, term=change(s.term)) for s in sweep.statements] for sweep in program.sweeps]
    for sweep in sweeps:
        sweep += [sums[s.target] for s in sweep if s.target in sums]
    directions = (sweep.direction for sweep in program.sweeps)
    return replace(program, sweeps=tuple(ir.Sweep(d, tuple(x)) for d, x in zip(directions, sweeps, strict=True)))


@dataclass(frozen=True)
class Plan:
    """A program over `frames` task frames (how many), with the numbers of constant `operators` on task space.

    Where it makes operators column by column, `operand` is the vector that is each unit vector in turn, and the first
    `once` sweeps do not depend on it; `across`: these columns are the result's own, else its rows. Where the blocks of
    memoryless operators are wanted, the operand is the identity at every link; `blocks` are the rates of the largest
    joint."""

    program: Program
    frames: int
    operand: str = ""
    once: int = 0
    operators: Operators = ()
    across: bool = False
    blocks: int = 0

    @property
    def rollable(self) -> bool:
        """Vectors over joints, the base and task frames in and out; operators with few columns."""
        spaces = {space for _, space in (*self.program.inputs, *self.program.outputs)}
        solves = any(isinstance(part, ir.SolveFlat) for _, part in self.flat_parts())
        small = is_abreast(self.width, self.frames, solves)
        known = all(self._is_known(part, link) for link, part in [*self.link_parts(), *self.flat_parts()])
        over = {space for name, space in self.program.inputs if name in self.program.columns}
        known = known and not any(isinstance(s.term, ir.Plus) and not s.term.terms for s in self.flat_results)
        alike = bool(self.blocks) or (over <= FLAT_COLUMNS and len({self.flat_rows[space] for space in over}) <= 1)
        return spaces <= {*OVER_JOINTS, *OVER_LINKS, *self.flat_rows} and small and known and alike

    @property
    def flat_results(self) -> list[Statement]:
        names = {name for name, _ in self.program.outputs if name not in self.outputs}
        return [s for s in self.program.statements if s.target in names]

    def _is_known(self, part: Term, at_link: bool) -> bool:
        match part:
            case ir.Data(name=name):
                return name in _DATA
            case ir.Call(function=function):
                flat = (LIFT, FRAME_POSES, "bias_acceleration_at_frames", *AT_FRAMES)
                return (function in FORMULAS or function in AXES or function == "pose") if at_link else function in flat
            case ir.TaskOperator(name=name):
                return name == "U_task" or name in dict(self.operators)
            case ir.ToTask() | ir.ToBase() | ir.ToRoot() | ir.ToScalar() | ir.SolveFlat():
                return not at_link
        blocks = ir.Times | ir.Plus | ir.Transpose | ir.Invert | ir.Divide
        return isinstance(part, ir.Field | blocks) or is_known_move(part)

    def link_parts(self) -> list[tuple[bool, Term]]:
        return [(True, x) for sweep in self.program.passes for s in sweep.statements for x in parts(s.term)]

    def flat_parts(self) -> list[tuple[bool, Term]]:
        flat = [sweep for sweep in self.program.sweeps if sweep.direction == "flat"]
        return [(False, x) for sweep in flat for s in sweep.statements for x in parts(s.term)]

    @cached_property
    def everything(self) -> list[Term]:
        return [part for _, part in [*self.link_parts(), *self.flat_parts()]]

    # Shapes

    @property
    def flat_rows(self) -> dict[str, int]:
        """Rows of the spaces that are not over the links."""
        frames = {"task": 6 * self.frames, "poses": 16 * self.frames}
        closures = len(dict(self.operators).get("Q", ()))
        return {"base": 6, "root": 6, "scalars": 1, "gravity": 3, "closures": closures, **frames}

    @property
    def width(self) -> int:
        """Columns of what depends on an identity operand."""
        over = {space for name, space in self.program.inputs if name in self.program.columns}
        return max([1, *(self._columns_of(space) for space in over)])

    def _columns_of(self, space: str) -> int:
        """Columns of an identity operand."""
        if self.blocks:
            return {"links": 6, "parameters": PARAMETERS}.get(space, self.blocks)
        return self.flat_rows.get(space, 1)

    @cached_property
    def wide(self) -> frozenset[str]:
        return self._with_columns_of(set(self.program.columns))

    def _with_columns_of(self, operands: set[str]) -> frozenset[str]:
        """The fields that have the columns of one of some operands."""
        found = set(operands)
        while True:
            more = {s.target for s in self.program.statements if _has_columns_of(s.term, found)} - found
            if not more:
                return frozenset(found)
            found |= more

    @cached_property
    def _block_columns(self) -> dict[str, int]:
        spaces = dict(self.program.inputs)
        operands = self.program.columns if self.blocks else ()
        return {x: self._columns_of(spaces[name]) for name in operands for x in self._with_columns_of({name})}

    def columns(self, name: str) -> int:
        if self.blocks:
            return self._block_columns.get(name, 1)
        return self.width if name in self.wide else 1

    def shape(self, name: str, width: int = 6, bodies: int = 1) -> tuple[int, int]:
        """Shape of a field that neighbours or frames read at a link of so many motions and bodies, or of a flat
        input."""
        if name == "X":
            return 12 * bodies, 1
        square = any(ir.is_sent(x, ir.PARENT) and x.is_congruent and x.name == name for x in self.everything)
        return (width, width) if square else (width, self.columns(name))

    def entries(self, name: str, model: Model) -> int:
        """Size of an input that is one vector."""
        space = dict(self.program.inputs)[name]
        return self.flat_rows[space] if space in self.flat_rows else sum(link_rows(model, space))

    @cached_property
    def by_column(self) -> frozenset[str]:
        """The fields that are made anew for each column."""
        return depending(self.program, self.operand) if self.operand else frozenset()

    # Who reads what

    @cached_property
    def inputs_by_link(self) -> dict[str, str]:
        """Inputs of which every link has a part, and whether over joints or links."""
        return {name: space for name, space in self.program.inputs if space not in self.flat_rows}

    @cached_property
    def outputs(self) -> dict[str, str]:
        """Results of which every link has a part, and whether over joints or links."""
        return {name: space for name, space in self.program.outputs if space not in self.flat_rows}

    def parts(self, name: str, model: Model) -> list[int]:
        """Number of entries of an input or result per link."""
        return [n * self.columns(name) for n in link_rows(model, self.inputs_by_link.get(name) or self.outputs[name])]

    def part(self, name: str, dofs: int, width: int, parameters: int) -> tuple[int, int]:
        """The shape of a link's part of an input or result."""
        space = self.inputs_by_link.get(name) or self.outputs[name]
        return {"links": width, "parameters": parameters}.get(space, dofs), self.columns(name)

    @cached_property
    def at_root(self) -> bool:
        """Whether the axes of the link on the world must be its body's."""
        spaces = {space for _, space in (*self.program.inputs, *self.program.outputs)}
        return "root" in spaces or any(isinstance(x, ir.ToRoot) or ir.is_sent(x, ir.ROOT) for x in self.everything)

    @cached_property
    def keeps_origins(self) -> bool:
        """Whether the link origins matter."""
        return bool({"links", "parameters"} & {*self.outputs.values()} or "links" in self.inputs_by_link.values())

    @cached_property
    def is_decoupled(self) -> bool:
        """Whether links are in coordinates in which few modes move the ends of bodies that bend."""
        return has_rate_coordinates(self.program)

    @cached_property
    def in_body_axes(self) -> bool:
        """Whether steps must know how the bodies' own axes lie."""
        return any(isinstance(x, ir.Call) and x.function in AXES for x in self.everything)

    @cached_property
    def motors(self) -> bool:
        """Whether steps ask for armature or the spin of rotors, whether a robot has any or not."""
        calls = any(isinstance(x, ir.Call) and "rotor" in x.function for x in self.everything)
        return calls or any(isinstance(x, ir.Data) and x.name in ("A", "S") for x in self.everything)

    @cached_property
    def passing(self) -> frozenset[str]:
        """Fields that only children read, on the way out."""
        result: set[str] = set()
        for number, sweep in enumerate(self.program.sweeps):
            made = {s.target for s in sweep.statements} if sweep.direction == ir.OUTWARD else set()
            result |= made & self._from_parents(sweep) - self._read_later(number)
        return frozenset(result)

    @cached_property
    def shared_fields(self) -> frozenset[str]:
        """Fields that children read at their parent and that last."""
        return frozenset().union(*(self._from_parents(sweep) for sweep in self.program.passes)) - self.passing

    @staticmethod
    def _from_parents(sweep: ir.Sweep) -> set[str]:
        found = {x.name for s in sweep.statements for x in parts(s.term) if ir.is_sent(x, ir.PARENT)}
        poses = any(isinstance(x, ir.Call) and x.function == "pose" for s in sweep.statements for x in parts(s.term))
        return found | ({"X"} if poses else set())

    def _read_later(self, number: int) -> set[str]:
        later = [s.term for sweep in self.program.sweeps[number + 1 :] for s in sweep.statements]
        return {part.name for term in later for part in parts(term) if isinstance(part, ir.Field) or ir.is_sent(part)}

    @cached_property
    def repeated_fields(self) -> dict[str, Term]:
        """Fields that are computed again where they are needed: a(k) costs less than to keep it."""
        return {
            s.target: s.term
            for sweep in self.program.passes
            for s in sweep.statements
            if isinstance(s.term, ir.Call) and s.term.function == "bias_acceleration"
        }

    @cached_property
    def frame_fields(self) -> frozenset[str]:
        """Fields that task frames read at their links."""
        named = {x.name for x in self.everything if isinstance(x, ir.ToTask)}
        asked = {x.function for x in self.everything if isinstance(x, ir.Call)}
        at_frames = "bias_acceleration_at_frames" in asked
        placed = named or at_frames or FRAME_POSES in asked or any(is_taken_in(x) for x in self.everything)
        inside = {t.left.name for t in self.only_at_frames.values()}  # type: ignore[attr-defined]
        named = (named - self.only_at_frames.keys()) | inside
        return frozenset(named | ({"X"} if placed else set()) | ({"V"} if at_frames else set()))

    @cached_property
    def only_at_frames(self) -> dict[str, ir.Times]:
        """Fields Ω(k) Σ_f B_f x_f that only task frames read: computed there and not at every link."""
        found = {}
        for sweep in self.program.passes:
            for s in sweep.statements:
                t = s.term
                if isinstance(t, ir.Times) and isinstance(t.left, ir.Field) and ir.is_sent(t.right, ir.FRAMES):
                    found[s.target] = t
        squares = {x.name for x in self.everything if isinstance(x, ir.Move) and x.act == ir.COMPLIANCE}
        elsewhere = {x.name for x in self.everything if isinstance(x, ir.Field) or ir.is_sent(x)}
        return {name: t for name, t in found.items() if t.left.name in squares and name not in elsewhere}  # type: ignore[attr-defined]

    @cached_property
    def totals(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(x for x in self.everything if isinstance(x, ir.ToBase | ir.ToRoot | ir.ToScalar)))
