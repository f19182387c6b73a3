"""Campaign plan: a scene, the number of runs, and one seed from which each run's is derived."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import PhistarError
from phistar.model.mesh_files import LARGEST_MESH
from phistar.safe_files import read_bytes
from phistar.sim.scenes.scene import Scene

KEEP = ("failed", "all", "none")
EXACT = 11  # of 64 bits: the rest is a whole number that every reader of JSON keeps


@dataclass(frozen=True)
class Plan:
    """`runs` runs of a scene from `seed`; `keep` selects the runs whose trajectories are kept."""

    scene: Scene
    runs: int
    seed: int = 0
    keep: str = "failed"

    def __post_init__(self) -> None:
        for name, least in (("runs", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise PhistarError(f"{name} must be a whole number from {least} on; it is {value!r:.50}.")
        if self.keep not in KEEP:
            raise PhistarError(f"keep must be one of {', '.join(KEEP)}; it is {self.keep!r:.50}.")

    def seed_of(self, run: int) -> int:
        """The seed of a run, from child `run` of the campaign's: `phistar run SCENE --seed` of it is that very run."""
        child = np.random.SeedSequence(self.seed, spawn_key=(run,))
        return int(child.generate_state(1, np.uint64)[0]) >> EXACT

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """Identity shared by all runs of a campaign: the scene's content, with the files it names, and the seed."""
        return {"scene": self.scene.name, "content": _content(self.scene), "seed": int(self.seed)}


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
