"""The physical parameters of joints: broadcast, kept read-only, refused with sentences."""

import copy
import pickle

import numpy as np
import pytest

import phistar as ps


def test_scalars_broadcast_to_every_degree_of_freedom():
    joint = ps.Free(armature=0.1, damping=[1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(joint.armature, np.full(6, 0.1))
    np.testing.assert_array_equal(joint.damping, [1, 2, 3, 4, 5, 6])
    assert joint.damping.dtype == np.float64 and not joint.damping.flags.writeable


def test_defaults_are_a_plain_joint():
    joint = ps.Universal()
    for name in ("armature", "damping", "stiffness", "rotor_inertia"):
        np.testing.assert_array_equal(getattr(joint, name), np.zeros(2))
    np.testing.assert_array_equal(joint.friction, np.zeros((2, 2)))
    np.testing.assert_array_equal(joint.limits, [[-np.inf, -np.inf], [np.inf, np.inf]])
    np.testing.assert_array_equal(joint.effort, [np.inf, np.inf])
    np.testing.assert_array_equal(joint.velocity, [np.inf, np.inf])
    np.testing.assert_array_equal(ps.Free().rest, ps.Free().neutral())


def test_gears_reflect_their_rotor_inertia():
    joint = ps.Revolute(armature=0.1, gear_ratio=-10.0, rotor_inertia=0.02)
    np.testing.assert_allclose(joint.armature_diagonal, [0.1 + 100 * 0.02])


def test_friction_is_a_number_or_one_for_each_direction():
    np.testing.assert_array_equal(ps.Revolute(friction=0.5).friction, [[0.5], [0.5]])
    np.testing.assert_array_equal(ps.Revolute(friction=(0.5, 0.7)).friction, [[0.5], [0.7]])
    np.testing.assert_array_equal(ps.Universal(friction=(0.5, (0.7, 0.8))).friction, [[0.5, 0.5], [0.7, 0.8]])


def test_limits_may_be_open_on_either_side():
    np.testing.assert_array_equal(ps.Revolute(limits=(-1, 2)).limits, [[-1], [2]])
    np.testing.assert_array_equal(ps.Revolute(limits=(None, 2)).limits, [[-np.inf], [2]])
    np.testing.assert_array_equal(ps.Revolute(limits=(-1e300, 1e300)).limits, [[-np.inf], [np.inf]])
    np.testing.assert_array_equal(ps.Planar(limits=(-1, (1, 2, 3))).limits, [[-1, -1, -1], [1, 2, 3]])


def test_a_revolute_joint_without_limits_is_continuous():
    assert ps.Revolute().continuous and not ps.Revolute(limits=(-1, 1)).continuous


def test_random_stays_between_limits_and_fills_them():
    rng = np.random.default_rng(0)
    q = ps.Planar(limits=((0, -np.inf, -0.1), (2, -5, 0.1))).random(rng, (4000,))
    assert (q.min(axis=0) >= [0, -7, -0.1]).all() and (q.max(axis=0) <= [2, -5, 0.1]).all()
    np.testing.assert_allclose(q.mean(axis=0)[[0, 2]], [1, 0], rtol=0, atol=0.05)
    angles = ps.Revolute().random(rng, (4000,))
    assert np.abs(angles).max() <= np.pi and np.abs(angles).max() > 3.1
    assert np.abs(ps.Prismatic().random(rng, (4000,))).max() <= 1.0


def test_random_quaternions_are_unit_and_uniform():
    q = ps.Spherical().random(np.random.default_rng(0), (20000,))
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(q.T @ q / len(q), np.eye(4) / 4, rtol=0, atol=0.01)


@pytest.mark.parametrize("kind", [ps.Revolute, ps.Prismatic, ps.Helical, ps.Planar, ps.Universal])
@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ((0, 0, 0), "zero axis"),
        ((0, np.nan, 1), "three finite numbers"),
        ((np.inf, 0, 0), "three finite numbers"),
        ((0, 1), "three finite numbers"),
        ("z", "numbers for axis"),
    ],
)
def test_impossible_axes_are_refused(kind, axis, words):
    with pytest.raises(ps.ModelError, match=f"{kind.__name__} joint.*{words}"):
        kind(axis)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ps.Universal((1, 0, 0), (-2, 0, 0)), "not parallel"),
        (lambda: ps.Revolute(armature=-1), "armature ≥ 0"),
        (lambda: ps.Revolute(rotor_inertia=-1), "rotor_inertia ≥ 0"),
        (lambda: ps.Revolute(friction=(1, -1)), "friction ≥ 0"),
        (lambda: ps.Revolute(friction=(1, 1, 1)), "a pair for friction"),
        (lambda: ps.Revolute(damping=np.nan), "finite numbers for damping"),
        (lambda: ps.Revolute(damping=(1, 2)), "one number, or 1, for damping"),
        (lambda: ps.Revolute(stiffness="soft"), "numbers for stiffness"),
        (lambda: ps.Revolute(limits=(1, -1)), "lower limits ≤ upper limits"),
        (lambda: ps.Revolute(limits=(np.nan, 1)), "lower limits ≤ upper limits"),
        (lambda: ps.Revolute(limits=(np.inf, np.inf)), "leave no coordinate"),
        (lambda: ps.Revolute(limits=1.0), "a pair for limits"),
        (lambda: ps.Revolute(effort=-1), "effort ≥ 0"),
        (lambda: ps.Revolute(velocity=np.nan), "NaN for velocity"),
        (lambda: ps.Helical(pitch=np.inf), "finite numbers for pitch"),
        (lambda: ps.Spherical(limits=(-1, 1)), "takes no limits"),
        (lambda: ps.Free(limits=(-1, 1)), "takes no limits"),
        (lambda: ps.Spherical(rest=(0, 0, 0, 2)), "unit quaternion"),
        (lambda: ps.Distance(0.0), "length > 0"),
        (lambda: ps.Coupling(()), "1 to 5 coefficients"),
        (lambda: ps.Coupling((0, 1, 2, 3, 4, 5)), "1 to 5 coefficients"),
        (lambda: ps.Coupling((0, np.nan)), "finite numbers for coefficients"),
        (lambda: ps.Cylindrical((0, 0, 0)), "zero axis"),
    ],
)
def test_impossible_parameters_are_refused_with_a_sentence(make, words):
    with pytest.raises(ps.ModelError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")


def test_joints_compare_hash_pickle_and_copy_by_content():
    joint = ps.Revolute(axis=(0, 0, 2), damping=1, limits=(-1, None))
    again = ps.Revolute(axis=(0, 0, 1), damping=[1.0], limits=(-1, np.inf))
    assert joint == again and hash(joint) == hash(again)
    assert pickle.loads(pickle.dumps(joint)) == joint == copy.deepcopy(joint) == copy.copy(joint)
    assert joint != ps.Revolute(axis=(0, 0, 1), limits=(-1, None))
    assert ps.Revolute() != ps.Prismatic()
    with pytest.raises(AttributeError):
        joint.damping = 3


def test_joints_print_what_is_not_default():
    assert repr(ps.Revolute(axis=(0, 0, 2), damping=0.5)) == "Revolute(axis=[0, 0, 1], damping=[0.5])"
    assert repr(ps.Free()) == "Free()"
