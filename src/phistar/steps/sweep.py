"""The memory of a Riccati sweep over steps, and its compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.machine.jit import host
from phistar.backends.native_door import bound
from phistar.steps import mechanism_step, system_step
from phistar.steps.riccati_loops import BOUNDED, DRIFTS, FAILED, SWEEP, forward


@dataclass(frozen=True, eq=False)
class RiccatiSweep:
    """A problem of `steps` steps with n states and m controls: its arrays, which a caller fills and reads, by name.

    A (N, n, n), B (N, n, m), c (N, n); Q (N + 1, n, n), q (N + 1, n), R (N, m, m), r (N, m), S (N, n, m); low, high
    (N, m). `backward` makes D (N, m, m), K (N, m, n), d (N, m), P (N + 1, n, n), p (N + 1, n) of the last rows of Q and
    q; `forward` makes u (N, m) and x (N + 1, n) of the first row of x.

    Q, S and R stand together in W (N + 1, n + m, n + m), q and r in w (N + 1, n + m). Of a mechanism (`places` says
    which rate each control acts on) by_q, by_v, by_force (N, nv, nv) and h (N,) stand for A and B, and `carried` and
    `spread` (N, curved, curved) say how its first coordinates move that do not add (`mechanism_step.py`).
    """

    steps: int
    n: int
    m: int
    places: tuple[int, ...] | None = None
    curved: int = 0

    @cached_property
    def flat(self) -> dict[str, np.ndarray]:
        N, n, m, rows = self.steps, self.n, self.m, self.rows
        both = n + m
        tables = {"W": ((N + 1) * both, both), "P": ((N + 1) * n, n), "D": (N * m, m), "K": (N * m, n)}
        wide, narrow = self._constants["WIDE"], self._constants["NARROW"]
        tables |= {"Z": (n, narrow), "X": (m, wide), "Y": (m, wide), "scaled": (m, n), "solved": (m, wide), "L": (m, m)}
        tables |= {"F": (rows, wide), "T": (rows, rows), "G": (rows, wide), "half": (rows, narrow)}
        vectors = {"w": (N + 1) * both, "c": N * n, "low": N * m, "high": N * m, "p": (N + 1) * n, "d": N * m}
        vectors |= {"x": (N + 1) * n, "u": N * m, "slope": n, "lifted": rows, "straight": n}
        vectors |= {"gradient": m, "change": m, "inverse": m, "scalars": 4}
        if self.places is None:
            tables |= {"A": (N * n, n), "B": (N * n, m)}
        else:
            tables |= dict.fromkeys(("by_q", "by_v", "by_force"), (N * rows, rows))
            tables |= {"VL": (n, rows), **dict.fromkeys(("carried", "spread"), (N * self.curved, max(self.curved, 1)))}
            vectors |= {"h": N, "column": max(self.curved, 1)}
        made = {name: np.zeros(shape) for name, shape in tables.items()}
        made |= {name: np.zeros(size) for name, size in vectors.items()}
        made |= {"fixed": np.zeros(m, np.int64), "whole": np.array([N, 0, 0, 0, *(self.places or ())], np.int64)}
        return made

    @property
    def rows(self) -> int:
        """Rows of A: as many as states, or as a mechanism has rates."""
        return self.n if self.places is None else self.n // 2

    @cached_property
    def _views(self) -> dict[str, np.ndarray]:
        """Every array by step."""
        n, m = self.n, self.m
        rows = {"A": n, "B": n, "P": n, "D": m, "K": m, "by_q": self.rows, "by_v": self.rows, "by_force": self.rows}
        rows |= {"carried": self.curved, "spread": self.curved} if self.curved else {}
        made = {name: x.reshape(-1, rows[name], x.shape[1]) for name, x in self.flat.items() if name in rows}
        sizes = {"c": n, "p": n, "x": n, "low": m, "high": m, "d": m, "u": m}
        made |= {name: self.flat[name].reshape(-1, size) for name, size in sizes.items()}
        W, w = self.flat["W"].reshape(-1, n + m, n + m), self.flat["w"].reshape(-1, n + m)
        made |= {"W": W, "Q": W[:, :n, :n], "R": W[:-1, n:, n:], "S": np.swapaxes(W[:-1, n:, :n], -1, -2)}
        return made | {"w": w, "q": w[:, :n], "r": w[:-1, n:]}

    def table(self, name: str) -> np.ndarray:
        """An array of matrices by step; writing to it fills the problem."""
        return self._views[name]

    def vector(self, name: str) -> np.ndarray:
        """An array of vectors by step."""
        return self._views[name]

    @property
    def _constants(self) -> dict[str, int]:
        lanes, both = host().lanes, self.n + self.m
        made = {"STATES": self.n, "CONTROLS": self.m, "BOTH": both, "ROWS": self.rows, "FIRST": self.n + 1}
        made |= {"NARROW": -(-(self.n + 1) // lanes) * lanes, "WIDE": -(-(both + 1) // lanes) * lanes}
        return made | ({} if self.places is None else {"RATES": self.rows, "CURVED": self.curved})

    @cached_property
    def _backward(self) -> Callable[[], None]:
        own = (system_step.prepare_step,)
        if self.places is not None:
            at = mechanism_step
            own = at.rate_rows, at.curved_lift, at.curved_rest, at.prepare_step
        return bound((*own, *SWEEP), self.flat, self._constants)

    @cached_property
    def _forward(self) -> Callable[[], None]:
        own = (system_step.advance,)
        if self.places is not None:
            own = mechanism_step.rate_rows, mechanism_step.advance
        return bound((*own, forward), self.flat, self._constants)

    def backward(self, bounded: bool = False) -> int | None:
        """Sweep from the last step to the first; the step at which D was not positive, if any."""
        self.flat["whole"][[BOUNDED, DRIFTS]] = bounded, self.flat["c"].any()
        self.table("P")[-1] = self.table("Q")[-1]
        self.vector("p")[-1] = self.vector("q")[-1]
        self._backward()
        failed = int(self.flat["whole"][FAILED])
        return failed - 1 if failed else None

    def forward(self) -> None:
        """The motion under u = d − Kx, from the first row of x."""
        self._forward()
