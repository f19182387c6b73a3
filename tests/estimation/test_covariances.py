"""Covariances of the white-noise model against the conditional covariances of the whole Gaussian, and (69)-(84)."""

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.expression import setting_of, symbols_of
from tests.estimation import r87
from tests.trees import mechanism, relative


@pytest.fixture(scope="module", params=["branches", "rotors"])
def case(request):
    """A tree of joints of any kind, and a chain whose rotors correlate process and measurement noise."""
    if request.param == "rotors":
        return mechanism(14, serial=True, floating=False, armature=True, rotors=True, bodies=3, kind="revolute")
    return branching()


def branching():
    return mechanism(16, serial=False, floating=False, armature=True, rotors=False, bodies=4)


def blocks(matrix, n):
    """Diagonal 6×6 blocks."""
    return np.stack([matrix[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(n)])


def test_smoothed_covariance_is_that_of_link_forces_once_joint_forces_are_known(case):
    """(64), (65) on trees with any joints, armature as noise, rotors as correlated noise: Gaussian conditioning on the
    dense matrices."""
    s, dense, n = case.symbols, case.dense, len(case.model.bodies)
    before = dense(s.phi @ s.M @ s.phi.T)
    together = dense(s.phi @ s.M @ s.phi.T @ s.H.T + s.phi_tilde @ s.S)
    after = before - together @ np.linalg.solve(dense(s.mass), together.T)
    found = estimation.covariances(case.model, case.q)
    assert np.abs(found.smoothed - blocks(after, n)).max() < 1e-11 * np.abs(before).max()


def test_costate_covariances_are_the_blocks_of_the_inverse_seen_at_the_links(case):
    """Δ⁻ = E[λλ*] (66) with λ = φ*H*ℳ⁻¹τ; Δ⁺ and Δ⁻ are linked by (82)."""
    s, dense, n = case.symbols, case.dense, len(case.model.bodies)
    full = dense(s.phi.T @ s.H.T) @ np.linalg.inv(dense(s.mass)) @ dense(s.H @ s.phi)
    found = estimation.covariances(case.model, case.q)
    assert relative(found.costates, blocks(full, n)) < 1e-11


def test_own_variances_are_the_diagonal_blocks_of_the_inverse(case):
    """c(k) of (71), (83): of any tree, in O(n)."""
    inverse = np.linalg.inv(case.dense(case.symbols.mass))
    found = estimation.covariances(case.model, case.q)
    for k, joint in enumerate(case.model.joints):
        assert relative(found.accelerations[k, : joint.nv, : joint.nv], inverse[joint.v_slice, joint.v_slice]) < 1e-10


def test_innovation_variances_and_inertias_are_the_filters(case):
    found = estimation.covariances(case.model, case.q)
    D = case.dense(case.symbols.D)
    for k, joint in enumerate(case.model.joints):
        assert relative(found.innovations[k, : joint.nv, : joint.nv], D[joint.v_slice, joint.v_slice]) < 1e-12
    s, n = case.symbols, len(case.model.bodies)
    assert relative(found.predicted, blocks(case.dense(s.P), n)) < 1e-11


def test_every_measurement_narrows_what_is_known():
    """P⁻ ≥ P⁺ ≥ S ≥ 0 where noise and process are uncorrelated."""
    case = branching()
    found = estimation.covariances(case.model, case.q)
    tiny = 1e-12 * np.abs(found.predicted).max()
    for wide, narrow in ((found.predicted, found.updated), (found.updated, found.smoothed), (found.smoothed, 0)):
        assert np.linalg.eigvalsh(wide - narrow).min() > -tiny


# The printed recursions


@pytest.fixture(scope="module")
def moving_arm():
    model, q, v, tau = r87.arm(5, seed=7)
    chain = r87.Chain(model, q, v)
    return model, q, v, tau, chain, r87.filter_and_smoother(chain, r87.tip_first(tau))


def test_costate_covariances_follow_the_printed_recursion(moving_arm):
    model, q, _, _, chain, found = moving_arm
    plus, minus = r87.costate_covariances(chain, found["gains"], found["joint_inertias"])
    ours = estimation.covariances(model, q)
    assert relative(ours.costates, r87.base_first(minus)) < 1e-12
    assert relative(ours.costates_inboard, r87.base_first(plus)) < 1e-12


def test_elements_of_the_inverse_are_those_of_the_printed_recursion(moving_arm):
    """(83) with the transposes of docs/papers/errata.md."""
    model, q, _, _, chain, found = moving_arm
    plus, _ = r87.costate_covariances(chain, found["gains"], found["joint_inertias"])
    printed = r87.inverse_elements(chain, found["gains"], found["joint_inertias"], plus)[::-1, ::-1]
    assert relative(printed, np.linalg.inv(ps.mass_matrix(model, q))) < 1e-10
    assert relative(estimation.closed_form_inverse(model, q), printed) < 1e-12


def test_acceleration_parts_are_the_printed_sums(moving_arm):
    """(69)-(72)."""
    model, q, v, tau, chain, found = moving_arm
    printed = r87.acceleration_parts(chain, found, r87.tip_first(tau))
    ours = estimation.acceleration_parts(model, q, v, tau)
    parts = (ours.joint_forces, ours.link_forces, ours.link_motions)
    for part, values in zip(parts, printed, strict=True):
        assert relative(part, r87.base_first(values)) < 1e-10
    assert relative(sum(parts), ps.forward_dynamics(model, q, v, tau)) < 1e-10


def test_the_articulated_inertia_by_mass_mass_centre_and_inertia_is_the_same():
    """(84): 21 parameters, where composite bodies have ten."""
    model, q, v, _ = r87.arm(5)
    chain = r87.Chain(model, q, v)
    parts = r87.articulated_by_parts(chain)
    assert relative(r87.base_first(parts), estimation.covariances(model, q).predicted) < 1e-12
    mass = parts[4][3:, 3:]
    assert np.ptp(np.linalg.eigvalsh(mass)) > 0.1  # the "mass" is a matrix, not a number


# The whole inverse


@pytest.mark.parametrize("armature", [0.0, 0.4])
def test_the_closed_form_is_the_inverse_of_the_mass_matrix(armature):
    builder = ps.ModelBuilder("arm")
    rng = np.random.default_rng(0)
    for k in range(6):
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint=(ps.Prismatic, ps.Revolute)[k % 2](axis=rng.normal(size=3), armature=armature),
            placement=ps.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3)),
            inertia=ps.Inertia(1.0, rng.normal(size=3), np.diag([1.0, 1.5, 2.0])),
        )
    model, q = builder.build(), rng.normal(size=(4, 6))
    identity = estimation.closed_form_inverse(model, q) @ ps.mass_matrix(model, q)
    assert np.abs(identity - np.eye(6)).max() < 1e-11


