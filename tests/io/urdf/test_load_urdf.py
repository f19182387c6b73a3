"""URDF files: what each element becomes in the model."""

from pathlib import Path

import numpy as np
import pytest

import phistar as ps

DATA = Path(__file__).resolve().parents[2] / "data" / "urdf"
FEATURES = DATA / "features.urdf"


def robot(tmp_path, body, head='<robot name="r">'):
    path = tmp_path / "robot.urdf"
    path.write_text(f"{head}{body}</robot>")
    return path


LINK = """<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>"""


def link(name):
    return LINK.format(name)


def joint(name, parent, child, inner="", kind="continuous"):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inner}</joint>'


def test_joints_are_depth_first_in_file_order():
    names = [joint.name for joint in ps.load(FEATURES).joints]
    expected = ["shoulder", "left_finger_joint", "right_finger_joint", "wheel", "table", "drone_joint"]
    assert names == expected


def test_children_stand_in_the_order_of_their_joints_not_of_their_links(tmp_path):
    body = link("a") + link("b") + link("c") + link("d")
    body += joint("j2", "a", "c") + joint("j1", "a", "b") + joint("j3", "c", "d")
    assert [joint.name for joint in ps.load(robot(tmp_path, body)).joints] == ["j2", "j3", "j1"]


def test_each_joint_type_becomes_its_kind():
    model = ps.load(FEATURES)
    kinds = {joint.name: type(joint.kind).__name__ for joint in model.joints}
    assert kinds["shoulder"] == kinds["wheel"] == "Revolute"
    assert kinds["left_finger_joint"] == "Prismatic"
    assert (kinds["table"], kinds["drone_joint"]) == ("Planar", "Free")
    assert (model.nq, model.nv) == (1 + 1 + 1 + 1 + 3 + 7, 1 + 1 + 1 + 1 + 3 + 6)


def test_axis_limits_and_dynamics_reach_the_joint():
    shoulder = ps.load(FEATURES).joint("shoulder")
    assert np.allclose(shoulder.axis, [0, 0.6, 0.8], rtol=0, atol=1e-15)
    assert shoulder.limits.ravel().tolist() == [-1.5, 2.0]
    assert (shoulder.effort[0], shoulder.velocity[0], shoulder.damping[0]) == (40.0, 3.0, 0.3)
    assert shoulder.friction.ravel().tolist() == [0.05, 0.05]


def test_a_continuous_joint_has_no_limits_but_keeps_effort_and_velocity():
    wheel = ps.load(FEATURES).joint("wheel")
    assert wheel.limits.ravel().tolist() == [-np.inf, np.inf]
    assert (wheel.effort[0], wheel.velocity[0]) == (5.0, 20.0)


def test_the_axis_is_x_when_the_file_gives_none(tmp_path):
    model = ps.load(robot(tmp_path, link("a") + link("b") + joint("j", "a", "b")))
    assert model.joint("j").axis.tolist() == [1.0, 0.0, 0.0]


def test_absent_bounds_of_a_limit_are_zero(tmp_path):
    limited = joint("j", "a", "b", '<limit effort="1" velocity="1"/>', kind="revolute")
    model = ps.load(robot(tmp_path, link("a") + link("b") + limited))
    assert model.joint("j").limits.ravel().tolist() == [0.0, 0.0]


def test_a_mimic_joint_keeps_its_coordinate_and_becomes_a_coupling():
    model = ps.load(FEATURES)
    (loop,) = model.loops
    assert (loop.joint_a, loop.joint_b) == ("right_finger_joint", "left_finger_joint")
    assert loop.joint.coefficients.tolist() == [0.01, 0.5]
    assert model.joint("right_finger_joint").nq == 1


def test_a_joint_that_mimics_a_fixed_one_is_held_at_the_offset(tmp_path):
    follower = joint("j", "a", "b", '<mimic joint="k" multiplier="3" offset="0.25"/>')
    body = link("a") + link("b") + link("c") + follower + joint("k", "a", "c", kind="fixed")
    (loop,) = ps.load(robot(tmp_path, body)).loops
    assert loop.joint_b is None
    assert loop.joint.coefficients.tolist() == [0.25]


def test_the_mimic_of_a_fixed_joint_is_ignored_with_a_warning(tmp_path):
    body = link("a") + link("b") + link("c") + joint("k", "a", "c")
    body += joint("j", "a", "b", '<mimic joint="k"/>', kind="fixed")
    model = ps.load(robot(tmp_path, body))
    assert model.loops == ()
    assert any("<mimic>" in warning for warning in model.warnings)


def test_fixed_links_stay_as_frames_and_give_their_inertia_to_the_body():
    model = ps.load(FEATURES)
    wrist, upper_arm = model.frames["wrist"], model.body_index("upper_arm")
    assert wrist.body == upper_arm
    assert np.array_equal(wrist.placement.translation, [0, 0, -0.3])
    assert model.bodies[upper_arm].inertia.mass == pytest.approx(2.4, rel=1e-15)
    names = ["base", "shoulder", "upper_arm", "wrist_mount", "wrist", "antenna_joint", "antenna"]
    assert [name for name in model.frames if name in names] == names


