"""Derivatives of vectors by θ, θ̇ and θ̈: the product rule over the letters of a statement.

What a displacement δθ changes is the way between links alone. A joint that gives way by H*δθ turns what comes from the
parent against it, δ(ℰφ*x) = (ℰφ*x)~H*δθ, and what goes there with it, δ(ℰφ)f = ℰφ f^H*δθ, so that

    δφ = φ δℰφ φ,    δφ* = φ* δℰφ* φ*.

H, M and A stay as they are where the axes are constant in their links (`constant_axes`).
"""

from __future__ import annotations

from dataclasses import replace

from phistar.errors import StatementError
from phistar.identities.derivative_laws import spatial_bias
from phistar.operators.linearized import ACCELERATION, BRACKETS, PLACE, VELOCITY, force_bracket, motion_bracket
from phistar.operators.nodes import (
    Adjoint,
    Identity,
    Inverse,
    Node,
    Product,
    Sum,
    Symbol,
    adjoint,
    product,
    summation,
    zero,
)
from phistar.operators.own import is_own
from phistar.operators.rate_letters import AXES_RATE, FRAME_TURN, frame_sweep, frame_turn
from phistar.operators.spaces import RATES, TORQUES
from phistar.operators.symbols import Symbols

CITATION = "SRW22; δφ = φδℰφφ"
_CONSTANT = ("H", "M", "A", "S", "U", "U_task", "Q", "R", "L")
_HELD = ("v", "qdd", "a_g", "a_b", "T", "f", "u", "F", "v_ref")
_DEFINED = {
    "mass": lambda s: s.H @ s.phi @ s.M @ s.phi.T @ s.H.T + s.A + _spin(s) + adjoint(_spin(s)),
    "J": lambda s: s.B.T @ s.phi.T @ s.H.T,
}
"""Operators by what they are made of (RJK91 eqs. 1, 3)."""

_VECTORS = {
    "C": lambda s: s.H @ spatial_bias(s),
    "g": lambda s: s.H @ s.phi @ s.M @ s.phi.T @ s.E.T @ s.a_g,
    "Jdot_v": lambda s: frame_turn(s.B.T @ s.V) @ s.B.T @ s.V - s.B.T @ s.phi.T @ s.V_J_tilde @ s.E_phi.T @ s.V,
}
"""Vectors of motion by what they are made of; J̇θ̇ = Θβ − B*φ*(H*θ̇)~ℰφ*V with β = B*V."""


def _spin(s: Symbols) -> Node:
    """Hφ̃S of geared rotors."""
    return s.H @ s.phi @ s.E_phi @ s.S


def differentiate(partial: Symbol, symbols: Symbols) -> Node:
    """The derivative that a symbol ∂x/∂θ, ∂x/∂θ̇ or ∂x/∂θ̈ stands for."""
    return _Derivative(partial.name, symbols)(_in_spatial_accelerations(partial.of[0], symbols))


def _in_spatial_accelerations(node: Node, s: Symbols) -> Node:
    """ℳθ̈ + 𝒞 + 𝒢 as HF + Aθ̈: where all of it changes together, F = φ(Mα + 𝓑V) is a vector of its own."""
    terms = [term for _, term in node.terms] if isinstance(node, Sum) else [node]
    both = s, replace(s, armature=True)  # a statement for any robot speaks of A, if only to find none
    for each in (x for x in both if x.mass @ s.acceleration in terms and node.codomain == TORQUES):
        rest = node - (each.mass @ s.acceleration + each.C + each.g)
        if not isinstance(rest, Sum) or len(rest.terms) < 2:
            return s.H @ s.link_forces + each.A @ s.acceleration + rest
    return node


