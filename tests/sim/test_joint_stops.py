"""Joint limits of models in `ps.simulate` and `ps.rollout`: joints stop there and leave when something pulls."""

import numpy as np
import pytest

import phistar as ps

BALL = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01)
ROD = ps.Inertia(1.0, (0, 0, -0.5), np.eye(3) * 0.01)


def robot(joint, inertia=BALL, gravity=(0, 0, -9.81)):
    builder = ps.ModelBuilder("limited", gravity=gravity)
    builder.body("part", "world", joint, inertia=inertia)
    return builder.build()


def test_a_model_stops_where_the_same_robot_in_a_plant_does():
    """The plant's stop pushes from 1 mrad before the limit on, and gives way for 10 ms."""
    pendulum = robot(ps.Revolute(axis=(0, 1, 0), limits=(-0.5, 0.5)), ROD)
    plant = ps.Plant(gravity=pendulum.gravity)
    plant.add(pendulum, "pendulum")
    plant.actuate("pendulum", "force", limits=np.inf)

    def push(t, q, v):
        return np.array([30.0 if t < 1.0 else -30.0])

    there = ps.simulate(plant, 1.5, control=push, step=5e-4)
    here = ps.simulate(pendulum, [0.0], [0.0], 1.5, push, t_eval=there.t)
    assert np.abs(here.q - there.q).max() < 6e-3 and np.abs(here.q).max() <= 0.5 + 1e-15
    assert [e.what for e in here.events] == [e.what for e in there.events] == ["limit", "release", "limit"]
    assert np.allclose([e.time for e in here.events], [e.time for e in there.events], atol=2e-3)
    assert here.events[0].where == "part"


def test_dry_friction_and_a_stop_hold_one_joint():
    """Driven by 5 N against 2 N of friction it arrives after √(2·0.3/3) s; −1 N does not move it, −4 N does."""
    slide = robot(ps.Prismatic(axis=(1, 0, 0), limits=(-0.2, 0.3), friction=2.0), gravity=(0, 0, 0))

    def push(t, q, v):
        return np.array([5.0 if t < 1.0 else -1.0 if t < 2.0 else -4.0])

    run = ps.simulate(slide, [0.0], [0.0], 4.0, push)
    assert [e.what for e in run.events] == ["limit", "release", "limit"]
    times = [e.time for e in run.events]
    assert times == pytest.approx([np.sqrt(0.2), 2.0, 2.0 + np.sqrt(2 * 0.5 / 2)], abs=1e-8)
    assert run.q[-1] == pytest.approx([-0.2], abs=1e-9) and run.v[-1] == 0.0


def test_a_stop_between_two_bodies_keeps_their_momentum():
    builder = ps.ModelBuilder("two", gravity=(0, 0, 0))
    builder.body("cart", "world", ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(3.0, (0, 0, 0), np.eye(3)))
    builder.body("block", "cart", ps.Prismatic(axis=(1, 0, 0), limits=(-0.1, 0.1)), inertia=BALL)
    run = ps.simulate(builder.build(), [0.0, 0.0], [0.0, 2.0], 0.2)
    assert run.v[-1] == pytest.approx([2.0 / 4.0, 0.0], abs=1e-12)
    assert run.events[0].time == pytest.approx(0.05, abs=1e-9)
    assert run.signals["energy"][-1] == pytest.approx(0.5 * 4.0 * 0.5**2)


def test_a_falling_arm_never_passes_its_limits():
    arm = ps.load("panda")
    run = ps.simulate(arm, 0.5 * (arm.lower_limits + arm.upper_limits), np.zeros(arm.nv), 1.5, rtol=1e-7)
    assert min((run.q - arm.lower_limits).min(), (arm.upper_limits - run.q).min()) > -1e-12
    assert {"panda_joint2", "panda_joint5", "panda_joint7"} <= {e.where for e in run.events if e.what == "limit"}
    free = run.signals["energy"] - run.signals["work"]
    assert np.diff(free).max() < 1e-6 and free[-1] < free[0] - 1.0  # what stops take does not come back


