"""Hybrid dynamics is what a partition of the mass matrix gives, whatever is prescribed."""

import numpy as np
import pytest

import phistar as ps
from examples.four_bar_truss import mast
from phistar.cli.checker import evaluate, replay
from phistar.hybrid import driven_accelerations
from phistar.operators.symbols import H
from tests.dynamics.test_vibration import mixed
from tests.loops.mechanisms import four_bar, two_arms
from tests.trees import mechanism, relative

RNG = np.random.default_rng(7)


def state(model, batch=()):
    return model.random(RNG, batch), *RNG.standard_normal((2, *batch, model.nv))


def partitioned(mass, bias, tau, told, is_told):
    """θ̈ and T of one state from ℳ and 𝒞 + 𝒢, by blocks."""
    free, acceleration, forces = ~is_told, np.where(is_told, told, 0.0), tau.copy()
    right = tau[free] - bias[free] - mass[np.ix_(free, is_told)] @ told[is_told]
    acceleration[free] = np.linalg.solve(mass[np.ix_(free, free)], right)
    forces[is_told] = (mass @ acceleration + bias)[is_told]
    return acceleration, forces


def drawn(model, share=0.4):
    """A prescription of some joints, and the same rate by rate."""
    prescribed, told, is_told = {}, np.zeros(model.nv), np.zeros(model.nv, dtype=bool)
    for joint in model.joints:
        if RNG.random() < share:
            value = RNG.standard_normal(joint.nv)
            prescribed[joint.name] = float(value[0]) if joint.nv == 1 else value
            told[joint.v_slice], is_told[joint.v_slice] = value, True
    return prescribed, told, is_told


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_on_random_trees_it_is_the_partition_of_the_mass_matrix(seed):
    rng = np.random.default_rng(seed)
    model = mechanism(rng, rotors=seed % 4 == 3).model
    q, v, tau = state(model)
    prescribed, told, is_told = drawn(model)
    found = ps.hybrid_dynamics(model, q, v, tau, prescribed)
    want = partitioned(ps.mass_matrix(model, q), ps.bias(model, q, v), tau, told, is_told)
    assert relative(found.accelerations, want[0]) < 1e-11
    assert relative(found.forces, want[1]) < 1e-11
    assert np.array_equal(found.accelerations[is_told], told[is_told])
    assert np.array_equal(found.forces[~is_told], tau[~is_told])


def test_nothing_prescribed_is_forward_dynamics_and_everything_inverse_dynamics():
    model = mixed()
    q, v, tau = state(model)
    free = ps.hybrid_dynamics(model, q, v, tau, {})
    assert relative(free.accelerations, ps.forward_dynamics(model, q, v, tau)) < 1e-12
    everything = {joint.name: tau[joint.v_slice] for joint in model.joints}
    assert (
        relative(ps.hybrid_dynamics(model, q, v, 0 * tau, everything).forces, ps.inverse_dynamics(model, q, v, tau))
        < 1e-13
    )


def test_single_rates_of_a_joint_can_be_prescribed():
    model = mixed()
    q, v, tau = state(model)
    prescribed, is_told = {"b0": [None, 0.3, None, None, -0.2, None], "b3": (0.1, None, None)}, np.zeros(model.nv, bool)
    is_told[[1, 4, model.joint("b3").v_slice.start]] = True
    told = np.where(is_told, 0.0, 0.0)
    told[[1, 4, model.joint("b3").v_slice.start]] = 0.3, -0.2, 0.1
    found = ps.hybrid_dynamics(model, q, v, tau, prescribed)
    want = partitioned(ps.mass_matrix(model, q), ps.bias(model, q, v), tau, told, is_told)
    assert relative(found.accelerations, want[0]) < 1e-11 and relative(found.forces, want[1]) < 1e-11


def test_batches_external_forces_and_compiled_functions():
    model = ps.load("puma560")
    q, v, tau = state(model, (5,))
    name, push = model.joints[2].name, {"tool": RNG.standard_normal((5, 6))}
    rate = RNG.standard_normal(5)
    found = ps.hybrid_dynamics(model, q, v, tau, {name: rate}, push)
    needed = ps.inverse_dynamics(model, q, v, found.accelerations, push)
    assert relative(found.forces, needed) < 1e-10
    assert np.array_equal(found.accelerations[:, 2], rate)

    def moved(q, v, tau, told):
        return ps.hybrid_dynamics(model, q, v, tau, {name: told})

    kernel = ps.compile(moved, model, rows={"told": 1})
    want = ps.hybrid_dynamics(model, q, v, tau, {name: rate})
    for got, expected in zip(kernel(q, v, tau, rate[:, None]), want, strict=True):
        assert relative(got, expected) < 1e-12


