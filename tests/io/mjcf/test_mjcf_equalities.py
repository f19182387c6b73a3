"""Equality constraints of MJCF files leave the same errors as MuJoCo's."""

from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.spatial import to_quaternion

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

DATA = Path(__file__).resolve().parents[2] / "data" / "mjcf"
ARMS = (
    '<worldbody><body name="a"><joint name="p"/><geom size="0.1"/></body>'
    '<body name="b" pos="1 0 0"><joint name="q"/><joint name="r" axis="1 0 0"/><geom size="0.1"/>'
    '<body name="c" pos="1 0 0"><geom size="0.1"/></body></body></worldbody>'
)


@pytest.fixture
def load(tmp_path):
    """Loads the two arms with these sections."""

    def write(sections: str, **options) -> ps.Model:
        path = tmp_path / "robot.xml"
        path.write_text(f"<mujoco>{ARMS}{sections}</mujoco>")
        return ps.load(path, **options)

    return write


def frame_pose(model: ps.Model, q, name: str) -> ps.Pose:
    frame = model.frame(name)
    pose, body = frame.placement, frame.body
    while body >= 0:
        rotation, translation = model.joints[body].kind.pose(q[model.joints[body].q_slice])
        pose = model.bodies[body].placement @ ps.Pose(xyz=translation, rotation=rotation) @ pose
        body = model.parents[body]
    return pose


def errors(model: ps.Model, q, loop) -> np.ndarray:
    """p_a − p_b, and for a weld the vector part of the quaternion from b to a; for a coupling q_a − polynomial."""
    if isinstance(loop.joint, ps.Coupling):
        driver = 0.0 if loop.joint_b is None else q[model.joint(loop.joint_b).q_slice]
        wanted = np.polynomial.polynomial.polyval(driver, loop.joint.coefficients)
        return np.atleast_1d(q[model.joint(loop.joint_a).q_slice] - wanted)
    a, b = frame_pose(model, q, loop.frame_a), frame_pose(model, q, loop.frame_b)
    gap = a.translation - b.translation
    if isinstance(loop.joint, ps.Spherical):
        return gap
    x, y, z, w = to_quaternion(b.rotation.T @ a.rotation)
    return np.concatenate([gap, np.array([x, y, z]) * np.sign(w)])


def mujoco_errors(mj, data, name: str) -> np.ndarray:
    number = mujoco.mj_name2id(mj, mujoco.mjtObj.mjOBJ_EQUALITY, name)
    rows = (data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY) & (data.efc_id == number)
    return data.efc_pos[rows].copy()


def test_every_kind_of_equality_leaves_mujocos_error():
    model = ps.load(DATA / "features.xml")
    mj = mujoco.MjModel.from_xml_path(str(DATA / "features.xml"))
    data, rng = mujoco.MjData(mj), np.random.default_rng(5)
    assert [loop.name for loop in model.loops] == [mj.equality(number).name for number in range(mj.neq)]
    for _ in range(3):
        q = model.random(rng)
        data.qpos[:] = q
        for joint in model.joints:
            if joint.nq != joint.nv:
                tail = slice(joint.q_slice.stop - 4, joint.q_slice.stop)
                data.qpos[tail] = np.roll(q[tail], 1)
        mujoco.mj_forward(mj, data)
        for loop in model.loops:
            ours, theirs = errors(model, q, loop), mujoco_errors(mj, data, loop.name)
            if len(ours) == 6 and ours[3:] @ theirs[3:] < 0:
                theirs[3:] *= -1  # a quaternion and its negative are the same turn
            if loop.name == "hook":
                theirs = theirs[:3]  # torquescale 0 leaves MuJoCo three rows that are always 0
            if loop.name == "differential":
                theirs = theirs / 2.0  # MuJoCo's error is a length of the tendon, ours the angle of a joint in it
            assert ours == pytest.approx(theirs, abs=1e-12), loop.name


def test_cassies_rods_are_loops():
    model = ps.load(DATA / "cassie.xml")
    assert [type(loop.joint) for loop in model.loops] == 4 * [ps.Spherical]
    assert [loop.name for loop in model.loops] == [f"equality{number}" for number in range(4)]


def test_inactive_constraints_are_listed(load):
    connect = '<connect body1="a" body2="b" anchor="0 0 0" active="false"/>'
    model = load(f"<equality>{connect}</equality>")
    assert model.loops == () and model.warnings == ("Inactive equality constraints were left out (1).",)
    off = '<option><flag equality="disable"/></option>'
    assert load(f'{off}<equality><joint joint1="p"/></equality>').loops == ()


def test_constraints_within_one_rigid_body_are_listed(load):
    model = load('<equality><weld body1="b" body2="c"/></equality>')
    assert model.warnings == ("Equality constraints within one rigid body were left out (1).",)


def test_a_tendon_of_three_joints_is_refused_by_name(load):
    joints = "".join(f'<joint joint="{name}" coef="1"/>' for name in "pqr")
    tendon = f'<tendon><fixed name="t">{joints}</fixed></tendon><equality><tendon name="sum" tendon1="t"/></equality>'
    with pytest.raises(ps.FileError, match=r"the equality constraint 'sum' \(<tendon>\)"):
        load(tendon)


def test_a_tendon_of_one_joint_holds_it(load):
    tendon = '<tendon><fixed name="t"><joint joint="p" coef="4"/></fixed></tendon>'
    (loop,) = load(tendon + '<equality><tendon tendon1="t" polycoef="2 0 0 0 0"/></equality>').loops
    assert (loop.joint_a, loop.joint_b, loop.joint.coefficients.tolist()) == ("p", None, [0.5])


def test_names_made_for_the_ends_of_loops_clash_with_none(load):
    both = '<connect name="c" body1="a" body2="b" anchor="0 0 0"/><weld name="c_a" body1="a" body2="b"/>'
    model = load(f"<equality>{both}</equality>")
    assert [(loop.frame_a, loop.frame_b) for loop in model.loops] == [("c_a", "c_b"), ("c_a_a", "c_a_b")]


def test_a_floating_base_can_be_tied_to_the_world(tmp_path):
    path, weld = tmp_path / "robot.xml", '<equality><weld name="dock" body1="base"/></equality>'
    path.write_text(f'<mujoco><worldbody><body name="base"><geom size="0.1"/></body></worldbody>{weld}</mujoco>')
    assert ps.load(path).loops == ()
    assert [loop.name for loop in ps.load(path, floating=True).loops] == ["dock"]
