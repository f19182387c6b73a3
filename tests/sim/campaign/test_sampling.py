"""Where runs lie: Latin hypercubes, searches for the worst, grids of varied values; each run can be done again."""

from types import SimpleNamespace

import numpy as np
import pytest

import phistar as ps
from phistar.errors import PhistarError
from phistar.sim.campaign import campaign as campaigns
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.perform import perform
from phistar.sim.campaign.run_rows import TIMED
from phistar.sim.campaign.sampling import (
    GENERATION,
    UnitPoint,
    at_point,
    badness,
    dimension,
    latin_hypercube,
    next_generation,
)
from phistar.sim.scenes.chance import draw
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

pytest.importorskip("coal")
pytest.importorskip("h5py")
pytest.importorskip("joblib")
pytest.importorskip("pyarrow.parquet")
RANDOM = ball(
    mass={"uniform": [20, 200]},
    spin={"vector": [0.0, 0.1]},
    rpy={"turn": [0.0, 0.3]},
    xyz=[{"normal": [0.0, 0.01]}, 0.0, {"uniform": [0.3, 0.5]}],
)


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "a.toml").write_text(little_scene(RANDOM, surface={"friction": 0.5}))
    return Scene.load(tmp_path / "a.toml")


@pytest.fixture
def falling(tmp_path):
    """A ball that starts in the floor in half of its draws, and is stopped there."""
    part = ball(xyz=[0.0, 0.0, {"uniform": [0.0, 0.2]}], spin={"vector": [0.0, 1.0]})
    (tmp_path / "half.toml").write_text(little_scene(FLOOR, part))
    return Scene.unread(tmp_path / "half.toml")


def here(plan, cases, workers, scheduler):
    yield from (perform(plan, *case) for case in cases)


def lasting(rows):
    return [{name: value for name, value in row.items() if name not in TIMED} for row in rows]


def test_every_interval_of_every_coordinate_holds_one_point(scene):
    points = np.array(latin_hypercube(scene, 50, seed=3))
    assert points.shape == (50, dimension(scene)) == (50, 11)
    for column in points.T:
        assert sorted((column * 50).astype(int)) == list(range(50))


def test_points_spread_evenly_draw_what_a_generator_draws(scene):
    """Means and deviations of every number over the cube are those of random draws."""
    rng, count = np.random.default_rng(0), 4000
    even = np.array([flat(draw(dict(scene.content), UnitPoint(p), "")) for p in latin_hypercube(scene, count, 1)])
    loose = np.array([flat(draw(dict(scene.content), rng, "")) for _ in range(count)])
    spread = loose.std(axis=0)
    assert np.abs(even.mean(axis=0) - loose.mean(axis=0)).max() < 5.0 * (spread / np.sqrt(count)).max() + 1e-12
    assert np.allclose(even.std(axis=0), spread, rtol=0.08)


def flat(content):
    part = content["parts"][0]
    return [part["mass"] / 100, *np.array(part["spin"]) * 10, *part["rpy"], part["xyz"][0] * 50, part["xyz"][2]]


def test_a_scene_at_a_point_has_nothing_random_and_reads_back_from_its_text(scene, tmp_path):
    fixed = at_point(scene, latin_hypercube(scene, 1, 0)[0])
    assert dimension(fixed) == 0
    (tmp_path / "case.toml").write_text(fixed.text)
    again = Scene.load(tmp_path / "case.toml")
    assert again.content == fixed.content
    assert np.array_equal(again.run(7).q, fixed.run(7).q) and np.array_equal(again.run(8).q, fixed.run(7).q)


def test_a_latin_campaign_has_one_run_in_every_interval_and_resumes_only_as_it_was(scene, tmp_path, monkeypatch):
    monkeypatch.setattr(campaigns, "_rows_of_runs", here)
    made = ps.campaign(scene, 10, sampling="latin", out=tmp_path / "out")
    masses = [row["drawn.parts.ball.mass"] for row in made.rows]
    assert sorted(int((mass - 20) / 18) for mass in masses) == list(range(10))
    again = ps.campaign(scene, 10, sampling="latin", out=tmp_path / "out", resume=True)
    assert again.rows == made.rows
    with pytest.raises(PhistarError, match=r"another spread of its runs \(latin, 10, not latin, 20\)"):
        ps.campaign(scene, 20, sampling="latin", out=tmp_path / "out", resume=True)
    with pytest.raises(PhistarError, match="not random"):
        ps.campaign(scene, 10, out=tmp_path / "out", resume=True)


