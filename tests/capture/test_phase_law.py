"""One law: what it commands is what the mechanism does, on a fixed and on a free base."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.paths import between, carry_frame, fading, grip_poses_in, leading_out, quintic, reference
from phistar.capture.phase_law import compiled_law, measured_names
from phistar.capture.robot import Arms
from phistar.control.control_law import pose_error, pose_row
from phistar.control.coordinated import CoordinatedGains as Gains
from phistar.control.coordinated import DrivenJoints, friction_at
from phistar.spatial.rotations import exp, to_quaternion
from tests.capture.grapple_layout import LAYOUT

SCENES = ("grapple", "grapple-free")
FOLLOW = Gains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0)
NO_PUSH = (0.0, 0.0, 1.0, 1.0, 0.0)  # of the two hands, their weights in a squeeze, and the squeeze
IDLE = np.array([0.0, 1.0, *[0.0] * 13, *NO_PUSH, *[0.0] * 6])
SQUEEZE = 19  # its place in `now` of the law


class Case:
    """Arms in a state, frictionless, with the law that drives them."""

    def __init__(self, name, friction=False):
        setting = ps.Scene.load(name).setting(1)
        self.scene, rng = setting.model, np.random.default_rng(2)
        self.arms = Arms.of(self.scene, LAYOUT)
        model = self.arms.model
        self.q = self.arms.configuration(self.arms.angles(setting.start[0]), [0.1, 0.2, 0.3, 0, 0, 0, 1])
        self.v = 0.1 * rng.standard_normal(model.nv)
        self.readings = [
            np.concatenate([self.q[hand.coordinates], self.v[hand.joints]]) for hand in self.arms.hands
        ] + [np.zeros(6), np.zeros(6)]
        if self.arms.free:
            pose, twist = ps.forward_kinematics(model, self.q, "base"), ps.frame_velocity(model, self.q, self.v, "base")
            self.readings.append(np.concatenate([pose[:3, 3], to_quaternion(pose[:3, :3]), twist]))
        self.law = compiled_law(self.arms)

    def made(self, readings, smooth, carrier, paths, way, gains, now):
        one = np.array([1.0])
        return self.law(np.concatenate(readings), smooth, carrier, np.ravel(paths), way, gains, one, now)

    def tau(self, gains, carrier, paths, way, now):
        """Without the friction that the law adds, joint forces of the arms' model."""
        made = self.made(self.readings, np.zeros(24), carrier, paths, way, gains.row, now)
        tau = np.zeros(self.arms.model.nv)
        tau[self.arms.driven_rates] = made[0][self.arms.sites[1]]
        return tau, made

    def acceleration(self, tau, loads=None):
        return ps.forward_dynamics(self.arms.model, self.q, self.v, tau, loads)


@pytest.fixture(scope="module", params=SCENES)
def case(request):
    return Case(request.param)


def frictionless(case, tau, rate, hesitation=0.004):
    """tau less the friction that the law added for a commanded rate."""
    joints = DrivenJoints(case.arms.model, case.arms.driven_rates)
    return tau[case.arms.driven_rates] - friction_at(joints, rate, hesitation)


def some_paths(case):
    rng = np.random.default_rng(3)
    carrier = np.concatenate([exp([0.1, 0.2, 0.3]).ravel(), [0.5, 0.1, 0.2], 0.1 * rng.standard_normal(6)])
    grips = np.concatenate(
        [pose_row(ps.forward_kinematics(case.arms.model, case.q, hand.grip)) for hand in case.arms.hands]
    )
    starts = grip_poses_in(carrier, grips)
    goals = starts.copy()
    goals[:, :3, 3] += 0.05 * rng.standard_normal((2, 3))
    goals[:, :3, :3] = goals[:, :3, :3] @ exp(0.1 * rng.standard_normal((2, 3)))
    return carrier, *between(starts, goals)


