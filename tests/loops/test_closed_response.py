"""Mass matrix inverse, mobility and operational space of closed chains: what unit forces do to `forward_dynamics`."""

import numpy as np
import pytest

import phistar as ps
from benchmarks.multibody import two_arms as pair
from tests.loops.mechanisms import CUTS, four_bar, two_arms
from tests.trees import relative


def closed_state(model, seed=0):
    rng = np.random.default_rng(seed)
    q = ps.assemble(model, model.random(rng))
    return q, ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv))


def unit_responses(model, q, v):
    """(nv, nv): what each joint force alone adds to the accelerations."""
    rest = ps.forward_dynamics(model, q, v, np.zeros(model.nv))
    return (ps.forward_dynamics(model, q, v, np.eye(model.nv)) - rest).T


MECHANISMS = {
    "spherical cut and couplings": lambda: two_arms(ps.Spherical(), links=3, couplings=True),
    "free base": lambda: two_arms(CUTS[4], seed=4, links=3, floating=True),
    "redundant equations": four_bar,
}


@pytest.fixture(scope="module", params=MECHANISMS)
def closed(request):
    model = MECHANISMS[request.param]()
    q, v = (np.array([-1.2, 1.2, -1.2]), np.array([0.7, -0.7, 0.7])) if model.nv == 3 else closed_state(model, 1)
    return model, q, v


@pytest.mark.sampled(6)
def test_the_inverse_is_what_unit_joint_forces_do_while_loops_stay_closed(closed):
    model, q, v = closed
    inverse = ps.mass_matrix_inverse(model, q)
    assert relative(inverse, unit_responses(model, q, v)) < 1e-11
    assert np.array_equal(inverse, inverse.T)
    assert np.abs(ps.loops.closure_jacobian(model, q) @ inverse).max() < 1e-11  # nothing opens a loop
    assert relative(inverse @ ps.mass_matrix(model, q) @ inverse, inverse) < 1e-11


@pytest.mark.sampled(6)
def test_mobility_and_responses_are_those_of_unit_forces_at_the_frame(closed):
    model, q, v = closed
    frame = list(model.frames)[-1]
    rest = ps.forward_dynamics(model, q, v, np.zeros(model.nv))
    each = [ps.forward_dynamics(model, q, v, np.zeros(model.nv), {frame: force}) - rest for force in np.eye(6)]
    assert relative(ps.mobility(model, q, frame), ps.jacobian(model, q, frame) @ np.stack(each, -1)) < 1e-11
    force = np.arange(1.0, 7.0)
    assert relative(ps.tip_acceleration_change(model, q, frame, force), -np.stack(each, -1) @ force) < 1e-11
    tau = np.linspace(-1.0, 1.0, model.nv)
    both = unit_responses(model, q, v) @ tau + np.stack(each, -1) @ force
    assert relative(ps.force_response(model, q, tau, {frame: force}), both) < 1e-11


@pytest.mark.sampled(6)
def test_task_mobility_has_the_coriolis_and_gravity_of_the_closed_motion(closed):
    model, q, v = closed
    frame, zero = list(model.frames)[-1], np.zeros(model.nv)
    J, weightless = ps.jacobian(model, q, frame), model.replace(gravity=(0.0, 0.0, 0.0))
    found = ps.task_mobility(model, q, v, frame)
    drift = J @ ps.forward_dynamics(weightless, q, v, zero) + ps.jacobian_dot_v(model, q, v, frame)
    assert np.abs(found.coriolis + drift).max() < 1e-11
    falling = J @ (ps.forward_dynamics(model, q, v, zero) - ps.forward_dynamics(weightless, q, v, zero))
    assert np.abs(found.gravity + falling).max() < 1e-11


def test_operational_space_moves_a_frame_as_forward_dynamics_does():
    model = two_arms(ps.Revolute(axis=(1, 2, 2)), seed=1, links=6, floating=True)
    q, v = closed_state(model, 2)
    frame, force, zero = "left tip", np.arange(1.0, 7.0), np.zeros(model.nv)
    space = ps.operational_space(model, q, v, frame)
    moved = ps.forward_dynamics(model, q, v, zero, {frame: force})
    acceleration = ps.jacobian(model, q, frame) @ moved + ps.jacobian_dot_v(model, q, v, frame)
    assert relative(space.inertia @ acceleration + space.coriolis + space.gravity, force) < 1e-10
    assert space.rank == 6
    batch = ps.operational_space(model, np.stack([q, q]), np.stack([v, 0 * v]), frame)
    assert relative(batch.inertia[1], space.inertia) < 1e-12


def test_two_equal_arms_that_hold_one_thing_give_way_half_as_much_as_one():
    """RJK91 Fig. 1."""
    b = ps.ModelBuilder("two equal arms")
    arm = ps.load("puma560")
    b.attach(arm, prefix="left ")
    b.attach(arm, prefix="right ")
    b.loop("grip", "left tool", "right tool", joint=ps.Fixed())
    model, q = b.build(strict=False), np.tile([0.3, -0.7, 0.9, 0.4, 0.8, -0.2], 2)
    one = ps.mobility(arm, q[:6], "tool")
    assert relative(ps.mobility(model, q, "left tool"), 0.5 * one) < 1e-9
    assert relative(ps.mobility(model.tree, q, "left tool"), one) < 1e-12
    space, alone = ps.operational_space(model, q, np.zeros(12), "left tool"), ps.operational_space
    assert relative(space.inertia, 2.0 * alone(arm, q[:6], np.zeros(6), "tool").inertia) < 1e-9


