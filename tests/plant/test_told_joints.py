"""Joints of a plant that move as told: prescribed ones and locked ones, beside those that forces drive."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar
from tests.trees import relative

STEP = 1e-3


def driven(**more):
    """A Puma whose waist is prescribed, whose elbow is locked; forces drive the others."""
    arm = ps.load("puma560")
    smooth = {j.name: ps.Revolute(j.axis, armature=j.kind.armature_diagonal) for j in arm.joints}
    arm = arm.replace(joints=smooth)  # without dry friction, which would bear a part of a locked joint's load
    names = [joint.name for joint in arm.joints]
    plant = ps.Plant()
    plant.add(arm, "arm", q=np.full(6, 0.3), v=[0.2, 0.1, 0.0, 0.1, 0.1, 0.1])
    plant.actuate("arm", "prescribed", names[:1], **more)
    plant.actuate("arm", "locked", names[2:3])
    plant.actuate("arm", "force", [names[1], *names[3:]])
    return plant, arm, names


def test_a_step_is_that_of_hybrid_dynamics():
    plant, arm, names = driven()
    assert plant.nu == 5
    start, tau = plant.state(), np.array([3.0, 0.2, 0.1, -0.1])
    after = plant.step(start, [0.7, *tau], STEP)
    forces = np.insert(tau, 1, 0.0)
    told = {names[0]: 0.7, names[2]: 0.0}
    moved = ps.hybrid_dynamics(arm, start.q, start.v, np.insert(forces, 0, 0.0), told)
    assert abs(after.v[0] - (start.v[0] + 0.7 * STEP)) < 1e-7 and abs(after.v[2]) < 1e-7
    smooth = np.array([1, 3, 4, 5])
    assert relative((after.v - start.v)[smooth] / STEP, moved.accelerations[smooth]) < 0.05  # the step is implicit


def test_a_run_follows_what_is_prescribed_and_tells_the_forces_it_took():
    plant, arm, _ = driven()
    run = plant.simulate(0.2, control=lambda t, q, v: [np.cos(5.0 * t), 0, 0, 0, 0], step=STEP)
    np.testing.assert_allclose(run.v[:, 0], 0.2 + np.sin(5.0 * run.t) / 5.0, atol=2 * STEP)
    np.testing.assert_allclose(run.q[:, 2], 0.3, atol=1e-7)
    own = plant["arm"]
    q, v = own.q(run.q[100]), own.v(run.v[100])
    a = (own.v(run.v[101]) - v) / STEP
    needed = ps.inverse_dynamics(arm, q, v, a)
    assert np.abs(run.tau[101][[0, 2]] - needed[[0, 2]]).max() < 0.05 * np.abs(needed).max()


def test_many_scenes_and_files_have_them_too(tmp_path):
    plant, _, _ = driven()
    alone = plant.step(plant.state(), [0.7, 3.0, 0.2, 0.1, -0.1], STEP)
    run = plant.rollout([plant.state(), plant.state()], np.tile([0.7, 3.0, 0.2, 0.1, -0.1], (2, 1, 1)), step=STEP)
    np.testing.assert_allclose(run.q[:, -1], np.stack([alone.q, alone.q]), atol=1e-12)
    arms = ps.Plant()
    arms.add("puma560", "arm")
    arms.actuate("arm", "locked")
    arms.save(tmp_path / "plant.toml")
    again = ps.Plant.load(tmp_path / "plant.toml")
    assert [each.kind for each in again.actuators] == ["locked"] * 6 and again.nu == 0
    still = again.step(again.state(), h=0.01)
    assert np.abs(still.v).max() < 1e-5


def test_what_contradicts_itself_is_told():
    with pytest.raises(ps.ModelError, match="whatever force it needs; it was given damping"):
        driven(damping=3.0)
    plant, _, _ = driven()
    with pytest.raises(ps.PhistarError, match="leave rtol out"):
        plant.simulate(0.1, control=lambda t, q, v: np.zeros(5), rtol=1e-6)
    floating = ps.Plant()
    floating.add_body("ball", ps.Sphere(0.1), inertia=1.0)
    with pytest.raises(ps.ModelError, match="quaternions"):
        floating.actuate("ball", "locked", ["ball"])


def test_joints_that_are_told_to_contradict_each_other_are_refused_by_name():
    linkage = four_bar((0.5, 1.0, 0.9, 1.1))
    first, _, last = (joint.name for joint in linkage.joints)
    plant = ps.Plant()
    plant.add(linkage, "bars", q=ps.assemble(linkage, [0.7, 0.1, 1.0]))
    with pytest.raises(
        ps.InfeasibleError, match=f"2 rates that are told to 'bars/{first}', 'bars/{last}', loops leave 1"
    ):
        plant.actuate("bars", "prescribed", [first, last])
    plant.actuate("bars", "prescribed", [first])
    with pytest.raises(ps.ModelError, match=f"'bars/{first}' is driven in two ways, prescribed and locked"):
        plant.actuate("bars", "locked", [first])
    with pytest.raises(ps.InfeasibleError, match="loops leave 0 independent beside the joints that are locked"):
        plant.actuate("bars", "locked", [last])
    after = plant.step(plant.state(), [0.5], STEP)
    assert abs(after.v[0] - 0.5 * STEP) < 1e-3 * STEP
    still = ps.Plant()
    still.add(linkage, "bars", q=ps.assemble(linkage, [0.7, 0.1, 1.0]))
    still.actuate("bars", "locked", [first, last])  # which agree
    assert np.abs(still.step(still.state(), h=STEP).v).max() < 1e-5
