"""PD, gravity compensation, and inverse dynamics by WD89's feedback vectors."""

import numpy as np
import pytest

import phistar as ps
from tests.control.closed_loop import run, second_order, wave
from tests.trees import mechanism, relative

PUMA = ps.load("puma560_akb")
Q = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2])


def test_gravity_compensation_leaves_the_arm_where_it_is():
    law = ps.control.GravityCompensation(PUMA)
    found = run(PUMA, law, Q, np.zeros(6), steps=100)
    assert np.abs(found.q - Q).max() < 1e-9


def test_pd_rests_where_its_springs_carry_the_load():
    law = ps.control.PDControl(PUMA, kp=4000, kd=400)
    reference = law.reference(Q)
    q = Q.copy()
    for _ in range(50):  # the fixed point q = q_d − 𝒢(q)/kp
        q = Q - ps.gravity_load(PUMA, q) / 4000
    np.testing.assert_allclose(law(0.0, q, np.zeros(6), reference), ps.gravity_load(PUMA, q), atol=1e-9)
    found = run(PUMA, lambda t, x, v: law(t, x, v, reference), q, np.zeros(6), steps=100)
    assert np.abs(found.q - q).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_feedback_vectors_gathered_inward_are_inverse_dynamics(seed):
    case = mechanism(seed)
    model, q, v, a = case.model, case.q, case.vectors["v"], case.vectors["qdd"]
    feedback = ps.control.dynamic_feedback(model, q, v, a)
    assert feedback.forces.shape == (6 * len(model.bodies),)
    assert relative(ps.control.gathered(model, q, *feedback), ps.inverse_dynamics(model, q, v, a)) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_any_feedback_vector_adds_what_a_force_on_its_link_would_take(seed):
    """HφF̂ = Σ J_k* F̂_k, frames at the links' origins, world axes turned to link axes."""
    case = mechanism(seed)
    model, q = case.model, case.q
    forces, torques = case.vectors["F"], case.vectors["T"]
    jacobians = ps.algebra(model, [body.name for body in model.bodies]).J.dense(q)
    turns = [np.kron(np.eye(2), ps.forward_kinematics(model, q, body.name)[:3, :3]) for body in model.bodies]
    turned = [turn @ force for turn, force in zip(turns, forces.reshape(-1, 6), strict=True)]
    expected = torques + jacobians.T @ np.concatenate(turned)
    assert relative(ps.control.gathered(model, q, forces, torques), expected) < 1e-12


def test_feedback_costs_one_sweep_each_way():
    s = ps.algebra(tree=True, armature=True)
    whole = s.mass @ s.qdd + s.C + s.g + s.H @ s.phi @ s.F + s.T
    assert [sweep.direction for sweep in whole.sweeps] == ["outward", "inward"]
    assert [sweep.direction for sweep in ps.control.gathered.statement.sweeps] == ["inward"]
    assert [sweep.direction for sweep in ps.control.dynamic_feedback.statements["forces"].sweeps] == ["outward"]


def test_the_error_under_inverse_dynamics_obeys_its_linear_equation():
    law, path = ps.control.InverseDynamicsControl(PUMA, kp=100, kd=14), wave(6)
    start, rate, _ = path(0.0)
    q, v = start + 0.2, rate - 0.3
    fast = ps.compile(law)
    found = run(PUMA, lambda t, q, v: fast(t, q, v, law.reference(*path(t))), q, v, steps=500)
    error = np.array([path(t)[0] for t in found.t]) - found.q
    expected = second_order(found.t, error[0], rate - v, 100, 14)
    assert np.abs(error - expected).max() < 1e-6 * np.abs(error[0]).max()


def test_a_model_exact_law_tracks_to_a_millionth_at_one_kilohertz():
    law, path = ps.control.InverseDynamicsControl(PUMA, kp=400), wave(6, seed=1)
    fast = ps.compile(law)
    found = run(PUMA, lambda t, q, v: fast(t, q, v, law.reference(*path(t))), *path(0.0)[:2])
    error = np.array([path(t)[0] for t in found.t]) - found.q
    assert np.abs(error).max() < 1e-6


