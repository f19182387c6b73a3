"""campaign.html: shares on its maps are those of the rows, everything a stranger wrote is text, nothing is fetched."""

import re

import numpy as np
import pytest

from phistar.sim.campaign.campaign import _summary
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.perform import Done
from phistar.sim.campaign.store import Store
from phistar.sim.scenes.scene import Scene
from phistar.view import campaign_page
from tests.scenes import little_scene

pytest.importorskip("coal")
pytest.importorskip("pyarrow.parquet")
pytest.importorskip("jinja2")


def rows_of(count):
    rng = np.random.default_rng(0)
    for run in range(count):
        a, b, c = (float(x) for x in rng.random(3))
        bad = a + b > 1.5
        reason = f"<script>alert({run})</script> slipped" if bad else None
        row = {"run": run, "seed": run, "outcome": "failed" if bad else "reached", "reason": reason, "reached": not bad}
        yield row | {"peak_force": 10 * a, "drawn.parts.ball.a": a, "drawn.parts.ball.b": b, "drawn.parts.ball.c": c}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.toml").write_text(little_scene())
    plan = Plan(Scene.unread(tmp_path / "a.toml"), 120)
    store = Store.open(tmp_path / "out", plan.identity, False)
    rows = list(rows_of(120))
    for row in rows:
        store.add(Done(row, {}))
    store.describe(_summary(plan, {row["run"]: row for row in rows}, 1.0).summary)
    store.close()
    return tmp_path / "out"


def test_the_page_says_what_came_of_it_and_no_text_of_a_run_is_markup(folder):
    text = campaign_page.write(folder).read_text()
    bad = sum(row["outcome"] == "failed" for row in rows_of(120))
    assert f"{120 - bad} of 120 reached" in text and "phistar run a --seed" in text
    assert "<script" not in text and "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)


def test_fields_of_a_map_hold_every_run_once_and_show_where_runs_fail(folder):
    rows = list(rows_of(120))
    found = campaign_page.good_map(rows, "drawn.parts.ball.a", "drawn.parts.ball.b")
    counts = [tuple(map(int, field["label"].split("/"))) for field in found["fields"]]
    assert sum(of for _, of in counts) == 120
    assert sum(good for good, _ in counts) == sum(row["outcome"] == "reached" for row in rows)
    corner = max(found["fields"], key=lambda field: field["x"] - field["y"])
    assert int(corner["label"].split("/")[0]) == 0
    assert (found["across"], found["upward"]) == ("parts.ball.a", "parts.ball.b")


def test_maps_are_of_the_numbers_that_tell_most(folder):
    maps = campaign_page.content(folder)["maps"]
    assert {maps[0]["across"], maps[0]["upward"]} == {"parts.ball.a", "parts.ball.b"}


def test_few_different_values_have_a_field_each():
    rows = [{"outcome": "reached", "varied.x": x, "varied.y": y} for x in (1, 2, 5) for y in (0.1, 0.2)]
    found = campaign_page.good_map(rows, "varied.x", "varied.y")
    assert [field["label"] for field in found["fields"]] == ["1/1"] * 6
