"""Laws of the derivatives of the dynamics: brackets carried along the links, 𝓑 and what it adds up to.

Differentiation itself is `vector_derivatives.py`; these bring what it gives to its shortest form. SRW22 is Singh,
Russell, Wensing, Robotics and Automation Letters 2022; EW21 Echeandia, Wensing, J. Comput. Nonlinear Dynamics 2021.
"""

from fractions import Fraction

from phistar.identities.law import Equation, law
from phistar.operators import meanings
from phistar.operators.linearized import (
    ACCELERATION,
    PLACE,
    VELOCITY,
    definition,
    force_bracket,
    partial,
    together,
)
from phistar.operators.nodes import Node
from phistar.operators.own import own_vector
from phistar.operators.rate_letters import HELD, rate
from phistar.operators.spaces import RATES, TORQUES
from phistar.operators.symbols import Symbols

HALF = Fraction(1, 2)


def joint_forces(s: Symbols) -> Node:
    """τ = ℳθ̈ + 𝒞 + 𝒢."""
    return s.mass @ s.acceleration + s.C + s.g


def inverse_derivatives(s: Symbols) -> dict[str, Node]:
    """∂τ/∂θ, ∂τ/∂θ̇ and ∂τ/∂θ̈ of τ = ℳθ̈ + 𝒞 + 𝒢."""
    tau = joint_forces(s)
    return {"dq": partial(tau, PLACE), "dv": partial(tau, VELOCITY), "da": partial(tau, ACCELERATION)}


def forward_derivatives(s: Symbols) -> dict[str, Node]:
    """−ℳ⁻¹∂τ/∂θ, −ℳ⁻¹∂τ/∂θ̇ and ℳ⁻¹: how θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢) changes."""
    tau = joint_forces(s)
    by_q, by_v = (-(s.mass.inv @ partial(tau, by)) for by in (PLACE, VELOCITY))
    return {"dq": by_q, "dv": by_v, "dtau": s.mass.inv}


def second_inverse_derivatives(s: Symbols) -> dict[str, Node]:
    """Derivatives of ∂τ/∂θ, ∂τ/∂θ̇ and ∂τ/∂θ̈ along joint displacements w, and of ∂τ/∂θ̇ along joint rates w."""
    first, w = inverse_derivatives(s), own_vector("w", RATES)
    by_q = {"dqdq": first["dq"], "dqdv": first["dv"], "dadq": first["da"]}
    made = {name: rate(x, w) for name, x in by_q.items()}
    return {"dqdq": made["dqdq"], "dqdv": made["dqdv"], "dvdv": rate(first["dv"], HELD, w), "dadq": made["dadq"]}


def second_forward_derivatives(s: Symbols) -> dict[str, Node]:
    """How ∂θ̈/∂θ x, ∂θ̈/∂θ̇ x and ∂θ̈/∂T x = ℳ⁻¹x change along displacements w, and ∂θ̈/∂θ̇ x along rates w, where T is
    held and θ̈ gives way by ∂θ̈/∂θ w. With θ̈ it is ∂τ/∂θ x that changes as ∂_xℳ does."""
    first, w = inverse_derivatives(s), own_vector("w", RATES)
    forward, by_q = forward_derivatives(s), partial(joint_forces(s), PLACE)
    x, force = own_vector("x", RATES), own_vector("x", TORQUES)

    def change(inner: Node, outer: Node) -> Node:
        return rate(inner, w) @ x + rate(s.mass, w) @ outer @ x

    twice = change(by_q, forward["dq"]) + rate(s.mass, x) @ forward["dq"] @ w
    return {
        "dqdq": -(s.mass.inv @ twice),
        "dqdv": -(s.mass.inv @ change(first["dv"], forward["dv"])),
        "dvdv": -(s.mass.inv @ rate(first["dv"], HELD, w) @ x),
        "dtaudq": -(s.mass.inv @ rate(s.mass, w) @ forward["dtau"] @ force),
    }


