"""Laws of the two-way decomposition of free-flying robots (RJ2W), corrected (docs/papers/errata.md).

RJ2W stacks joints 1 … N; here the base link N + 1 stands in the stack as well, and r_b = M_b = ρ = 0 there. R̄ is
therefore zero in the base link's rows and columns, HR̄H* in those of the joint that carries it, and the shifts (12)
hold to the last block. Nothing is assumed of that joint. On trees ℰ_s carries what siblings owe each other.
"""

from phistar.identities.law import ANY_TO_FORCES, Equation, law
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols


def fixed_base_kernel(s: Symbols) -> Node:
    """R = φMφ*."""
    return s.phi @ s.M @ s.phi.T


def rigid_share(s: Symbols) -> Node:
    """Rπ_f*(π_f r π_f*)⁻¹π_fR: the part of R that moves with the mechanism as a whole."""
    kernel, pick = fixed_base_kernel(s), s.pi_f
    return kernel @ pick.T @ (pick @ s.r @ pick.T).inv @ pick @ kernel


def free_base_kernel(s: Symbols) -> Node:
    """R̄ = R − Rπ_f*(π_f r π_f*)⁻¹π_fR (RJ2W eq. 28)."""
    return fixed_base_kernel(s) - rigid_share(s)


def two_way_kernel(s: Symbols) -> Node:
    """R̄ = C_fφr + C_bφ_b(ℰφ_b r_b − ℰ_sφr): one sweep from each end, combined at the joint."""
    return s.C_f @ s.phi @ s.r + s.C_b @ s.phi_b @ (s.E_phi_b @ s.r_b - s.E_s @ s.phi @ s.r)


def joint_forces(s: Symbols, y: Node, f: Node) -> Node:
    """H_f X_f + H_b X_b with X_f = φ(r y + f), X_b = φ_b(ℰφ_b(r_b y − f) − ℰ_s X_f): what accelerations y that joints
    give to links and forces f of the links come to at the joints, the base giving way (RJ2W Table 3, corrected). The
    joint that carries the base gets zero."""
    inward = s.phi @ (s.r @ y + f)
    outward = s.phi_b @ (s.E_phi_b @ (s.r_b @ y - f) - s.E_s @ inward)
    return s.H_f @ inward + s.H_b @ outward + _rotor_momentum(s, y, inward)


def _rotor_momentum(s: Symbols, y: Node, inward: Node) -> Node:
    """S*ℰφ*α: spinning rotors feel the angular acceleration of the link that carries them; zero without rotors."""
    base = (s.pi_f @ s.r @ s.pi_f.T).inv @ s.pi_f @ inward
    return s.S.T @ s.E_phi.T @ s.phi.T @ (y - s.pi_f.T @ base)


def joint_motions(s: Symbols) -> tuple[Node, Node]:
    """H*N* and ℰφSN*: the motions that joint rates give to links, and the momentum that rotors give to them."""
    return s.H.T @ s.N.T, s.E_phi @ s.S @ s.N.T


def _across(s: Symbols) -> Node:
    """C_bφ_bℰ_sφr: between branches; zero on chains."""
    return s.C_b @ s.phi_b @ s.E_s @ s.phi @ s.r


# Shifts and transitions


@law("RJ2W eqs. 2, 3", "serial", as_rule="never")
def forward_undoes_backward(s: Symbols) -> Equation:
    return s.E_phi @ s.E_phi_b, s.I - s.Pi_b


@law("RJ2W eq. 2", as_rule="never")
def backward_undoes_forward(s: Symbols) -> Equation:
    """As printed on chains; on trees what comes from the siblings is left over."""
    return s.E_phi_b @ s.E_phi, s.I - s.Pi_f + s.E_s


@law("RJ2W eqs. 4, 5")
def phi_b_inverse(s: Symbols) -> Equation:
    return s.phi_b.inv, s.I - s.E_phi_b


@law("RJ2W eqs. 4, 5")
def phi_b_resolvent(s: Symbols) -> Equation:
    return (s.I - s.E_phi_b).inv, s.phi_b


@law("RJ2W eqs. 6, 7", as_rule="never")
def phi_b_absorbs_shift(s: Symbols) -> Equation:
    return s.phi_b @ s.E_phi_b, s.phi_b_tilde


