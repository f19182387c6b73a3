"""Several arms that hold one object (RJK91 §6): the recursion over arms against dense and against general solutions."""

from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.loops.grasp.contacts import RollingSphere, SlidingLine, SlidingPoint, SoftFinger
from phistar.loops.grasp.holding import (
    Estimate,
    Grasp,
    Hold,
    effective_inertia,
    grasp_dynamics,
    shift_motion,
    take_hold,
)
from phistar.loops.primary.primary_closures import closed_state
from phistar.recording import record
from phistar.spatial import from_rpy, to_quaternion

LOOSE = {
    "rigid": ps.Fixed(),
    "point with friction": ps.Spherical(),
    "soft finger": SoftFinger((0.2, 1, 0.5)),
    "line with friction": ps.Revolute((1, 2, 0)),
    "sliding line": SlidingLine((0, 0.3, 1), (1, 0, 0)),
    "sliding point": SlidingPoint((0.3, 0.1, 1)),
    "sliding face": ps.Planar((1, 1, 1)),
    "rolling": RollingSphere(0.1, (0, 1, 1)),
}


def _inertia(rng):
    turn = ps.Pose(rpy=rng.uniform(-3, 3, 3)).rotation
    tensor = turn @ np.diag(rng.uniform(1, 1.9, 3) * 0.05) @ turn.T
    return ps.Inertia(rng.uniform(0.5, 2), rng.normal(size=3) * 0.1, 0.5 * (tensor + tensor.T))


@cache
def held(kinds, joints=4, seed=0, articulated=False, planar=False):
    """Arms of random links, tips where they are; the object has its contact frames there. A model and a state."""
    rng = np.random.default_rng(seed)
    joints = 6 if set(kinds) == {"rigid"} and joints == 4 else joints  # fewer would lock the object
    b = ps.ModelBuilder("held", gravity=(0.5, -1.0, -9.0))
    q = []
    for k in range(len(kinds)):
        parent, base = "world", ps.Pose() if planar else ps.Pose(xyz=rng.normal(size=3), rpy=rng.uniform(-3, 3, 3))
        for j in range(joints):
            joint = ps.Revolute((0, 0, 1) if planar else rng.normal(size=3), armature=0.05)
            next_at = ps.Pose(xyz=(0.4, 0, 0)) if planar else ps.Pose(xyz=rng.normal(size=3) * 0.4)
            b.body(f"arm{k}link{j}", parent, joint, base if j == 0 else next_at, _inertia(rng))
            parent = f"arm{k}link{j}"
        b.frame(f"tip{k}", parent, ps.Pose(xyz=rng.normal(size=3) * (0 if planar else 0.3), rpy=rng.uniform(-3, 3, 3)))
        q.append(rng.uniform(-2, 2, joints))
    own = b.build()
    pose = ps.Pose(xyz=rng.normal(size=3), rpy=rng.uniform(-3, 3, 3))
    b.body("object", joint=ps.Free(), inertia=_inertia(rng))
    if articulated:
        b.body("lid", "object", ps.Revolute((1, 0, 1)), ps.Pose(xyz=(0.2, 0.1, 0)), _inertia(rng))
        b.body("knob", "lid", ps.Prismatic((0, 1, 0)), ps.Pose(xyz=(0.2, 0.1, 0)), _inertia(rng))
    for k, kind in enumerate(kinds):
        tip = ps.forward_kinematics(own, np.concatenate(q), f"tip{k}")
        seat = pose.inverse @ ps.Pose(xyz=tip[:3, 3], rotation=tip[:3, :3])
        up = LOOSE[kind].radius * LOOSE[kind].normal if kind == "rolling" else np.zeros(3)
        b.frame(f"seat{k}", "object", seat @ ps.Pose(xyz=-up))
        b.loop(f"contact{k}", f"seat{k}", f"tip{k}", LOOSE[kind])
    model = b.build()
    state = [*q, pose.translation, to_quaternion(pose.rotation), rng.normal(size=2 if articulated else 0)]
    return model, np.concatenate(state)


