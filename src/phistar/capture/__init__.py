"""Arms that capture a tumbling body: plan, approach, touch, hold; and the supervisor that decides which when.

A library of parts: who captures what is data (`CaptureLayout`), grasps come from shapes and are judged by force closure
(`force_closure`), the tumble is predicted (`tumble`), a `Planner` chooses, and `CaptureController` does it.
"""

from phistar.capture.capture_roles import CaptureLayout, HandLayout
from phistar.capture.controller import CaptureController, from_scene
from phistar.capture.force_closure import ForceClosure, force_closure
from phistar.capture.planner import Plan, Planner, Refusal, Sighting
from phistar.capture.prediction import tumble
from phistar.capture.robot import Arms

__all__ = [
    "Arms",
    "CaptureController",
    "CaptureLayout",
    "ForceClosure",
    "HandLayout",
    "Plan",
    "Planner",
    "Refusal",
    "Sighting",
    "force_closure",
    "from_scene",
    "tumble",
]
