"""Laws of the Riccati set P, D, G, K, ψ: the factorization of the mass matrix and everything that follows from it.

`axes` is H, LH where joint forces drive but some rates, or I of links that move in all six ways. With armature A the
innovations are those of a filter with measurement noise A; HG = I and ψG = G need A = 0.
"""

from phistar.identities.kinematic_laws import rotor_coupling
from phistar.identities.law import ANY_TO_FORCES, ANY_TO_MOTIONS, ANY_TO_TORQUES, Equation, law
from phistar.operators.linearized import together
from phistar.operators.nodes import Identity, Node
from phistar.operators.spaces import FORCES
from phistar.operators.symbols import Symbols


@law("RJK91 eq. 8; KJR92 eq. 24", as_rule="never")
def articulated_inertia(s: Symbols) -> Equation:
    """The Riccati equation in Joseph's form; KAK* is what armature adds, the last two terms what rotors do."""
    rotors = s.K @ s.S.T @ s.E_phi.T + s.E_phi @ s.S @ s.K.T
    return s.P, s.E_psi @ s.P @ s.E_psi.T + s.K @ s.A @ s.K.T + s.M - rotors


@law("RJK91 appendix", as_rule="never")
def riccati_equation(s: Symbols) -> Equation:
    return s.M, s.P - s.E_phi @ s.P @ s.E_phi.T + s.K @ s.D @ s.K.T


@law("RJK91 appendix", as_rule="choice")
def gains_back_to_masses(s: Symbols) -> Equation:
    """Riccati's equation the other way: what innovations add up to may be a rigid mass again."""
    return s.K @ s.D @ s.K.T, s.M - s.P + s.E_phi @ s.P @ s.E_phi.T


@law("KJR92 eq. 25", as_rule="never")
def innovation_inertia(s: Symbols) -> Equation:
    return s.D, s.axes @ s.P @ s.axes.T + s.A


@law("RJK91 §6")
def root_of_innovation_inertia(s: Symbols) -> Equation:
    return s.D_root.T @ s.D_root, s.D


@law("RJK91 §6")
def root_undoes_its_square(s: Symbols) -> Equation:
    return s.D_root @ s.D.inv @ s.D_root.T, Identity(s.D_root.target)


@law("RJK91 §6", as_rule="never")
def energy_of_residuals(s: Symbols) -> Equation:
    """ν*ν = θ̇*ℳθ̇ of ν = D^½(I + HφK)*θ̇: in them the kinetic energy has no couplings."""
    residuals = s.D_root @ s.factor.T @ s.v
    return residuals.T @ residuals, s.v.T @ s.mass @ s.v


@law("KJR92 eq. 26")
def gain(s: Symbols) -> Equation:
    return s.P @ s.axes.T, s.G @ s.D - s.S


@law("KJR92 eq. 27")
def shifted_gain(s: Symbols) -> Equation:
    return s.E_phi @ s.G, s.K


@law("RJK91 eqs. 9, 10; KJR92 eqs. 28, 33")
def articulated_shift(s: Symbols) -> Equation:
    return s.E_psi, s.E_phi - s.K @ s.axes


@law("RJK91 eq. 10; KJR92 eq. 28", as_rule="never")
def articulated_shift_gathered(s: Symbols) -> Equation:
    """ℰψ again, in forms that are done: it costs what ℰφ − KH costs, and reads shorter."""
    return s.E_phi - s.K @ s.axes, s.E_psi


@law("KJR92 eq. 34; eq. 59", as_rule="choice", group="base")
def articulated_base(s: Symbols) -> Equation:
    """W = E(I − GH)."""
    return s.E @ s.G @ s.axes, s.E - s.W


@law("RJK91 eq. 8; HG = I for A = 0")
def gain_projects(s: Symbols) -> Equation:
    return s.axes @ s.G, s.I - _noise(s) @ s.D.inv


def _noise(s: Symbols) -> Node:
    """A − HS, what keeps HG from being I."""
    return s.A - s.axes @ s.S


@law("KJR92 eq. 29")
def psi_resolvent(s: Symbols) -> Equation:
    return (s.I - s.E_psi).inv, s.psi


@law("RJK91 lemma 5")
def psi_inverse(s: Symbols) -> Equation:
    return s.psi.inv, s.I - s.E_phi + s.K @ s.axes


@law("RJK91 lemma 5")
def lemma_5(s: Symbols) -> Equation:
    return (s.I - s.E_phi + s.K @ s.axes).inv, s.psi


