"""Riccati's equation swept over steps: the statements of R87's filter and smoother, compiled for a chain of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from phistar.backends.blockwise.chain_kernel import FAILED, WHOLE, ChainKernel
from phistar.backends.programs.derivations import FACTORED
from phistar.backends.programs.program import program_of
from phistar.expression import Expression, algebra
from phistar.steps.step_links import MechanismLinks, SystemLinks
from phistar.sweeps.ir import Program


def gain() -> Expression:
    """G = PH*D⁻¹ (R87 eq. 39): of a step, [K, −d]*."""
    return _algebra().G


def joint_inertia() -> Expression:
    """D = HPH* + A (R87 eq. 38): of a step, R + B*PB."""
    return _algebra().D


def motion() -> Expression:
    """ψ*(I − H*G*)E*, which of the state at the start makes all states and controls under the gains."""
    s = _algebra()
    return s.psi.T @ (s.I - s.H.T @ s.G.T) @ s.E.T


@cache
def _algebra() -> Any:
    return algebra(armature=True)


@cache
def _program() -> Program:
    """The sweeps of the three statements: of the gain and D the blocks, of the motion its value."""
    asked = {"gain": gain(), "D": joint_inertia(), "motion": motion()}
    first = asked["gain"]
    nodes = tuple((name, x.node) for name, x in asked.items())
    made = program_of(nodes, first.symbols, first.setting, False, FACTORED)
    given = [name for name, _ in made.operands]
    return replace(made, columns=tuple(given[:2]))


@dataclass(frozen=True, eq=False)
class RiccatiSweep:
    """A problem of `steps` steps with n states and m controls: its arrays, which a caller fills and reads, by name.

    A (N, n, n), B (N, n, m), c (N, n); Q (N + 1, n, n), q (N + 1, n), R (N, m, m), r (N, m), S (N, n, m); low, high
    (N, m). `backward` makes D (N, m, m), K (N, m, n), d (N, m), P (N + 1, n, n), p (N + 1, n) of the last rows of Q and
    q; `forward` makes u (N, m) and x (N + 1, n).

    Q, S and R stand together in W (N + 1, n + m, n + m), q and r in w (N + 1, n + m). Of a mechanism (`places` says
    which rate each control acts on) by_q, by_v, by_force (N, nv, nv) and h (N, 1) stand for A and B, and `carried` and
    `spread` (N, curved, curved) say how its first coordinates move that do not add (`step_links.py`).
    """

    steps: int
    n: int
    m: int
    places: tuple[int, ...] | None = None
    curved: int = 0

    @cached_property
    def _end(self) -> tuple[tuple[np.ndarray, ...], np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """P, p and p* at the end, the diagonal of P there, and the weights of the last state."""
        n, end = self.n, self._views["value"][-1]
        return (
            (end[:n, :n], end[n, :n], end[:n, n]),
            np.einsum("ii->i", end[:n, :n]),
            (
                self.table("Q")[-1],
                self.vector("q")[-1],
            ),
        )

    def _kernel(self, bounded: bool) -> ChainKernel:
        return _kernel(self.n, self.m, bounded, self.places, self.curved)

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """All memory, by name."""
        rooms = self._kernel(True).rooms | self._kernel(False).rooms
        made = {name: room.array(self.steps + 1) for name, room in rooms.items()}
        return made | {WHOLE: np.array([self.steps, 0], np.int64)}

    @cached_property
    def _views(self) -> dict[str, np.ndarray]:
        """Every array by step."""
        N, n, kernel, at = self.steps, self.n, self._kernel(False), self.arrays
        value, gain, D = (at[name] for name in (kernel.handed_inward, kernel.result("gain"), kernel.result("D")))
        y, W, w = at[kernel.result("motion")][:, 0], at["W"], at["w"][:, 0]
        made = {
            "value": value,
            "P": value[:, :n, :n],
            "p": value[:, n, :n],
            "gain": gain[:N, :, : n + 1],
            "K": gain[:N, :, :n],
        }
        made |= {"D": D[:N, :, : self.m], "x": y[:, :n], "u": y[:N, n + 1 : n + 1 + self.m]}
        made |= {"W": W, "Q": W[:, :n, :n], "R": W[:-1, n:, n:], "S": np.swapaxes(W[:-1, n:, :n], -1, -2)}
        made |= {"w": w, "q": w[:, :n], "r": w[:-1, n:], "c": at["c"][:N, 0]}
        made |= {name: at[name][:N, 0] for name in ("low", "high")}
        given = ("A", "B", "by_q", "by_v", "by_force", "h", "carried", "spread")
        return made | {name: at[name][:N] for name in given if name in at}

    def table(self, name: str) -> np.ndarray:
        """An array of matrices by step; writing to it fills the problem."""
        return self._views[name]

    def vector(self, name: str) -> np.ndarray:
        """An array of vectors by step."""
        return -self._views["gain"][..., -1] if name == "d" else self._views[name]

    @cached_property
    def _backward(self) -> dict[bool, Callable[[], None]]:
        return {}

    @cached_property
    def _forward(self) -> Callable[[], None]:
        return self._bind(False, 1)

    def _bind(self, bounded: bool, number: int) -> Callable[[], None]:
        kernel = self._kernel(bounded)
        return kernel.bind(number, {name: self.arrays[name] for name in (*kernel.rooms, WHOLE)})

    @property
    def slope(self) -> float:
        """Σ (r + B*p)*d over the steps, where there is no drift: how the cost begins to change along d."""
        return float(self._views["value"][0, self.n, self.n])

    def curvature(self, bounded: bool) -> float:
        """Σ d*Dd, which without bounds is the slope's opposite."""
        if not bounded:
            return -self.slope
        d = self.vector("d")
        return float(np.einsum("ki,kij,kj->", d, self.table("D"), d))

    def backward(self, bounded: bool = False, shift: float = 0.0) -> int | None:
        """Sweep from the last step to the first, with a shift of the diagonals of Q and R; the step at which D was not
        positive, if any."""
        end, diagonal, last = self._end
        end[0][:], end[1][:], end[2][:] = last[0], last[1], last[1]
        diagonal += shift
        self.arrays["shifts"][0] = shift  # STATE_SHIFT and CONTROL_SHIFT
        if bounded not in self._backward:
            self._backward[bounded] = self._bind(bounded, 0)
        self._backward[bounded]()
        failed = int(self.arrays[WHOLE][FAILED])
        return failed - 1 if failed else None

    def forward(self, start: Any = 0.0) -> None:
        """The motion under u = d − Kx, from a state on."""
        kernel = self._kernel(False)
        (name,) = (name for name, _ in kernel.program.inputs if name not in kernel.program.columns)
        self.arrays[name][0, 0, : self.n], self.arrays[name][0, 0, self.n] = start, 1.0
        self._forward()


@cache
def _kernel(n: int, m: int, bounded: bool, places: tuple[int, ...] | None, curved: int) -> ChainKernel:
    key = n, m, bounded, places, curved
    links = SystemLinks(n, m, bounded) if places is None else MechanismLinks(n, m, bounded, places, curved)
    return ChainKernel(_program(), links, key)