def closed_rates(model, q, rng, shape=(3,)):
    """Rates that keep every contact, from the null space of A."""
    a = closed_state(model, q).jacobian
    _, sizes, right = np.linalg.svd(a)
    free = right[np.count_nonzero(sizes > 1e-9 * sizes[0]) :]
    return rng.normal(size=(*shape, len(free))) @ free


def dense_solution(model, q, v, tau):
    """[ℳ A*; A 0] solved whole: θ̈ and λ, one state."""
    state = closed_state(model, q, v)
    a, mass = state.jacobian, ps.mass_matrix(model, q)
    whole = np.block([[mass, -a.T], [a, np.zeros((len(a), len(a)))]])
    found = np.linalg.solve(whole, np.concatenate([tau - ps.bias(model, q, v), -state.drift]))
    return found[: model.nv], found[model.nv :], a


GRASPS = {
    "two arms": ("rigid", "rigid"),
    "three arms": ("rigid",) * 3,
    "loose": ("rigid", "point with friction", "soft finger"),
    "sliding": ("line with friction", "sliding line", "sliding point", "sliding face"),
    "rolling": ("point with friction", "rolling", "rolling"),
}


SOME = ["two arms", "loose, articulated"]
REST = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("three arms", "loose", "sliding, articulated", "rolling")
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SOME + REST)
def test_the_recursion_over_arms_gives_the_dense_accelerations_and_forces(name):
    kinds, articulated = GRASPS[name.split(",")[0]], "articulated" in name
    model, q = held(kinds, articulated=articulated)
    rng = np.random.default_rng(1)
    v, tau = closed_rates(model, q, rng), rng.normal(size=(3, model.nv))
    grasp = Grasp(model, "object")
    found = grasp_dynamics(grasp, q, v, tau)
    assert np.all(found.rank == grasp.rows)
    for k in range(3):
        acceleration, rows, _ = dense_solution(model, q, v[k], tau[k])
        np.testing.assert_allclose(found.acceleration[k], acceleration, atol=1e-9 * np.abs(acceleration).max())
        pushed = np.zeros(model.nv)
        for i, contact in enumerate(grasp.contacts):
            seat, _ = grasp.ends(contact)
            pushed += ps.jacobian(model, q, seat).T @ found.forces[k, i]
        state = closed_state(model, q)
        total = state.jacobian.T @ rows
        own = model.joint("object").v_slice
        np.testing.assert_allclose(pushed[own], total[own], atol=1e-9 * np.abs(total).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two arms", *(pytest.param(x, marks=pytest.mark.slow) for x in ("rolling", "loose"))])
def test_the_linear_form_is_the_general_one_of_forward_dynamics(name):
    model, q = held(GRASPS[name])
    rng = np.random.default_rng(2)
    v, tau = closed_rates(model, q, rng), rng.normal(size=(3, model.nv))
    ours = grasp_dynamics(Grasp(model, "object"), q, v, tau)
    theirs = ps.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(ours.acceleration, theirs, atol=1e-9 * np.abs(theirs).max())
    forces = ps.constraint_forces(model, q, v, tau)
    for i, contact in enumerate(ours.forces.swapaxes(0, 1)):
        np.testing.assert_allclose(contact, forces[f"contact{i}"], atol=1e-9 * np.abs(contact).max())


@pytest.mark.parametrize("name", ["two arms", pytest.param("three arms", marks=pytest.mark.slow)])
def test_the_effective_inertia_is_the_objects_and_the_arms_together(name):
    """M + Σ X*ΛX: inverse variances add (RJK91 §6)."""
    model, q = held(GRASPS[name])
    grasp = Grasp(model, "object")
    still = np.zeros(model.nv)
    whole = ps.operational_space(model.tree, q, still, "object").inertia
    for contact, reach in zip(grasp.contacts, grasp.offsets(q)):
        arm = ps.operational_space(model.tree, q, still, grasp.ends(contact)[1]).inertia
        whole = whole + shift_motion(reach).T @ arm @ shift_motion(reach)
    np.testing.assert_allclose(effective_inertia(grasp, q), whole, rtol=1e-9, atol=1e-9 * np.abs(whole).max())
    compliance = grasp_dynamics(grasp, q, still, still).compliance
    np.testing.assert_allclose(compliance @ whole, np.eye(6), atol=1e-8)


@pytest.mark.slow
def test_an_arm_that_takes_hold_updates_what_was_known_and_the_order_does_not_matter():
    model, q = held(GRASPS["two arms"])
    grasp, still = Grasp(model, "object"), np.zeros(model.nv)
    both = [
        effective_inertia(Grasp(model, "object", order), q)
        for order in (["contact0", "contact1"], ["contact1", "contact0"])
    ]
    np.testing.assert_allclose(both[0], both[1], atol=1e-9 * np.abs(both[0]).max())
    first = effective_inertia(Grasp(model, "object", ["contact0"]), q)
    assert np.linalg.eigvalsh(both[0] - first).min() > 0.0  # whoever takes hold adds inertia in every direction
    _, motion = grasp.object_estimate(q, still, still)
    before = Estimate(np.zeros(6), np.linalg.inv(first))
    after, _ = take_hold(before, grasp.hold("contact1", q, still, still, motion))
    np.testing.assert_allclose(np.linalg.inv(after.compliance), both[0], atol=1e-8 * np.abs(both[0]).max())


def test_arms_at_a_singularity_still_hold():
    """A straight arm has no Λ: M + ΣΛ cannot be formed, the two estimates can be combined all the same."""
    b = ps.ModelBuilder("straight", gravity=(0, 0, -9.81))
    parent, rng = "world", np.random.default_rng(3)
    for j, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)]):
        b.body(f"link{j}", parent, ps.Revolute(axis), ps.Pose(xyz=(0.3 * (j > 0), 0, 0)), _inertia(rng))
        parent = f"link{j}"
    b.frame("tip", parent, ps.Pose(xyz=(0.1, 0, 0)))
    b.body("object", joint=ps.Free(), inertia=_inertia(rng))
    b.loop("weld", "object", "tip", ps.Fixed())
    model = b.build()
    q = np.concatenate([np.zeros(6), [1.6, 0, 0], [0, 0, 0, 1.0]])
    assert np.linalg.matrix_rank(ps.jacobian(model, q, "tip")[:, :6]) < 6
    v, tau = closed_rates(model, q, rng, (1,))[0], rng.normal(size=model.nv)
    found = grasp_dynamics(Grasp(model, "object"), q, v, tau)
    acceleration, _, _ = dense_solution(model, q, v, tau)
    np.testing.assert_allclose(found.acceleration, acceleration, atol=1e-9 * np.abs(acceleration).max())
    assert found.rank == 6


