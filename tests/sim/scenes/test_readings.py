"""What controllers are given of sensors: noise, constant errors, delays and periods, the same for the same seed."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.sampled import Command
from phistar.sim.scenes.scene import Scene
from phistar.spatial.rotations import (
    conjugate,
    exp_quaternion,
    from_quaternion,
    log_quaternion,
    multiply,
    to_quaternion,
)
from tests.scenes import ball, little_scene

pytest.importorskip("coal")
EYE = ball("eye", xyz=[1.0, 0.5, -0.2], rpy=[0.3, -0.4, 2.0], spin=[0.2, 0.5, -0.3], velocity=[0.1, 0.0, 0.2])
BALL = ball(mass=2.0, xyz=[-1.0, 0.0, 0.3], rpy=[1.0, 0.2, -0.7], spin=[-0.4, 0.9, 0.6], velocity=[0.0, 0.3, 0.1])
SEEN = {"name": "seen", "kind": "pose", "of": "ball", "seen_from": "eye"}
DRIFTING = little_scene(
    EYE,
    BALL,
    gravity=[0.0, 0.0, 0.0],
    time={"duration": 0.4, "sample": 0.1, "step": 0.002},
    sensors=[{"name": "state", "kind": "joints", "part": "ball"}, SEEN],
)
NOISY = """
noise = 0.01
turn_noise = 0.02
spin_noise = 0.03
rate_noise = 0.04
"""


def shown(tmp_path, text, seed=0, period=0.002):
    """Times and readings, by sensor, that a controller gets in a run."""
    (tmp_path / "scene.toml").write_text(text)
    scene, rows = Scene.load(tmp_path / "scene.toml"), []

    class Watching:
        def start(self):
            return None

        def command(self, memory, t, sensed):
            rows.append((t, sensed))
            return None, Command(np.zeros(12))

    watching = Watching()
    watching.period = period
    scene.run(seed, control=watching)
    return np.array([t for t, _ in rows]), {name: np.array([s[name] for _, s in rows]) for name in rows[0][1]}


def test_a_pose_is_seen_in_the_axes_of_a_frame_that_moves_itself(tmp_path):
    t, sensed = shown(tmp_path, DRIFTING)
    model = Scene.load(tmp_path / "scene.toml").setting(0).model
    seen = sensed["seen"]
    q = Scene.load(tmp_path / "scene.toml").setting(0).start[0]
    eye, ball = (ps.forward_kinematics(model, q, name) for name in ("eye", "ball"))
    away = np.linalg.inv(eye) @ ball
    assert seen[0, :3] == pytest.approx(away[:3, 3]) and from_quaternion(seen[0, 3:7]) == pytest.approx(away[:3, :3])
    # The rates are what changes, as the eye sees it: by central differences over the run.
    change = (seen[2:, :3] - seen[:-2, :3]) / (t[2:] - t[:-2])[:, None]
    assert seen[1:-1, 10:] == pytest.approx(change, abs=2e-3)
    turned = multiply(seen[2:, 3:7], conjugate(seen[:-2, 3:7]))
    assert seen[1:-1, 7:10] == pytest.approx(log_quaternion(turned) / (t[2:] - t[:-2])[:, None], abs=2e-3)


def test_quaternions_are_those_of_the_rotation_for_every_pivot(tmp_path):
    from phistar.plant.seen_pose import quaternion, small_turn, upright

    corners = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 4)).reshape(4, -1).T
    random = np.random.default_rng(0).normal(size=(200, 4))
    for turn in [row / np.linalg.norm(row) for row in (*corners, *random) if row.any()]:
        rotation = from_quaternion(turn)
        found = upright(quaternion(rotation))
        assert from_quaternion(found) == pytest.approx(rotation, abs=1e-14) and found[3] >= 0.0
        assert abs(found @ to_quaternion(rotation)) == pytest.approx(1.0, abs=1e-14)
    for vector in (np.zeros(3), np.array([1e-9, 0, 0]), np.array([0.3, -1.2, 0.8])):
        assert small_turn(vector) == pytest.approx(exp_quaternion(vector), abs=1e-15)


def test_noise_has_the_spread_that_was_asked_for_and_a_seed_draws_it_again(tmp_path):
    _, truth = shown(tmp_path, DRIFTING)
    noisy = DRIFTING + NOISY
    _, first = shown(tmp_path, noisy, seed=7)
    _, again = shown(tmp_path, noisy, seed=7)
    _, other = shown(tmp_path, noisy, seed=8)
    np.testing.assert_array_equal(first["seen"], again["seen"])
    assert not np.array_equal(first["seen"], other["seen"])
    np.testing.assert_array_equal(first["state"], truth["state"])  # whose sensor has no noise
    off = np.concatenate([np.delete(x["seen"] - truth["seen"], np.s_[3:7], axis=1) for x in (first, other)])
    turns = [log_quaternion(multiply(x["seen"][:, 3:7], conjugate(truth["seen"][:, 3:7]))) for x in (first, other)]
    spreads = [*(off[:, 3 * k : 3 * k + 3].std() for k in range(3)), np.concatenate(turns).std()]
    assert spreads == pytest.approx([0.01, 0.03, 0.04, 0.02], rel=0.08)  # of 1200 numbers each
    assert abs(off.mean(axis=0)).max() < 0.04 * 4 / np.sqrt(len(off))


def test_constant_errors_shift_and_turn_in_the_axes_of_who_sees(tmp_path):
    _, truth = shown(tmp_path, DRIFTING)
    _, wrong = shown(tmp_path, DRIFTING + "bias = [0.1, 0.2, -0.3]\nturn_bias = [0.0, 0.5, 0.0]\n")
    assert wrong["seen"][:, :3] - truth["seen"][:, :3] == pytest.approx(np.tile([0.1, 0.2, -0.3], (201, 1)))
    turned = multiply(exp_quaternion([0.0, 0.5, 0.0]), truth["seen"][:, 3:7])
    assert from_quaternion(wrong["seen"][:, 3:7]) == pytest.approx(from_quaternion(turned))
    np.testing.assert_array_equal(wrong["seen"][:, 7:], truth["seen"][:, 7:])


def test_what_is_late_is_what_was_and_a_slow_sensor_looks_seldom(tmp_path):
    _, now = shown(tmp_path, DRIFTING + NOISY)
    _, late = shown(tmp_path, DRIFTING + NOISY + "delay = 0.011\n")  # six samples of 2 ms
    np.testing.assert_array_equal(late["seen"][6:], now["seen"][:-6])
    np.testing.assert_array_equal(late["seen"][:6], np.tile(now["seen"][0], (6, 1)))
    _, slow = shown(tmp_path, DRIFTING + NOISY + "period = 0.01\n")
    np.testing.assert_array_equal(slow["seen"], now["seen"][np.arange(201) // 5 * 5])
    _, both = shown(tmp_path, DRIFTING + NOISY + "period = 0.01\ndelay = 0.004\n")
    np.testing.assert_array_equal(both["seen"][2:], slow["seen"][:-2])
    with pytest.raises(ps.PhistarError, match=r"sensor 'seen' looks every .* a whole number of .* samples"):
        shown(tmp_path, DRIFTING + "period = 0.003\n")


def test_a_reading_cannot_be_changed_by_who_is_given_it(tmp_path):
    (tmp_path / "scene.toml").write_text(DRIFTING)

    class Meddling:
        period = 0.1

        def start(self):
            return None

        def command(self, memory, t, sensed):
            sensed["seen"][0] = 5.0
            return None, Command(np.zeros(12))

    with pytest.raises(ps.PhistarError, match="the controller fails: ValueError: assignment destination is read-only"):
        Scene.load(tmp_path / "scene.toml").run(control=Meddling())


MISTAKES = {
    "kind": ('kind = "pose"', 'kind = "camera"', "kind: one of joint_position, .*pose was expected"),
    "part": ('part = "ball"', 'part = "bal"', "bal"),
    "frame": ('of = "ball"', 'of = "moon"', r"\[\[sensors\]\] seen: .*moon"),
    "names": ('name = "seen"', 'name = "state"', "two sensors are called 'state'"),
    "noise": ('seen_from = "eye"', "noise = -1.0", "noise: a number from 0 on or a list"),
    "bias": ('seen_from = "eye"', "bias = [1.0]", "bias: a list of 3 numbers was expected"),
    "joint bias": ('part = "ball"', 'part = "ball"\nbias = [1.0, 2.0]', "bias: 7 numbers were expected; it has 2"),
    "wrist": (
        'kind = "pose"\nof = "ball"\nseen_from = "eye"',
        'kind = "wrist"\nframe = "eye"',
        "nothing is mounted on eye",
    ),
    "tips": ('kind = "pose"\nof = "ball"\nseen_from = "eye"', 'kind = "tactile"\nshapes = ["tip"]', "tip"),
    "no tips": (
        'kind = "pose"\nof = "ball"\nseen_from = "eye"',
        'kind = "tactile"\nshapes = []',
        "a list of names of shapes",
    ),
    "key": ('seen_from = "eye"', 'viewed_from = "eye"', "viewed_from is not known here"),
}


@pytest.mark.parametrize("old, new, sentence", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_sensors_are_sentences(tmp_path, old, new, sentence):
    assert old in DRIFTING
    with pytest.raises(ps.FileError, match=sentence):
        shown(tmp_path, DRIFTING.replace(old, new))
