"""The symbols of the papers, with their spaces and structure; one set per choice of frames, mass and armature.

H maps forces to torques and φ propagates forces inward (RJK91 §2, KJR92 §3.1). The Riccati set P, D, G, K, ψ belongs to
a *pair* (mass, armature), because the same recursion that factors the mass matrix factors any HφXφ*H* + R.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phistar.operators.linearized import LINEARIZED_NAMES, REGRESSOR, Linearized
from phistar.operators.nodes import Node, Sum, Symbol, identity, spelling, summation, zero
from phistar.operators.rate_letters import rate
from phistar.operators.spaces import (
    BASE_FORCES,
    CLOSURE_MOTIONS,
    FORCES,
    MOTIONS,
    NORMAL,
    PARAMETERS,
    RATES,
    SCALARS,
    TORQUES,
    Space,
    task_forces,
)
from phistar.operators.two_way import TWO_WAY_NAMES, TwoWay
from phistar.operators.vector_symbols import Vectors

_MEMORYLESS = frozenset({"memoryless", "causal"})
_SYMMETRIC = _MEMORYLESS | {"symmetric"}
_POSITIVE = _SYMMETRIC | {"positive"}
_CAUSAL = frozenset({"causal"})
_STRICT = frozenset({"causal", "strict"})
_VECTOR = frozenset({"vector"})
_NONE: frozenset[str] = frozenset()

H = Symbol("H", FORCES, TORQUES, _MEMORYLESS)
PHI = Symbol("phi", FORCES, FORCES, _CAUSAL)
E_PHI = Symbol("E_phi", FORCES, FORCES, _STRICT)
MASS = Symbol("M", MOTIONS, FORCES, _POSITIVE)
ARMATURE = Symbol("A", RATES, TORQUES, _POSITIVE)
ROTOR = Symbol("S", RATES, FORCES, _MEMORYLESS)
BASE = Symbol("E", FORCES, BASE_FORCES, _NONE)
UNIT = Symbol("U", TORQUES, RATES, _POSITIVE)
WEIGHTS = Symbol("R", RATES, TORQUES, _POSITIVE)
FREE = Symbol("L", TORQUES, TORQUES, _MEMORYLESS)


@dataclass(frozen=True)
class Symbols(Vectors, TwoWay, Linearized):
    """H φ M … over the frames `frames` (None: one abstract tip); `armature` says whether A is there at all."""

    frames: tuple[str, ...] | None = None
    armature: bool = True
    mass_symbol: Node = MASS
    armature_symbol: Node | None = None
    rotors: bool = False
    rotor_symbol: Node | None = None
    axes_symbol: Node = H
    siblings: bool = True  # whether any link has brothers
    acceleration_symbol: Node | None = None

    # The fundamental operators (KJR92 eqs. 17-22).
    H, phi, E_phi, E, U, I = H, PHI, E_PHI, BASE, UNIT, identity()

    # Weights of the joints, positive, one per rate, given with the state: J*J + R is what damped least squares invert.
    R = WEIGHTS

    # Which rates joint forces drive, 1 or 0 per rate, given with the state: LH are the free joints' axes.
    L = FREE

    @property
    def spelling(self) -> str:
        """An exact name of this choice of symbols."""
        chosen = (self.mass_symbol, self.A, self.S, self.axes, self.acceleration)
        return f"{self.frames}{self.armature}{self.rotors}{self.siblings}" + "|".join(spelling(node) for node in chosen)

    @property
    def task(self) -> Space:
        return task_forces(self.frames)

    @property
    def M(self) -> Node:
        return self.mass_symbol

    @property
    def A(self) -> Node:
        """Motor inertia on the joint axes, Rates → Torques; the zero operator where there is none."""
        if self.armature_symbol is not None:
            return self.armature_symbol
        return ARMATURE if self.armature else zero(RATES, TORQUES)

    @property
    def S(self) -> Node:
        """Spin of geared rotors, Rates → Forces: the momentum [G J_r h; 0] that a rate gives to the parent link
        (RJK91 §6). With it the noise of the filter is correlated; the zero operator where there is none."""
        if self.rotor_symbol is not None:
            return self.rotor_symbol
        return ROTOR if self.rotors else zero(self.axes_space.dual, FORCES)

    @property
    def B(self) -> Symbol:
        """Task forces to link forces; B* picks the task motions off (KJR92 eq. 21)."""
        return Symbol("B", self.task, FORCES, _NONE)

    @property
    def U_task(self) -> Symbol:
        """The unit metric of the task space: JJ* is written J U J*, J*J is written J* U_task J."""
        return Symbol("U_task", self.task.dual, self.task, _POSITIVE)

    @property
    def Q(self) -> Symbol:
        """Task motions to the relative motions that closures forbid (RJK91 eq. 22 is Q = [I −I])."""
        return Symbol("Q", self.task.dual, CLOSURE_MOTIONS, _NONE)

    # The Riccati set (KJR92 eqs. 24-29, 34; D with armature).
    def riccati(self, name: str, source: Space, target: Space, traits: frozenset[str]) -> Symbol:
        return Symbol(name, source, target, traits, self.pair)

    @property
    def pair(self) -> tuple[Node, ...]:
        """Arguments of a Riccati equation: mass and armature, the rotors where there are any, and the axes where they
        are not H."""
        no_rotors = isinstance(self.S, Sum) and not self.S.terms
        return (self.M, self.A, *(() if no_rotors else (self.S,)), *(() if self.axes is H else (self.axes,)))

    @property
    def axes(self) -> Node:
        """The H of the Riccati equation: that of all joints, XH with a memoryless X, or I, where φMφ* + A itself is
        factored: every link then moves in all six ways."""
        return self.axes_symbol

    @property
    def axes_space(self) -> Space:
        """Codomain of `axes`: Torques, or Forces."""
        return TORQUES if self.axes.codomain is None else self.axes.codomain

    @property
    def P(self) -> Symbol:
        return self.riccati("P", MOTIONS, FORCES, _POSITIVE)

    @property
    def D(self) -> Symbol:
        return self.riccati("D", self.axes_space.dual, self.axes_space, _POSITIVE)

    @property
    def G(self) -> Symbol:
        return self.riccati("G", self.axes_space, FORCES, _MEMORYLESS)

    @property
    def K(self) -> Symbol:
        return self.riccati("K", self.axes_space, FORCES, _STRICT)

    @property
    def psi(self) -> Symbol:
        return self.riccati("psi", FORCES, FORCES, _CAUSAL)

    @property
    def E_psi(self) -> Symbol:
        return self.riccati("E_psi", FORCES, FORCES, _STRICT)

    @property
    def W(self) -> Symbol:
        return self.riccati("W", FORCES, BASE_FORCES, _NONE)

    @property
    def D_root(self) -> Symbol:
        """D^½, Rates → Normal: the triangular block of each joint with D = (D^½)*D^½, of one dof the square root. The
        residuals are ν = D^½(I + HφK)*θ̇, the innovations ε = D^{-½}*(I − HψK)T (RJK91 §6)."""
        return self.riccati("D_root", self.axes_space.dual, NORMAL, _MEMORYLESS)

    @property
    def D_dot(self) -> Symbol:
        """dD/dt along θ̇, in link axes: Riccati's equation differentiated (RJK91 §6)."""
        return rate(self.D, self.v)

    @property
    def G_dot(self) -> Symbol:
        """dG/dt along θ̇, in link axes."""
        return rate(self.G, self.v)

    @property
    def Omega(self) -> Symbol:
        """Ω = E_ψ*ΩE_ψ + H*D⁻¹H, block diagonal (KJR92 eq. 57)."""
        return self.riccati("Omega", FORCES, MOTIONS, _SYMMETRIC)

    @property
    def Delta(self) -> Symbol:
        """Δ⁺(k) = φ*Ω(p)φ, the covariance of λ on the inboard side of joint k (R87 eq. 81); on the outboard side
        it is Ω, R87's Δ⁻."""
        return self.riccati("Delta", FORCES, MOTIONS, _SYMMETRIC)

    @property
    def Gamma(self) -> Symbol:
        """Γ = E_φ*ΓE_φ + H*H, the same recursion for rigid links: JJ* = B*ΓB (R87 §XIV)."""
        return Symbol("Gamma", FORCES, MOTIONS, _SYMMETRIC)

    @property
    def r(self) -> Symbol:
        """Composite-body inertia, r = E_φ r E_φ* + M (R87 eq. 29)."""
        return Symbol("r", MOTIONS, FORCES, _POSITIVE, (self.M,))

    # The factors of ℳ = (I + HφK)D(I + HφK)* and of its inverse (RJK91 lemmas 1 and 2).
    @property
    def factor(self) -> Node:
        return self.I + self.axes @ self.phi @ self.K

    @property
    def whitening(self) -> Node:
        return self.I - self.axes @ self.psi @ self.K

    # Tilde forms (KJR92 eq. 55).
    @property
    def phi_tilde(self) -> Node:
        return summation([(1, self.phi), (-1, self.I)])

    @property
    def psi_tilde(self) -> Node:
        return summation([(1, self.psi), (-1, self.I)])

    @property
    def acceleration(self) -> Node:
        """θ̈ as accelerations α and forces F have it: given, unless a statement says what it is."""
        return self.qdd if self.acceleration_symbol is None else self.acceleration_symbol

    @property
    def b(self) -> Symbol:
        """Gyroscopic and centripetal forces of the links, made from M and V (KJR92 eq. 47)."""
        return Symbol("b", SCALARS, FORCES, _VECTOR, (self.M,))

    @property
    def b_r(self) -> Node:
        """Gyroscopic moments ω × S θ̇ of the rotors, carried by the parent link like S."""
        return self.vector("b_r", FORCES) if self.rotors else zero(SCALARS, FORCES)

    @property
    def b_ref(self) -> Symbol:
        return Symbol("b_ref", SCALARS, FORCES, _VECTOR, (self.M,))

    @property
    def b_r_ref(self) -> Node:
        return self.vector("b_r_ref", FORCES) if self.rotors else zero(SCALARS, FORCES)

    @property
    def bias(self) -> Node:
        """ā = a + E*a_g: gravity is an acceleration of the base (KJR92 eq. 45)."""
        return self.a + self.E.T @ self.a_g

    @property
    def Y_pi(self) -> Symbol:
        """The force Mα + b that moves each body, as a linear map of the bodies' inertial parameters π, in their axes;
        τ = HφY_π π + Aθ̈."""
        return Symbol(REGRESSOR, PARAMETERS, FORCES, _MEMORYLESS, (self.phi.T @ (self.H.T @ self.qdd + self.bias),))

    @property
    def load(self) -> Node:
        """J*f, the joint forces of task forces; zero where there are no task frames."""
        return zero(SCALARS, TORQUES) if not self.frames else self.J.T @ self.f

    # What the statements are about: physical quantities that a law expresses in operators.
    @property
    def mass(self) -> Symbol:
        """The mass matrix ℳ, armature included; HφMφ*H* + A by law (RJK91 eq. 3)."""
        return Symbol("mass", self.axes_space.dual, self.axes_space, frozenset({"symmetric", "positive"}), self.pair)

    @property
    def J(self) -> Symbol:
        """The standard Jacobian; B*φ*H* by law (RJK91 eq. 1)."""
        return Symbol("J", RATES, self.task.dual, _NONE)

    @property
    def C(self) -> Symbol:
        """Coriolis and centrifugal joint forces (RJK91 eq. 4)."""
        return self.vector("C", TORQUES)

    @property
    def C_ref(self) -> Symbol:
        """C(θ, θ̇)θ̇_r with dℳ/dt − 2C skew (RJK91 §6)."""
        return self.vector("C_ref", TORQUES)

    @property
    def g(self) -> Symbol:
        """Gravity load of the joints (KJR92 eq. 44)."""
        return self.vector("g", TORQUES)

    @property
    def Jdot_v(self) -> Symbol:
        """J̇θ̇ (KJR92 eq. 46)."""
        return self.vector("Jdot_v", self.task.dual)

    @property
    def V(self) -> Symbol:
        """Link velocities φ*H*θ̇ (KJR92 eq. 41)."""
        return self.vector("V", MOTIONS)

    def with_pair(self, mass: Node, armature: Node, *others: Node) -> Symbols:
        """The same symbols for the Riccati equation of HφXφ*H* + R (+ Hφ̃S + S*φ̃*H*), `others` S and other axes."""
        if (mass, armature, *others) == self.pair:
            return self
        spin, axes = rotors_and_axes((mass, armature, *others))
        spin = zero(armature.domain, FORCES) if spin is None else spin
        return replace(self, mass_symbol=mass, armature_symbol=armature, rotor_symbol=spin, axes_symbol=axes)

    def with_acceleration(self, acceleration: Node) -> Symbols:
        """The same symbols with θ̈ as the statement gives it."""
        return replace(self, acceleration_symbol=acceleration)


