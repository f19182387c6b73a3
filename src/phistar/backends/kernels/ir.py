"""The kernel language: functions of scalar operations, memory and loops, which an emitter writes for a target.

All its constructs are in this file. Values are named once. A type is a number, a vector of numbers (one state or column
per lane), or a pointer to them; lanes are part of a type, so that a loop over states says no more than how many it
takes at once. Statements and values are tuples. What has no loops, a trace, is a `Straight`: its instructions are
those of `traces/trace.py`, and its places say where they read and write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class Type(NamedTuple):
    """`kind`: "f64", "i64", "u32" or "i1", behind pointers "any" too; of `lanes` numbers abreast, or one; behind so
    many `pointers`, through which nothing is written if it is `constant`."""

    kind: str
    lanes: int = 0
    pointers: int = 0
    constant: bool = False

    @property
    def to(self) -> Type:
        """A pointer to it."""
        return Type(self.kind, self.lanes, self.pointers + 1)

    @property
    def read(self) -> Type:
        """A pointer to it that is only read through."""
        return Type(self.kind, self.lanes, self.pointers + 1, True)


F64, I64, U32, I1 = Type("f64"), Type("i64"), Type("u32"), Type("i1")
TABLES = Type("any", 0, 2, True)  # a table of tables


def vector(lanes: int) -> Type:
    """So many numbers abreast."""
    return Type("f64", lanes)


class Value(NamedTuple):
    """A value by its name, or a number as it stands."""

    name: str | int | float
    type: Type


WHOLE = ("add", "sub", "mul", "sdiv", "srem", "and")  # of whole numbers
FLOATING = ("fadd", "fsub", "fmul")  # as they are written: nothing is fused or taken in another order
TESTS = ("slt", "sle", "sgt", "sge", "eq", "ne")
OTHERS = (
    "wide",  # u32 → i64
    "float",  # i64 → f64
    "select",  # test, one, other
    "load",  # what stands at a place, of the target's type; aligned to `detail` bytes
    "at",  # pointer, i: the place i entries further on
    "bytes",  # pointer, i: the place i bytes further on
    "every",  # a number in every lane
    "put",  # vector, number: with the number in lane `detail`; without a vector, the other lanes are not set
    "take",  # the number in lane `detail` of a vector
    "shuffle",  # two vectors: of all their lanes those that `detail` numbers; −1 of neither
    "table",  # where the table called `detail` begins
    "room",  # working memory for `detail` = (entries, alignment), until the function returns
)
OPERATIONS = frozenset((*WHOLE, *FLOATING, *TESTS, *OTHERS))


class Let(NamedTuple):
    """A value: an operation on others."""

    target: Value
    operation: str
    operands: tuple[Value, ...]
    detail: Any = None


class Store(NamedTuple):
    """A value to a place; `whole`: it may not be stored in parts."""

    value: Value
    place: Value
    align: int = 8
    whole: bool = False


class Call(NamedTuple):
    """A function that gives nothing, by its name."""

    function: str
    arguments: tuple[Value, ...]


class Clear(NamedTuple):
    """So many bytes from a place on become zero."""

    place: Value
    size: Value


class For(NamedTuple):
    """`index` from start on, by steps, as long as it is before `stop` (behind it, where the step is negative)."""

    index: Value
    start: Value
    stop: Value
    step: int
    body: tuple[Any, ...]


class Squares(NamedTuple):
    """`index` from 0 to `stop` by `size` at a time; the last time `size` before the end, so that all are whole: there
    are at least so many."""

    index: Value
    stop: Value
    size: int
    body: tuple[Any, ...]


class If(NamedTuple):
    """One of two blocks."""

    test: Value
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()


class Switch(NamedTuple):
    """The block with the value's number; beyond, none."""

    value: Value
    cases: tuple[tuple[Any, ...], ...]


Statement = Let | Store | Call | Clear | For | Squares | If | Switch


@dataclass(frozen=True)
class Func:
    """A function that gives nothing. What is not `inner` can be called from outside."""

    name: str
    parameters: tuple[Value, ...]
    body: tuple[Statement, ...]
    inner: bool = True


class Entry(NamedTuple):
    """A place of a straight-line function: which entry from a pointer on; `added`: what is stored is added to it."""

    pointer: str
    index: int
    added: bool = False


@dataclass(frozen=True, eq=False)
class Straight:
    """A function without loops: a trace, with pointers as parameters, and where it loads and stores. All is loaded
    before anything is stored."""

    name: str
    parameters: tuple[Value, ...]
    trace: Any
    loads: tuple[Entry, ...]
    stores: tuple[Entry, ...]


class Table(NamedTuple):
    """What stands in the code: numbers, or the names of other tables."""

    name: str
    type: Type
    entries: tuple[Any, ...]


def blocks(statement: Statement) -> tuple[tuple[Any, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case For(body=body) | Squares(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Switch(cases=cases):
            return cases
    return ()


def statements(body: tuple[Any, ...]) -> Iterator[Statement]:
    """All statements of a block and of those inside it, in order."""
    for statement in body:
        yield statement
        for block in blocks(statement):
            yield from statements(block)
