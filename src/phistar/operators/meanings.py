"""Meanings of symbols: which are given with a state, and the equations that define those made link by link.

A defining equation reads like the papers': ℰφ X ℰφ* is what the children send, ℰφ* X ℰφ and ℰφ* x what comes from the
parent, ℰφ_b X ℰφ_b* the same the other way, ℰ_s X ℰ_s* from the siblings; all else stands at the link itself. A sweep
runs inward or outward as its equations say, and `phistar/sweeps/lower.py` makes its statements of nothing but these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from phistar.errors import StatementError
from phistar.operators.nodes import Adjoint, Inverse, Node, Product, Sum, Symbol
from phistar.operators.rate_letters import AXES_AXIAL, AXIAL
from phistar.operators.spaces import FORCES, MOTIONS, RATES, SCALARS, Space
from phistar.operators.symbols import Symbols
from phistar.operators.two_way import BRANCHING, E_PHI_B, E_S

INWARD, OUTWARD, LOCAL = "inward", "outward", "local"
PRIMITIVE = "primitive"
"""The trait of a letter that is a memoryless function of vectors, by its name; `of` are the vectors."""

GIVEN = {"v": "θ̇", "qdd": "θ̈", "T": "T", "f": "f(0)", "a_g": "a_g", "a_b": "a_b", "u": "u"}
GIVEN |= {"v_ref": "θ̇ᵣ", "F": "F", "v_i": "θ̇_i", "qdd_i": "θ̈_i"}
DIAGONALS = {"R": "ρ", "L": "ℓ"}
"""Operators over the joints that are given by their diagonals, as vectors."""
GIVEN |= DIAGONALS
GIVEN |= {"a_delayed": "a_d", "b_delayed": "b_d", "a0_delayed": "a_d(0)", "f_delayed": "f_d"}
"""Symbols that the caller gives, with the names of their fields."""

FIELDS = {"Omega": "Ω", "Delta": "Δ⁺", "Y": "𝒴", "Gamma": "Γ", "Psi_dot": "Ψ̇", "Psi_prime": "Ψ́", "B_v": "𝓑"}
FIELDS |= {"V_ref": "Vᵣ"} | {x: x for x in ("P", "D", "G", "r_v", "r", "M_b", "r_b", "q", "H_f", "H_b", "V")}
"""Symbols that equations define, with the names of their fields."""

PRINTED = frozenset({*FIELDS.values(), *GIVEN.values(), "ω"})
"""Names of fields in programs, which no symbol of a user's may have."""

_PART = "part"  # the trait of a letter that only defining equations speak of
_MEMORYLESS = frozenset({"memoryless", _PART})
_SYMMETRIC = _MEMORYLESS | {"symmetric"}

Equation = tuple[Node, Node]  # a letter, and what it is


@dataclass(frozen=True)
class Recursion:
    """Equations that one sweep makes together, of a mass and what goes with it; `after` are the symbols that must be
    known first, in the order in which they are to be made."""

    name: str
    of: tuple[Node, ...]
    equations: tuple[Equation, ...]
    after: tuple[Symbol, ...] = ()
    own_weight: int = 0
    rate_weight: int = 0
    along: Symbol | None = None  # the direction of motion that the equations are differentiated along, if any

    @property
    def weight(self) -> int:
        """About how many operations it takes at a link."""
        return self.own_weight if self.along is None else self.rate_weight

    @property
    def way(self) -> str:
        """Direction of the sweep."""
        if not self.equations:
            return OUTWARD
        found = {_way(part) for _, node in self.equations for part in _parts(node)} - {LOCAL}
        assert len(found) <= 1, self
        return found.pop() if found else LOCAL


def _parts(node: Node) -> list[Node]:
    """The terms of a sum, and what brackets in them are made from."""
    terms = [x for _, x in node.terms] if isinstance(node, Sum) else [node]
    inner = [y for x in terms for y in (x.factors if isinstance(x, Product) else (x,)) if isinstance(y, Symbol)]
    return [*terms, *(part for x in inner if x.domain != SCALARS for part in x.of if part.domain == SCALARS)]


