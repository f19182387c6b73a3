"""The grapple: two arms capture a tumbling body (WD89). Its laws, its task and its scenes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from phistar.apps.grapple.hold import read_hold
from phistar.capture import from_scene
from phistar.capture.baseline import from_scene as from_scene_wd89
from phistar.io.packages import Folders
from phistar.plant.scene_reading import named_file
from phistar.sim.scenes.registry import Law, register_law, register_scenes, register_task


def _settings(settings: Mapping[str, Any], folders: Folders, where: str) -> Mapping[str, Any]:
    """Settings of a law; the rules file is looked up in the scene's folders."""
    if not isinstance(settings.get("rules"), str):
        return settings
    return dict(settings) | {"rules": named_file(settings["rules"], f"{where}, rules", folders)}


register_law("grapple", Law(_settings, lambda setting, given: from_scene(setting.model, given)))
register_law("wd89", Law(_settings, lambda setting, given: from_scene_wd89(setting.model, given)))
register_task("hold", read_hold)
register_scenes(Path(str(files("phistar.apps.grapple") / "scenes")))
