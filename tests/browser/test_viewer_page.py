"""The viewer in a real browser: seen, clicked, dragged and scrubbed."""

import threading

import numpy as np
import pytest

pytest.importorskip("viser", reason="the viewer needs viser")

import phistar as ps
from phistar.view import Viewer, replay
from phistar.view.stage import body_frames
from phistar.view.sweeps import SweepsView

pytestmark = pytest.mark.browser

PANEL = 570  # where the panel begins; its buttons are orange too
COARSE = "?fixedDpr=0.3"  # pictures of a tenth of the pixels
START = np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1])


@pytest.fixture(scope="module")
def puma():
    return ps.load("puma560")


@pytest.fixture(scope="module")
def recording(puma):
    t = np.linspace(0.0, 4.0, 121)
    q = START + 0.4 * np.sin(t)[:, None]
    v = 0.4 * np.cos(t)[:, None] * np.ones(6)
    phases = [{"name": "out", "start": 0, "end": 2}, {"name": "back", "start": 2, "end": 4}]
    energy = ps.kinetic_energy(puma, q, v) + ps.potential_energy(puma, q)
    return ps.Trajectory(puma, t, q, v, signals={"energy": energy}, name="swing", summary={"phases": phases})


@pytest.fixture(scope="class")
def served():
    """Makes viewers that play, and stops them. Asked for before `open_page`, so that pages are closed first."""
    viewers = []

    def make(kind, *arguments):
        viewers.append(kind(*arguments))
        threading.Thread(target=viewers[-1].serve, daemon=True).start()
        return viewers[-1]

    yield make
    for viewer in viewers:
        viewer.stop()


@pytest.fixture(scope="class")
def robot(served, open_page, puma):
    """The page of a robot, and its viewer."""
    viewer = served(Viewer, puma, START)
    page = open_page(viewer.address + COARSE)
    page.page.get_by_text("joint1", exact=True).first.wait_for()
    return page, viewer


def seen_at(page, viewer, point):
    """Where a point of the world is on the screen, by the camera that the page reports."""
    clients = page.until(lambda: list(viewer.server.get_clients().values()), "the page connects")
    camera = clients[0].camera
    turn = ps.Pose(quaternion=np.roll(camera.wxyz, -1)).rotation
    x, y, z = turn.T @ (np.asarray(point) - camera.position)
    box = page.page.locator("canvas").first.bounding_box()
    focal = 0.5 * box["height"] / np.tan(0.5 * camera.fov)
    return box["x"] + 0.5 * box["width"] + focal * x / z, box["y"] + 0.5 * box["height"] + focal * y / z


def drag(page, start, end):
    mouse = page.page.mouse
    mouse.move(*start)
    page.page.wait_for_timeout(600)
    mouse.down()
    for share in (0.25, 0.5, 0.75, 1.0):
        mouse.move(*(np.array(start) + share * (np.array(end) - start)))
        page.page.wait_for_timeout(100)
    page.page.wait_for_timeout(600)  # controls look at the pointer when they are drawn
    mouse.up()


def orange(page):
    """Which pixels left of the panel are orange, as the PUMA's joints are and nothing else there is."""
    red, green, blue = np.moveaxis(page.pixels().astype(int), -1, 0)[..., :PANEL]
    return (red > 140) & (red - blue > 60) & (red - green > 25)


def slider(page, label):
    """The thumb of the slider beside a label."""
    return page.page.locator(f"xpath=//*[normalize-space(text())='{label}']/following::*[@role='slider'][1]").first