@law("KJR92 eq. 35", as_rule="never")
def psi_series(s: Symbols) -> Equation:
    return s.psi, s.I + s.E_psi @ s.psi


@law("RJK91 lemma 5")
def psi_absorbs_shift(s: Symbols) -> Equation:
    return s.psi @ s.E_phi, s.psi_tilde + s.psi @ s.K @ s.axes


@law("RJK91 lemma 5")
def shift_absorbed_by_psi(s: Symbols) -> Equation:
    return s.E_phi @ s.psi, s.psi_tilde + s.K @ s.axes @ s.psi


@law("RJK91 lemma 1, eq. 11; KJR92 eq. 49", as_rule="inverse")
def lemma_1(s: Symbols) -> Equation:
    """The innovations factorization."""
    factor = s.I + s.axes @ s.phi @ s.K
    newton_euler = s.axes @ s.phi @ s.M @ s.phi.T @ s.axes.T + s.A + rotor_coupling(s)
    return newton_euler, factor @ s.D @ factor.T


@law("RJK91 lemma 2, eq. 12; KJR92 eq. 50")
def lemma_2(s: Symbols) -> Equation:
    return (s.I + s.axes @ s.phi @ s.K).inv, s.I - s.axes @ s.psi @ s.K


@law("RJK91 lemma 2, eq. 12")
def lemma_2_backward(s: Symbols) -> Equation:
    return (s.I - s.axes @ s.psi @ s.K).inv, s.I + s.axes @ s.phi @ s.K


@law("RJK91 appendix, proof of lemma 2")
def lemma_2_pushed_through(s: Symbols) -> Equation:
    """(I + KHφ)⁻¹ = (ψ⁻¹φ)⁻¹."""
    return (s.I + s.K @ s.axes @ s.phi).inv, s.I - s.K @ s.axes @ s.psi


@law("RJK91 appendix, proof of lemma 2")
def lemma_2_pushed_back(s: Symbols) -> Equation:
    return (s.I - s.K @ s.axes @ s.psi).inv, s.I + s.K @ s.axes @ s.phi


@law("RJK91 appendix, proof of lemma 4")
def lemma_2_on_the_links(s: Symbols) -> Equation:
    """(I + φKH)⁻¹ = ψφ⁻¹."""
    return (s.I + s.phi @ s.K @ s.axes).inv, s.I - s.psi @ s.K @ s.axes


@law("RJK91 appendix, proof of lemma 4")
def lemma_2_back_on_the_links(s: Symbols) -> Equation:
    return (s.I - s.psi @ s.K @ s.axes).inv, s.I + s.phi @ s.K @ s.axes


@law("RJK91 lemma 3, eq. 13; KJR92 eq. 51", as_rule="never")
def lemma_3(s: Symbols) -> Equation:
    whitening = s.I - s.axes @ s.psi @ s.K
    return s.mass.inv, whitening.T @ s.D.inv @ whitening


@law("RJK91 lemma 4, eq. 16; KJR92 eq. 53")
def lemma_4(s: Symbols) -> Equation:
    return (s.I - s.axes @ s.psi @ s.K) @ s.axes @ s.phi, s.axes @ s.psi


@law("KJR92 eq. 52")
def resolvent_identity(s: Symbols) -> Equation:
    return s.psi @ s.K @ s.axes @ s.phi, s.phi - s.psi


@law("KJR92 eq. 52")
def resolvent_identity_mirrored(s: Symbols) -> Equation:
    return s.phi @ s.K @ s.axes @ s.psi, s.phi - s.psi


@law("KJR92 eqs. 27, 55")
def phi_shifts_gain(s: Symbols) -> Equation:
    return s.phi @ s.G, s.G + s.phi @ s.K


@law("KJR92 eqs. 27, 29; ψG = G for A = 0")
def psi_keeps_gain(s: Symbols) -> Equation:
    return s.psi @ s.G, s.G + s.psi @ s.K @ _noise(s) @ s.D.inv


@law("KJR92 eq. 54")
def mixed_congruence(s: Symbols) -> Equation:
    rotors = s.psi @ s.K @ s.S.T @ s.phi_tilde.T
    return s.psi @ s.M @ s.phi.T, s.psi @ s.P + s.P @ s.phi_tilde.T + rotors


