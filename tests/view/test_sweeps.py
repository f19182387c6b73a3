"""Seeing the algebra: what is drawn is what the operators are."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="the viewer needs viser")
pytest.importorskip("matplotlib", reason="pictures need matplotlib")

import phistar as ps
from phistar.errors import ModelError, StatementError
from phistar.view.pictures import from_the_tip, operator_picture, shade, structure
from phistar.view.stage import body_poses
from phistar.view.sweeps import SweepsView, sweep_forward_dynamics

START = np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1])


@pytest.fixture(scope="module")
def puma():
    return ps.load("puma560")


@pytest.fixture
def viewer(puma):
    made = SweepsView(puma, START)
    yield made
    made.stop()


def captions(figure):
    return {axes.get_title(): axes.get_xlabel() for axes in figure.axes}


def test_pictures_show_the_structure_that_the_algebra_lives_on(puma):
    A = ps.algebra(puma)
    found = captions(operator_picture([A.phi, A.E_phi, A.M, A.P, A.D, A.H, A.mass], START))
    assert found["φ"] == "lower triangular"
    assert found[A.E_phi.show()] == "strictly lower triangular"
    assert found["M"] == found["P"] == found["D"] == found["H"] == "block diagonal"
    assert found[A.mass.show()].startswith("dense")
    assert captions(operator_picture([A.phi.T], START)) == {A.phi.T.show(): "upper triangular"}


def test_blocks_are_numbered_from_the_tip():
    matrix = np.arange(25.0).reshape(5, 5)
    turned = from_the_tip(matrix, [2, 3], [2, 3])
    np.testing.assert_array_equal(turned[:3, :3], matrix[2:, 2:])
    np.testing.assert_array_equal(turned[3:, 3:], matrix[:2, :2])


def test_entries_are_shaded_by_sign_and_size():
    colors = shade(np.array([[1.0, -1.0], [1e-3, 0.0]]))
    blue, red, faint, nothing = colors.reshape(4, 3)
    assert blue[2] > blue[0] and red[0] > red[2]
    assert blue.sum() < faint.sum() < nothing.sum()


def test_structure_of_small_matrices():
    assert structure(np.eye(4), [2, 2], [2, 2]) == "block diagonal"
    assert structure(np.ones((4, 4)), [2, 2], [2, 2]) == "dense"
    assert structure(np.ones((2, 4)), [2], [2, 2]) == "2 of 2 blocks"


def test_a_picture_needs_operators_of_a_robot():
    with pytest.raises(StatementError, match="operators of a robot"):
        operator_picture([ps.algebra().phi])
    with pytest.raises(StatementError, match="operators of a robot"):
        operator_picture([])
    with pytest.raises(StatementError, match="The identity alone"):
        operator_picture([ps.algebra(ps.load("puma560")).I])


def test_accelerations_of_the_last_step_are_forward_dynamics(puma):
    found = sweep_forward_dynamics(puma, START, body_poses(puma)(START))
    expected = ps.forward_dynamics(puma, START, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(np.concatenate(found.joint_acceleration), expected, rtol=1e-9)
    for index, joint in enumerate(puma.joints):
        moved = ps.jacobian(puma, START, joint.name) @ expected
        np.testing.assert_allclose(found.acceleration[index], moved[3:], atol=1e-9)


def test_a_lone_body_meets_a_push_with_its_mass():
    builder = ps.ModelBuilder("lone")
    builder.body("body", joint=ps.Free(), inertia=ps.Inertia(3.0, tensor=np.diag([0.2, 0.3, 0.4])))
    model = builder.build()
    found = sweep_forward_dynamics(model, model.neutral(), np.eye(4)[None])
    np.testing.assert_allclose(found.mass[0], 3.0 * np.eye(3), atol=1e-12)


def test_the_filter_goes_inward_then_the_smoother_outward(viewer, puma):
    viewer.draw(1)
    assert "link6" in viewer.words.content and "inward" in viewer.words.content
    assert len(viewer.inertia_node.batched_positions) == 1 and viewer.arrow_node is None
    viewer.draw(6)
    assert "link1" in viewer.words.content
    assert len(viewer.inertia_node.batched_positions) == 6
    viewer.draw(7)
    assert "link1" in viewer.words.content and "outward" in viewer.words.content
    assert viewer.arrow_node.points.shape == (1, 2, 3)
    viewer.draw(12)
    assert "link6" in viewer.words.content
    assert viewer.arrow_node.points.shape == (6, 2, 3)


def test_it_plays_on_by_itself_and_stops_for_a_hand(viewer):
    for expected in (1, 2, 3):
        viewer.tick()
        assert viewer.step.value == expected
    viewer.step.value = 9
    viewer._on_step(SimpleNamespace(client=object()))
    viewer.tick()
    assert viewer.step.value == 9
    viewer.playing.value = True
    for _ in range(4):
        viewer.tick()
    assert viewer.step.value == 0


def test_a_moved_joint_is_swept_anew(viewer):
    before = viewer.sweep.mass[1].copy()
    viewer.joints.set(START + 0.5)
    assert not np.allclose(viewer.sweep.mass[1], before)


def test_a_model_without_joints_is_refused():
    with pytest.raises(ModelError, match="no joints"):
        SweepsView(ps.ModelBuilder("empty").build())
