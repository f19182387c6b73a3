"""What each part of an MJCF file becomes."""

import math
import sys
import threading

import numpy as np
import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

BALL = '<geom size="0.1" mass="1"/>'
QUARTER = math.pi / 2


@pytest.fixture
def load(tmp_path):
    """Loads the content of a <mujoco> element."""

    def write(content: str, **options) -> ps.Model:
        path = tmp_path / "robot.xml"
        path.write_text(f"<mujoco>{content}</mujoco>", encoding="utf-8")
        return ps.load(path, **options)

    return write


def pendulum(joint: str = "<joint/>", inside: str = "") -> str:
    return f'<worldbody><body name="bob" pos="1 2 3">{joint}{BALL}{inside}</body></worldbody>'


def pose(model: ps.Model, q, frame: str) -> np.ndarray:
    """The frame in the world, (4, 4), for a model of one body."""
    body, place = model.bodies[0], model.frame(frame)
    rotation, translation = body.joint.kind.pose(np.asarray(q, dtype=float))
    return (body.placement @ ps.Pose(xyz=translation, rotation=rotation) @ place.placement).matrix


def test_the_model_is_called_as_the_file_says_or_as_the_file(load, tmp_path):
    assert load(pendulum()).name == "robot"
    (tmp_path / "named.xml").write_text(f'<mujoco model="Sam">{pendulum()}</mujoco>')
    assert ps.load(tmp_path / "named.xml").name == "Sam"


def test_at_its_reference_value_a_joint_is_where_the_file_drew_it(load):
    for kind, at in (("hinge", 0.4), ("slide", -0.3)):
        model = load('<compiler angle="radian"/>' + pendulum(f'<joint type="{kind}" axis="1 2 3" ref="{at}"/>'))
        assert pose(model, [at], "bob") == pytest.approx(ps.Pose(xyz=(1, 2, 3)).matrix, abs=1e-15)


def test_the_body_frame_stays_mujocos_when_the_joint_is_off_its_origin(load):
    model = load(pendulum('<joint name="pin" axis="0 0 1" pos="1 0 0"/>'))
    assert [body.name for body in model.bodies] == ["bob"]
    assert pose(model, [QUARTER], "bob")[:3, 3] == pytest.approx([2, 1, 3])
    assert pose(model, [QUARTER], "pin")[:3, 3] == pytest.approx([2, 2, 3])


def test_several_joints_of_a_body_hang_on_massless_bodies(load):
    model = load(pendulum('<joint name="x" type="slide" axis="1 0 0"/><joint name="turn"/><joint name="tip"/>'))
    assert [joint.name for joint in model.joints] == ["x", "turn", "tip"]
    assert [body.name for body in model.bodies] == ["bob_x", "bob_turn", "bob"]
    assert [body.inertia.mass for body in model.bodies] == [0.0, 0.0, 1.0]


def test_bodies_without_joints_are_frames_of_what_they_are_fixed_to(load):
    inside = f'<body name="cap" pos="0 0 1" euler="90 0 0">{BALL}<body name="lid">{BALL}</body></body>'
    model = load(pendulum(inside=inside))
    assert [(body.name, body.inertia.mass) for body in model.bodies] == [("bob", 3.0)]
    assert model.frame("cap").body == model.frame("lid").body == 0
    assert model.frame("cap").placement.rotation[:, 1] == pytest.approx([0, 0, 1])


def test_a_free_joint_has_the_pose_in_the_world_as_coordinates(load):
    model = load(pendulum('<freejoint name="float"/>'))
    assert isinstance(model.joints[0].kind, ps.Free)
    assert pose(model, [4, 5, 6, 0, 0, 0, 1], "bob") == pytest.approx(ps.Pose(xyz=(4, 5, 6)).matrix)


def test_what_has_no_name_gets_one_and_shared_names_are_told_apart(load):
    body = f'<body><joint/>{BALL}<site/><site name="bob"/><body><joint/><joint name="bob"/>{BALL}</body></body>'
    model = load(f'<worldbody>{body}<body name="bob">{BALL}</body></worldbody>')
    assert [body.name for body in model.bodies] == ["body1", "body2_joint1", "body2"]
    assert [joint.name for joint in model.joints] == ["body1", "joint1", "bob"]
    assert {"site0", "bob_site", "bob"} <= set(model.frames)
    assert model.frame("bob").body == -1


def test_passive_properties_of_joints_are_kept(load):
    joint = (
        '<joint name="j" range="-90 45" armature="0.1" damping="0.2" stiffness="3" springref="30" frictionloss="0.4"/>'
    )
    kind = load(pendulum(joint)).joint("j").kind
    assert (kind.armature[0], kind.damping[0], kind.stiffness[0]) == (0.1, 0.2, 3.0)
    assert kind.rest[0] == pytest.approx(math.pi / 6)
    assert kind.friction.tolist() == [[0.4], [0.4]]
    assert kind.limits[:, 0] == pytest.approx([-math.pi / 2, math.pi / 4])