class _Derivative:
    """Derivative by one of the three, over the symbols of a mechanism; a vector x gives ∂x, Rates → where x lives."""

    def __init__(self, by: str, symbols: Symbols) -> None:
        self.by, self.s = by, symbols

    def __call__(self, node: Node) -> Node:
        if node is self.s.acceleration:  # held, even where a statement says what it is
            return Identity(RATES) if self.by == ACCELERATION else self.none(node)
        match node:
            case Sum(terms=terms):
                return summation([(1, self.none(node)), *((c, self(term)) for c, term in terms)])
            case Product(factors=(letter, *others)):
                return self.product_rule(letter, product(*others))
            case Symbol():
                return self.vector(node)
        raise StatementError(f"{node!r} is not a statement that laws differentiate.")

    def none(self, node: Node) -> Node:
        return zero(RATES, node.codomain)

    def product_rule(self, letter: Node, x: Node) -> Node:
        """∂(Lx) = (∂L)x + L∂x."""
        s = self.s
        if letter is s.B_v and x is s.V:
            return (2 * s.B_v + s.M @ s.V_tilde) @ self(s.V)
        if letter is s.Psi_dot and x is s.v:  # V_p~H*θ̇ = −(H*θ̇)~V_p
            return s.Psi_dot @ self(s.v) - s.V_J_tilde @ self(s.E_phi.T @ s.V)
        if letter is s.phi.T or letter is s.phi:  # one scan takes both parts
            return letter @ (self.crossing(s.E_phi.T if letter is s.phi.T else s.E_phi, letter @ x) + self(x))
        return self.of_operator(letter, x) + letter @ self(x)

    def of_operator(self, node: Node, x: Node) -> Node:
        """(∂X)x of an operator X and a vector x that is held."""
        nothing = zero(RATES, node.codomain)
        match node:
            case Identity():
                return nothing
            case Sum(terms=terms):
                return summation([(1, nothing), *((c, self.of_operator(term, x)) for c, term in terms)])
            case Adjoint(of=Sum(terms=terms)):
                return summation([(1, nothing), *((c, self.of_operator(adjoint(term), x)) for c, term in terms)])
            case Product(factors=(first, *others)):
                rest = product(*others)
                return self.of_operator(first, rest @ x) + first @ self.of_operator(rest, x)
            case Inverse(of=inner):
                return -(node @ self.of_operator(inner, node @ x))
        return self.moved_letter(node, x)

    def moved_letter(self, letter: Node, x: Node) -> Node:
        s, starred = self.s, isinstance(letter, Adjoint)
        plain = letter.of if isinstance(letter, Adjoint) else letter
        assert isinstance(plain, Symbol)
        name = plain.name
        if "vector" in plain.traits and starred:  # y*x, a number
            return adjoint(x) @ self(plain)
        if name in _CONSTANT or is_own(plain):
            return zero(RATES, letter.codomain)
        if name == "phi":
            return letter @ self.crossing(s.E_phi.T if starred else s.E_phi, letter @ x)
        if name == "E_phi" or plain is s.E:
            return self.crossing(letter, x)
        if plain is s.B:
            return self.frames(letter, x)
        if name in BRACKETS and not starred:
            return self.of_bracket(plain, x)
        if name in _DEFINED:
            made = _DEFINED[name](s.with_pair(*plain.of) if len(plain.of) >= 2 else s)
            return self.of_operator(adjoint(made) if starred else made, x)
        raise StatementError(f"No law says how {letter!r} changes with the motion.")

    def frames(self, letter: Node, x: Node) -> Node:
        """(∂B*)x = −[x]∘J and (∂B)f = B[f]∘J: the frames turn in the world's axes, by θ alone."""
        if self.by != PLACE:
            return zero(RATES, letter.codomain)
        s = self.s
        path = s.B.T @ s.phi.T @ s.H.T
        if isinstance(letter, Adjoint):
            return -(frame_sweep(letter @ x) @ path)
        return letter @ frame_sweep(x) @ path

    def of_bracket(self, letter: Symbol, x: Node) -> Node:
        """(∂y~)x = −x~∂y, (∂F^)x = −x~*∂F, (∂Θ)x = −[x]∘∂y."""
        changed = self(letter.of[0])
        if letter.name == FRAME_TURN:
            return -(frame_sweep(x) @ changed)
        if letter.name in ("F_hat", "hat"):
            return -(adjoint(self.bracket(x)) @ changed)
        if letter.name == AXES_RATE:
            raise StatementError(f"No law says how {letter!r} changes with the motion.")
        return -(self.bracket(x) @ changed)

    def crossing(self, shift: Node, x: Node) -> Node:
        """(∂ℰφ)f = ℰφ f^H* and (∂ℰφ*)x = (ℰφ*x)~H*, by θ alone; of E too."""
        if self.by != PLACE:
            return zero(RATES, shift.codomain)
        if isinstance(shift, Adjoint):
            return self.of_joint_axes(shift @ x)
        return shift @ self.bracket(x, force=True) @ self.s.H.T

    def of_joint_axes(self, motion: Node) -> Node:
        """x~H*, by θ alone: a motion that comes from the parent's side of a joint."""
        return self.bracket(motion) @ self.s.H.T if self.by == PLACE else self.none(motion)

    def bracket(self, x: Node, force: bool = False) -> Symbol:
        """One of the named brackets where x is what they are made from."""
        s = self.s
        named = (s.V_tilde, s.V_p_tilde, s.V_J_tilde, s.alpha_p_tilde, s.F_hat)
        known = next((letter for letter in named if letter.of[0] is x), None)
        return known or (force_bracket("hat", x) if force else motion_bracket("tilde", x))

    def vector(self, symbol: Symbol) -> Node:
        s = self.s
        if symbol is s.v and self.by == VELOCITY:
            return Identity(RATES)
        if symbol is s.V:
            first = self.crossing(s.E_phi.T, s.V) + s.H.T @ self(s.v)
            return s.phi.T @ first
        if symbol is s.alpha:
            above = self.of_joint_axes(s.E_phi.T @ s.alpha + s.E.T @ s.a_g)
            return s.phi.T @ (above + s.H.T @ self(s.acceleration) + self(s.Psi_dot @ s.v))
        if symbol.name == "C" and s.rotors:
            raise StatementError(f"No law says how {symbol!r} changes with the moments of geared rotors in it.")
        if symbol.name in _VECTORS:
            return self(_VECTORS[symbol.name](s))
        if symbol.name in _HELD or is_own(symbol):
            return self.none(symbol)
        raise StatementError(f"No law says how {symbol!r} changes with the motion.")
