"""A real browser, headless: Debian's Chromium driven by Playwright, with pictures drawn in software."""

import io
import os
import shutil
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Drawing in software is slow: four pictures a second leave time for everything else.
SLOWER = "window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 250);"
NAMES = ("chromium", "chromium-browser", "google-chrome")
# viser's notices (that pictures are drawn in software, say) slide over the scene when they like.
NO_NOTICES = "[class*='mantine-Notification'] { display: none !important; }"
REST = 500.0  # ms, two pictures
PATIENCE = 150.0  # s, on a machine that is busy with other things


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install 'phistar[dev]'")
    path = os.environ.get("PHISTAR_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium: apt install chromium, or set PHISTAR_CHROMIUM to the path of one")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened.new_context(viewport={"width": 900, "height": 600})
        opened.close()


@dataclass
class Page:
    """A page, what it complained of, and what it asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def until(self, holds, what):
        """Wait for something that is true sooner or later."""
        end = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {what}"
            self.page.wait_for_timeout(100)
        return found

    def pixels(self):
        """What is to be seen, (height, width, 3)."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot(timeout=1000 * PATIENCE))).convert("RGB"))

    def at_rest(self, look):
        """look(), when it gives the same array three times in a row: pages draw what arrives piece by piece."""
        seen = [look(), look()]

        def stands_still():
            seen.append(look())
            self.page.wait_for_timeout(REST)
            return all(np.array_equal(each, seen[-1]) for each in seen[-3:-1])

        self.until(stands_still, "the page stands still")
        return seen[-1]

    def outside(self):
        """Requests that would leave the machine."""
        inner = ("127.0.0.1", "localhost", None, "")
        return [url for url in self.asked if urlsplit(url).hostname not in inner]


@pytest.fixture(scope="class")
def open_page(browser):
    """Opens addresses; at the end nothing was complained of, and no request left the machine."""
    pages = []

    def opened(address):
        view = browser.new_page()
        view.set_default_timeout(1000 * PATIENCE)
        view.add_init_script(SLOWER)
        found = Page(view)
        view.on("console", lambda message: found.complaints.append(message.text) if message.type == "error" else None)
        view.on("pageerror", lambda error: found.complaints.append(str(error)))
        view.on("request", lambda request: found.asked.append(request.url))
        view.on("websocket", lambda socket: found.asked.append(socket.url))
        pages.append(found)
        view.goto(address)
        view.add_style_tag(content=NO_NOTICES)
        return found

    yield opened
    for found in pages:
        found.page.close()
        assert found.complaints == []
        assert found.outside() == []
