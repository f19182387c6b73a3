"""The built site in a real browser: nothing cut off, nothing fetched, formulas typeset, the search finds the page.

`make docs` builds it; without it, and without a Chromium, these tests are skipped.
"""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
CHROMIUM = os.environ.get("PHISTAR_CHROMIUM") or shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: tools/browser.sh"),
]
CUT_OFF = "() => [...document.querySelectorAll('pre')].filter(x => x.scrollWidth > x.clientWidth + 1).length"
HITS = "() => [...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'))"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def page():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 1280, "height": 900})
        browser.close()


def test_no_page_cuts_off_code_or_asks_another_host(page, address):
    asked, cut = [], []
    page.on("request", lambda request: asked.append(request.url))
    pages = [path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts]
    for name in pages:
        page.goto(address + name)
        if page.evaluate(CUT_OFF) or page.evaluate("() => document.querySelectorAll('.katex-error').length"):
            cut.append(name)
    assert len(pages) > 50 and cut == []
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


def test_a_step_of_a_derivation_unfolds_its_law(page, address):
    page.goto(address + "algebra/derivations.html")
    step = page.locator(".derivation li").nth(1)
    law = step.get_attribute("title")
    assert "lemma 1" in law and step.locator(".katex").count() >= 1
    assert not step.locator("p").is_visible()
    step.locator("summary").click()
    assert law.split(";")[0] in step.locator("p").inner_text()


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("inverse kinematics", ("control/kinematics.html",)),
        ("closed loop", ("loops/index.html", "tutorials/loop.html")),
        ("contact", ("simulation/contact.html",)),
        ("forward_dynamics", ("reference/dynamics.html#phistar.forward_dynamics",)),
        ("mass matrix", ("reference/dynamics.html#phistar.mass_matrix",)),
    ],
)
def test_the_search_finds_the_right_page_first(page, address, asked, first):
    page.goto(f"{address}search.html?q={asked.replace(' ', '+')}")
    page.wait_for_function(f"({HITS})().length > 2")
    assert page.evaluate(HITS)[0].split("?")[0] in first


def test_the_front_page_shows_all_of_it_in_one_screen(page, address):
    """The problem, the capture, five lines of code, how to install, and how fast."""
    page.goto(address + "index.html")
    ends = page.evaluate(
        "() => ['article img', 'article .highlight-python', 'article table']"
        ".map(x => document.querySelector(x).getBoundingClientRect().bottom)"
    )
    assert max(ends) <= 900 and "pip install" in page.locator("article").inner_text()


def test_no_page_scrolls_sideways_on_a_telephone(page, address):
    page.set_viewport_size({"width": 390, "height": 800})
    wide = []
    for path in SITE.rglob("*.html"):
        if "_static" not in path.parts:
            page.goto(address + path.relative_to(SITE).as_posix())
            if page.evaluate("() => document.documentElement.scrollWidth") > 391:
                wide.append(path.name)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert wide == []
