"""Symbols that change with the motion, of which the derivatives of the dynamics are made.

With ~ the bracket of motions, x~y = [ω×ω_y; ω×v_y + v×ω_y], and F^ that of a force, F^y = y ×* F, all are memoryless.
_p is the parent's, seen at the link; _J is the joint's own. Accelerations α are spatial ones, θ̈'s part, velocities' and
gravity's together (SRW22: Singh, Russell, Wensing, Robotics and Automation Letters 2022; EW21: Echeandia, Wensing,
J. Comput. Nonlinear Dynamics 2021).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from phistar.operators.nodes import Node, Symbol
from phistar.operators.spaces import FORCES, MOTIONS, RATES, SCALARS

_MEMORYLESS = frozenset({"memoryless", "causal"})

BRACKETS = dict.fromkeys(("V_tilde", "V_p_tilde", "V_J_tilde", "alpha_p_tilde"), "motion_bracket")
BRACKETS |= {
    "tilde": "motion_bracket",
    "hat": "force_bracket",
    "F_hat": "force_bracket",
    "H_rate": "subspace_rate",
    "frame_turn": "frame_turn",
}
BRACKETS |= {"frame_sweep": "frame_sweep"}
"""Letters that are made from a vector, the node they are about, and the function that makes their blocks."""

REGRESSOR = "Y_pi"
"""The letter of the forces of bodies as linear maps of their inertial parameters."""

PLACE, VELOCITY, ACCELERATION = "partial_q", "partial_v", "partial_qdd"
PARTIALS = PLACE, VELOCITY, ACCELERATION
"""Derivatives of a vector: by the tangent δ of q ⊕ δ, by θ̇, by θ̈."""


TOGETHER = "together"
"""The letter of an operator that is taken as a whole."""


def motion_bracket(name: str, motion: Node) -> Symbol:
    """x~, Motions → Motions."""
    return Symbol(name, MOTIONS, MOTIONS, _MEMORYLESS, (motion,))


def force_bracket(name: str, force: Node) -> Symbol:
    """F^, Motions → Forces."""
    return Symbol(name, MOTIONS, FORCES, _MEMORYLESS, (force,))


def partial(node: Node, by: str) -> Symbol:
    """∂x/∂θ, ∂x/∂θ̇ or ∂x/∂θ̈ of a vector x, from Rates to where x lives."""
    assert node.domain == SCALARS and node.codomain is not None, node
    return Symbol(by, RATES, node.codomain, frozenset(), (node,))


def together(node: Node) -> Symbol:
    """An operator as one letter, made once and applied as it is: a memoryless one by its blocks, one of the few
    coordinates of frames, closures or ranks by its columns."""
    assert node.domain is not None and node.codomain is not None
    traits = frozenset[str]() if is_narrow(node) else _MEMORYLESS
    return Symbol(TOGETHER, node.domain, node.codomain, traits, (node,))


def is_narrow(node: Node) -> bool:
    """Whether an operator takes a few numbers, not some of every link or joint."""
    return node.domain is not None and node.domain.over not in ("links", "joints", "inner", "parameters")


class Linearized(ABC):
    """The velocities' and accelerations' part of the symbols; `acceleration` is the θ̈ that α is made of."""

    H: Symbol
    phi: Symbol
    E_phi: Symbol
    E: Symbol

    @property
    @abstractmethod
    def M(self) -> Node:
        """The links' masses."""

    @property
    @abstractmethod
    def pair(self) -> tuple[Node, ...]:
        """Mass and armature, and rotors where there are any."""

    @property
    @abstractmethod
    def V(self) -> Symbol:
        """Link velocities."""

    @property
    @abstractmethod
    def v(self) -> Symbol:
        """Joint rates."""

    @property
    @abstractmethod
    def a_g(self) -> Symbol:
        """Gravity, an acceleration of the base."""

    @property
    @abstractmethod
    def acceleration(self) -> Node:
        """θ̈: given, or what the joint forces give."""

    @property
    def V_tilde(self) -> Symbol:
        return motion_bracket("V_tilde", self.V)

    @property
    def V_p_tilde(self) -> Symbol:
        """The parent's velocity, V_p = ℰφ*V."""
        return motion_bracket("V_p_tilde", self.E_phi.T @ self.V)

    @property
    def V_J_tilde(self) -> Symbol:
        """The joint's own part of the velocity, H*θ̇ = V − V_p."""
        return motion_bracket("V_J_tilde", self.H.T @ self.v)

    @property
    def Psi_dot(self) -> Symbol:
        """Ψ̇ = V_p~H*: how the joint's axes move with the parent (SRW22)."""
        return Symbol("Psi_dot", RATES, MOTIONS, _MEMORYLESS)

    @property
    def Psi_prime(self) -> Symbol:
        """Ψ́ = (V_p + V)~H* (SRW22)."""
        return Symbol("Psi_prime", RATES, MOTIONS, _MEMORYLESS)

    @property
    def B_v(self) -> Symbol:
        """𝓑 = ½(V ×* M + (MV)^ − MV~), Motions → Forces: 𝓑V = V ×* MV, and δ(𝓑V) = (2𝓑 + MV~)δV (EW21)."""
        return Symbol("B_v", MOTIONS, FORCES, _MEMORYLESS, (self.M,))

    @property
    def r_v(self) -> Symbol:
        """The composites of 𝓑, r_v = ℰφ r_v ℰφ* + 𝓑, as r are those of M (R87 eq. 29)."""
        return Symbol("r_v", MOTIONS, FORCES, _MEMORYLESS, (self.M,))

    @property
    def Y(self) -> Symbol:
        """𝒴 = ℰψ𝒴ℰφ* + 𝓑: of 𝓑 what P is of M."""
        return Symbol("Y", MOTIONS, FORCES, _MEMORYLESS, self.pair)

    @property
    def alpha(self) -> Symbol:
        """α = φ*(H*θ̈ + Ψ̇θ̇ + E*a_g): spatial accelerations, gravity among them."""
        return Symbol("alpha", SCALARS, MOTIONS, frozenset({"vector"}), (self.acceleration,))

    @property
    def alpha_p_tilde(self) -> Symbol:
        """The parent's acceleration, α_p = ℰφ*α + E*a_g."""
        return motion_bracket("alpha_p_tilde", self.E_phi.T @ self.alpha + self.E.T @ self.a_g)

    @property
    def Psi_ddot(self) -> Symbol:
        """Ψ̈ = α_p~H* + V_p~Ψ̇ (SRW22)."""
        return Symbol("Psi_ddot", RATES, MOTIONS, _MEMORYLESS, (self.acceleration,))

    @property
    def link_forces(self) -> Node:
        """F = φ(Mα + 𝓑V): the spatial force across each joint."""
        return self.phi @ (self.M @ self.alpha + self.B_v @ self.V)

    @property
    def F_hat(self) -> Symbol:
        return force_bracket("F_hat", self.link_forces)


LINEARIZED_NAMES = (
    *("V_tilde", "V_p_tilde", "V_J_tilde", "Psi_dot", "Psi_prime", "Psi_ddot", "B_v", "r_v", "Y"),
    *("alpha", "alpha_p_tilde", "F_hat"),
)


MADE = ("alpha", "Psi_ddot")
"""Symbols that stand for a few others."""


def definition(symbol: Symbol, s: Linearized) -> Node:
    """Definition of a compound symbol in terms of others."""
    if symbol.name == "alpha":
        return s.phi.T @ (s.H.T @ symbol.of[0] + s.Psi_dot @ s.v + s.E.T @ s.a_g)
    assert symbol.name == "Psi_ddot", symbol
    return s.alpha_p_tilde @ s.H.T + s.V_p_tilde @ s.Psi_dot
