"""The kernel language: functions of scalar operations, memory and loops, which an emitter writes for a target.

All its constructs are in this file. A module has functions, tables and memory of its own. Values are named once. A type
is a number, a vector of numbers (one state or column per lane), or a pointer to them; lanes are part of a type, so that
a loop over states says no more than how many it takes at once. Statements and values are tuples: a robot's derivatives
are a hundred thousand of them. A trace is a function without loops, which `code/straight_line.py` makes.

One number from a trace to machine code: `0.5·sin(q0)` is recorded as the instructions INPUT 0, SIN, CONST and MUL
(`traces/trace.py`). `code/straight_line.py` decides in which order they run and what stays in registers, and writes

    v0: f64×4 = [in + 0 bytes]          Let(Value("v0", vector(4)), "read", (in,), (0, 32))
    …                                   sine and cosine by polynomials (`code/sincos.py`)
    v3: f64×4 = v1 * 0.5                Let(Value("v3", vector(4)), "fmul", (v1, 0.5), PLANNED)
    [out + 0 bytes] = v3                Store(v3, out, 32, offset=0)

for four states abreast; `code/packed.py` adds the functions that bring rows of arrays to lanes and back, and the loop
over states; `validate.py` sees that all of it fits together, `show_kernel.py` prints it as above, and `emit_llvm.py`
turns each statement into a line or two of LLVM IR, which `machine/jit.py` compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class Type(NamedTuple):
    """`kind`: "f64", "f32", "i64", "i32", "u32" or "i1", behind pointers "any" too; of `lanes` numbers abreast, or one;
    behind so many `pointers`, through which nothing is written if it is `constant`."""

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

    @property
    def size(self) -> int:
        """Bytes of a number of one lane, or of a pointer."""
        return 8 if self.pointers else BYTES[self.kind]


BYTES = {"f64": 8, "f32": 4, "i64": 8, "i32": 4, "u32": 4, "i1": 1}
FLOATS = ("f64", "f32")
F64, F32, I64, I32, U32, I1 = Type("f64"), Type("f32"), Type("i64"), Type("i32"), Type("u32"), Type("i1")
TABLES = Type("any", 0, 2, True)  # a table of tables
PLACE = Type("any", 0, 1)  # somewhere in memory, of which nothing more is known


def vector(lanes: int, kind: str = "f64") -> Type:
    """Type of `lanes` numbers abreast."""
    return Type(kind, lanes)


class Value(NamedTuple):
    """A value by its name, or a number as it stands, in every lane."""

    name: str | int | float
    type: Type


WHOLE = ("add", "sub", "mul", "sdiv", "srem", "and", "or", "xor", "shl")
"""Operations on whole numbers; `detail` "fits" promises results of 64 bits. The last but one takes truths."""
FLOATING = ("fadd", "fsub", "fmul", "fdiv", "fneg", "sqrt", "fabs", "floor", "copysign", "fma", "fmuladd")
"""Operations on floats; `detail` is their freedom. "fma" is rounded once, "fmuladd" once or twice."""
TESTS = ("slt", "sle", "sgt", "sge", "ult", "ule", "eq", "ne")
FLOAT_TESTS = ("olt", "ole", "ogt", "oge", "oeq", "one", "une", "uge")  # a NaN fails those that begin with o
OTHERS = (
    "wide",  # u32 → i64
    "float",  # i64 → f64 or f32
    "cut",  # f64 or f32 → i64, without what stands behind the point; the nearest that there is
    "bits",  # f64 → i64 and back, f32 → i32 and back, bit by bit; a truth in every lane → i64, a bit each
    "beyond",  # whether `detail` (add, sub, mul) of two whole numbers does not fit into 64 bits
    "sadd_sat",  # a sum, or the last whole number before it would not fit
    "select",  # test, one, other
    "any",  # whether it is true in any lane
    "load",  # what stands at a place, of the target's type; aligned to `detail` bytes
    "read",  # what stands `detail` = (bytes, alignment) from a pointer on
    "constant",  # entry `detail` = (table, number) of a table
    "at",  # pointer, i: the place i entries further on; `detail` "fits": inside what the pointer points to
    "bytes",  # pointer, i: the place i bytes further on
    "anew",  # pointer: the same place, which the compiler is to hold in a register of its own
    "address",  # pointer → i64
    "place",  # i64 → pointer
    "every",  # a number in every lane
    "put",  # vector, number: with the number in lane `detail`; without a vector, the other lanes are not set
    "take",  # the number in lane `detail` of a vector
    "pick",  # the number in the lane of a vector that the second operand numbers
    "first",  # the number of the first lane in which it is true; there is one
    "lane",  # in every lane its number
    "gather",  # pointer, vector of indices, mask: the numbers there; nothing is read where the mask is false
    "shuffle",  # two vectors: of all their lanes those that `detail` numbers; −1 of neither
    "table",  # where the table or the memory of the module called `detail` begins
    "room",  # working memory for `detail` = (entries, alignment, name), until the function returns
    "local",  # a place for one number, until the function returns
    "call",  # what the function called `detail` gives, or the one whose address is the first operand
)
OPERATIONS = frozenset((*WHOLE, *FLOATING, *TESTS, *FLOAT_TESTS, *OTHERS))

EXACT = None  # as it is written
PLANNED = "planned"  # the sign of zeros is free; what is fused, and in which order, has been decided
FREE = "free"  # fused, and in any order, the sign of zeros free
ANY_ORDER, IN_ORDER = "any order", "in order"  # fused; sums in any order or not; zeros keep their sign
FREEDOMS = (EXACT, PLANNED, FREE, ANY_ORDER, IN_ORDER)


class Let(NamedTuple):
    """A value: an operation on others."""

    target: Value
    operation: str
    operands: tuple[Value, ...]
    detail: Any = None


class Store(NamedTuple):
    """A value to a place, or so many bytes from it on; `whole`: it may not be stored in parts."""

    value: Value
    place: Value
    align: int = 8
    whole: bool = False
    offset: int = 0


class Masked(NamedTuple):
    """Numbers side by side to a place, those of the lanes in which the mask is true; `align`ed to bytes, 0 for those of
    the whole vector."""

    value: Value
    place: Value
    mask: Value
    align: int = 0


class Scatter(NamedTuple):
    """A number of each lane in which the mask is true to an entry behind a pointer, by the lane's own index."""

    value: Value
    pointer: Value
    index: Value
    mask: Value


