"""Derivatives of operators along a direction w of motion: the product rule over the letters of a statement.

With N = (H*w)~, link by link, ∂ℰφ = −ℰφN* and ∂E = −EN* (RJK91 §6; SRW22), so that

    ∂φ = φ ∂ℰφ φ,    ∂ψ = ψ ∂ℰψ ψ,    ∂X⁻¹ = −X⁻¹ ∂X X⁻¹,

∂B = BΘ* with Θ the turn of the task frames in the world's axes, and H, M, A and S are constant in their links; but for
universal and planar joints, where ∂H* is a letter. P, D, G, Ω, r, … have rates that a recursion makes. Vectors that
the caller gives are held, but for θ̇ in a rate in time, which changes by θ̈.
"""

from __future__ import annotations

from fractions import Fraction

from phistar.errors import StatementError
from phistar.identities.derivative_laws import spatial_bias
from phistar.identities.law import SENTENCES, Setting
from phistar.identities.polynomial import letters
from phistar.operators.linearized import BRACKETS, MADE, PARTIALS, definition, force_bracket, motion_bracket
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
from phistar.operators.rate_letters import (
    AXES_RATE,
    FRAME_SWEEP,
    FRAME_TURN,
    GRADIENT,
    HELD,
    LOG_DET,
    RATE,
    RECURSIVE,
    axes_axial,
    axes_rate,
    axial,
    frame_turn,
    is_recursive_rate,
    joint_turn,
    rate,
)
from phistar.operators.symbols import Symbols, has_pair, rotors_and_axes

CITATION = "SRW22; δφ = φδℰφφ, δX⁻¹ = −X⁻¹δX X⁻¹"
_CONSTANT = ("M", "A", "S", "U", "U_task", "Q", "R", "L")
_GIVEN = ("v", "qdd", "T", "f", "u", "a_g", "a_b", "v_ref", "F")
_OF_PLACE = ("H", "E_phi", "phi", "E", "B", "E_psi", "psi", "K", "W", "mass", "J", "g", *RECURSIVE)
_OF_MOTION = ("C", "Jdot_v", "Psi_dot", "Psi_prime", "alpha", "Psi_ddot", "B_v")


def rate_of(symbol: Symbol, symbols: Symbols, setting: Setting) -> Node:
    """Meaning of a letter ∂_w X, in letters that sweeps know."""
    if symbol.name == LOG_DET:
        return log_det_rule(symbol, symbols, setting)
    inner, along, *of_rates = symbol.of
    return _Rate(along, of_rates[0] if of_rates else None, symbols, setting)(inner)