@law("RJ2W eqs. 6, 7", as_rule="never")
def shift_absorbed_by_phi_b(s: Symbols) -> Equation:
    return s.E_phi_b @ s.phi_b, s.phi_b_tilde


@law("RJ2W eqs. 5, 7", as_rule="never")
def every_path_leads_over_the_base(s: Symbols) -> Equation:
    """From any link to any other: in, across to a sibling's branch, and out, or straight."""
    return s.phi_b @ s.Pi_f @ s.phi, s.phi + s.phi_b_tilde + s.phi_b @ s.E_s @ s.phi


# Base link and tips


@law("RJ2W eq. 2", as_rule="never")
def base_link_is_kept_once(s: Symbols) -> Equation:
    return s.Pi_f @ s.Pi_f, s.Pi_f


@law("RJ2W eq. 2", as_rule="never")
def tips_are_kept_once(s: Symbols) -> Equation:
    return s.Pi_b @ s.Pi_b, s.Pi_b


@law("RJ2W eq. 2", as_rule="never")
def base_link_passes_nothing_inward(s: Symbols) -> Equation:
    return s.E_phi @ s.Pi_f, 0 * s.Pi_f


@law("RJ2W eq. 2", as_rule="never")
def base_link_gets_nothing_outward(s: Symbols) -> Equation:
    return s.Pi_f @ s.E_phi_b, 0 * s.Pi_f


@law("RJ2W eq. 2", as_rule="never")
def tips_get_nothing_inward(s: Symbols) -> Equation:
    return s.Pi_b @ s.E_phi, 0 * s.Pi_b


@law("RJ2W eq. 2", as_rule="never")
def tips_pass_nothing_outward(s: Symbols) -> Equation:
    return s.E_phi_b @ s.Pi_b, 0 * s.Pi_b


@law("RJ2W eq. 2", as_rule="never")
def base_link_is_chosen_link_by_link(s: Symbols) -> Equation:
    """A memoryless X has the base link's block on either side."""
    return s.Pi_f @ ANY_TO_FORCES, ANY_TO_FORCES @ s.Pi_f.T


@law("RJ2W eq. 2", as_rule="never")
def tips_are_chosen_link_by_link(s: Symbols) -> Equation:
    return s.Pi_b @ ANY_TO_FORCES, ANY_TO_FORCES @ s.Pi_b.T


@law("RJ2W eq. 2", as_rule="never")
def base_link_is_picked_off(s: Symbols) -> Equation:
    return s.pi_f @ s.Pi_f, s.pi_f


@law("RJ2W eqs. 2, 23", as_rule="never")
def base_link_carries_all(s: Symbols) -> Equation:
    """A block of a memoryless operator, undone where it stands: rπ_f*(π_f r π_f*)⁻¹π_f = Π_f."""
    return s.r @ s.pi_f.T @ (s.pi_f @ s.r @ s.pi_f.T).inv @ s.pi_f, s.Pi_f


@law("RJ2W §6", as_rule="never")
def base_moves_base_links(s: Symbols) -> Equation:
    return s.E @ s.Pi_f, s.E


# Masses


@law("RJ2W Table 2", as_rule="never")
def nothing_behind_the_base(s: Symbols) -> Equation:
    return s.Pi_f @ s.r_b, 0 * s.r_b


@law("RJ2W Table 2", as_rule="never")
def nothing_behind_the_base_is_moved(s: Symbols) -> Equation:
    return s.r_b @ s.pi_f.T, 0 * (s.r @ s.pi_f.T)


@law("RJ2W proof of eq. 32", as_rule="never")
def whole_mass(s: Symbols) -> Equation:
    """What joint k sees on both sides is the whole mechanism."""
    return s.q.inv, s.r + s.r_b


@law("RJ2W proof of eq. 33", as_rule="never")
def whole_mass_turns_one_shift(s: Symbols) -> Equation:
    """qℰφ_b = ℰφ*q: on trees too."""
    return s.q @ s.E_phi_b, s.E_phi.T @ s.q


