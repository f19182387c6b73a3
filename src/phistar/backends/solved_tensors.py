"""Second derivatives of forward dynamics of a robot: the entries that the loops of `tensor_loops.py` read and write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.native_door import bind_call
from phistar.backends.tensor_loops import LOOPS

Lists = list[list[Any]]


@dataclass(frozen=True, eq=False)
class SolvedTensors:
    """Of a robot of `size` rates whose ∂²τ has entries at `places`; the rates `falls` are of joints that hold nothing:
    however they are turned, all else moves as before."""

    size: int
    places: dict[str, np.ndarray]
    falls: frozenset[int]

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """Places of the results, (m, 3) each, in the order in which they are written."""
        rates, moving = range(self.size), self._moving
        found: dict[str, list[tuple[int, int, int]]] = {
            "dqdq": [(i, j, k) for k in rates for i in rates for j in self._together[k]],
            "dqdv": [(i, k, j) for k in moving for i in rates for j in rates],
            "dvdv": [(i, j, k) for k in rates for i in rates for j in self._pairs[k]],
            "dtaudq": [(i, j, k) for k in moving for i in rates for j in range(i + 1)],
        }
        return {name: np.array(own, dtype=np.int64).reshape(-1, 3) for name, own in found.items()}

    def fill(self, made: dict[str, np.ndarray], entries: np.ndarray, *tables: np.ndarray) -> None:
        """Write the results of states, (states, m) each, from ∂²τ (states, entries) and ∂θ̈/∂q, ∂θ̈/∂v and ℳ⁻¹, (states,
        n, n) each."""
        n, states = self.size, len(entries)
        named = zip(("by_q", "by_v", "inverse"), tables, strict=True)
        given = {name: np.ascontiguousarray(x, dtype=float).reshape(-1, n) for name, x in named}
        given |= {"entries": np.ascontiguousarray(entries), "sizes": np.array([states], dtype=np.int64)}
        bind_call(LOOPS, self._plan | self._room() | given | made, {"SIZE": n})()

    @property
    def operations(self) -> int:
        """Multiplications and additions of a state in the products with ∂ℳ/∂q and ℳ⁻¹."""
        plan, n, total = self._plan, self.size, 0
        for k in range(n):
            rows = int(plan["row_start"][k + 1] - plan["row_start"][k])
            moves, width = int(plan["moves"][k]), int(plan["width"][k])
            total += moves * rows * rows * 3 * n + rows * n * width - moves * rows * (n * (n - 1)) // 2
        return 2 * total

    def _room(self) -> dict[str, np.ndarray]:
        n = self.size
        return {
            "first": np.zeros((n + 1, 3 * n + 2)),
            "change": np.zeros((n + 4, n + 4)),
            "Y": np.zeros((n + 4, 4 * n)),
            "made": np.zeros((2, 4 * n)),
            "once": np.zeros((n * n, n)),
        }

    @cached_property
    def _moving(self) -> list[int]:
        return [k for k in range(self.size) if k not in self.falls]

    @cached_property
    def _together(self) -> list[list[int]]:
        """For each k, the j ≤ k for which ∂²θ̈/∂q_j∂q_k can be nonzero."""
        return [[j for j in range(k + 1) if (j in self.falls) == (k in self.falls)] for k in range(self.size)]

    @cached_property
    def _pairs(self) -> list[list[int]]:
        """For each k, the j ≤ k for which ∂²τ/∂v_j∂v_k can be nonzero."""
        found: list[set[int]] = [set() for _ in range(self.size)]
        for _, j, k in self.places["dvdv"].tolist():
            found[k].add(j)
        return [sorted(own) for own in found]

    @cached_property
    def _plan(self) -> dict[str, np.ndarray]:
        n, starts, at = self.size, {}, 0
        for name, places in self.places.items():
            starts[name], at = at, at + len(places)
        rows = [set[int]() for _ in range(n)]
        mass: Lists = [[] for _ in range(n)]
        own: Lists = [[] for _ in range(n)]
        for entry, (i, j, k) in enumerate(self.places["dadq"].tolist(), starts["dadq"]):
            if k not in self.falls:
                rows[k] |= {i, j}
                mass[k].append((entry, i, j))
        pairs, together = self._pairs, [set(x) for x in self._together]
        for entry, (i, j, k) in enumerate(self.places["dqdq"].tolist(), starts["dqdq"]):
            if j in together[k]:
                own[k].append((entry, i, len(pairs[k]) + j, 0.5 if j == k else 1.0))
        for entry, (i, j, k) in enumerate(self.places["dqdv"].tolist(), starts["dqdv"]):
            if j not in self.falls:
                own[j].append((entry, i, len(pairs[j]) + n + k, 1.0))
        for entry, (i, j, k) in enumerate(self.places["dvdv"].tolist(), starts["dvdv"]):
            own[k].append((entry, i, pairs[k].index(j), 1.0))
        for k in range(n):
            rows[k] |= {i for _, i, _, _ in own[k]}
        return self._tables(rows, mass, own)

    def _tables(self, rows: list[set[int]], mass: Lists, own: Lists) -> dict[str, np.ndarray]:
        n = self.size
        order = [[*sorted(x), *[n] * (-len(x) % 4)] for x in rows]  # in fours, the last ones zero
        place = [{i: r for r, i in enumerate(x) if i < n} for x in order]
        moves = [int(k not in self.falls) for k in range(n)]
        width = [len(self._pairs[k]) + (3 * n if moves[k] else n) for k in range(n)]
        masses = [[(e, place[k][i], place[k][j]) for e, i, j in x] for k, x in enumerate(mass)]
        sides = [[(e, place[k][i], c, f) for e, i, c, f in x] for k, x in enumerate(own)]
        whole = {
            "moves": moves,
            "number": np.cumsum([0, *moves])[:-1],
            "width": width,
            "paired": [len(x) for x in self._pairs],
            "vv_start": np.cumsum([0, *(n * len(x) for x in self._pairs)])[:-1],
            "row_start": _starts(order),
            "row": _flat(order),
            "mass_start": _starts(masses),
            "own_start": _starts(sides),
            "with_start": _starts(self._together),
            "with_rate": _flat(self._together),
        }
        whole |= {f"mass_{name}": [x[i] for x in _flat(masses)] for i, name in enumerate(("entry", "row", "column"))}
        whole |= {f"own_{name}": [x[i] for x in _flat(sides)] for i, name in enumerate(("entry", "row", "column"))}
        made = {name: np.array([*x, 0], dtype=np.int64) for name, x in whole.items()}
        return made | {"own_factor": np.array([*(x[3] for x in _flat(sides)), 0.0])}


def _starts(lists: Lists) -> list[int]:
    return np.cumsum([0, *map(len, lists)]).tolist()


def _flat(lists: Lists) -> list[Any]:
    return [x for own in lists for x in own]