@pytest.mark.sampled(2)
def test_hands_get_the_accelerations_that_follow_their_references(case):
    carrier, paths, angles = some_paths(case)
    s = quintic(0.3, 2.0)
    progress = [[*(angle * part for part in s), *s] for angle in angles]
    now = np.array([0.0, 1.0, 0.0, *progress[0], *progress[1], *NO_PUSH, *[0.0] * 6])
    model, rates, wanted = case.arms.model, [], []
    for hand, path, own in zip(case.arms.hands, paths, progress, strict=True):
        target, twist, change = reference(carry_frame(carrier, now[:3]), path, np.array(own))
        slip = twist - ps.frame_velocity(model, case.q, case.v, hand.grip)
        error = pose_error(ps.forward_kinematics(model, case.q, hand.grip), target)
        wanted.append(change + 20.0 * slip + 100.0 * error)
        rates.append(twist + 5.0 * error)
    smooth = np.concatenate([np.zeros(12), case.v[case.arms.driven_rates]])
    made = case.made(case.readings, smooth, carrier, paths, np.zeros(36), FOLLOW.row, now)
    tau = np.zeros(model.nv)
    spread = _spread(case)
    rate = np.linalg.solve(spread, np.concatenate(rates))
    tau[case.arms.driven_rates] = frictionless(case, _own(case, made[0]), rate)
    got = case.acceleration(tau)
    for hand, u in zip(case.arms.hands, wanted, strict=True):
        found = ps.jacobian(model, case.q, hand.grip) @ got + ps.jacobian_dot_v(model, case.q, case.v, hand.grip)
        np.testing.assert_allclose(found, u, atol=0.05 * np.abs(u).max())  # J⁺ is damped


def _spread(case):
    model, arms = case.arms.model, case.arms
    if arms.free:
        return np.concatenate(
            [
                ps.freeflying.generalized_jacobian(model, case.q, hand.grip)[:, arms.driven_rates - 6]
                for hand in arms.hands
            ]
        )
    return np.concatenate([ps.jacobian(model, case.q, hand.grip)[:, arms.driven_rates] for hand in arms.hands])


def _own(case, scene_tau):
    tau = np.zeros(case.arms.model.nv)
    tau[case.arms.driven_rates] = scene_tau[case.arms.sites[1]]
    return tau


def test_joints_follow_their_way_whatever_the_hands_do(case):
    arms, rng = case.arms, np.random.default_rng(4)
    start = case.q[arms.coordinates]
    way = np.concatenate([start, start + 0.3, 0.1 * rng.standard_normal(12)])
    s, e = quintic(0.4, 3.0), leading_out(0.4, 3.0)
    now = np.array([0.0, 1.0, 0.0, *[0.0] * 12, *NO_PUSH, *s, *e])
    carrier, paths, _ = some_paths(case)
    smooth = np.concatenate([np.zeros(12), case.v[arms.driven_rates]])
    made = case.made(case.readings, smooth, carrier, paths, way, Gains(task=0.0).row, now)
    error = 0.3 * s[0] + way[24:] * e[0]
    rate = 0.3 * s[1] + way[24:] * e[1]
    wanted = 0.3 * s[2] + way[24:] * e[2] + 20.0 * (rate - case.v[arms.driven_rates]) + 100.0 * error
    tau = np.zeros(arms.model.nv)
    tau[arms.driven_rates] = frictionless(case, _own(case, made[0]), rate + 5.0 * error)
    np.testing.assert_allclose(case.acceleration(tau)[arms.driven_rates], wanted, rtol=1e-9, atol=1e-9)


def test_a_squeeze_is_an_internal_force(case):
    """The hands push towards each other: what the object feels is no wrench, and no joint moves that it holds still."""
    arms = case.arms
    carrier, paths, _ = some_paths(case)
    rest = Gains(task=0.0, joint_spring=0.0, joint_damping=1e-9)
    smooth = np.concatenate([np.zeros(12), case.v[arms.driven_rates]])
    idle, pressed = IDLE.copy(), IDLE.copy()
    pressed[SQUEEZE] = 40.0
    taus = [
        _own(case, case.made(case.readings, smooth, carrier, paths, np.zeros(36), rest.row, now)[0])
        for now in (idle, pressed)
    ]
    places = [ps.forward_kinematics(arms.model, case.q, hand.grip)[:3, 3] for hand in arms.hands]
    line = (places[1] - places[0]) / np.linalg.norm(places[1] - places[0])
    loads = {
        hand.grip: np.concatenate([np.zeros(3), -40.0 * way * line])
        for hand, way in zip(arms.hands, (1.0, -1.0), strict=True)
    }
    same = case.acceleration(taus[1], loads) - case.acceleration(taus[0])
    np.testing.assert_allclose(same, 0.0, atol=1e-8)
    # The forces of a grasp at two points that squeeze along their line are in the null space of its map (RJK91 §6).
    moments = sum(np.cross(place, force[3:]) for place, force in zip(places, loads.values(), strict=True))
    np.testing.assert_allclose(moments, 0.0, atol=1e-12)