def test_an_inertial_origin_turns_the_tensor_into_the_link_axes():
    inertia = ps.load(FEATURES, floating=True).bodies[0].inertia
    r = ps.Pose(rpy=(0.1, 0.2, 0.3)).rotation
    given = np.array([[0.11, 0.01, 0], [0.01, 0.12, 0.005], [0, 0.005, 0.13]])
    assert np.allclose(inertia.tensor, r @ given @ r.T, rtol=1e-14, atol=0)
    assert inertia.com.tolist() == [0.01, 0.0, 0.1]


def test_a_quaternion_origin_is_read():
    antenna = ps.load(FEATURES).frames["antenna"]
    assert np.allclose(antenna.placement.rotation, ps.Pose(quaternion=(0, 0, 0.6, 0.8)).rotation, rtol=0, atol=1e-15)


def test_a_link_without_inertial_has_no_mass(tmp_path):
    body = '<link name="a"/><link name="b"/>' + link("c") + joint("j", "a", "b") + joint("k", "b", "c")
    model = ps.load(robot(tmp_path, body))
    assert model.bodies[0].inertia.mass == 0.0
    assert model.total_mass == 1.0


def test_an_inertial_without_mass_weighs_nothing_and_is_told(tmp_path):
    body = '<link name="a"><inertial><density value="567"/></inertial></link>'
    path = robot(tmp_path, body)
    model = ps.load(path, floating=True)
    assert model.total_mass == 0.0
    assert any("its link weighs nothing (line" in warning for warning in model.warnings)
    with pytest.raises(ps.FileError, match="weighs nothing"):
        ps.load(path, strict=True)


def test_geometry_keeps_shape_place_name_color_and_role():
    model = ps.load(FEATURES)
    trunk, hull = model.base_geometry
    assert (trunk.name, trunk.role, hull.role) == ("trunk", "visual", "collision")
    assert trunk.shape == ps.Box((0.2, 0.3, 0.4))
    assert trunk.placement.translation.tolist() == [0, 0, 0.1]
    assert trunk.color.tolist() == [0.6, 0.6, 0.7, 1.0]
    assert hull.shape == ps.Cylinder(0.2, 0.4)
    mesh, ball, capsule = model.bodies[0].geometry
    assert mesh.shape == ps.Mesh(str(DATA / "meshes" / "tetrahedron.stl"), (1, -1, 2))
    assert (ball.shape, capsule.shape) == (ps.Sphere(0.1), ps.Capsule(0.03, 0.1))


def test_a_material_defined_inside_a_visual_counts_for_the_whole_file():
    capsule = ps.load(FEATURES).bodies[0].geometry[2]
    assert capsule.color.tolist() == [1.0, 0.5, 0.0, 0.8]


def test_ignored_elements_are_told_once_per_kind():
    warnings = ps.load(FEATURES).warnings
    assert [warning for warning in warnings if "<gazebo>" in warning] == [
        "<gazebo> in <robot> was ignored (2 times, first on line 129)."
    ]
    for kind in ("safety_controller", "transmission", "texture"):
        assert sum(f"<{kind}>" in warning for warning in warnings) == 1
    assert any("mechanicalReduction" in warning for warning in warnings)


def test_strict_raises_what_would_be_a_warning():
    with pytest.raises(ps.FileError, match="strict=False"):
        ps.load(FEATURES, strict=True)


def test_a_file_without_anything_to_warn_of_loads_strictly(tmp_path):
    path = robot(tmp_path, link("a") + link("b") + joint("j", "a", "b"))
    assert ps.load(path, strict=True) == ps.load(path)


BAD_TENSOR = """<link name="b"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="-0.5"/></inertial></link>"""


def test_an_unphysical_inertia_warns_and_raises_when_strict(tmp_path):
    path = robot(tmp_path, link("a") + BAD_TENSOR + joint("j", "a", "b", "<axis xyz='1 0 0'/>"))
    assert any("indefinite" in warning for warning in ps.load(path).warnings)
    with pytest.raises(ps.ModelError, match="indefinite"):
        ps.load(path, strict=True)


def test_floating_adds_a_free_joint_named_root():
    model = ps.load(FEATURES, floating=True)
    assert (model.joints[0].name, model.bodies[0].name) == ("root", "base")
    assert model.joints[0].kind == ps.Free()
    assert model.nv == ps.load(FEATURES).nv + 6


def test_a_link_called_world_is_the_world(tmp_path):
    place = '<origin xyz="1 2 3" rpy="0 0 0.5"/>'
    body = '<link name="world"/>' + link("a") + joint("base", "world", "a", place) + link("b") + joint("j", "a", "b")
    model = ps.load(robot(tmp_path, body))
    assert [joint.name for joint in model.joints] == ["base", "j"]
    assert model.bodies[0].parent == -1
    assert model.frame("world").body == -1


