"""Control of a held object: motion and internal forces come out as asked, and the energy of the error never rises."""

from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.control.grasp_laws import AttitudeControl, ObjectControl
from phistar.loops.grasp.grasp_forces import internal_forces, wrenches_at_object
from phistar.loops.grasp.holding import Grasp, grasp_dynamics
from phistar.loops.primary.primary_closures import closed_state
from phistar.spatial import exp

RIGID = (ps.Fixed(), ps.Fixed())


def _link(mass, length):
    return ps.Inertia(mass, (0, 0, length / 2), np.diag([mass * length**2 / 12 + 1e-3] * 2 + [2e-3]))


@cache
def carriers(kinds=RIGID, lid=False):
    """Two six-joint arms that face each other hold a box by two sides; the model, its closed configuration."""
    b = ps.ModelBuilder("carriers")
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    lengths = [0.0, 0.3, 0.5, 0.4, 0.1, 0.1]
    angles = np.array([0.3, 0.5, 1.0, 0.2, 0.9, -0.3])
    for side, turn in (("left", 0.0), ("right", np.pi)):
        parent = "world"
        for j, (axis, length) in enumerate(zip(axes, lengths)):
            shift = (-0.9 if side == "left" else 0.9, 0, 0) if j == 0 else (0, 0, length)
            place = ps.Pose(xyz=shift, rpy=(0, 0, turn if j == 0 else 0))
            b.body(f"{side}{j}", parent, ps.Revolute(axis, armature=0.05), place, _link(2.0 - 0.25 * j, 0.3))
            parent = f"{side}{j}"
        b.frame(f"{side}_hand", parent, ps.Pose(xyz=(0, 0, 0.1)))
    arms = b.build()
    q = np.concatenate([angles, angles])
    b.body("box", joint=ps.Free(), inertia=ps.Inertia(3.0, (0.02, 0.01, 0.0), np.diag([0.05, 0.08, 0.06])))
    hands = [ps.forward_kinematics(arms, q, f"{side}_hand") for side in ("left", "right")]
    middle = 0.5 * (hands[0][:3, 3] + hands[1][:3, 3])
    for side, hand, kind in zip(("left", "right"), hands, kinds):
        seat = ps.Pose(xyz=hand[:3, 3] - middle, rotation=hand[:3, :3])
        b.frame(f"{side}_seat", "box", seat)
        b.loop(f"{side}_grip", f"{side}_seat", f"{side}_hand", kind)
    if lid:
        b.body(
            "lid",
            "box",
            ps.Revolute((0, 1, 0)),
            ps.Pose(xyz=(0.1, 0, 0.1)),
            ps.Inertia(0.5, (-0.1, 0, 0), np.eye(3) * 0.01),
        )
        return b.build(), np.concatenate([q, middle, [0, 0, 0, 1.0], [0.4]])
    return b.build(), np.concatenate([q, middle, [0, 0, 0, 1.0]])


def rates(model, q, rng, scale=0.3):
    a = closed_state(model, q).jacobian
    free = np.linalg.svd(a)[2][np.linalg.matrix_rank(a) :]
    return scale * rng.normal(size=len(free)) @ free


def pose_of(model, q):
    return ps.forward_kinematics(model, q, "box")


