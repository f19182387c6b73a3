"""The viewer without a browser: what it shows, what it sends, what it does when it is touched."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("viser", reason="the viewer needs viser")

import phistar as ps
from phistar.errors import ShapeError
from phistar.sim.trajectory import Contacts, Trajectory
from phistar.view.live import PLOT_EVERY, Live
from phistar.view.marks import Marks, inertia_ellipsoid
from phistar.view.numbers import as_markdown, numbers
from phistar.view.plots import MOST_CURVES
from phistar.view.report_shapes import visible_geometry
from phistar.view.shapes import wxyz
from phistar.view.stage import body_frames, body_poses
from phistar.view.viewer import Viewer

PERSON = SimpleNamespace(client=object())


def swing(model, samples=61, duration=2.0):
    """A made motion: every joint to and fro, with its rates."""
    t = np.linspace(0.0, duration, samples)
    size = 0.3 * np.arange(1, model.nv + 1) / model.nv
    return t, np.sin(t)[:, None] * size, np.cos(t)[:, None] * size


@pytest.fixture(scope="module")
def puma():
    return ps.load("puma560")


@pytest.fixture(scope="module")
def recording(puma):
    t, q, v = swing(puma)
    energy = ps.kinetic_energy(puma, q, v) + ps.potential_energy(puma, q)
    points = np.zeros((len(t), 2, 3))
    forces = np.zeros((len(t), 2, 3))
    forces[30:, 0, 2] = 10.0
    touched = Contacts(("a / b",), forces[:, :1, 2], np.zeros((len(t), 2), int), points, forces)
    told = {"start": 0.0, "end": 1.0, "reason": ""}, {"start": 1.0, "end": 2.0, "reason": "touched"}
    summary = {"phases": [{"name": name, **rest} for name, rest in zip(("approach", "<hold>"), told, strict=True)]}
    return Trajectory(puma, t, q, v, None, touched, (), {"energy": energy}, "swing", summary)


@pytest.fixture
def opened():
    """Makes viewers and closes them."""
    made = []

    def make(kind, *arguments, **options):
        made.append(kind(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def counted(viewer):
    """The kinds of the messages sent from now on."""
    sent, send = [], viewer.server._websock_server.queue_message

    def queue(message):
        sent.append(type(message).__name__)
        send(message)

    viewer.server._websock_server.queue_message = queue
    return sent


def test_bodies_stand_where_the_kinematics_say(puma, opened):
    q = np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1])
    viewer = opened(Viewer, puma, q)
    for node, frame in zip(viewer.stage.nodes, body_frames(puma), strict=True):
        pose = ps.forward_kinematics(puma, q, frame)
        np.testing.assert_allclose(node.position, pose[:3, 3], atol=1e-12)
        x, y, z, w = np.roll(node.wxyz, -1)
        quaternion = ps.Pose(quaternion=(x, y, z, w))
        np.testing.assert_allclose(quaternion.rotation, pose[:3, :3], atol=1e-7)


def test_geometry_is_drawn_in_the_body_frame_not_the_links():
    """In standard DH the link's frame is at its far end; the body's is at its joint."""
    model = ps.load("puma560")
    assert body_frames(model) == [joint.name for joint in model.joints]
    assert body_poses(model)(np.zeros((4, 6))).shape == (4, 6, 4, 4)


def test_an_update_sends_two_messages_for_each_body_that_moved_and_no_more(puma, opened):
    viewer = opened(Viewer, puma)
    sent = counted(viewer)
    viewer.on_joints_moved(viewer.q)
    assert sent == []
    viewer.on_joints_moved(np.array([0, 0, 0, 0, 0, 0.2]))
    assert sorted(sent) == ["SetOrientationMessage"]
    sent.clear()
    viewer.on_joints_moved(np.full(6, 0.1))
    assert len(sent) <= 2 * len(puma.bodies)


def test_live_states_are_sent_at_the_rate_and_cost_a_look_at_the_clock_otherwise(puma, opened):
    """1000 states in a second of a person's time: 30 updates, each of two messages a body and one for the time."""
    time = [0.0]
    live = opened(Live, puma, np.zeros(6), rate=30.0, now=lambda: time[0])
    sent = counted(live)
    for step in range(1000):
        time[0] = step / 1000.0
        live(time[0], np.full(6, 1e-3 * step))
    assert live.sent == 30
    assert len(sent) <= 30 * (2 * len(puma.bodies) + 1) + 2 * 30 / PLOT_EVERY + 1


def test_no_arrow_is_seen_where_nothing_touches(recording, opened):
    viewer = opened(Viewer, recording)
    assert "Contacts" not in viewer.marks.nodes
    viewer.timeline.go(1.5)
    assert viewer.marks.nodes["Contacts"].visible
    viewer.timeline.go(0.1)
    assert not viewer.marks.nodes["Contacts"].visible


def test_live_contacts_are_drawn(puma, opened):
    live = opened(Live, puma, np.zeros(6), rate=1e9)
    live(0.0, np.zeros(6), (np.zeros((2, 3)), np.array([[0, 0, 5.0], [0, 0, 0]])))
    push, back = live.marks.nodes["Contacts"].points
    np.testing.assert_array_equal(push[1], -back[1])
    assert push[1, 2] > 0.0


