"""Names that a shell can complete, and what a word that is no command may have been meant for."""

import os
from collections.abc import Iterator
from glob import escape, glob

ROBOT_FILES = (".urdf", ".xml", ".mjcf")
SCENE_FILES = (".toml",)


def bundled_robots() -> list[str]:
    from phistar.io.bundled import SOURCES

    return sorted(SOURCES)


def bundled_scenes() -> list[str]:
    from phistar.sim.scenes.source import bundled_scenes as names

    return names()


def robots(incomplete: str) -> list[str]:
    """Bundled robots, robot files and folders that begin so."""
    return [*_beginning(bundled_robots(), incomplete), *_files(incomplete, ROBOT_FILES)]


def scenes(incomplete: str) -> list[str]:
    """Bundled scenes, scene files and folders that begin so."""
    return [*_beginning(bundled_scenes(), incomplete), *_files(incomplete, SCENE_FILES)]


def completions(incomplete: str) -> list[str]:
    """Names of robots, scenes and folders of runs, which `phistar view` takes."""
    return list(dict.fromkeys([*robots(incomplete), *scenes(incomplete)]))


def functions(incomplete: str) -> list[str]:
    """Public functions of a state."""
    from phistar.cli.export import functions_of_a_state

    return _beginning(list(functions_of_a_state()), incomplete)


def hint(word: str) -> str | None:
    """A sentence about a robot, a scene or a run that was given where a command belongs; None for any other word."""
    if word in bundled_robots() or (word.endswith(ROBOT_FILES) and os.path.exists(word)):
        return f"{word} is a robot: phistar info {word}, phistar view {word} or phistar simulate {word}."
    if word in bundled_scenes() or (word.endswith(SCENE_FILES) and os.path.exists(word)):
        return f"{word} is a scene: phistar run {word}, phistar view {word} or phistar campaign {word}."
    if os.path.isfile(os.path.join(word, "summary.json")):
        return f"{word} is the folder of a run: phistar view {word}."
    return None


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    for path in sorted(glob(escape(incomplete) + "*")):
        if os.path.isdir(path):
            yield path + os.sep
        elif path.endswith(endings):
            yield path
