"""Teleoperation over a link that is late: what is passive with the observers, and is not without them."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import ModelError, ShapeError

pytest.importorskip("coal")
PERIOD = 0.002
WALL = 0.1


def carts(wall):
    """Two carts along x, and a wall before the second."""
    plant = ps.Plant(gravity=(0, 0, 0))
    for name, y in (("near", 0.0), ("far", 1.0)):
        builder = ps.ModelBuilder(name, gravity=(0, 0, 0))
        slide = ps.Prismatic((1, 0, 0), damping=2.0, effort=100.0)
        ball = ps.Geometry(ps.Sphere(0.02), name=f"{name} ball", role="collision")
        builder.body("cart", "world", slide, inertia=ps.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)), geometry=[ball])
        builder.frame("tip", "cart")
        plant.add(builder.build(), name, ps.Pose(xyz=(0.0, y, 0.0)))
        plant.actuate(name, "force")
    if wall:
        plant.add_shape(ps.Box((0.1, 0.4, 0.4)), at=ps.Pose(xyz=(WALL + 0.07, 1.0, 0.0)), name="wall")
    return plant


def run_of(link, passive=True, hand=None, duration=5.0, wall=True):
    plant = carts(wall)
    sides = ps.onboard.LeaderSide(PERIOD, passive=passive), ps.onboard.FollowerSide(PERIOD, passive=passive)
    pair = ps.onboard.RemotePair(plant.model, "near/tip", "far/tip", *sides, link, hand or push)
    return ps.simulate(plant, duration=duration, step=PERIOD, control=pair)


def push(t, pose, twist):
    """A hand that leads the device to 0.2 m: 100 mm into the wall."""
    goal = 0.2 * min(t, 1.0)
    return np.array([0, 0, 0, 40.0 * (goal - pose[0, 3]) - 4.0 * twist[3], 0, 0])


def late_motion(run):
    """How far both carts still move in the last second."""
    return np.ptp(run.q[run.t > run.t[-1] - 1.0], axis=0)


@pytest.mark.parametrize(
    "link", [ps.onboard.LateLink(0.2), ps.onboard.LateLink(0.1, jitter=0.1, loss=0.2, seed=1)], ids=["late", "lossy"]
)
def test_with_the_observers_a_late_link_gives_no_energy_and_the_wall_is_felt(link):
    run = run_of(link)
    energy = run.signals["facts/energy"]
    assert energy.min() > -0.05 and energy.max() > 0.1  # what a sample foretells wrongly, next to what went through
    assert late_motion(run).max() < 0.01
    assert run.q[-1, 1] == pytest.approx(WALL, abs=1e-3) and run.q[-1, 0] > WALL
    felt, force = (run.signals[f"facts/{side}_force"][-1] for side in ("leader", "follower"))
    assert 0.5 < felt <= force < 20.0


def test_without_them_the_same_link_swings_up():
    run = run_of(ps.onboard.LateLink(0.2), passive=False)
    assert run.signals["facts/energy"].min() < -10.0
    assert late_motion(run).min() > 0.1


def test_in_free_space_the_follower_goes_where_the_leader_went():
    run = run_of(ps.onboard.LateLink(0.2), wall=False)
    np.testing.assert_allclose(run.q[-1, 0], 0.2, atol=0.01)
    np.testing.assert_allclose(run.q[-1, 1], run.q[-1, 0], atol=0.01)


def test_arms_follow_in_all_six_ways():
    plant = ps.Plant(gravity=(0, 0, 0))
    start = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2])
    for name, y in (("near", 0.0), ("far", 2.0)):
        plant.add(ps.load("puma560_akb"), name, ps.Pose(xyz=(0.0, y, 0.0)), q=start, collides=False)
        plant.actuate(name, "force")
    home = ps.forward_kinematics(plant.model, plant.state().q, "near/tool")

    def hand(t, pose, twist):
        goal = home[:3, 3] + min(t, 1.0) * np.array([0.05, -0.04, 0.06])
        return (
            np.concatenate([[0.0, 0.0, 2.0], 400.0 * (goal - pose[:3, 3])]) - np.array([8.0] * 3 + [80.0] * 3) * twist
        )

    sides = ps.onboard.LeaderSide(PERIOD), ps.onboard.FollowerSide(PERIOD)
    pair = ps.onboard.RemotePair(plant.model, "near/tool", "far/tool", *sides, ps.onboard.LateLink(0.1), hand)
    run = ps.simulate(plant, duration=4.0, step=PERIOD, control=pair)
    moved = []
    for frame in ("near/tool", "far/tool"):
        first, last = (ps.forward_kinematics(plant.model, run.q[k], frame) for k in (0, -1))
        moved.append(np.concatenate([(last[:3, :3] @ first[:3, :3].T).ravel(), last[:3, 3] - first[:3, 3]]))
    assert np.linalg.norm(moved[0][9:]) > 0.05 and np.abs(moved[0][:9] - np.eye(3).ravel()).max() > 0.02
    np.testing.assert_allclose(moved[1], moved[0], atol=0.03)
    assert run.signals["facts/energy"].min() > -0.05


def test_a_link_that_falls_silent_stops_the_follower_and_frees_the_leader():
    leader = ps.onboard.LeaderSide(0.01, patience=10)
    follower = ps.onboard.FollowerSide(0.01, patience=10, passive=False)
    near, far = leader.start(np.eye(4)), follower.start(np.eye(4))
    twist = np.array([0, 0, 0, 0.1, 0, 0])
    sent = leader.answer(near, np.eye(4), twist, None).message
    answer = follower.answer(far, np.eye(4), np.zeros(6), sent)
    back = follower.answer(answer.port, np.eye(4), np.zeros(6), None).message
    felt = leader.answer(near, np.eye(4), np.zeros(6), back)
    assert np.abs(felt.wrench).max() > 0.0
    places = []
    for _ in range(30):
        answer = follower.answer(answer.port, np.eye(4), np.zeros(6), None)
        felt = leader.answer(felt.port, np.eye(4), np.zeros(6), None)
        places.append(answer.port.pose[0, 3])
    assert places[5] > places[4] and places[-1] == places[-10]
    assert not np.any(felt.wrench)


def test_messages_go_over_loopback_and_strangers_are_refused():
    leader, follower = ps.onboard.LeaderSide(0.01), ps.onboard.FollowerSide(0.01)
    near, far, own = leader.start(np.eye(4)), follower.start(np.eye(4)), ("127.0.0.1", 0)
    with ps.onboard.MessageLink(8, own, own) as one, ps.onboard.MessageLink(20, own, one.address) as two:
        one._datagrams.remote = two.address
        pose = np.eye(4)
        for k in range(50):
            pose[0, 3] = 0.001 * k
            answer = leader.answer(near, pose, np.array([0, 0, 0, 0.1, 0, 0]), one.read(0.0))
            near = answer.port
            one.write(answer.message)
            answer = follower.answer(far, np.eye(4), np.zeros(6), two.read(1.0))
            far = answer.port
            two.write(answer.message)
        assert far.message[0] == 50 and 0.0 < far.pose[0, 3] <= 0.05 and near.silence < 3
        two.write(np.zeros(3))
        two.write(np.full(8, np.nan))
        while one.refused < 2:
            one.read(1.0)
        assert one.read(0.0) is None


def test_what_no_teleoperation_can_be_is_refused():
    with pytest.raises(ShapeError, match="late by 0 s or more"):
        ps.onboard.LateLink(-0.1)
    with pytest.raises(ShapeError, match="six numbers above 0"):
        ps.onboard.FollowerSide(0.001, stiffness=0.0)
    side = ps.onboard.LeaderSide(0.001)
    with pytest.raises(ShapeError, match="1 of them not finite"):
        side.answer(side.start(np.eye(4)), np.eye(4), np.zeros(6), np.array([1.0, np.nan, *np.zeros(6)]))
    model, link = carts(wall=False).model, ps.onboard.LateLink(0.1)
    sides = ps.onboard.LeaderSide(0.001), ps.onboard.FollowerSide(0.002)
    with pytest.raises(ShapeError, match="need one period"):
        ps.onboard.RemotePair(model, "near/tip", "far/tip", *sides, link)
    sides = side, ps.onboard.FollowerSide(0.001)
    with pytest.raises(ModelError, match="moved by the same joints"):
        ps.onboard.RemotePair(model, "near/tip", "near/tip", *sides, link)
