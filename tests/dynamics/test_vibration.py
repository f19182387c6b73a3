"""Springs and damping in linearizations, and the frequencies that they give."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import phistar as ps
from tests.loops.mechanisms import four_bar, random_inertia
from tests.trees import relative

BETA = np.array([1.8751040687, 4.6940911330, 7.8547574382])  # cos βL cosh βL = −1: clamped and free


def sprung_beam(segments=20, damping=0.0, **model):
    """A clamped beam, L = 1, EI = 10, ρA = 1, as rigid segments on springs, the root's twice as stiff."""
    b, h = ps.ModelBuilder("beam", **({"gravity": (0, 0, 0)} | model)), 1.0 / segments
    rod = ps.Inertia(h, (h / 2, 0, 0), np.diag([1e-9, h**3 / 12, h**3 / 12]))
    for k in range(segments):
        hinge = ps.Revolute(axis=(0, 0, 1), stiffness=(2.0 if k == 0 else 1.0) * 10.0 / h, damping=damping)
        b.body(f"s{k}", f"s{k - 1}" if k else "world", hinge, ps.Pose(xyz=(h if k else 0.0, 0, 0)), rod)
    b.frame("tip", f"s{segments - 1}", ps.Pose(xyz=(h, 0, 0)))
    return b.build()


@pytest.mark.slow
def test_a_beam_of_twenty_sprung_segments_shows_its_frequencies():
    model, zero = sprung_beam(), np.zeros(20)
    found = np.sort(np.abs(np.linalg.eigvals(ps.linearize(model, zero, zero, zero).A).imag))[::2]
    np.testing.assert_allclose(
        found[:3], BETA**2 * np.sqrt(10.0), rtol=7e-3
    )  # the segments are stiffness at points: (βL)²/(nL)² of it is missing
    modes = ps.modes(model, zero)
    np.testing.assert_allclose(modes.frequencies, found, rtol=1e-7)
    np.testing.assert_allclose(modes.shapes.T @ ps.mass_matrix(model, zero) @ modes.shapes, np.eye(20), atol=1e-9)
    assert not np.any(ps.linearize(model, zero, zero, zero, passive=False).A[20:])


def mixed():
    """Springs and damping on every kind of joint, quaternions too."""
    rng, b = np.random.default_rng(0), ps.ModelBuilder("mixed", gravity=(0.3, -2.0, -9.0))
    kinds = [ps.Free, ps.Spherical, lambda **x: ps.Revolute(axis=(0, 1, 0), rest=0.3, **x), ps.Planar, ps.Universal]
    for k, kind in enumerate(kinds):
        nv = kind().nv
        joint = kind(stiffness=rng.uniform(1, 5, nv), damping=rng.uniform(0, 1, nv))
        parent = f"b{(k - 1) // 2}" if k else "world"
        b.body(f"b{k}", parent, joint, ps.Pose(xyz=0.3 * rng.standard_normal(3)), random_inertia(rng))
    return b.build()


@pytest.mark.parametrize("size", [1.0, 1e-3], ids=["far from rest", "near rest"])
def test_a_linearization_differentiates_springs_and_damping_of_all_joints(size):
    model, rng, h = mixed(), np.random.default_rng(3), 1e-6
    q = model.integrate(model.neutral(), size * rng.standard_normal(model.nv))
    v, tau, nv = rng.standard_normal(model.nv), rng.standard_normal(model.nv), model.nv

    def moved(q, v):
        return ps.forward_dynamics(model, q, v, tau + ps.joint_friction(model, q, v))

    units, a = np.eye(nv), ps.linearize(model, q, v, tau).A
    by_q = [(moved(model.integrate(q, h * e), v) - moved(model.integrate(q, -h * e), v)) / (2 * h) for e in units]
    by_v = [(moved(q, v + h * e) - moved(q, v - h * e)) / (2 * h) for e in units]
    assert relative(a[nv:, :nv], np.stack(by_q, -1)) < 1e-7
    assert relative(a[nv:, nv:], np.stack(by_v, -1)) < 1e-7
    batch = ps.linearize(model, np.stack([q, q]), v, tau).A
    assert relative(batch[1], a) < 1e-12


def test_without_passive_forces_it_is_forward_dynamics_alone():
    model, rng = mixed(), np.random.default_rng(3)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    kinds = {joint.name: replace(joint.kind, stiffness=0.0, damping=0.0) for joint in model.joints}
    bare = model.replace(joints=kinds)
    plain, without = ps.linearize(bare, q, v, tau), ps.linearize(model, q, v, tau, passive=False)
    assert relative(without.A, plain.A) < 1e-12 and relative(without.B, plain.B) < 1e-12