@pytest.mark.slow
def test_the_closed_form_is_quadratic_and_wins_on_long_chains():
    """Operations counted on the instructions, for the whole inverse."""
    counts = {n: _operations(estimation.closed_form_inverse, ps.chain(n)) for n in (10, 20, 40)}
    growth = (counts[40] - counts[20]) / (counts[20] - counts[10])
    assert growth < 4.0  # n² has (1600 − 400)/(400 − 100) = 4
    lemma_3 = _operations(ps.mass_matrix_inverse, ps.chain(40))
    assert counts[40] < 0.8 * lemma_3


def _operations(function, model):
    symbols, setting = symbols_of(model, ()), setting_of(model, ())
    node = function.nodes(symbols)["y"]
    form = AS_WRITTEN if function is estimation.closed_form_inverse else "articulated bodies"
    return trace_statements(Statements((("y", node),), symbols, setting, True, model, {}, form=form))[0].operations


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(8))
def test_the_closed_form_holds_on_trees_and_for_joints_of_any_dof(seed):
    model = mechanism(seed, serial=False, rotors=False).model
    q = model.random(np.random.default_rng(seed))
    expected = np.linalg.inv(ps.mass_matrix(model, q))
    assert np.abs(estimation.closed_form_inverse(model, q) - expected).max() < 1e-10 * np.abs(expected).max()
    batch = np.stack([q, model.random(np.random.default_rng(9))])
    assert np.allclose(estimation.closed_form_inverse(model, batch), ps.mass_matrix_inverse(model, batch))
