"""Laws of the dynamics read as estimation (R87): the filter, the smoother, and the covariances that close the inverse.

Forces on the links are the states, accelerations the costates, joint forces the measurements, armature their noise.
"""

from phistar.identities.kinematic_laws import rotor_bias
from phistar.identities.law import Equation, law
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols


def updated_inertia(s: Symbols) -> Node:
    """P⁺ = P − GDG*, the articulated inertia felt across a joint (R87 eq. 43)."""
    return s.P - s.G @ s.D @ s.G.T


def known_forces(s: Symbols) -> Node:
    """R87's b: gyroscopic forces, less gravity and the loads of task frames, which act on the links (R87 eq. 7)."""
    weight = s.M @ s.phi.T @ s.E.T @ s.a_g
    loads = s.B @ s.f if s.frames else 0 * weight
    return s.b + rotor_bias(s) + weight - loads


def predicted_states(s: Symbols) -> Node:
    """z⁻ = ψ(KT + b + ℰφP⁺n): each link's force, as far as the joints outboard of it tell (R87 eqs. 35, 36, 41)."""
    return s.psi @ (s.K @ s.T + known_forces(s) + s.E_phi @ updated_inertia(s) @ s.a)


def filtered_innovations(s: Symbols) -> Node:
    """e⁻ = T − Hz⁻: what a joint force tells that those outboard of it did not (R87 eq. 40)."""
    return s.T - s.H @ predicted_states(s)


def residuals(s: Symbols) -> Node:
    """e⁺ = D⁻¹e⁻: the acceleration of a joint, were all joints inboard of it locked (R87 eq. 42)."""
    return s.D.inv @ filtered_innovations(s)


def known_motions(s: Symbols, driven: bool = True) -> Node:
    """n + E*a_b: bias accelerations, and those of a driven base: λ⁺(N) = a_b instead of 0 (R87 eqs. 15, 44)."""
    return s.a + s.E.T @ s.a_b if driven else s.a


def costates(s: Symbols, driven: bool = True) -> Node:
    """λ⁻ = ψ*(H*e⁺ + (I − GH)*n): each link's acceleration (R87 eqs. 44, 45, 48)."""
    return s.psi.T @ (s.H.T @ residuals(s) + (s.I - s.G @ s.H).T @ known_motions(s, driven))


def smoothed_accelerations(s: Symbols, driven: bool = True) -> Node:
    """θ̈ = e⁺ − G*(λ⁺ + n) (R87 eq. 46)."""
    return residuals(s) - s.G.T @ (s.E_phi.T @ costates(s, driven) + known_motions(s, driven))


def smoothed_states(s: Symbols, driven: bool = True) -> Node:
    """x = z + Pλ (R87 eq. 34)."""
    return predicted_states(s) + s.P @ costates(s, driven)


@law("R87 eqs. 35-47", as_rule="never")
def filter_and_smoother(s: Symbols) -> Equation:
    """Forward dynamics with biases, base motion and loads inside: one inward and one outward pass."""
    driven = s.H @ s.phi @ s.M @ s.phi.T + s.S.T @ s.phi.T  # a base joint's motor is carried by the base
    forces = s.T - s.C - s.g - driven @ s.E.T @ s.a_b + s.load
    return s.mass.inv @ forces, smoothed_accelerations(s)


@law("R87 eqs. 18, 19, 23", as_rule="never")
def costates_are_accelerations(s: Symbols) -> Equation:
    return s.phi.T @ (s.H.T @ smoothed_accelerations(s) + known_motions(s)), costates(s)


@law("R87 eqs. 16, 34", as_rule="never")
def sweep_method(s: Symbols) -> Equation:
    """x = z + Pλ solves the two-point boundary-value problem."""
    motors = s.E_phi @ s.S @ smoothed_accelerations(s)
    return s.phi @ (s.M @ costates(s) + known_forces(s) + motors), smoothed_states(s)