class _Rate:
    """∂_w over the symbols of a mechanism; a node gives a node between the same spaces."""

    def __init__(self, along: Node, of_rates: Node | None, symbols: Symbols, setting: Setting) -> None:
        self.along, self.of_rates, self.s, self.setting = along, of_rates, symbols, setting
        self.turn = joint_turn(along, symbols.H)
        self.held = along is HELD

    def __call__(self, node: Node) -> Node:
        match node:
            case Identity():
                return self.none(node)
            case Sum(terms=terms):
                return summation([(1, self.none(node)), *((c, self(term)) for c, term in terms)])
            case Product(factors=factors):
                return self.products(node, factors)
            case Adjoint(of=inner):
                return adjoint(self(inner))
            case Inverse(of=inner):
                return -(node @ self(inner) @ node)
            case Symbol():
                return self.symbol(node)
        raise AssertionError(type(node))

    def none(self, node: Node) -> Node:
        assert node.domain is not None and node.codomain is not None
        return zero(node.domain, node.codomain)

    def products(self, node: Node, factors: tuple[Node, ...]) -> Node:
        """Factor by factor; 𝓑V is one vector, of second degree in V: ∂(𝓑V) = (2𝓑 + MV~)∂V (EW21)."""
        s, terms = self.s, [(1, self.none(node))]
        whole = factors[-2:] == (s.B_v, s.V)
        for i, factor in enumerate(factors[:-2] if whole else factors):
            changed = self(factor)
            if not (isinstance(changed, Sum) and not changed.terms):
                terms.append((1, product(*factors[:i], changed, *factors[i + 1 :])))
        if whole:
            terms.append((1, product(*factors[:-2], (2 * s.B_v + s.M @ s.V_tilde) @ self(s.V))))
        return summation(terms)

    def symbol(self, symbol: Symbol) -> Node:
        name, s = symbol.name, self.s
        if has_pair(symbol) and rotors_and_axes(symbol.of)[1] is not s.H:
            raise StatementError(
                f"{symbol!r} is about some of the joints (L); how it changes is told of all joints alone."
            )
        if "vector" in symbol.traits and (is_own(symbol) or name in _GIVEN):
            return self.rate_of_given(symbol)
        if self.held and name in _OF_PLACE:
            return self.none(symbol)
        if name in _CONSTANT or is_own(symbol):
            return self.none(symbol) if name != "S" else self.with_constant_axes(symbol, self.none(symbol))
        if name in RECURSIVE:
            return self.recursive(symbol)
        if name in BRACKETS:
            return self.bracket(symbol)
        if name == RATE:
            return self.again(symbol)
        if name in PARTIALS:
            return self.partial(symbol)
        if name in _OF_MOTION:
            return self.with_constant_axes(symbol, self.rate_of_defined(symbol))
        made = _RULES.get(name)
        if made is None:
            raise StatementError(f"No law says how {symbol!r} changes with the motion.")
        return made(self, s.with_pair(*symbol.of) if len(symbol.of) >= 2 else s)

    def rate_of_given(self, symbol: Symbol) -> Node:
        """A vector that the caller gives: held, but for θ̇ in a rate in time, where others would need rates too."""
        if symbol is self.s.v and self.of_rates is not None:
            return self.of_rates
        if self.of_rates is None or self.held or symbol is self.s.a_g:
            return self.none(symbol)
        raise StatementError(
            f"The rate of {symbol!r} in time is not known: it is given with the state. derivative(along=A.v) holds it."
        )

    def recursive(self, symbol: Symbol) -> Node:
        """∂P, ∂D, …: letters of their own, where the masses they are about are constant in the links."""
        if any(not self.is_zero(self.moved_mass(part)) for part in symbol.of):
            raise StatementError(
                f"The masses that {symbol!r} is about change with the motion; no recursion follows it."
            )
        return rate(symbol, self.along)

    def moved_mass(self, part: Node) -> Node:
        """∂ of masses; BUB* of unit metrics is constant in the links, however the frames turn."""
        metrics = {self.s.B @ self.s.U_task @ self.s.B.T}
        terms = part.terms if isinstance(part, Sum) else ((1, part),)
        kept = [(c, self(term)) for c, term in terms if term not in metrics]
        return summation([(1, self.none(part)), *kept])

    @staticmethod
    def is_zero(node: Node) -> bool:
        return isinstance(node, Sum) and not node.terms

    def bracket(self, symbol: Symbol) -> Node:
        """∂(x~) = (∂x)~, linear in x."""
        if symbol.name == AXES_RATE:
            raise StatementError(f"{symbol!r} is not differentiated once more: {SENTENCES['constant_axes']} there.")
        changed = self.by_place(symbol.of[0])
        if self.is_zero(changed):
            return self.none(symbol)
        if symbol.name in (FRAME_TURN, FRAME_SWEEP):
            return Symbol(symbol.name, symbol.source, symbol.target, symbol.traits, (changed,))
        name = "hat" if symbol.name in ("F_hat", "hat") else "tilde"
        return Symbol(name, symbol.source, symbol.target, symbol.traits, (changed,))

    def by_place(self, vector: Node) -> Node:
        """∂V = ∂V_p = φ*Ψ̇w and ∂F = (φ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + φ̃F̂H*)w, which joint rates in w alone make (SRW22); other
        vectors by the product rule."""
        s = self.s
        if self.of_rates is not None or not self.setting.constant_axes or s.rotors:
            return self(vector)
        if vector in (s.V, s.E_phi.T @ s.V):
            return s.phi.T @ s.Psi_dot @ self.along
        if vector is s.link_forces:
            carried = s.M @ s.phi.T @ s.Psi_ddot + 2 * s.B_v @ s.phi.T @ s.Psi_dot
            return (s.phi @ carried + s.phi_tilde @ s.F_hat @ s.H.T) @ self.along
        return self(vector)

    def again(self, symbol: Symbol) -> Node:
        if is_recursive_rate(symbol):
            raise StatementError(f"{symbol!r} has a recursion that is differentiated once only.")
        return self(rate_of(symbol, self.s, self.setting))

    def partial(self, symbol: Symbol) -> Node:
        from phistar.identities.rewriter import by_product_rule

        first = by_product_rule(symbol, self.s, self.setting)[-1].after
        return self.with_constant_axes(symbol, self(first))

    def rate_of_defined(self, symbol: Symbol) -> Node:
        """Quantities of motion by what they are made of (SRW22)."""
        s = self.s
        if s.rotors and symbol.name in ("C", "alpha"):
            raise StatementError(f"No law says how {symbol!r} changes with the moments of geared rotors in it.")
        if symbol.name == "C":
            return self(s.H @ spatial_bias(s))
        if symbol.name == "Jdot_v":  # J̇θ̇ = Θβ − B*φ*(H*θ̇)~ℰφ*V with β = B*V
            return self(frame_turn(s.B.T @ s.V) @ s.B.T @ s.V - s.B.T @ s.phi.T @ s.V_J_tilde @ s.E_phi.T @ s.V)
        if symbol.name == "Psi_dot":
            return self(s.V_p_tilde @ s.H.T)
        if symbol.name == "Psi_prime":
            return self((s.V_p_tilde + s.V_tilde) @ s.H.T)
        if symbol is s.Psi_ddot and self.of_rates is None:  # [φ*Ψ̈w]~H* + 2[φ*Ψ̇w]~Ψ̇, by Jacobi's identity
            turns = (motion_bracket("tilde", s.phi.T @ x @ self.along) for x in (symbol, s.Psi_dot))
            return next(turns) @ s.H.T + 2 * next(turns) @ s.Psi_dot
        if symbol.name in MADE:
            return self(definition(symbol, s.with_acceleration(symbol.of[0])))
        assert symbol.name == "B_v", symbol
        return self.coriolis(symbol.of[0])

    def coriolis(self, mass: Node) -> Node:
        """∂𝓑 = ½(∂V ×* M + (M∂V)^ − M∂V~), linear in V (EW21)."""
        moved = self.by_place(self.s.V)
        if self.is_zero(moved):
            return zero(self.s.B_v.source, self.s.B_v.target)
        turn = motion_bracket("tilde", moved)
        return Fraction(1, 2) * (force_bracket("hat", mass @ moved) - adjoint(turn) @ mass - mass @ turn)

    def with_constant_axes(self, symbol: Symbol, made: Node) -> Node:
        if not self.setting.constant_axes:
            raise StatementError(f"How {symbol!r} changes is known where {SENTENCES['constant_axes']}.")
        return made

    # Letters

    def axes(self, s: Symbols) -> Node:
        """∂H."""
        return zero(s.H.source, s.H.target) if self.setting.constant_axes else adjoint(axes_rate(self.along))

    def shift(self, s: Symbols) -> Node:
        return -(s.E_phi @ self.turn.T)

    def articulated_shift(self, s: Symbols) -> Node:
        """ℰψ = ℰφ(I − GH)."""
        return self.shift(s) @ (s.I - s.G @ s.H) - s.E_phi @ (self.recursive(s.G) @ s.H + s.G @ self.axes(s))

    def base(self, s: Symbols) -> Node:
        return -(s.E @ self.turn.T)

    def base_gain(self, s: Symbols) -> Node:
        """W = E(I − GH)."""
        return self.base(s) @ (s.I - s.G @ s.H) - s.E @ (self.recursive(s.G) @ s.H + s.G @ self.axes(s))

    def frames(self, s: Symbols) -> Node:
        return s.B @ adjoint(frame_turn(s.B.T @ s.phi.T @ s.H.T @ self.along))

    def mass(self, s: Symbols) -> Node:
        """ℳ = HφMφ*H* + A (+ Hφ̃S + S*φ̃*H*)."""
        spin = s.H @ s.phi @ s.E_phi @ s.S
        return self(s.H @ s.phi @ s.M @ s.phi.T @ s.H.T + s.A + spin + adjoint(spin))


