"""Parallel jaws: where they close, what does not fit, and a capture with one arm, judged by true states."""

import copy

import numpy as np
import pytest

import phistar as ps
from phistar.capture import Arms, CaptureLayout, HandLayout
from phistar.capture.force_closure import contact_wrenches
from phistar.capture.grasps import found_grasps
from phistar.capture.slowing_time import SHARE, gyration, slowing_time
from phistar.errors import FileError, ModelError
from phistar.sim.scenes.toml import text_of
from tests.capture.test_force_closure import margin_by_hull
from tests.capture.test_grasps import BODIES, shape
from tests.capture.variants import round_handle

pytest.importorskip("coal")
BAR = (shape(ps.Capsule(0.015, 0.3), name="bar"),)
PLATE = (shape(ps.Box((0.02, 0.4, 0.3)), name="panel"),)


@pytest.fixture(scope="module")
def scene():
    return ps.Scene.load("grapple-handle")


@pytest.fixture(scope="module")
def arms(scene):
    return Arms.of(scene.setting(0).model, CaptureLayout.of(scene.content["controller"]))


def test_the_grip_is_amid_the_open_pads_along_the_last_axis(arms):
    (hand,) = arms.hands
    assert hand.opening == pytest.approx(0.1) and hand.ahead == pytest.approx(0.02)
    np.testing.assert_allclose(hand.reach[:3, 3], [0.0, 0.0, 0.145], atol=1e-12)
    np.testing.assert_allclose(hand.reach[:3, :3] @ [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], atol=1e-12)
    assert [joint.name for joint in arms.slides] == ["hand/slide1", "hand/slide2"]


@pytest.mark.parametrize("body", [BAR, PLATE])
def test_pads_lie_on_both_sides_of_what_they_close_on(arms, body):
    grasps = found_grasps(body, arms.hands, 0.3, 0.0, "it")
    assert len(grasps) >= 4
    for grasp in grasps:
        (place,), (grip,) = grasp.places, grasp.grips
        points = place.points @ grip[:3, :3].T + grip[:3, 3]
        solid = body[0].shape
        if isinstance(solid, ps.Box):
            np.testing.assert_allclose(np.abs(points[:, 0]), 0.01, atol=1e-9)
            assert np.all(np.abs(points) <= 0.5 * np.array(solid.size) + 1e-9)
        else:
            np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=-1), 0.015, atol=1e-9)
        wrenches = contact_wrenches(place.points, place.normals, 0.3, 0.1, place.points.mean(axis=0))
        assert grasp.margin == pytest.approx(margin_by_hull(wrenches), rel=1e-6)  # an independent judgement


def test_what_does_not_fit_between_the_pads_is_refused_with_the_reason(arms):
    with pytest.raises(ModelError, match=r"has no place with room.*jaws close on bars"):
        found_grasps(BODIES["box"], arms.hands, 0.3, 0.06, "it")
    near = (*BAR, shape(ps.Box((1.0, 0.02, 1.0)), (0.0, 0.04, 0.0)), shape(ps.Box((1.0, 0.02, 1.0)), (0.0, -0.04, 0.0)))
    with pytest.raises(ModelError, match="has no place"):  # a bar between two walls
        found_grasps(near, arms.hands, 0.3, 0.06, "it")


def test_without_friction_a_bar_slides_through(arms):
    with pytest.raises(ModelError, match="nothing resists"):
        found_grasps(BAR, arms.hands, 0.0, 0.06, "it")


def test_jaws_that_cannot_close_are_refused(scene):
    model = scene.setting(0).model
    hand = copy.deepcopy(scene.content["controller"]["hands"][0])
    for change, told in (
        ({"closing": ["hand/slide1"]}, "two fingers and two joints"),
        ({"closing": ["hand/slide2", "hand/slide1"]}, "does not move 'pad1'"),
        ({"closing": ["arm/joint5", "arm/joint6"]}, "not a slide"),
    ):
        with pytest.raises(ModelError, match=told):
            layout = CaptureLayout.of({"base": "base", "target": "satellite", "hands": [{**hand, **change}]})
            Arms.of(model, layout)
    with pytest.raises(FileError, match="list of names of joints"):
        CaptureLayout.of({"base": "base", "target": "satellite", "hands": [{**hand, "closing": "hand/slide1"}]})
    rigid = HandLayout("other", "arm/tool", ("a", "b", "c"))
    with pytest.raises(ModelError, match="a capture has either, not both"):
        CaptureLayout("satellite", (rigid, HandLayout("jaw", "arm/tool", ("a", "b"), ("c", "d"))))


def test_one_arm_takes_a_satellite_by_its_handle(scene):
    summary = scene.run(2).summary
    assert summary["captured"], summary["missing"]
    assert summary["peak_force"] < 40.0 and summary["momentum_drift"] < 1e-10


def test_a_bar_bears_little_and_takes_longer_than_a_plate(arms):
    np.testing.assert_allclose(gyration(PLATE), np.diag([0.4**2 + 0.3**2, 0.02**2 + 0.3**2, 0.02**2 + 0.4**2]) / 12.0)
    momentum = 100.0 * np.concatenate([gyration(PLATE) @ [0.0, 0.0, 0.05], [0.0, 0.0, 0.0]])
    bar, plate = (max(each.margin for each in found_grasps(body, arms.hands, 0.3, 0.0, "it")) for body in (BAR, PLATE))
    times = [slowing_time(momentum, margin, 80.0) for margin in (bar, plate)]
    assert times[0] > 2.0 * times[1] > 0.0
    # at its peak a quintic asks for no more than that share of what the grasp bears the other way
    assert 1.875 * np.linalg.norm(momentum[:3]) / 0.1 / times[0] == pytest.approx(SHARE * bar * 80.0)


@pytest.mark.slow
def test_a_round_bar_between_flat_pads_holds_a_heavy_body(tmp_path):
    path = tmp_path / "bar.toml"
    path.write_text(text_of(round_handle()), "utf-8")
    summary = ps.Scene.load(path).run(1).summary  # 191 kg
    assert summary["captured"], summary["missing"]
    assert summary["peak_force"] < 40.0
