"""Arms on a common moving base, several contacts an arm, several bodies, passive joints: as forward dynamics has it."""

import numpy as np
import pytest

import phistar as ps
from phistar.loops.grasp import shared_base
from phistar.loops.grasp.shared_base import Sharing
from phistar.recording import record
from tests.loops.grasp.test_holding import _inertia

REVOLUTE = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1), (0, 1, 0)]


def robot(arms, fingers=1, base=None, joints=3, passive=False, bodies=1, contact=None, seed=0):
    """Arms with fingers that end where they are, and objects whose contact frames are put there."""
    rng = np.random.default_rng(seed)
    b = ps.ModelBuilder("shared", gravity=(0.3, -1.0, -9.0))
    if base is not None:
        b.body("base", joint=base, inertia=_inertia(rng))
    tips = []
    for k in range(arms):
        parent = "world" if base is None else "base"
        for j in range(joints):
            place = ps.Pose(xyz=rng.normal(size=3) * 0.4, rpy=rng.uniform(-1, 1, 3))
            b.body(f"arm{k}link{j}", parent, ps.Revolute(REVOLUTE[j % 6], armature=0.02), place, _inertia(rng))
            parent = f"arm{k}link{j}"
        for f in range(fingers):
            name = f"arm{k}finger{f}"
            if fingers > 1:
                place = ps.Pose(xyz=rng.normal(size=3) * 0.2)
                b.body(name, parent, ps.Revolute(rng.normal(size=3), armature=0.02), place, _inertia(rng))
            b.frame(f"tip{k}.{f}", name if fingers > 1 else parent, ps.Pose(xyz=rng.normal(size=3) * 0.2))
            tips.append((k, f"tip{k}.{f}"))
    own = b.build()
    q = own.random(rng)
    for i in range(bodies):
        b.body(f"object{i}", joint=ps.Free(), inertia=_inertia(rng))
        if passive:
            joint = ps.Revolute((0, 0, 1), stiffness=3.0, damping=0.1)
            b.body(f"lid{i}", f"object{i}", joint, ps.Pose(xyz=(0.1, 0, 0)), _inertia(rng))
    for number, (k, tip) in enumerate(tips):
        pose = ps.forward_kinematics(own, q, tip)
        part = f"lid{k % bodies}" if passive and number % 2 else f"object{k % bodies}"
        away = ps.Pose(xyz=(0.1, 0, 0)).inverse if part.startswith("lid") else ps.Pose()
        b.frame(f"seat{number}", part, away @ ps.Pose(pose[:3, 3], rotation=pose[:3, :3]))
        b.loop(f"contact{number}", f"seat{number}", tip, joint=contact or ps.Spherical())
    model = b.build()
    start = model.neutral()
    start[: own.nq] = q
    return model, start


CASES = {
    "two arms on a free base": {"arms": 2, "base": ps.Free()},
    "three arms on a turntable": {"arms": 3, "base": ps.Revolute((0, 0, 1))},
    "rigid holds on a free base": {"arms": 2, "base": ps.Free(), "contact": ps.Fixed(), "joints": 4},
    "arms with two fingers": {"arms": 2, "fingers": 2, "joints": 2},
    "fingers on a moving base": {"arms": 2, "fingers": 2, "base": ps.Free(), "joints": 1},
    "an object with a lid": {"arms": 2, "passive": True},
    "two objects and a moving base": {"arms": 4, "bodies": 2, "base": ps.Planar((0, 0, 1)), "joints": 2},
}


QUICK = ("two arms on a free base", "an object with a lid")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("few", [0, 12], ids=["branch by branch", "together"])
@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in CASES])
def test_it_is_forward_dynamics_of_the_closed_chain(name, few, monkeypatch):
    monkeypatch.setattr(shared_base, "FEW", few)
    model, q = robot(**CASES[name])
    rng = np.random.default_rng(5)
    v = ps.loops.assemble_velocity(model, q, 0.4 * rng.standard_normal(model.nv))
    tau = rng.standard_normal(model.nv)
    grasp = ps.loops.Grasp(model, "object0")
    assert grasp.shared
    found = ps.loops.grasp_dynamics(grasp, q, v, tau)
    want = ps.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(found.acceleration, want, atol=1e-9 * max(1.0, np.abs(want).max()))
    place = ps.frame_acceleration(model, q, v, want, "object0")
    np.testing.assert_allclose(found.object, place, atol=1e-9 * max(1.0, np.abs(place).max()))
    np.testing.assert_allclose(found.compliance, ps.mobility(model, q, "object0"), atol=1e-9)


@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in CASES])
def test_it_is_compiled_from_a_record_of_itself(name):
    model, q = robot(**CASES[name])
    rng, grasp = np.random.default_rng(5), ps.loops.Grasp(model, "object0")
    v = ps.loops.assemble_velocity(model, q, 0.4 * rng.standard_normal(model.nv))
    tau = rng.standard_normal((4, model.nv))
    fast = ps.compile(lambda q, v, tau: ps.loops.grasp_dynamics(grasp, q, v, tau).acceleration, model)
    want = ps.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(fast(q, v, tau), want, atol=1e-9 * max(1.0, np.abs(want).max()))


@pytest.mark.slow
def test_each_arm_on_a_common_base_adds_as_many_operations():
    counts = []
    for arms in (3, 5, 7):
        model, _ = robot(arms, base=ps.Free(), contact=ps.Fixed(), joints=2)
        grasp = ps.loops.Grasp(model, "object0")
        made = record(lambda q, v, tau, own=grasp: ps.loops.grasp_dynamics(own, q, v, tau).acceleration, model)
        counts.append(made.trace.operations)
    more = np.diff(counts)
    assert abs(more[1] - more[0]) < 0.1 * more[0]


@pytest.mark.slow
def test_batches_are_states_one_by_one():
    model, q = robot(**CASES["two arms on a free base"])
    grasp, rng = ps.loops.Grasp(model, "object0"), np.random.default_rng(0)
    tau = rng.standard_normal((3, model.nv))
    found = ps.loops.grasp_dynamics(grasp, np.tile(q, (3, 1)), np.zeros((3, model.nv)), tau)
    for row, forces in zip(found.acceleration, tau, strict=True):
        one = ps.loops.grasp_dynamics(grasp, q, np.zeros(model.nv), forces).acceleration
        np.testing.assert_allclose(row, one, atol=1e-10)


@pytest.mark.parametrize("arms", [4, 8])
def test_each_arm_on_a_common_base_is_a_measurement_of_its_own(arms):
    """The state stays the object's and the base's twelve numbers, whatever the number of arms."""
    model, _ = robot(arms, base=ps.Free(), contact=ps.Fixed())
    sharing = Sharing(ps.loops.Grasp(model, "object0"))
    assert len(sharing.parting) == 2
    assert [len(block) for block in sharing.blocks] == [1] * arms


def test_laws_that_go_arm_by_arm_refuse_what_is_shared_by_name():
    model, q = robot(**CASES["two arms on a free base"])
    grasp = ps.loops.Grasp(model, "object0")
    with pytest.raises(ps.PhistarError, match="on one arm, or on arms that share a moving base"):
        grasp.hold("contact0", q, np.zeros(model.nv), np.zeros(model.nv), np.zeros(6))