def test_the_object_gets_the_acceleration_asked_for_and_the_contacts_the_forces():
    model, q = carriers()
    grasp, rng = Grasp(model, "box"), np.random.default_rng(0)
    law = ObjectControl(grasp, kp=0.0, kd=0.0)
    v = rates(model, q, rng)
    wanted, squeeze = rng.normal(size=6), 10.0 * rng.normal(size=12)
    tau = law(0.0, q, v, law.reference(pose_of(model, q), acceleration=wanted, internal=squeeze))
    np.testing.assert_array_equal(tau[12:], 0.0)  # nothing drives the box itself
    found = grasp_dynamics(grasp, q, v, tau)
    np.testing.assert_allclose(found.object, wanted, atol=1e-9)
    plain = law(0.0, q, v, law.reference(pose_of(model, q), acceleration=wanted))
    without = grasp_dynamics(grasp, q, v, plain)
    np.testing.assert_allclose(without.object, wanted, atol=1e-9)
    added = found.forces - without.forces
    assert np.abs(added).max() > 1.0
    np.testing.assert_allclose(wrenches_at_object(grasp, q, added).sum(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(internal_forces(grasp, q, added), added, atol=1e-9)


@pytest.mark.slow
def test_nothing_drives_the_lid_of_a_held_box_and_the_box_still_moves_as_asked():
    model, q = carriers(lid=True)
    grasp, rng = Grasp(model, "box"), np.random.default_rng(4)
    law, wanted = ObjectControl(grasp, kp=0.0, kd=0.0), rng.normal(size=6)
    v = rates(model, q, rng)
    tau = law(0.0, q, v, law.reference(pose_of(model, q), acceleration=wanted))
    np.testing.assert_array_equal(tau[12:], 0.0)
    np.testing.assert_allclose(grasp_dynamics(grasp, q, v, tau).object, wanted, atol=1e-9)


def test_weights_shift_the_load_from_arm_to_arm():
    model, q = carriers()
    grasp, still = Grasp(model, "box"), np.zeros(model.nv)
    lifted = {}
    for weights in ((1.0, 1.0), (1.0, 1e6)):
        law = ObjectControl(grasp, weights=weights)
        tau = law(0.0, q, still, law.reference(pose_of(model, q)))
        lifted[weights] = grasp_dynamics(grasp, q, still, tau).forces[..., 5]
    weight = 3.0 * 9.81
    np.testing.assert_allclose(sum(lifted[1.0, 1.0]), weight, rtol=1e-9)
    np.testing.assert_allclose(lifted[1.0, 1e6], [weight, 0.0], atol=1e-3)
    assert np.all(lifted[1.0, 1.0] > 0.3 * weight)


def test_internal_forces_are_what_is_left_when_the_wrench_is_taken_out():
    model, q = carriers()
    grasp, rng = Grasp(model, "box"), np.random.default_rng(1)
    forces = rng.normal(size=(5, 2, 6))
    squeezing = internal_forces(grasp, q, forces)
    np.testing.assert_allclose(wrenches_at_object(grasp, q, squeezing).sum(axis=-2), 0.0, atol=1e-12)
    np.testing.assert_allclose(internal_forces(grasp, q, squeezing), squeezing, atol=1e-12)
    many = internal_forces(grasp, np.tile(q, (3, 1, 1)), forces)
    np.testing.assert_allclose(many, np.broadcast_to(squeezing, (3, 5, 2, 6)), atol=1e-12)
    with pytest.raises(ps.ShapeError, match="do not broadcast"):
        internal_forces(grasp, np.tile(q, (3, 1)), forces)


def test_loose_hands_carry_too():
    """A rigid and a point contact: nine rows, and the same exactness."""
    model, q = carriers((ps.Fixed(), ps.Spherical()))
    grasp, rng = Grasp(model, "box"), np.random.default_rng(2)
    law = ObjectControl(grasp)
    v = rates(model, q, rng)
    wanted = rng.normal(size=6)
    motion = ps.jacobian(model, q, "box") @ v
    reference = law.reference(pose_of(model, q), twist=motion, acceleration=wanted)
    found = grasp_dynamics(grasp, q, v, law(0.0, q, v, reference))
    np.testing.assert_allclose(found.object, wanted, atol=1e-9)


@cache
def turned_run():
    """The attitude law from half a radian away, simulated."""
    model, q = carriers()
    law = AttitudeControl(Grasp(model, "box"))
    target = pose_of(model, q).copy()
    target[:3, :3] = exp([0.2, -0.3, 0.4])
    target[:3, 3] += [0.03, 0.05, -0.06]
    reference = law.reference(target, internal=np.arange(12.0))
    control = ps.compile(law, model)
    v = rates(model, q, np.random.default_rng(3))
    run = ps.simulate(model, q, v, 3.0, control=lambda t, q, v: control(t, q, v, reference), rtol=1e-8, atol=1e-10)
    return law, reference, target, run


@pytest.mark.slow
def test_the_energy_of_the_attitude_law_never_rises_and_the_object_turns_to_its_place():
    law, reference, target, run = turned_run()
    energy = law.energy(run.q, run.v, reference)
    assert np.diff(energy).max() <= 1e-9 * energy[0]
    assert energy[-1] < 0.02 * energy[0]
    reached = pose_of(law.model, run.q[-1])
    start = pose_of(law.model, run.q[0])
    assert np.abs(reached - target).max() < 0.1 * np.abs(start - target).max()
    assert np.abs(run.loop_residual).max() < 1e-10


def test_the_energy_falls_at_the_rate_that_the_proof_says_whatever_the_state():
    model, q = carriers()
    law, rng = AttitudeControl(Grasp(model, "box")), np.random.default_rng(4)
    target = np.eye(4)
    target[:3, :3] = exp(rng.normal(size=3))
    reference = law.reference(target, internal=rng.normal(size=12))
    v = rates(model, q, rng)
    tau = law(0.0, q, v, reference)
    a = grasp_dynamics(law.grasp, q, v, tau).acceleration
    h = 1e-6
    after, before = (law.energy(model.integrate(q, s * h * v), v + s * h * a, reference) for s in (1, -1))
    motion = ps.jacobian(model, q, "box") @ v
    arms = np.ones(model.nv)
    arms[model.joint("box").v_slice] = 0.0
    lost = law.turning_damping[0] * motion[:3] @ motion[:3] + law.shifting_damping[0] * motion[3:] @ motion[3:]
    lost += np.sum(law.damping * arms * v * v)
    np.testing.assert_allclose((after - before) / (2 * h), -lost, rtol=1e-6)


def test_compiled_laws_are_the_laws():
    model, q = carriers()
    rng = np.random.default_rng(5)
    law = ObjectControl(Grasp(model, "box"))
    reference = law.reference(pose_of(model, q), internal=rng.normal(size=12))
    v = rates(model, q, rng)
    fast = ps.compile(law, model)
    np.testing.assert_allclose(fast(0.0, q, v, reference), law(0.0, q, v, reference), atol=1e-8)


def test_bad_references_and_weights_are_refused_with_sentences():
    model, q = carriers()
    grasp = Grasp(model, "box")
    with pytest.raises(ps.ShapeError, match=r"\(…, 4, 4\)"):
        ObjectControl(grasp).reference(np.eye(3))
    for weights in ([1.0], [1.0, -1.0], [1.0, np.nan], "heavy"):
        with pytest.raises(ps.ShapeError, match="2 positive numbers"):
            ObjectControl(grasp, weights=weights)
    law = ObjectControl(grasp)
    with pytest.raises(ps.ShapeError, match=r"needs \(…, 36\)"):
        law(0.0, q, np.zeros(model.nv), np.zeros(35))
    with pytest.raises(ps.ShapeError, match="v has shape"):
        law(0.0, q, np.zeros(3), np.zeros(36))
    with pytest.raises(ps.ShapeError, match="internal"):
        law.reference(pose_of(model, q), internal=np.zeros(3))
    with pytest.raises(ps.ShapeError, match="ObjectControl's kp"):
        ObjectControl(grasp, kp=-1.0)
    with pytest.raises(ps.ShapeError, match=r"\(…, 2, 6\)"):
        internal_forces(grasp, q, np.zeros((3, 6)))
    b = ps.ModelBuilder("lidded")
    b.body("pot", joint=ps.Free(), inertia=_link(1.0, 0.2))
    b.body("lid", "pot", ps.Revolute(), inertia=_link(1.0, 0.2))
    b.loop("hook", "world", "pot", ps.Spherical())
    with pytest.raises(ps.ModelError, match="carries lid"):
        AttitudeControl(Grasp(b.build(), "pot"))


def test_an_arm_with_too_few_joints_for_its_contact_is_refused():
    b = ps.ModelBuilder("pegs")
    b.body("pot", joint=ps.Free(), inertia=_link(1.0, 0.2))
    b.body("finger", joint=ps.Revolute(), inertia=_link(1.0, 0.2))
    b.loop("grip", "pot", "finger", ps.Fixed())
    with pytest.raises(ps.ModelError, match=r"'grip'.* 6 rows, and 1 degrees of freedom"):
        ObjectControl(Grasp(b.build(), "pot"))


def test_a_law_of_a_held_object_is_a_controller_and_follows_a_path():
    model, q = carriers()
    law, v = ObjectControl(Grasp(model, "box")), np.zeros(model.nv)
    pose = pose_of(model, q)
    following = law.following(lambda t: (pose, np.zeros(6), np.zeros(6)))
    assert isinstance(law, ps.control.Controller) and np.all(law.kd == 20.0)
    np.testing.assert_allclose(following(0.0, q, v), law(0.0, q, v, law.reference(pose)), atol=1e-12)


def test_the_object_is_accelerated_towards_its_pose_and_velocity():
    """α = k_p [2 sin(θ/2) n; x_d − x] + k_d(β_r − β), the target turned by θ n and shifted in world axes."""
    model, q = carriers()
    rng = np.random.default_rng(6)
    law, v = ObjectControl(Grasp(model, "box"), kp=[50.0] * 3 + [80.0] * 3, kd=7.0), rates(model, q, rng)
    turn, shift, twist = np.array([0.3, -0.2, 0.4]), np.array([0.1, 0.2, -0.3]), rng.normal(size=6)
    target = pose_of(model, q).copy()
    target[:3, :3] = exp(turn) @ target[:3, :3]
    target[:3, 3] += shift
    found = grasp_dynamics(law.grasp, q, v, law(0.0, q, v, law.reference(target, twist=twist)))
    angle = np.linalg.norm(turn)
    error = np.concatenate([50.0 * 2.0 * np.sin(angle / 2) * turn / angle, 80.0 * shift])
    expected = error + 7.0 * (twist - ps.jacobian(model, q, "box") @ v)
    np.testing.assert_allclose(found.object, expected, atol=1e-8)
