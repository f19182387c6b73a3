"""Task coordinates: ẏ and ÿ are the time derivatives of y, β = Πẏ, and a commanded ÿ is the ÿ that comes."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import InfeasibleError, ModelError, ShapeError, StatementError
from phistar.spatial import rotations
from tests.trees import relative

casadi = pytest.importorskip("casadi")

PUMA = ps.load("puma560")
RNG = np.random.default_rng(7)
Q, V, A = RNG.uniform(-1.2, 1.2, (5, 6)), RNG.normal(size=(5, 6)), RNG.normal(size=(5, 6))


def cylinder(pose):
    """Radius squared, height, and the tool's axis: a map no library brings along."""
    return casadi.vertcat(pose[0, 3] ** 2 + pose[1, 3] ** 2, pose[2, 3], pose[:3, 2])


def user_pose():
    pose = casadi.SX.sym("pose", 4, 4)
    return casadi.Function("cylinder", [pose], [cylinder(pose)])


def user_angles():
    """Bearing and elevation, as a function of q alone."""
    q = casadi.SX.sym("q", 6)
    return casadi.Function("sums", [q], [casadi.vertcat(casadi.sin(q[0]) * q[1], q[2] + q[3] ** 2, casadi.cos(q[5]))])


TASKS = {
    "position": ps.control.position_task("tool"),
    "quaternion": ps.control.quaternion_task("tool"),
    "euler": ps.control.euler_task("tool"),
    "casadi, of a pose": ps.control.casadi_task(user_pose(), "tool"),
    "casadi, of q": ps.control.casadi_task(user_angles()),
}
POSES = ("quaternion", "euler")


@pytest.mark.parametrize("name", TASKS)
def test_rates_and_accelerations_are_those_of_the_coordinates(name):
    """ẏ = Jθ̇ and ÿ = Jθ̈ + J̇θ̇, against central differences of y along θ(t) = q + vt + ½at²."""
    task, h = TASKS[name], 1e-4
    at = {t: task(PUMA, Q + V * t + 0.5 * A * t * t, V + A * t) for t in (-h, 0.0, h)}
    state = at[0.0]
    assert relative(state.rate, (at[h].y - at[-h].y) / (2 * h)) < 1e-7
    acceleration = np.einsum("...ij,...j->...i", state.jacobian, A) + state.drift
    assert relative(acceleration, (at[h].rate - at[-h].rate) / (2 * h)) < 1e-6
    assert relative(np.einsum("...ij,...j->...i", state.jacobian, V), state.rate) < 1e-12


@pytest.mark.parametrize("name", POSES)
def test_pi_gives_the_tips_motion_back(name):
    """β = Πẏ (KJR92 eq. 1)."""
    task = TASKS[name]
    beta = np.einsum("...ij,...j->...i", ps.jacobian(PUMA, Q, "tool"), V)
    assert relative(np.einsum("...ij,...j->...i", task.Pi(PUMA, Q), task(PUMA, Q, V).rate), beta) < 1e-10


@pytest.mark.parametrize("name", [*POSES, "position"])
def test_a_commanded_acceleration_is_the_one_that_comes(name):
    """β̇ = Πw + Π̇ẏ makes ÿ = w; for a quaternion, w as far as it keeps its length."""
    task, rng = TASKS[name], np.random.default_rng(1)
    state = task(PUMA, Q, V)
    wanted = rng.normal(size=(5, PUMA.nv))
    accelerations = np.einsum("...ij,...j->...i", state.jacobian, wanted) + state.drift  # a ÿ that can be
    u = task.commanded(PUMA, Q, V, accelerations)
    expected = np.einsum("...ij,...j->...i", ps.jacobian(PUMA, Q, "tool"), wanted)
    expected = expected + ps.jacobian_dot_v(PUMA, Q, V, "tool")
    if name == "position":
        u, expected = u[..., 3:], expected[..., 3:]
    assert relative(u, expected) < 1e-9


def test_coordinates_describe_the_pose():
    pose = ps.forward_kinematics(PUMA, Q, "tool")
    y = TASKS["quaternion"](PUMA, Q, V).y
    assert relative(rotations.from_quaternion(y[..., 3:]), pose[..., :3, :3]) < 1e-13
    assert np.all(y[..., 6] >= 0)
    angles = TASKS["euler"](PUMA, Q, V).y
    assert relative(rotations.from_rpy(angles[..., 3:]), pose[..., :3, :3]) < 1e-13
    assert np.array_equal(TASKS["position"](PUMA, Q, V).y, pose[..., :3, 3])


