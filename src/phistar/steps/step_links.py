"""Steps of time as links of a chain, for `chain_kernel.py`: a link's motion is the state before a step, 1, and its
control, so that a step's whole cost is one mass and its whole motion one φ*.

    y = [x; 1; u],    φ*y = [Ax + Bu + c; 1],    H*: u,    M = [[Q, q, S], [q*, 0, r*], [S*, r, R]]

The articulated inertia P is then the quadratic of differential dynamic programming in x and u, P⁺ the cost to go
[[P, p], [p*, 2J]], G the gain with −d beside K, and ψ* the motion under it: Riccati's equation with linear terms, drift
and cross terms is R87 eqs. 37-43 as it stands.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from phistar.backends.blockwise.chain_blocks import Widths
from phistar.backends.blockwise.chain_kernel import ChainLinks, Room, Site
from phistar.backends.blockwise.tiles import Place
from phistar.backends.code.native import Layout, arrays_used, loops_module, tree_of
from phistar.backends.kernels import I1, Local, Module
from phistar.steps.stops import STOPS

STATE_SHIFT, CONTROL_SHIFT = 0, 1
"""Entries of `shifts`: what is added to the diagonals of M and A."""


given = partial(Room, tight=True)
"""An array that callers fill."""


@dataclass(frozen=True)
class StepLinks(ChainLinks):
    """Abstract. Steps with n states and m controls, which stand between stops where `bounded`: weights
    W = [[Q, S], [S*, R]] and w = [q; r] of each."""

    n: int
    m: int
    bounded: bool

    @property
    def widths(self) -> Widths:
        return Widths(self.n + 1, self.m)

    @property
    def rooms(self) -> Mapping[str, Room]:
        n, m = self.n, self.m
        found = {"W": given(n + m, n + m), "w": given(1, n + m), "c": given(1, n), "shifts": Room(1, 2, False)}
        found |= {"inverse": Room(m, m, False)}
        if self.bounded:
            found |= {"low": given(1, m), "high": given(1, m)}
            found |= {name: Room(1, m, False) for name in ("step", "fixed", "slope")}
        return {**found, **self.own_rooms}

    @property
    @abstractmethod
    def own_rooms(self) -> Mapping[str, Room]:
        """Rooms of φ."""

    def mass(self, at: Site, to: Place) -> None:
        n, m, tiles, W, w = self.n, self.m, at.tiles, at.place("W"), at.place("w")
        tiles.add(to, W, n, n, assign=True)
        tiles.add_diagonal(to, n, at.place("shifts").at(0, STATE_SHIFT).load())
        tiles.add(to.part(n, 0), w, 1, n, assign=True)
        to.at(n, n).store(0.0)
        tiles.add(to.part(n + 1, 0), W.part(n, 0), m, n, assign=True)
        tiles.add_column(to.part(n + 1, n), w.part(0, n).transpose, m, assign=True)
        tiles.add(to.part(n + 1, n + 1), W.part(n, n), m, m, assign=True)

    def armature(self, at: Site, to: Place) -> None:
        at.tiles.add_diagonal(to, self.m, at.place("shifts").at(0, CONTROL_SHIFT).load())

    def divide(self, at: Site, to: Place, x: Place, matrix: Place, columns: int) -> Local:
        tiles, inverse = at.tiles, at.place("inverse")
        if not self.bounded:
            good = tiles.invert(inverse, matrix, self.m)
        else:
            known = {"D": matrix, "X": x, "d": at.place("step")}
            used = [(known[name] if name in known else at.place(name)).start for name in self._arrays_used]
            good = tiles.code.result_of(I1, STOPS[-1].__name__, *used)
        tiles.product(to, inverse, x, (self.m, columns, self.m))
        if self.bounded:
            with tiles.code.loop(0, self.m, some=True) as i:
                to.at(i, self.n).store(-at.place("step").at(0, i).load())
        return good

    @property
    def _arrays_used(self) -> list[str]:
        trees = {function.__name__: tree_of(function) for function in STOPS}
        return arrays_used(trees[STOPS[-1].__name__], trees)

    @property
    def functions(self) -> Module:
        if not self.bounded:
            return Module(())
        square, whole = Room(self.m, self.m), Room(self.m, self.widths.whole)
        rows = {"D": square.row, "inverse": square.row, "X": whole.row}
        return loops_module(STOPS, {"RATES": self.m, "LAST": self.n}, Layout(rows))


@dataclass(frozen=True)
class SystemLinks(StepLinks):
    """x' = Ax + Bu + c."""

    @property
    def own_rooms(self) -> Mapping[str, Room]:
        n, wide = self.n, self.widths.whole
        made = {"A": given(n, n), "B": given(n, self.m)}
        return made | {"F": Room(n, wide, False), "Y": Room(n + 1, wide, False)}

    def _system(self, at: Site) -> Place:
        """F = [A, c, B]."""
        n, m, tiles, F = self.n, self.m, at.tiles, at.place("F")
        tiles.add(F, at.place("A"), n, n, assign=True)
        tiles.add_column(F.part(0, n), at.vector("c"), n, assign=True)
        tiles.add(F.part(0, n + 1), at.place("B"), n, m, assign=True)
        return F

    def congruent_inward(self, at: Site, to: Place, x: Place) -> None:
        n, whole, tiles, Y = self.n, self.widths.whole, at.tiles, at.place("Y")
        F = self._system(at)
        tiles.product(Y, x, F, (n + 1, whole, n))
        tiles.add_column(Y.part(0, n), x.part(0, n), n + 1)
        tiles.product(to, F.transpose, Y, (whole, whole, n), to, lower=True)
        tiles.add(to.part(n, 0), Y.part(n, 0), 1, n + 1)

    def outward(self, at: Site, to: Place, x: Place) -> None:
        n, tiles = self.n, at.tiles
        tiles.code.clear(to.start, 8 * self.widths.whole)
        tiles.dots(to, self._system(at), x, n, self.widths.whole)
        to.at(n, 0).store(x.at(n, 0).load())


