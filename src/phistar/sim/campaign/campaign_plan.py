"""Campaign plan: a scene, the number of runs, how they are spread, and one seed from which each run's is derived."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import PhistarError
from phistar.model.mesh_files import LARGEST_MESH
from phistar.safe_files import read_bytes
from phistar.sim.campaign.sampling import Point, at_point, grid, latin_hypercube, with_content
from phistar.sim.campaign.scene_places import with_value
from phistar.sim.scenes.scene import Scene

KEEP = ("failed", "all", "none")
SAMPLING = ("random", "latin", "search")
EXACT = 11  # of 64 bits: the rest is a whole number that every reader of JSON keeps


@dataclass(frozen=True)
class Plan:
    """`runs` runs of a scene from `seed`, spread by `sampling` over what it draws and over the grid of `vary`; `keep`
    selects the runs whose trajectories are kept, `score` is the number that a search makes as large as it can."""

    scene: Scene
    runs: int
    seed: int = 0
    keep: str = "failed"
    sampling: str = "random"
    score: str = "peak_force"
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise PhistarError(f"{name} must be a whole number from {least} on; it is {value!r:.50}.")
        for name, words in (("keep", KEEP), ("sampling", SAMPLING)):
            if getattr(self, name) not in words:
                raise PhistarError(f"{name} must be one of {', '.join(words)}; it is {getattr(self, name)!r:.50}.")
        if not isinstance(self.score, str) or not self.score.lstrip("-"):
            raise PhistarError(f"score is the name of a number in a run's summary; it is {self.score!r:.50}.")
        self._check_varied()

    def _check_varied(self) -> None:
        """Refuse what cannot be varied; every value stands where the scene has something."""
        if self.vary and self.sampling == "search":
            raise PhistarError("A search chooses its runs one after the other; it takes no vary.")
        for place, values in self.vary.items():
            if isinstance(values, str) or not isinstance(values, Sequence) or not values:
                raise PhistarError(f"vary needs a list of values for {place!s:.100}; it is {values!r:.50}.")
            with_value(dict(self.scene.content), place, values[0])

    @cached_property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """Combinations of varied values; run i has those of cell i modulo their number."""
        return grid(self.vary)

    def seed_of(self, run: int) -> int:
        """The seed of a run, from a child of the campaign's. Runs in different cells of a grid share their seeds, so
        that cells differ by what is varied alone; else child `run`: `phistar run SCENE --seed` of it is that run."""
        child = np.random.SeedSequence(self.seed, spawn_key=(run // len(self.cells),))
        return int(child.generate_state(1, np.uint64)[0]) >> EXACT

    def scene_of(self, run: int, point: Point | None = None) -> Scene:
        """The scene of a run, with its cell's values in their places and, where it has a point, nothing random left."""
        scene, cell = self.scene, self.cells[run % len(self.cells)]
        if cell:
            content = dict(scene.content)
            for place, value in cell.items():
                content = with_value(content, place, value)
            scene = with_content(scene, content)
        return scene if point is None else at_point(scene, point)

    def latin_points(self) -> Mapping[int, Point]:
        """The points of all runs of a Latin hypercube, the same in every cell."""
        count = -(-self.runs // len(self.cells))
        points = latin_hypercube(self.scene_of(0), count, int(self.seed))
        return {run: points[run // len(self.cells)] for run in range(self.runs)}

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """Identity shared by all runs of a campaign: the scene's content, with the files it names, the seed, and how
        runs are spread. A Latin hypercube is one of so many runs, a search one of a score."""
        own = {"scene": self.scene.name, "content": _content(self.scene), "seed": int(self.seed)}
        spread = {"random": "random", "latin": f"latin, {self.runs}", "search": f"search, {self.score}"}[self.sampling]
        return own | {"sampling": spread, "vary": {place: list(values) for place, values in self.vary.items()}}


def _content(scene: Scene) -> str:
    """SHA-256 of a scene's content and of the files it reads, independent of comments and of its folder."""
    state = hashlib.sha256(json.dumps(scene.content, sort_keys=True, default=str).encode())
    for text in _texts(scene.content):
        path = scene.folders.find(text).path if Path(text).suffix else None
        if path is not None:
            state.update(hashlib.sha256(read_bytes(path, "a file of a scene", LARGEST_MESH)).digest())
    return state.hexdigest()


def _texts(content: Any) -> Iterator[str]:
    """Yield every text value, in the order of the file."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping | list):
        for each in content.values() if isinstance(content, Mapping) else content:
            yield from _texts(each)
