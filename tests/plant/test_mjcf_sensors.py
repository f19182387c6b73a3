"""Sensors of MJCF files read in a plant what they read in MuJoCo: wrenches, touch, axes, momenta, relative poses."""

import numpy as np
import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><option><flag contact="disable"/></option><worldbody>
<body name="base" pos="0 0 .5"><joint name="j1" axis="0 1 0" damping=".3"/><geom type="box" size=".1 .05 .05" mass="1"/>
 <body name="link" pos=".2 0 0"><joint name="j2" axis="1 0 1"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass=".7"/><site name="s" pos=".1 .02 0" euler="20 30 40"/>
  <body name="tip" pos=".3 0 0"><joint name="j3" type="ball"/><geom type="box" size=".05 .02 .01" mass=".2"/>
   <site name="t" pos="0 .01 0" euler="0 10 60"/></body></body></body></worldbody>
<actuator><motor name="m" joint="j2"/><position name="p" joint="j1" kp="5"/></actuator>
<sensor><force name="force" site="s"/><torque name="torque" site="s"/><framexaxis name="x" objtype="site" objname="s"/>
 <framezaxis name="z" objtype="xbody" objname="tip"/><subtreelinvel name="pace" body="link"/>
 <subtreeangmom name="spin" body="link"/><actuatorfrc name="m_force" actuator="m"/>
 <framepos name="place" objtype="site" objname="t" reftype="site" refname="s"/>
 <framequat name="turn" objtype="site" objname="t" reftype="site" refname="s"/>
 <framelinvel name="v" objtype="site" objname="t" reftype="site" refname="s"/>
 <frameangvel name="w" objtype="site" objname="t" reftype="site" refname="s"/></sensor></mujoco>"""


def pair(folder, text):
    (folder / "scene.xml").write_text(text)
    peer = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    return ps.Plant.load(folder / "scene.xml"), peer, mujoco.MjData(peer)


def test_sensors_read_what_mujocos_read(tmp_path):
    plant, peer, data = pair(tmp_path, ARM)
    assert not any("sensors" in text for text in plant.warnings)
    q = np.array([0.3, -0.4, *(np.array([0.1, 0.2, 0.3, 0.9]) / np.sqrt(0.95))])
    v, command = np.array([0.5, -0.7, 0.2, 0.4, -0.3]), np.array([0.6, 0.2])
    data.qpos[:], data.qvel[:], data.ctrl[:] = [*q[:2], q[5], *q[2:5]], v, command
    mujoco.mj_forward(peer, data)
    run = ps.simulate(plant, 2e-6, start=plant.state(q, v), control=lambda *_: command, step=1e-6)
    for sensor in plant.sensors:
        late = sensor.name in ("force", "torque", "m_force")  # of the step, which is short
        found, expected = run.signals[f"sensed/{sensor.name}"][int(late)], data.sensor(sensor.name).data
        if sensor.name == "turn":
            expected = np.roll(expected, -1)
            found = found * np.sign(found @ expected)
        np.testing.assert_allclose(found, expected, atol=5e-4 if late else 1e-12, err_msg=sensor.name)


def test_touch_is_the_weight_that_stands_on_its_zone(tmp_path):
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 .0505"><freejoint/>
    <geom type="box" size=".1 .1 .05" mass="2"/><site name="whole" type="box" size=".12 .12 .06"/>
    <site name="left" type="box" size=".06 .12 .06" pos="-.06 0 0"/>
    <site name="above" type="sphere" size=".02" pos="0 0 .2"/></body></worldbody>
    <sensor><touch name="whole" site="whole"/><touch name="left" site="left"/>
    <touch name="above" site="above"/></sensor></mujoco>"""
    plant, peer, data = pair(tmp_path, text)
    run = ps.simulate(plant, 0.5)
    for _ in range(1000):
        mujoco.mj_step(peer, data)
    for name, share in (("whole", 1.0), ("left", 0.5), ("above", 0.0)):
        np.testing.assert_allclose(run.signals[f"sensed/{name}"][-1], share * 2.0 * 9.81, atol=0.1)
        np.testing.assert_allclose(data.sensor(name).data, share * 2.0 * 9.81, atol=0.1)