def test_a_slider_moves_its_joint_within_the_limits(puma, opened):
    viewer = opened(Viewer, puma)
    slider = viewer.joints.sliders[2]
    assert puma.lower_limits[2] <= slider.min < slider.max <= puma.upper_limits[2]
    slider.value = 0.5
    viewer.joints._follow_slider(PERSON, 2)
    assert viewer.q[2] == 0.5
    slider.value = 100.0
    viewer.joints._follow_slider(PERSON, 2)
    assert viewer.q[2] == slider.max
    slider.value = float("nan")
    viewer.joints._follow_slider(PERSON, 2)
    assert viewer.q[2] == slider.max


def test_the_gizmo_brings_its_frame_along(puma, opened):
    viewer = opened(Viewer, puma, np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1]))
    viewer.joints.hold("tool")
    goal = viewer.q + 0.05
    target = ps.forward_kinematics(puma, goal, "tool")
    viewer.joints.gizmo.position, viewer.joints.gizmo.wxyz = target[:3, 3], wxyz(target[:3, :3])
    viewer.joints._follow_gizmo(PERSON)
    np.testing.assert_allclose(viewer.q, goal, atol=2e-3)
    assert viewer.joints.answer.content == "Reached."
    assert viewer.joints.sliders[0].value == pytest.approx(viewer.q[0])
    viewer.joints.gizmo.position = (9.0, 0.0, 0.0)
    viewer.joints._follow_gizmo(PERSON)
    assert "mm away" in viewer.joints.answer.content
    assert np.isfinite(viewer.q).all()


def test_a_drag_begins_where_the_last_ended(puma, opened):
    """Small drags give small motions of the joints: no other branch of the arm is taken."""
    viewer = opened(Viewer, puma, np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1]))
    viewer.joints.hold("tool")
    start = ps.forward_kinematics(puma, viewer.q, "tool")
    for step in range(20):
        before, pose = viewer.q, start.copy()
        pose[2, 3] -= 0.005 * step
        viewer.joints.reach(pose)
        assert np.max(np.abs(viewer.q - before)) < 0.1


def test_a_frame_that_is_none_takes_the_gizmo_away(puma, opened):
    viewer = opened(Viewer, puma)
    viewer.joints.hold("tool")
    viewer.joints.hold("no such frame")
    assert viewer.joints.gizmo is None


def test_playing_keeps_pace_with_a_person_s_time_and_stops_at_the_end(recording, opened):
    viewer = opened(Viewer, recording)
    line = viewer.timeline
    line.play(True)
    for _ in range(15):
        line.tick(1 / 30)
    assert line.time == pytest.approx(0.5)
    np.testing.assert_array_equal(viewer.q, recording.q[recording.index(0.5)])
    line.speed.value = "2×"
    line.tick(0.25)
    assert line.time == pytest.approx(1.0)
    line.tick(10.0)
    assert line.time == 2.0 and not line.playing
    line.play(True)
    assert line.time == 0.0


def test_scrubbing_shows_the_state_of_that_time(recording, opened):
    viewer = opened(Viewer, recording)
    viewer.timeline.slider.value = 1.5
    viewer.timeline._follow_scrubber(PERSON)
    np.testing.assert_array_equal(viewer.q, recording.q[45])
    assert viewer.phase.content == "**&#60;hold&#62;**"  # no tag
    assert viewer.marks.nodes["Contacts"].points[0, 1, 2] > 0.0


def test_plots_shade_what_has_passed_and_send_nothing_where_nothing_is_new(recording, opened):
    viewer = opened(Viewer, recording)
    viewer.timeline.go(1.0)
    _, plot, curves = viewer.plots.plots[0]
    t, first, second, passed, *lines = plot.data
    assert len(lines) == len(curves) <= MOST_CURVES
    np.testing.assert_array_equal(passed > 0, t <= 1.0)
    np.testing.assert_array_equal(first > 0, t <= 1.0)
    np.testing.assert_array_equal(second > 0, t >= 1.0)
    sent = counted(viewer)
    viewer.timeline.moved(1.0)
    assert sent == []


def test_another_curve_can_be_chosen(recording, opened):
    viewer = opened(Viewer, recording)
    choice, _, _ = viewer.plots.plots[0]
    choice.value = "Energy (J)"
    viewer.plots._choose(0)
    np.testing.assert_allclose(viewer.plots.plots[0][1].data[-1], recording.arrays["energy"])
    assert "energy" in viewer.plots.legends[0].content


def test_names_from_files_are_escaped(recording, opened):
    viewer = opened(Viewer, recording)
    assert "<hold>" not in viewer.plots._bands_legend()
    assert "&lt;hold&gt;" in viewer.plots._bands_legend()