def test_a_free_base_whose_joints_are_prescribed_is_the_free_flying_robot():
    model = ps.load("freeflyer")
    q, v, _ = state(model)
    joints = model.joints[1:]
    a = RNG.standard_normal(model.nv - 6)
    prescribed = {joint.name: a[joint.v_slice.start - 6 : joint.v_slice.stop - 6] for joint in joints}
    found = ps.hybrid_dynamics(model, q, v, np.zeros(model.nv), prescribed)
    assert relative(found.forces[6:], ps.freeflying.inverse_dynamics(model, q, v, a)) < 1e-11


def test_long_chains_are_driven_link_by_link():
    model = ps.chain(60)
    q, v, tau = state(model)
    prescribed = {joint.name: 0.5 for joint in model.joints[::3]}
    found = ps.hybrid_dynamics(model, q, v, tau, prescribed)
    assert relative(ps.inverse_dynamics(model, q, v, found.accelerations), found.forces) < 1e-10


def test_loops_stay_closed_under_what_is_prescribed():
    model = two_arms(ps.Universal(), links=3, couplings=True)
    q = ps.assemble(model, model.random(RNG))
    v = ps.loops.assemble_velocity(model, q, RNG.standard_normal(model.nv))
    tau = RNG.standard_normal(model.nv)
    told = ps.forward_dynamics(model, q, v, RNG.standard_normal(model.nv))
    joint = model.joint("left1")
    found = ps.hybrid_dynamics(model, q, v, tau, {"left1": told[joint.v_slice]})
    assert relative(ps.forward_dynamics(model, q, v, found.forces), found.accelerations) < 1e-9
    assert np.array_equal(np.delete(found.forces, np.r_[joint.v_slice]), np.delete(tau, np.r_[joint.v_slice]))