def test_a_search_finds_the_corner_where_a_score_is_largest():
    """Twelve generations come nearer to the worst corner of a four-dimensional cube than as many random runs."""

    cube = SimpleNamespace(content={"parts": [{"uniform": [0.0, 1.0]}] * 4}, where="")
    target, done = np.array([0.9, 0.1, 0.8, 0.95]), []
    for number in range(12):
        points = next_generation(cube, 5, number, done)
        assert len(points) == GENERATION and all(0.0 <= x <= 1.0 for point in points for x in point)
        done += [(point, -np.linalg.norm(np.array(point) - target)) for point in points]
    random = np.random.default_rng(0).random((len(done), 4))
    assert max(score for _, score in done) > -0.06 > -np.linalg.norm(random - target, axis=1).min()


def test_failures_are_worse_than_any_score_and_refusals_are_no_failures():
    good, bad = {"outcome": "reached", "peak_force": 1e9}, {"outcome": "failed", "peak_force": 1.0}
    assert badness(bad, "peak_force", ["reached"]) > badness(good, "peak_force", ["reached"])
    assert badness(good, "-peak_force", ["reached"]) < badness(good, "peak_force", ["reached"])
    assert badness({"outcome": "refused"}, "peak_force", ["reached"]) == -np.inf


@pytest.mark.slow
def test_a_search_is_the_same_when_it_is_taken_up_again(falling, tmp_path, monkeypatch):
    monkeypatch.setattr(campaigns, "_rows_of_runs", here)
    whole = ps.campaign(falling, 40, sampling="search", out=tmp_path / "whole")
    ps.campaign(falling, 23, sampling="search", out=tmp_path / "parts")
    parts = ps.campaign(falling, 40, sampling="search", out=tmp_path / "parts", resume=True)
    assert lasting(parts.rows) == lasting(whole.rows)
    first, last = whole.rows[:GENERATION], whole.rows[-GENERATION:]
    assert failures(last) > failures(first)


def failures(rows):
    return sum(row["outcome"] != "completed" for row in rows)


def test_a_failure_of_a_search_runs_again_from_its_kept_scene(falling, tmp_path, monkeypatch):
    monkeypatch.setattr(campaigns, "_rows_of_runs", here)
    made = ps.campaign(falling, 6, sampling="latin", out=tmp_path / "out")
    row = next(row for row in made.rows if row["outcome"] == "stopped")
    kept = Scene.unread(tmp_path / "out" / "kept" / f"{row['run']:06d}" / "scene.toml")
    again = perform(Plan(kept, 1), 0).row
    assert again["outcome"] == "stopped" and again["reason"] == row["reason"]


def test_cells_of_a_grid_share_their_draws_and_are_counted(scene, monkeypatch):
    monkeypatch.setattr(campaigns, "_rows_of_runs", here)
    vary = {"surface.friction": [0.2, 0.4], "parts.ball.mass": [1, 2, 3]}
    made = ps.campaign(scene, 12, vary=vary)
    assert len({row["seed"] for row in made.rows}) == 2
    first = made.rows[:6]
    assert len({row["drawn.parts.ball.xyz.2"] for row in first}) == 1
    assert [row["varied.parts.ball.mass"] for row in first] == [1, 2, 3] * 2
    assert [cell["good"]["of"] for cell in made.summary["cells"]] == [2] * 6
    assert made.summary["cells"][0] == {"surface.friction": 0.2, "parts.ball.mass": 1} | {
        "good": made.summary["cells"][0]["good"]
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"sampling": "grid"}, "sampling must be one of random, latin, search"),
        ({"vary": {"parts.bal.mass": [1]}}, "has no entry 'bal'; did you mean 'ball'"),
        ({"vary": {"surface.friction": 0.3}}, "a list of values for surface.friction"),
        ({"vary": {"surface.friction": [0.3]}, "sampling": "search"}, "takes no vary"),
        ({"score": ""}, "score is the name of a number"),
    ],
)
def test_what_cannot_be_spread_is_refused(scene, arguments, sentence):
    with pytest.raises(PhistarError, match=sentence):
        ps.campaign(scene, 2, **arguments)
