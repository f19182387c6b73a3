"""Laws of φ and of the quantities that need only it: Jacobian, velocities, Newton-Euler factorization, composites."""

from phistar.identities.law import ANY_TO_FORCES, ANY_TO_MOTIONS, Equation, law
from phistar.operators import meanings
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols


@law("RJK91 eq. 1")
def jacobian(s: Symbols) -> Equation:
    return s.J, s.B.T @ s.phi.T @ s.H.T


@law("KJR92 eq. 41; R87 eqs. 11, 12", as_rule="never")
def link_velocities(s: Symbols) -> Equation:
    return s.V, s.phi.T @ s.H.T @ s.v


@law("RJK91 eq. 3; KJR92 eq. 42")
def newton_euler_factorization(s: Symbols) -> Equation:
    """With geared rotors, their spin couples a joint to what carries its motor: Hφ̃S + S*φ̃*H* (RJK91 §6)."""
    return s.mass, s.axes @ s.phi @ s.M @ s.phi.T @ s.axes.T + s.A + rotor_coupling(s)


def rotor_coupling(s: Symbols) -> Node:
    """Hφ̃S + S*φ̃*H*; zero without rotors."""
    return s.axes @ s.phi_tilde @ s.S + s.S.T @ s.phi_tilde.T @ s.axes.T


def rotor_bias(s: Symbols) -> Node:
    """The gyroscopic moments of the rotors, on their parent links; zero without rotors."""
    return s.E_phi @ s.b_r


@law("RJK91 eq. 4; KJR92 eq. 43")
def coriolis_forces(s: Symbols) -> Equation:
    return s.C, s.H @ s.phi @ (s.M @ s.phi.T @ s.a + s.b + rotor_bias(s)) + s.S.T @ s.phi_tilde.T @ s.a


@law("RJK91 §6")
def coriolis_forces_of_reference(s: Symbols) -> Equation:
    """Actual and desired velocities, each in its place: C(θ, θ̇)θ̇_r with dℳ/dt − 2C skew."""
    forces = s.M @ s.phi.T @ s.a_ref + s.b_ref + s.E_phi @ s.b_r_ref
    return s.C_ref, s.H @ s.phi @ forces + s.S.T @ s.phi_tilde.T @ s.a_ref


@law("RJK91 eq. 5; KJR92 eq. 38", as_rule="never")
def jacobian_adjoint(s: Symbols) -> Equation:
    return s.J.T, s.H @ s.phi @ s.B


@law("KJR92 eq. 44")
def gravity_forces(s: Symbols) -> Equation:
    """Rotors feel no uniform gravity: S*φ̃*E*a_g is zero, and written down so that it cancels."""
    return s.g, (s.H @ s.phi @ s.M @ s.phi.T + s.S.T @ s.phi_tilde.T) @ s.E.T @ s.a_g


@law("KJR92 eq. 45; R87 eqs. 24, 25", as_rule="never")
def bias_forces(s: Symbols) -> Equation:
    """Gravity is a base acceleration: ā = a + E*a_g."""
    forces = s.M @ s.phi.T @ s.bias + s.b + rotor_bias(s)
    return s.C + s.g, s.H @ s.phi @ forces + s.S.T @ s.phi_tilde.T @ s.bias


@law("KJR92 eq. 46")
def jacobian_rate(s: Symbols) -> Equation:
    return s.Jdot_v, s.B.T @ s.phi.T @ s.a + s.a0


@law("KJR92 eq. 23")
def phi_inverse(s: Symbols) -> Equation:
    return s.phi.inv, s.I - s.E_phi


@law("KJR92 eq. 23")
def phi_resolvent(s: Symbols) -> Equation:
    return (s.I - s.E_phi).inv, s.phi


@law("KJR92 eqs. 19, 55")
def phi_absorbs_shift(s: Symbols) -> Equation:
    """φ(i, j)φ(j, k) = φ(i, k): one more step is all steps but none."""
    return s.phi @ s.E_phi, s.phi_tilde


@law("KJR92 eqs. 19, 55")
def shift_absorbed_by_phi(s: Symbols) -> Equation:
    return s.E_phi @ s.phi, s.phi_tilde


@law("R87 eq. 29", as_rule="never")
def composite_recursion(s: Symbols) -> Equation:
    return meanings.composite(s)[0]


@law("R87 eqs. 27, 28", as_rule="choice", group="composite")
def composite_decomposition(s: Symbols) -> Equation:
    """Holds on trees: two links on different branches have no common outboard link."""
    return s.phi @ s.M @ s.phi.T, s.r + s.phi_tilde @ s.r + s.r @ s.phi_tilde.T


@law("R87 eqs. 30, 31", as_rule="never")
def composite_mass_matrix(s: Symbols) -> Equation:
    h, r = s.H, s.r
    tree = h @ r @ h.T + h @ s.phi_tilde @ r @ h.T + h @ r @ s.phi_tilde.T @ h.T
    return s.mass, tree + s.A + rotor_coupling(s)


@law("R87 eqs. 26, 31", as_rule="never")
def composite_bias_forces(s: Symbols) -> Equation:
    """The bias of R87 eq. 31, after the reversal of the double sum in (26)."""
    composite = s.H @ (s.r + s.phi_tilde @ s.r + s.r @ s.phi_tilde.T)
    return s.C, (composite + s.S.T @ s.phi_tilde.T) @ s.a + s.H @ s.phi @ (s.b + rotor_bias(s))


@law("KJR92 §4.1", "tips")
def tip_stops_phi(s: Symbols) -> Equation:
    """A tip pick-off kills a strictly causal factor: nothing comes to a tip from further out."""
    return s.B.T @ ANY_TO_MOTIONS @ s.phi, s.B.T @ ANY_TO_MOTIONS


@law("KJR92 §4.1", "tips")
def tip_kills_shift(s: Symbols) -> Equation:
    zero = 0 * (s.B.T @ ANY_TO_MOTIONS @ s.E_phi)
    return s.B.T @ ANY_TO_MOTIONS @ s.E_phi, zero


@law("KJR92 eq. 22", as_rule="choice", group="base")
def base_stops_phi(s: Symbols) -> Equation:
    """Nothing is further in than a base link, so φ̃ kills what enters at the base."""
    return s.phi @ ANY_TO_FORCES @ s.E.T, ANY_TO_FORCES @ s.E.T


@law("KJR92 eq. 22", as_rule="choice", group="base")
def base_kills_shift(s: Symbols) -> Equation:
    return s.E_phi @ ANY_TO_FORCES @ s.E.T, 0 * (s.E_phi @ ANY_TO_FORCES @ s.E.T)


@law("R87 §XIV", "serial", as_rule="never")
def gramian_recursion(s: Symbols) -> Equation:
    return meanings.gramian(s)[0]


@law("R87 §XIV", "one_frame", as_rule="choice")
def observability_gramian(s: Symbols) -> Equation:
    """JJ* from one outward sweep."""
    return s.B.T @ s.phi.T @ s.H.T @ s.U @ s.H @ s.phi @ s.B, s.B.T @ s.Gamma @ s.B
