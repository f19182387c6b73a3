"""Wheels, gyros, slosh, pointing and instruments."""

import numpy as np
import pytest

import phistar as ps

space = ps.space


def hub(mass=100.0, moments=(20.0, 25.0, 30.0)):
    builder = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
    builder.body("hub", "world", ps.Free(), inertia=ps.Inertia(mass, (0, 0, 0), np.diag(moments)))
    return builder


def test_a_wheel_turns_the_hub_the_other_way_by_the_ratio_of_inertias():
    builder = hub()
    axis = np.array([1.0, 2, 2]) / 3
    space.add_wheel(builder, "wheel", "hub", axis, spin_inertia=0.5, mass=4.0, position=(0, 0, 0))
    model = builder.build()
    q, v = model.neutral(), np.zeros(model.nv)
    run = ps.simulate(model, q, v, 5.0, control=lambda t, q, v: np.array([0, 0, 0, 0, 0, 0, 0.3]))
    spin = ps.momentum(model, run.q[-1], run.v[-1])[:3]
    np.testing.assert_allclose(spin, 0.0, atol=1e-9)
    assert run.v[-1, 6] > 1.0 and run.v[-1, :3] @ axis < 0.0


def test_a_gyro_gives_the_gimbal_rate_times_its_momentum():
    """τ = −γ̇ × h at the start: the hub's acceleration is I⁻¹ of it."""
    builder = hub()
    space.add_gyro(builder, "gyro", "hub", (0, 0, 1), (1, 0, 0), spin_inertia=0.2, mass=3.0, gimbal_inertia=1e-3)
    model = builder.build()
    gimbal, wheel = (model.joints[model.joint_indices[f"gyro_{part}"]].v_slice.start for part in ("gimbal", "wheel"))
    q, v = model.neutral(), np.zeros(model.nv)
    v[wheel], v[gimbal] = 300.0, 0.5
    a = ps.forward_dynamics(model, q, v, np.zeros(model.nv))
    carried = 25.0 + 0.1  # hub and, across its spin axis, the wheel
    np.testing.assert_allclose(a[1], -0.2 * 300.0 * 0.5 / carried, rtol=1e-2)
    with pytest.raises(ps.PhistarError, match="right angle"):
        space.add_gyro(hub(), "gyro", "hub", (0, 0, 1), (0, 0, 1), spin_inertia=0.2, mass=3.0)


def test_scissored_gyros_turn_the_hub_by_the_closed_form():
    """Two gyros whose gimbals turn against each other: (I + 2 J_t cos² δ) ω = 2 h sin δ about one axis, none about the
    others; h, what each wheel keeps about its free axis; the momentum of the whole stays zero."""
    builder, spin, size = hub(), 300.0, 0.2
    for name, place, way in (("one", 0.3, 1.0), ("two", -0.3, -1.0)):
        space.add_gyro(builder, name, "hub", (0, 0, 1), (0, way, 0), size, 3.0, (place, 0, 0), gimbal_inertia=1e-3)
    model = builder.build(strict=False)
    at = {joint.name: joint.v_slice.start for joint in model.joints}
    v = np.zeros(model.nv)
    v[[at["one_wheel"], at["two_wheel"]]] = spin
    push = np.zeros(model.nv)
    push[[at["one_gimbal"], at["two_gimbal"]]] = 60.0, -60.0
    steps = np.linspace(0.0, 1.0, 41)
    options = {"control": lambda t, q, v: push, "rtol": 1e-11, "atol": 1e-13, "t_eval": steps}
    run = ps.simulate(model, model.neutral(), v, 1.0, **options)
    turn = run.q[:, at["one_gimbal"] + 1]
    across = 20.0 + 2 * 0.5 * size * np.cos(turn) ** 2
    np.testing.assert_allclose(run.v[:, 0], 2 * size * spin * np.sin(turn) / across, rtol=1e-8, atol=1e-10)
    assert np.ptp(turn) > 0.1
    np.testing.assert_allclose(run.v[:, 1:6], 0.0, atol=1e-8)
    whole = ps.momentum(model, run.q, run.v)
    np.testing.assert_allclose(whole, 0.0, atol=1e-8 * size * spin)


def test_torques_of_wheels_end_at_their_limits():
    np.testing.assert_allclose(space.saturate([0.5, 0.1, -0.1], [0, 600, 600], 0.2, 600), [0.2, 0.0, -0.1])


def test_propellant_on_a_spring_swings_at_the_frequency_of_two_masses():
    builder = hub(mass=80.0)
    space.add_slosh_mass(builder, "slosh", "hub", (0, 1, 0), mass=20.0, stiffness=40.0)
    model = builder.build()
    frequencies = ps.modes(model, model.neutral()).frequencies
    np.testing.assert_allclose(max(frequencies), np.sqrt(40.0 * (1 / 80 + 1 / 20)), rtol=1e-9)


def test_a_pendulum_swings_under_thrust():
    """With the tank pushed at a constant acceleration a, ω² = a/l for a light mass."""
    builder = hub(mass=1000.0, moments=(1e6, 1e6, 1e6))
    space.add_slosh_pendulum(builder, "slosh", "hub", (0, 1, 0), (0, 0, -0.5), mass=1e-3)
    model = builder.build()
    q, v = model.neutral(), np.zeros(model.nv)
    push = np.zeros(model.nv)
    push[5] = 1000.001 * 0.2
    h = 1e-6
    q[7] = h
    a = ps.forward_dynamics(model, q, v, push)
    np.testing.assert_allclose(a[6] / h, -0.2 / 0.5, rtol=1e-4)


def test_pointing_keeps_the_base_while_the_arm_swings():
    """With the arm's accelerations told ahead the base does not move at all."""
    model = ps.load("freeflyer", gravity=(0, 0, 0), friction=False)
    law = space.PointingControl(model, station_gains=(0.04, 0.4))
    rng = np.random.default_rng(0)
    swing = rng.normal(size=model.nv - 6)

    def control(t, q, v):
        joints = swing * np.cos(2.0 * t)
        wrench = law(q, v, joints)
        a = np.concatenate([np.zeros(6), joints])
        tau = ps.inverse_dynamics(model, q, v, a)
        return np.concatenate([wrench, tau[6:]])

    run = ps.simulate(model, model.neutral(), np.zeros(model.nv), 2.0, control=control)
    assert np.abs(run.q[:, :3]).max() < 1e-7 and np.abs(run.q[:, 3:6]).max() < 1e-7
    assert np.abs(run.q[-1, 7:]).max() > 0.01


def test_a_star_tracker_errs_as_its_covariance_says():
    tracker = space.StarTracker(1e-4, 8e-4, boresight=(0.6, 0.0, 0.8), seed=3)
    seen = np.array([2 * tracker.read([0, 0, 0, 1])[:3] for _ in range(20000)])
    np.testing.assert_allclose(np.cov(seen.T), tracker.covariance, atol=0.03 * tracker.covariance.max())


def test_a_gyroscope_drifts_as_a_random_walk():
    ends = []
    for seed in range(400):
        gyro = space.RateGyro(noise=1e-4, walk=1e-3, period=0.1, seed=seed)
        ends.append(sum(gyro.read(np.zeros(3)) for _ in range(50)) * 0.1)
    time = 5.0
    expected = 1e-4**2 * time + 1e-3**2 * time**3 / 3
    np.testing.assert_allclose(np.var(ends), expected, rtol=0.15)