def rotors_and_axes(pair: tuple[Node, ...]) -> tuple[Node | None, Node]:
    """S of the arguments of a Riccati equation, or None, and its axes."""
    spins = [x for x in pair[2:] if x.domain != FORCES]
    axes = [x for x in pair[2:] if x.domain == FORCES]
    return (spins[0] if spins else None), (axes[0] if axes else H)


def has_pair(symbol: Symbol) -> bool:
    """Whether a symbol is about masses and armature, as Riccati's set is; rates are about other things."""
    if len(symbol.of) < 2 or symbol.of[0].codomain != FORCES:
        return False
    return symbol.of[1].codomain == TORQUES or (len(symbol.of) > 2 and symbol.of[2].domain == FORCES)


NAMES = (
    *(
        "H",
        "phi",
        "psi",
        "M",
        "P",
        "D",
        "G",
        "K",
        "A",
        "E_phi",
        "E_psi",
        "B",
        "E",
        "W",
        "I",
        "U",
        "U_task",
        "Q",
        "R",
        "L",
    ),
    *("Omega", "Delta", "Gamma", "r", "phi_tilde", "psi_tilde", "v", "V", "qdd", "T", "a", "b", "a_g", "S", "b_r"),
    *("a_b", "f", "a0", "mass", "J", "C", "g", "Jdot_v", "u", "a_delayed", "b_delayed", "a0_delayed", "f_delayed"),
    *("v_ref", "V_ref", "a_ref", "b_ref", "b_r_ref", "n_ref", "F", "C_ref", "D_dot", "G_dot", "D_root"),
    "Y_pi",
    *TWO_WAY_NAMES,
    *LINEARIZED_NAMES,
)
"""Every name a statement may use; `phistar derive` and `ps.algebra()` offer exactly these."""
