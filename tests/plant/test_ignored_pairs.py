"""Pairs left out of contact: what overlaps at the start on one word, what an SRDF file lists; meshes are hulls."""

import numpy as np
import pytest

import phistar as ps
from phistar.model.geometry import Geometry
from tests.plants import run


def chain():
    """Three links whose long boxes overlap at the start, the first with the third too."""
    builder = ps.ModelBuilder("chain")
    parent, place = "world", ps.Pose()
    for number in range(3):
        shape = Geometry(ps.Box([0.5, 0.1, 0.1]), ps.Pose(), f"link{number}", role="collision")
        inertia, joint = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01), ps.Revolute(axis=(0, 0, 1))
        builder.body(f"link{number}", parent=parent, joint=joint, placement=place, inertia=inertia, geometry=[shape])
        parent, place = f"link{number}", ps.Pose(xyz=(0.2, 0, 0))
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(builder.build(), "chain")
    return plant


def test_what_overlaps_at_the_start_is_ignored_on_one_word():
    plant = chain()
    assert plant.ignore_overlaps() == [("chain/link0", "chain/link2")]  # neighbours at a joint never met
    assert np.abs(run(plant, 20)[-1].v).max() == 0.0
    assert plant.ignore_overlaps("chain") == []


def test_pairs_of_an_srdf_file_are_ignored_and_unknown_links_refused(tmp_path):
    path = tmp_path / "chain.srdf"
    path.write_text('<robot name="chain"><disable_collisions link1="link0" link2="link2" reason="Never"/></robot>')
    plant = chain()
    assert plant.read_srdf("chain", path) == [("chain/link0", "chain/link2")]
    assert np.abs(run(plant, 20)[-1].v).max() == 0.0
    path.write_text('<robot name="chain"><disable_collisions link1="link0" link2="leg"/></robot>')
    with pytest.raises(ps.PhistarError, match="leg"):
        plant.read_srdf("chain", path)
    path.write_text('<robot name="chain"><disable_collisions link1="link0"/></robot>')
    with pytest.raises(ps.PhistarError, match=r"line 1.*link1 and link2"):
        plant.read_srdf("chain", path)


TETRAHEDRON = """v -0.1 -0.1 -0.05
v 0.1 -0.1 -0.05
v 0.0 0.15 -0.05
v 0.0 0.0 0.15
f 1 3 2
f 1 2 4
f 2 3 4
f 3 1 4
"""
MESH = """<mujoco><asset><mesh name="m" file="tetrahedron.obj"/></asset><worldbody>
<geom type="plane" size="5 5 1"/>
<body name="b" pos="0 0 0.06"><freejoint/><geom type="mesh" mesh="m" mass="1"/></body></worldbody></mujoco>"""
AFFINE = """<mujoco><worldbody>
<body name="a"><joint name="j" axis="0 1 0"/><geom size="0.1" mass="1"/></body></worldbody>
<actuator><general name="g" joint="j" gear="2" gainprm="3" biastype="affine" biasprm="0.5 -4 -0.7"/></actuator>
</mujoco>"""


def test_meshes_of_an_mjcf_file_collide_as_their_hulls(tmp_path):
    (tmp_path / "tetrahedron.obj").write_text(TETRAHEDRON)
    (tmp_path / "scene.xml").write_text(MESH)
    plant = ps.Plant.load(tmp_path / "scene.xml")
    assert not any("collide" in warning for warning in plant.warnings)
    end = run(plant, 500)[-1]
    assert np.abs(end.v).max() < 1e-6
    low = min((ps.forward_kinematics(plant.model, end.q, "b") @ [*p, 1])[2] for p in _corners(plant))
    assert 0.0 < low < 1e-3


def _corners(plant):
    shape = next(s for s in plant.system.shapes if s.body == 0)
    return shape.shape.points @ np.asarray(shape.placement.rotation).T + shape.placement.translation


def test_affine_gains_and_biases_of_mjcf_actuators_are_those_of_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(AFFINE)
    plant = ps.Plant.load(tmp_path / "arm.xml")
    h, q, v, u = 1e-9, 0.3, 0.2, 0.7  # so short that what is implicit does not matter
    got = plant.step(plant.state([q], [v]), [u], h).v[0] - v
    data = mujoco.MjData(mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml")))
    data.qpos[0], data.qvel[0], data.ctrl[0] = q, v, u
    mujoco.mj_forward(data.model, data)
    np.testing.assert_allclose(got / h, data.qacc[0], rtol=1e-4)


def one_link(height, *more):
    """A link on a hinge to the world above a floor, with a ball at its end."""
    builder, tip = ps.ModelBuilder("arm"), Geometry(ps.Sphere(0.05), ps.Pose(xyz=(0.5, 0, 0)), "tip", role="collision")
    inertia = ps.Inertia(1.0, (0.25, 0, 0), np.eye(3) * 0.02)
    builder.body("link", parent="world", joint=ps.Revolute((0, 1, 0)), inertia=inertia, geometry=[tip, *more])
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(builder.build(), "arm", at=ps.Pose(xyz=(0, 0, height)))
    return plant


def test_a_body_on_a_joint_to_the_world_meets_the_worlds_shapes():
    made = ps.simulate(one_link(0.3), 2.0)
    assert made.contacts.pairs == ("tip / floor",) and abs(made.v[-1, 0]) < 1e-6
    assert made.q[-1, 0] == pytest.approx(np.arcsin(0.25 / 0.5), abs=1e-2)  # the ball lies on the floor
    np.testing.assert_allclose(made.contact_torques[-1], ps.gravity_load(made.model, made.q[-1]), rtol=1e-6)


def test_what_stands_in_the_floor_at_the_start_is_mounted_there_and_told(caplog):
    hub = Geometry(ps.Cylinder(0.1, 0.7), ps.Pose(), "hub", role="collision")
    made = ps.simulate(one_link(0.3, hub), 2.0)
    assert "hub and floor overlap at the start" in caplog.text
    assert made.contacts.pairs == ("tip / floor",)  # the other shape of that body meets the floor all the same
    stated = one_link(0.3, hub)
    stated.contact("hub", "floor", ps.Surface())
    with pytest.raises(ps.PhistarError, match="hub / floor intersect by"):
        ps.simulate(stated, 0.1)


def test_a_robots_base_and_its_first_link_are_neighbours():
    foot = Geometry(ps.Cylinder(0.2, 0.8), ps.Pose(), "foot", role="collision")
    builder = ps.ModelBuilder("arm")
    builder.geometry("world", foot)
    hub, inertia = Geometry(ps.Cylinder(0.1, 0.7), role="collision", name="hub"), ps.Inertia(1.0, (0, 0, 0), np.eye(3))
    builder.body("link", parent="world", joint=ps.Revolute((0, 0, 1)), inertia=inertia, geometry=[hub])
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), name="floor")
    plant.add(builder.build(), "arm", at=ps.Pose(xyz=(0, 0, 0.5)))
    shapes = {shape.name: shape.group for shape in plant.meeting.shapes}
    assert "foot" not in shapes and plant.meeting.meets[shapes["hub"], shapes["floor"]]
