"""The recursions that define block-diagonal symbols, written once: Riccati, composite bodies, Ω, velocities, poses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from phistar.errors import StatementError
from phistar.sweeps.ir import (
    BackCongruentParent,
    Call,
    CarriedChildren,
    CongruentChildren,
    CongruentParent,
    CongruentSiblings,
    Data,
    Divide,
    Field,
    FromParent,
    Invert,
    Plus,
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


def riccati_joseph(suffix: str, blocks: Blocks) -> list[Statement]:
    """The same with P⁺ = (I − GH)P(I − GH)* + GAG* (− GS* − SG*) as R87 eq. 51 has it: positive however it is
    rounded."""
    _, armature, rotor = blocks
    p, g, p_plus, kept = (name + suffix for name in ("P", "G", "P⁺", "P⁻"))
    left = plus([(ONE, Field(p)), (-ONE, times(Field(g), times(H, Field(p))))])  # (I − GH)P
    noise = times(Field(g), plus([(ONE, times(armature, Transpose(Field(g)))), (-ONE, Transpose(rotor))]))
    parts = [(ONE, Field(kept)), (-ONE, times(times(Field(kept), Transpose(H)), Transpose(Field(g))))]
    return [
        *riccati(suffix, blocks)[:-1],
        Statement(kept, left),
        Statement(p_plus, plus([*parts, (ONE, noise), (-ONE, times(rotor, Transpose(Field(g))))]), True),
    ]


def omega(suffix: str, blocks: Blocks) -> list[Statement]:
    """KJR92 eq. 58, Ω(k) = ψ*Ω(p)ψ + H*D⁻¹H with Δ⁺ = φ*Ω(p)φ: Δ⁺ − H*ω* − ωH + H*(G*ω + D⁻¹)H, ω = Δ⁺G."""
    carried, w, result = (name + suffix for name in ("Δ⁺", "ω", "Ω"))
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


def parent_mass(suffix: str, blocks: Blocks) -> list[Statement]:
    """RJ2W eq. 10: M_b(k) = φ(k,p)M(p)φ*(k,p)."""
    return [Statement("M⁺", blocks[0], True), Statement("M_b", BackCongruentParent("M⁺"), True)]


def backward_composite(suffix: str, blocks: Blocks) -> list[Statement]:
    """RJ2W Table 2: r_b(k) = φ(k,p)(r_b(p) + M(p))φ*(k,p)."""
    return [
        Statement("r_b", BackCongruentParent("r_b⁺"), True),
        Statement("r_b⁺", plus([(ONE, Field("r_b")), (ONE, blocks[0])]), True),
    ]


def backward_composite_on_trees(suffix: str, blocks: Blocks) -> list[Statement]:
    """RJ2W §6: what the siblings carry is on the base's side of the joint too."""
    own, carried = backward_composite(suffix, blocks)
    return [Statement("r_b", plus([(ONE, own.term), (ONE, CongruentSiblings("r"))]), True), carried]


_TOTAL = Field("r_t")


def total_mass(suffix: str, blocks: Blocks) -> list[Statement]:
    """r_t = r + r_b: the whole mechanism as joint k sees it, from what both sweeps bring there."""
    return [Statement("r_t", plus([(ONE, Field("r")), (ONE, Field("r_b"))]), True)]


def inverse_total(suffix: str, blocks: Blocks) -> list[Statement]:
    """RJ2W eq. 15: q = (r + r_b)⁻¹."""
    return [Statement("q", Invert(_TOTAL), True)]


def forward_projection(suffix: str, blocks: Blocks) -> list[Statement]:
    """RJ2W eqs. 17, 19: H_f = H r_b (r + r_b)⁻¹."""
    return [Statement("H_f", Divide(times(H, Field("r_b")), _TOTAL))]


def backward_projection(suffix: str, blocks: Blocks) -> list[Statement]:
    """H_b = H r (r + r_b)⁻¹."""
    return [Statement("H_b", Divide(times(H, Field("r")), _TOTAL))]


def gramian(suffix: str, blocks: Blocks) -> list[Statement]:
    """Γ = φ*Γφ + H*H."""
    return [Statement("Γ", plus([(ONE, CongruentParent("Γ")), (ONE, times(Transpose(H), H))]), True)]


def axes_carried(suffix: str, blocks: Blocks) -> list[Statement]:
    """Ψ̇ = V_p~H* (SRW22)."""
    return [Statement("Ψ̇", times(Call("motion_bracket", (FromParent("V"),)), Transpose(H)))]


def axes_turned(suffix: str, blocks: Blocks) -> list[Statement]:
    """Ψ́ = 2Ψ̇ + [H*θ̇]~H*."""
    return [Statement("Ψ́", plus([(2 * ONE, Field("Ψ̇")), (ONE, Call("own_bracket", (Field("θ̇"),)))]))]


def coriolis(suffix: str, blocks: Blocks) -> list[Statement]:
    """𝓑 (EW21), linear in M."""
    return [Statement("𝓑", _coriolis_of(blocks[0]))]


def _coriolis_of(mass: Term) -> Term:
    if isinstance(mass, Plus):
        return plus([(c, _coriolis_of(part)) for c, part in mass.terms])
    if mass is not Data("M"):
        raise StatementError("𝓑 is made from the links' own masses M, or multiples of them.")
    return Call("coriolis_block", (Field("V"),))


def coriolis_composite(suffix: str, blocks: Blocks) -> list[Statement]:
    """R87 eq. 29 of 𝓑: r_v = Σ φr_vφ* + 𝓑."""
    return [Statement("r_v", plus([(ONE, Field("𝓑")), (ONE, CarriedChildren("r_v"))]))]


def coriolis_articulated(suffix: str, blocks: Blocks) -> list[Statement]:
    """𝒴 = Σ ψ𝒴φ* + 𝓑, 𝒴⁺ = (I − GH)𝒴."""
    y, carried, g = (name + suffix for name in ("𝒴", "𝒴⁺", "G"))
    left = plus([(ONE, Field(y)), (-ONE, times(Field(g), times(H, Field(y))))])
    return [Statement(y, plus([(ONE, Field("𝓑")), (ONE, CarriedChildren(carried))])), Statement(carried, left)]


def velocity(suffix: str, blocks: Blocks) -> list[Statement]:
    """KJR92 eq. 41."""
    return [Statement("V", plus([(ONE, FromParent("V")), (ONE, times(Transpose(H), Field("θ̇")))]))]


def reference_velocity(suffix: str, blocks: Blocks) -> list[Statement]:
    """The same of a second velocity θ̇_r."""
    return [Statement("Vᵣ", plus([(ONE, FromParent("Vᵣ")), (ONE, times(Transpose(H), Field("θ̇ᵣ")))]))]


def pose(suffix: str, blocks: Blocks) -> list[Statement]:
    """Where each link is in the world: the product of the joints' transforms."""
    return [Statement("X", Call("pose", ()))]


RECURSIONS: dict[str, Callable[[str, Blocks], list[Statement]]] = {
    "riccati": riccati,
    "Omega": omega,
    "r": composite,
    "Gamma": gramian,
    "M_b": parent_mass,
    "r_b": backward_composite,
    "r_b on trees": backward_composite_on_trees,
    "r_t": total_mass,
    "q": inverse_total,
    "H_f": forward_projection,
    "H_b": backward_projection,
    "velocity": velocity,
    "reference_velocity": reference_velocity,
    "Psi_dot": axes_carried,
    "Psi_prime": axes_turned,
    "B_v": coriolis,
    "r_v": coriolis_composite,
    "Y": coriolis_articulated,
    "pose": pose,
}
