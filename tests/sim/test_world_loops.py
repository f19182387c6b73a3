"""Contact of mechanisms with loops: closed in every step, and forces that hold them as statics wants."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.model import Geometry, Plane, Sphere
from phistar.sim.motion import Motion
from phistar.sim.world import World
from tests.worlds import world_of

pytest.importorskip("coal")
KNOB = ps.Pose(xyz=(0.25, 0.0, 0.0))


@pytest.fixture(scope="module")
def world() -> World:
    """A four-bar linkage that falls with a knob on its coupler onto a floor."""
    builder = ps.ModelBuilder("four_bar", gravity=(0.0, 0.0, -9.81))
    bars = (("crank", "world", 0.0, 0.2), ("coupler", "crank", 0.2, 0.5), ("rocker", "world", 0.45, 0.35))
    for name, parent, at, length in bars:
        across = length**2 / 12 + 1e-3
        bar = ps.Inertia(1.0, (length / 2, 0.0, 0.0), np.diag([1e-3, across, across]))
        builder.body(name, parent, ps.Revolute(axis=(0.0, 1.0, 0.0)), ps.Pose(xyz=(at, 0.0, 0.0)), bar)
    builder.frame("end of coupler", "coupler", ps.Pose(xyz=(0.5, 0.0, 0.0)))
    builder.frame("end of rocker", "rocker", ps.Pose(xyz=(0.35, 0.0, 0.0)))
    builder.frame("knob", "coupler", KNOB)
    builder.loop("closure", "end of coupler", "end of rocker", joint=ps.Revolute(axis=(0.0, 1.0, 0.0)))
    builder.geometry("coupler", Geometry(Sphere(0.02), KNOB, "ball", None, "collision"))
    builder.geometry("world", Geometry(Plane(), ps.Pose(xyz=(0.0, 0.0, 0.06)), "floor", None, "collision"))
    return world_of(builder.build(), Surface(friction=0.0))


@pytest.fixture(scope="module")
def moments(world):
    q = ps.assemble(world.model, [-1.0, 0.2, -1.2])
    motion = Motion(world, lambda t, q, v: np.zeros(3))
    return list(motion.fixed(world.start(q, np.zeros(3)), 0.0, [2.0], 1e-3))


def test_loops_stay_closed_through_impact(world, moments):
    states = [moment.state for moment in moments]
    residual, rate = ps.loop_residual(world.model, [s.q for s in states], [s.v for s in states])
    assert any(len(moment.step.pair) for moment in moments)
    # A step closes rates; what q ⊕ h v⁺ leaves open, h² times the rates squared, is drawn together by the next ones.
    assert np.abs(residual).max() < 5e-5 and np.abs(rate).max() < 2e-2
    assert np.abs(residual[-100:]).max() < 1e-9 and np.abs(rate[-100:]).max() < 1e-8


def test_the_floor_holds_the_linkage_at_rest(world, moments):
    model, last = world.model, moments[-1]
    assert np.abs(last.state.v).max() < 1e-8
    lift = {"knob": np.array([0.0, 0.0, 0.0, 0.0, 0.0, last.step.places_in(world).normal[0]])}
    held = ps.forward_dynamics(model, last.state.q, np.zeros(3), np.zeros(3), f_ext=lift)
    falling = ps.forward_dynamics(model, last.state.q, np.zeros(3), np.zeros(3))
    assert np.abs(held).max() < 1e-6 * np.abs(falling).max()


def test_energy_never_grows(world, moments):
    states = [moment.state for moment in moments]
    q, v = np.array([s.q for s in states]), np.array([s.v for s in states])
    energy = ps.kinetic_energy(world.model, q, v) + ps.potential_energy(world.model, q)
    touched = next(i for i, moment in enumerate(moments) if len(moment.step.pair))
    assert energy[-1] < energy[touched] - 1.0


def test_an_open_loop_is_refused_at_the_start(world):
    with pytest.raises(ps.PhistarError, match="closure"):
        world.start([-1.0, 0.2, -1.2], np.zeros(3))
