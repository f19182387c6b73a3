"""Tendons of plants: lengths, forces, stops and actuators as MuJoCo has them, and their step in the end that of ℳ."""

import numpy as np
import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco")

HAND = """<mujoco><option><flag contact="disable"/></option><worldbody><site name="wall" pos="0 .3 1.2"/>
<body name="palm" pos="0 0 1"><joint name="a" axis="0 1 0" damping=".02"/><geom type="box" size=".1 .02 .02" mass=".5"/>
 <site name="p1" pos=".05 .02 .03"/><site name="p2" pos="-.04 .05 .01" euler="10 20 30"/>
 <body name="finger" pos=".1 0 0"><joint name="b" axis="0 1 1" armature=".001"/>
  <geom type="capsule" fromto="0 0 0 .1 0 0" size=".01" mass=".1"/><site name="f1" pos=".05 0 .012"/>
  <body name="tip" pos=".1 0 0"><joint name="c" axis="0 0 1"/>
   <geom type="capsule" fromto="0 0 0 .06 0 0" size=".01" mass=".05"/><site name="t1" pos=".03 .01 .012"/></body></body>
</body>
<body name="drone" pos="1 0 1"><freejoint/><geom type="box" size=".1 .1 .02" mass=".4"/>
 <site name="rotor" pos=".1 .1 .02" euler="5 0 3"/></body></worldbody>
<tendon><fixed name="coupled" stiffness="3" damping=".1" springlength=".1 .2">
  <joint joint="b" coef="1"/><joint joint="c" coef="-.7"/></fixed>
 <spatial name="string" stiffness="40" damping=".5" springlength="0.05">
  <site site="p1"/><site site="f1"/><site site="t1"/></spatial>
 <spatial name="pulley" stiffness="5"><site site="wall"/><site site="p2"/><pulley divisor="2"/>
  <site site="f1"/><site site="t1"/></spatial>
 <fixed name="drive"><joint joint="b" coef=".5"/><joint joint="c" coef=".5"/></fixed></tendon>
<actuator><position name="both" tendon="drive" kp="4" kv=".2" gear="2" ctrlrange="-1 1"/>
 <motor name="cable" tendon="string" gear="3" ctrlrange="-1 0" forcerange="-0.4 0.1"/>
 <velocity name="rate" tendon="pulley" kv="2"/>
 <motor name="lift" site="rotor" gear="0 .1 2 0 0 .3" ctrlrange="0 5"/>
 <motor name="own" joint="a" gear="2" forcerange="-.3 1"/></actuator>
<sensor><tendonpos name="length" tendon="string"/><tendonvel name="pace" tendon="string"/></sensor></mujoco>"""


def loaded(folder, text=HAND):
    (folder / "scene.xml").write_text(text)
    plant, peer = ps.Plant.load(folder / "scene.xml"), mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    return plant, peer, mujoco.MjData(peer)