def test_random_base_placements_are_well_posed():
    """A base placement turns and shifts Λ⁻¹: 2000 grasps of three PUMAs each, none of them rank deficient."""
    rng, arm, count = np.random.default_rng(4), ps.load("puma560"), 2000
    q = arm.random(rng, (3, count))
    compliance = ps.task_mobility(arm, q, np.zeros(6), "tool").mobility
    turn = np.zeros((3, count, 6, 6))
    turn[..., :3, :3] = turn[..., 3:, 3:] = from_rpy(rng.uniform(-3, 3, (3, count, 3)))
    estimate = Estimate(np.zeros(6), np.broadcast_to(np.diag([50.0] * 3 + [1.0] * 3), (count, 6, 6)))
    conditions = []
    for k in range(3):
        reach = shift_motion(rng.normal(size=(count, 3)) * 0.3)
        spread = turn[k] @ compliance[k] @ np.swapaxes(turn[k], -1, -2)
        estimate, taken = take_hold(estimate, Hold(reach, np.zeros(6), spread, np.eye(6), reach))
        assert np.all(taken.rank == 6)
        conditions.append(taken.condition)
    assert 1.0 < np.median(conditions) < 1e6


@pytest.mark.slow
def test_aligned_base_placements_are_not_well_posed_and_the_rank_says_so():
    """Two arms of three joints hold an object rigidly: 12 rows. In general they lock; in one plane, three rows of
    each close nothing new."""
    generic, q = held(("rigid", "rigid"), joints=3)
    assert grasp_dynamics(Grasp(generic, "object"), q, np.zeros(12), np.zeros(12)).rank == 12
    aligned, q = held(("rigid", "rigid"), joints=3, planar=True)
    found = grasp_dynamics(Grasp(aligned, "object"), q, np.zeros(12), np.zeros(12))
    assert found.rank == ps.loops.loop_report(aligned, q).rank == 9
    v, tau = closed_rates(aligned, q, np.random.default_rng(8), (1,))[0], np.arange(12.0)
    ours, theirs = grasp_dynamics(Grasp(aligned, "object"), q, v, tau), ps.forward_dynamics(aligned, q, v, tau)
    np.testing.assert_allclose(ours.acceleration, theirs, atol=1e-9 * np.abs(theirs).max())  # the motion is unique
    state = closed_state(aligned, q)
    assert np.linalg.matrix_rank(state.jacobian, tol=1e-9) == 9


