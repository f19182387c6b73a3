"""The step of a plant in lanes: as many scenes at once as a vector has numbers, each with tables of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from phistar.backends.machine.jit import host
from phistar.backends.native_door import LaneLoops
from phistar.constraints import columns as c
from phistar.plant.batch_loop import ROLLS
from phistar.plant.no_books import without_books
from phistar.plant.no_long_trees import without_long_trees
from phistar.plant.tree_moves import TreeMoves

PLAIN = ("scene_q", "scene_v", "scene_memory", "scene_rows", "scene_line", "scene_residual", "kept_q", "kept_v")
PLAIN = (*PLAIN, "scene_contacts", "scene_shapes", "scene_line_at", "scene_failed", "scene_done")
FRESH = ("rows", "outer")  # what is changed from outside between runs


class SceneLanes:
    """The loops over scenes in lanes."""

    def __init__(self, moves: TreeMoves, tables: Mapping[str, np.ndarray]) -> None:
        self.moves, self.lanes = moves, host().lanes
        written = {name for kernel in moves.asked for name, _ in kernel.outputs}
        loops = without_books(without_long_trees(ROLLS))
        self.wholes = {name: tables[name].copy() for name in ("tree_wholes", "loop_wholes")}  # addresses of its own
        self.loops = LaneLoops(loops, {**tables, **self.wholes}, {}, self.lanes, PLAIN, sorted({*written, "lane"}))
        self.loops.own["lane"][...] = np.arange(self.lanes)
        self._ask()

    @staticmethod
    def possible(moves: TreeMoves, tables: Mapping[str, np.ndarray]) -> bool:
        """Whether all that a step asks is there in lanes: kernels of trees that are not long."""
        return not tables["counts"][c.LONG_TREES] and all(kernel.compiled for kernel in moves.asked)

    def _ask(self) -> None:
        """The kernels on the tables of the lanes."""
        self.kept = [kernel.in_lanes(self.loops.own, self.lanes) for kernel in self.moves.asked]
        for kernel, call in zip(self.moves.asked, self.kept, strict=True):
            kernel.write(self.wholes, call)

    def run(self, tables: Mapping[str, np.ndarray]) -> None:
        """All scenes of the tables that are not done."""
        if self.loops.bind({**tables, **self.wholes}):
            self._ask()
        for name in FRESH:
            self.loops.own[name][...] = tables[name][..., None]
        self.loops()