def test_what_hangs_from_a_link_world_floats_together(tmp_path):
    place = '<origin xyz="1 2 3" rpy="0 0 0.5"/>'
    body = '<link name="world"/>' + link("a") + joint("mount", "world", "a", place, kind="fixed")
    body += link("b") + joint("j", "a", "b")
    model = ps.load(robot(tmp_path, body), floating=True)
    assert [joint.name for joint in model.joints] == ["root", "j"]
    assert model.frames["a"].body == 0
    assert model.frames["a"].placement == ps.Pose(xyz=(1, 2, 3), rpy=(0, 0, 0.5))
    assert model.frame("world").body == -1


def test_gravity_is_earths_or_the_given_one():
    assert ps.load(FEATURES).gravity.tolist() == [0, 0, -9.81]
    assert ps.load(FEATURES, gravity=(1, 0, 0)).gravity.tolist() == [1, 0, 0]


def test_a_link_and_a_joint_may_share_a_name(tmp_path):
    model = ps.load(robot(tmp_path, link("a") + link("arm") + joint("arm", "a", "arm")))
    assert (model.joints[0].name, model.frames["arm"].role) == ("arm", "link")


@pytest.mark.parametrize("floating", [False, True])
def test_a_joint_may_be_called_like_the_root_link(tmp_path, floating):
    model = ps.load(robot(tmp_path, link("arm") + link("b") + joint("arm", "arm", "b")), floating=floating)
    assert model.joints[-1].name == "arm"
    assert model.frames["arm"].role == "link"


def test_a_robot_of_one_link_loads_fixed_and_floating(tmp_path):
    path = robot(tmp_path, link("a"))
    assert ps.load(path).nq == 0
    assert ps.load(path, floating=True).nq == 7


def test_a_robot_without_a_name_is_called_after_its_file(tmp_path):
    assert ps.load(robot(tmp_path, link("a"), head="<robot>")).name == "robot"


def test_a_file_with_a_byte_order_mark_and_any_declared_encoding_is_utf8(tmp_path):
    path = tmp_path / "r.urdf"
    text = '<?xml version="1.0" encoding="latin-1"?><robot name="Rübe"><link name="a"/></robot>'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert ps.load(path).name == "Rübe"


@pytest.mark.slow
def test_ten_thousand_links_in_a_chain_load(tmp_path):
    count = 10_000
    body = "".join(link(f"l{k}") for k in range(count))
    body += "".join(joint(f"j{k}", f"l{k}", f"l{k + 1}", '<origin xyz="0 0 0.1"/>') for k in range(count - 1))
    model = ps.load(robot(tmp_path, body))
    assert model.nv == count - 1
    assert model.is_serial


PLACED = (
    '<link name="a"/><link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/><origin xyz="{}"/>'
)
LENIENT = {
    "a fourth number": (
        '<link name="a"><visual><geometry><mesh filename="m.stl" scale="1 2 3 4"/></geometry></visual></link>',
        "Of scale with more than 3 numbers the first 3 were read",
    ),
    "commas": (PLACED.format("1, 2, 3") + "</joint>", "Commas between the numbers of xyz were read as spaces"),
    "an environment of ROS": (PLACED.format("$(optenv P 1 2 3)") + "</joint>", "was read as what it is by default"),
}


@pytest.mark.parametrize("what", LENIENT)
def test_what_other_readers_pass_over_loads_with_a_warning(what, tmp_path):
    content, words = LENIENT[what]
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{content}</robot>')
    model = ps.load(path)
    assert any(words in warning for warning in model.warnings), model.warnings
    if "b" in model.frames:
        assert ps.forward_kinematics(model, model.neutral(), "b")[:3, 3].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ps.PhistarError):
        ps.load(path, strict=True)


@pytest.mark.parametrize("around", [("\n\n", ""), ("<!-- made by hand -->\n", "\n"), ("", "\n\0"), ("", "\x1a")])
def test_a_declaration_below_empty_lines_and_marks_at_the_end_are_passed_over(around, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(f'{around[0]}<?xml version="1.0"?>\n<robot name="r"><link name="a"/></robot>{around[1]}')
    assert ps.load(path).name == "r"
    path.write_text(f'{around[0]}<?xml version="1.0"?>\n<robot name="r"><link/></robot>{around[1]}')
    line = around[0].count("\n") + 2
    with pytest.raises(ps.FileError, match=rf"robot.urdf:{line}: <link> has no name"):
        ps.load(path)


def test_a_spherical_joint_is_read(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="spherical"><parent link="a"/>'
        '<child link="b"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>'
    )
    model = ps.load(path)
    assert isinstance(model.joint("j").kind, ps.Spherical)
    assert any("<limit> of a spherical joint" in warning for warning in model.warnings)