@law("RJ2W eqs. 10, 12", "serial", as_rule="never")
def backward_mass(s: Symbols) -> Equation:
    return s.M_b, s.E_phi_b @ s.M @ s.E_phi_b.T


@law("RJ2W eqs. 11, 12", "serial", as_rule="never")
def forward_mass(s: Symbols) -> Equation:
    """All but the tip's, which no joint further out sees."""
    return s.E_phi @ s.M_b @ s.E_phi.T, s.M - s.Pi_b @ s.M


@law("RJ2W eqs. 13, 15", as_rule="never")
def reduced_mass(s: Symbols) -> Equation:
    return s.rho, s.r @ (s.r + s.r_b).inv @ s.r_b


@law("RJ2W eqs. 13, 32", as_rule="never")
def reduced_mass_by_the_whole(s: Symbols) -> Equation:
    return s.rho, s.r @ s.q @ s.r_b


@law("RJ2W eqs. 13, 15", as_rule="never")
def reduced_mass_mirrored(s: Symbols) -> Equation:
    return s.rho, s.r_b @ (s.r + s.r_b).inv @ s.r


@law("RJ2W eqs. 14, 15", as_rule="never")
def masses_in_series(s: Symbols) -> Equation:
    """ρ⁻¹ = r⁻¹ + r_b⁻¹ at every joint but the base link's, where ρ and r_b are zero."""
    behind = (s.I - s.Pi_f).T @ (s.r_b + s.Pi_f @ s.r).inv
    return (s.rho + s.Pi_f @ s.r).inv, s.r.inv + behind


@law("RJ2W eq. 17", as_rule="never")
def forward_weight(s: Symbols) -> Equation:
    return s.C_f, s.r_b @ s.q


@law("RJ2W eq. 17", as_rule="never")
def backward_weight(s: Symbols) -> Equation:
    return s.C_b, s.r @ s.q


@law("RJ2W eq. 17", as_rule="never")
def weights_add_up(s: Symbols) -> Equation:
    return s.C_b, s.I - s.C_f


@law("RJ2W eq. 17", as_rule="never")
def forward_weight_reduces(s: Symbols) -> Equation:
    return s.C_f @ s.r, s.rho


@law("RJ2W eq. 17", as_rule="never")
def backward_weight_reduces(s: Symbols) -> Equation:
    return s.C_b @ s.r_b, s.rho


@law("RJ2W eqs. 18, 19", as_rule="never")
def weighted_projection(s: Symbols) -> Equation:
    return s.H @ s.C_f, s.H_f


@law("RJ2W eqs. 18, 19", as_rule="never")
def weighted_projection_backward(s: Symbols) -> Equation:
    return s.H @ s.C_b, s.H_b


# Energy and the free base


@law("RJ2W eqs. 22, 30", as_rule="never")
def base_sees_composites(s: Symbols) -> Equation:
    """CR = Cφr, and r_f(N+1) is the whole mass: the base link's rows of the kinetic energy's matrix."""
    return s.pi_f @ fixed_base_kernel(s), s.pi_f @ s.phi @ s.r


@law("RJ2W eq. 23", as_rule="never")
def wiggle_has_no_momentum(s: Symbols) -> Equation:
    """V_WIGGLE = −r⁻¹(N+1)CRH*θ̇ cancels the momentum of the joints' motion."""
    moved = s.H.T - s.pi_f.T @ (s.pi_f @ s.r @ s.pi_f.T).inv @ s.pi_f @ s.phi @ s.r @ s.H.T
    return s.pi_f @ fixed_base_kernel(s) @ moved, 0 * (s.pi_f @ s.phi @ s.r @ s.H.T)


@law("RJ2W eqs. 24, 25, 26", as_rule="never")
def energy_is_rigid_and_articulated(s: Symbols) -> Equation:
    """V*MV = V_RIGID* r(N+1) V_RIGID + θ̇*HR̄H*θ̇, twice the energies."""
    articulated = s.v.T @ s.H @ two_way_kernel(s) @ s.H.T @ s.v
    return s.V.T @ s.M @ s.V, s.v.T @ s.H @ rigid_share(s) @ s.H.T @ s.v + articulated


