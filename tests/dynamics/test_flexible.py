"""Dynamics of bodies that bend: the same laws, and the numbers of segments and of the literature."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phistar as ps
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.wide_kernel import inputs_of, values_over_links
from tests.trees import relative

PLANE = 1e9  # so stiff along z that modes of a plane mechanism stay in the plane


def arm():
    """A free base, two beams one on the other's tip, a hand on a ball joint."""
    b = ps.ModelBuilder("arm", gravity=(0.3, -2.0, -9.0))
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(5.0, (0.1, 0, 0.05), np.diag([0.3, 0.4, 0.5])))
    upper, fore = ps.beam(1.0, 10.0, 1.0, modes=3), ps.beam(0.8, (6.0, 9.0), 1.2, modes=2, axial_inertia=0.02)
    turned = ps.Pose(xyz=(0.1, 0, 0.2), rpy=(0.1, 0.2, 0.3))
    b.body("upper", "base", ps.Revolute(axis=(0, 0, 1), armature=0.1), turned, upper)
    b.body("fore", "upper.tip", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0.05, 0.02, 0.03), rpy=(0.3, 0.2, 0.1)), fore)
    b.body("hand", "fore.tip", ps.Spherical(), inertia=ps.Inertia(1.0, (0.1, 0, 0), 0.01 * np.eye(3)))
    b.frame("tool", "fore.tip", ps.Pose(xyz=(0.1, 0.05, 0.02), rpy=(0.1, 0.1, 0.2)))
    b.frame("side", "upper", ps.Pose(xyz=(0.1, 0.05, 0.02)))
    return b.build()


@pytest.fixture(scope="module")
def state():
    model, rng = arm(), np.random.default_rng(0)
    return model, model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)


def test_forward_dynamics_undoes_inverse_dynamics(state):
    model, q, v, a = state
    tau = ps.inverse_dynamics(model, q, v, a)
    assert relative(ps.forward_dynamics(model, q, v, tau), a) < 1e-11
    both = ps.forward_dynamics(model, np.stack([q, q]), np.stack([v, v]), np.stack([tau, tau]))
    assert relative(both[1], a) < 1e-11


def test_mass_matrix_bias_and_inverse_agree(state):
    model, q, v, a = state
    mass = ps.mass_matrix(model, q)
    assert relative(mass, mass.T) < 1e-14 and np.linalg.eigvalsh(mass)[0] > 0.0
    assert relative(mass @ a + ps.bias(model, q, v), ps.inverse_dynamics(model, q, v, a)) < 1e-12
    assert relative(ps.mass_matrix_inverse(model, q) @ mass, np.eye(model.nv)) < 1e-11
    parts = ps.innovations(model, q)
    assert relative(parts.factor @ parts.D @ parts.factor.T, mass) < 1e-12


@pytest.mark.parametrize("frame", ["tool", "side"])
def test_jacobians_are_the_slopes_of_poses(state, frame):
    model, q, v, _ = state
    h, J, turn = 1e-6, ps.jacobian(model, q, frame), ps.forward_kinematics(model, q, frame)[:3, :3]
    columns = []
    for unit in np.eye(model.nv):
        after, before = (ps.forward_kinematics(model, model.integrate(q, s * h * unit), frame) for s in (1, -1))
        spin = (after - before)[:3, :3] @ turn.T / (2 * h)
        columns.append([spin[2, 1], spin[0, 2], spin[1, 0], *(after - before)[:3, 3] / (2 * h)])
    assert relative(J, np.array(columns).T) < 1e-8
    after, before = (ps.jacobian(model, model.integrate(q, s * h * v), frame) for s in (1, -1))
    assert np.abs(ps.jacobian_dot_v(model, q, v, frame) - (after - before) @ v / (2 * h)).max() < 1e-7


def test_coriolis_forces_do_the_work_that_the_mass_matrix_asks_for(state):
    model, q, v, _ = state
    h = 1e-6
    after, before = (ps.mass_matrix(model, model.integrate(q, s * h * v)) for s in (1, -1))
    coriolis = ps.bias(model, q, v) - ps.gravity_load(model, q)
    assert v @ coriolis == pytest.approx(0.5 * v @ (after - before) @ v / (2 * h), abs=1e-6)
    assert ps.kinetic_energy(model, q, v) == pytest.approx(0.5 * v @ ps.mass_matrix(model, q) @ v)
    slopes = [
        (ps.potential_energy(model, model.integrate(q, h * e)) - ps.potential_energy(model, model.integrate(q, -h * e)))
        / (2 * h)
        for e in np.eye(model.nv)
    ]
    assert relative(ps.gravity_load(model, q), slopes) < 1e-7


def test_external_forces_act_at_nodes(state):
    model, q, v, a = state
    force = np.arange(1.0, 7.0)
    tau = ps.inverse_dynamics(model, q, v, a, {"tool": force})
    assert relative(ps.inverse_dynamics(model, q, v, a) - ps.jacobian(model, q, "tool").T @ force, tau) < 1e-12