def test_pinocchio_finds_the_same_responses():
    pytest.importorskip("pinocchio", reason="pin is not installed")
    model = pair.two_arms(7)
    q, v, tau = (x[0] for x in pair.states(7, 1))
    peer = pair.Peer(model)
    rest = np.array(peer(q, v, tau))
    want = np.stack([np.array(peer(q, v, tau + unit)) - rest for unit in np.eye(model.nv)], axis=-1)
    assert relative(ps.mass_matrix_inverse(model, q), want) < 1e-9
    J = ps.jacobian(model, q, "left_tip")
    assert relative(ps.mobility(model, q, "left_tip"), J @ want @ J.T) < 1e-9


@pytest.mark.slow
def test_long_chains_answer_as_short_ones_do():
    model = pair.two_arms(24)  # 48 bodies: link by link
    q, v, _ = (x[0] for x in pair.states(24, 1))
    want = unit_responses(model, q, v)
    assert relative(ps.mass_matrix_inverse(model, q), want) < 1e-8
    J = ps.jacobian(model, q, "right_tip")
    assert relative(ps.mobility(model, q, "right_tip"), J @ want @ J.T) < 1e-8


@pytest.mark.slow
def test_compiled_functions_give_the_closed_chains():
    model = two_arms(ps.Spherical(), links=3, couplings=True)
    q, v = closed_state(model, 1)
    made = ps.compile(ps.task_mobility, model, frame="left tip")(np.stack([q, q]), np.stack([v, v]))
    for got, want in zip(made, ps.task_mobility(model, q, v, "left tip"), strict=True):
        assert relative(got[1], want) < 1e-10
    assert relative(ps.compile(ps.mass_matrix_inverse, model)(q), ps.mass_matrix_inverse(model, q)) < 1e-10


def test_a_nan_spoils_its_own_row():
    model, q = four_bar(), np.array([[-1.2, 1.2, -1.2], [np.nan, 0.0, 0.0]])
    inverse = ps.mass_matrix_inverse(model, q)
    assert np.isfinite(inverse[0]).all() and np.isnan(inverse[1]).any()


REFUSED = {
    "innovations": lambda m, q, v: ps.innovations(m, q),
    "two step": lambda m, q, v: ps.forward_dynamics_two_step(m, q, v, v),
    "covariances": lambda m, q, v: ps.estimation.covariances(m, q),
    "acceleration parts": lambda m, q, v: ps.estimation.acceleration_parts(m, q, v, v),
    "filter": lambda m, q, v: ps.estimation.forward_dynamics(m, q, v, v),
    "precise": lambda m, q, v: ps.estimation.precise_forward_dynamics(m, q, v, v),
    "errors": lambda m, q, v: ps.estimation.forward_errors(m, q, v),
    "self motions": lambda m, q, v: ps.estimation.self_motions(m, q, "coupler_end"),
    "diagonalized": lambda m, q, v: ps.control.diagonalized(m, q, v),
    "whitened": lambda m, q, v: ps.control.innovations_of_forces(m, q, v),
    "coloured": lambda m, q, v: ps.control.forces_of_innovations(m, q, v),
    "residuals": lambda m, q, v: ps.control.rates_of_residuals(m, q, v),
    "resolved": lambda m, q, v: ps.control.resolved_acceleration(m, q, v, v, np.zeros(6), "coupler_end"),
    "operational": lambda m, q, v: ps.control.operational_forces(m, q, v, v, np.zeros(6), np.zeros(6), "coupler_end"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_for_closed_chains_is_refused_by_name(name):
    with pytest.raises(ps.ModelError, match=r"model\.embedded\(\)|model\.tree"):
        REFUSED[name](four_bar(), np.array([-1.2, 1.2, -1.2]), np.zeros(3))


def test_the_algebra_says_that_its_operators_are_the_trees():
    model, q = four_bar(), np.array([-1.2, 1.2, -1.2])
    with pytest.raises(ps.StatementError, match="spanning tree"):
        ps.algebra(model, frames=["coupler_end"]).Lambda  # noqa: B018
    mass = ps.algebra(model).mass
    assert relative(mass.dense(q), ps.mass_matrix(model, q)) < 1e-12


@pytest.mark.slow
def test_monitors_know_of_loops():
    model = two_arms(ps.Revolute(axis=(1, 2, 2)), seed=1, links=6, floating=True)
    q, v = closed_state(model, 2)
    J, inverse = ps.jacobian(model, q, "left tip"), unit_responses(model, q, v)
    rates = np.linalg.svd(ps.loops.closure_jacobian(model, q))[2][ps.loops.loop_report(model, q).rank :]
    moved = J @ rates.T
    assert ps.control.manipulability(model, q, "left tip") == pytest.approx(np.sqrt(np.linalg.det(moved @ moved.T)))
    spread = (J @ inverse)[3:]
    found = ps.control.dynamic_manipulability(model, q, "left tip").lengths
    assert relative(found, np.linalg.svd(spread)[1]) < 1e-9
    direction = np.array([1.0, 0.0, 0.0])
    mass = ps.control.effective_mass(model, q, "left tip", direction)
    assert mass == pytest.approx(1.0 / (J @ inverse @ J.T)[3, 3])


def test_a_robot_that_a_loop_ties_to_the_world_does_not_float():
    model = two_arms(ps.Spherical(), links=3, floating=True)
    assert ps.freeflying.joint_count(model) == model.nv - 6
    with pytest.raises(ps.ModelError, match="tether"):
        ps.freeflying.generalized_jacobian(
            model.with_loop("tether", "left0", "world", ps.Spherical()), model.neutral(), "left tip"
        )
