"""The report of a run, and every page of the site, in a real browser, from disk."""

from pathlib import Path

import pytest

from tests.scenes import FLOOR, ball, little_scene

pytestmark = pytest.mark.browser

DOCS = Path(__file__).resolve().parents[2] / "docs"
SITE = DOCS.parent / "build" / "site"
SCENE = little_scene(FLOOR, ball(xyz=[0.0, 0.0, 0.2]), name="drop", time={"duration": 0.3, "step": 0.002})


def test_a_report_opens_from_disk(open_page, tmp_path):
    for package in ("coal", "h5py", "matplotlib"):
        pytest.importorskip(package, reason=f"a report needs {package}")
    import phistar as ps
    from phistar.view import report

    (tmp_path / "drop.toml").write_text(SCENE)
    result = ps.Scene.load(tmp_path / "drop.toml").run()
    page = open_page(report.write(result, tmp_path / "report.html").as_uri())
    assert "drop" in page.page.title()
    assert page.page.locator("img, svg").count() > 0
    for wide in (1200, 900, 390):
        page.page.set_viewport_size({"width": wide, "height": 800})
        width, inner = page.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= inner, f"the page is wider than its window of {wide} px"


def test_every_page_of_the_site_opens_from_disk(open_page):
    pages = [(SITE / path.relative_to(DOCS)).with_suffix(".html") for path in sorted(DOCS.rglob("*.md"))]
    if not all(path.exists() for path in pages):
        pytest.skip("the site is not built, or older than its pages: make docs")
    page = open_page((SITE / "index.html").as_uri())
    for path in pages:
        page.page.goto(path.as_uri())
        missing = page.page.evaluate("[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)")
        assert missing == [], path
        assert page.complaints == [], path
        assert page.outside() == [], path
