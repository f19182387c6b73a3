"""The tumble ahead against Euler's equations integrated, and against what never changes."""

import numpy as np
import pytest

import phistar as ps
from phistar.capture.prediction import tumble
from phistar.errors import ShapeError
from phistar.spatial import cross
from phistar.spatial.rotations import exp, from_quaternion, to_quaternion

MOMENTS = [
    (1.0, 1.3, 1.7),
    (1.0, 1.0, 1.5),
    (1.5, 1.5, 1.0),
    (1.0, 1.0, 1.0),
    (1.0, 1.0 + 1e-9, 1.4),
    (0.4, 1.0, 1.1),
]
SPINS = [(0.3, 0.2, -0.1), (0.01, -0.3, 0.02), (0.0, 0.4, 0.0), (-0.2, 0.0, 0.3), (0.3, 1e-7, 0.0)]


def integrated(moments, turn, spin, times):
    """The same body as a model, by an integrator that keeps a tolerance."""
    builder = ps.ModelBuilder("body", gravity=(0, 0, 0))
    builder.body("body", "world", ps.Free(), ps.Pose(), ps.Inertia(2.0, np.zeros(3), np.diag(moments)))
    q = np.concatenate([np.zeros(3), to_quaternion(turn)])
    v = np.concatenate([turn.T @ spin, np.zeros(3)])
    run = ps.simulate(builder.build(), q, v, times[-1], rtol=1e-12, atol=1e-14, t_eval=times)
    return from_quaternion(run.q[:, 3:]), run.v[:, :3]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("moments", MOMENTS)
@pytest.mark.parametrize("spin", SPINS)
def test_the_closed_form_is_the_integral_of_eulers_equations(moments, spin):
    turn, times = exp([0.3, -0.5, 0.2]), np.array([0.0, 0.4, 3.0, 25.0])
    turns, rates = integrated(moments, turn, turn @ spin, times)
    ahead = tumble(ps.Pose(rotation=turn).matrix, [*(turn @ spin), 0, 0, 0], times, moments)
    np.testing.assert_allclose(ahead.pose[:, :3, :3], turns, atol=2e-9)
    np.testing.assert_allclose(np.einsum("nji,nj->ni", turns, ahead.twist[:, :3]), rates, atol=2e-9)


def test_momentum_and_energy_stay_for_any_tensor_and_any_times():
    rng = np.random.default_rng(3)
    for _ in range(20):
        axes = exp(rng.normal(size=3))
        tensor = axes @ np.diag(rng.uniform(1.0, 1.9, 3)) @ axes.T
        pose, twist = ps.Pose(xyz=rng.normal(size=3), rotation=exp(rng.normal(size=3))).matrix, rng.normal(size=6)
        ahead = tumble(pose, twist, rng.uniform(-30.0, 60.0, 50), tensor)
        world = ahead.pose[:, :3, :3] @ tensor @ np.swapaxes(ahead.pose[:, :3, :3], -1, -2)
        momentum = (world @ ahead.twist[:, :3, None])[..., 0]
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-12)
        energy = np.sum(momentum * ahead.twist[:, :3], axis=-1)
        np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_the_twist_is_the_derivative_of_the_pose_about_a_centre_of_mass_that_goes_straight():
    pose, twist = ps.Pose(xyz=[1, 2, 3], rotation=exp([0.1, 0.7, -0.3])).matrix, np.array([0.3, -0.2, 0.4, 0.1, 0, 0.2])
    com, times, step = np.array([0.05, -0.1, 0.02]), np.linspace(0.0, 10.0, 7), 1e-5
    for inertia in (None, (1.0, 1.4, 1.9)):
        before, now, after = (tumble(pose, twist, times + shift, inertia, com) for shift in (-step, 0.0, step))
        moved = (after.pose - before.pose) / (2 * step)
        np.testing.assert_allclose(moved[:, :3, 3], now.twist[:, 3:], atol=1e-9)
        columns = np.stack([cross(now.twist[:, :3], now.pose[:, :3, i]) for i in range(3)], axis=-1)
        np.testing.assert_allclose(moved[:, :3, :3], columns, atol=1e-8)
        centre = now.pose[:, :3, 3] + now.pose[:, :3, :3] @ com
        np.testing.assert_allclose(np.diff(centre, 2, axis=0), 0.0, atol=1e-14)


def test_one_tumble_is_two_in_a_row():
    pose, twist, moments = np.eye(4), [0.2, 0.3, -0.1, 0.01, 0.0, 0.0], (1.0, 1.2, 1.9)
    half = tumble(pose, twist, [7.0], moments)
    whole, rest = tumble(pose, twist, [20.0], moments), tumble(half.pose[0], half.twist[0], [13.0], moments)
    np.testing.assert_allclose(rest.pose, whole.pose, atol=1e-12)
    np.testing.assert_allclose(rest.twist, whole.twist, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"pose": np.eye(3)}, "pose"),
        ({"twist": [0.0] * 5}, "twist"),
        ({"times": 1.0}, "times"),
        ({"twist": [np.nan] * 6}, "finite"),
        ({"inertia": (1.0, 1.0, -1.0)}, "positive"),
        ({"inertia": np.ones((2, 2))}, "positive"),
    ],
)
def test_what_is_no_tumble_is_refused_in_a_sentence(change, told):
    with pytest.raises(ShapeError, match=told):
        tumble(**{"pose": np.eye(4), "twist": np.zeros(6), "times": [1.0], **change})
