"""Statements of sweeps, from the equations that define symbols (`phistar/operators/meanings.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from phistar.operators.linearized import BRACKETS
from phistar.operators.meanings import FIELDS, GIVEN, POSE, PRIMITIVE, Recursion, joseph
from phistar.operators.nodes import Adjoint, Inverse, Node, Product, Sum, Symbol, adjoint, product
from phistar.operators.symbols import Symbols
from phistar.operators.two_way import E_S
from phistar.sweeps import ir
from phistar.sweeps.ir import Call, Field, Statement, Term, from_parent, plus, times
from phistar.sweeps.rate_recursions import RATE_RECURSIONS, Blocks, Direction

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
