"""Statements of sweeps: from the equations that define symbols (`phistar/operators/meanings.py`), and of recursions
along the links, z = φy, ψy, φ_b y and (N − ℰφR)⁻¹y, with their adjoints."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from phistar.identities.graph import TRANSITION
from phistar.identities.schedule import symbol_of
from phistar.operators.linearized import BRACKETS
from phistar.operators.meanings import FIELDS, GIVEN, POSE, PRIMITIVE, Recursion, joseph
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol, adjoint, product
from phistar.operators.symbols import Symbols, rotors_and_axes
from phistar.operators.two_way import E_S
from phistar.sweeps import ir
from phistar.sweeps.ir import Call, Field, Statement, Term, Transpose, from_parent, plus, times
from phistar.sweeps.rate_recursions import RATE_RECURSIONS, Blocks, Direction

ONE = Fraction(1)
SCANNED = ("phi", "psi", "phi_b", TRANSITION)
"""Letters that are recursions along the links."""

POSES = Statement("X", Call("pose", ()))
_CONGRUENT: dict[Node, tuple[str, str]] = {
    Symbols.E_phi: (ir.CHILDREN, ir.INERTIA),
    Symbols.E_phi.T: (ir.PARENT, ir.COMPLIANCE),
    Symbols.E_phi_b: (ir.PARENT, ir.INERTIA),
    E_S: (ir.SIBLINGS, ir.INERTIA),
}
"""Where X comes from in LXL* of a defining equation, and how."""


class Lowered(Protocol):
    """The program that the statements are for."""

    inputs: dict[str, str]

    def fresh(self, wanted: str) -> str: ...
    def suffix(self, pair: tuple[Node, ...]) -> str: ...
    def block(self, node: Node) -> Term: ...
    def direction(self, along: Symbol) -> Direction: ...
    def mass_terms(self, pair: tuple[Node, ...]) -> Blocks: ...


@dataclass(frozen=True, eq=False)
class Equations:
    """Recursions of symbols as statements; `joseph`: with Joseph's update of P⁺."""

    of: Lowered
    joseph: bool

    def statements(self, recursion: Recursion) -> list[Statement]:
        """The statements of a recursion's equations, or of these differentiated along a direction."""
        if recursion is POSE:
            return [POSES]
        if recursion.along is not None:
            suffix, terms = self.of.suffix(recursion.of), self.of.mass_terms(recursion.of)
            return RATE_RECURSIONS[recursion.name](suffix, terms, self.of.direction(recursion.along))
        return [self.equation(*each) for each in (joseph(recursion) if self.joseph else recursion).equations]

    def equation(self, letter: Node, node: Node) -> Statement:
        """A field by its defining equation; an inverse that stands for itself is made there."""
        term = ir.Invert(self.defining(letter.of)) if isinstance(letter, Inverse) else self.defining(node)
        symbol = letter.of if isinstance(letter, Inverse) else letter
        assert isinstance(symbol, Symbol)
        return Statement(self.field(letter).name, term, "symmetric" in symbol.traits)

    def field(self, letter: Node) -> Field:
        """The field of a letter that equations define."""
        symbol, inverted = (letter.of, "⁻¹") if isinstance(letter, Inverse) else (letter, "")
        assert isinstance(symbol, Symbol)
        return Field(FIELDS.get(symbol.name, symbol.name) + inverted + self.of.suffix(symbol.of))

    def defining(self, node: Node) -> Term:
        """The right-hand side of a defining equation at link k."""
        match node:
            case Sum(terms=terms):
                return plus([(c, self.defining(x)) for c, x in terms])
            case Product(factors=(first, Symbol() as carried, last)) if last is adjoint(first) and first in _CONGRUENT:
                source, act = _CONGRUENT[first]
                return ir.Move(source, act if "symmetric" in carried.traits else ir.CARRIED, self.field(carried).name)
            case Product(factors=(Adjoint(of=Symbol(name="E_phi")), Symbol() as carried)):
                return from_parent(self.field(carried).name)
            case Product(factors=(*others, Inverse(of=Symbol(name=name) as matrix))) if name != "D":
                return ir.Divide(self.of.block(product(*others)), self.field(matrix))
            case Product(factors=(first, *others)) if isinstance(first, Symbol) and first.name in BRACKETS:
                return times(self.defining(first), self.of.block(product(*others)))
            case Symbol(name=name, of=(origin, *_)) if name in BRACKETS:
                return Call(BRACKETS[name], (self.defining(origin),))
            case Symbol(name=name, of=vectors, traits=traits) if PRIMITIVE in traits:
                return Call(name, tuple(self.defining(x) for x in vectors))
            case Product(factors=(first, Symbol() as vector)) if "vector" in vector.traits:
                return times(self.of.block(first), self.defining(vector))
            case Symbol(name=name, traits=traits) if "vector" in traits and name in GIVEN:
                self.of.inputs[GIVEN[name]] = "joints"
                return Field(GIVEN[name])
            case Symbol(traits=traits) if "vector" in traits:
                return self.field(node)
        return self.of.block(node)


