"""C(θ, θ̇)θ̇_r in O(n), and the laws whose proof is an energy."""

import numpy as np
import pytest
from scipy import integrate

import phistar as ps
from tests.control.closed_loop import run, wave
from tests.trees import mechanism, relative

PUMA = ps.load("puma560_akb")
STEP = 1e-6


def matrix(model, q, v) -> np.ndarray:
    """C(θ, θ̇), (nv, nv), column by column, by the sweeps uncompiled."""
    product = ps.algebra(model).C_ref
    return product.apply(np.tile(q, (model.nv, 1)), v=np.tile(v, (model.nv, 1)), v_ref=np.eye(model.nv)).T


@pytest.mark.parametrize("seed", range(40))
def test_with_one_velocity_in_both_places_it_is_the_coriolis_force(seed):
    case = mechanism(seed)
    model, q, v = case.model, case.q, case.vectors["v"]
    expected = ps.algebra(model).C.dense(q, v=v)
    assert np.abs(matrix(model, q, v) @ v - expected).max() < 1e-12 * (1.0 + np.abs(expected).max())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_the_rate_of_the_mass_matrix_less_twice_c_is_skew(seed):
    """On trees, with every joint, armature and geared rotors."""
    case = mechanism(seed)
    model, q, v = case.model, case.q, case.vectors["v"]
    mass = ps.algebra(model).mass
    ahead, behind = (mass.dense(model.integrate(q, step * v)) for step in (STEP, -STEP))
    c = matrix(model, q, v)
    difference = (ahead - behind) / (2 * STEP) - (c + c.T)
    assert np.abs(difference).max() < 1e-7 * (1 + np.abs(c).max())


def christoffel(model, q, v) -> np.ndarray:
    """½(∂ᵢM_jk + ∂_jM_ik − ∂_kM_ij)v_i, from differences of the mass matrix."""
    slopes = np.array(
        [(ps.mass_matrix(model, q + STEP * e) - ps.mass_matrix(model, q - STEP * e)) / (2 * STEP) for e in np.eye(6)]
    )
    along = np.einsum("ijk,i->jk", slopes, v)
    across = np.einsum("jki,i->kj", slopes, v)
    return 0.5 * (along + across - across.T)


def test_on_revolute_joints_c_is_christoffels_and_symmetric_in_its_velocities():
    rng = np.random.default_rng(0)
    q, x, y = rng.normal(size=(3, 6))
    assert relative(matrix(PUMA, q, x), christoffel(PUMA, q, x)) < 1e-7
    assert relative(ps.control.coriolis_product(PUMA, q, x, y), ps.control.coriolis_product(PUMA, q, y, x)) < 1e-12


def test_it_is_linear_in_each_velocity():
    rng = np.random.default_rng(1)
    q, x, y, z = rng.normal(size=(4, 6))
    product = lambda a, b: ps.control.coriolis_product(PUMA, q, a, b)  # noqa: E731
    assert relative(product(x + 2 * y, z), product(x, z) + 2 * product(y, z)) < 1e-12
    assert relative(product(z, x + 2 * y), product(z, x) + 2 * product(z, y)) < 1e-12


def test_desired_and_actual_velocities_apart_cost_two_sweeps_and_order_n():
    statement = ps.control.reference_dynamics.statement
    assert [sweep.direction for sweep in statement.sweeps] == ["outward", "inward"]
    counts = [statement.cost(n).total for n in (10, 20, 40)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
    assert counts[2] < 1.5 * ps.inverse_dynamics.statement.cost(40).total


@pytest.mark.slow
def test_long_trees_of_every_joint_run_link_by_link_too():
    case = mechanism(4, bodies=60, armature=True, rotors=True, frames=1)
    names = {name: case.vectors[name] for name in ("v", "v_ref", "qdd")}
    bound = ps.algebra(case.model)
    statement = bound.expression(ps.control.reference_dynamics.nodes(bound.symbols)["y"])
    found = ps.control.reference_dynamics(case.model, case.q, *names.values())
    assert relative(found, statement.apply(case.q, **names)) < 1e-12


def test_long_chains_run_link_by_link_and_agree_with_the_sweeps():
    model = ps.chain(120)
    rng = np.random.default_rng(2)
    q, v, w, a = 0.3 * rng.normal(size=(4, 120))
    expected = ps.control.reference_dynamics.statement
    bound = ps.algebra(model).expression(expected.node)
    assert relative(ps.control.reference_dynamics(model, q, v, w, a), bound.apply(q, v=v, v_ref=w, qdd=a)) < 1e-10


@pytest.mark.parametrize(
    "law",
    [ps.control.PassivityControl(PUMA, k=20), ps.control.EnergyControl(PUMA, kp=300, kd=20)],
    ids=["passivity", "energy"],
)
def test_the_storage_never_rises_while_a_motion_is_followed(law):
    path = wave(6, seed=3)
    fast, start = ps.compile(law), path(0.0)
    found = run(PUMA, lambda t, q, v: fast(t, q, v, law.reference(*path(t))), start[0] + 0.3, start[1] - 0.5)
    references = np.array([law.reference(*path(t)) for t in found.t])
    storage = law.storage(found.q, found.v, references)
    assert storage[-1] < 0.2 * storage[0]
    assert np.diff(storage).max() <= 1e-12 * storage[0]


def test_the_storage_falls_as_the_proof_says():
    """dW/dt = −s*ks: the integral of the loss is what the storage has lost."""
    law, path = ps.control.PassivityControl(PUMA, k=20), wave(6, seed=4)
    found = run(
        PUMA, lambda t, q, v: law(t, q, v, law.reference(*path(t))), path(0.0)[0] + 0.2, path(0.0)[1], steps=300
    )
    references = np.array([law.reference(*path(t)) for t in found.t])
    gap = found.v - law.reference_motion(found.q, found.v, references)[0]
    storage, loss = law.storage(found.q, found.v, references), np.sum(20 * gap**2, axis=-1)
    lost = integrate.simpson(loss, found.t)
    assert abs(storage[0] - storage[-1] - lost) < 1e-6 * storage[0]


def test_coriolis_terms_with_the_actual_velocity_twice_would_break_the_proof():
    """What plain Newton-Euler offers, ℳθ̈_r + 𝒞(θ̇, θ̇): the same law with it lets the storage rise."""
    law, path = ps.control.PassivityControl(PUMA, k=0.2, slope=4), wave(6, seed=5, amplitude=1.5)

    def plain(t, q, v):
        rate, change = law.reference_motion(q, v, law.reference(*path(t)))
        return ps.inverse_dynamics(PUMA, q, v, change) + law.k * (rate - v)

    found = run(PUMA, plain, path(0.0)[0] + 0.3, path(0.0)[1] + 2.0, steps=400)
    storage = law.storage(found.q, found.v, np.array([law.reference(*path(t)) for t in found.t]))
    assert np.diff(storage).max() > 1e-6 * storage[0]


def test_quaternions_are_refused_with_a_way_out():
    model = mechanism(3, kind="spherical", bodies=2).model
    for law in (ps.control.PassivityControl, ps.control.EnergyControl, ps.control.DecoupledControl):
        with pytest.raises(ps.ModelError, match="InverseDynamicsControl"):
            law(model)
