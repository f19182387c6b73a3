"""The step of a plant in lanes: as many scenes at once as a vector has numbers, each with tables of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from phistar.backends.machine.jit import host
from phistar.backends.native_door import LaneLoops
from phistar.constraints import columns as c
from phistar.plant.batch_loop import ROLLS
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
        loops = without_long_trees(ROLLS)
        self.tables = self._own_calls(tables)
        self.loops = LaneLoops(loops, self.tables, {}, self.lanes, PLAIN, sorted({*written, "lane"}))
        self.loops.own["lane"][...] = np.arange(self.lanes)
        self._ask()

    @staticmethod
    def possible(moves: TreeMoves, tables: Mapping[str, np.ndarray]) -> bool:
        """Whether all that a step asks is there in lanes: kernels of trees that are not long."""
        return not tables["counts"][c.LONG_TREES] and all(kernel.compiled for kernel in moves.asked)

    def _own_calls(self, tables: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The tables, with addresses of their own."""
        return {**tables, "tree_wholes": tables["tree_wholes"].copy(), "loop_wholes": tables["loop_wholes"].copy()}

    def _ask(self) -> None:
        own, self.kept = self.loops.own, []
        for kernel in self.moves.asked:
            self.kept.append(kernel.in_lanes(own, self.lanes))
            kernel.write(self.tables, self.kept[-1])

    def run(self, tables: Mapping[str, np.ndarray]) -> None:
        """All scenes of the tables that are not done."""
        self.tables = self._own_calls(tables)
        self.loops.bind(self.tables)
        self._ask()
        for name in FRESH:
            self.loops.own[name][...] = tables[name][..., None]
        self.loops()