@law("KJR92 eqs. 52, 54")
def articulated_congruence(s: Symbols) -> Equation:
    armature = s.psi @ s.K @ (_noise(s) - s.S.T @ s.axes.T) @ s.K.T @ s.psi.T
    rotors = s.psi_tilde @ s.S @ s.K.T @ s.psi.T + s.psi @ s.K @ s.S.T @ s.psi_tilde.T
    return s.psi @ s.M @ s.psi.T, s.psi @ s.P + s.P @ s.psi_tilde.T - armature + rotors


@law("KJR92 eq. 63", as_rule="never")
def smoother_identity(s: Symbols) -> Equation:
    gram = s.psi.T @ s.axes.T @ s.D.inv @ s.axes @ s.psi
    rotors = (gram @ s.K - s.psi.T @ s.axes.T @ s.D.inv) @ s.S.T @ s.phi_tilde.T
    return gram @ s.M @ s.phi.T, gram @ s.P + s.phi.T - s.psi.T + rotors


@law("KJR92 eq. 57", "serial", as_rule="never")
def omega_recursion(s: Symbols) -> Equation:
    return s.Omega, s.E_psi.T @ s.Omega @ s.E_psi + s.axes.T @ s.D.inv @ s.axes


@law("KJR92 eq. 56", "serial", as_rule="choice")
def omega_decomposition(s: Symbols) -> Equation:
    """False on trees: cousins share inboard links, so ψ*H*D⁻¹Hψ has blocks that the right side lacks."""
    gram = s.psi.T @ s.axes.T @ s.D.inv @ s.axes @ s.psi
    return gram, s.Omega + s.psi_tilde.T @ s.Omega + s.Omega @ s.psi_tilde


@law("RJK91 §5.2; KJR92 eq. 60", "one_frame", as_rule="choice")
def omega_at_one_frame(s: Symbols) -> Equation:
    """One diagonal block of ψ*H*D⁻¹Hψ is Ω's on any tree."""
    return s.B.T @ s.psi.T @ s.axes.T @ s.D.inv @ s.axes @ s.psi @ s.B, s.B.T @ s.Omega @ s.B


@law("KJR92 eqs. 56-58", "serial", "tips", as_rule="choice", group="tip", apart=True)
def tip_hears_joint_forces(s: Symbols) -> Equation:
    """B*ψ*ΩK from what Ω's own recursion makes, Δ⁺G: joint forces reach the tip without a filter."""
    gain = together(s.Delta @ s.G)
    return s.B.T @ s.psi.T @ s.axes.T @ s.D.inv @ s.axes @ s.psi @ s.K, s.B.T @ s.psi.T @ (
        s.I - s.axes.T @ s.G.T
    ) @ gain


@law("KJR92 eqs. 56, 60", "serial", "tips", as_rule="choice", group="tip", apart=True)
def tip_hears_link_forces(s: Symbols) -> Equation:
    return s.B.T @ s.psi.T @ s.axes.T @ s.D.inv @ s.axes @ s.psi, s.B.T @ s.psi.T @ s.Omega


@law("KJR92 §4.1", "tips")
def tip_stops_psi(s: Symbols) -> Equation:
    return s.B.T @ ANY_TO_MOTIONS @ s.psi, s.B.T @ ANY_TO_MOTIONS


@law("KJR92 §4.1", "tips")
def tip_kills_gain(s: Symbols) -> Equation:
    return s.B.T @ ANY_TO_MOTIONS @ s.K, 0 * (s.B.T @ ANY_TO_MOTIONS @ s.K)


@law("KJR92 §3.3, proof of eq. 59", as_rule="choice", group="base")
def base_stops_psi(s: Symbols) -> Equation:
    return s.psi @ ANY_TO_FORCES @ s.E.T, ANY_TO_FORCES @ s.E.T


@law("KJR92 §3.3, proof of eq. 59", as_rule="never")
def base_kills_gain(s: Symbols) -> Equation:
    any_to_moved = ANY_TO_FORCES if s.axes_space == FORCES else ANY_TO_TORQUES
    return s.K @ any_to_moved @ s.E.T, 0 * (s.K @ any_to_moved @ s.E.T)


@law("KJR92 eq. 59", as_rule="never")
def base_identity(s: Symbols) -> Equation:
    return (s.I - s.axes.T @ s.D.inv @ s.axes @ s.psi @ s.P) @ s.E.T, s.W.T + s.axes.T @ s.D.inv @ s.S.T @ s.E.T
