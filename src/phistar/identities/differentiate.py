"""How a vector changes with θ, θ̇ and θ̈: the product rule over the letters of a statement.

What a displacement δθ changes is the way between links alone. A joint that gives way by H*δθ turns what comes from the
parent against it, δ(ℰφ*x) = (ℰφ*x)~H*δθ, and what goes there with it, δ(ℰφ)f = ℰφ f^H*δθ, so that

    δφ = φ δℰφ φ,    δφ* = φ* δℰφ* φ*.

H, M and A stay as they are where the axes are constant in their links (`constant_axes`).
"""

from __future__ import annotations

from phistar.errors import StatementError
from phistar.operators.linearized import ACCELERATION, PLACE, VELOCITY, force_bracket, motion_bracket
from phistar.operators.nodes import Adjoint, Identity, Node, Product, Sum, Symbol, product, summation, zero
from phistar.operators.spaces import RATES
from phistar.operators.symbols import Symbols

CITATION = "SRW22; δφ = φδℰφφ"
_CONSTANT = ("H", "M", "A", "U")


def differentiated(partial: Symbol, symbols: Symbols) -> Node:
    """The derivative that a symbol ∂x/∂θ, ∂x/∂θ̇ or ∂x/∂θ̈ stands for."""
    return _Derivative(partial.name, symbols)(_in_spatial_accelerations(partial.of[0], symbols))


def _in_spatial_accelerations(node: Node, s: Symbols) -> Node:
    """ℳθ̈ + 𝒞 + 𝒢 as HF + Aθ̈: where all of it changes together, F = φ(Mα + 𝓑V) is a vector of its own."""
    motion = s.mass @ s.acceleration + s.C + s.g
    rest = node - motion
    if isinstance(rest, Sum) and len(rest.terms) > 1:
        return node
    return s.H @ s.link_forces + s.A @ s.acceleration + rest


class _Derivative:
    """By one of the three, over the symbols of a mechanism; a vector x gives ∂x, Rates → where x lives."""

    def __init__(self, by: str, symbols: Symbols) -> None:
        self.by, self.s = by, symbols

    def __call__(self, node: Node) -> Node:
        if node is self.s.acceleration:  # held, even where a statement says what it is
            return Identity(RATES) if self.by == ACCELERATION else self.none(node)
        match node:
            case Sum(terms=terms):
                return summation([(1, self.none(node)), *((c, self(term)) for c, term in terms)])
            case Product(factors=(letter, *others)):
                return self.applied(letter, product(*others))
            case Symbol():
                return self.vector(node)
        raise StatementError(f"{node!r} is not a statement that laws differentiate.")

    def none(self, node: Node) -> Node:
        return zero(RATES, node.codomain)

    def applied(self, letter: Node, x: Node) -> Node:
        """∂(Lx)."""
        s, plain = self.s, letter.of if isinstance(letter, Adjoint) else letter
        name, starred = getattr(plain, "name", ""), isinstance(letter, Adjoint)
        if name in _CONSTANT:
            return letter @ self(x)
        if name == "phi":
            return letter @ (self.crossing(s.E_phi.T if starred else s.E_phi, letter @ x) + self(x))
        if name == "E_phi":
            return self.crossing(letter, x) + letter @ self(x)
        if letter is s.E.T:
            return self.turned(letter @ x)
        if letter is s.B_v and x is s.V:
            return (2 * s.B_v + s.M @ s.V_tilde) @ self(s.V)
        if letter is s.Psi_dot and x is s.v:  # V_p~H*θ̇ = −(H*θ̇)~V_p
            return s.Psi_dot @ self(s.v) - s.V_J_tilde @ self(s.E_phi.T @ s.V)
        if isinstance(x, Sum):
            return summation([(1, self.none(letter)), *((c, self.applied(letter, part)) for c, part in x.terms)])
        raise StatementError(f"No law says how {letter!r} changes with the motion.")

    def crossing(self, shift: Node, x: Node) -> Node:
        """(∂ℰφ)f = ℰφ f^H* and (∂ℰφ*)x = (ℰφ*x)~H*, by θ alone."""
        if self.by != PLACE:
            return self.none(shift)
        if isinstance(shift, Adjoint):
            return self.turned(shift @ x)
        return shift @ self.bracket(x, force=True) @ self.s.H.T

    def turned(self, motion: Node) -> Node:
        """x~H*, by θ alone: a motion that comes from the parent's side of a joint."""
        return self.bracket(motion) @ self.s.H.T if self.by == PLACE else self.none(motion)

    def bracket(self, x: Node, force: bool = False) -> Symbol:
        """One of the named brackets where x is what they are made from."""
        s = self.s
        named = (s.V_tilde, s.V_p_tilde, s.V_J_tilde, s.alpha_p_tilde, s.F_hat)
        known = next((letter for letter in named if letter.of[0] is x), None)
        return known or (force_bracket("F_hat", x) if force else motion_bracket("alpha_p_tilde", x))

    def vector(self, symbol: Symbol) -> Node:
        s = self.s
        if symbol is s.v and self.by == VELOCITY:
            return Identity(RATES)
        if symbol is s.V:
            first = self.crossing(s.E_phi.T, s.V) + s.H.T @ self(s.v)
            return s.phi.T @ first
        if symbol is s.alpha:
            above = self.turned(s.E_phi.T @ s.alpha + s.E.T @ s.a_g)
            return s.phi.T @ (above + s.H.T @ self(s.acceleration) + self(s.Psi_dot @ s.v))
        if symbol.name in ("v", "qdd", "a_g", "T"):
            return self.none(symbol)
        raise StatementError(f"No law says how {symbol!r} changes with the motion.")
