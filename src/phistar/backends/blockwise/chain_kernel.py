"""Kernels of programs over chains of wide links: one function a sweep, which works in memory that the caller holds.

What the links are, M, A and how φ acts, is said by `ChainLinks` in loops over tiles; what is computed with them is said
by the program that was lowered from a statement.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.blockwise.chain_blocks import (
    ChainRecorder,
    Datum,
    Given,
    Kept,
    Moved,
    Placed,
    Product,
    Quotient,
    Total,
    View,
    Widths,
    inner_size,
    record,
    refusal,
)
from phistar.backends.blockwise.tiles import SLACK, Place, Tiles
from phistar.backends.choice import block_lanes
from phistar.backends.kernels import F64, I64, PLACE, Code, Func, Local, Module, kernel_ir, llvm_text
from phistar.backends.machine.jit import Source, host, machine_code
from phistar.sweeps.ir import INWARD, Program

COUNT, FAILED = 0, 1
"""Entries of `whole`: the links with a joint; 1 + the first link, as they are visited, whose D is not positive."""
WHOLE = "whole"


@dataclass(frozen=True)
class Room:
    """An array of the chain: a block for each link, or one to work in. Rows of those that callers fill follow each
    other `tight`ly, others end with whole vectors, of as many lanes as there may be."""

    rows: int
    columns: int
    along: bool = True
    tight: bool = False

    @property
    def row(self) -> int:
        """Numbers from one row to the next."""
        lanes = 1 if self.tight else host().lanes
        return -(-self.columns // lanes) * lanes

    @property
    def numbers(self) -> int:
        return self.rows * self.row

    def array(self, links: int) -> np.ndarray:
        """Zeros for so many links, (links, rows, row), or (1, rows, row); they may be read a little beyond the end."""
        count = self.numbers * (links if self.along else 1)
        raw = np.zeros(count + SLACK + 8)
        start = -(raw.ctypes.data // 8) % 8  # so that a vector lies in one line of the cache
        return raw[start : start + count].reshape(-1, self.rows, self.row)


class ChainLinks(ABC):
    """Abstract. The links of a chain in loops over tiles: `place(name, k)` is an array of its own at link k."""

    @property
    @abstractmethod
    def widths(self) -> Widths: ...

    @property
    @abstractmethod
    def rooms(self) -> Mapping[str, Room]:
        """The arrays that it reads, and those it works in."""

    @abstractmethod
    def mass(self, at: Site, to: Place) -> None:
        """to = M(k), the lower triangle."""

    @abstractmethod
    def armature(self, at: Site, to: Place) -> None:
        """to += A(k)."""

    @abstractmethod
    def congruent_inward(self, at: Site, to: Place, x: Place) -> None:
        """to += φXφ*, the lower triangle, of a symmetric X in the rows that are carried."""

    @abstractmethod
    def outward(self, at: Site, to: Place, x: Place) -> None:
        """to = φ*x, the rows that are carried, of the link before."""

    @abstractmethod
    def divide(self, at: Site, to: Place, x: Place, matrix: Place, columns: int) -> Local:
        """to = D⁻¹X; whether D is positive."""

    @property
    def functions(self) -> Module:
        """Functions that it calls."""
        return Module(())


@dataclass(frozen=True, eq=False)
class Site:
    """A link while its code is written: its number, its arrays, and the loops over them."""

    tiles: Tiles
    k: Local
    pointers: Mapping[str, Local]
    rooms: Mapping[str, Room]

    def place(self, name: str, k: Local | None = None) -> Place:
        """An array, at this link or another."""
        room, start = self.rooms[name], self.pointers[name]
        at = start.at((self.k if k is None else k) * room.numbers) if room.along else start
        return Place(at, room.row, 1, (room.columns, room.row))

    def vector(self, name: str, k: Local | None = None) -> Place:
        """The same as a column."""
        return Place(self.place(name, k).start, 1, 0)


@dataclass(frozen=True, eq=False)
class ChainKernel:
    """The sweeps of a program over a chain of links, compiled."""

    program: Program
    links: ChainLinks
    made_from: tuple[Any, ...]

    @cached_property
    def recorder(self) -> ChainRecorder:
        return record(self.program, self.links.widths)

    @cached_property
    def rooms(self) -> dict[str, Room]:
        """All arrays: the links' own, vectors that are given, fields."""
        found = dict(self.links.rooms)
        for name, _ in self.program.inputs:
            if name not in self.program.columns:
                found[name] = Room(1, self.links.widths.whole)
        for kept in self.recorder.kept:
            rows, columns = kept.needed[::-1] if kept.is_flipped else kept.needed
            vector = columns == 1 and not kept.is_flipped
            found[kept.name] = Room(1, rows, kept.along) if vector else Room(rows, columns, kept.along)
        return found

    def result(self, public: str) -> str:
        """The array of a statement's value."""
        return self.recorder.fields[self.program.result_names[public]].name

    @cached_property
    def handed_inward(self) -> str:
        """The array of the blocks that links hand to those before them."""
        return next(t.name for kept in self.recorder.kept for t in _terms(kept.value) if isinstance(t, Moved))

    def bind(self, number: int, arrays: Mapping[str, np.ndarray]) -> Callable[[], None]:
        """One of the sweeps, as a call without arguments that works in place."""
        names = sorted(arrays)

        def source() -> Source:
            text = llvm_text(self._module(number, names))
            return Source("", loops=text)

        shapes = [(name, self.rooms[name]) for name in names if name != WHOLE]
        key = repr(self.program), repr(shapes), self.made_from, number
        _, code = machine_code("chain", key, host(), source)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address_of("run"))
        table = np.array([arrays[name].ctypes.data for name in names], dtype=np.int64)
        address = table.ctypes.data

        def call() -> None:
            function(address)

        call.kept = (code, table, list(arrays.values()))  # type: ignore[attr-defined]  # the memory that it works on
        return call

    def _module(self, number: int, names: Sequence[str]) -> Module:
        code, target = Code("run", table=PLACE.to), host()
        code.inner = False
        kinds = {name: I64.to if name == WHOLE else F64.to for name in names}
        given = {name: code["table"].at(i).load(kind=kinds[name]) for i, name in enumerate(names)}
        tiles, sweep = Tiles(code, block_lanes(self.links.widths.whole), target.fma), self.program.sweeps[number]
        whole = given[WHOLE]
        whole.at(FAILED).store(0)
        count = whole.at(COUNT).load()
        inward = sweep.direction == INWARD
        first, last = (count - 1, code.whole(-1)) if inward else (code.whole(0), count + 1)
        k = code.new_local(I64)
        body = code.record(lambda: _Writer(self, Site(tiles, k, given, self.rooms), number).write())
        code.put(kernel_ir.For(k.value, first.value, last.value, -1 if inward else 1, body))
        return Module((code.function, Func("loop", (), (), inner=False))).with_(self.links.functions)


