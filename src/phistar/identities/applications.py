"""Consequences that the papers number: true and tested, found by the rewriter from the laws before them."""

from phistar.identities.kinematic_laws import rotor_bias
from phistar.identities.law import Equation, law
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols


def _omega_at_tip(s: Symbols) -> Node:
    return s.B.T @ s.psi.T @ s.H.T @ s.D.inv @ s.H @ s.psi @ s.B


@law("RJK91 eqs. 17, 18", as_rule="never")
def tip_force_acceleration(s: Symbols) -> Equation:
    whitening = s.I - s.H @ s.psi @ s.K
    return -(s.mass.inv @ s.J.T), -(whitening.T @ s.D.inv @ s.H @ s.psi @ s.B)


@law("RJK91 eqs. 19, 20", as_rule="never")
def inverse_operational_inertia(s: Symbols) -> Equation:
    return s.J @ s.mass.inv @ s.J.T, _omega_at_tip(s)


@law("KJR92 eq. 61", "one_frame", as_rule="never")
def operational_inertia(s: Symbols) -> Equation:
    return (s.J @ s.mass.inv @ s.J.T).inv, (s.B.T @ s.Omega @ s.B).inv


@law("KJR92 eq. 64", as_rule="never")
def operational_coriolis(s: Symbols) -> Equation:
    """c(0), premultiplied by Ω(0)."""
    articulated = s.H.T @ s.D.inv @ s.H @ s.psi @ (s.P @ s.a + s.b + rotor_bias(s)) - s.a
    return s.J @ s.mass.inv @ s.C - s.Jdot_v, s.B.T @ s.psi.T @ articulated - s.a0


@law("KJR92 eq. 71", as_rule="never")
def operational_gravity(s: Symbols) -> Equation:
    """g(0), premultiplied by Ω(0)."""
    return s.J @ s.mass.inv @ s.g, s.B.T @ (s.phi.T @ s.E.T - s.psi.T @ s.W.T) @ s.a_g


@law("KJR92 eqs. 56, 64, 65", "serial", "tips", as_rule="never")
def operational_coriolis_of_a_chain(s: Symbols) -> Equation:
    """Ω(0)c(0) without the filter's z: one sweep fewer than (66)-(68), since Ω needs no velocities."""
    forces = s.P @ s.a + s.b + rotor_bias(s)
    return s.J @ s.mass.inv @ s.C - s.Jdot_v, s.B.T @ s.psi.T @ (s.Omega @ forces - s.a) - s.a0


@law("KJR92 §4.3, end; a_g is missing in the print", as_rule="never")
def operational_bias(s: Symbols) -> Equation:
    """Ω(0)(c(0) + g(0)) by a → ā = a + E*a_g; −J̇θ̇ keeps a, so that B*φ*E*a_g is added back."""
    gravity = s.phi.T @ s.E.T @ s.a_g
    articulated = s.H.T @ s.D.inv @ s.H @ s.psi @ (s.P @ s.bias + s.b + rotor_bias(s)) - s.bias
    left = s.J @ s.mass.inv @ (s.C + s.g) - s.Jdot_v
    return left, s.B.T @ (s.psi.T @ articulated + gravity) - s.a0


@law("RJK91 eqs. 14, 15", as_rule="never")
def one_pass_forward_dynamics(s: Symbols) -> Equation:
    """The form with the biases inside, one inward and one outward sweep."""
    whitening = s.I - s.H @ s.psi @ s.K
    residual = s.T - s.H @ s.psi @ (s.K @ s.T + s.P @ s.bias + s.b + rotor_bias(s))
    return s.mass.inv @ (s.T - s.C - s.g), whitening.T @ s.D.inv @ residual - s.K.T @ s.psi.T @ s.bias


@law("RJK91 eq. 26", as_rule="never")
def closure_inertia(s: Symbols) -> Equation:
    """Λ_c⁻¹ for closures Q between task frames; Q = [I −I] gives Λ₁⁻¹ + Λ₂⁻¹."""
    return s.Q @ s.J @ s.mass.inv @ s.J.T @ s.Q.T, s.Q @ _omega_at_tip(s) @ s.Q.T