def test_every_mark_appears_and_goes(recording, opened):
    viewer = opened(Viewer, recording)
    for kind in Marks.KINDS:
        viewer.show(kind, True)
        viewer.timeline.go(1.5)
        if kind != "Collision shapes":
            assert kind in viewer.marks.nodes
        viewer.show(kind, False)
        assert kind not in viewer.marks.nodes


def test_the_numbers_of_a_body_are_the_library_s(puma):
    rng = np.random.default_rng(0)
    q, v = puma.random(rng), rng.normal(size=6)
    for index, frame in enumerate(body_frames(puma)):
        found = numbers(puma, index, q, v)
        np.testing.assert_allclose(found["twist"], ps.jacobian(puma, q, frame) @ v, atol=1e-12)
        assert found["mass"] == puma.bodies[index].inertia.mass
    parts = [numbers(puma, i, q, v) for i in range(6)]
    total = sum(each["mass"] * each["com"] for each in parts) / puma.total_mass
    np.testing.assert_allclose(total, ps.center_of_mass(puma, q), atol=1e-12)
    assert "17.4 kg" in as_markdown(parts[1])
    assert "world" in as_markdown(numbers(puma, -1, q, v))


def test_a_click_on_a_body_shows_its_numbers(puma, opened):
    viewer = opened(Viewer, puma)
    viewer.stage.clicked(1)
    assert "**link2**" in viewer.words.content


def test_an_ellipsoid_has_the_inertia_it_is_drawn_for():
    radii, turn = inertia_ellipsoid(3.0, np.diag([0.2, 0.3, 0.4]))
    squares = np.square(radii)
    np.testing.assert_allclose(3.0 / 5.0 * (squares.sum() - squares), [0.2, 0.3, 0.4], rtol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    assert inertia_ellipsoid(0.0, np.eye(3))[0] is None
    assert inertia_ellipsoid(1.0, np.diag([1.0, 1.0, 5.0]))[0] is None


def test_every_shape_is_drawn(opened):
    points = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    shapes = [ps.Box((0.1, 0.2, 0.3)), ps.Sphere(0.1), ps.Cylinder(0.1, 0.2), ps.Capsule(0.1, 0.2)]
    shapes += [ps.Ellipsoid((0.1, 0.2, 0.3)), ps.Polytope(points), ps.Plane(), ps.Mesh("absent.stl")]
    builder = ps.ModelBuilder("shapes")
    looks = [ps.Geometry(shape, color=(0.1, 0.2, 0.3, 0.5)) for shape in shapes]
    builder.body("all", joint=ps.Free(), inertia=ps.Inertia(1.0, tensor=np.eye(3)), geometry=looks)
    viewer = opened(Viewer, builder.build())
    assert len(viewer.stage.solids) == 6  # a plane cannot be picked, a mesh that is absent is left out


def test_what_has_no_shapes_is_seen_by_its_frames_and_it_is_said_why(opened, tmp_path):
    mesh = '<visual><geometry><mesh filename="package://arm/arm.stl"/></geometry></visual>'
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path = tmp_path / "arm.urdf"
    path.write_text(f'<robot name="arm"><link name="a"/>{joint}<link name="b">{inertia}{mesh}</link></robot>')
    viewer = opened(Viewer, ps.load(path))
    assert viewer.marks.seen == {"Frames"} == set(viewer.marks.nodes)
    assert "stand for it" in viewer.words.content and "packages" in viewer.words.content


def test_what_collides_is_drawn_where_nothing_else_is_or_where_it_has_a_name():
    ball, seen = ps.Geometry(ps.Sphere(0.1), role="collision"), ps.Geometry(ps.Sphere(0.2))
    finger = ps.Geometry(ps.Sphere(0.1), name="finger", role="collision")
    assert visible_geometry((ball,)) == [ball]
    assert visible_geometry((seen, ball)) == [seen]
    assert visible_geometry((seen, ball, finger)) == [seen, finger]


def test_a_recording_is_thinned_to_a_rate_and_keeps_its_end(recording):
    thin = recording.thinned(10.0)
    assert len(thin.t) == 21
    assert thin.t[-1] == recording.t[-1]
    assert thin.arrays["contact_point"].shape == (21, 2, 3)
    assert recording.thinned(1000.0) is recording


def test_a_recording_of_other_shapes_is_refused(puma):
    with pytest.raises(ShapeError, match=r"q \(…, T, 6\)"):
        Trajectory(puma, np.zeros(3), np.zeros((3, 5)), np.zeros((3, 6)))


def test_a_model_without_bodies_and_one_of_another_kind_are_shown(opened):
    builder = ps.ModelBuilder("empty")
    opened(Viewer, builder.build())
    loose = ps.ModelBuilder("loose")
    loose.body("ball", joint=ps.Spherical(), inertia=ps.Inertia(1.0, tensor=np.eye(3)))
    viewer = opened(Viewer, loose.build())
    assert viewer.joints.sliders == {}


def test_serving_ends_when_it_is_stopped(recording):
    viewer = Viewer(recording)
    serving = threading.Thread(target=viewer.serve)
    serving.start()
    viewer.stop()
    serving.join(timeout=60.0)
    assert not serving.is_alive()
