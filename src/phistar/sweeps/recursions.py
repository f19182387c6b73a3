"""The recursions that define block-diagonal symbols, written once: Riccati, composite bodies, Ω, velocities, poses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from phistar.sweeps.ir import (
    Call,
    CongruentChildren,
    CongruentParent,
    Data,
    Field,
    FromParent,
    Invert,
    Statement,
    Term,
    Transpose,
    plus,
    times,
)

ONE = Fraction(1)
H = Data("H")
Blocks = tuple[Term, Term, Term]  # mass, armature and rotors at link k

riccati_names = ("P", "D", "G")


def riccati(suffix: str, blocks: Blocks) -> list[Statement]:
    """KJR92 eq. 37 with armature and rotors: P = Σ φP⁺φ* + M, D = HPH* + A, G = (PH* + S)D⁻¹, P⁺ = P − GDG*."""
    mass, armature, rotor = blocks
    p, u, d, d_inv, g, p_plus = (name + suffix for name in ("P", "U", "D", "D⁻¹", "G", "P⁺"))
    spun = plus([(ONE, Field(u)), (ONE, rotor)])
    return [
        Statement(p, plus([(ONE, mass), (ONE, CongruentChildren(p_plus))]), True),
        Statement(u, times(Field(p), Transpose(H))),
        Statement(d, plus([(ONE, times(H, Field(u))), (ONE, armature)]), True),
        Statement(d_inv, Invert(Field(d)), True),
        Statement(g, times(spun, Field(d_inv))),
        Statement(p_plus, plus([(ONE, Field(p)), (-ONE, times(Field(g), Transpose(spun)))]), True),
    ]


def omega(suffix: str, blocks: Blocks) -> list[Statement]:
    """KJR92 eq. 58, Ω(k) = ψ*Ω(p)ψ + H*D⁻¹H with Δ⁺ = φ*Ω(p)φ: Δ⁺ − H*w* − wH + H*(G*w + D⁻¹)H, w = Δ⁺G."""
    carried, w, result = (name + suffix for name in ("Δ⁺", "w", "Ω"))
    g, d_inv, h_star = Field("G" + suffix), Field("D⁻¹" + suffix), Transpose(H)
    core = plus([(ONE, times(Transpose(g), Field(w))), (ONE, d_inv)])
    return [
        Statement(carried, CongruentParent(result), True),
        Statement(w, times(Field(carried), g)),
        Statement(
            result,
            plus(
                [
                    (ONE, Field(carried)),
                    (-ONE, times(h_star, Transpose(Field(w)))),
                    (-ONE, times(Field(w), H)),
                    (ONE, times(h_star, times(core, H))),
                ]
            ),
            True,
        ),
    ]


def composite(suffix: str, blocks: Blocks) -> list[Statement]:
    """R87 eq. 29: r = Σ φrφ* + M."""
    return [Statement("r", plus([(ONE, blocks[0]), (ONE, CongruentChildren("r"))]), True)]


def gramian(suffix: str, blocks: Blocks) -> list[Statement]:
    """Γ = φ*Γφ + H*H."""
    return [Statement("Γ", plus([(ONE, CongruentParent("Γ")), (ONE, times(Transpose(H), H))]), True)]


def velocity(suffix: str, blocks: Blocks) -> list[Statement]:
    """KJR92 eq. 41."""
    return [Statement("V", plus([(ONE, FromParent("V")), (ONE, times(Transpose(H), Field("θ̇")))]))]


def pose(suffix: str, blocks: Blocks) -> list[Statement]:
    """Where each link is in the world: the product of the joints' transforms."""
    return [Statement("X", Call("pose", ()))]


RECURSIONS: dict[str, Callable[[str, Blocks], list[Statement]]] = {
    "riccati": riccati,
    "Omega": omega,
    "r": composite,
    "Gamma": gramian,
    "velocity": velocity,
    "pose": pose,
}
