"""The model of a finished run: its scene as it was, kept beside the trajectory."""

from __future__ import annotations

from pathlib import Path

from phistar.errors import FileError
from phistar.model import Model
from phistar.sim.scenes.scene import Scene
from phistar.sim.scenes.source import parsed

KEPT = "scene.toml"


def model_of_run(folder: Path, source: str, seed: int) -> Model:
    """The model of the scene that a run kept, drawn with its seed. Robots that it names by file are looked for beside
    the scene's own file, `source`; a run that kept no scene is taken to be of `source` as it is now."""
    kept = folder / KEPT
    try:
        if not kept.is_file():
            return Scene.load(source).setting(seed).model
        text, beside = kept.read_text("utf-8"), Path(source)
        content = parsed(text, str(kept))
        name = str(content.get("name", beside.stem))
        return Scene(name, content, beside.parent if beside.suffix else folder, str(kept), text).setting(seed).model
    except (OSError, UnicodeDecodeError, FileError) as error:
        raise FileError(f"The scene that {folder} was run from cannot be loaded: {error}") from None
