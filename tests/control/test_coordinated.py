"""Several frames at once: they get the accelerations asked for, and forces between them move nothing."""

import numpy as np
import pytest

import phistar as ps
from phistar.control.coordinated import finger_forces, towards_each_other
from phistar.errors import ModelError, ShapeError

STIFF = ps.control.CoordinatedGains(turning=100.0, moving=100.0, turning_rate=20.0, moving_rate=20.0)


@pytest.fixture(scope="module")
def panda():
    model = ps.load("panda").replace(gravity=(0, 0, 0))
    q = np.array([0.1, -0.6, 0.2, -2.1, 0.3, 1.7, 0.4, 0.02, 0.02])
    return model.tree, q, 0.1 * np.sin(np.arange(9.0))


def test_a_redundant_arm_moves_its_frame_as_asked_and_what_is_left_along_its_path(panda):
    model, q, v = panda
    law = ps.control.CoordinatedControl(model, ["panda_hand"], STIFF)
    pose = ps.forward_kinematics(model, q, "panda_hand")
    twist = ps.frame_velocity(model, q, v, "panda_hand")
    wanted = np.array([0.3, -0.2, 0.1, 0.5, 0.4, -0.6])
    path = np.stack([q, v, np.zeros(9)])
    friction = ps.joint_friction(model, q, v)
    taus = [law(0.0, q, v, law.reference([pose], [twist], [u], path=path)) for u in (wanted, np.zeros(6))]
    change = ps.forward_dynamics(model, q, v, taus[0] + friction) - ps.forward_dynamics(model, q, v, taus[1] + friction)
    got = ps.jacobian(model, q, "panda_hand") @ change
    np.testing.assert_allclose(got, wanted, atol=0.03)  # J⁺ is damped


def test_the_law_is_the_same_compiled_and_over_batches(panda):
    model, q, v = panda
    law = ps.control.CoordinatedControl(model, ["panda_hand"], STIFF)
    pose = ps.forward_kinematics(model, q, "panda_hand")
    pose[:3, 3] += 0.02
    row = law.reference([pose], path=np.stack([q, 0 * v, 0 * v]))
    compiled = ps.compile(law)
    np.testing.assert_allclose(compiled(0.0, q, v, row), law(0.0, q, v, row), rtol=1e-9, atol=1e-9)
    both = law(0.0, np.stack([q, q + 0.01]), np.stack([v, v]), row)
    np.testing.assert_allclose(both[0], law(0.0, q, v, row), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_forces_towards_each_other_have_neither_sum_nor_moment(count, weighted):
    places = list(np.random.default_rng(count).standard_normal((count, 3)))
    forces = towards_each_other(places, np.linspace(0.3, 2.0, count) if weighted else None)
    np.testing.assert_allclose(sum(forces), 0.0, atol=1e-12)
    np.testing.assert_allclose(sum(np.cross(p, f) for p, f in zip(places, forces, strict=True)), 0.0, atol=1e-12)
    assert np.mean(np.linalg.norm(forces, axis=1)) == pytest.approx(1.0)


def test_one_point_squeezes_nothing():
    np.testing.assert_array_equal(towards_each_other([np.ones(3)])[0], 0.0)


def test_points_of_no_weight_are_not_squeezed():
    assert not np.any(towards_each_other([np.ones(3), np.zeros(3)], np.zeros(2)))


def test_a_finger_that_is_held_up_presses_no_harder_than_it_may():
    gains = tuple(np.full(2, each) for each in (2000.0, 9.0, 300.0))
    zero, rate, most = np.zeros(2), np.full(2, 0.04), np.full(2, 3.0)
    blocked = finger_forces(zero, zero, np.full(2, 0.01), rate, most, zero, gains)
    np.testing.assert_allclose(blocked, 3.0)
    moving = finger_forces(zero, rate, zero, rate, most, zero, gains)  # as it is to: the drag alone
    np.testing.assert_allclose(moving, 300.0 * 0.04)
    np.testing.assert_allclose(finger_forces(zero, zero, zero, zero, most, np.full(2, 40.0), gains), 40.0)


def test_what_it_cannot_move_is_refused(panda):
    model, *_ = panda
    with pytest.raises(ShapeError, match="frames, each once"):
        ps.control.CoordinatedControl(model, ["panda_hand", "panda_hand"])
    with pytest.raises(ShapeError, match="moves 1 frames; it was given 2 poses"):
        ps.control.CoordinatedControl(model, ["panda_hand"]).reference([np.eye(4), np.eye(4)])
    builder = ps.ModelBuilder("ball")
    builder.body("a", joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    with pytest.raises(ModelError, match="moves in 3 ways"):
        ps.control.CoordinatedControl(builder.build(), ["a"])