_RULES = {
    "H": _Rate.axes,
    "E_phi": _Rate.shift,
    "phi": lambda of, s: s.phi @ of.shift(s) @ s.phi,
    "E": _Rate.base,
    "B": _Rate.frames,
    "E_psi": _Rate.articulated_shift,
    "psi": lambda of, s: s.psi @ of.articulated_shift(s) @ s.psi,
    "K": lambda of, s: of.shift(s) @ s.G + s.E_phi @ of.recursive(s.G),
    "W": _Rate.base_gain,
    "mass": _Rate.mass,
    "J": lambda of, s: of(s.B.T @ s.phi.T @ s.H.T),
    "V": lambda of, s: of(s.phi.T @ s.H.T @ s.v),
    "g": lambda of, s: of(s.H @ s.phi @ s.M @ s.phi.T @ s.E.T @ s.a_g),
}
"""How each letter changes, in the symbols of its own Riccati pair."""


def log_det_rule(symbol: Symbol, symbols: Symbols, setting: Setting) -> Node:
    """∂log det X/∂θ = −2H vex(ΔP⁺) + 2vex_H(D⁻¹HP − G*Δ(I − GH)P), in O(n).

    log det X is the sum of log det D(k) (RJK91 lemma 1), and Ω is what D⁻¹ at all joints inboard makes of a change of
    P: δlog det = tr(Δ δP⁺) with δP⁺ = −(N*P⁺ + P⁺N) at each joint (KJR92 eq. 57). The second part is that of axes that
    move in their links.
    """
    diagonal = symbol.of[1]
    assert isinstance(diagonal, Symbol)
    s = symbols.with_pair(*diagonal.of)
    for part in diagonal.of:
        _Rate(symbols.v, None, symbols, setting).recursive(Symbol("D", s.D.source, s.D.target, s.D.traits, (part,)))
    across = -2 * s.H @ axial(s.Delta @ (s.P - s.G @ s.D @ s.G.T))
    if setting.constant_axes:
        return across
    return across + 2 * axes_axial(s.D.inv @ s.H @ s.P - s.G.T @ s.Delta @ (s.P - s.G @ s.H @ s.P))


def is_unresolved(letter: Node) -> bool:
    """Whether a letter is a rate that the product rule resolves."""
    if isinstance(letter, Symbol) and letter.name in (LOG_DET, GRADIENT):
        return True
    return isinstance(letter, Symbol) and letter.name == RATE and not is_recursive_rate(letter)


def depends_on_motion(node: Node) -> bool:
    """Whether joint rates take part in a statement."""
    made = {"v", "V", "C", "Jdot_v", "a", "b", "a0", "b_r", *_OF_MOTION}
    return any(isinstance(x, Symbol) and (x.name in made or "vector" in x.traits) for x in letters(node))
