"""report.html: complete, self-contained, and true to the run it tells of."""

import dataclasses
import re

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError
from phistar.sim.trajectory import Contacts, Event, Trajectory
from phistar.view import report, report_parts, report_picture
from phistar.view.report_picture import Camera, image, picture, png, solids
from phistar.view.report_plots import chart
from phistar.view.report_run import body_twists, load_motion, relative_twists
from phistar.view.report_shapes import triangles


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small pictures: what is in them is tested with `image`."""
    monkeypatch.setattr(report_parts, "FRAME_SIZE", (60, 40))
    monkeypatch.setattr(report_picture, "SHADOW_SIZE", 60)


def made(seed=0, **summary):
    """A result without a simulation: an arm that swings and a free ball that its tip touches."""
    rng = np.random.default_rng(seed)
    builder = ps.ModelBuilder("pair")
    builder.attach(ps.load("planar2"), "world", ps.Pose(), "arm/")
    tip = ps.Geometry(ps.Sphere(0.05), ps.Pose(xyz=(1, 0, 0)), "tip", role="collision")
    builder.geometry("arm/link2", tip)
    ball = [ps.Geometry(ps.Sphere(0.1), name="ball", role="collision")]
    builder.body("ball", "world", ps.Free(), inertia=ps.Inertia(1, (0, 0, 0), 0.004 * np.eye(3)), geometry=ball)
    model = builder.build()
    t = np.linspace(0, 2, 51)
    q = np.tile(model.neutral(), (51, 1))
    q[:, 0], q[:, 2] = np.sin(t), 1.5
    v = rng.normal(size=(51, model.nv))
    signals = {"energy": np.cos(t), "momentum": rng.normal(size=(51, 6)), "distance": 0.01 + t}
    none = Contacts.none(51)
    touched = Contacts(("tip / ball",), np.maximum(np.sin(3 * t), 0)[:, None], none.pair, none.point, none.force)
    told = {"scene": "pair", "seed": seed, "sim_time": 2.0, "wall_time": 0.1, "min_distance": 0.01, "peak_force": 1.0}
    events = (Event(0.1, "touch", "tip / ball"),)
    told = {**told, "momentum_drift": 0.0, **summary}
    return Trajectory(model, t, q, v, v, touched, events, signals, "pair", told)


PHASES = [
    {"name": "approach", "start": 0.0, "end": 1.2, "reason": "within <10 mm> & 2°"},
    {"name": "contact", "start": 1.2, "end": 2.0, "reason": "end of the run"},
]


def test_a_report_is_one_file_that_asks_for_nothing(tmp_path):
    text = report.write(made(phases=PHASES, reached=True, outcome="captured"), tmp_path / "report.html").read_text(
        "utf-8"
    )
    assert "default-src 'none'" in text and "<script" not in text
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sources and all(source.startswith("data:") for source in sources)
    assert "url(" not in text and "@import" not in text


def test_a_report_tells_verdict_phases_reasons_curves_audits_and_how_to_run_it_again():
    text = report.page(load_motion(made(phases=PHASES, reached=True, outcome="captured")))
    for words in ("captured", "Pictures", "contact begins", "Phases", "Joints of arm", "Contact forces", "Energy"):
        assert words in text
    for words in ("Momentum", "Relative turning", "ball on arm/link2", "Bodies stay apart", "touch", "--seed 0"):
        assert words in text
    assert "within &lt;10 mm&gt; &amp; 2°" in text and "<10 mm>" not in text


def test_a_run_that_stopped_says_why_and_has_no_verdict_of_success():
    text = report.page(load_motion(made(reason="ball and tip intersect at 0.3 s.")))
    assert "ball and tip intersect" in text and ">stopped<" in text and ">completed<" not in text


def test_bodies_that_met_and_limits_that_were_passed_are_marked():
    result = made(min_distance=-1e-3)
    assert report.page(load_motion(result)).count("✗") == 1
    apart = dataclasses.replace(result, summary={**result.summary, "min_distance": 1.0})
    assert report.page(load_motion(apart)).count("✗") == 0


def test_a_folder_gives_the_report_of_its_result(tmp_path):
    pytest.importorskip("h5py")
    result = made(phases=PHASES)
    result.save(tmp_path)
    run = load_motion(tmp_path)
    assert run.events == ((0.1, "touch", "tip / ball"),) and run.contacts.pairs == result.contacts.pairs
    np.testing.assert_array_equal(run.arrays["q"], result.arrays["q"])
    assert "Contact forces" in report.page(run)


def test_a_folder_without_a_run_is_refused_with_what_it_needs(tmp_path):
    pytest.importorskip("h5py")
    with pytest.raises(FileError, match=r"needs summary\.json and trajectory\.h5"):
        report.write(tmp_path, tmp_path / "report.html")


def test_twists_are_those_of_the_joints_frames():
    model = ps.load("freeflyer")
    rng = np.random.default_rng(3)
    q, v = model.random(rng, (2,)), rng.normal(size=(2, model.nv))
    spins, rates, places = body_twists(model, q, v)
    for k, joint in enumerate(model.joints):
        np.testing.assert_allclose(places[k], ps.forward_kinematics(model, q, joint.name)[..., :3, 3], atol=1e-12)
        if k in (0, len(model.joints) - 1):
            twist = (ps.jacobian(model, q, joint.name) @ v[..., None])[..., 0]
            np.testing.assert_allclose(np.concatenate([spins[k], rates[k]], axis=-1), twist, atol=1e-12)


def test_what_moves_as_one_has_no_relative_twist():
    """The ball given the twist of the link that touches it, at the ball's place."""
    result = made()
    model, q, v = result.model, result.arrays["q"], np.array(result.arrays["v"])
    spins, rates, places = body_twists(model, q, v)
    free = model.joints[-1].v_slice
    v[:, free] = np.concatenate([spins[1], rates[1] + np.cross(spins[1], places[2] - places[1])], axis=1)
    run = load_motion(dataclasses.replace(result, v=v))
    ((name, turning, moving),) = relative_twists(run)
    assert name == "ball on arm/link2"
    np.testing.assert_allclose([turning, moving], 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        (ps.Box((1, 2, 3)), 22.0),
        (ps.Sphere(1.0), 4 * np.pi),
        (ps.Cylinder(1.0, 2.0), 6 * np.pi),
        (ps.Capsule(1.0, 2.0), 8 * np.pi),
        (ps.Ellipsoid((1, 1, 1)), 4 * np.pi),
        (ps.Polytope([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]), 1.5 + np.sqrt(3) / 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_triangles_cover_a_shape_and_their_normals_point_out(shape, area):
    corners, normals = triangles(shape)
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(flat, axis=1).sum() / 2 == pytest.approx(area, rel=0.02)
    middle = corners.mean(axis=(0, 1))
    assert np.einsum("tcx,tcx->tc", corners - middle, normals).min() > -1e-9


def test_a_picture_shows_the_nearer_of_two_balls_at_its_place():
    builder = ps.ModelBuilder("balls")
    for name, x, color in (("near", 1.0, (1, 0, 0, 1)), ("far", -1.0, (0, 0, 1, 1))):
        shape = ps.Geometry(ps.Sphere(0.5), color=color)
        builder.body(name, "world", placement=ps.Pose(xyz=(x, 0, 0)), geometry=[shape])
    solid, ground = solids(builder.build(), [])
    seen = image(solid, ground, Camera((0, 0, 0), (1, 0, 0), 4.0), (80, 80), shadows=False)
    red, blue = seen[40, 40, 0].astype(int), seen[40, 40, 2].astype(int)
    assert red > 100 and blue < 60 and seen[40, 40, 3] == 255 and seen[2, 2, 3] == 0
    covered = (seen[..., 3] > 127).sum() / 80**2
    assert covered == pytest.approx(np.pi * 0.25 / 16, rel=0.05)


def test_a_picture_is_a_png_of_its_size():
    data = png(picture(ps.load("puma560"), np.zeros(6), size=(64, 48)))
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[16:24] == (64).to_bytes(4, "big") + (48).to_bytes(4, "big")


def test_thinning_keeps_the_peak_and_gaps_break_the_line():
    t = np.linspace(0, 1, 20_000)
    values = np.zeros(20_000)
    values[12_345], values[5_000:6_000] = 7.0, np.nan
    path = chart("x", "m", t, [("x", values)]).lines[0].path
    assert path.count("M") >= 2 and len(path) < 12_000
    assert min(float(place) for place in re.findall(r" ([\d.]+)", path)) < 30
