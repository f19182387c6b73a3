"""Take the pictures of docs/viewer: the viewer in a real, headless Chromium.

    python tools/screenshots.py [RUN]

RUN is a folder that `phistar run grapple --out RUN` wrote; without one the grapple is run first. Needs the extras view,
sim, plot and dev, and Debian's chromium (apt install chromium), or another by PHISTAR_CHROMIUM.
"""

import io
import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

import phistar as ps
from phistar.view import Viewer
from phistar.view.sweeps import SweepsView

PLACE = Path(__file__).resolve().parent.parent / "docs" / "viewer"
FLAGS = (
    "--no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-background-networking"
)
# Drawing in software is slow: some pictures a second leave time for taking one.
SLOWER = "window.requestAnimationFrame = draw => setTimeout(() => draw(performance.now()), 300);"
POSE = np.array([0.3, 0.6, -1.6, 0.2, -0.6, 0.1])
PATIENCE = 600_000.0  # ms
STILL = 0.2  # mean change of the pixels' values between two pictures


def main() -> int:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("PHISTAR_CHROMIUM") or shutil.which("chromium")
    if path is None:
        print("There is no Chromium; apt install chromium, or set PHISTAR_CHROMIUM.", file=sys.stderr)
        return 1
    recording = ps.Trajectory.load(sys.argv[1]) if len(sys.argv) > 1 else None
    PLACE.mkdir(exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS.split())
        for name, view in (("robot", _robot), ("algebra", _algebra), ("run", lambda: _run(recording))):
            viewer = view()
            threading.Thread(target=viewer.serve, daemon=True).start()
            take(browser, viewer.address, PLACE / f"{name}.png")
            viewer.stop()
        browser.close()
    return 0


def _robot() -> Viewer:
    viewer = Viewer(ps.load("puma560"), POSE)
    assert viewer.joints is not None
    viewer.joints.frame.value = "tool"
    viewer.joints.hold("tool")
    viewer.pick(2)
    return viewer


def _algebra() -> SweepsView:
    viewer = SweepsView(ps.load("puma560"), POSE)
    viewer.playing.value = False
    viewer.step.value = 5
    viewer.draw(5)
    return viewer


def _run(recording: ps.Trajectory | None) -> Viewer:
    viewer = Viewer(recording or ps.Scene.load("grapple").run())
    assert viewer.timeline is not None and viewer.recording is not None
    phases = viewer.recording.phases
    hold = next((phase for phase in phases if phase.name in ("coordinate", "hold")), None)
    viewer.timeline.go(viewer.recording.t[-1] if hold is None else 0.5 * (hold.start + hold.end))
    return viewer


def take(browser: Any, address: str, path: Path) -> None:
    """One picture, when the page has come to rest; 256 colours keep it small."""
    from PIL import Image

    page = browser.new_page(viewport={"width": 1280, "height": 760})
    page.set_default_timeout(PATIENCE)
    page.add_init_script(SLOWER)
    page.goto(address + "?fixedDpr=1")
    page.locator(".mantine-Notification-closeButton").first.click()
    page.wait_for_timeout(5000)
    before = None
    while True:
        image = Image.open(io.BytesIO(page.screenshot(timeout=PATIENCE))).convert("RGB")
        now = np.asarray(image, dtype=float)
        if before is not None and np.mean(np.abs(now - before)) < STILL:
            break
        before = now
        page.wait_for_timeout(2000)
    image.quantize(192).save(path, optimize=True)
    print(f"{path} ({path.stat().st_size // 1000} kB)")
    page.close()


if __name__ == "__main__":
    sys.exit(main())