def _way(node: Node) -> str:
    first = node.factors[0] if isinstance(node, Product) else node
    shift = first.of if isinstance(first, Adjoint) else first
    if shift not in (Symbols.E_phi, E_PHI_B):
        return LOCAL
    return INWARD if (shift is Symbols.E_phi) == (first is shift) else OUTWARD


def _part(name: str, source: Space, target: Space, of: tuple[Node, ...], symmetric: bool = False) -> Symbol:
    return Symbol(name, source, target, _SYMMETRIC if symmetric else _MEMORYLESS, of)


def _function_symbol(function: str, source: Space, target: Space, *vectors: Node) -> Symbol:
    """A memoryless function of vectors as a letter."""
    return Symbol(function, source, target, frozenset({"memoryless", PRIMITIVE}), vectors)


def is_part(node: Node) -> bool:
    """Whether only defining equations speak of a letter."""
    return isinstance(node, Symbol) and _PART in node.traits


# The Riccati set


def riccati(s: Symbols) -> tuple[Equation, ...]:
    """KJR92 eq. 37 with armature and rotors: P = ℰφP⁺ℰφ* + M, D = HPH* + A, G = (PH* + S)D⁻¹, P⁺ = P − GDG*."""
    p_plus = _part("P⁺", MOTIONS, FORCES, s.pair, True)
    carried = (s.P, s.M + s.E_phi @ p_plus @ s.E_phi.T)
    if s.axes_space == FORCES:  # H = I: P − GDG* = GA, which is shorter where A is at hand
        update = s.G @ s.A if isinstance(s.A, Symbol) else s.P - s.G @ s.P
        return carried, (s.D, s.P + s.A), (s.D.inv, s.D.inv), (s.G, s.P @ s.D.inv), (p_plus, update)
    u = _part("U", RATES, FORCES, s.pair)
    return (
        carried,
        (u, s.P @ s.axes.T),
        (s.D, s.axes @ u + s.A),
        (s.D.inv, s.D.inv),
        (s.G, (u + s.S) @ s.D.inv),
        (p_plus, s.P - s.G @ (u + s.S).T),
    )


def riccati_joseph(s: Symbols) -> tuple[Equation, ...]:
    """The same with P⁺ = (I − GH)P(I − GH)* + GAG* (− GS* − SG*) as R87 eq. 51 has it: positive however it is
    rounded."""
    *others, (p_plus, _) = riccati(s)
    kept = _part("P⁻", MOTIONS, FORCES, s.pair)  # (I − GH)P
    noise = s.G @ (s.A @ s.G.T - s.S.T) - s.S @ s.G.T
    return (*others, (kept, s.P - s.G @ s.axes @ s.P), (p_plus, kept - kept @ s.axes.T @ s.G.T + noise))


def omega(s: Symbols) -> tuple[Equation, ...]:
    """KJR92 eq. 58, Ω(k) = ψ*Ω(p)ψ + H*D⁻¹H with Δ⁺ = φ*Ω(p)φ: Δ⁺ − H*ω* − ωH + H*(G*ω + D⁻¹)H, ω = Δ⁺G."""
    w = _part("ω", s.axes_space, MOTIONS, s.pair)
    core = s.G.T @ w + s.D.inv
    return (
        (s.Delta, s.E_phi.T @ s.Omega @ s.E_phi),
        (w, s.Delta @ s.G),
        (s.Omega, s.Delta - s.axes.T @ w.T - w @ s.axes + s.axes.T @ core @ s.axes),
    )


# Composite bodies, from the tips and from the base


def composite(s: Symbols) -> tuple[Equation, ...]:
    """R87 eq. 29."""
    return ((s.r, s.M + s.E_phi @ s.r @ s.E_phi.T),)


def gramian(s: Symbols) -> tuple[Equation, ...]:
    """R87 §XIV."""
    return ((s.Gamma, s.E_phi.T @ s.Gamma @ s.E_phi + s.H.T @ s.U @ s.H),)


def parent_mass(s: Symbols) -> tuple[Equation, ...]:
    """RJ2W eq. 10."""
    own = _part("M⁺", MOTIONS, FORCES, (s.M,), True)
    return (own, s.M), (s.M_b, s.E_phi_b @ own @ s.E_phi_b.T)