def test_a_prescription_that_opens_a_loop_is_refused():
    model, q = four_bar(), np.array([-1.2, 1.2, -1.2])
    with pytest.raises(ps.InfeasibleError, match="closure"):
        ps.hybrid_dynamics(model, q, np.zeros(3), np.zeros(3), {"crank": 1.0, "rocker": 2.0})
    both = ps.hybrid_dynamics(model, q, np.zeros(3), np.zeros(3), {"crank": 1.0, "rocker": 1.0})
    np.testing.assert_allclose(both.accelerations, [1.0, -1.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("prescribed", "words"),
    [({"elbow": 1.0}, "elbow"), ({"b1": 1.0}, r"b1"), ({"b0": [None, 1.0]}, "6 rates"), ([1.0], "joint names")],
)
def test_a_prescription_that_means_nothing_is_refused_in_a_sentence(prescribed, words):
    model = mixed()
    with pytest.raises(ps.PhistarError, match=words):
        ps.hybrid_dynamics(model, model.neutral(), np.zeros(model.nv), np.zeros(model.nv), prescribed)


def test_the_statement_costs_what_forward_dynamics_does():
    ours, plain = driven_accelerations.statement, ps.forward_dynamics.statement
    assert len(ours.sweeps) == len(plain.sweeps)
    assert ours.cost(20).total - plain.cost(20).total <= 35 * 20  # L and R at a joint, and θ̈_p among the accelerations


def test_the_rewriter_finds_lemma_3_with_the_free_joints_axes():
    """(LℳL* + R)⁻¹ = (I − LHψK)*D⁻¹(I − LHψK) for the pair of mass and armature over LH, derived and proved."""
    s = ps.algebra()
    free = s.symbols.with_pair(s.symbols.M, s.symbols.L @ s.symbols.A @ s.symbols.L.T + s.symbols.R, s.symbols.L @ H)
    found = (s.L @ s.mass @ s.L.T + s.R).inv
    lemma = s.expression(free.whitening.T @ free.D.inv @ free.whitening)
    assert found.simplify().node is not found.node and "mass" not in str(found.simplify())
    assert found.equals(lemma).proved
    assert "lemma 1" in str(found.derivation())
    certificate = found.derivation().certificate()
    replay(certificate)
    assert evaluate(certificate, 1) < 1e-100


@pytest.mark.parametrize("name", ["wide", "six"])
def test_prescribed_rates_take_nothing_of_what_others_do(name):
    """However heavy what is behind them: the free accelerations are of the free joints' inertia alone."""
    model = mixed() if name == "six" else bending()
    q, v, tau = state(model)
    held = {joint.name: np.zeros(joint.nv) for joint in model.joints[1:]}
    found = ps.hybrid_dynamics(model, q, 0 * v, tau, held)
    assert not np.any(found.accelerations[model.joint(model.joints[1].name).v_slice])
    needed = ps.inverse_dynamics(model, q, 0 * v, found.accelerations)
    assert relative(needed, found.forces) < 1e-11


def bending():
    b = ps.ModelBuilder("bending")
    beam = ps.beam(1.0, 20.0, 1.0, modes=2, axial_inertia=0.01)
    b.body("boom", joint=ps.Revolute(axis=(0, 1, 0), armature=0.3), inertia=beam)
    b.body("hand", "boom.tip", ps.Spherical(), inertia=ps.Inertia(0.5, (0.1, 0, 0), 1e-3 * np.eye(3)))
    return b.build()


@pytest.mark.parametrize("told", [(1.0, 1.0, -5.0), (0.0, 0.0, 1e-3)])
def test_prescriptions_of_all_joints_of_a_loop_that_contradict_it_are_refused_with_the_number(told):
    """Prescribed rates do not yield to the loop, however hard it pulls."""
    model = four_bar()
    q, names = ps.assemble(model, model.neutral()), [joint.name for joint in model.joints]
    opening = abs(-2.0 * told[0] - told[1] + told[2])  # stretched out, all joints in a line
    with pytest.raises(ps.PhistarError, match=f"would open the loop 'closure'.*acceleration of {opening:.3g}\\."):
        ps.hybrid_dynamics(model, q, np.zeros(3), np.zeros(3), dict(zip(names, told, strict=True)))
    kept = ps.hybrid_dynamics(model, q, np.zeros(3), np.zeros(3), dict(zip(names, (1.0, -1.0, 1.0), strict=True)))
    assert np.abs(kept.forces).max() < 100.0


def test_in_independent_rates_it_is_that_of_the_closed_mechanism():
    closed = mast(3)
    q = ps.assemble(closed, np.tile([1.1, -1.0, 1.2], 3))
    model = closed.embedded(independent=["crank0", "crank1", "crank2"], q=q)
    v, tau = RNG.standard_normal((2, 3))
    rates, forces = model.embedding.full_rates(q, v), np.zeros(closed.nv)
    forces[::3] = tau
    ours = ps.hybrid_dynamics(model, q, v, tau, {"crank1": 0.7})
    theirs = ps.hybrid_dynamics(closed, q, rates, forces, {"crank1": 0.7})
    assert ours.accelerations[1] == 0.7
    assert relative(model.embedding.full_accelerations(q, v, ours.accelerations), theirs.accelerations) < 1e-9
    assert relative(ours.forces, theirs.forces[::3]) < 1e-9
    with pytest.raises(ps.ModelError, match=r"'rocker1' of mast follows others.*'crank0', 'crank1', 'crank2'"):
        ps.hybrid_dynamics(model, q, v, tau, {"rocker1": 0.7})


@pytest.mark.slow
def test_independent_joints_move_as_told_in_motions():
    closed = mast(2)
    q = ps.assemble(closed, np.tile([1.1, -1.0, 1.2], 2))
    model = closed.embedded(independent=["crank0", "crank1"], q=q)
    told = np.tile([0.5, 0.2], (40, 1))
    run = ps.rollout(model, q, [0.0, 0.0], told, dt=0.01, prescribed=["crank0"], limits="ignore")
    np.testing.assert_allclose(run.v[:, 0], 0.5 * run.t, atol=1e-12)
    assert np.abs(ps.loop_residual(closed, run.q)).max() < 1e-12
    held = ps.rollout(model, q, [0.0, 0.3], 0 * told, dt=0.01, locked=["crank0"], limits="ignore")
    np.testing.assert_allclose(held.q[:, 0], q[0], atol=1e-14)
    free = ps.simulate(model, q, [0.0, 0.3], 0.4, rtol=1e-10, locked=["crank0"])
    np.testing.assert_allclose(free.q[-1], held.q[-1], atol=1e-7)
