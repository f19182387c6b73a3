"""The backward half of the two-way algebra of free-flying robots (RJ2W).

The forward half is the algebra's own: φ_f = φ, ℰφ_f = ℰφ, M_f = M, r_f = r. The stacks run over all links with the
base link among them, so that RJ2W's link N + 1 is inside; r_b, M_b and the reduced mass ρ are zero there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from phistar.operators.nodes import Node, Symbol, identity, summation, zero
from phistar.operators.spaces import (
    FORCES,
    INNER_RATES,
    INNER_TORQUES,
    MOTIONS,
    ROOT_FORCES,
    SCALARS,
    TORQUES,
    Space,
)

_MEMORYLESS = frozenset({"memoryless", "causal"})
_SYMMETRIC = _MEMORYLESS | {"symmetric"}
_POSITIVE = _SYMMETRIC | {"positive"}
_NONE: frozenset[str] = frozenset()
BRANCHING = "branching"
"""The trait of a symbol whose recursion has sums over siblings."""

E_PHI_B = Symbol("E_phi_b", FORCES, FORCES, _NONE)
PHI_B = Symbol("phi_b", FORCES, FORCES, _NONE)
E_S = Symbol("E_s", FORCES, FORCES, _NONE)
PI_F = Symbol("Pi_f", FORCES, FORCES, _MEMORYLESS)
PI_B = Symbol("Pi_b", FORCES, FORCES, _MEMORYLESS)
PICK_F = Symbol("pi_f", FORCES, ROOT_FORCES, _NONE)
INNER = Symbol("N", TORQUES, INNER_TORQUES, _NONE)


class TwoWay(ABC):
    """The symbols that run from the base outward; `siblings` says whether any link has brothers."""

    siblings: bool

    # ℰφ_b carries forces from a link to its children, φ(k,p) = φ⁻¹(p,k), and φ_b = (I − ℰφ_b)⁻¹ (RJ2W eqs. 1, 4).
    E_phi_b, phi_b = E_PHI_B, PHI_B
    # π_f picks off the base link; Π_f = π_f*π_f and Π_b = π_b*π_b keep the base link and the tips (RJ2W eq. 2).
    pi_f, Pi_f, Pi_b = PICK_F, PI_F, PI_B
    # Rates and accelerations of the joints between links, given by the caller.
    v_i = Symbol("v_i", SCALARS, INNER_RATES, frozenset({"vector"}))
    qdd_i = Symbol("qdd_i", SCALARS, INNER_RATES, frozenset({"vector"}))
    # N keeps the joints between links and drops the one that carries the base link.
    N = INNER

    @property
    @abstractmethod
    def M(self) -> Node:
        """The links' masses."""

    @property
    @abstractmethod
    def r(self) -> Symbol:
        """The forward composite mass."""

    @property
    @abstractmethod
    def pair(self) -> tuple[Node, ...]:
        """Mass and armature, and rotors where there are any."""

    @property
    def M_i(self) -> Symbol:
        """The mass matrix of the joints between links when nothing holds the base link, ℳ_i = HR̄H* + A by law (RJ2W
        eq. 27)."""
        return Symbol("M_i", INNER_RATES, INNER_TORQUES, frozenset({"symmetric", "positive"}), self.pair)

    @property
    def phi_b_tilde(self) -> Node:
        """φ̃_b = φ_b − I (RJ2W eq. 6)."""
        return summation([(1, self.phi_b), (-1, identity())])

    @property
    def E_s(self) -> Node:
        """Forces from brother to brother through the parent, block (k,s) = φ(k,s): what RJ2W §6 leaves out. Zero on
        chains."""
        return E_S if self.siblings else zero(FORCES, FORCES)

    @property
    def M_b(self) -> Symbol:
        """The parent link's mass as joint k sees it, M_b(k) = φ(k,p)M(p)φ*(k,p) (RJ2W eq. 10)."""
        return Symbol("M_b", MOTIONS, FORCES, _POSITIVE, (self.M,))

    @property
    def r_b(self) -> Symbol:
        """Backward composite mass: everything on the base's side of joint k as one body (RJ2W Table 2; §6 on trees)."""
        return self._composite("r_b", MOTIONS, FORCES, _POSITIVE)

    @property
    def q(self) -> Symbol:
        """q = (r + r_b)⁻¹, the inverse mass of the whole mechanism as joint k sees it (RJ2W eq. 31)."""
        return self._composite("q", FORCES, MOTIONS, _POSITIVE)

    @property
    def rho(self) -> Symbol:
        """The reduced mass r q r_b; RJ2W's r (eq. 13)."""
        return self._composite("rho", MOTIONS, FORCES, _POSITIVE)

    @property
    def C_f(self) -> Symbol:
        """C_f = r_b q (RJ2W eq. 17)."""
        return self._composite("C_f", FORCES, FORCES, _MEMORYLESS)

    @property
    def C_b(self) -> Symbol:
        """C_b = r q = I − C_f (RJ2W eq. 17)."""
        return self._composite("C_b", FORCES, FORCES, _MEMORYLESS)

    @property
    def H_f(self) -> Symbol:
        """HC_f: what joint k feels of forces from further out when the base gives way (RJ2W eq. 19)."""
        return self._composite("H_f", FORCES, TORQUES, _MEMORYLESS)

    @property
    def H_b(self) -> Symbol:
        """HC_b."""
        return self._composite("H_b", FORCES, TORQUES, _MEMORYLESS)

    def _composite(self, name: str, source: Space, target: Space, traits: frozenset[str]) -> Symbol:
        """A symbol made from r_b, whose recursion has sums over siblings on trees."""
        return Symbol(name, source, target, traits | {BRANCHING} if self.siblings else traits, (self.M,))


TWO_WAY_NAMES = (
    *("E_phi_b", "phi_b", "phi_b_tilde", "E_s", "pi_f", "Pi_f", "Pi_b", "N", "M_b", "r_b", "q", "rho"),
    *("C_f", "C_b", "H_f", "H_b", "v_i", "qdd_i", "M_i"),
)
