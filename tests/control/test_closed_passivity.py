"""Laws with an energy hold for closed chains and grasps in independent rates (RJK91 §6)."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.grasp.test_holding import held
from tests.loops.mechanisms import four_bar, two_arms
from tests.loops.test_flexible_embedding import closed_state, window
from tests.loops.test_long_compound import mast, raised
from tests.trees import relative


def linkage():
    model = four_bar((0.5, 1.0, 0.9, 1.1))
    q = ps.assemble(model, np.array([0.7, 0.1, 1.0]))
    return model.embedded(independent=["crank"], q=q), q


def grasp():
    """Two arms of six joints with armature hold an object on a Free joint: six rates, those of the first arm."""
    model, q = held(("rigid", "rigid"))
    return model.embedded(independent=[f"arm0link{j}" for j in range(6)], q=q), q


def balls():
    """Ball joints among the independent ones: rates that are not those of coordinates."""
    model = two_arms(ps.Spherical(), links=3, couplings=True)
    q = ps.assemble(model, model.random(np.random.default_rng(1)))
    return model.embedded(q=q), q


def bent():
    """A four-bar on a free base, a body behind it on a ball joint: its bars bend, one joint has armature."""
    model, q, _ = closed_state(window("bars", free=True))
    return model, q


def windows():
    """A free base and thirteen four-bars, each on the one before: link by link."""
    model = mast(13, vary=True, armature=0.05, free=True, tilt=0.3)
    return model.embedded(q=raised(model)), raised(model)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", [linkage, grasp, balls, bent, windows])
def test_the_coriolis_matrix_is_that_of_the_tree_and_of_how_the_map_changes(make):
    """C_c = X*(CX + ℳẊ), with which dℳ_c/dt − 2C_c is skew as the tree's is (Wen and Kreutz 1988)."""
    model, q = make()
    v, other = np.random.default_rng(3).standard_normal((2, model.nv))
    h, maps, tree = 1e-6, model.embedding, model.embedding.closed.tree
    ahead, back = (maps.full_rates(model.integrate(q, x * v), other) for x in (h, -h))
    forces = ps.control.coriolis_product(tree, q, maps.full_rates(q, v), maps.full_rates(q, other))
    forces = forces + ps.mass_matrix(tree, q) @ ((ahead - back) / (2.0 * h))
    assert relative(ps.control.coriolis_product(model, q, v, other), maps.independent_forces(q, forces)) < 1e-6


def test_coriolis_matrices_and_reference_dynamics_of_closed_chains_are_made_of_these_products():
    model, q = linkage()
    v, a, other = np.random.default_rng(3).standard_normal((3, model.nv))
    product = ps.control.coriolis_product(model, q, v, other)
    assert relative(ps.coriolis_matrix(model, q, v) @ other, product) < 1e-12
    moved = ps.mass_matrix(model, q) @ a + product + ps.gravity_load(model, q)
    assert relative(ps.control.reference_dynamics(model, q, v, other, a), moved) < 1e-12
    own = ps.estimation.momentum_forces(model, q, v)
    assert relative(own, ps.coriolis_matrix(model, q, v).T @ v - ps.gravity_load(model, q)) < 1e-12


def test_a_push_on_a_closed_chain_is_found_by_its_momentum():
    model, q = linkage()
    observer, v, push = ps.estimation.ForceObserver(model, gain=200.0, period=1e-3), np.zeros(1), np.array([0.7])
    memory = observer.start(q, v)
    for _ in range(60):
        tau = ps.gravity_load(model, q)
        run = ps.rollout(model, q, v, (tau + push)[None], dt=1e-3, steps=1)
        q, v = run.q[-1], run.v[-1]
        memory = observer.update(memory, q, v, tau)
    assert abs(memory.force - push) < 0.01 * push


@pytest.mark.sampled(6)
@pytest.mark.parametrize("make", [linkage, grasp, balls])
def test_the_mass_matrix_changes_by_twice_the_coriolis_matrix_but_for_a_skew_part(make):
    """C(θ, θ̇)θ̇ = 𝒞, and x*(dℳ/dt − 2C)x = 0 for every x."""
    model, q = make()
    v, x = 0.5 * np.random.default_rng(4).standard_normal((2, model.nv))
    own = ps.control.coriolis_product(model, q, v, v)
    assert relative(own, ps.bias(model, q, v) - ps.gravity_load(model, q)) < 1e-9
    h = 1e-5
    ahead, back = (ps.kinetic_energy(model, model.integrate(q, s * v), x) for s in (h, -h))
    assert abs((ahead - back) / (2.0 * h) - x @ ps.control.coriolis_product(model, q, v, x)) < 1e-6 * max(1.0, ahead)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("make", "k"), [(linkage, 0.3), (grasp, 6.0)])
def test_the_storage_falls_as_the_proof_says_while_a_motion_is_followed(make, k):
    """dW/dt = −s*ks of the closed chain: the integral of the loss is what the storage has lost."""
    model, start = make()
    law = ps.control.PassivityControl(model, k=k, slope=4.0)
    rates = model.embedding.independent
    moving = [joint.q_slice.start for rate in rates for joint in model.tree.joints if joint.v_slice.start == rate]

    def path(t):
        along, each = np.isin(np.arange(model.nq), moving), np.ones(model.nv)
        return start + 0.1 * np.sin(3.0 * t) * along, 0.3 * np.cos(3.0 * t) * each, -0.9 * np.sin(3.0 * t) * each

    rate = 0.3 * np.random.default_rng(5).standard_normal(model.nv)
    run = ps.simulate(
        model, start, rate, 0.15, ps.compile(law.following(path)), rtol=1e-8, t_eval=np.linspace(0, 0.15, 61)
    )
    references = np.stack([law.reference(*path(t)) for t in run.t])
    storage = law.storage(run.q, run.v, references)
    gap = run.v - np.stack([law.reference_motion(q, v, r)[0] for q, v, r in zip(run.q, run.v, references, strict=True)])
    loss = np.sum(k * gap**2, axis=-1)
    lost = ((loss[:-2:2] + 4.0 * loss[1::2] + loss[2::2]) / 6.0).sum() * 2.0 * (run.t[1] - run.t[0])
    assert storage[-1] < 0.95 * storage[0] and np.diff(storage).max() < 0.0
    assert abs(storage[0] - storage[-1] - lost) < 1e-5 * storage[0]


def test_the_energy_law_brings_a_closed_chain_to_rest_where_it_should_be_and_compiles():
    model, start = linkage()
    law = ps.control.EnergyControl(model, kp=60.0, kd=12.0)
    goal = ps.assemble(model.embedding.closed, np.array([1.0, -0.2, 1.3]))
    run = ps.simulate(model, start, [0.5], 3.0, law.following(lambda t: (goal,)))
    assert np.abs(run.q[-1] - goal).max() < 1e-4
    assert np.diff(law.storage(run.q, run.v, law.reference(goal))).max() < 1e-6
    fast, reference = ps.compile(law), law.reference(goal)
    assert relative(fast(0.0, start, [0.5], reference), law(0.0, start, [0.5], reference)) < 1e-12


def test_a_closed_chain_that_is_not_in_independent_rates_is_sent_there():
    with pytest.raises(ps.ModelError, match=r"independent rates, model.embedded"):
        ps.control.PassivityControl(four_bar())
    with pytest.raises(ps.ModelError, match="quaternions"):
        ps.control.PassivityControl(balls()[0])
