"""The grapple: two arms capture a tumbling body (WD89). Its laws, its task and its scenes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phistar.apps.grapple.hold import read_hold
from phistar.io.packages import Folders
from phistar.plant.scene_reading import named_file
from phistar.sim.scenes.registry import Law, register_law, register_scenes, register_task

if TYPE_CHECKING:
    from phistar.sim.scenes.scene import Setting


def _settings(settings: Mapping[str, Any], folders: Folders, where: str) -> Mapping[str, Any]:
    """Settings of a law; the rules file is looked up in the scene's folders."""
    if not isinstance(settings.get("rules"), str):
        return settings
    return dict(settings) | {"rules": named_file(settings["rules"], f"{where}, rules", folders)}


def _grapple(setting: Setting, given: Mapping[str, Any]) -> Any:
    from phistar.capture import from_scene  # imported where a scene has this law, and only there

    return from_scene(setting.model, given)


def _wd89(setting: Setting, given: Mapping[str, Any]) -> Any:
    from phistar.capture.baseline import from_scene

    return from_scene(setting.model, given)


register_law("grapple", Law(_settings, _grapple))
register_law("wd89", Law(_settings, _wd89))
register_task("hold", read_hold)
register_scenes(Path(str(files("phistar.apps.grapple") / "scenes")))
