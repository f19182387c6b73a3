"""Latches and releases in plants: momentum stays, impulses are told, loops hold and let go."""

import numpy as np
import pytest

import phistar as ps


def pair(gravity=(0, 0, 0)):
    """Two bodies of 2 and 3 kg, one metre apart, that come together at 1 m/s."""
    plant = ps.Plant(gravity=gravity)
    for name, mass, x, v in (("chaser", 2.0, -1.0, 1.0), ("target", 3.0, 0.0, 0.0)):
        inertia = ps.Inertia(mass, (0, 0, 0), 0.1 * np.eye(3))
        plant.add_body(name, inertia=inertia, at=ps.Pose(xyz=(x, 0.1 if x else 0.0, 0)), twist=[0, 0, 0, v, 0, 0])
    return plant


@pytest.mark.parametrize("rtol", [None, 1e-6])
def test_a_latch_keeps_momentum_and_a_release_lets_go(rtol):
    plant = pair()
    dock = ps.Latch("dock", "chaser", "target", when=lambda t, q, v: -0.3 - q[0])
    run = plant.simulate(1.5, step=0.01, changes=[dock, ps.Release("dock", when=1.2)], rtol=rtol)
    told = [(event.what, event.time) for event in run.events]
    assert told[0][0] == "latch" and told[1][0] == "release" and told[1][1] == pytest.approx(1.2)
    assert told[0][1] == pytest.approx(0.7, abs=0.011)
    momenta = np.array([ps.momentum(plant.model, q, v) for q, v in zip(run.q, run.v, strict=True)])
    np.testing.assert_allclose(momenta, np.broadcast_to(momenta[0], momenta.shape), atol=1e-6)
    held = (run.t > told[0][1] + 0.005) & (run.t < 1.2)
    apart = np.linalg.norm(run.q[:, 7:10] - run.q[:, :3], axis=-1)
    np.testing.assert_allclose(apart[held], apart[held][0], atol=1e-5)
    spins = np.array([run.v[held, :3], run.v[held, 6:9]])
    np.testing.assert_allclose(spins[0], spins[1], atol=1e-4)
    assert np.abs(spins[0]).max() > 1e-2  # beside each other when they met: the pair turns


def test_it_is_the_jump_that_simulate_tells():
    """The same latch of the same bodies: impulses of both runs, by the model and by the plant."""
    plant = pair()
    dock = ps.Latch("dock", "chaser", "target", when=0.5)
    state = plant.state()
    ours = ps.simulate(plant, 0.6, step=0.01, changes=[dock])
    exact = ps.simulate(plant.model, state.q, state.v, 0.6, changes=[dock])
    assert ours.events[0].what == exact.events[0].what
    numbers = [[float(x) for x in event.where.split() if x[0].isdigit()] for event in (ours.events[0], exact.events[0])]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-3)


def test_what_is_no_change_is_refused():
    with pytest.raises(ps.ModelError, match=r"ps\.Latch and ps\.Release"):
        pair().simulate(0.1, changes=["dock"])
