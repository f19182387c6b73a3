"""The recursions of symbols differentiated along a direction w of motion, ∂_wφ(p,k) = φ(p,k)[H*w]×.

N = (H*w)~ acts on motions, [H*w]× = −N* on forces; ∂_wH* is zero but for universal and planar joints. Masses, armature
and rotors are constant in their links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from phistar.operators.nodes import Symbol
from phistar.sweeps.ir import (
    CHILDREN,
    COMPLIANCE,
    INERTIA,
    PARENT,
    Call,
    Data,
    Field,
    Move,
    Statement,
    Term,
    Transpose,
    plus,
    times,
)

ONE, HALF = Fraction(1), Fraction(1, 2)
H = Data("H")
Blocks = tuple[Term, Term, Term]  # mass, armature and rotors at link k
_DOTTED = {"P": "Ṗ", "D": "Ḋ", "G": "Ġ", "Omega": "Ω̇", "Delta": "Δ̇⁺", "r": "ṙ", "Gamma": "Γ̇"}


@dataclass(frozen=True)
class Direction:
    """Direction along which a rate is taken: the field of w, and the mark of the fields that belong to it."""

    field: str

    @property
    def mark(self) -> str:
        return "" if self.field == "θ̇" else f"[{self.field}]"

    @property
    def axes(self) -> Term:
        """∂_wH*."""
        return Call("subspace_rate", (Field(self.field),))

    @property
    def turn(self) -> Term:
        """N."""
        return Call("motion_bracket", (times(Transpose(H), Field(self.field)),))

    def turning(self, name: str) -> Term:
        """[H*w]×X + X[H*w]×* of a symmetric X."""
        return Call("turning", (Field(name), Field(self.field)))


def rate_field(symbol: Symbol, suffix: str, direction: Direction) -> Field:
    """The field that a rate of a symbol is in."""
    return Field(_DOTTED[symbol.name] + suffix + direction.mark)


def riccati_rate(suffix: str, blocks: Blocks, along: Direction) -> list[Statement]:
    """Riccati's equation differentiated: ∂P = Σ φ(∂P⁺ + [H*w]×P⁺ + P⁺[H*w]×*)φ*, ∂G = (∂U − G ∂D)D⁻¹,
    ∂(GDG*) = ∂G U* + U ∂G* + G ∂D G*, with U = GD."""
    p, u, d_inv, g, p_plus = (name + suffix for name in ("P", "U", "D⁻¹", "G", "P⁺"))
    marked = ("Ṗ", "U̇", "Ḋ", "Ġ", "Ṅ", "Ṗ⁺")
    p_dot, u_dot, d_dot, g_dot, lost, carried = (name + suffix + along.mark for name in marked)
    spun = plus([(ONE, Field(u)), (ONE, blocks[2])])
    half = plus([(ONE, times(Field(g_dot), Transpose(spun))), (HALF, _congruent(Field(g), Field(d_dot)))])
    kept = [(ONE, Field(p_dot)), (-ONE, Field(lost)), (-ONE, Transpose(Field(lost))), (ONE, along.turning(p_plus))]
    return [
        Statement(p_dot, Move(CHILDREN, INERTIA, carried), True),
        Statement(u_dot, plus([(ONE, times(Field(p_dot), Transpose(H))), (ONE, times(Field(p), along.axes))])),
        Statement(d_dot, plus([(ONE, times(H, Field(u_dot))), (ONE, times(Transpose(along.axes), Field(u)))]), True),
        Statement(g_dot, times(plus([(ONE, Field(u_dot)), (-ONE, times(Field(g), Field(d_dot)))]), Field(d_inv))),
        Statement(lost, half),
        Statement(carried, plus(kept), True),
    ]


def omega_rate(suffix: str, blocks: Blocks, along: Direction) -> list[Statement]:
    """KJR92 eq. 58 differentiated: ∂Ω = ∂Δ⁺ + Z + Z*, Z = ∂H*(cH − ω*) + H*(½∂c H − ∂ω*), ω = Δ⁺G, c = G*ω + D⁻¹."""
    g, d_inv, w, carried = (Field(name + suffix) for name in ("G", "D⁻¹", "ω", "Δ⁺"))
    mark = suffix + along.mark
    g_dot, d_dot = Field("Ġ" + mark), Field("Ḋ" + mark)
    turned, carried_dot, w_dot, part, result = (name + mark for name in ("NΔ⁺", "Δ̇⁺", "ω̇", "Ż", "Ω̇"))
    core = plus([(ONE, times(Transpose(g), w)), (ONE, d_inv)])
    core_dot = [(ONE, times(Transpose(g_dot), w)), (ONE, times(Transpose(g), Field(w_dot)))]
    lost = (-ONE, times(d_inv, times(d_dot, d_inv)))
    axes = plus([(ONE, times(core, H)), (-ONE, Transpose(w))])
    own = plus([(HALF, times(plus([*core_dot, lost]), H)), (-ONE, Transpose(Field(w_dot)))])
    moved = [(ONE, Move(PARENT, COMPLIANCE, result)), (-ONE, Field(turned)), (-ONE, Transpose(Field(turned)))]
    return [
        Statement(turned, times(along.turn, carried)),
        Statement(carried_dot, plus(moved), True),
        Statement(w_dot, plus([(ONE, times(Field(carried_dot), g)), (ONE, times(carried, g_dot))])),
        Statement(part, plus([(ONE, times(along.axes, axes)), (ONE, times(Transpose(H), own))])),
        Statement(result, plus([(ONE, Field(x)) for x in (carried_dot, part)] + [(ONE, Transpose(Field(part)))]), True),
    ]


def composite_rate(suffix: str, blocks: Blocks, along: Direction) -> list[Statement]:
    """R87 eq. 29 differentiated: ∂r = Σ φ(∂r + [H*w]×r + r[H*w]×*)φ*."""
    result, carried = ("ṙ" + along.mark, "ṙ⁺" + along.mark)
    return [
        Statement(result, Move(CHILDREN, INERTIA, carried), True),
        Statement(carried, plus([(ONE, Field(result)), (ONE, along.turning("r"))]), True),
    ]


def gramian_rate(suffix: str, blocks: Blocks, along: Direction) -> list[Statement]:
    """∂Γ = φ*∂Γφ + Z + Z*, Z = ∂H*H − Nφ*Γφ."""
    above, part, result = (name + along.mark for name in ("Γ⁺", "Ż_Γ", "Γ̇"))
    own = [(ONE, times(along.axes, H)), (-ONE, times(along.turn, Field(above)))]
    total = [(ONE, Move(PARENT, COMPLIANCE, result)), (ONE, Field(part)), (ONE, Transpose(Field(part)))]
    return [
        Statement(above, Move(PARENT, COMPLIANCE, "Γ"), True),
        Statement(part, plus(own)),
        Statement(result, plus(total), True),
    ]


def _congruent(outer: Term, inner: Term) -> Term:
    return times(outer, times(inner, Transpose(outer)))


RATE_RECURSIONS: dict[str, Callable[[str, Blocks, Direction], list[Statement]]] = {
    "riccati": riccati_rate,
    "omega": omega_rate,
    "composite": composite_rate,
    "gramian": gramian_rate,
}
"""By the equations that they are the rates of."""