@law("SRW22; KJR92 eq. 41", as_rule="never")
def velocities_add(s: Symbols) -> Equation:
    """V = ℰφ*V + H*θ̇, in brackets."""
    return s.V_tilde, s.V_p_tilde + s.V_J_tilde


@law("SRW22", as_rule="never")
def bracket_is_carried(s: Symbols) -> Equation:
    """A rigid displacement keeps brackets: (φ*x)~φ* = φ*x~ from link to link."""
    return s.V_p_tilde @ s.E_phi.T, s.E_phi.T @ s.V_tilde


@law("SRW22", as_rule="never")
def motion_against_itself(s: Symbols) -> Equation:
    return s.V_tilde @ s.V, 0 * s.V


@law("SRW22", as_rule="never")
def joint_against_itself(s: Symbols) -> Equation:
    """V_J~H*θ̇ = 0."""
    return s.V_J_tilde @ s.H.T @ s.v, 0 * s.V


@law("SRW22; δφ* = φ*δℰφ*φ*", as_rule="motion")
def bracket_crosses_phi(s: Symbols) -> Equation:
    """V~φ* − φ*V_p~ = φ*V_J~φ*: what the joints' own motions change on the way out."""
    return s.V_tilde @ s.phi.T, s.phi.T @ (s.V_J_tilde @ s.phi.T + s.V_p_tilde)


@law("SRW22", as_rule="motion")
def axes_carried(s: Symbols) -> Equation:
    return s.V_p_tilde @ s.H.T, s.Psi_dot


@law("SRW22", as_rule="motion")
def axes_turned_by_their_joint(s: Symbols) -> Equation:
    """Ψ́ = (V_p + V)~H* = 2Ψ̇ + V_J~H*."""
    return s.V_J_tilde @ s.H.T, s.Psi_prime - 2 * s.Psi_dot


@law("SRW22", as_rule="motion")
def axes_accelerated(s: Symbols) -> Equation:
    """Ψ̈ = α_p~H* + V_p~Ψ̇."""
    return s.alpha_p_tilde @ s.H.T, s.Psi_ddot - s.V_p_tilde @ s.Psi_dot


@law("SRW22", as_rule="never")
def own_axes_do_not_turn_their_own_rate(s: Symbols) -> Equation:
    """V_J~H*θ̇ = 0."""
    return s.Psi_prime @ s.v, 2 * s.Psi_dot @ s.v


@law("SRW22", as_rule="never")
def spatial_accelerations(s: Symbols) -> Equation:
    return s.alpha, definition(s.alpha, s)


@law("EW21", as_rule="never")
def coriolis_operator(s: Symbols) -> Equation:
    """𝓑 = ½(V ×* M + (MV)^ − MV~)."""
    return s.B_v, HALF * (_momentum_bracket(s) - s.V_tilde.T @ s.M - s.M @ s.V_tilde)


@law("EW21", as_rule="never")
def momentum_turned_by_its_own_motion(s: Symbols) -> Equation:
    """(MV)^V = V ×* MV."""
    return _momentum_bracket(s) @ s.V, -(s.V_tilde.T @ s.M @ s.V)


def _momentum_bracket(s: Symbols) -> Node:
    return force_bracket("hat", s.M @ s.V)


@law("EW21", as_rule="never")
def coriolis_block(s: Symbols) -> Equation:
    """𝓑V = V ×* MV."""
    return s.B_v @ s.V, -(s.V_tilde.T @ s.M @ s.V)


def spatial_bias(s: Symbols) -> Node:
    """φ(Mφ*Ψ̇θ̇ + 𝓑V): what a and b are in KJR92's accelerations."""
    return s.phi @ (s.M @ s.phi.T @ s.Psi_dot @ s.v + s.B_v @ s.V)


@law("KJR92 eqs. 47, 48; SRW22", "constant_axes", as_rule="never")
def inertial_force_of_a_link(s: Symbols) -> Equation:
    """The same force in the papers' accelerations and in spatial ones."""
    return s.b + s.M @ s.phi.T @ s.a, s.B_v @ s.V + s.M @ s.phi.T @ s.Psi_dot @ s.v


