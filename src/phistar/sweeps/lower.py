"""Lowering of statements to sweeps: `lower` is the only maker of programs, so that the algebra stays the source.

Each value of the graph becomes a term at link k; each operator letter is one small rule. What the papers call fusion
is the schedule (`phistar.identities.schedule`) plus the passes listed in `PASSES`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from phistar.identities.graph import TRANSITION, apply, blocks, compound, is_by_columns, is_solved_for, origin_of
from phistar.identities.graph_values import ONE as ONE_OPERAND
from phistar.identities.graph_values import (
    Apply,
    Blocks,
    Bracketed,
    Operand,
    Pairing,
    Solve,
    Total,
    Value,
    arguments,
    operand_of,
    walk,
)
from phistar.identities.negatives import with_shared_negatives
from phistar.identities.pairings import halfway
from phistar.identities.schedule import OUTWARD, schedule, symbol_of
from phistar.operators.linearized import BRACKETS, MADE, REGRESSOR, TOGETHER
from phistar.operators.meanings import DIAGONALS, FIELDS, GIVEN, MADE_OF, is_part
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol, adjoint
from phistar.operators.own import is_flat_operator, is_own_vector, is_row_operator, shown_name
from phistar.operators.show import text
from phistar.operators.spaces import RANKS, SCALARS
from phistar.operators.symbols import Symbols, rotors_and_axes
from phistar.sweeps import ir, regions
from phistar.sweeps.defining_equations import POSES, SCANNED, Equations, scan
from phistar.sweeps.ir import Call, Data, Field, Program, Statement, Sweep, Term, Times, Transpose, plus, times
from phistar.sweeps.passes import PASSES
from phistar.sweeps.rate_recursions import Direction, rate_field

ONE = Fraction(1)
_FLAT = ("task", "base", "root", "closures", "scalars", *RANKS)
_NAMES = {"phi": ("f", "α"), "psi": ("z", "λ"), "D": ("ν", "ν"), "phi_b": ("X_b", "Y_b")}
_NAMES[TRANSITION] = _NAMES["psi"]


def lower(node: Node, matrix: bool = False) -> Program:
    """The program of one statement, applied to an operand x (or, with `matrix`, to the identity)."""
    return lower_all({"y": node}, matrix)


def lower_all(nodes: dict[str, Node], matrix: bool = False, joseph: bool = False) -> Program:
    """The program of several statements that share their operand and whatever they have in common."""
    operands = {name: operand_of(node, matrix) for name, node in nodes.items()}
    graphs = with_shared_negatives(halfway(apply(node, operands[name])) for name, node in nodes.items())
    roots = dict(zip(nodes, graphs, strict=True))
    wanted = tuple(name for name, node in nodes.items() if matrix and node.domain != SCALARS)
    program = Lowering(roots, tuple(operands.values()), matrix, wanted, joseph).program()
    for improve in PASSES:
        program = improve(program)
    return program


def lower_poses() -> Program:
    """The program that only places the links: the recursion every task frame needs."""
    return Program((), (Sweep(OUTWARD, (POSES,)),), ())


def lower_frame_poses() -> Program:
    """The program that places the links and, from them, the task frames, each as a 4×4 matrix by rows."""
    placed = Sweep("flat", (Statement("T", Call("frame_poses", (Field("X"),))),))
    return Program((), (*lower_poses().sweeps, placed), (("T", "poses"),), results=(("T", "T"),))


def _move(source: str, act: str) -> Callable[[str], Term]:
    return lambda name: ir.Move(source, act, name)


_REACHING: dict[str, tuple[Callable[[str], Term], Callable[[str], Term]]] = {
    "E_phi": (ir.from_children, ir.from_parent),
    "E_phi_b": (_move(ir.PARENT, ir.FORCE), _move(ir.CHILDREN, ir.MOTION)),
    "E_s": (_move(ir.SIBLINGS, ir.FORCE), _move(ir.SIBLINGS, ir.MOTION)),
    "pi_f": (ir.ToRoot, _move(ir.ROOT, ir.COPY)),
    "B": (_move(ir.FRAMES, ir.FORCE), ir.ToTask),
    "E": (ir.ToBase, _move(ir.BASE, ir.MOTION)),
}
"""Letters that reach other links, plain and starred."""


class Lowering:
    """The names and statements of one program while it is being written down."""

    def __init__(
        self,
        roots: dict[str, Value],
        operands: tuple[Value, ...],
        matrix: bool,
        matrices: tuple[str, ...],
        joseph: bool = False,
    ) -> None:
        self.roots, self.matrix, self.matrices = roots, matrix, matrices
        self.equations = Equations(self, joseph)
        self.plan = schedule(tuple(roots.values()))
        reached = [v for root in roots.values() for v in walk(root)]
        self.values = list(dict.fromkeys([*reached, *operands]))  # what is zero takes its operand too
        self.readers: dict[Value, list[Value]] = {}
        for value in self.values:
            for argument in arguments(value):
                self.readers.setdefault(argument, []).append(value)
        self.names: dict[Value, str] = {}
        letters = (symbol_of(x.letter) for x in self.values if isinstance(x, Apply) and x.argument is ONE_OPERAND)
        self.used = {GIVEN.get(x.name) or shown_name(x.name) for x in letters if self.is_given(x)}
        self.inputs: dict[str, str] = {}
        self.stages: dict[float, list[Statement]] = {}
        self.pairs: dict[bool, list[tuple[Node, ...]]] = {}

    def program(self) -> Program:
        for recursion, when in self.plan.fields.items():
            for statement in self.equations.statements(recursion):
                self.used.add(statement.target)
                self.stages.setdefault(when, []).append(statement)
        for value in self.values:
            self.emit(value)
        results = {name: self.output(name, root) for name, root in self.roots.items()}
        spaces = {results[name]: root.space.over for name, root in self.roots.items()}  # type: ignore[attr-defined]
        sweeps = []
        for when in sorted(self.stages):
            direction = "flat" if when != int(when) else self.plan.sweeps[int(when)]
            sweeps.append(Sweep(direction, tuple(self.stages[when])))
        operands = {self.names[v] for v in self.values if isinstance(v, Operand) and v in self.names}
        return Program(
            inputs=tuple(sorted(self.inputs.items(), key=lambda item: item[0] not in operands)),  # x, then vectors
            sweeps=tuple(sweeps),
            outputs=tuple(spaces.items()),
            columns=tuple(self.names[v] for v in self.values if isinstance(v, Operand) and v.columns),
            results=tuple(results.items()),
            matrices=self.matrices,
            operands=tuple(
                (self.names[v], v.space.name) for v in self.values if isinstance(v, Operand) and v in self.names
            ),
        )

    def direction(self, along: Symbol) -> Direction:
        field = GIVEN.get(along.name) or shown_name(along.name)
        self.inputs[field] = "joints"
        self.used.add(field)
        return Direction(field)

    def output(self, name: str, root: Value) -> str:
        if root not in self.names:
            self.store(root, name)
        return self.names[root]

    # Naming

    def fresh(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self.used:
            count += 1
            name = wanted + "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(count))
        self.used.add(name)
        return name

    def suffix(self, pair: tuple[Node, ...]) -> str:
        """Primes that tell symbols of one mass (and what goes with it) from those of others."""
        if not pair:
            return ""
        known = self.pairs.setdefault(len(pair) > 1, [])
        if pair not in known:
            known.append(pair)
        return "′" * known.index(pair)

    def store(self, value: Value, wanted: str) -> str:
        term = self.term(value)
        self.names[value] = self.fresh(wanted)
        self.stages.setdefault(self.plan.when[value], []).append(Statement(self.names[value], term))
        return self.names[value]

    def name_for(self, value: Value) -> str:
        if isinstance(value, Apply):
            symbol = symbol_of(value.letter)
            if symbol.name in ("a", "b"):
                return symbol.name
            if symbol.name in _NAMES and (symbol.name != "D" or isinstance(value.letter, Inverse)):
                return _NAMES[symbol.name][isinstance(value.letter, Adjoint)]
        if isinstance(value, Total) and value.space.over == "joints":
            return "ε"
        return "s" if value.space.over not in _FLAT else "t"  # type: ignore[attr-defined]

    # Values to statements

    def emit(self, value: Value) -> None:
        """Give a value a field of its own where others need to find it."""
        if value in self.names or value is ONE_OPERAND:
            return
        if isinstance(value, Operand):
            self.names[value] = self.fresh("x" if value.columns == self.matrix else "I")  # I: of what is to be inverted
            self.inputs[self.names[value]] = value.space.over
        elif isinstance(value, Apply) and value.argument is ONE_OPERAND and self.is_given(symbol_of(value.letter)):
            self.names[value] = GIVEN.get(symbol_of(value.letter).name) or shown_name(symbol_of(value.letter).name)
            self.used.add(self.names[value].removesuffix("(0)"))  # f(0) is not where an f(k) starts
            self.inputs[self.names[value]] = value.space.over
        elif isinstance(value, Apply) and symbol_of(value.letter).name in ("V", "V_ref"):
            self.names[value] = FIELDS[symbol_of(value.letter).name]  # made by its recursion
        elif isinstance(value, Apply) and symbol_of(value.letter).name in SCANNED:
            self.names[value] = self.fresh(self.name_for(value))
            made = scan(self.names[value], value.letter, self.term(value.argument), self)
            self.stages.setdefault(self.plan.when[value], []).extend(made)
        elif isinstance(value, Blocks):
            term = self.block(value.node)
            same = (made.target for stage in self.stages.values() for made in stage if made.term is term)
            known = term.name if isinstance(term, Field) else next(same, None)
            if known is not None:  # made by its recursion
                self.names[value] = known
            else:
                self.store(value, f"[{text(value.node)}]")
        elif self.needs_field(value):
            self.store(value, self.name_for(value))

    @staticmethod
    def is_given(symbol: Symbol) -> bool:
        return symbol.name in GIVEN or is_own_vector(symbol)

    def needs_field(self, value: Value) -> bool:
        """A value read twice, in another sweep, at a neighbour, or by a flat statement."""
        readers = self.readers.get(value, [])
        if isinstance(value, Total) and not value.terms:
            return False
        if len(readers) > 1 or isinstance(value, Solve):
            return True
        if any(self.plan.when[r] != self.plan.when[value] for r in readers):
            return True
        letters = [symbol_of(r.letter) for r in readers if isinstance(r, Apply)]
        shifts = any(x.name in _REACHING or is_row_operator(x) for x in letters)
        by_columns = any(isinstance(r, Bracketed) and is_by_columns(symbol_of(r.letter)) for r in readers)
        return shifts or by_columns or any(isinstance(r, Solve) for r in readers)

    # Values to terms

    def term(self, value: Value) -> Term:
        if value in self.names:
            return Field(self.names[value])
        match value:
            case Total(terms=terms):
                return plus([(c, self.term(inner)) for c, inner in terms])
            case Apply(letter=letter, argument=argument):
                return self.apply(letter, argument)
            case Solve():
                return self.solve(value)
            case Pairing():
                return self.pair(value)
            case Bracketed(letter=letter) if symbol_of(letter).name == REGRESSOR:
                return self.of_parameters(value)
            case Bracketed(letter=letter) if is_by_columns(symbol_of(letter)):
                if value.made_from.space.over in _FLAT:  # type: ignore[attr-defined]
                    few = self.term(value.made_from)
                    return times(Transpose(few) if isinstance(letter, Adjoint) else few, self.term(value.argument))
                made, y = self.name_of(value.made_from), self.name_of(value.argument)
                return ir.ToScalar(made, y) if isinstance(letter, Adjoint) else ir.Combined(made, y)
            case Bracketed(letter=letter, argument=argument):
                return self.multiply(letter, self.term(argument))
            case Blocks(node=node):
                return self.block(node)
        raise AssertionError(value)

    def solve(self, value: Solve) -> Term:
        if value.space.over in _FLAT:
            return ir.SolveFlat(self.term(value.matrix), self.term(value.argument), value.symmetric)
        for part in (value.matrix, value.argument):
            if part not in self.names:
                self.store(part, "X")
        return ir.SolveStacked(self.names[value.matrix], self.names[value.argument], value.symmetric, value.space.over)

    def of_parameters(self, value: Bracketed) -> Term:
        """Y*x or Yπ. Π = Y* is a field, made from V and α in the axes of the bodies, whose parameters are meant."""
        motions = Field("V"), self.term(value.made_from)
        made = Call("parameter_forces", tuple(Call("motion_in_body", (x,)) for x in motions))
        stage = self.stages.setdefault(self.plan.when[value], [])
        known = next((s.target for s in stage if s.term is made), None)
        if known is None:
            known = self.fresh("Π")
            stage.append(Statement(known, made))
        if isinstance(value.letter, Adjoint):
            return times(Field(known), Call("motion_in_body", (self.term(value.argument),)))
        return Call("force_of_body", (times(Transpose(Field(known)), self.term(value.argument)),))

    def apply(self, letter: Node, argument: Value) -> Term:
        symbol, starred = symbol_of(letter), isinstance(letter, Adjoint)
        name = symbol.name
        if letter.domain is not None and letter.domain.over == "scalars":
            assert name in MADE_OF, f"{name} is not a vector that sweeps can make; simplify the statement first"
            made = MADE_OF[name]
            about = (self.block(symbol.of[0]),) if made.is_about else ()
            return Call(made.function, (*about, *map(Field, made.fields)))
        if name in _REACHING:
            return _REACHING[name][starred](self.name_of(argument))
        if is_row_operator(symbol):
            gathers = letter.codomain is not None and letter.codomain.over in RANKS
            return (regions.Gathered if gathers else regions.Spread)(name, starred, self.name_of(argument))
        if name in ("Q", "U_task") or is_flat_operator(symbol):
            return ir.TaskOperator(name, starred, self.term(argument))
        if name == "U":
            return self.term(argument)
        return self.multiply(letter, self.term(argument))

    def multiply(self, letter: Node, y: Term) -> Term:
        """A block times y; X⁻¹y of a vector and a symmetric X is solved for."""
        if self.matrix or not is_solved_for(letter):
            return times(self.block(letter), y)
        return Transpose(ir.Divide(Transpose(y), self.block(symbol_of(letter))))

    def pair(self, value: Pairing) -> Term:
        """x*y: over the links or joints one product each, added up."""
        if value.vector.space.over in _FLAT:  # type: ignore[attr-defined]
            return times(Transpose(self.term(value.vector)), self.term(value.argument))
        return ir.ToScalar(self.name_of(value.vector), self.name_of(value.argument))

    def name_of(self, value: Value) -> str:
        if value not in self.names:
            self.store(value, self.name_for(value))
        return self.names[value]

    def block(self, node: Node) -> Term:
        """The block of a memoryless operator at link k."""
        match node:
            case Adjoint(of=inner):
                return Transpose(self.block(inner))
            case Inverse(of=Symbol(name="D")):
                return self.equations.field(node)
            case Inverse(of=inner) if inner is not Symbols.U:
                return ir.Invert(self.block(inner))
            case _ if node in (Symbols.U, Inverse(Symbols.U)):
                return Data("unit")
            case Symbol(name=name) if name in DIAGONALS:
                self.inputs[DIAGONALS[name]] = "joints"
                self.used.add(DIAGONALS[name])
                return Call("diagonal", (Field(DIAGONALS[name]),))
            case Symbol(name="D_root"):
                return Call("root", (Field("D" + self.suffix(node.of)),))
            case Symbol(name="rate", of=(Symbol() as inner, Symbol() as along, *_)):
                return rate_field(inner, self.suffix(inner.of), self.direction(along))
            case Symbol(name=name) if name in BRACKETS:
                return Call(BRACKETS[name], (self.term(origin_of(node)),))
            case Symbol(name=name) if name == TOGETHER:
                return self.term(origin_of(node))
            case Symbol(name=name) if name in MADE:
                known = self.names.get(blocks(node))
                return Field(known) if known else self.block(compound(node))
            case Symbol():
                return self.equations.field(node) if node.name in FIELDS or is_part(node) else Data(node.name)
            case Sum(terms=terms):
                held = self.find_part(node)
                known = [(ONE, self.term(blocks(held)))] if held else []
                others = [(c, self.block(x)) for c, x in terms if not held or (c, x) not in held.terms]
                return plus([*known, *others])
            case Product(factors=factors):
                if isinstance(factors[0], Symbol) and factors[0].name == "B" and factors[-1] is adjoint(factors[0]):
                    return Data("BUB*")
                result = self.block(factors[-1])
                for part in (x for x in reversed(factors[:-1]) if x is not Symbols.U):  # the unit metric of the joints
                    result = Times(self.block(part), result)
                return result
            case Identity(space=space):
                return Data("I" if space is not None and space.over == "links" else "unit")
        raise AssertionError(node)

    def find_part(self, node: Sum) -> Sum | None:
        """The sum already computed whose terms are among this one's, or None."""
        made = (value.node for value in self.names if isinstance(value, Blocks))
        return next((x for x in made if isinstance(x, Sum) and set(x.terms) < set(node.terms)), None)

    def mass_terms(self, pair: tuple[Node, ...]) -> tuple[Term, Term, Term]:
        """The blocks of the mass, armature and rotors that a Riccati equation is about."""
        mass = self.block(pair[0]) if pair else Data("M")
        armature = self.block(pair[1]) if len(pair) >= 2 else ir.ZERO
        spin, _ = rotors_and_axes(pair)
        return mass, armature, ir.ZERO if spin is None else self.block(spin)
