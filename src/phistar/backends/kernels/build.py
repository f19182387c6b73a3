"""Functions of the kernel language, written down as Python runs: operators on `Local` values record statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import F64, FLOATS, I1, I64, U32, Type, Value, vector


@dataclass(frozen=True, eq=False)
class Local:
    """A value of a function under construction."""

    code: Code
    value: Value

    @property
    def type(self) -> Type:
        return self.value.type

    # Numbers

    def _with(self, whole: str, floating: str, other: Any, result: Type | None = None) -> Local:
        if isinstance(self.value.name, int) and isinstance(other, int):  # an index that is known is a number
            known = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}.get(whole)
            if known is not None:
                return self.code.whole(known(self.value.name, other))
        if self.type.kind in FLOATS:
            return self.code.let(self.type, floating, self, self.code.like(other, self.type), detail=self.code.freedom)
        return self.code.let(result or self.type, whole, self, self.code.like(other, self.type))

    def __add__(self, other: Any) -> Local:
        return self if isinstance(other, int) and other == 0 else self._with("add", "fadd", other)

    def __sub__(self, other: Any) -> Local:
        return self._with("sub", "fsub", other)

    def __mul__(self, other: Any) -> Local:
        return self if isinstance(other, int) and other == 1 else self._with("mul", "fmul", other)

    def __neg__(self) -> Local:
        return self.code.let(self.type, "fneg", self, detail=self.code.freedom)

    def __floordiv__(self, other: Any) -> Local:
        return self._with("sdiv", "", other)

    def __mod__(self, other: Any) -> Local:
        return self._with("srem", "", other)

    def __and__(self, other: Any) -> Local:
        return self._with("and", "", other)

    def __or__(self, other: Any) -> Local:
        return self._with("or", "", other)

    def __lt__(self, other: Any) -> Local:
        return self._with("slt", "", other, I1)

    def __le__(self, other: Any) -> Local:
        return self._with("sle", "", other, I1)

    def __gt__(self, other: Any) -> Local:
        return self._with("sgt", "", other, I1)

    def __ge__(self, other: Any) -> Local:
        return self._with("sge", "", other, I1)

    def same(self, other: Any) -> Local:
        """Whether two whole numbers are equal."""
        return self._with("eq", "", other, I1)

    def greater(self, other: Any) -> Local:
        """Whether a float is greater than another, and neither is NaN."""
        return self.code.let(I1, "ogt", self, self.code.like(other, self.type))

    def select(self, one: Any, other: Any) -> Local:
        """`one` where this is true, else `other`."""
        kind = next((x.type for x in (one, other) if isinstance(x, Local)), I64)
        return self.code.let(kind, "select", self, self.code.like(one, kind), self.code.like(other, kind))

    def floating(self) -> Local:
        """A whole number as a float."""
        return self.code.let(F64, "float", self)

    # Memory

    def at(self, index: Any) -> Local:
        """Pointer advanced by `index` entries."""
        if isinstance(index, int) and index == 0:
            return self
        return self.code.let(self.type, "at", self, self.code.like(index, I64))

    def bytes(self, count: Any) -> Local:
        """Pointer advanced by `count` bytes."""
        return self.code.let(self.type, "bytes", self, self.code.like(count, I64))

    def load(self, lanes: int = 0, align: int = 0, kind: Type | None = None) -> Local:
        """Load a number, a vector of `lanes` numbers, or a pointer of some type, `align`ed to bytes, by default
        those of one number. Whole numbers of 32 bits without a sign become 64."""
        if kind is None and self.type.kind == "u32":
            return self.code.let(I64, "wide", self.code.let(U32, "load", self, detail=4))
        made = kind or Type(self.type.kind, lanes)
        return self.code.let(made, "load", self, detail=align or made.size)

    def store(self, value: Any, align: int = 0, whole: bool = False) -> None:
        """Store a value there."""
        given = self.code.like(value, Type(self.type.kind, 0, self.type.pointers - 1))
        self.code.put(kernel_ir.Store(given.value, self.value, align or given.type.size, whole))

    def address(self) -> Local:
        """A pointer as a whole number."""
        return self.code.let(I64, "address", self)

    def place(self, kind: Type) -> Local:
        """Pointer whose address is this whole number."""
        return self.code.let(kind, "place", self)

    # Lanes

    def every(self, lanes: int) -> Local:
        """A number in every lane."""
        return self.code.let(vector(lanes, self.type.kind), "every", self)

    def take(self, lane: int) -> Local:
        """The number in a lane."""
        return self.code.let(Type(self.type.kind), "take", self, detail=lane)

    def shuffle(self, other: Local | None, chosen: Sequence[int]) -> Local:
        """Select lanes of two vectors by index."""
        kind = vector(len(chosen), self.type.kind)
        return self.code.let(kind, "shuffle", self, other or self, detail=tuple(chosen))


class Code:
    """A function under construction: its parameters by name, then statements in order. One that is not `inner` can be
    called from outside; `freedom` applies to floating operations from here on; `apart` and `result`: as in `Func`."""

    def __init__(self, name: str, /, **parameters: Type) -> None:
        self.name, self.inner, self.count, self.prefix = name, True, 0, "t"
        self.freedom: str | None = kernel_ir.EXACT
        self.apart: frozenset[str] = frozenset()
        self.result: Type | None = None
        self.parameters = tuple(Value(name, kind) for name, kind in parameters.items())
        self.given = {str(value.name): Local(self, value) for value in self.parameters}
        self.blocks: list[list[Any]] = [[]]

    def __getitem__(self, name: str) -> Local:
        return self.given[name]

    @property
    def function(self) -> kernel_ir.Func:
        """The finished function."""
        (body,) = self.blocks
        return kernel_ir.Func(self.name, self.parameters, tuple(body), self.inner, self.result, self.apart)

    def put(self, statement: Any) -> None:
        self.blocks[-1].append(statement)

    def let(self, kind: Type, operation: str, *operands: Local, detail: Any = None) -> Local:
        target = self.new_local(kind)
        self.put(kernel_ir.Let(target.value, operation, tuple(x.value for x in operands), detail))
        return target

    def new_local(self, kind: Type) -> Local:
        self.count += 1
        return Local(self, Value(f"{self.prefix}{self.count}", kind))

    def like(self, value: Any, kind: Type) -> Local:
        """The value, or a number as a constant of this type."""
        return value if isinstance(value, Local) else Local(self, Value(value, kind))

    def whole(self, value: int) -> Local:
        return Local(self, Value(value, I64))

    def number(self, value: float, lanes: int = 0, kind: str = "f64") -> Local:
        """A constant, in every lane."""
        return Local(self, Value(float(value), Type(kind, lanes)))

    def call(self, function: str | Local, *arguments: Any) -> None:
        """Call a function without a result, by its name or its address."""
        named = function if isinstance(function, str) else function.value
        self.put(kernel_ir.Call(named, tuple(self.like(x, I64).value for x in arguments)))

    def result_of(self, kind: Type, function: str | Local, *arguments: Any) -> Local:
        """Result of a call."""
        given = [self.like(x, I64) for x in arguments]
        if isinstance(function, str):
            return self.let(kind, "call", *given, detail=function)
        return self.let(kind, "call", function, *given)

    def give(self, value: Local | None = None) -> None:
        """Return."""
        self.put(kernel_ir.Return(value.value if value is not None else None))

    def clear(self, place: Local, size: Any) -> None:
        """Zero `size` bytes."""
        self.put(kernel_ir.Clear(place.value, self.like(size, I64).value))

    def room(self, entries: Any, align: int, kept: str = "", kind: Type = F64.to) -> Local:
        """Working memory of so many numbers or pointers; `kept` names what is laid aside for the next call."""
        operands = (entries,) if isinstance(entries, Local) else ()
        return self.let(kind, "room", *operands, detail=(0 if operands else entries, align, kept))

    def table(self, name: str, kind: Type) -> Local:
        """Pointer to the start of a constant table."""
        return self.let(kind, "table", detail=name)

    def gather(self, numbers: Sequence[Local]) -> Local:
        """Numbers side by side in one vector."""
        kind, made = vector(len(numbers), numbers[0].type.kind), None
        for lane, x in enumerate(numbers):
            made = self.let(kind, "put", *(() if made is None else (made,)), x, detail=lane)
        assert made is not None
        return made

    # Blocks

    def record(self, function: Callable[[], Any] | None) -> tuple[Any, ...]:
        """Statements recorded by `function`."""
        self.blocks.append([])
        if function is not None:
            function()
        return tuple(self.blocks.pop())

    def branch(self, test: Local, then: Callable[[], Any], otherwise: Callable[[], Any] | None = None) -> None:
        self.put(kernel_ir.If(test.value, self.record(then), self.record(otherwise)))

    def switch(self, value: Local, cases: Sequence[Callable[[], Any]]) -> None:
        self.put(kernel_ir.Switch(value.value, tuple(self.record(case) for case in cases)))

    @contextmanager
    def loop(self, start: Any, stop: Any, step: int = 1, some: bool = False) -> Iterator[Local]:
        """A block for each whole number from `start` on before `stop`; `some`: there is at least one."""
        index, bounds = self.new_local(I64), (self.like(start, I64).value, self.like(stop, I64).value)
        self.blocks.append([])
        yield index
        body = tuple(self.blocks.pop())
        self.put(kernel_ir.For(index.value, *bounds, step, body, some=some))

    def carry(
        self, start: Any, stop: Any, begun: Sequence[Local], turn: Callable[[Local, list[Local]], Sequence[Local]]
    ) -> list[Local]:
        """A loop that hands values on from turn to turn: what they are behind it."""
        index, bounds = self.new_local(I64), (self.like(start, I64).value, self.like(stop, I64).value)
        values, after = ([self.new_local(x.type) for x in begun] for _ in range(2))
        self.blocks.append([])
        following = turn(index, values)
        body = tuple(self.blocks.pop())
        handed = zip(values, begun, following, after, strict=True)
        carried = tuple(kernel_ir.Carried(*(x.value for x in each)) for each in handed)
        self.put(kernel_ir.For(index.value, *bounds, 1, body, carried))
        return after

    @contextmanager
    def squares(self, stop: Any, size: int) -> Iterator[Local]:
        """A block for each `size` whole numbers; the last of them ends with `stop`."""
        index, end = self.new_local(I64), self.like(stop, I64).value
        self.blocks.append([])
        yield index
        body = tuple(self.blocks.pop())
        self.put(kernel_ir.Squares(index.value, end, size, body))


_INTERLEAVED = ((0, 4, 2, 6), (1, 5, 3, 7))
_HALVES = ((0, 1, 4, 5), (2, 3, 6, 7))


_PAIRED = {  # of numbers of 32 bits, inside halves of 128: one, then two of each row, by turns
    4: (((0, 4, 1, 5), (2, 6, 3, 7)), ((0, 1, 4, 5), (2, 3, 6, 7))),
    8: (
        ((0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)),
        ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ),
}
_QUARTERS = ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))


def transpose_vectors(rows: Sequence[Local]) -> list[Local]:
    """The columns of a square of vectors: 1, 2 or 4 of them, or 8 of numbers of 32 bits."""
    if len(rows) == 1:
        return list(rows)
    if rows[0].type.kind == "f32" and len(rows) in _PAIRED:
        return _transpose_singles(rows)
    if len(rows) == 2:
        return [rows[0].shuffle(rows[1], (i, i + 2)) for i in range(2)]
    upper = [rows[0].shuffle(rows[1], mask) for mask in _INTERLEAVED]
    lower = [rows[2].shuffle(rows[3], mask) for mask in _INTERLEAVED]
    return [upper[i % 2].shuffle(lower[i % 2], _HALVES[i // 2]) for i in range(4)]


def _transpose_singles(rows: Sequence[Local]) -> list[Local]:
    """The same of 4 or 8 vectors of numbers of 32 bits, which processors interleave inside halves of 128."""
    singles, pairs = _PAIRED[len(rows)]
    fours = []
    for top in range(0, len(rows), 4):
        low, high = ([rows[top + k].shuffle(rows[top + k + 1], mask) for k in (0, 2)] for mask in singles)
        fours.append([one.shuffle(other, mask) for one, other in (low, high) for mask in pairs])
    if len(fours) == 1:
        return fours[0]
    return [upper.shuffle(lower, mask) for mask in _QUARTERS for upper, lower in zip(*fours, strict=True)]
