"""The memory of a Riccati sweep over steps, and its compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phistar.backends.native_door import bound
from phistar.steps.riccati_loops import BOUNDED, COUNT, FAILED, SWEEP, forward


@dataclass(frozen=True, eq=False)
class RiccatiSweep:
    """A problem of `steps` steps with n states and m controls: its arrays, which a caller fills and reads, by name.

    A (N, n, n), B (N, n, m), c (N, n); Q (N + 1, n, n), q (N + 1, n), R (N, m, m), r (N, m), S (N, n, m); low, high
    (N, m). `backward` makes D (N, m, m), K (N, m, n), d (N, m), P (N + 1, n, n), p (N + 1, n) of the last rows of Q and
    q; `forward` makes u (N, m) and x (N + 1, n) of the first row of x.
    """

    steps: int
    n: int
    m: int

    @cached_property
    def flat(self) -> dict[str, np.ndarray]:
        N, n, m = self.steps, self.n, self.m
        tables = {"A": (N * n, n), "B": (N * n, m), "Q": ((N + 1) * n, n), "R": (N * m, m), "S": (N * n, m)}
        tables |= {"P": ((N + 1) * n, n), "D": (N * m, m), "K": (N * m, n)}
        tables |= {"V": (n, n), "VA": (n, n), "BV": (m, n), "X": (m, n), "L": (m, m)}
        vectors = {"c": N * n, "q": (N + 1) * n, "r": N * m, "low": N * m, "high": N * m, "p": (N + 1) * n, "d": N * m}
        vectors |= {"x": (N + 1) * n, "u": N * m, "slope": n, "gradient": m, "change": m, "scalars": 4}
        made = {name: np.zeros(shape) for name, shape in tables.items()}
        made |= {name: np.zeros(size) for name, size in vectors.items()}
        made |= {"fixed": np.zeros(m, np.int64), "whole": np.zeros(3, np.int64)}
        made["whole"][COUNT] = N
        return made

    def table(self, name: str) -> np.ndarray:
        """An array by step; writing to it fills the problem."""
        flat, rows = self.flat[name], {"A": self.n, "Q": self.n, "B": self.n, "S": self.n, "P": self.n}
        return flat.reshape(-1, rows.get(name, self.m), flat.shape[1])

    def vector(self, name: str) -> np.ndarray:
        """A vector by step."""
        return self.flat[name].reshape(-1, self.n if name in ("c", "q", "p", "x") else self.m)

    @cached_property
    def _backward(self) -> Callable[[], None]:
        return bound(SWEEP, self.flat, {"STATES": self.n, "CONTROLS": self.m})

    @cached_property
    def _forward(self) -> Callable[[], None]:
        return bound((forward,), self.flat, {"STATES": self.n, "CONTROLS": self.m})

    def backward(self, bounded: bool = False) -> int | None:
        """Sweep from the last step to the first; the step at which D was not positive, if any."""
        self.flat["whole"][BOUNDED] = bounded
        self.table("P")[-1] = self.table("Q")[-1]
        self.vector("p")[-1] = self.vector("q")[-1]
        self._backward()
        failed = int(self.flat["whole"][FAILED])
        return failed - 1 if failed else None

    def forward(self) -> None:
        """The motion under u = d − Kx, from the first row of x."""
        self._forward()