def parallelogram():
    """Three rods of 1 m and 1 kg, and the ground between; the rocker's angle has a lower limit."""
    b = ps.ModelBuilder("parallelogram", gravity=(0, -9.81, 0))
    rod, z = ps.Inertia(1.0, (0.5, 0, 0), np.diag([1e-4, 1 / 12, 1 / 12])), ps.Revolute(axis=(0, 0, 1))
    b.body("crank", "world", z, inertia=rod)
    b.body("coupler", "crank", z, ps.Pose(xyz=(1, 0, 0)), rod)
    b.body("rocker", "world", ps.Revolute(axis=(0, 0, 1), limits=(0.4, 3.0)), ps.Pose(xyz=(1, 0, 0)), rod)
    b.frame("coupler_end", body="coupler", placement=ps.Pose(xyz=(1, 0, 0)))
    b.frame("rocker_end", body="rocker", placement=ps.Pose(xyz=(1, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=z)
    return b.build()


def test_a_closed_mechanism_stops_closed():
    run = ps.simulate(parallelogram(), [1.2, -1.2, 1.2], np.zeros(3), 1.0)
    assert [(e.what, e.where) for e in run.events] == [("limit", "rocker")]
    assert run.q[-1] == pytest.approx([0.4, -0.4, 0.4], abs=1e-8) and np.abs(run.v[-1]).max() < 1e-10
    assert run.q[:, 2].min() > 0.4 - 1e-9 and np.abs(run.signals["loop_residual"]).max() < 1e-9


def test_independent_rates_leave_limits_out_and_say_so_once(caplog):
    chosen = parallelogram().embedded()
    for _ in range(2):
        ps.simulate(chosen, [1.2, -1.2, 1.2], [0.0], 0.01)
    (told,) = [record.getMessage() for record in caplog.records if record.name == "phistar"]
    assert "ps.simulate of parallelogram leaves out the limits of joints (rocker)" in told


def test_a_start_beyond_a_limit_is_refused_unless_limits_are_left_out():
    slide = robot(ps.Prismatic(axis=(1, 0, 0), limits=(-0.2, 0.3)), gravity=(0, 0, 0))
    with pytest.raises(ps.PhistarError, match=r"'part' starts at 0\.4, above its limits -0\.2 to 0\.3"):
        ps.simulate(slide, [0.4], [1.0], 1.0)
    assert ps.simulate(slide, [0.4], [1.0], 1.0, limits="ignore").q[-1] == pytest.approx([1.4])
    at = ps.simulate(slide, [0.3], [1.0], 1.0)
    assert at.q[-1] == pytest.approx([0.3]) and [e.what for e in at.events] == ["limit"]
    with pytest.raises(ps.PhistarError, match="limits='stop' or 'ignore'"):
        ps.simulate(slide, [0.0], [1.0], 1.0, limits="tell")


def test_a_prescribed_joint_moves_as_told_beyond_its_limit():
    slide = robot(ps.Prismatic(axis=(1, 0, 0), limits=(-0.2, 0.3)))
    run = ps.simulate(slide, [0.0], [1.0], 1.0, lambda t, q, v: np.zeros(1), prescribed=["part"])
    assert run.q[-1] == pytest.approx([1.0])


def test_a_rollout_stops_where_simulate_does_and_is_smooth_before():
    pendulum = robot(ps.Revolute(axis=(0, 1, 0), limits=(-0.5, 0.5)), ROD)
    rates = np.array([[-5.0], [0.3], [3.0], [np.nan]])
    run = ps.rollout(pendulum, [0.0], rates, dt=1e-3, steps=400)
    free = ps.rollout(pendulum, [0.0], rates, dt=1e-3, steps=400, limits="ignore")
    assert np.array_equal(run.q[1], free.q[1]) and np.isnan(run.q[3, 1:]).all()
    for row in (0, 2):
        exact = ps.simulate(pendulum, [0.0], rates[row], 0.4, t_eval=run.t)
        assert np.abs(run.q[row]).max() <= 0.5 < np.abs(free.q[row]).max()
        assert np.abs(run.q[row] - exact.q).max() < 8e-3
        before = int(np.argmax(np.abs(free.q[row]) > 0.5))
        assert np.array_equal(run.q[row, :before], free.q[row, :before])


def test_dry_friction_holds_in_a_rollout_whatever_drives_it():
    """Below 2 N the joint moves by its bristle alone, and does not creep; above it slides, once that is bent."""
    slide = robot(ps.Prismatic(axis=(1, 0, 0), friction=2.0), gravity=(0, 0, 0))
    pushes = np.array([[1.9], [2.1]])
    told = np.broadcast_to(pushes[:, None], (2, 500, 1))
    run = ps.rollout(slide, [0.0], [0.0], told, dt=1e-3)
    law = ps.rollout(slide, [0.0], [0.0], dt=1e-3, steps=500, controller=lambda t, q, v, p: p, parameters=pushes)
    gains = np.zeros((2, 500, 1, 2))
    fed = ps.rollout(
        slide, [0.0], [0.0], dt=1e-3, feedback=gains, around=(np.zeros((500, 1)), np.zeros((500, 1)), told)
    )
    for made in (run, law, fed):
        assert np.ptp(made.q[0, 250:]) < 1e-12 and np.abs(made.q[0]).max() < 1e-5
        assert made.q[1, -1] == pytest.approx([0.5 * 0.1 * 0.5**2], rel=0.03)


def test_a_rollout_from_beyond_a_limit_is_refused():
    slide = robot(ps.Prismatic(axis=(1, 0, 0), limits=(-0.2, 0.3)))
    with pytest.raises(ps.PhistarError, match=r"'part' starts at 0\.4"):
        ps.rollout(slide, [[0.0], [0.4]], [0.0], dt=1e-3, steps=2)