def test_the_quaternion_is_exact_for_half_turns_too_and_stays_on_the_side_asked_for():
    """Half turns are where the scalar part vanishes and formulas through it lose half the digits."""
    for axis in np.vstack([np.eye(3), RNG.normal(size=(5, 3)), [[1, -1, 0]]]):
        axis = axis / np.linalg.norm(axis)
        builder = ps.ModelBuilder("turntable")
        builder.body("plate", joint=ps.Revolute(axis=axis), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
        builder.frame("top", body="plate")
        model = builder.build()
        exact = np.append(axis, 0.0)
        for near in (exact, -exact):
            y = ps.control.quaternion_task("top", near=near)(model, [np.pi], [0.0]).y
            assert np.allclose(y[3:], near, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["position", "quaternion", "casadi, of a pose", "casadi, of q"])
def test_a_task_compiles(name):
    task = TASKS[name]
    compiled = ps.compile(lambda q, v: task(PUMA, q, v), PUMA)
    for ours, theirs in zip(compiled(Q, V), task(PUMA, Q, V), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["position", "euler", "casadi, of a pose", "casadi, of q"])
def test_task_space_forces_make_the_accelerations_that_its_equation_says(name):
    """T = J_y*F gives ÿ with Λ_y ÿ + c_y + g_y = F."""
    task, rng = TASKS[name], np.random.default_rng(9)
    if name == "casadi, of a pose":  # radius squared and height: two directions of the five coordinates
        pose = casadi.SX.sym("pose", 4, 4)
        task = ps.control.casadi_task(casadi.Function("rim", [pose], [cylinder(pose)[:2]]), "tool")
    force = rng.normal(size=(5, task.rows))
    state, space = task(PUMA, Q, V), ps.control.task_space(PUMA, Q, V, task)
    tau = np.einsum("...ji,...j->...i", state.jacobian, force)
    acceleration = np.einsum("...ij,...j->...i", state.jacobian, ps.forward_dynamics(PUMA, Q, V, tau)) + state.drift
    left = np.einsum("...ij,...j->...i", space.inertia, acceleration) + space.coriolis + space.gravity
    assert np.allclose(left, force, rtol=0, atol=1e-14 * space.condition.max() * np.abs(space.gravity).max())
    assert np.all(space.rank == task.rows)


def test_a_planar_arm_has_a_task_space_for_what_it_can_move():
    """Three joints, three coordinates: x, y and the angle; where Λ(0) does not exist, Λ_y does."""
    model = ps.load("planar3")
    frame, q, v = list(model.frames)[-1], np.array([0.3, 0.5, 0.7]), np.ones(3)
    pose = casadi.SX.sym("pose", 4, 4)
    task = ps.control.casadi_task(casadi.Function("plane", [pose], [casadi.vertcat(pose[:2, 3], pose[1, 0])]), frame)
    space, jacobian = ps.control.task_space(model, q, v, task), task(model, q, v).jacobian
    assert relative(jacobian.T @ space.inertia @ jacobian, ps.mass_matrix(model, q)) < 1e-9
    compiled = ps.compile(lambda q, v: ps.control.task_space(model, q, v, task), model)
    assert relative(compiled(q, v).inertia, space.inertia) < 1e-9


def test_seven_coordinates_of_a_pose_have_no_inertia_but_a_truncated_one():
    with pytest.raises(InfeasibleError, match="7 coordinates describe 6 directions"):
        ps.control.task_space(PUMA, Q, V, TASKS["quaternion"])
    space = ps.control.task_space(PUMA, Q, V, TASKS["quaternion"], truncation=1e-9)
    assert np.all(space.rank == 6)


def test_euler_angles_are_refused_where_they_do_not_exist():
    builder = ps.ModelBuilder("pitch")
    builder.body("arm", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
    builder.frame("tip", body="arm")
    state = ps.control.euler_task("tip")(builder.build(), [np.pi / 2], [1.0])
    assert np.isnan(state.rate).any()


def test_wrong_maps_are_said_in_sentences():
    pose, q = casadi.SX.sym("pose", 4, 4), casadi.SX.sym("q", 6)
    with pytest.raises(ShapeError, match=r"takes its pose, \(4, 4\)"):
        ps.control.casadi_task(casadi.Function("f", [q], [q]), "tool")
    with pytest.raises(StatementError, match="one argument with one column"):
        ps.control.casadi_task(casadi.Function("f", [pose, q], [q]), "tool")
    with pytest.raises(StatementError, match="one argument with one column"):
        ps.control.casadi_task(lambda q: q)
    arm, free = ps.control.casadi_task(casadi.Function("f", [q], [q])), ps.load("freeflyer")
    with pytest.raises(ModelError, match=r"takes 6 coordinates.*nq = "):
        arm(free, free.neutral(), np.zeros(free.nv))
    with pytest.raises(ShapeError, match="quaternion"):
        ps.control.quaternion_task("tool", near=(0, 0, 0, 0))