def test_the_whole_grasp_is_compiled_from_a_record_of_itself():
    model, q = held(GRASPS["two arms"])
    grasp, rng = Grasp(model, "object"), np.random.default_rng(5)
    v, tau = closed_rates(model, q, rng, (5,)), rng.normal(size=(5, model.nv))
    fast = ps.compile(lambda q, v, tau: grasp_dynamics(grasp, q, v, tau).acceleration, model)
    slow = grasp_dynamics(grasp, q, v, tau).acceleration
    np.testing.assert_allclose(fast(q, v, tau), slow, atol=1e-9 * np.abs(slow).max())


def test_what_is_no_grasp_is_refused_with_a_sentence():
    model, _ = held(GRASPS["two arms"])
    with pytest.raises(ps.ModelError, match="body on a Free joint"):
        Grasp(model, "arm0link0")
    with pytest.raises(ps.ModelError, match="Nothing holds"):
        Grasp(model.tree, "object")
    with pytest.raises(ps.UnknownNameError, match="no loop 'grip'"):
        Grasp(model, "object", ["grip"])
    b = ps.ModelBuilder("twice")
    b.attach(model.tree)
    b.loop("one", "seat0", "tip0", ps.Fixed())
    b.loop("two", "seat1", "arm0link1", ps.Spherical())
    b.loop("three", "tip0", "tip1", ps.Spherical())
    twice = b.build()
    still = np.zeros(twice.nv)
    with pytest.raises(ps.ModelError, match="'one' and 'two' are on one arm"):
        Grasp(twice, "object", ["one", "two"]).hold("one", twice.neutral(), still, still, np.zeros(6))
    with pytest.raises(ps.ModelError, match="None of the contacts three is on 'object'"):
        Grasp(twice, "object", ["three"])
    with pytest.raises(ps.ShapeError, match="tau has shape"):
        grasp_dynamics(Grasp(model, "object"), model.neutral(), np.zeros(model.nv), np.zeros(3))


