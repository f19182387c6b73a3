"""Geared joints with full rotor dynamics (RJK91 §6) are rotors modelled as bodies and coupled to their joints."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.kernel import Statements
from phistar.backends.rolled_kernel import compile_rolled
from phistar.expression import setting_of, symbols_of

GEARS, ROTORS = (30.0, -20.0, 50.0), (0.002, 0.003, 0.001)
AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))


def links(rng):
    """Inertia and placement of each link."""
    for _ in AXES:
        noise = rng.normal(size=(3, 3))
        tensor = 0.2 * np.eye(3) + 0.01 * (noise + noise.T)
        inertia = ps.Inertia(rng.uniform(1, 2), 0.1 * rng.normal(size=3), tensor)
        yield inertia, ps.Pose(xyz=0.3 * rng.normal(size=3), rpy=rng.normal(size=3))


@pytest.fixture
def geared_and_bodies():
    """The same arm twice: gears with rotors, and rotors as bodies of their own (six coordinates)."""
    given = list(links(np.random.default_rng(3)))
    geared, bodies, parent = ps.ModelBuilder("geared"), ps.ModelBuilder("bodies"), "world"
    for k, (inertia, placement) in enumerate(given):
        carried = inertia
        if k + 1 < len(given):  # a gear's link carries the next joint's motor, standing still
            axis = given[k + 1][1].rotation @ np.array(AXES[k + 1])
            still = inertia.tensor + ROTORS[k + 1] * np.outer(axis, axis)
            carried = ps.Inertia(inertia.mass, inertia.com, still)
        gear = ps.Revolute(axis=AXES[k], gear_ratio=GEARS[k], rotor_inertia=ROTORS[k], gyroscopic=True)
        geared.body(f"link{k}", parent=parent, joint=gear, placement=placement, inertia=carried)
        rotor = ps.Inertia.unchecked(0.0, (0, 0, 0), ROTORS[k] * np.outer(AXES[k], AXES[k]))
        plain = ps.Revolute(axis=AXES[k])
        bodies.body(f"rotor{k}", parent=parent, joint=plain, placement=placement, inertia=rotor)
        bodies.body(f"link{k}", parent=parent, joint=plain, placement=placement, inertia=inertia)
        parent = f"link{k}"
    coupling = np.zeros((6, 3))
    coupling[range(0, 6, 2), range(3)] = GEARS
    coupling[range(1, 6, 2), range(3)] = 1.0
    return geared.build(), bodies.build(strict=False), coupling


def test_inverse_dynamics_and_mass_matrix_are_those_of_coupled_rotor_bodies(geared_and_bodies):
    geared, bodies, coupling = geared_and_bodies
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    want = coupling.T @ ps.inverse_dynamics(bodies, coupling @ q, coupling @ v, coupling @ a)
    np.testing.assert_allclose(ps.inverse_dynamics(geared, q, v, a), want, rtol=0, atol=1e-12)
    mass = coupling.T @ ps.mass_matrix(bodies, coupling @ q) @ coupling
    np.testing.assert_allclose(ps.mass_matrix(geared, q), mass, rtol=0, atol=1e-12)


def test_forward_dynamics_undoes_inverse_dynamics_written_out_and_rolled(geared_and_bodies):
    model = geared_and_bodies[0]
    q, v, a = np.random.default_rng(1).normal(size=(3, 5, 3))
    tau = ps.inverse_dynamics(model, q, v, a)
    np.testing.assert_allclose(ps.forward_dynamics(model, q, v, tau), a, rtol=0, atol=1e-12)
    s = symbols_of(model, ())
    statement = s.mass.inv @ (s.T - s.C - s.g)
    rolled = compile_rolled(Statements((("y", statement),), s, setting_of(model, ()), False, model, {}))
    assert rolled is not None
    np.testing.assert_allclose(rolled.function(q, v, tau), a, rtol=0, atol=1e-12)


def test_the_inverse_of_the_mass_matrix_is_still_linear_in_the_links(geared_and_bodies):
    statement = ps.algebra(geared_and_bodies[0]).mass.inv
    assert statement.simplify().show() == "(I − HψK)*D⁻¹(I − HψK)"
    assert statement.cost_polynomial().degree == 1


def test_kinetic_energy_counts_the_rotors(geared_and_bodies):
    model = geared_and_bodies[0]
    q, v = np.random.default_rng(2).normal(size=(2, 3))
    assert ps.kinetic_energy(model, q, v) == pytest.approx(0.5 * v @ ps.mass_matrix(model, q) @ v, rel=1e-13)


def test_without_the_option_a_gear_only_adds_armature(geared_and_bodies):
    model = geared_and_bodies[0]
    kinds = {}
    for joint, gear, rotor in zip(model.joints, GEARS, ROTORS):
        kinds[joint.name] = ps.Revolute(axis=joint.axis, gear_ratio=gear, rotor_inertia=rotor)
    plain = model.replace(joints=kinds)
    q = np.random.default_rng(4).normal(size=3)
    difference = ps.mass_matrix(model, q) - ps.mass_matrix(plain, q)
    np.testing.assert_allclose(np.diag(difference), 0.0, rtol=0, atol=1e-13)
    assert np.max(np.abs(difference)) > 1e-3