def _terms(value: Any) -> list[Any]:
    return [x for _, x in value.terms] if isinstance(value, Total) else [value]


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes the statements of a sweep at a link."""

    kernel: ChainKernel
    site: Site
    number: int

    def write(self) -> None:
        for kept in self.kernel.recorder.kept:
            if kept.sweep == self.number:
                to, (rows, columns) = self.place(kept), kept.needed
                self.put(to, kept.value, (rows, columns), kept.symmetric)
                if kept.symmetric and kept.full:
                    self.site.tiles.mirror(to, rows)

    @property
    def links(self) -> ChainLinks:
        return self.kernel.links

    def place(self, value: Any) -> Place:
        """Address of a value that is in memory."""
        match value:
            case Kept() if value.shape[1] == 1:
                return self.site.vector(value.name)
            case Kept():
                own = self.site.place(value.name)
                return own.transpose if value.is_flipped else own
            case View(of=of, first=first, transposed=transposed):
                part = self.place(of).part(*first)
                return part.transpose if transposed else part
            case Given(name=name):
                return self.site.vector(name)
        raise refusal("a sum inside a product")

    def put(self, to: Place, value: Any, size: tuple[int, int], lower: bool) -> None:
        """to = value."""
        if not isinstance(value, Total):
            self.add(to, value, size, lower, 1, True)
            return
        match sorted(value.terms, key=lambda term: _order(term[1])):
            case [(1, Kept() | View() as first), (sign, Product() as second)] if size[1] > 1:
                self.multiply(to, second, size, lower, sign, self.place(first))
            case terms:
                for i, (sign, term) in enumerate(terms):
                    self.add(to, term, size, lower, sign, i == 0)

    def add(self, to: Place, value: Any, size: tuple[int, int], lower: bool, sign: int, assign: bool) -> None:
        """to ±= value, or to = value."""
        tiles, (rows, columns) = self.site.tiles, size
        match value:
            case Kept() | View() | Given():
                x = self.place(value)
                if columns == 1:
                    to, x, rows, columns = to.transpose, x.transpose, 1, rows
                tiles.add(to, x, rows, columns, float(sign), assign)
            case Datum(name="M") if assign:
                self.links.mass(self.site, to)
            case Datum(name="A") if sign == 1 and not assign:
                self.links.armature(self.site, to)
            case Moved(inward=True) if sign == 1 and not assign:
                known = self.site.place(value.name, self.site.k + 1)
                self.links.congruent_inward(self.site, to, known)
            case Moved(inward=False) if assign:
                self.carry(to, value)
            case Product():
                self.multiply(to, value, size, lower, sign, None if assign else to)
            case Placed(of=inner) if not assign:
                at = self.links.widths.carried
                self.add(to.part(at, 0), inner, inner.shape, False, sign, False)
            case Quotient(left=left, matrix=matrix) if assign:
                x = self.place(left).transpose
                good = self.links.divide(self.site, to.transpose, x, self.place(matrix), rows)
                self.site.tiles.code.branch(good, lambda: None, self.fail)
            case _:
                raise refusal(type(value).__name__)

    def carry(self, to: Place, value: Moved) -> None:
        """φ*x of the link before; of the first there is none."""
        code, k, widths = self.site.tiles.code, self.site.k, self.links.widths
        behind = replace(self.site, k=k - 1)
        known = behind.vector(value.name)
        code.branch(
            k > 0,
            lambda: self.links.outward(behind, to, known),
            lambda: code.clear(to.start, 8 * widths.whole),
        )

    def multiply(
        self, to: Place, value: Product, size: tuple[int, int], lower: bool, sign: int, source: Place | None
    ) -> None:
        tiles, inner = self.site.tiles, inner_size(value, self.links.widths)
        left, right = self.place(value.left), self.place(value.right)
        if size[1] > 1:
            tiles.product(to, left, right, (*size, inner), source, sign < 0, lower)
        else:
            if source is None:
                tiles.code.clear(to.start, 8 * size[0])
            tiles.dots(to, left, right, size[0], inner, sign < 0)

    def fail(self) -> None:
        """The link's D is not positive: its number is told unless one was before."""
        place = self.site.pointers[WHOLE].at(FAILED)
        known = place.load()
        place.store(known.same(0).select(self.site.k + 1, known))


def _order(term: Any) -> int:
    """Order in which the terms of a sum are written: one that can begin it first, then those added to it."""
    kinds = (View, Kept, Given, Moved, Placed, Product)
    return (-1 if term.name == "M" else len(kinds)) if isinstance(term, Datum) else kinds.index(type(term))