class TestRobot:
    """One page for both: a second one would draw in vain."""

    def test_it_is_seen_and_moved_by_hand(self, robot, puma):
        page, viewer = robot
        begun = viewer.stage.nodes[0].wxyz.copy()
        page.until(lambda: np.sum(orange(page)) > 300, "the robot is drawn in its colours")
        drawn = page.at_rest(lambda: orange(page))

        thumb = slider(page, "joint1").bounding_box()
        middle = thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2
        drag(page, middle, (middle[0] + 30, middle[1]))
        page.until(lambda: viewer.q[0] > START[0] + 0.2, "the joint follows its slider")
        page.until(lambda: not np.allclose(viewer.stage.nodes[0].wxyz, begun), "its first link turns")
        turned = viewer.stage.nodes[0].wxyz.copy()

        page.page.get_by_role("button", name="Back to the start").click()
        page.until(lambda: np.allclose(viewer.q, START), "the robot is back")
        page.until(lambda: not np.allclose(viewer.stage.nodes[0].wxyz, turned), "its first link is turned back")
        # The page draws later than the server turns, and what is clicked is what the page has drawn.
        page.until(lambda: np.sum(orange(page) != drawn) < 30, "it is drawn where it was at first")

        body = ps.forward_kinematics(puma, START, body_frames(puma)[1]) @ [0.2, 0.0, 0.225, 1.0]
        page.page.mouse.move(*seen_at(page, viewer, body[:3]))
        page.page.wait_for_timeout(600)  # what lies under the pointer is found as it moves
        page.page.mouse.down()
        page.page.mouse.up()
        page.until(lambda: viewer.picked == 1, "the click finds the body")
        page.page.get_by_text("17.4 kg").wait_for()

    def test_its_tool_follows_the_gizmo(self, robot, puma):
        page, viewer = robot
        viewer.joints.set(START)
        page.page.locator("xpath=//*[normalize-space(text())='Drag']/following::input[1]").first.click()
        page.page.get_by_role("option", name="tool", exact=True).click()
        page.until(lambda: viewer.joints.gizmo is not None, "the gizmo appears")
        page.page.wait_for_timeout(1500)
        pose = ps.forward_kinematics(puma, START, "tool")
        tip = pose[:3, 3] + 0.8 * viewer.joints.gizmo.scale * pose[:3, 2]
        further = pose[:3, 3] + 0.5 * viewer.joints.gizmo.scale * pose[:3, 2]
        drag(page, seen_at(page, viewer, tip), seen_at(page, viewer, further))
        page.until(lambda: np.abs(viewer.q - START).max() > 0.01, "the joints follow the gizmo")

        def left():
            return ps.forward_kinematics(puma, viewer.q, "tool")[:3, 3] - viewer.joints.gizmo.position

        page.until(lambda: np.linalg.norm(left()) < 2e-3, "the tool is where the gizmo is")


def test_a_run_is_played_paused_and_scrubbed(served, open_page, recording):
    viewer = served(Viewer, recording)
    page = open_page(viewer.address + COARSE)
    viewer.timeline.loop.value = True  # so that it is still playing when a slow page offers to pause
    page.page.get_by_role("button", name="Play").click()
    page.until(lambda: viewer.timeline.time > 0.2, "time goes on")
    page.page.get_by_role("button", name="Pause").click()
    page.until(lambda: not viewer.timeline.playing, "time stands still")
    viewer.timeline.go(1.0)
    found = slider(page, "Time (s)")
    page.until(lambda: abs(float(found.get_attribute("aria-valuenow") or 0) - 1.0) < 0.1, "the slider follows the time")
    thumb = found.bounding_box()
    middle = thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2
    drag(page, middle, (middle[0] + 60, middle[1]))
    page.until(lambda: viewer.index > 60, "the motion follows the slider")
    page.page.get_by_text("back", exact=True).first.wait_for()
    page.page.get_by_text("Centre of mass").first.wait_for()
    assert page.page.locator("canvas").count() >= 3  # the scene and two plots
    page.until(lambda: np.sum(orange(page)) > 300, "the robot is drawn")


def test_a_replay_opens_from_disk(open_page, recording, tmp_path):
    path = replay.write(recording, tmp_path / "replay.html")
    assert path.stat().st_size < 2_000_000
    page = open_page(path.as_uri() + COARSE)
    page.until(lambda: np.sum(orange(page)) > 300, "the robot is drawn")
    number = page.page.locator("input").first
    before = number.input_value()
    page.until(lambda: number.input_value() != before, "the replay plays by itself")
    assert page.page.title() == "swing: replay"


@pytest.mark.slow
def test_the_sweeps_run_over_the_robot(served, open_page, puma):
    pytest.importorskip("matplotlib", reason="operators are drawn with matplotlib")
    viewer = served(SweepsView, puma, START)
    page = open_page(viewer.address + COARSE)
    page.page.get_by_text("Filter, inward").first.wait_for()
    page.page.get_by_text("Smoother, outward").first.wait_for()
    assert page.page.locator("img").count() >= 1
    page.page.get_by_label("Play").first.uncheck()
    page.until(lambda: not viewer.playing.value, "it stops")
    thumb = slider(page, "Step").bounding_box()
    middle = thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2
    drag(page, middle, (middle[0] - 200, middle[1]))
    page.page.get_by_text("Press play, or move the slider.").first.wait_for()
