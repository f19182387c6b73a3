"""A free robot with bending arms keeps energy and momentum to rounding, by the method that works on its momentum."""

import numpy as np
import pytest

import phistar as ps
from phistar.sim.floating import Floating, floats


@pytest.fixture(scope="module")
def boom():
    b = ps.ModelBuilder("boom", gravity=(0, 0, 0))
    beam = ps.beam(2.0, EI=(60.0, 90.0), mass_per_length=1.5, modes=2, axial_inertia=0.01)
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(20.0, (0, 0.1, 0), np.diag([3.0, 2.0, 3.0])))
    b.body("upper", "base", ps.Revolute(axis=(0, 0, 1)), ps.Pose(xyz=(0.4, 0, 0)), beam)
    b.body("hand", "upper.tip", ps.Spherical(), inertia=ps.Inertia(1.0, (0.1, 0, 0), 0.02 * np.eye(3)))
    return b.build()


def energy(model, q, v):
    body = model.bodies[1]
    eta = q[..., body.mode_q_slice]
    return ps.kinetic_energy(model, q, v) + 0.5 * np.sum((eta @ body.flexible.modal_stiffness) * eta, axis=-1)


def test_it_floats_unless_its_base_bends(boom):
    assert floats(boom)
    b = ps.ModelBuilder("bending base")
    b.body("beam", joint=ps.Free(), inertia=ps.beam(1.0, EI=20.0, mass_per_length=1.0, modes=2, axial_inertia=0.01))
    assert not floats(b.build())


def test_there_and_back_is_where_it_was(boom):
    rng = np.random.default_rng(0)
    q, v = boom.random(rng), rng.standard_normal(boom.nv)
    found = Floating(boom).to_state(*Floating(boom).from_state(q, v))
    np.testing.assert_allclose(found[0], q, atol=1e-13)
    np.testing.assert_allclose(found[1], v, atol=1e-12)


def test_ten_thousand_steps_keep_energy_and_momentum(boom):
    v = 0.3 * np.random.default_rng(1).standard_normal(boom.nv)
    v[boom.bodies[1].mode_slice] *= 0.1
    run = ps.rollout(boom, boom.neutral(), v, dt=1e-3, steps=10_000, method="midpoint")
    kept = energy(boom, run.q[::100], run.v[::100])
    momenta = ps.momentum(boom, run.q[::100], run.v[::100])
    assert np.abs(kept / kept[0] - 1.0).max() < 1e-12
    assert np.abs(momenta - momenta[0]).max() < 1e-12 * np.abs(momenta[0]).max()


def test_it_is_the_motion_that_other_methods_find(boom):
    v = 0.3 * np.random.default_rng(1).standard_normal(boom.nv)
    v[boom.bodies[1].mode_slice] *= 0.1
    steps, ends = (250, 500), []
    for count in steps:
        ends.append(ps.rollout(boom, boom.neutral(), v, dt=0.5 / count, steps=count, method="midpoint").q[-1])
    want = ps.rollout(boom, boom.neutral(), v, dt=1e-3, steps=500).q[-1]
    far = [np.abs(end - want).max() for end in ends]
    assert far[1] < 1e-3 and far[1] < 0.3 * far[0]  # second order
