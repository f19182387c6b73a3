"""Contact pairs and excludes, sensors and keyframes of MJCF files act in a plant as they do in MuJoCo."""

import numpy as np
import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco")

SCENE = """<mujoco><worldbody>
<body name="box" pos="0 0 1"><freejoint/><geom name="g" type="box" size=".1 .1 .1" mass="1"/>
 <site name="s" pos=".05 0 0" euler="30 20 10"/>
 <body name="arm" pos="0.2 0 0"><joint name="hinge" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".2"/></body></body>
<body name="other" pos="1 0 1"><joint name="b" type="ball"/>
 <geom type="sphere" size=".05" pos=".2 0 0" mass="1"/></body>
</worldbody>
<actuator><muscle name="biceps" joint="hinge" lengthrange="-1 1"/><motor joint="hinge" name="m"/></actuator>
<sensor><jointpos joint="hinge" name="angle"/><jointvel joint="hinge" name="rate"/>
 <framepos objtype="site" objname="s" name="place"/><framequat objtype="xbody" objname="arm" name="turn"/>
 <gyro site="s" name="gyro"/><accelerometer site="s" name="felt"/><velocimeter site="s" name="own velocity"/>
 <framelinvel objtype="site" objname="s" name="velocity"/><frameangvel objtype="xbody" objname="arm" name="spin"/>
 <subtreecom body="box" name="center"/><ballquat joint="b" name="ball"/>
 <magnetometer site="s"/><framepos objtype="geom" objname="g"/></sensor>
<keyframe><key name="home" qpos="0 0 2 0.9238795 0.3826834 0 0 0.4 1 0 0 0" ctrl="0.2 0.7"
 qvel="1 2 3 .1 .2 .3 .5 0.4 0.3 0.2"/></keyframe></mujoco>"""


def written(folder, text):
    (folder / "scene.xml").write_text(text)
    return folder / "scene.xml"


def test_sensors_of_the_file_read_what_mujoco_reads(tmp_path):
    plant = ps.Plant.load(written(tmp_path, SCENE))
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    run = ps.simulate(plant, 1e-5, start="home", step=1e-5)
    for sensor in plant.sensors:
        peer = data.sensor(sensor.name).data
        if sensor.name in ("turn", "ball"):
            peer = np.roll(peer, -1)
        if sensor.name == "felt":  # a mean over the step, without the muscle, against the value at its start
            continue
        np.testing.assert_allclose(run.signals[f"sensed/{sensor.name}"][0], peer, atol=1e-12)


def test_an_accelerometer_tends_to_mujocos(tmp_path):
    plant = ps.Plant.load(
        written(
            tmp_path,
            SCENE.replace('<muscle name="biceps" joint="hinge" lengthrange="-1 1"/>', "").replace("0.2 0.7", "0.7"),
        )
    )
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    command, errors = plant.keyframes["home"].command, []
    for step in (1e-4, 1e-5):
        run = ps.simulate(plant, step, start="home", step=step, control=lambda t, q, v: command)
        errors.append(np.abs(run.signals["sensed/felt"][1] - data.sensor("felt").data).max())
    assert errors[1] < 0.2 * errors[0] and errors[1] < 5e-3


def test_what_a_plant_cannot_sense_is_told_by_name(tmp_path):
    warnings = ps.Plant.load(written(tmp_path, SCENE)).warnings
    assert any("magnetometer, framepos" in text for text in warnings)
    assert not any(text.startswith(("Sensors", "Keyframes", "Actuators", "Contact")) for text in warnings)


def test_a_keyframe_is_a_state_to_start_from_with_the_command_of_the_actuators_that_act(tmp_path):
    plant = ps.Plant.load(written(tmp_path, SCENE))
    home = plant.keyframes["home"]
    np.testing.assert_array_equal(home.command, [0.7])  # the muscle does not act
    run = ps.simulate(plant, 0.01, start="home")
    np.testing.assert_array_equal(run.q[0], home.q)
    np.testing.assert_array_equal(run.v[0], home.v)
    twist = ps.frame_velocity(plant.model, home.q, home.v, "box")
    np.testing.assert_allclose(twist[3:], [1, 2, 3], atol=1e-7)  # MuJoCo's linear rates are in world axes