@dataclass(frozen=True)
class MechanismLinks(StepLinks):
    """A mechanism's semi-implicit Euler step, whose rates decide and whose coordinates follow:

        δv' = δv + h(∂θ̈/∂q δq + ∂θ̈/∂v δv + ∂θ̈/∂u δu),   δq' = X̂δq + hŶδv'

    φ is two moves, one by each equation, and the first has half the rows. X̂ = exp(−h v'~) and Ŷ = ∫₀¹ exp(−s h v'~) ds
    are the identity but for the first `curved` rows and columns; `places` are the rates that the controls act on.
    """

    places: tuple[int, ...]
    curved: int

    @property
    def rates(self) -> int:
        return self.n // 2

    @property
    def own_rooms(self) -> Mapping[str, Room]:
        nv, wide, c = self.rates, self.widths.whole, self.curved
        made = {name: given(nv, nv) for name in ("by_q", "by_v", "by_force")} | {"h": given(1, 1)}
        made |= {"carried": given(c, c), "spread": given(c, c), "turned": Room(self.n + 1, c, False)} if c else {}
        made |= {"lifted": Room(c, c, False)} if c else {}
        return made | {"F": Room(nv, wide, False), "Y": Room(nv, wide, False), "T": Room(self.n + 1, wide, False)}

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """Controls on rates that follow each other: the first control, its rate, how many."""
        breaks = [i for i, (a, b) in enumerate(pairwise(self.places), 1) if b != a + 1]
        edges = [0, *breaks, len(self.places)]
        return [(a, self.places[a], b - a) for a, b in pairwise(edges)]

    def _rates_moved(self, at: Site) -> tuple[Place, Local]:
        """F = [∂v'/∂q, ∂v'/∂v, 0, ∂v'/∂u], and h."""
        nv, tiles, F, h = self.rates, at.tiles, at.place("F"), at.place("h").at(0, 0).load()
        tiles.add(F, at.place("by_q"), nv, nv, h, assign=True)
        tiles.add(F.part(0, nv), at.place("by_v"), nv, nv, h, assign=True)
        tiles.add_diagonal(F.part(0, nv), nv, 1.0)
        for control, rate, count in self._runs:
            tiles.add(F.part(0, self.n + 1 + control), at.place("by_force").part(0, rate), nv, count, h, assign=True)
        return F, h

    def _before_coordinates(self, at: Site, x: Place, h: Local) -> Place:
        """T = φXφ* of the second move, δq' = X̂δq + hŶδv' + c, and of 1: in the rows of the rates and of 1, and in the
        coordinates' own columns."""
        n, nv, c, tiles, T = self.n, self.rates, self.curved, at.tiles, at.place("T")
        drift, last = at.place("c"), T.part(n, 0)
        tiles.product(last, drift, x, (1, n + 1, n), x.part(n, 0))
        tiles.dots(last.part(0, n), last, drift.transpose, 1, n)
        tiles.add(T.part(c, 0), x.part(c, 0), nv - c, nv, assign=True)
        tiles.add(T.part(nv, 0), x.part(nv, 0), nv, n, assign=True)
        tiles.add(T.part(nv + c, 0), x.part(c, 0), nv - c, n, h)
        if c:
            carried, lifted = at.place("carried"), at.place("lifted")
            tiles.add(lifted, at.place("spread"), c, c, h, assign=True)
            tiles.product(T, carried.transpose, x, (c, nv, c))
            tiles.product(T.part(nv, 0), lifted.transpose, x, (c, n, c), T.part(nv, 0))
            tiles.product(T.part(nv, nv), T.part(nv, 0), lifted, (nv + 1, c, c), T.part(nv, nv))
        tiles.add(T.part(nv, nv + c), T.part(nv, c), nv + 1, nv - c, h)
        if c:
            tiles.product(at.place("turned"), T, at.place("carried"), (n + 1, c, c))
            tiles.add(T, at.place("turned"), n + 1, c, assign=True)
        return T

    def congruent_inward(self, at: Site, to: Place, x: Place) -> None:
        n, nv, whole, tiles, Y = self.n, self.rates, self.widths.whole, at.tiles, at.place("Y")
        F, h = self._rates_moved(at)
        T = self._before_coordinates(at, x, h)
        tiles.product(Y, T.part(nv, nv), F, (nv, whole, nv))
        tiles.add(Y, T.part(nv, 0), nv, nv)
        tiles.add_column(Y.part(0, n), T.part(n, nv).transpose, nv)
        tiles.product(to, F.transpose, Y, (whole, whole, nv), to, lower=True)
        tiles.product(to, T.part(nv, 0).transpose, F, (nv, nv, nv), to, lower=True)
        tiles.add(to, T, nv, nv)
        last = to.part(n, 0)
        tiles.product(last, T.part(n, nv), F, (1, n + 1, nv), last)
        tiles.add(last, T.part(n, 0), 1, nv)
        tiles.add_column(last.part(0, n), T.part(n, n), 1)

    def outward(self, at: Site, to: Place, x: Place) -> None:
        n, nv, c, tiles = self.n, self.rates, self.curved, at.tiles
        F, h = self._rates_moved(at)
        tiles.code.clear(to.start, 8 * self.widths.whole)
        tiles.dots(to.part(nv, 0), F, x, nv, self.widths.whole)
        row, old = to.transpose, x.transpose
        tiles.add(row.part(0, c), old.part(0, c), 1, nv - c, assign=True)
        tiles.add(row.part(0, c), row.part(0, nv + c), 1, nv - c, h)
        if c:
            tiles.add(at.place("lifted"), at.place("spread"), c, c, h, assign=True)
            tiles.dots(to, at.place("carried"), x, c, c)
            tiles.dots(to, at.place("lifted"), to.part(nv, 0), c, c)
        one = x.at(n, 0).load()
        tiles.add(row, at.place("c"), 1, n, one)
        to.at(n, 0).store(one)