class Call(NamedTuple):
    """A function that gives nothing, by its name or its address."""

    function: str | Value
    arguments: tuple[Value, ...]


class Clear(NamedTuple):
    """So many bytes from a place on become zero."""

    place: Value
    size: Value


class Carried(NamedTuple):
    """A value that a loop hands from turn to turn: in the first it is `start`, then what was `following` in the turn
    before; behind the loop the last of these is called `after`."""

    value: Value
    start: Value
    following: Value
    after: Value


class For(NamedTuple):
    """`index` from start on, by steps, as long as it is before `stop` (behind it, where the step is negative); `some`:
    there is at least one turn."""

    index: Value
    start: Value
    stop: Value
    step: int
    body: tuple[Any, ...]
    carried: tuple[Carried, ...] = ()
    some: bool = False


class Squares(NamedTuple):
    """`index` from 0 to `stop` by `size` at a time; the last time `size` before the end, so that all are whole: there
    are at least so many."""

    index: Value
    stop: Value
    size: int
    body: tuple[Any, ...]


class While(NamedTuple):
    """`before`, and if the test then holds the body and `after`, again and again. `Continue` goes to `after`. `short`:
    of few turns, so that several of them are not written out at once, in vectors or one behind the other."""

    before: tuple[Any, ...]
    test: Value
    body: tuple[Any, ...]
    after: tuple[Any, ...] = ()
    short: bool = False


class Joined(NamedTuple):
    """A value that is one thing at the end of one block and another at the end of the other."""

    value: Value
    then: Value
    otherwise: Value


class If(NamedTuple):
    """One of two blocks; `rare`: hardly ever the first."""

    test: Value
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...] = ()
    joined: tuple[Joined, ...] = ()
    rare: bool = False


class Switch(NamedTuple):
    """The block with the value's number; beyond, none."""

    value: Value
    cases: tuple[tuple[Any, ...], ...]


class Break(NamedTuple):
    """Jump out of the innermost `While`."""


class Continue(NamedTuple):
    """Jump to the end of the innermost `While`'s body."""


class Return(NamedTuple):
    """Leave the function, with its result if it has one."""

    value: Value | None = None


Statement = (
    Let | Store | Masked | Scatter | Call | Clear | For | Squares | While | If | Switch | Break | Continue | Return
)


@dataclass(frozen=True)
class Func:
    """A function. If not `inner`, it can be called from outside; `apart` are pointers that alias nothing else;
    `called`: it is never inlined, or (False) always and before all else, so that no pass sees it twice; `rare`: hardly
    ever called."""

    name: str
    parameters: tuple[Value, ...]
    body: tuple[Statement, ...]
    inner: bool = True
    result: Type | None = None
    apart: frozenset[str] = frozenset()
    called: bool | None = None
    rare: bool = False


@dataclass(frozen=True)
class Outside:
    """A function defined elsewhere: in the C library, in another module, in the processor."""

    name: str
    parameters: tuple[Type, ...]
    result: Type | None = None


class Table(NamedTuple):
    """Constant data in the code: numbers, each in every lane of its type, or the names of other tables."""

    name: str
    type: Type
    entries: tuple[Any, ...]


class Memory(NamedTuple):
    """Zero-initialized memory of the module: `entries` of a type; if not `inner`, visible outside by its name."""

    name: str
    type: Type
    entries: int
    inner: bool = True


@dataclass(frozen=True)
class Module:
    """Unit of compilation."""

    functions: tuple[Func, ...]
    tables: tuple[Table, ...] = ()
    memory: tuple[Memory, ...] = ()
    outside: tuple[Outside, ...] = ()

    def with_(self, *others: Module) -> Module:
        """Merge with other modules; outside functions they share are declared once."""
        parts = (self, *others)
        return Module(
            tuple(x for part in parts for x in part.functions),
            tuple(x for part in parts for x in part.tables),
            tuple(x for part in parts for x in part.memory),
            tuple(dict.fromkeys(x for part in parts for x in part.outside)),
        )


def blocks(statement: Statement) -> tuple[tuple[Any, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case For(body=body) | Squares(body=body):
            return (body,)
        case While(before=before, body=body, after=after):
            return before, body, after
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Switch(cases=cases):
            return cases
    return ()


def statements(body: tuple[Any, ...]) -> Iterator[Statement]:
    """All statements of a block and of those inside it, in order."""
    for statement in body:
        yield statement
        if type(statement) not in _PLAIN:
            for block in blocks(statement):
                yield from statements(block)


_PLAIN = frozenset((Let, Store, Masked, Scatter, Call, Clear, Break, Continue, Return))
