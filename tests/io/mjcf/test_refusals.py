"""What would change masses, motion or passive forces and has no place in a model is refused by name and line."""

import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

BALL = '<geom size="0.1" mass="1"/>'
HINGE = '<joint name="pin"/>'


def arm(joint: str = HINGE, body: str = "", inside: str = "") -> str:
    return f'<worldbody>\n<body name="bob" {body}>\n{joint}{BALL}{inside}</body></worldbody>'


def tendon(attributes: str) -> str:
    return f'{arm()}\n<tendon><fixed name="cord" {attributes}><joint joint="pin" coef="1"/></fixed></tendon>'


REFUSED = {
    "fluid density": ('<option density="1000"/>' + arm(), r"fluid \(density 1000, viscosity 0\)"),
    "fluid viscosity": ('<option viscosity="0.5"/>' + arm(), r"fluid \(density 0, viscosity 0.5\)"),
    "gravity compensation": (arm(body='gravcomp="1"'), r":2: body 'bob' is held up against gravity \(gravcomp\)"),
    "plastic spring": (
        arm('<joint name="pin" stiffness="1" springyield="1"/>'),
        r":3: the spring of joint 'pin' yields \(springyield\)",
    ),
    "nonlinear spring": (arm('<joint name="pin" stiffness="1 2"/>'), "the spring of joint 'pin' is not linear"),
    "nonlinear damper": (arm('<joint name="pin" damping="1 0 2"/>'), "the damper of joint 'pin' is not linear"),
    "free spring": (
        arm('<joint name="f" type="free" stiffness="1"/>'),
        r"the free joint 'f' has a spring \(stiffness\)",
    ),
    "free armature": (arm('<joint name="f" type="free" armature="1"/>'), "the free joint 'f' has an armature"),
    "free friction": (arm('<joint name="f" type="free" frictionloss="1"/>'), "the free joint 'f' has dry friction"),
    "tendon spring": (tendon('stiffness="1"'), ":4: tendon 'cord' has stiffness"),
    "tendon damper": (tendon('damping="0 1"'), "tendon 'cord' has damping"),
    "tendon friction": (tendon('frictionloss="1"'), "tendon 'cord' has frictionloss"),
    "tendon armature": (tendon('armature="1"'), "tendon 'cord' has armature"),
    "armature on a tendon": (
        tendon("") + '<actuator><motor name="m" tendon="cord" armature="1"/></actuator>',
        "actuator 'm' adds armature or damping to something else than a hinge or slide joint",
    ),
    "armature on a ball": (
        arm('<joint name="b" type="ball"/>') + '<actuator><motor name="m" joint="b" damping="1"/></actuator>',
        "actuator 'm' adds armature or damping to something else",
    ),
    "nonlinear actuator": (
        arm() + '<actuator><motor name="m" joint="pin" damping="1 2"/></actuator>',
        "the damping of actuator 'm' is not linear",
    ),
    "flexible body": (arm(inside='<flexcomp name="f" type="grid" count="3 3 3"/>'), "<flexcomp> cannot be read"),
    "flex": ('<deformable><flex name="f" dim="1"/></deformable>' + arm(), "<flex> cannot be read"),
    "composite": (arm(inside='<composite type="cable"/>'), "<composite> cannot be read"),
    "plugin": (arm(inside='<plugin plugin="mujoco.elasticity.cable"/>'), "<plugin> cannot be read"),
    "attached model": (arm(inside='<attach model="m" prefix="p"/>'), "<attach> cannot be read"),
    "model asset": ('<asset><model name="m" file="m.xml"/></asset>' + arm(), "<model> cannot be read"),
}


@pytest.mark.parametrize(("content", "sentence"), REFUSED.values(), ids=REFUSED)
def test_other_physics_is_refused_by_name(content, sentence, tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{content}</mujoco>")
    with pytest.raises(ps.FileError, match=sentence) as refusal:
        ps.load(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize("name", ["fluid density", "gravity compensation", "plastic spring", "tendon damper"])
def test_forces_that_are_switched_off_are_not_refused(name, tmp_path):
    path = tmp_path / "robot.xml"
    off = '<option><flag spring="disable" damper="disable"/></option>'
    path.write_text(f"<mujoco>{off}{REFUSED[name][0]}</mujoco>")
    assert ps.load(path).nv == 1


def test_what_mujoco_refuses_is_told_with_the_files_own_line(tmp_path):
    path, part = tmp_path / "robot.xml", tmp_path / "part.xml"
    path.write_text('<mujoco>\n<include file="part.xml"/>\n</mujoco>')
    part.write_text(
        '<mujoco>\n<!-- a comment\nof two lines -->\n<worldbody><body\n name="b"><joint/>\n</body></worldbody></mujoco>'
    )
    with pytest.raises(ps.FileError, match=r"part\.xml:4: MuJoCo does not accept this: mass and inertia of moving"):
        ps.load(path)
    part.write_text('<mujoco>\n<worldbody>\n<body>\n<geom size="a"/></body></worldbody></mujoco>')
    with pytest.raises(ps.FileError, match=r"part\.xml:4: .*bad format in attribute 'size' \(element 'geom'\)"):
        ps.load(path)


WITHOUT = {
    "fluid": ('<option density="1.2"/>', "", ""),
    "armature": ("", "", '<body><joint type="free" armature="0.1"/><geom size="1"/></body>'),
    "gravcomp": ("", "", '<body gravcomp="1"><joint/><geom size="1"/></body>'),
    "tendons": (
        "",
        '<tendon><fixed name="t" stiffness="3"><joint joint="a" coef="1"/></fixed></tendon>',
        '<body><joint name="a"/><geom size="1"/></body>',
    ),
    "equalities": (
        '<equality><tendon tendon1="t"/></equality>',
        '<tendon><fixed name="t">' + "".join(f'<joint joint="{n}" coef="1"/>' for n in "abc") + "</fixed></tendon>",
        "".join(f'<body><joint name="{name}"/><geom size="1"/></body>' for name in "abc"),
    ),
}


@pytest.mark.parametrize("kind", WITHOUT)
def test_a_refusal_names_what_to_do_without_and_then_the_file_loads_and_says_so(kind, tmp_path):
    more, tendons, bodies = WITHOUT[kind]
    body = '<body><joint name="own"/><geom size="1"/></body>'
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco>{more}<worldbody>{body}{bodies}</worldbody>{tendons}</mujoco>")
    with pytest.raises(ps.FileError, match=rf"without=\['{kind}'\] .* --without {kind}\.$"):
        ps.load(path)
    with pytest.raises(ps.FileError, match="without="):
        ps.load(path, without=["springs"])
    model = ps.load(path, without=[kind])
    assert any("as asked for, were left out" in warning for warning in model.warnings)
    assert model.nv >= 1 and not model.loops


def test_without_takes_kinds_that_there_are_and_of_mjcf_alone(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text("<mujoco/>")
    with pytest.raises(ps.FileError, match="what can be left out is fluid, gravcomp"):
        ps.load(path, without=["everything"])
    (tmp_path / "robot.urdf").write_text('<robot><link name="a"/></robot>')
    with pytest.raises(ps.FileError, match="of MJCF files alone"):
        ps.load(tmp_path / "robot.urdf", without=["fluid"])
