"""Dry friction in `ps.simulate`: sliding, sticking, breaking loose, against closed forms."""

import numpy as np
import pytest

import phistar as ps
from phistar.sim.sticking import Sticking


def block(friction, mass=2.0):
    builder = ps.ModelBuilder("block", gravity=(0, 0, 0))
    joint = ps.Prismatic(axis=(1, 0, 0), friction=friction)
    builder.body("block", parent="world", joint=joint, inertia=ps.Inertia(mass, (0, 0, 0), np.eye(3)))
    return builder.build()


def test_a_block_slides_to_rest_and_stays():
    run = ps.simulate(block(3.0), [0.0], [2.0], 3.0)
    assert abs(run.q[-1, 0] - 2.0**2 / (2 * 1.5)) < 1e-12
    assert np.all(run.v[run.t > 2.0 / 1.5] == 0.0)


def test_friction_may_differ_between_directions():
    run = ps.simulate(block((3.0, 1.0)), [0.0], [-2.0], 6.0)
    assert abs(run.q[-1, 0] + 2.0**2 / (2 * 0.5)) < 1e-12


@pytest.mark.parametrize(("direction", "bound"), [(1.0, 3.0), (-1.0, 1.0)])
def test_a_growing_push_breaks_the_block_loose_at_the_bound(direction, bound):
    run = ps.simulate(block((3.0, 1.0)), [0.0], [0.0], 5.0, control=lambda t, q, v: [direction * t])
    assert np.all(run.q[run.t < bound] == 0.0)
    assert abs(run.q[-1, 0] - direction * (5.0 - bound) ** 3 / 12.0) < 1e-7


def test_friction_on_one_side_only_ends():
    assert ps.simulate(block((3.0, 0.0)), [0.0], [0.0], 1.0).q[-1, 0] == 0.0
    assert abs(ps.simulate(block((3.0, 0.0)), [0.0], [-1.0], 1.0).q[-1, 0] + 1.0) < 1e-12


def test_a_driven_block_that_sticks_and_slips_agrees_with_small_steps():
    model = block(3.0)
    run = ps.simulate(model, [0.0], [0.0], 4.0, control=lambda t, q, v: [4.0 * np.sin(2.0 * t)])
    fine = ps.rollout(
        model,
        [0.0],
        [0.0],
        dt=1e-5,
        steps=400_000,
        method="euler",
        controller=lambda t, q, v: 4.0 * np.sin(2.0 * t + q * 0),
        limits="ignore",  # friction by the sign of the rate alone, in steps that are short enough
    )
    assert np.abs(run.q[-1] - fine.q[-1]).max() < 1e-4
    assert np.abs(run.q[-1]).max() > 1e-2


def test_a_puma_at_rest_is_held_by_its_joints_or_falls_until_it_is():
    model = ps.load("puma560")
    run = ps.simulate(model, model.neutral(), np.zeros(6), 3.0)
    assert run.energy[-1] < run.energy[0] - 1.0
    assert np.all(run.v[-1] == 0.0)
    assert np.all(np.diff(run.energy) < 1e-9 * run.energy[0])


def test_what_holds_a_joint_is_within_its_friction_and_what_slides_goes_against_it():
    model, rng = ps.load("puma560"), np.random.default_rng(7)
    for _ in range(50):
        q, push = model.random(rng), rng.normal(size=6) * [60, 60, 30, 2, 2, 2]
        motion = Sticking(model, lambda t, q, v, push=push: push)
        modes = motion.decide(0.0, q, np.zeros(6))
        acceleration = motion.acceleration(0.0, q, np.zeros(6), modes)
        assert np.all(acceleration[modes == 0] == 0.0)
        assert np.all(acceleration[modes != 0] * modes[modes != 0] > 0.0)
        held = ps.inverse_dynamics(model, q, np.zeros(6), acceleration) - push
        ahead, back = motion.passive.friction
        assert np.all(held >= -ahead - 1e-9)
        assert np.all(held <= back + 1e-9)
        assert np.abs(held - motion.passive.coulomb(modes))[modes != 0].max(initial=0.0) < 1e-9