def backward_composite(s: Symbols) -> tuple[Equation, ...]:
    """RJ2W Table 2; on trees what the siblings carry is on the base's side of the joint too (§6)."""
    carried = _part("r_b⁺", MOTIONS, FORCES, (s.M,), True)
    beside = s.E_s @ s.r @ s.E_s.T
    return (s.r_b, s.E_phi_b @ carried @ s.E_phi_b.T + beside), (carried, s.r_b + s.M)


def _total(s: Symbols) -> Symbol:
    traits = _SYMMETRIC | {BRANCHING} if s.siblings else _SYMMETRIC
    return Symbol("r_t", MOTIONS, FORCES, traits, (s.M,))


def total_mass(s: Symbols) -> tuple[Equation, ...]:
    """The whole mechanism as joint k sees it, from what both sweeps bring there."""
    return ((_total(s), s.r + s.r_b),)


def inverse_total(s: Symbols) -> tuple[Equation, ...]:
    """q = (r + r_b)⁻¹ (RJ2W proof of eq. 32)."""
    return ((s.q, _total(s).inv),)


def forward_projection(s: Symbols) -> tuple[Equation, ...]:
    """RJ2W eqs. 17, 19: H_f = H r_b (r + r_b)⁻¹."""
    return ((s.H_f, s.H @ s.r_b @ _total(s).inv),)


def backward_projection(s: Symbols) -> tuple[Equation, ...]:
    return ((s.H_b, s.H @ s.r @ _total(s).inv),)


# Velocities, and what they make of H* and M


def velocity(s: Symbols) -> tuple[Equation, ...]:
    """KJR92 eq. 41."""
    return ((s.V, s.E_phi.T @ s.V + s.H.T @ s.v),)


def reference_velocity(s: Symbols) -> tuple[Equation, ...]:
    """The same of a second velocity θ̇_r."""
    return ((s.V_ref, s.E_phi.T @ s.V_ref + s.H.T @ s.v_ref),)


def axes_carried(s: Symbols) -> tuple[Equation, ...]:
    """Ψ̇ = V_p~H* (SRW22)."""
    return ((s.Psi_dot, s.V_p_tilde @ s.H.T),)


def axes_turned(s: Symbols) -> tuple[Equation, ...]:
    """Ψ́ = 2Ψ̇ + [H*θ̇]~H*."""
    return ((s.Psi_prime, 2 * s.Psi_dot + _function_symbol("own_bracket", RATES, MOTIONS, s.v)),)


def coriolis(s: Symbols) -> tuple[Equation, ...]:
    """𝓑 (EW21), linear in M."""
    block = _function_symbol("coriolis_block", MOTIONS, FORCES, s.V)
    parts = s.M.terms if isinstance(s.M, Sum) else ((1, s.M),)
    if any(part is not Symbols().M for _, part in parts):
        raise StatementError("𝓑 is made from the links' own masses M, or multiples of them.")
    return ((s.B_v, sum((c for c, _ in parts), Fraction(0)) * block),)


def coriolis_composite(s: Symbols) -> tuple[Equation, ...]:
    """R87 eq. 29 of 𝓑."""
    return ((s.r_v, s.B_v + s.E_phi @ s.r_v @ s.E_phi.T),)


def coriolis_articulated(s: Symbols) -> tuple[Equation, ...]:
    """𝒴 = ℰψ𝒴ℰφ* + 𝓑 with 𝒴⁺ = (I − GH)𝒴."""
    carried = _part("𝒴⁺", MOTIONS, FORCES, s.pair)
    return (s.Y, s.B_v + s.E_phi @ carried @ s.E_phi.T), (carried, s.Y - s.G @ s.axes @ s.Y)


def _made_parts(node: Node) -> tuple[Symbol, ...]:
    """Symbols in a mass that equations define."""
    match node:
        case Symbol():
            return (node,) if node.name in _DEFINED_BY else ()
        case Adjoint(of=inner) | Inverse(of=inner):
            return _made_parts(inner)
        case Sum(terms=terms):
            return tuple(x for _, part in terms for x in _made_parts(part))
        case Product(factors=factors):
            return tuple(x for part in factors for x in _made_parts(part))
    return ()