@law("RJ2W eqs. 16, 27, 28, 38", as_rule="never")
def two_way_decomposition(s: Symbols) -> Equation:
    """R̄ = ρ + C_fφ̃r + C_bφ̃_b r_b, as printed on chains; on trees less what passes between branches."""
    both = s.rho + s.C_f @ s.phi_tilde @ s.r + s.C_b @ s.phi_b_tilde @ s.r_b
    return free_base_kernel(s), both - _across(s)


@law("RJ2W eqs. 27, 16, Table 3")
def joint_mass_matrix(s: Symbols) -> Equation:
    """ℳ_i = HR̄H* + A on the joints between links."""
    return s.M_i, s.N @ (joint_forces(s, *joint_motions(s)) + s.A @ s.N.T)


@law("RJ2W eqs. 27, 28", as_rule="never")
def free_base_mass_matrix(s: Symbols) -> Equation:
    """What nothing holds gives way: the base link's rates eliminated; the rest is zero without rotors."""
    y, f = joint_motions(s)
    spin = s.H_f @ s.phi @ f - s.H_b @ s.phi_b @ (s.E_phi_b + s.E_s @ s.phi) @ f
    felt = _rotor_momentum(s, y, s.phi @ (s.r @ y + f))
    return s.M_i, s.N @ (s.H @ free_base_kernel(s) @ s.H.T + s.A) @ s.N.T + s.N @ (spin + felt)


@law("RJ2W Table 3", as_rule="never")
def two_sweeps(s: Symbols) -> Equation:
    """Algorithms 1 and 2 with the diagonal counted once."""
    return free_base_kernel(s), two_way_kernel(s)


@law("RJ2W eq. 29", "serial", as_rule="never")
def reduced_mass_in_front(s: Symbols) -> Equation:
    """R̄ = ρ(I + r⁻¹φ̃r + r_b⁻¹φ̃_b r_b); where r_b has no inverse, at the base link, ρ is zero."""
    behind = (s.r_b + s.Pi_f @ s.r).inv @ s.phi_b_tilde @ s.r_b
    return free_base_kernel(s), s.rho @ (s.I.T + s.r.inv @ s.phi_tilde @ s.r + behind)


@law("RJ2W eq. 30", "serial", as_rule="never")
def kernel_by_total_mass(s: Symbols) -> Equation:
    forward = (s.I - s.r @ s.q) @ s.phi_tilde @ s.r
    return free_base_kernel(s), s.r - s.r @ s.q @ s.r + forward + forward.T


@law("RJ2W eq. 31", "serial", as_rule="never")
def total_mass_is_carried(s: Symbols) -> Equation:
    return s.q, s.E_phi.T @ s.q @ s.E_phi + s.pi_f.T @ (s.pi_f @ s.r @ s.pi_f.T).inv @ s.pi_f


@law("RJ2W eqs. 31, 33", as_rule="never")
def total_mass_turns_the_shift(s: Symbols) -> Equation:
    """qℰφ_b = ℰφ*q, q φ̃_b = φ̃*q: moving the whole mass outward undoes moving it inward. On trees too."""
    return s.q @ s.phi_b, s.phi.T @ s.q


@law("RJ2W eq. 32", "serial", as_rule="never")
def kernel_by_forward_weights(s: Symbols) -> Equation:
    forward = s.C_f @ s.phi_tilde @ s.r
    return free_base_kernel(s), s.rho + forward + forward.T


@law("RJ2W eq. 33", as_rule="never")
def triangles_are_adjoint(s: Symbols) -> Equation:
    """On trees too: between a link and one further out there is a single path."""
    return (s.C_f @ s.phi_tilde @ s.r).T, s.C_b @ s.phi_b_tilde @ s.r_b


@law("RJ2W eq. 34, Table 2", "serial", as_rule="never")
def backward_composite(s: Symbols) -> Equation:
    return s.r_b, s.E_phi_b @ s.r_b @ s.E_phi_b.T + s.M_b


@law("RJ2W §6", as_rule="never")
def gravity_is_not_felt(s: Symbols) -> Equation:
    """R̄E* = 0: a uniform acceleration of the base moves no joint."""
    return two_way_kernel(s) @ s.E.T, 0 * (s.r @ s.E.T)