def test_limits_of_slides_are_lengths_and_unlimited_joints_have_none(load):
    assert load(pendulum('<joint type="slide" range="-2 3"/>')).joints[0].limits.tolist() == [[-2], [3]]
    assert load(pendulum('<joint range="-2 3" limited="false"/>')).joints[0].limits.tolist() == [[-np.inf], [np.inf]]


def test_actuators_add_their_armature_and_damping_through_the_gear(load):
    actuator = '<actuator><motor joint="j" gear="-3" armature="0.02" damping="0.1"/><muscle joint="j"/></actuator>'
    model = load(pendulum('<joint name="j" armature="1" damping="2"/>') + actuator)
    assert model.armature == pytest.approx([1.18])
    assert model.joints[0].damping == pytest.approx([2.9])
    assert "Actuators were left out (2)." in model.warnings


def test_forces_that_are_switched_off_are_not_there(load):
    joint = '<joint stiffness="1" damping="2" frictionloss="3" range="-1 1"/>'
    off = {"spring": "stiffness", "damper": "damping", "frictionloss": "friction"}
    for flag, parameter in off.items():
        kind = load(f'<option><flag {flag}="disable"/></option>' + pendulum(joint)).joints[0].kind
        assert not getattr(kind, parameter).any()
        assert all(getattr(kind, other).all() for other in off.values() if other != parameter)
    kind = load('<option><flag constraint="disable"/></option>' + pendulum(joint)).joints[0].kind
    assert not kind.friction.any() and kind.continuous and kind.damping[0] == 2.0


def test_gravity_is_the_files_unless_given(load):
    option = '<option gravity="1 2 3"/>'
    assert load(pendulum()).gravity.tolist() == [0, 0, -9.81]
    assert load(option + pendulum()).gravity.tolist() == [1, 2, 3]
    assert load(option + pendulum(), gravity=(0, 0, 5)).gravity.tolist() == [0, 0, 5]
    assert load('<option><flag gravity="disable"/></option>' + pendulum()).gravity.tolist() == [0, 0, 0]


def test_floating_frees_the_body_that_is_fixed_to_the_world(load):
    arm = f'<worldbody><body name="base">{BALL}<body name="arm" pos="1 0 0"><joint/>{BALL}</body></body></worldbody>'
    model = load(arm, floating=True)
    assert [joint.name for joint in model.joints] == ["root", "arm"]
    assert isinstance(model.joint("root").kind, ps.Free) and model.nv == 7
    with pytest.raises(ps.FileError, match="moves in the world already"):
        load(pendulum("<freejoint/>"), floating=True)
    with pytest.raises(ps.FileError, match="here 2 do"):
        load(f"<worldbody><body>{BALL}</body><body>{BALL}</body></worldbody>", floating=True)


def test_a_mocap_body_stands_where_the_file_puts_it_and_holds_what_is_welded_to_it(load, tmp_path):
    hand = f'<body name="hand" pos="0 0 1">{BALL}</body>'
    ghost = '<body name="ghost" mocap="true" pos="0.3 0.2 1.1" euler="10 20 30"/>'
    content = f'<worldbody>{hand}{ghost}</worldbody><equality><weld name="lead" body1="ghost" body2="hand"/></equality>'
    model = load(content, floating=True)
    assert "fixed where the file puts them" in model.warnings[0] and model.frame("ghost").body == -1
    assert [joint.name for joint in model.joints] == ["root"]
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    at_start = pose(model, np.r_[0.0, 0, 1, 0, 0, 0, 1], "hand")
    assert np.allclose(at_start[:3, 3], mj.body("hand").pos, rtol=0, atol=1e-15)
    assert np.abs(ps.loop_residual(model, np.r_[0.0, 0, 1, 0, 0, 0, 1])).max() < 1e-15  # the weld of the file's poses
    still = ps.forward_dynamics(model, np.r_[0.0, 0, 1, 0, 0, 0, 1], np.zeros(6), np.zeros(6))
    assert np.abs(still).max() < 1e-12


def test_a_weld_between_a_mocap_body_and_the_world_holds_nothing(load):
    ghost = '<body name="ghost" mocap="true"><body name="ring"/></body>'
    model = load(
        f'<worldbody><body name="arm"><joint/>{BALL}</body>{ghost}</worldbody><equality><weld body1="ring"/></equality>'
    )
    assert model.loops == () and "Equality constraints within one rigid body were left out (1)." in model.warnings


def test_what_has_no_effect_on_the_mechanism_is_listed_once_per_kind(load):
    model = load(
        '<visual><global fovy="50"/></visual><statistic extent="2"/><size memory="1K"/>'
        '<asset><texture name="t" type="2d" file="gone.png"/><material name="m" texture="t"/></asset>'
        + pendulum('<joint name="j"/>', '<camera/><light/><light/><geom name="g" size="1" mass="0" material="m"/>')
        + '<sensor><jointpos joint="j"/><jointvel joint="j"/></sensor><keyframe><key qpos="1"/></keyframe>'
        '<custom><numeric name="n" data="1"/></custom><contact><exclude body1="bob" body2="world"/></contact>'
    )
    assert set(model.warnings) == {
        *("Sensors were left out (2).", "Keyframes were left out (1).", "Custom data were left out (1)."),
        *("Contact pairs and excludes were left out (1).", "Rendering settings were left out (1)."),
        *("Cameras were left out (1).", "Lights were left out (2).", "Textures were left out (1)."),
    }