def test_viscous_friction_is_fed_back_as_the_scalar_of_its_joint():
    puma = ps.load("puma560")
    law, blind = ps.control.InverseDynamicsControl(puma), ps.control.InverseDynamicsControl(puma, damping=0)
    v, reference = np.ones(6), law.reference(Q)
    damping = np.concatenate([joint.kind.damping for joint in puma.joints])
    np.testing.assert_allclose(law(0, Q, v, reference) - blind(0, Q, v, reference), damping * v, atol=1e-9)


def test_joints_that_turn_on_quaternions_come_to_their_reference():
    case = mechanism(3, kind="spherical", bodies=2, armature=False)
    model, law = case.model, ps.control.InverseDynamicsControl(case.model, kp=60, kd=16)
    rng = np.random.default_rng(0)
    target = model.random(rng)
    found = ps.rollout(model, case.q, np.zeros(model.nv), dt=2e-3, steps=2000, controller=law,
                       parameters=law.reference(target))  # fmt: skip
    assert np.abs(model.difference(found.q[-1], target)).max() < 1e-3


def test_a_half_turn_is_an_error_too():
    b = ps.ModelBuilder("ball")
    b.body("ball", joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    model = b.build()
    law = ps.control.PDControl(model, kp=1.0, kd=0.0)
    tau = law(0.0, [0, 0, 0, 1], np.zeros(3), law.reference([0, 1, 0, 0]))
    np.testing.assert_allclose(np.abs(tau), [0, 2, 0], atol=1e-12)


def closed_mechanism():
    """WD89's Fig. 1 off its home, with rates that keep its loops closed."""
    model = ps.load("wd89_fig1")
    primary = ["joint1", "joint2", "joint3"]
    q = ps.assemble(model, np.array([0.1, -0.1, 0.2, 0.0, 0.0, 0.0, 0.0]), locked=primary)
    law = ps.control.InverseDynamicsControl(model, kp=25.0, damping=0.3, primary=primary)
    v = law.embedded.embedding.full_rates(q, np.array([0.3, -0.2, 0.4]))
    return model, law, q, v


def test_primary_joints_of_a_closed_mechanism_obey_their_own_equation_and_nothing_else_is_driven():
    model, law, q, v = closed_mechanism()
    driven = list(law.embedded.embedding.independent)
    reference = law.reference(q + 0.05, np.zeros(7), np.full(7, 0.1))
    tau = law(0.0, q, v, reference)
    assert not np.delete(tau, driven).any()
    a = ps.forward_dynamics(model, q, v, tau - 0.3 * v)  # viscous friction at every joint
    np.testing.assert_allclose(a[driven], 0.1 + 25.0 * 0.05 - 10.0 * v[driven], atol=1e-9)
    np.testing.assert_allclose(ps.compile(law)(0.0, q, v, reference), tau, rtol=1e-9, atol=1e-9)


def test_tau_is_the_constraint_map_transposed_times_what_the_tree_would_need():
    """τ = E(Q)*ρ̂ (WD89 §3), with ρ̂ by inverse dynamics of the spanning tree at θ̈ = E Q̈ + Ė Q̇."""
    model, law, q, v = closed_mechanism()
    embedding = law.embedded.embedding
    driven = list(embedding.independent)
    wanted = np.array([0.7, -0.4, 0.2])
    change = np.zeros(7)
    change[driven] = wanted
    tau = law(0.0, q, v, law.reference(q, v, change))
    full = embedding.full_accelerations(q, v[driven], wanted)
    rho = ps.inverse_dynamics(model.tree, q, v, full) + 0.3 * v
    columns = np.stack([embedding.full_rates(q, unit) for unit in np.eye(3)], axis=-1)
    np.testing.assert_allclose(tau[driven], columns.T @ rho, rtol=1e-9, atol=1e-9)


def test_primary_joints_of_a_tree_are_refused():
    with pytest.raises(ps.PhistarError, match="has no loops: every joint of it is driven"):
        ps.control.InverseDynamicsControl(ps.load("puma560"), primary=["joint1"])
