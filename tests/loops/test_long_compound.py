"""Mechanisms with many compound links run link by link: the same numbers as written out, in linear time."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends import choice
from phistar.backends.wide_kernel import statement_kernel
from phistar.dynamics import forward_dynamics

PIN = ps.Revolute(axis=(0, 0, 1))


def mast(windows, vary=False, armature=0.0, free=False, tilt=0.0):
    """Windows of crank, coupler and rocker, each on the coupler before."""
    rng = np.random.default_rng(3)
    b, parent, at = ps.ModelBuilder("mast", gravity=(0.3, -9.81, 0.2)), "world", 0.0
    if free:
        b.body("base", "world", ps.Free(), inertia=ps.Inertia(3.0, (0, 0.1, 0), np.diag([0.2, 0.3, 0.4])))
        parent = "base"
    for k in range(windows):
        mass = 0.4 * (1.0 + vary * rng.uniform())
        rod = ps.Inertia(mass, (0.25, 0, 0), mass * np.diag([1e-3, 2e-2, 2e-2]))
        driven = ps.Revolute(axis=(0, 0, 1), armature=armature)
        b.body(f"crank{k}", parent, driven, ps.Pose(xyz=(at, 0, 0), rpy=(tilt, 0, 0)), rod)
        b.body(f"coupler{k}", f"crank{k}", PIN, ps.Pose(xyz=(0.5, 0, 0)), rod)
        b.body(f"rocker{k}", parent, driven, ps.Pose(xyz=(at + 0.4, 0, 0), rpy=(tilt, 0, 0)), rod)
        b.frame(f"end{k}", f"coupler{k}", ps.Pose(xyz=(0.4, 0, 0)))
        b.frame(f"pin{k}", f"rocker{k}", ps.Pose(xyz=(0.5, 0, 0)))
        b.loop(f"window{k}", f"end{k}", f"pin{k}", joint=PIN)
        parent = f"coupler{k}"
    return b.build()


def raised(model):
    q = model.neutral()
    if "crank0" in model.body_indices:
        q[model.nq - 3 * len(model.loops) :] = np.tile([1.3, -1.3, 1.3], len(model.loops))
    return q


def opened(q):
    """q with its last joint a little away from where it closes a loop."""
    return np.concatenate([q[:-1], q[-1:] + 1e-3])


def geared():
    """A motor that lifts a carriage by a gear, an arm on the carriage and another pair of geared joints on it."""
    b = ps.ModelBuilder("geared")
    ball = ps.Inertia(0.5, (0.1, 0, 0.05), np.diag([0.01, 0.02, 0.03]))
    b.body("motor", joint=ps.Revolute(axis=(1, 0, 0), armature=0.02), inertia=ball)
    b.body("follower", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=ball)
    b.body("arm", "follower", ps.Spherical(), ps.Pose(xyz=(0.2, 0, 0)), ball)
    b.body("wheel", "arm", PIN, ps.Pose(xyz=(0.1, 0, 0)), ball)
    b.body("mirror", "arm", PIN, ps.Pose(xyz=(-0.1, 0, 0)), ball)
    b.frame("end1", "mirror", ps.Pose(xyz=(0, 0.1, 0)))
    b.frame("pin0", "follower")
    b.loop("gear", "follower", "motor", joint=ps.Coupling((0.0, 0.3, 0.05)))
    b.loop("wheels", "mirror", "wheel", joint=ps.Coupling((0.1, -1.0)))
    return b.build()


MODELS = {
    "plane": lambda: mast(3),
    "different": lambda: mast(3, vary=True, armature=0.05),
    "in space": lambda: mast(2, tilt=0.4),
    "free": lambda: mast(2, vary=True, free=True, tilt=0.3),
    "geared": geared,
}


def both(monkeypatch, make):
    """The same mechanism written out, and link by link."""
    closed = make()
    found = []
    for name, most in (("written", 16), ("rolled", 0)):
        monkeypatch.setattr(choice, "COMPOUND", most)
        model = closed.embedded(q=raised(closed)).replace(name=name)
        found.append((model, most))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", [x if x in ("different", "free") else pytest.param(x, marks=pytest.mark.slow) for x in MODELS]
)
def test_functions_are_those_written_out(name, monkeypatch):
    rng = np.random.default_rng(1)
    results = []
    for model, most in both(monkeypatch, MODELS[name]):
        monkeypatch.setattr(choice, "COMPOUND", most)
        rng = np.random.default_rng(1)
        q = model.integrate(raised(model.embedding.closed), 0.1 * rng.standard_normal(model.nv))
        v, a, tau = rng.standard_normal((3, model.nv))
        at = {"end1": rng.standard_normal(6), "pin0": rng.standard_normal(6)}
        maps = model.embedding
        results.append(
            [
                q,
                ps.forward_dynamics(model, q, v, tau),
                ps.forward_dynamics(model, np.tile(q, (5, 1)), v, tau, at),
                ps.inverse_dynamics(model, q, v, a, at),
                ps.mass_matrix(model, q),
                ps.mass_matrix_inverse(model, q),
                ps.mobility(model, q, "end1"),
                ps.jacobian(model, q, "end1"),
                ps.jacobian_dot_v(model, q, v, "end1"),
                ps.kinetic_energy(model, q, v),
                ps.momentum(model, q, v),
                ps.innovations(model, q).factor,
                ps.innovations(model, q).D,
                maps.full_rates(q, v),
                maps.full_accelerations(q, v, a),
                maps.rate_map(q),
                maps.independent_forces(q, np.arange(float(maps.closed.nv))),
                np.array(maps.conditions(q)),
                *maps.closing_step(opened(q)),
            ]
        )
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-11 * max(1.0, np.abs(one).max()))


@pytest.mark.slow
def test_a_motion_of_many_windows_is_the_closed_chains(monkeypatch):
    monkeypatch.setattr(choice, "COMPOUND", 0)
    closed = mast(3, vary=True)
    model = closed.embedded(q=raised(closed))
    q, v = raised(closed), np.array([0.5, -0.4, 0.3])
    run = ps.rollout(model, q, v, dt=1e-3, steps=50)
    full = ps.rollout(closed, q, model.embedding.full_rates(q, v), dt=1e-3, steps=50)
    np.testing.assert_allclose(run.q[-1], full.q[-1], atol=1e-9)


@pytest.mark.slow
def test_every_window_more_costs_the_same_up_to_a_thousand():
    counts = {}
    for windows in (20, 40, 1000):
        closed = mast(windows)
        model = closed.embedded(q=raised(closed))
        wanted = forward_dynamics.statements_for(model, (), flip=False)[0]
        counts[windows] = statement_kernel(wanted).operations
    assert counts[1000] - counts[40] == 48 * (counts[40] - counts[20])
    tree = ps.compile(ps.forward_dynamics.statement, mast(1000).tree)
    assert counts[1000] <= 3 * tree.operations


@pytest.mark.slow
def test_ten_windows_are_written_out_because_that_is_counted_to_be_faster():
    """At most three times the tree's straight-line code."""
    closed = mast(10)
    wanted = forward_dynamics.statements_for(closed.embedded(q=raised(closed)), (), flip=False)[0]
    kernel = statement_kernel(wanted)
    counted = {each.schedule: each.operations for each in kernel.chosen.candidates}
    assert kernel.chosen.schedule == choice.WRITTEN and counted[choice.WRITTEN] < counted[choice.ROLLED]
    assert kernel.operations <= 3.2 * ps.compile(ps.forward_dynamics.statement, closed.tree).operations


@pytest.mark.slow
def test_long_functions_are_compiled_not_interpreted(caplog):
    closed = mast(7, vary=True)
    model = closed.embedded(q=raised(closed))
    assert len(model.bodies) > choice.COMPOUND
    q, v = raised(closed), np.zeros(model.nv)
    ps.forward_dynamics(model, q, v, v), ps.mass_matrix_inverse(model, q), ps.innovations(model, q)
    ps.operational_space(model, q, v, "end6")
    assert not [record for record in caplog.records if "not compiled" in record.message]


def test_the_kernel_of_a_long_mechanism_tells_its_choice_and_its_algorithm():
    model = mast(8).embedded()
    made = ps.compile(ps.algebra(model).mass.inv, model)
    assert "operations" in made.choice
    assert str(made.algorithm())
