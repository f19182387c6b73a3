"""The hands of the bundled grapple scenes, as data."""

import phistar as ps
from phistar.capture import CaptureLayout

WHO = {key: ps.Scene.load("grapple").content["controller"][key] for key in ("base", "target", "hands")}
LAYOUT = CaptureLayout.of(WHO)