def test_energy_and_momentum_of_a_free_flying_arm_are_kept():
    model = arm().replace(gravity=(0.0, 0.0, 0.0))
    q, v = model.random(1), np.random.default_rng(1).standard_normal(model.nv)
    run = ps.simulate(model, q, v, 0.3, rtol=1e-11, atol=1e-13)
    assert np.ptp(run.energy) < 1e-9 * run.energy[0]
    momentum = ps.momentum(model, run.q, run.v)
    assert np.ptp(momentum, axis=0).max() < 1e-9


def test_a_body_of_no_modes_in_a_flexible_model_moves_as_a_rigid_one():
    """A beam so stiff that it does not bend: the rod."""
    b = ps.ModelBuilder("stiff")
    b.body("rod", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(1.0, 10.0, 1.0, modes=1))
    b.body("end", "rod.tip", ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0.2, 0, 0.1), 0.02 * np.eye(3)))
    model = b.build()
    rigid = model.replace(inertias={"rod": model.bodies[0].flexible.rigid})
    q, v, tau = [0.3, 0.0, -0.7], [0.4, 0.0, 1.1], [0.5, 0.0, 0.2]
    held = ps.hybrid_dynamics(model, q, v, tau, {})
    joints, told = [0, 2], np.array([0.3, 0.4])
    a = np.array([told[0], 0.0, told[1]])
    want = ps.inverse_dynamics(rigid, [0.3, -0.7], [0.4, 1.1], told)
    np.testing.assert_allclose(ps.inverse_dynamics(model, q, v, a)[joints], want, atol=1e-12)
    assert np.isfinite(held.accelerations).all()


def pendulum(modes, stiffening=True):
    b, z = ps.ModelBuilder("double pendulum", gravity=(0, -9.81, 0)), ps.Revolute(axis=(0, 0, 1))
    beam = ps.beam(1.0, (20.0, PLANE), 1.0, modes=modes, stiffening=stiffening)
    b.body("a", joint=z, inertia=beam)
    b.body("b", "a.tip", z, inertia=beam)
    return b.build()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("modes", "stiffening", "error"), [(1, True, 2.3e-3), (2, True, 2.1e-4)])
def test_a_flexible_double_pendulum_falls_as_many_rigid_segments_do(modes, stiffening, error):
    """Tip at 0.4 s and 0.8 s of 10, 20 and 40 rigid segments a link, extrapolated."""
    model = pendulum(modes, stiffening)
    run = ps.simulate(model, model.neutral(), np.zeros(model.nv), 0.8, t_eval=[0.0, 0.4, 0.8])
    tip = ps.forward_kinematics(model, run.q[1:], "b.tip")[:, :2, 3].ravel()
    assert np.abs(tip - [1.668722, -0.831395, -1.049141, -1.614494]).max() < error


@pytest.mark.slow
def test_without_second_order_displacements_it_falls_wrongly():
    model = pendulum(2, False)
    run = ps.simulate(model, model.neutral(), np.zeros(model.nv), 0.8, t_eval=[0.0, 0.8])
    tip = ps.forward_kinematics(model, run.q[-1], "b.tip")[:2, 3]
    assert 1e-2 < np.abs(tip - [-1.049141, -1.614494]).max() < 1.3e-2


def spun_up(modes, until):
    """Kane's beam: ψ̇ = (6/15)(t − (15/2π) sin(2πt/15)); the tip's deflection in the turning frame."""
    b = ps.ModelBuilder("spin-up", gravity=(0, 0, 0))
    b.body("arm", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(10.0, (1.4e4, 1e12), 1.2, modes=modes))
    model = b.build()
    n = model.nv

    def rate(t, x):
        q, v = x[:n], x[n:]
        told = 0.4 * (1.0 - np.cos(2 * np.pi * t / 15)) if t < 15.0 else 0.0
        moved = ps.hybrid_dynamics(model, q, v, ps.joint_friction(model, q, v), {"arm": told})
        return np.concatenate([v, moved.accelerations])

    found = solve_ivp(rate, (0.0, until[-1]), np.zeros(2 * n), rtol=1e-6, atol=1e-8, t_eval=until).y[1:n]
    bent = np.concatenate([np.zeros((1, len(until))), found]).T
    return ps.forward_kinematics(model, bent, "arm.tip")[:, 1, 3]


def test_a_beam_that_spins_up_stiffens():
    """100 rigid segments: −0.4685 at 5 s, −0.5590 at 7.5 s; modes of second order are within 0.4 % of them."""
    np.testing.assert_allclose(spun_up(2, [5.0, 7.5]), [-0.468474, -0.559045], rtol=6e-3)