# Recursions along the links


def scan(name: str, letter: Node, y: Term, program: Lowered) -> list[Statement]:
    """z = φy, ψy (inward) and φ*y, ψ*y (outward); φ_b runs back."""
    symbol, outward = symbol_of(letter), isinstance(letter, Adjoint)
    if symbol.name == "phi":
        return [_handover(name, ir.from_parent(name) if outward else ir.from_children(name), y)]
    if symbol.name == "phi_b":
        source, act = (ir.CHILDREN, ir.MOTION) if outward else (ir.PARENT, ir.FORCE)
        return [_handover(name, ir.Move(source, act, name), y)]
    if symbol.name == TRANSITION:
        return _transition_scan(name, symbol.of, y, outward, program)
    return _articulated_scan(name, symbol.of, y, outward, program)


def _handover(name: str, carried: Term, y: Term) -> Statement:
    return Statement(name, plus([(ONE, carried), (ONE, y)]))


def _articulated_scan(name: str, pair: tuple[Node, ...], y: Term, outward: bool, program: Lowered) -> list[Statement]:
    """ψ(p,k) = φ(p,k)(I − GH) is never formed."""
    gain, axes = Field("G" + program.suffix(pair)), rotors_and_axes(pair)[1]
    h = None if isinstance(axes, Identity) else program.block(axes)
    if outward:
        u = ir.from_parent(name)
        held = times(Transpose(h), times(Transpose(gain), u)) if h else times(Transpose(gain), u)
        return [Statement(name, plus([(ONE, u), (-ONE, held), (ONE, y)]))]
    carried, z = program.fresh(name + "⁺"), Field(name)
    felt = times(h, z) if h else z
    return [
        _handover(name, ir.from_children(carried), y),
        Statement(carried, plus([(ONE, z), (-ONE, times(gain, felt))])),
    ]


def _transition_scan(name: str, of: tuple[Node, ...], y: Term, outward: bool, program: Lowered) -> list[Statement]:
    """Nz = ℰφRz + y inward, N*z = R*ℰφ*z + y outward; N is I where none is given."""
    step, *own = (adjoint(x) for x in of) if outward else of
    carried = program.fresh(name + "⁺")
    sent = Statement(carried, _step_times(step, ir.from_parent(name) if outward else Field(name), program))
    total = plus([(ONE, Field(carried) if outward else ir.from_children(carried)), (ONE, y)])
    made = Statement(name, times(ir.Invert(program.block(own[0])), total) if own else total)
    return [sent, made] if outward else [made, sent]


def _step_times(node: Node, x: Term, program: Lowered) -> Term:
    """A memoryless operator times a vector, factor by factor."""
    match node:
        case Sum(terms=terms):
            return plus([(c, _step_times(term, x, program)) for c, term in terms])
        case Adjoint(of=Sum(terms=terms)):
            return plus([(c, _step_times(adjoint(term), x, program)) for c, term in terms])
        case Product(factors=factors):
            for factor in reversed(factors):
                x = _step_times(factor, x, program)
            return x
        case Identity():
            return x
    return times(program.block(node), x)