def test_the_linearization_with_springs_can_be_compiled():
    model, rng = sprung_beam(3, damping=0.2), np.random.default_rng(1)
    q, v, tau = rng.standard_normal((3, 5, 3))
    made, want = ps.compile(ps.linearize, model)(q, v, tau), ps.linearize(model, q, v, tau)
    assert relative(made.A, want.A) < 1e-10 and relative(made.B, want.B) < 1e-10


def test_the_transition_of_a_sprung_chain_is_mujocos():
    """mjd_transitionFD is that of its integrator's step: semi-implicit Euler, v⁺ = v + h θ̈ and q⁺ = q + h v⁺."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    options = "<option gravity='0 0 0' integrator='Euler' timestep='1e-3'><flag eulerdamp='disable'/></option>"
    xml = "<mujoco>" + options + "<worldbody>{}</worldbody></mujoco>"
    inner = ""
    for k in range(3, -1, -1):
        joint = f"<joint name='j{k}' axis='0 0 1' stiffness='{4 + k}' damping='0.3' springref='0'/>"
        body = f"<inertial pos='0.1 0.02 0' mass='{1 + k}' diaginertia='0.02 0.03 0.04'/>"
        inner = f"<body name='b{k}' pos='{0.2 if k else 0} 0 0'>{joint}{body}{inner}</body>"
    world = mujoco.MjModel.from_xml_string(xml.format(inner))
    data, nv = mujoco.MjData(world), world.nv
    mujoco.mj_forward(world, data)
    transition = np.zeros((2 * nv, 2 * nv))
    mujoco.mjd_transitionFD(world, data, 1e-6, True, transition, None, None, None)
    b = ps.ModelBuilder("chain", gravity=(0, 0, 0))
    for k in range(4):
        hinge = ps.Revolute(axis=(0, 0, 1), stiffness=4.0 + k, damping=0.3)
        inertia = ps.Inertia(1.0 + k, (0.1, 0.02, 0), np.diag([0.02, 0.03, 0.04]))
        b.body(f"b{k}", f"b{k - 1}" if k else "world", hinge, ps.Pose(xyz=(0.2 if k else 0, 0, 0)), inertia)
    zero, unit, h = np.zeros(nv), np.eye(2 * nv), 1e-3
    A = ps.linearize(b.build(), zero, zero, zero).A
    rates = unit + h * A
    rates[:nv] = unit[:nv] + h * rates[nv:]
    assert relative(rates, transition) < 1e-8
    assert relative(expm(h * A), transition) < 10 * h  # the motion itself, which the step follows to first order


def test_a_pendulum_swings_or_falls():
    b = ps.ModelBuilder("pendulum")
    b.body("bob", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0, 0, -2.0), 1e-12 * np.eye(3)))
    model = b.build()
    hanging, standing = ps.modes(model, [0.0]), ps.modes(model, [np.pi])
    np.testing.assert_allclose(hanging.squares, [9.81 / 2], rtol=1e-9)
    np.testing.assert_allclose(standing.squares, [-9.81 / 2], rtol=1e-9)
    assert np.isnan(standing.frequencies).all()
    assert ps.modes(model, [[0.0], [np.pi]]).shapes.shape == (2, 1, 1)


def test_a_free_body_on_nothing_has_six_modes_of_no_frequency():
    b = ps.ModelBuilder("free", gravity=(0, 0, 0))
    rng = np.random.default_rng(2)
    b.body("base", joint=ps.Free(), inertia=random_inertia(rng))
    b.body("arm", "base", ps.Revolute(axis=(0, 0, 1), stiffness=3.0), inertia=random_inertia(rng))
    model = b.build()
    found = ps.modes(model, model.neutral())
    assert np.array_equal(found.frequencies[:6], np.zeros(6)) and found.frequencies[6] > 1.0


def test_a_parallelogram_swings_with_its_one_frequency():
    model, q = four_bar(), np.array([-np.pi / 2, np.pi / 2, -np.pi / 2])
    found = ps.modes(model, q)
    assert found.shapes.shape == (3, 1)
    want = (0.5 + 1.0 + 0.5) * 9.81 / (1 / 3 + 1.0 + 1 / 3)
    np.testing.assert_allclose(found.squares, [want], rtol=1e-9)
    np.testing.assert_allclose(found.shapes[:, 0] / found.shapes[0, 0], [1, -1, 1], atol=1e-9)


def test_a_state_that_is_no_equilibrium_is_refused_with_its_acceleration():
    model = sprung_beam(3, gravity=(0, -9.81, 0))
    with pytest.raises(ps.InfeasibleError, match="does not stay at rest"):
        ps.modes(model, np.zeros(3))
    held = ps.modes(model, np.zeros(3), tau=ps.gravity_load(model, np.zeros(3)))
    np.testing.assert_allclose(held.frequencies, ps.modes(sprung_beam(3), np.zeros(3)).frequencies, rtol=1e-2)