@pytest.mark.slow
def test_every_arm_costs_as_much_as_the_one_before():
    """O(n) + O(l), counted on the recorded instructions; the general form grows faster."""
    counts = []
    for arms in (2, 3, 4):
        model, _ = held(("point with friction",) * arms, joints=3)
        grasp = Grasp(model, "object")
        ours = record(lambda q, v, tau, grasp=grasp: grasp_dynamics(grasp, q, v, tau).acceleration, model)
        theirs = record(lambda q, v, tau, model=model: ps.forward_dynamics(model, q, v, tau), model)
        counts.append((ours.trace.operations, theirs.trace.operations))
    (linear, again), (general, later) = np.diff(counts, axis=0).T
    assert abs(again - linear) < 0.02 * linear
    assert later - general > 0.05 * general


def in_pinocchio(model, pin):
    """The tree as Pinocchio's: revolute, prismatic and free joints; returns its model, with joints in our order."""
    theirs = pin.Model()
    theirs.gravity.linear = model.gravity
    kinds = {ps.Revolute: pin.JointModelRevoluteUnaligned, ps.Prismatic: pin.JointModelPrismaticUnaligned}
    for body, joint in zip(model.bodies, model.joints):
        kind = pin.JointModelFreeFlyer() if joint.nv == 6 else kinds[type(joint.kind)](joint.axis)
        place = pin.SE3(body.placement.rotation, body.placement.translation)
        index = theirs.addJoint(body.parent + 1, kind, place, body.name)
        inertia = pin.Inertia(body.inertia.mass, body.inertia.com, body.inertia.tensor)
        theirs.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    theirs.armature = np.array(model.armature)
    return theirs


def test_pinocchios_constrained_dynamics_gives_the_same_accelerations_and_forces():
    pin = pytest.importorskip("pinocchio")
    model, q = held(GRASPS["two arms"])
    grasp, rng = Grasp(model, "object"), np.random.default_rng(6)
    v, tau = closed_rates(model, q, rng, (1,))[0], rng.normal(size=model.nv)
    theirs = in_pinocchio(model, pin)
    contacts = []
    for contact in grasp.contacts:
        joints, places = [], []
        for name in grasp.ends(contact):
            frame = model.frame(name)
            joints.append(frame.body + 1)
            places.append(pin.SE3(frame.placement.rotation, frame.placement.translation))
        kind = pin.ContactType.CONTACT_6D
        contacts.append(
            pin.RigidConstraintModel(kind, theirs, joints[0], places[0], joints[1], places[1], pin.ReferenceFrame.LOCAL)
        )
    held_by = pin.StdVec_RigidConstraintModel()
    own = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        held_by.append(contact)
        own.append(contact.createData())
    data = theirs.createData()
    pin.initConstraintDynamics(theirs, data, held_by, own)
    swap = np.arange(model.nv)  # theirs are linear first on the free joint
    free = model.joint("object").v_slice
    swap[free] = np.roll(swap[free], 3)
    settings = pin.ProximalSettings(1e-14, 1e-14, 1e-12, 50)
    found = pin.constraintDynamics(theirs, data, q, v[swap], tau[swap], held_by, own, settings)
    ours = grasp_dynamics(grasp, q, v, tau)
    np.testing.assert_allclose(found[swap], ours.acceleration, atol=1e-7 * np.abs(found).max())
    for i, contact in enumerate(own):
        turn = ps.forward_kinematics(model, q, grasp.ends(grasp.contacts[i])[0])[:3, :3]
        force = np.concatenate([turn @ contact.contact_force.angular, turn @ contact.contact_force.linear])
        np.testing.assert_allclose(force, ours.forces[i], atol=1e-6 * np.abs(force).max())


@pytest.mark.slow
def test_arms_of_many_links_are_run_without_writing_them_out():
    model, q = held(("rigid", "point with friction"), joints=40)
    rng = np.random.default_rng(7)
    v, tau = closed_rates(model, q, rng, (1,))[0], rng.normal(size=model.nv)
    found = grasp_dynamics(Grasp(model, "object"), q, v, tau).acceleration
    wanted, _, _ = dense_solution(model, q, v, tau)
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.abs(wanted).max())