def random_states(plant, count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        v = random.normal(size=plant.model.nv)
        yield plant.model.integrate(plant.state().q, 0.5 * random.normal(size=plant.model.nv)), v


def set_peer(plant, data, q, v):
    """qpos and qvel of MuJoCo: quaternions w first, a free body's rates [v in world axes; ω]."""
    data.qpos[:3], data.qvel[:3] = q[:3], v[:3]
    data.qpos[3:6], data.qpos[6:] = q[3:6], np.roll(q[6:], 1)
    turn = ps.forward_kinematics(plant.model, q, "drone")[:3, :3]
    data.qvel[3:6], data.qvel[6:] = turn @ v[6:], v[3:6]


def own_order(plant, q, v, qacc):
    """MuJoCo's accelerations as the plant's: v̇ of the body's own axes."""
    turn = ps.forward_kinematics(plant.model, q, "drone")[:3, :3]
    return np.concatenate([qacc[:3], qacc[6:], turn.T @ qacc[3:6] - np.cross(v[3:6], v[6:])])


def test_accelerations_under_tendons_and_their_actuators_are_mujocos(tmp_path):
    plant, peer, data = loaded(tmp_path)
    random = np.random.default_rng(1)
    assert plant.nu == 5 and not [text for text in plant.warnings if "actuators" in text]
    for q, v in random_states(plant, 20):
        set_peer(plant, data, q, v)
        data.ctrl[:] = random.normal(size=5) * 2.0
        mujoco.mj_forward(peer, data)
        found = plant.acceleration(plant.state(q, v), data.ctrl)
        expected = own_order(plant, q, v, data.qacc)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_step_tends_to_that_acceleration(tmp_path):
    plant, _, _ = loaded(tmp_path)
    command = np.array([0.3, -0.2, 0.1, 1.5, 0.2])
    for q, v in random_states(plant, 3, seed=4):
        state, errors = plant.state(q, v), []
        for h in (1e-4, 1e-5):
            mean = (plant.step(state, command, h).v - v) / h
            errors.append(np.abs(mean - plant.acceleration(state, command)).max())
        assert errors[1] < 0.2 * errors[0]


def test_a_trajectory_with_tendons_is_mujocos(tmp_path):
    plant, peer, data = loaded(tmp_path)
    peer.opt.timestep, peer.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    command = np.array([0.3, -0.2, 0.1, 1.5, 0.2])
    q, v = plant.state().q, np.zeros(plant.model.nv)
    set_peer(plant, data, q, v)
    data.ctrl[:] = command
    for _ in range(2000):
        mujoco.mj_step(peer, data)
    run = ps.simulate(plant, 0.2, control=lambda t, q, v: command, step=0.1, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.q[-1, :6], data.qpos[:6], atol=1e-7)
    np.testing.assert_allclose(run.signals["sensed/length"][-1], data.sensor("length").data, atol=1e-7)
    np.testing.assert_allclose(run.signals["sensed/pace"][-1], data.sensor("pace").data, atol=1e-6)


def test_a_stop_of_a_tendon_holds_and_equalities_tie_more_than_two_joints(tmp_path):
    text = HAND.replace('<fixed name="drive">', '<fixed name="drive" limited="true" range="-.1 .1">')
    plant, _, _ = loaded(tmp_path, text)
    run = ps.simulate(plant, 0.3, control=lambda t, q, v: [1.0, 0, 0, 0, 0], step=0.001)
    assert 0.09 < np.abs(0.5 * run.q[:, 1] + 0.5 * run.q[:, 2]).max() < 0.1
    assert any(event.what == "limit" and "drive" in event.where for event in run.events)
    tied = """<equality><tendon tendon1="all" polycoef=".1 0 0 0 0"/></equality></mujoco>"""
    joined = """<fixed name="all"><joint joint="a" coef="1"/><joint joint="b" coef="1"/>
    <joint joint="c" coef="2"/></fixed></tendon>"""
    plant, _, _ = loaded(tmp_path, HAND.replace("</tendon>", joined).replace("</mujoco>", tied))
    run = ps.simulate(plant, 0.5, step=0.001)
    np.testing.assert_allclose(run.q[300:, 0] + run.q[300:, 1] + 2 * run.q[300:, 2], 0.1, atol=1e-4)


def test_a_tendon_between_floating_bodies_keeps_their_momentum():
    plant = ps.Plant(gravity=(0, 0, 0))
    for name, x in (("left", 0.0), ("right", 1.0)):
        plant.add_body(
            name, ps.Box((0.1, 0.2, 0.3)), inertia=1.0 + x, at=ps.Pose(xyz=(x, 0, 0)), twist=[1, 2, 0, 0, x, 0]
        )
    plant.add_tendon("rope", ["left", "right"], stiffness=30.0, damping=0.2, rest=(0.0, 0.5))
    run = ps.simulate(plant, 0.5, step=0.002)
    whole = ps.momentum(plant.model, run.q, run.v)
    np.testing.assert_allclose(whole, np.broadcast_to(whole[0], whole.shape), atol=1e-10)
    gap = np.linalg.norm(run.q[:, 7:10] - run.q[:, :3], axis=1)
    assert gap[-1] < 0.6


def test_forces_of_the_outside_change_a_drones_momentum_as_they_should():
    plant = ps.Plant()
    plant.add_body("drone", ps.Box((0.1, 0.2, 0.05)), inertia=2.0)
    plant.add_tendon("leash", ["world", "drone"])
    plant.actuate_tendon("leash", "force", limits=(-50.0, 0.0))
    q = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0])
    start = plant.state(q)
    run = ps.simulate(plant, 0.1, start=start, control=lambda t, q, v: [-2.0 * 9.81])
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-12)