def test_forces_stay_under_their_caps(case):
    arms = case.arms
    carrier, paths, _ = some_paths(case)
    paths[:, 9:12] += 1.0  # a metre away
    gains = Gains(side_spring=1500.0, push_spring=1500.0, most_force=25.0, most_moment=3.0)
    now = IDLE
    smooth = np.concatenate([np.zeros(12), case.v[arms.driven_rates]])
    none = Gains()
    with_force, without = (
        _own(case, case.made(case.readings, smooth, carrier, paths, np.zeros(36), g.row, now)[0]) for g in (gains, none)
    )
    jacobians = _spread(case)
    force = np.linalg.lstsq(jacobians.T, (with_force - without)[arms.driven_rates], rcond=None)[0].reshape(2, 6)
    np.testing.assert_allclose(np.linalg.norm(force[:, 3:], axis=1), 25.0, rtol=0.02)
    assert np.linalg.norm(force[:, :3], axis=1).max() < 3.1


def test_what_is_measured_has_names(case):
    carrier, paths, _ = some_paths(case)
    now = IDLE
    press = [row.copy() for row in case.readings]
    press[2][5] = -30.0  # pressed against the left hand's z
    made = case.made(press, np.zeros(24), carrier, paths, np.zeros(36), Gains().row, now)
    facts = dict(zip(measured_names(case.arms), made[3].tolist(), strict=True))
    assert facts["left_push"] == pytest.approx(30.0) and facts["right_push"] == pytest.approx(0.0)
    assert facts["left_position_error"] == pytest.approx(0.0, abs=1e-9)
    lower, upper = case.arms.limits
    angles = case.q[case.arms.coordinates]
    assert facts["limit_margin"] == pytest.approx(np.min([angles - lower, upper - angles]))


def test_a_twist_that_fades_ends_where_half_of_its_time_takes_it():
    gone, left, rate = fading(10.0, 2.5)
    assert (gone, left, rate) == (1.25, 0.0, 0.0)
    times = np.linspace(0.0, 2.5, 2001)
    parts = np.array([fading(t, 2.5) for t in times])
    np.testing.assert_allclose(np.gradient(parts[:, 0], times)[1:-1], parts[1:-1, 1], atol=1e-5)
    np.testing.assert_allclose(np.gradient(parts[:, 1], times)[1:-1], parts[1:-1, 2], atol=1e-4)


def test_rates_of_a_reference_are_those_of_its_pose():
    rng = np.random.default_rng(5)
    carrier = np.concatenate([exp(rng.standard_normal(3)).ravel(), rng.standard_normal(9)])
    starts = np.tile(np.eye(4), (2, 1, 1))
    starts[:, :3, 3] = rng.standard_normal((2, 3))
    goals = starts.copy()
    goals[:, :3, :3] = exp(rng.standard_normal((2, 3)))
    goals[:, :3, 3] += rng.standard_normal((2, 3))
    paths, angles = between(starts, goals)

    def at(t):
        s = quintic(t / 2.0, 2.0)
        return reference(
            carry_frame(carrier, np.array([t, 1.0, 0.0])), paths[0], np.array([*(angles[0] * x for x in s), *s])
        )

    step, (pose, twist, change) = 1e-5, at(0.7)
    (behind, before, _), (ahead, after, _) = at(0.7 - step), at(0.7 + step)
    np.testing.assert_allclose((ahead[9:] - behind[9:]) / (2 * step), twist[3:], atol=1e-8)
    spin = (ahead[:9] - behind[:9]).reshape(3, 3) / (2 * step) @ pose[:9].reshape(3, 3).T
    np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], twist[:3], atol=1e-8)
    np.testing.assert_allclose((after - before) / (2 * step), change, atol=1e-7)
