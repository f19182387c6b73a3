"""A model answers by name, by index and over its configuration manifold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phistar as ps

LUMP = ps.Inertia(1.0, (0.1, 0.2, -0.1), np.diag([0.03, 0.02, 0.025]))


def menagerie() -> ps.Model:
    """A tree with every kind of moving joint."""
    b = ps.ModelBuilder("menagerie", gravity=(1, 2, 3))
    place = ps.Pose(xyz=(0.3, 0.1, 0.2), rpy=(0.1, 0.2, 0.3))
    b.body("base", joint=ps.Free(), inertia=LUMP, joint_name="root")
    b.body("revolute", "base", ps.Revolute((1, 2, 3), limits=(-1, 2), effort=5, velocity=3), place, LUMP)
    b.body("prismatic", "revolute", ps.Prismatic((0, 1, 0), gear_ratio=10, rotor_inertia=1e-3), place, LUMP)
    b.body("spherical", "base", ps.Spherical(armature=0.1), place, LUMP)
    b.body("universal", "spherical", ps.Universal(), place, LUMP)
    b.body("helical", "base", ps.Helical((0, 0, 1), 0.1), place, LUMP)
    b.body("planar", "helical", ps.Planar(), place, LUMP)
    b.frame("tip", "planar", place)
    return b.build()


MODEL = menagerie()


def same_configuration(a, b):
    for joint in MODEL.joints:
        for one, other in zip(joint.pose(a[..., joint.q_slice]), joint.pose(b[..., joint.q_slice]), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_slices_tile_q_and_v():
    assert MODEL.nq == 7 + 1 + 1 + 4 + 2 + 1 + 3 and MODEL.nv == 6 + 1 + 1 + 3 + 2 + 1 + 3
    q, v = np.arange(MODEL.nq), np.arange(MODEL.nv)
    np.testing.assert_array_equal(np.concatenate([q[joint.q_slice] for joint in MODEL.joints]), q)
    np.testing.assert_array_equal(np.concatenate([v[joint.v_slice] for joint in MODEL.joints]), v)
    assert all(joint.nq == joint.q_slice.stop - joint.q_slice.start for joint in MODEL.joints)
    assert all(joint.nv == joint.v_slice.stop - joint.v_slice.start for joint in MODEL.joints)
    assert [joint.body for joint in MODEL.joints] == list(range(len(MODEL.bodies)))
    assert all(body.joint is joint for body, joint in zip(MODEL.bodies, MODEL.joints, strict=True))


@given(st.integers(0, 2**32 - 1))
def test_integrate_inverts_difference(seed):
    rng = np.random.default_rng(seed)
    q0, q1 = MODEL.random(rng), MODEL.random(rng)
    same_configuration(MODEL.integrate(q0, MODEL.difference(q0, q1)), q1)


@given(st.integers(0, 2**32 - 1))
def test_integrate_is_each_joints_own(seed):
    rng = np.random.default_rng(seed)
    q, dv = MODEL.random(rng), rng.normal(size=MODEL.nv)
    moved = MODEL.integrate(q, dv)
    for joint in MODEL.joints:
        own = joint.integrate(q[joint.q_slice], dv[joint.v_slice])
        np.testing.assert_allclose(moved[joint.q_slice], own, rtol=0, atol=1e-14)


def test_configurations_broadcast_over_leading_axes():
    rng = np.random.default_rng(1)
    q, dv = MODEL.random(rng, (5, 1)), rng.normal(size=(3, MODEL.nv))
    moved = MODEL.integrate(q, dv)
    assert q.shape == (5, 1, MODEL.nq) and moved.shape == (5, 3, MODEL.nq)
    np.testing.assert_allclose(moved[4, 2], MODEL.integrate(q[4, 0], dv[2]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        MODEL.difference(q, moved)[4, 2], MODEL.difference(q[4, 0], moved[4, 2]), rtol=0, atol=1e-15
    )


def test_a_bad_row_spoils_only_itself():
    q = MODEL.random(0, (3,))
    q[1] = np.nan
    moved = MODEL.integrate(q, np.ones(MODEL.nv))
    assert np.isnan(moved[1]).all() and np.isfinite(moved[[0, 2]]).all()


def test_random_is_the_seeds():
    np.testing.assert_array_equal(MODEL.random(7), MODEL.random(np.random.default_rng(7)))
    assert not np.array_equal(MODEL.random(7), MODEL.random(8))


def test_neutral_is_every_joints_neutral():
    for joint in MODEL.joints:
        np.testing.assert_array_equal(MODEL.neutral()[joint.q_slice], joint.neutral())


def test_lists_are_taken_for_arrays():
    model = ps.planar_chain(2)
    np.testing.assert_array_equal(model.integrate([1, 2], [3, 4]), [4, 6])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MODEL.integrate(np.zeros(3), np.zeros(MODEL.nv)), r"q has shape \(3,\); menagerie needs \(…, 19\)"),
        (lambda: MODEL.integrate(MODEL.neutral(), np.zeros(19)), r"dv has shape \(19,\).*\(…, 17\)"),
        (lambda: MODEL.difference(MODEL.neutral(), 1.0), r"q1 has shape \(\)"),
        (lambda: MODEL.difference(MODEL.neutral(), ["a"] * 19), "q1 must be an array of real numbers"),
        (lambda: MODEL.integrate(MODEL.random(0, (2,)), np.zeros((3, 17))), "do not broadcast"),
    ],
)
def test_wrong_shapes_are_value_errors_with_a_sentence(call, words):
    with pytest.raises(ps.ShapeError, match=words) as caught:
        call()
    assert isinstance(caught.value, ValueError)


def test_parts_are_found_by_name():
    assert MODEL.body_index("universal") == 4 and MODEL.body_index("world") == -1
    assert MODEL.joint("root").body == 0
    assert MODEL.frame("tip").role == "frame"
    assert list(MODEL.frames)[-1] == "tip" and MODEL.frames["tip"] is MODEL.frame("tip")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MODEL.frame("tipp"), "menagerie has no frame 'tipp'; did you mean 'tip'"),
        (lambda: MODEL.body_index("tip"), "no moving body 'tip'"),
        (lambda: MODEL.joint("base"), "no moving joint 'base'"),
        (lambda: ps.ModelBuilder("nothing").build().joint("x"), "there are none"),
    ],
)
def test_unknown_names_suggest_the_nearest(call, words):
    with pytest.raises(ps.UnknownNameError, match=words) as caught:
        call()
    assert isinstance(caught.value, LookupError)


def test_frames_are_an_ordered_immutable_mapping():
    assert list(MODEL.frames) == [*["root", "base"], *[body.name for body in MODEL.bodies[1:]], "tip"]
    with pytest.raises(TypeError):
        MODEL.frames["new"] = MODEL.frame("tip")


def test_joints_answer_for_their_kind():
    joint = MODEL.joint("revolute")
    np.testing.assert_allclose(joint.axis, np.array([1, 2, 3]) / np.sqrt(14))
    with pytest.raises(AttributeError):
        MODEL.joint("universal").axis  # noqa: B018


def test_parameters_are_gathered_in_the_order_of_q_and_v():
    revolute, prismatic = MODEL.joint("revolute"), MODEL.joint("prismatic")
    assert MODEL.lower_limits.shape == MODEL.upper_limits.shape == (MODEL.nq,)
    assert (MODEL.lower_limits[revolute.q_slice], MODEL.upper_limits[revolute.q_slice]) == (-1, 2)
    assert np.isinf(MODEL.upper_limits).sum() == MODEL.nq - 1
    assert (MODEL.effort_limits[revolute.v_slice], MODEL.velocity_limits[revolute.v_slice]) == (5, 3)
    assert MODEL.armature[prismatic.v_slice] == pytest.approx(0.1)
    np.testing.assert_array_equal(MODEL.armature[MODEL.joint("spherical").v_slice], np.full(3, 0.1))


def test_models_print_in_one_line():
    assert repr(ps.planar_chain(2)) == "<Model 'planar2': 2 bodies, nq=2, nv=2, 5 frames, 0 loops, 2 kg>"