def test_what_tendons_cannot_be_is_refused():
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm")
    with pytest.raises(ps.PhistarError, match="has no joint"):
        plant.add_tendon("t", {"arm/elbo": 1.0})
    with pytest.raises(ps.PhistarError, match="two frames at least"):
        plant.add_tendon("t", ["arm/tip"])
    with pytest.raises(ps.PhistarError, match="no tendon"):
        plant.actuate_tendon("t")
    plant.add_tendon("t", ["world", "arm/tip"])
    with pytest.raises(ps.PhistarError, match="already has a tendon"):
        plant.add_tendon("t", ["world", "arm/tip"])


def test_rollouts_of_tendons_are_the_steps(tmp_path):
    plant, _, _ = loaded(tmp_path)
    command = np.array([0.3, -0.2, 0.1, 1.5, 0.2])
    states = [plant.state(q, v) for q, v in random_states(plant, 4)]
    many = plant.rollout(states, np.broadcast_to(command, (4, 5)), step=0.002, steps=5)
    for number, state in enumerate(states):
        for _ in range(5):
            state = plant.step(state, command, 0.002)
        np.testing.assert_array_equal(many.q[number, -1], state.q)


def test_a_damping_ratio_is_the_damping_that_mujoco_makes_of_it(tmp_path):
    text = HAND.replace('kp="4" kv=".2" gear="2"', 'kp="4" dampratio=".7" gear="2"')
    plant, peer, data = loaded(tmp_path, text)
    for q, v in random_states(plant, 3):
        set_peer(plant, data, q, v)
        mujoco.mj_forward(peer, data)
        expected = own_order(plant, q, v, data.qacc)
        found = plant.acceleration(plant.state(q, v))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def with_tendons():
    """An arm with a coupling, a stopped string, a cable that is pulled, and a finger tip that feels."""
    plant = ps.Plant(name="pulled")
    plant.add_body("ground", ps.Plane(), free=False)
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 1.0)))
    plant.add_tendon("coupling", {"arm/joint1": 1.0, "arm/joint2": -0.5}, stiffness=20.0, damping=0.5, rest=(-0.1, 0.2))
    plant.add_tendon("string", ["world", "arm/link2"], limits=(0.0, 1.9), friction=0.3)
    plant.actuate("arm", "force", ["joint1"])
    plant.actuate_tendon("string", limits=(-50.0, 0.0), gear=2.0, name="winch", command_range=(-1.0, 1.0))
    plant.sense("tendon_length", "string", "length")
    plant.sense("touch", "arm/link2", "tip", zone=ps.Sphere(0.08))
    return plant


def test_tendons_their_actuators_and_zones_of_touch_go_to_a_file_and_back(tmp_path):
    plant = with_tendons()
    plant.save(tmp_path / "pulled.toml")
    again = ps.Plant.load(tmp_path / "pulled.toml")
    assert again.tendons == plant.tendons and again.pulls == plant.pulls
    assert [sensor.zone for sensor in again.sensors] == [None, ps.Sphere(0.08)]
    start, command = ([0.4, 0.3], [0.1, -0.2]), [0.7, -3.0]
    one, other = (each.step(each.state(*start), command) for each in (plant, again))
    np.testing.assert_array_equal(one.v, other.v)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[tendons]]\nname = "a"', "over joints, or through frames"),
        ('[[tendons]]\nname = "a"\nframes = ["world"]', "two frames at least"),
        ('[[tendons]]\nname = "a"\njoints = {elbow = 1.0}', "elbow"),
        ('[[tendons]]\nname = "a"\njoints = {elbow = "x"}', "elbow"),
        ('[[actuators]]\ntendon = "a"\nkind = "force"', "has no tendon 'a'"),
        ('[[actuators]]\nkind = "force"', "of a part, or of a tendon"),
        ('[[actuators]]\ntendon = "a"\ndelay = 0.1\nkind = "force"', "delay"),
        ('[[sensors]]\nkind = "joint_position"\nof = "x"\nzone = {sphere = 1.0}', "zone"),
    ],
)
def test_a_tendon_that_a_file_gets_wrong_is_told_with_its_place(text, told, tmp_path):
    (tmp_path / "scene.toml").write_text("format_version = 1\n" + text)
    with pytest.raises(ps.FileError, match=told) as refused:
        ps.Plant.load(tmp_path / "scene.toml")
    assert "scene.toml" in str(refused.value)
