"""Every law is one thing: called with NumPy, compiled, inside a rollout, exported as C; and it says what is wrong."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import phistar as ps

ARM, FRAME = ps.chain(7), "tip"
Q = np.array([0.3, -0.5, 0.6, 0.4, -0.7, 0.5, 0.3])
POSE = ps.forward_kinematics(ARM, Q, FRAME)
FORCE = np.array([0.1, 0.2, -0.1, 1.0, 2.0, -1.0])
COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def moved(pose):
    turn = ps.Pose(xyz=(0.02, -0.03, 0.01), rpy=(0.1, -0.2, 0.1))
    result = pose.copy()
    result[:3, :3] = turn.rotation @ pose[:3, :3]
    result[:3, 3] += turn.translation
    return result


def cases():
    """(law, reference or nothing)."""
    goal, twist = moved(POSE), 0.1 * np.arange(6.0)
    joint = [
        ps.control.InverseDynamicsControl(ARM),
        ps.control.PassivityControl(ARM),
        ps.control.EnergyControl(ARM),
        ps.control.DecoupledControl(ARM),
    ]
    found = [(law, (law.reference(Q + 0.1, 0.2 * Q, 0.3 * Q),)) for law in joint]
    found.append((ps.control.GravityCompensation(ARM), ()))
    found.append((law := ps.control.PDControl(ARM, kp=np.arange(1.0, 8.0)), (law.reference(Q + 0.1, 0.2 * Q),)))
    for tip in (ps.control.OperationalSpaceControl(ARM, FRAME), ps.control.ResolvedAccelerationControl(ARM, FRAME)):
        found.append((tip, (tip.reference(goal, twist, twist, Q + 0.2),)))
    found.append((law := ps.control.ImpedanceControl(ARM, FRAME), (law.reference(goal, twist, twist, Q + 0.2),)))
    found.append(
        (law := ps.control.ImpedanceControl(ARM, FRAME, mass=3), (law.reference(goal, twist, twist, Q, FORCE),))
    )
    law = ps.control.HybridControl(ARM, FRAME, selection=(1, 0, 0, 0, 0, 1), axes=goal[:3, :3])
    found.append((law, (law.reference(goal, FORCE, 0.5 * FORCE, twist, twist, Q),)))
    law = ps.control.PotentialFieldControl(ARM, FRAME, {"link4": 0.05}, radii=[0.1, 0.1], reach=2.0)
    found.append((law, (law.reference(goal[:3, 3], [[0.9, 0.1, 0.2], [0.2, 0.9, 0.4]]),)))
    return found


CASES = cases()
EVERY = pytest.mark.parametrize(("law", "reference"), CASES, ids=[type(law).__name__ for law, _ in CASES])
KINDS = (
    ps.control.PassivityControl,
    ps.control.OperationalSpaceControl,
    ps.control.HybridControl,
    ps.control.PotentialFieldControl,
)
CHOSEN = [case for case in CASES if isinstance(case[0], KINDS)]
SOME = pytest.mark.parametrize(("law", "reference"), CHOSEN, ids=[type(law).__name__ for law, _ in CHOSEN])


@pytest.mark.sampled(6)
@EVERY
def test_compiled_it_gives_the_same_forces_for_one_state_and_for_many(law, reference):
    rng = np.random.default_rng(0)
    q, v = Q + 0.1 * rng.normal(size=(3, 5, 7)), rng.normal(size=(3, 5, 7))
    fast = ps.compile(law)
    plain = law(0.5, q, v, *reference)
    assert plain.shape == (3, 5, 7)
    scale = np.abs(plain).max()
    np.testing.assert_allclose(fast(0.5, q, v, *reference), plain, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(fast(0.5, q[1, 2], v[1, 2], *reference), plain[1, 2], rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(law(0.5, q[1, 2], v[1, 2], *reference), plain[1, 2], rtol=0, atol=1e-11 * scale)


@pytest.mark.sampled(2)
@SOME
def test_inside_a_rollout_it_holds_its_forces_over_each_step(law, reference):
    parameters = reference[0] if reference else None
    found = ps.rollout(ARM, Q, np.zeros(7), dt=1e-3, steps=3, controller=law, parameters=parameters)
    held = [law(0.0, q, v, *reference) for q, v in zip(found.q[:-1], found.v[:-1], strict=True)]
    again = ps.rollout(ARM, Q, np.zeros(7), np.array(held), dt=1e-3)
    np.testing.assert_allclose(found.q, again.q, rtol=0, atol=1e-11)


@pytest.mark.sampled(2)
@pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine")
@SOME
def test_exported_as_c_it_gives_the_same_forces(law, reference, tmp_path):
    ps.export_c(law, ARM, tmp_path, name="law")
    library = tmp_path / "law.so"
    subprocess.run([COMPILER, "-std=c99", "-O1", "-shared", "-fPIC", "law.c", "-o", library, "-lm"],
                   cwd=tmp_path, check=True)  # fmt: skip
    function = ctypes.CDLL(str(library)).law
    v, out = np.linspace(-1, 1, 7), np.zeros(7)
    arrays = [np.array([0.5]), Q, v, *reference, out]
    function(*(np.ascontiguousarray(x).ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in arrays[:-1]),
             out.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))  # fmt: skip
    plain = law(0.5, Q, v, *reference)
    np.testing.assert_allclose(out, plain, rtol=0, atol=1e-11 * np.abs(plain).max())


@EVERY
def test_a_law_is_a_value_that_says_its_inputs(law, reference):
    assert dict(law.rows) == ({"reference": reference[0].size} if reference else {})
    with pytest.raises(AttributeError):
        law.model = None


@EVERY
def test_every_law_is_a_controller(law, reference):
    assert isinstance(law, ps.control.Controller) and law.model is ARM


def test_following_a_path_is_a_law_of_time_alone():
    law = ps.control.InverseDynamicsControl(ARM)
    path = ps.control.joint_trajectory(ARM, [Q, Q + 0.2, Q - 0.1], velocity=2.0, acceleration=8.0)
    following = law.following(path)
    fast, v = ps.compile(following), np.linspace(-1, 1, 7)
    assert following.rows == {} and fast.inputs == ("t", "q", "v")
    for t in (0.0, 0.3 * path.duration, 0.9 * path.duration):
        expected = law(t, Q, v, law.reference(*path(t)))
        np.testing.assert_allclose(fast(t, Q, v), expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(following(t, Q, v), expected, rtol=0, atol=1e-12)
    run = ps.simulate(ARM, Q, np.zeros(7), path.duration, control=following)
    assert np.abs(run.q - path(run.t).q).max() < 1e-7
    held = ps.rollout(ARM, Q, np.zeros(7), dt=1e-4, steps=5000, controller=following)
    assert np.abs(held.q - path(held.t).q).max() < 1e-3
    with pytest.raises(ps.ShapeError, match="no reference"):
        ps.control.GravityCompensation(ARM).following(path)


def test_references_broadcast_and_are_checked():
    law = ps.control.InverseDynamicsControl(ARM)
    assert law.reference(np.tile(Q, (4, 1)), Q).shape == (4, 21)
    with pytest.raises(ps.ShapeError, match="the reference's q"):
        law.reference(Q[:3])
    with pytest.raises(ps.ShapeError, match=r"needs \(…, 21\)"):
        law(0.0, Q, Q, np.zeros(20))
    with pytest.raises(ps.ShapeError, match="broadcast"):
        law.reference(np.tile(Q, (4, 1)), np.tile(Q, (3, 1)))
    with pytest.raises(ps.ShapeError, match="pose"):
        ps.control.OperationalSpaceControl(ARM, FRAME).reference(np.eye(3))


@EVERY
def test_states_and_references_of_the_wrong_shape_are_refused(law, reference):
    v = np.zeros(7)
    with pytest.raises(ps.ShapeError, match=r"q has shape \(5,\)"):
        law(0.0, Q[:5], v, *reference)
    if not reference:
        return
    for bad in (v[:5], 0.3, [0.3]):
        with pytest.raises(ps.ShapeError, match="v has shape"):
            law(0.0, Q, bad, *reference)
    with pytest.raises(ps.ShapeError, match="The reference has shape"):
        law(0.0, Q, v, reference[0][:-1])
    for q, target in ((np.tile(Q, (3, 1)), np.tile(reference[0], (2, 1))), (np.tile(Q, (2, 1)), np.zeros((3, 1, 0)))):
        with pytest.raises(ps.ShapeError):
            law(0.0, q, v, target)


def test_parts_of_a_tips_reference_are_checked_one_by_one():
    hybrid, impedance = ps.control.HybridControl(ARM, FRAME, [0] * 6), ps.control.ImpedanceControl(ARM, FRAME, mass=2.0)
    with pytest.raises(ps.ShapeError, match="twist of the reference"):
        hybrid.reference(POSE, FORCE, FORCE, twist=np.zeros(3))
    with pytest.raises(ps.ShapeError, match="measured force"):
        hybrid.reference(POSE, FORCE, np.zeros(3))
    with pytest.raises(ps.ShapeError, match="posture"):
        hybrid.reference(POSE, FORCE, FORCE, posture=np.zeros(3))
    with pytest.raises(ps.ShapeError, match="measured force"):
        impedance.reference(POSE, force=np.zeros(3))
    for axes in (np.full((3, 3), np.nan), "north", np.diag([1.0, 1.0, -1.0]), np.eye(2)):
        with pytest.raises(ps.ShapeError, match="rotation matrix"):
            ps.control.HybridControl(ARM, FRAME, [0] * 6, axes=axes)


@pytest.mark.parametrize("bad", [-1.0, np.nan, [1.0, 2.0], "stiff", None])
def test_gains_are_numbers_that_are_not_negative(bad):
    with pytest.raises(ps.PhistarError, match="PDControl's kp"):
        ps.control.PDControl(ARM, kp=bad, kd=1.0)


def test_damping_left_out_is_critical():
    law = ps.control.OperationalSpaceControl(ARM, FRAME, kp=49, posture_kp=4)
    assert np.all(law.kd == 14) and np.all(law.posture_kd == 4)


def test_unknown_frames_and_loops_are_refused():
    with pytest.raises(ps.UnknownNameError, match="nowhere"):
        ps.control.OperationalSpaceControl(ARM, "nowhere")
    for kind in (
        ps.control.OperationalSpaceControl,
        ps.control.ResolvedAccelerationControl,
        ps.control.ImpedanceControl,
    ):
        with pytest.raises(ps.UnknownNameError, match="one frame"):
            kind(ARM, ["tip"])
    with pytest.raises(ps.PhistarError, match=r"'link3' of chain7\. Give task_damping"):
        ps.control.ImpedanceControl(ARM, "link3")
    with pytest.raises(ps.PhistarError, match=r"'link3' of chain7\. Choose"):
        ps.control.ResolvedAccelerationControl(ARM, "link3")
    b = ps.ModelBuilder("looped")
    for name, parent in (("a", "world"), ("b", "a"), ("c", "b")):
        b.body(name, parent=parent, joint=ps.Revolute(), placement=ps.Pose(xyz=(1, 0, 0)),
               inertia=ps.Inertia(1.0, (0.5, 0, 0), np.eye(3)))  # fmt: skip
    b.frame("end", body="c", placement=ps.Pose(xyz=(1, 0, 0)))
    b.frame("post", body="world", placement=ps.Pose(xyz=(0, 2, 0)))
    b.loop("closure", "end", "post", joint=ps.Revolute())
    with pytest.raises(ps.ModelError, match=r"closure.*model\.tree"):
        ps.control.PassivityControl(b.build())