@law("R87 eq. 51; GAG* and rotors added", as_rule="never")
def joseph_update(s: Symbols) -> Equation:
    """P⁺ = (I − GH)P(I − GH)* + GAG*, a sum of positive terms."""
    kept = s.I - s.G @ s.axes
    noise = s.G @ s.A @ s.G.T - s.G @ s.S.T - s.S @ s.G.T
    return updated_inertia(s), kept @ s.P @ kept.T + noise


@law("R87 eq. 81", "serial", as_rule="choice", group="costates")
def costate_covariance_propagation(s: Symbols) -> Equation:
    return s.E_phi.T @ s.Omega @ s.E_phi, s.Delta


@law("KJR92 eq. 27; R87 eq. 81", "serial", as_rule="choice", group="costates")
def costate_covariance_meets_gain(s: Symbols) -> Equation:
    return s.E_phi.T @ s.Omega @ s.K, s.Delta @ s.G


@law("KJR92 eq. 27; R87 eq. 81", "serial", as_rule="choice", group="costates")
def costate_covariance_between_gains(s: Symbols) -> Equation:
    return s.K.T @ s.Omega @ s.K, s.G.T @ s.Delta @ s.G


@law("R87 eq. 82", as_rule="never")
def costate_covariance_update(s: Symbols) -> Equation:
    """Δ⁻, which is Ω, from Δ⁺ across a joint."""
    kept = s.I - s.G @ s.axes
    return s.Omega, kept.T @ s.Delta @ kept + s.axes.T @ s.D.inv @ s.axes


@law("R87 eq. 82", as_rule="choice", group="costates")
def costate_covariance_gathered(s: Symbols) -> Equation:
    """The update read backwards: what gains take from Δ⁺ on both sides is Δ⁻ again, with the terms it lacks."""
    one = s.Delta @ s.G @ s.axes
    return s.axes.T @ s.G.T @ one, s.Omega - s.Delta + one + one.T - s.axes.T @ s.D.inv @ s.axes


def smoothed_covariance(s: Symbols) -> Node:
    """S = P − PΔ⁻P (R87 eq. 65)."""
    return s.P - s.P @ s.Omega @ s.P


@law("R87 eq. 65", as_rule="never")
def smoothing_crosses_joints(s: Symbols) -> Equation:
    """The smoothed covariance is one on both sides of a joint, P⁺ − P⁺Δ⁺P⁺, but for rotors."""
    across = updated_inertia(s) + s.G @ s.S.T
    inboard = across + s.S @ s.G.T - s.S @ s.D.inv @ s.S.T - across.T @ s.Delta @ across
    return smoothed_covariance(s), inboard


@law("R87 eqs. 60, 64, 65", "serial", as_rule="never")
def smoothing_error(s: Symbols) -> Equation:
    """The covariance of the link forces once all joint forces are known; its diagonal blocks are P − PΔ⁻P."""
    together = s.phi @ s.M @ s.phi.T @ s.H.T + s.phi_tilde @ s.S
    later = (s.I - s.P @ s.Omega) @ s.psi @ s.P
    full = s.phi @ s.M @ s.phi.T - together @ s.mass.inv @ together.T
    return full, later + later.T - smoothed_covariance(s)


def own_variance(s: Symbols) -> Node:
    """c = D⁻¹ + G*Δ⁺G, the diagonal blocks of ℳ⁻¹ (R87 eqs. 71, 83)."""
    return s.D.inv + s.G.T @ s.Delta @ s.G


@law("R87 eqs. 69-72, 83", "serial", as_rule="never")
def closed_form_inverse(s: Symbols) -> Equation:
    """ℳ⁻¹ = c + dψK + (dψK)*, d = G*Δ⁺ − cH: one triangle of it makes the whole."""
    d = s.G.T @ s.Delta - own_variance(s) @ s.axes
    return s.mass.inv, own_variance(s) + d @ s.psi @ s.K + (d @ s.psi @ s.K).T