@dataclass(frozen=True)
class Definition:
    """The equations that make a symbol, what these need first, and about how many operations they take at a link; also
    where they are differentiated."""

    equations: Callable[[Symbols], tuple[Equation, ...]]
    weight: int
    after: Callable[[Symbols], tuple[Symbol, ...]] = lambda s: ()
    rate_weight: int = 0


_DEFINED_BY: dict[str, Definition] = {
    **dict.fromkeys(("P", "D", "D_root", "G", "psi"), Definition(riccati, 330, rate_weight=400)),
    **dict.fromkeys(("Omega", "Delta"), Definition(omega, 260, lambda s: (s.P,), 400)),
    "r": Definition(composite, 100, lambda s: _made_parts(s.M), 150),
    "Gamma": Definition(gramian, 160, rate_weight=200),
    "M_b": Definition(parent_mass, 100),
    "r_b": Definition(backward_composite, 100, lambda s: (s.r,) if s.siblings else ()),
    "r_t": Definition(total_mass, 21, lambda s: (s.r, s.r_b) if s.siblings else (s.r_b, s.r)),
    "q": Definition(inverse_total, 250, lambda s: (_total(s),)),
    "H_f": Definition(forward_projection, 200, lambda s: (_total(s),)),
    "H_b": Definition(backward_projection, 200, lambda s: (_total(s),)),
    "V": Definition(velocity, 45),
    "V_ref": Definition(reference_velocity, 45),
    "Psi_dot": Definition(axes_carried, 18, lambda s: (s.V,)),
    "Psi_prime": Definition(axes_turned, 6, lambda s: (s.Psi_dot,)),
    "B_v": Definition(coriolis, 60, lambda s: (s.V,)),
    "r_v": Definition(coriolis_composite, 100, lambda s: (s.B_v,)),
    "Y": Definition(coriolis_articulated, 150, lambda s: (s.B_v, s.P)),
}


@dataclass(frozen=True)
class MadeOf:
    """What makes a vector link by link: a memoryless function of fields, after the operator or vector that the symbol
    is about."""

    function: str
    fields: tuple[str, ...] = ()
    is_about: bool = False


MADE_OF: dict[str, MadeOf] = {
    "a": MadeOf("bias_acceleration", ("V", "θ̇")),
    "b": MadeOf("bias_force", ("V",), True),
    "b_r": MadeOf("rotor_moment", ("V", "θ̇")),
    "a_ref": MadeOf("reference_acceleration", ("V", "θ̇", "Vᵣ", "θ̇ᵣ")),
    "n_ref": MadeOf("reference_turning", ("V", "θ̇", "Vᵣ", "θ̇ᵣ")),
    "b_ref": MadeOf("reference_force", ("V", "Vᵣ"), True),
    "b_r_ref": MadeOf("reference_rotor_moment", ("V", "θ̇", "θ̇ᵣ")),
    "a0": MadeOf("bias_acceleration_at_frames", ("V",)),
    AXIAL: MadeOf(AXIAL, (), True),
    AXES_AXIAL: MadeOf(AXES_AXIAL, (), True),
}

POSE = Recursion("pose", (), ())
"""Where each link is in the world: the product of the joints' transforms, which is no operator of the algebra."""


@cache
def recursion_of(symbol: Symbol) -> Recursion | None:
    """The equations that make a symbol; None where none do."""
    if symbol.name not in _DEFINED_BY:
        return None
    made, s = _DEFINED_BY[symbol.name], _symbols_of(symbol)
    equations = made.equations(s)
    weight = made.weight + 50 * any(E_S in getattr(x, "factors", ()) for _, node in equations for x in _parts(node))
    return Recursion(made.equations.__name__, symbol.of, equations, made.after(s), weight, made.rate_weight)


def _symbols_of(symbol: Symbol) -> Symbols:
    """The symbols of the mass that a symbol is about."""
    s = Symbols(siblings=BRANCHING in symbol.traits)
    if len(symbol.of) == 1:
        return Symbols(mass_symbol=symbol.of[0], siblings=s.siblings)
    return s.with_pair(*symbol.of) if symbol.of else s


def joseph(recursion: Recursion) -> Recursion:
    """Riccati's equation with Joseph's update; any other as it is."""
    if recursion.name != riccati.__name__:
        return recursion
    return replace(recursion, equations=riccati_joseph(Symbols().with_pair(*recursion.of)))
