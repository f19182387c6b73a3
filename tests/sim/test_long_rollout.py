"""Rollouts link by link: what the written-out kernel and the loop in NumPy do, on every joint, method and width."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.timeloop import Memory
from phistar.backends.machine.jit import Target, host
from phistar.sim import rollout as module
from phistar.sim.integrators import METHODS
from phistar.sim.joint_drives import Drives
from phistar.sim.long_rollout import long_rollout
from phistar.sim.traced_controller import control_phase
from tests.loops.test_long_compound import geared, mast, raised
from tests.sim.test_rollout import states, tree, with_passive_forces
from tests.trees import KINDS, mechanism

CHAIN = ps.chain(45)
BASELINE = Target(host().triple, "x86-64", "") if host().triple.startswith("x86_64") else host()


def run_link_by_link(model, method, q0, v0, times, controls=None, **options):
    function = long_rollout(model, method, Memory(model.nq, model.nv), None, controls is not None, **options)
    given = [] if controls is None else [np.reshape(controls, (*np.shape(controls)[:-2], -1))]
    return function(q0, v0, times, *given)


def apart(found, expected):
    return max(np.abs(x - y).max() / max(1.0, np.abs(y).max()) for x, y in zip(found, expected, strict=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [*KINDS, None])
def test_every_joint_steps_as_in_the_kernel_written_out(kind):
    model = tree(kind)
    method = "euler" if model.nq > model.nv else "midpoint"  # that of free robots works on momenta
    q0, v0 = states(model, (7,))
    controls = np.random.default_rng(1).normal(size=(7, 12, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=2e-3, method=method)
    assert apart(run_link_by_link(model, method, q0, v0, run.t, controls), (run.q, run.v)) < 1e-11


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_trees_on_a_free_base_step_on_the_manifold(method):
    model = mechanism(72, serial=False, floating=True, armature=True, rotors=False, bodies=6).model
    q0, v0 = states(model, (3,))
    run = ps.rollout(model, q0, v0, dt=2e-3, steps=15, method=method)
    assert apart(run_link_by_link(model, method, q0, v0, run.t), (run.q, run.v)) < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_passive_joint_forces_act_at_every_link(method):
    model = with_passive_forces()
    q0, v0 = states(model, (5,))
    controls = np.random.default_rng(2).normal(size=(5, 10, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=1e-3, method=method, limits="ignore")
    assert apart(run_link_by_link(model, method, q0, v0, run.t, controls), (run.q, run.v)) < 1e-12


def sprung_gears():
    """Geared joints in independent rates, with springs, damping and dry friction on those that follow too."""
    wheel = ps.Revolute(axis=(0, 0, 1), stiffness=2.0, damping=0.3, friction=0.05)
    mirror = ps.Revolute(axis=(0, 0, 1), stiffness=1.0, friction=0.02)
    return geared().replace(joints={"arm": ps.Spherical(damping=0.1), "wheel": wheel, "mirror": mirror})


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["euler", "rk4"])
@pytest.mark.parametrize("make", [sprung_gears, lambda: mast(3, vary=True, free=True, armature=0.1)])
def test_compound_links_step_and_close_their_loops_by_themselves(make, method):
    closed = make()
    start = ps.assemble(closed, raised(closed))
    model = closed.embedded(q=start)
    rng = np.random.default_rng(4)
    q0, v0 = np.stack([start] * 5), 0.3 * rng.normal(size=(5, model.nv))
    controls = rng.normal(size=(5, 12, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=2e-3, method=method)
    assert apart(run_link_by_link(model, method, q0, v0, run.t, controls), (run.q, run.v)) < 1e-11


def test_bodies_that_bend_step_by_themselves():
    b, parent = ps.ModelBuilder("bending", gravity=(0, 0, -9.81)), "world"
    rod = ps.beam(0.5, EI=(20.0, 30.0), mass_per_length=0.8, modes=2, axial_inertia=1e-3, damping=0.01)
    for k in range(3):
        joint = ps.Spherical(damping=0.1) if k == 1 else ps.Revolute(axis=(0, 1, 0), stiffness=0.3, damping=0.05)
        b.body(f"link{k}", parent, joint, inertia=rod)
        parent = f"link{k}.tip"
    model, rng = b.build(), np.random.default_rng(5)
    q0, v0 = model.random(rng, (3,)), 0.1 * rng.normal(size=(3, model.nv))
    run = ps.rollout(model, q0, v0, dt=1e-4, steps=20)
    assert apart(run_link_by_link(model, "rk4", q0, v0, run.t), (run.q, run.v)) < 1e-10


@pytest.mark.slow
def test_a_long_mast_of_four_bars_is_one_kernel():
    closed = mast(30)
    start = ps.assemble(closed, raised(closed))
    model = closed.embedded(q=start)
    run = ps.rollout(model, start, np.zeros(model.nv), dt=1e-3, steps=20)
    assert any(key[0] == "long rollout" for key in model.__dict__["_kernels"] if isinstance(key, tuple))
    assert np.abs(ps.loop_residual(closed, run.q, model.embedding.full_rates(run.q, run.v))[0]).max() < 1e-14
    kinetic = ps.kinetic_energy(model, run.q, run.v)
    assert np.ptp(kinetic + ps.potential_energy(model, run.q)) < 1e-5 * np.ptp(kinetic)


def stepped(q0, v0, t, method, controls=None, law=None, gains=None):
    """The loop in NumPy around `ps.forward_dynamics`."""
    memory = Memory(CHAIN.nq, CHAIN.nv, 0 if gains is None else gains.shape[-1])
    control = law and control_phase(law, memory)
    return module._step_in_numpy(Drives(CHAIN), method, memory, control, (q0, v0), t, controls, gains)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 11])
def test_a_long_chain_steps_as_the_loop_in_numpy(method, count):
    q0, v0 = states(CHAIN, (count,))
    controls = np.random.default_rng(3).normal(size=(count, 8, CHAIN.nv))
    run = ps.rollout(CHAIN, q0, v0, controls, dt=np.linspace(1e-4, 2e-4, 8), method=method)
    assert any(key[0] == "long rollout" for key in CHAIN.__dict__["_kernels"])
    assert apart((run.q, run.v), stepped(q0, v0, run.t, method, controls)) < 1e-12
    free = ps.rollout(CHAIN, q0, v0, dt=1e-4, steps=8, method=method)
    assert apart((free.q, free.v), stepped(q0, v0, free.t, method, np.zeros_like(controls))) < 1e-12


def test_a_controller_of_a_long_chain_is_in_the_kernel():
    def law(t, q, v, gains):
        return gains[:45] * (np.sin(t) - q) - gains[45] * v

    q0, v0 = states(CHAIN, (6,))
    gains = np.random.default_rng(4).uniform(0.0, 0.1, size=(6, 46))
    run = ps.rollout(CHAIN, q0, v0, dt=1e-4, steps=8, method="rk4", controller=law, parameters=gains)
    assert apart((run.q, run.v), stepped(q0, v0, run.t, "rk4", None, law, gains)) < 1e-12
    alone = ps.rollout(CHAIN, q0[2], v0[2], dt=1e-4, steps=8, controller=law, parameters=gains[2])
    assert apart((alone.q, alone.v), (run.q[2], run.v[2])) < 1e-15


@pytest.mark.parametrize("options", [{"target": BASELINE}, {"lanes": 2}, {"lanes": 8}], ids=str)
def test_any_width_gives_the_same(options):
    model = tree("spherical")
    q0, v0 = states(model, (13,))
    run = ps.rollout(model, q0, v0, dt=2e-3, steps=10, method="rk4")
    assert apart(run_link_by_link(model, "rk4", q0, v0, run.t, **options), (run.q, run.v)) < 1e-11


def test_a_nan_spoils_its_own_row_alone():
    q0, v0 = states(CHAIN, (5,))
    clean = ps.rollout(CHAIN, q0, v0, dt=1e-4, steps=3)
    v0[2, 7] = np.nan
    spoiled = ps.rollout(CHAIN, q0, v0, dt=1e-4, steps=3)
    others = [0, 1, 3, 4]
    assert np.isnan(spoiled.q[2, -1]).all() and np.array_equal(spoiled.q[others], clean.q[others])


def test_empty_batches_no_steps_and_leading_axes():
    q0, v0 = states(CHAIN, (2, 3))
    assert ps.rollout(CHAIN, q0[:0], v0[:0], dt=1e-3, steps=2).q.shape == (0, 3, 3, 45)
    still = ps.rollout(CHAIN, q0, v0, dt=1e-3, steps=0)
    assert np.array_equal(still.q[..., 0, :], q0) and still.v.shape == (2, 3, 1, 45)
    controls = np.ones((3, 4, CHAIN.nv))
    run = ps.rollout(CHAIN, q0, v0[:1, :1], controls, dt=1e-3)
    one = ps.rollout(CHAIN, q0[1, 2], v0[0, 0], controls[2], dt=1e-3)
    assert np.array_equal(run.q[1, 2], one.q)


def test_loops_springs_on_quaternions_and_momenta_have_no_such_kernel():
    spring = ps.ModelBuilder("sprung")
    spring.body("a", parent="world", joint=ps.Spherical(stiffness=1.0), inertia=ps.Inertia(1.0, (0, 0, 1), np.eye(3)))
    assert long_rollout(spring.build(), "rk4", Memory(4, 3), None, False) is None
    floating = mechanism(72, serial=False, floating=True, armature=False, rotors=False, bodies=4).model
    assert long_rollout(floating, "midpoint", Memory(floating.nq, floating.nv), None, False) is None