@law("SRW22; KJR92 eq. 43", "constant_axes", as_rule="never")
def spatial_bias_forces(s: Symbols) -> Equation:
    """Two conventions of accelerations, one force."""
    return s.phi @ (s.M @ s.phi.T @ s.a + s.b), spatial_bias(s)


@law("R87 eq. 29, of 𝓑", as_rule="never")
def coriolis_composite_recursion(s: Symbols) -> Equation:
    return meanings.coriolis_composite(s)[0]


@law("R87 eqs. 27, 28, of 𝓑", as_rule="choice", group="composite")
def coriolis_composite_decomposition(s: Symbols) -> Equation:
    """Any memoryless X has composites: nothing of M but that was used."""
    return s.phi @ s.B_v @ s.phi.T, s.r_v + s.phi_tilde @ s.r_v + s.r_v @ s.phi_tilde.T


@law("KJR92 eq. 24, of 𝓑", as_rule="never")
def coriolis_articulated_recursion(s: Symbols) -> Equation:
    return s.Y, s.E_psi @ s.Y @ s.E_phi.T + s.B_v


@law("KJR92 eq. 54, of 𝓑")
def coriolis_mixed_congruence(s: Symbols) -> Equation:
    """ψ𝓑φ* = 𝒴 + ψ̃𝒴 + 𝒴φ̃*."""
    return s.psi @ s.B_v @ s.phi.T, s.psi @ s.Y + s.Y @ s.phi_tilde.T


@law("R87 eqs. 26-31; SRW22", as_rule="never")
def composite_spatial_bias(s: Symbols) -> Equation:
    """Of second degree in θ̇, so half of its derivative times θ̇ (Euler): φ(Mφ*Ψ̇θ̇ + 𝓑V) from the columns of ∂τ/∂θ̇."""
    return spatial_bias(s), composite_bias(s)


@law("R87 eqs. 26-31; SRW22", "constant_axes", as_rule="never")
def composite_forward_dynamics(s: Symbols) -> Equation:
    """θ̈ by composite bodies, for joints without geared rotors."""
    mass = s.H @ s.phi @ s.M @ s.phi.T @ s.H.T + s.A
    return mass.inv @ (s.T - s.H @ s.phi @ (s.M @ s.phi.T @ s.bias + s.b)), composite_acceleration(s)


def composite_acceleration(s: Symbols) -> Node:
    """(Hφ[rH*] + [rH*]*φ̃*H* + A)⁻¹(T − ½(Hφ̃[rΨ́ + 2r_vH*]θ̇ + [2r_v*H*]*V) − [rH*]*φ*(Ψ̇θ̇ + E*a_g)), from the
    blocks that ∂τ/∂θ̇ has."""
    columns = together(s.r @ s.Psi_prime + 2 * s.r_v @ s.H.T)
    squares = s.H @ s.E_phi @ s.phi @ columns @ s.v + together(2 * s.r_v.T @ s.H.T).T @ s.V
    linear = together(s.r @ s.H.T).T @ s.phi.T @ (s.Psi_dot @ s.v + s.E.T @ s.a_g)
    return composite_mass(s).inv @ (s.T - HALF * squares - linear)


def composite_mass(s: Symbols) -> Node:
    """ℳ = Hφ[rH*] + [rH*]*φ̃*H* + A (R87 eq. 31)."""
    columns = together(s.r @ s.H.T)
    return s.H @ s.phi @ columns + columns.T @ s.E_phi.T @ s.phi.T @ s.H.T + s.A


def composite_bias(s: Symbols) -> Node:
    """½φ̃(rΨ́ + 2r_vH*)θ̇ + rφ*Ψ̇θ̇ + r_vV."""
    columns = s.r @ s.Psi_prime + 2 * s.r_v @ s.H.T
    return HALF * (s.phi_tilde @ columns @ s.v) + s.r @ s.phi.T @ s.Psi_dot @ s.v + s.r_v @ s.V
