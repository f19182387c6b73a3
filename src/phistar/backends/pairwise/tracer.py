"""A link of one kind as sweeps see it in one common frame: what it keeps, what neighbours pass on and send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.links.link_frames import ROOT
from phistar.backends.programs.blocks import Block
from phistar.backends.rolled.steps import ARMATURE, Kind, Place, Recorder, Step, remembered


class LinkTracer:
    """A symbolic link of one kind: what it has kept, what its parent passes on, what its children have sent.

    `alone`: it is the only one on the world, and the common origin is its own. `armature`: any joint has one.
    """

    def __init__(self, kind: Kind, alone: bool, armature: bool) -> None:
        self.kind, self.nv, self.is_root = kind, kind.model.nv, kind.role == ROOT
        self.alone, self.armature = alone, armature
        self.turns: dict[Any, int] = {}
        self.earlier: dict[str, np.ndarray | None] = {}
        self.called: dict[str, tuple[str, int]] = {}
        self.axes: dict[str, int] = {}  # of fields that have the joint's rates side by side: along rows or columns
        self.masses: tuple[Any, np.ndarray, np.ndarray]

    def trace(self, work: Callable[[LinkTracer], None]) -> Step:
        """The link's step in one sweep."""
        self.record = Recorder(self.turns)
        self.made: dict[str, Block] = {}
        self.given_away: list[tuple[Place, Any]] = []
        work(self)
        made = [(name, value) for name, value in self.made.items() if value is not None]
        stores = [(("own", name, i), x) for name, value in made for i, x in enumerate(value.reshape(-1))]
        self.earlier |= {name: remembered(value) for name, value in self.made.items()}
        return self.record.finished([*stores, *self.given_away])

    def keep(self, **fields: np.ndarray) -> None:
        self.made.update(fields)

    def field(self, name: str) -> np.ndarray:
        """Field kept by the link, in this sweep or an earlier one."""
        if name in self.made:
            return self.made[name]
        known = self.earlier[name]
        assert known is not None, name
        result = np.empty(known.shape, dtype=object)
        for index in np.ndindex(*known.shape):
            number: Any = known[index]
            result[index] = number if isinstance(number, float) else self.record.load("own", name, number)
        return result

    def keep_block(self, name: str, block: Block) -> None:
        """A field of a program, under the name that tables have for its first rows."""
        known, rows = self.called.get(name, (name, 6))
        whole = np.zeros((6, self.nv)) if block is None and name in self.called else block
        self.made[known] = None if whole is None else whole[:rows]
        if whole is not None and rows < len(whole):
            self.made[rest_of(known)] = whole[rows:]

    def block(self, name: str) -> Block:
        """A field of a program."""
        known, _ = self.called.get(name, (name, 6))
        if known not in self.made and self.earlier.get(known) is None:
            return None
        first = self.made[known] if known in self.made else self.field(known)
        is_cut = rest_of(known) in self.made or rest_of(known) in self.earlier
        return np.concatenate([first, self.field(rest_of(known))]) if is_cut else first

    def given(self, name: str) -> np.ndarray:
        """An input, (r, 1)."""
        return self.record.array("own", name, (self.nv, 1))

    def passed(self, name: str, size: int) -> np.ndarray:
        """Field passed on to it, (size, 1)."""
        return self.record.array("passed", name, (size, 1))

    def passes(self, name: str, value: np.ndarray) -> None:
        self.given_away += [(("passing", name, i), x) for i, x in enumerate(value.reshape(-1))]

    def sum_of_children(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return self.record.array("children", name, shape)

    def sends(self, name: str, value: np.ndarray) -> None:
        if not self.is_root:
            self.given_away += [(("siblings", name, i), x) for i, x in enumerate(value.reshape(-1))]

    def armature_of(self, rate: int) -> Any:
        return self.record.load("constant", "", ARMATURE + rate) if self.armature else 0.0


def rest_of(name: str) -> str:
    return f"{name}, rest"