@pytest.mark.slow
def test_five_modes_of_kanes_beam_are_those_of_the_prototype():
    np.testing.assert_allclose(spun_up(5, [5.0, 7.5, 10.0]), [-0.469343, -0.560962, -0.363724], rtol=1e-5)


def test_the_modes_of_a_pinned_beam_come_out_of_clamped_ones():
    """βL of a pinned and free beam, from a hinge and the clamped modes of one plane."""
    b = ps.ModelBuilder("hinged", gravity=(0, 0, 0))
    b.body("beam", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(1.0, (1.0, PLANE), 1.0, modes=5))
    model = b.build()
    beta = np.sqrt(ps.modes(model, model.neutral()).frequencies)
    assert beta[0] == 0.0
    np.testing.assert_allclose(beta[1:4], [3.926602, 7.068583, 10.210176], rtol=1e-3)


def test_derivatives_and_linearization_know_of_modes():
    b = ps.ModelBuilder("one beam", gravity=(0, 0, -9.81))
    beam = ps.beam(1.0, 10.0, 1.0, modes=2, damping=0.02)
    b.body("beam", joint=ps.Revolute(axis=(0, 1, 0), damping=0.1, stiffness=2.0), inertia=beam)
    model, rng, h = b.build(), np.random.default_rng(2), 1e-6
    q, v, tau = model.random(rng), rng.standard_normal(3), rng.standard_normal(3)

    def moved(q, v):
        return ps.forward_dynamics(model, q, v, tau + ps.joint_friction(model, q, v))

    by_q = [(moved(q + h * e, v) - moved(q - h * e, v)) / (2 * h) for e in np.eye(3)]
    by_v = [(moved(q, v + h * e) - moved(q, v - h * e)) / (2 * h) for e in np.eye(3)]
    A = ps.linearize(model, q, v, tau).A
    assert relative(A[3:], np.concatenate([np.stack(by_q, -1), np.stack(by_v, -1)], -1)) < 1e-7
    assert relative(ps.forward_dynamics_derivatives(model, q, v, tau).dtau, ps.mass_matrix_inverse(model, q)) < 1e-9


def test_the_algebra_is_evaluated_over_links_of_any_width(state):
    model, q, v, a = state
    A = ps.algebra(model, frames=["tool"])
    mass = ps.mass_matrix(model, q)
    assert relative(A.mass.dense(q), mass) < 1e-12
    assert relative(A.mass.inv.apply(q, mass @ a), a) < 1e-10
    assert relative((A.mass @ A.qdd + A.C + A.g).apply(q, v=v, qdd=a), ps.inverse_dynamics(model, q, v, a)) < 1e-12
    assert relative(A.J.dense(q), ps.jacobian(model, q, "tool")) < 1e-12
    assert A.phi.dense(q).shape == (6 + 9 + 8 + 6,) * 2


def test_the_end_of_the_one_body_that_bends_has_a_plain_name():
    b = ps.ModelBuilder("one beam")
    b.body("boom", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(2.0, 10.0, 1.0, modes=1))
    model = b.build()
    assert ps.forward_kinematics(model, model.neutral(), "tip")[0, 3] == pytest.approx(2.0)
    with pytest.raises(ps.UnknownNameError, match="tip"):
        ps.forward_kinematics(arm(), arm().neutral(), "tip")


def test_without_modes_it_is_the_core_bit_for_bit_and_operation_for_operation():
    """A beam's rigid inertia goes the core's way: the same schedule, operations and bits as any rigid body's."""
    beam = ps.beam(1.0, EI=20.0, mass_per_length=1.0, modes=2, axial_inertia=0.01)
    models = []
    for inertia in (beam.rigid, ps.Inertia(beam.rigid.mass, beam.rigid.com, beam.rigid.tensor)):
        b = ps.ModelBuilder("arm")
        b.body("base", joint=ps.Free(), inertia=inertia)
        b.body("upper", "base", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(1, 0, 0)), inertia)
        b.body("fore", "upper", ps.Spherical(), ps.Pose(xyz=(1, 0, 0)), inertia)
        models.append(b.build())
    assert not has_wide_links(models[0]) and models[0] == models[1]
    rng = np.random.default_rng(4)
    q, v, tau = models[0].random(rng, (7,)), *rng.standard_normal((2, 7, models[0].nv))
    kernels = [ps.compile(ps.forward_dynamics.statement, model) for model in models]
    assert kernels[0].operations == kernels[1].operations and kernels[0].choice == kernels[1].choice
    found = [ps.forward_dynamics(model, q, v, tau) for model in models]
    np.testing.assert_array_equal(*found)
    # and the evaluator of links of any width says the same of width six
    wanted = ps.forward_dynamics.statements_for(models[0], (), flip=False)[0]
    order = dict(zip(inputs_of(wanted), (v, tau), strict=True))
    assert relative(values_over_links(wanted, q, order)["y"], found[0]) < 1e-12