def test_limits_without_a_place_are_listed(load):
    tendon = '<tendon><fixed name="t" range="-1 1"><joint joint="j" coef="2"/></fixed></tendon>'
    inside = f'<body><joint type="ball" range="0 50"/>{BALL}</body>'
    model = load(pendulum('<joint name="j" actuatorfrcrange="-1 2"/>', inside) + tendon)
    assert set(model.warnings) == {
        *(
            "Tendons were left out (1).",
            "Limits of tendons were left out (1).",
            "Limits of ball joints were left out (1).",
        ),
        "Smaller limits of forces that differ in the two directions were left out (1).",
    }
    motor = '<actuator><motor joint="j"/></actuator>'
    assert load(pendulum('<joint name="j" actuatorfrcrange="-2 2"/>') + motor).joints[0].effort.tolist() == [2.0]


def test_a_joint_that_no_actuator_acts_on_takes_no_force(load):
    arm = pendulum('<joint name="j"/>', '<body><joint name="k"/><geom size="1"/></body>')
    arm = arm.replace("</worldbody>", f'<body><joint name="b" type="ball"/>{BALL}</body></worldbody>')
    assert load(arm).effort_limits.tolist() == [0.0] * 5
    assert load(arm + '<actuator><motor joint="k"/></actuator>').effort_limits.tolist() == [0.0, np.inf, 0.0, 0.0, 0.0]
    through = (
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><actuator><motor tendon="t"/></actuator>'
    )
    assert load(arm + through).effort_limits.tolist() == [np.inf, 0.0, 0.0, 0.0, 0.0]


def test_ranges_of_actuators_bound_the_effort_of_joints(load):
    names = [f"j{number}" for number in range(1, 8)]
    bodies = "".join(f'<body><joint name="{name}"/><geom size="1"/></body>' for name in names)
    arm = f"<worldbody>{bodies}</worldbody>".replace('name="j4"', 'name="j4" actuatorfrcrange="-5 3"')
    arm += '<tendon><fixed name="t"><joint joint="j5" coef="-0.5"/></fixed></tendon>'
    model = load(
        f"""{arm}<actuator><motor joint="j1" gear="100 7" ctrlrange="-1 1"/>
        <position joint="j2" kp="50" ctrlrange="-1 1" forcerange="-12 20"/><motor joint="j3"/>
        <motor joint="j4" forcerange="-9 9"/><motor tendon="t" gear="4" forcerange="-3 3"/>
        <motor joint="j6" forcerange="-1 1"/><velocity joint="j6" kv="3" gear="2" forcerange="-3 3"/></actuator>"""
    )
    assert model.effort_limits.tolist() == [100.0, 20.0, np.inf, 5.0, 6.0, 7.0, 0.0]
    assert "Smaller limits of forces that differ in the two directions were left out (2)." in model.warnings


def test_strict_raises_where_something_is_left_out(load):
    assert load(pendulum(), strict=True).warnings == ()
    with pytest.raises(ps.FileError, match="Cameras were left out"):
        load(pendulum(inside="<camera/>"), strict=True)


def test_mujocos_own_warnings_are_kept_and_nothing_is_printed(load, capfd, tmp_path, monkeypatch, recwarn):
    monkeypatch.chdir(tmp_path)
    model = load('<compiler settotalmass="3"/>' + pendulum())
    assert model.total_mass == pytest.approx(3.0)
    assert any("settotalmass" in warning for warning in model.warnings)
    assert capfd.readouterr() == ("", "") and not recwarn.list
    assert [path.name for path in tmp_path.iterdir()] == ["robot.xml"]


def test_the_applications_own_warning_handler_is_put_back(load):
    heard = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        handler = mujoco.get_mju_user_warning()
        load(pendulum())
        assert mujoco.get_mju_user_warning() == handler
    finally:
        mujoco.set_mju_user_warning(None)


def test_files_load_at_once_from_several_threads(tmp_path):
    found = {}

    def work(number: int) -> None:
        path = tmp_path / f"{number}.xml"
        path.write_text(f'<mujoco><compiler settotalmass="{number + 1}"/>{pendulum()}</mujoco>')
        found[number] = ps.load(path).total_mass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: pytest.approx(number + 1) for number in range(6)}


def test_without_mujoco_the_message_says_what_to_install(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ps.FileError, match=r"pip install \"phistar\[mjcf\]\""):
        load(pendulum())


def test_an_older_mujoco_is_refused_with_a_sentence(load, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(ps.FileError, match=r"MuJoCo 4 or newer; 3\.2\.7 is installed"):
        load(pendulum())


def test_loading_twice_gives_equal_models(load):
    assert load(pendulum()) == load(pendulum())
