"""Two arms that capture a tumbling body: plan, approach, touch, hold; and the supervisor that decides which when."""

from phistar.capture.controller import CaptureController, from_scene
from phistar.capture.robot import Arms

__all__ = ["Arms", "CaptureController", "from_scene"]