def test_a_run_starts_in_one_way_and_from_a_keyframe_that_there_is(tmp_path):
    plant = ps.Plant.load(written(tmp_path, SCENE))
    with pytest.raises(ps.PhistarError, match="did you mean 'home'"):
        ps.simulate(plant, 0.01, start="hme")
    with pytest.raises(ps.PhistarError, match="given both"):
        ps.simulate(plant, duration=0.01, start="home", q0=plant.keyframes["home"].q)
    state = plant.step(plant.state())
    np.testing.assert_array_equal(ps.simulate(plant, 0.01, start=state).q[0], state.q)


PILE = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" friction="1"/>
<body name="lower" pos="0 0 0.1005"><freejoint/><geom name="lower" type="box" size=".1 .1 .1" mass="1"/></body>
<body name="upper" pos="0 0 0.3"><freejoint/><geom name="upper" type="box" size=".05 .05 .05" mass="1"/></body>
</worldbody><contact>{}</contact></mujoco>"""


def heights(plant, seconds=0.6):
    run = ps.simulate(plant, seconds)
    return [run.q[-1, 7 * body + 2] for body in range(2)]


def test_excluded_bodies_pass_through_each_other(tmp_path):
    met = heights(ps.Plant.load(written(tmp_path, PILE.format(""))))
    apart = heights(ps.Plant.load(written(tmp_path, PILE.format('<exclude body1="lower" body2="upper"/>'))))
    np.testing.assert_allclose(met, [0.1, 0.25], atol=2e-3)
    np.testing.assert_allclose(apart, [0.1, 0.05], atol=2e-3)


def test_a_pair_meets_whatever_its_masks(tmp_path):
    blind = PILE.replace('size=".05 .05 .05"', 'size=".05 .05 .05" contype="0" conaffinity="0"')
    pair = '<pair geom1="lower" geom2="upper"/>'
    assert heights(ps.Plant.load(written(tmp_path, blind.format(""))))[1] < -0.5
    np.testing.assert_allclose(heights(ps.Plant.load(written(tmp_path, blind.format(pair))))[1], 0.25, atol=2e-3)


def test_a_pair_has_the_friction_that_it_states_and_not_its_geoms(tmp_path):
    """On a slope of 20 degrees a block stays with μ = 1 and slides with the pair's 0.1 as g(sin − μ cos) says."""
    slope = """<mujoco><option gravity="3.3552 0 -9.2184"/><worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="1"/><body name="block" pos="0 0 0.0505"><freejoint/>
    <geom name="block" type="box" size=".2 .2 .05" mass="1" friction="1"/></body></worldbody>
    <contact>{}</contact></mujoco>"""
    pair = '<pair geom1="floor" geom2="block" friction="0.1 0.1 0.005 0.0001 0.0001"/>'
    still = ps.simulate(ps.Plant.load(written(tmp_path, slope.format(""))), 0.5)
    slides = ps.simulate(ps.Plant.load(written(tmp_path, slope.format(pair))), 0.5)
    assert abs(still.q[-1, 0]) < 1e-3
    pace = np.polyfit(slides.t[100:], slides.v[100:, 3], 1)[0]
    np.testing.assert_allclose(pace, 3.3552 - 0.1 * 9.2184, rtol=1e-2)


def test_contact_that_the_file_turns_off_is_off(tmp_path):
    off = PILE.replace("<worldbody>", '<option><flag contact="disable"/></option><worldbody>')
    assert max(heights(ps.Plant.load(written(tmp_path, off.format(""))))) < 0.0


def test_rows_of_a_sensor_are_checked():
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm")
    with pytest.raises(ps.PhistarError, match="whole numbers from 0 on as rows"):
        plant.sense("joint_position", "arm", rows=[-1])
    plant.sense("joint_position", "arm", "elbow", rows=[1])
    assert ps.simulate(plant, 0.01).signals["sensed/elbow"].shape == (6, 1)
    plant.sense("joint_position", "arm", "more", rows=[2])
    with pytest.raises(ps.PhistarError, match="rows go from 0 to 1"):
        ps.simulate(plant, 0.01)


def test_limits_that_gravity_compensation_shares_with_motors_are_told(tmp_path):
    text = """<mujoco><worldbody><body gravcomp="1"><joint name="j" axis="0 1 0" actuatorgravcomp="{}"
    actuatorfrcrange="-2 2"/><geom type="box" size=".1 .1 .1" pos=".3 0 0"/></body></worldbody>
    <actuator><motor joint="j"/></actuator></mujoco>"""
    shared, apart = (ps.Plant.load(written(tmp_path, text.format(word))).warnings for word in ("true", "false"))
    assert any("bear their gravity compensation" in each for each in shared)
    assert not any("bear their gravity compensation" in each for each in apart)
