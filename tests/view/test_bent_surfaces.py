"""What is seen of bodies that bend: surfaces that go with the nodes, drawn as large as asked."""

import numpy as np
import pytest

import phistar as ps
from phistar.view import replay, report
from phistar.view.bent_surfaces import exaggerate_modes, node_places, surfaces
from phistar.view.report_picture import picture, solids

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def boom():
    b = ps.ModelBuilder("boom", gravity=(0, 0, 0))
    beam = ps.beam(2.0, EI=(60.0, 90.0), mass_per_length=1.5, modes=4)
    b.body("arm", joint=ps.Revolute(axis=(0, 0, 1)), inertia=beam)
    b.body("load", "arm.tip", ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01))
    return b.build()


def bent(model, *eta):
    q = model.neutral()
    q[model.bodies[0].mode_q_slice] = eta
    return q


def test_the_end_of_the_surface_is_where_the_tip_frame_is(boom):
    q = bent(boom, 0.1, -0.05, 0.02, 0.01)
    (surface,) = surfaces(boom, 0)
    points, triangles = surface.deform(q[boom.bodies[0].mode_q_slice])
    tip = ps.forward_kinematics(boom, q, "arm.tip")[:3, 3]
    end = points[np.argsort(surface.points[:, 0])[-10:]].mean(axis=0)  # the ring around the far end
    assert np.linalg.norm(end - tip) < 0.02 * 2.0
    np.testing.assert_allclose(np.linalg.norm(triangles.normals, axis=-1), 1.0, atol=1e-9)


def test_nodes_are_where_frames_at_them_are(boom):
    q = bent(boom, 0.3, 0.1, -0.1, 0.05)
    body = boom.bodies[0].flexible
    place, turn = node_places(body, q[boom.bodies[0].mode_q_slice])
    node = dict(body.ends)["tip"]
    pose = ps.forward_kinematics(boom, q, "arm.tip")
    np.testing.assert_allclose(place[node], pose[:3, 3], atol=1e-14)
    np.testing.assert_allclose(turn[node], pose[:3, :3], atol=1e-14)


def test_what_is_not_bent_is_drawn_as_it_stands(boom):
    (surface,) = surfaces(boom, 0)
    np.testing.assert_allclose(surface.deform(np.zeros(4))[0], surface.points, atol=1e-14)


def test_exaggeration_multiplies_modes_and_nothing_else(boom):
    q = bent(boom, 0.1, 0.0, 0.0, 0.02)
    q[0] = 0.7
    seen = exaggerate_modes(boom, q, 5.0)
    np.testing.assert_allclose(seen[boom.bodies[0].mode_q_slice], [0.5, 0.0, 0.0, 0.1])
    assert seen[0] == 0.7
    assert exaggerate_modes(boom, q, 1.0) is q


def test_a_shape_of_ones_own_bends(boom):
    b = ps.ModelBuilder("plank", gravity=(0, 0, 0))
    b.body("arm", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(2.0, EI=60.0, mass_per_length=1.5, modes=2))
    plank = ps.Geometry(ps.Box((2.0, 0.1, 0.02)), ps.Pose(xyz=(1.0, 0, 0)), color=(0.2, 0.4, 0.6, 1.0))
    b.geometry("arm", plank)
    model = b.build()
    q = bent(model, 0.3, 0.0)
    straight, curved = (solids(model, x)[0].corners.reshape(-1, 3) for x in (model.neutral(), q))
    assert len(straight) > 500  # it is cut into pieces that can bend
    assert np.abs(curved - straight).max() == pytest.approx(
        np.abs(model.bodies[0].flexible.modes[:, :, 0] * 0.3).max(), rel=0.1
    )


def test_pictures_differ_by_exaggeration(boom):
    q = bent(boom, 0.1, 0.0, 0.0, 0.0)
    assert (picture(boom, q) != picture(boom, q, exaggeration=3.0)).any()


def test_the_viewer_bends_by_hand_and_exaggerates(boom):
    from phistar.view.viewer import Viewer

    viewer = Viewer(boom, bent(boom, 0.05, 0.0, 0.0, 0.0))
    try:
        (_, surface, handle) = viewer.stage.bending[0]
        before = np.array(handle.vertices)
        viewer.exaggerate(4.0)
        wanted = surface.deform(np.array([0.2, 0.0, 0.0, 0.0]))[0]
        np.testing.assert_allclose(handle.vertices, wanted, atol=1e-6)
        assert np.abs(handle.vertices - before).max() > 0.05
        viewer.on_mode_moved(boom.bodies[0].mode_q_slice.start, 0.1)
        assert viewer.q[boom.bodies[0].mode_q_slice][0] == 0.1
        assert len(viewer.modes.modes) == 4
    finally:
        viewer.stop()


def test_report_and_replay_show_the_deflection(boom, tmp_path):
    run = ps.simulate(boom, bent(boom, 0.1, 0, 0, 0), np.zeros(boom.nv), 0.2, t_eval=np.linspace(0, 0.2, 5))
    text = report.write(run, tmp_path / "report.html").read_text("utf-8")
    assert "<h2>Deflection</h2>" in text and 'id="bent2"' in text and "<script" not in text
    assert replay.write(run, tmp_path / "replay.html").stat().st_size < 3_000_000
