"""C functions of Python that take plain arrays of float64, or float32, straight to a kernel: `single` one state, `many`
a batch, `into` one state whose results go to the caller's arrays.

NumPy spends a microsecond on any call of a gufunc, and more to make room for a batch's results: a robot's control loop
pays it at every tick, and it is a tenth of the time of some hundred states. Given anything but contiguous rows of
these the functions return NotImplemented, and their caller takes the long way; so does `many` where numbers
overflowed or were invalid, which NumPy then says in its own way. All results of a batch are made in one piece, which
begins where vectors are stored fastest.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from phistar.backends.kernels import (
    I1,
    I32,
    I64,
    PLACE,
    Code,
    Func,
    Local,
    Memory,
    Module,
    Outside,
    Table,
    Type,
    kernel_ir,
)
from phistar.backends.machine.array_layout import AXES, DATA, DTYPE, FLAGS, NAMES, SHAPE, STRIDES, TYPE
from phistar.backends.machine.jit import Signature, size
from phistar.backends.machine.threads import STATES_PER_THREAD

MOST = 2 * STATES_PER_THREAD  # states: from here on threads share them
HAS_FLAGS = platform.machine().lower() in ("x86_64", "amd64")  # where the processor's flags can be asked for
_OFF_UNIT = 1.9e-6  # by which a quaternion's square may differ from one: its length then differs by less than 1e-6
_LINE = 64  # bytes
_RAISED, _FLAGS = 0b011101, 0b111111  # invalid, divided by zero, overflow, underflow; all of them
_PLAIN = 0x501  # NPY_ARRAY_CARRAY
_WRITEABLE = 0x400  # NPY_ARRAY_WRITEABLE
_LARGEST = 2**13  # entries of a table that is made on the stack before it is written transposed


def entries_module(signature: Signature, batches: bool = False) -> Module:
    """`single(self, args, n)`, METH_FASTCALL, over `block`; `context` is filled in when the code is loaded. `batches`:
    there is a `loop`, to which arrays with two axes go."""
    batches = batches and HAS_FLAGS and not signature.flipped
    functions = [*([_Many(signature).function()] if batches else []), _Single(signature, batches).function()]
    functions.append(_Into(signature).function())
    shapes = (x[::-1] if signature.flipped else x for x in signature.outputs)
    tables = tuple(Table(f"shape{number}", I64, shape) for number, shape in enumerate(shapes))
    flags = tuple(Outside(f"llvm.x86.sse.{name}mxcsr", (I32.to,)) for name in ("st", "ld")) if batches else ()
    return Module(tuple(functions), tables, (Memory("context", PLACE, len(NAMES), inner=False),), flags)


class _Entry:
    """A function of Python objects as it is written; what it knows of Python and NumPy is in `context`."""

    def __init__(self, signature: Signature, code: Code) -> None:
        self.signature, self.code = signature, code
        self.entry, self.item = Type(signature.kind), signature.item
        code.result, context = PLACE, code.table("context", PLACE.to)
        self.known = {name: context.at(number).load(kind=PLACE) for number, name in enumerate(NAMES)}

    def leave_if(self, test: Local, *released: Local, failed: bool = False) -> None:
        """Return NotImplemented where a test holds, or the exception that was raised; what is `released` goes first."""

        def leave() -> None:
            for held in released:
                self.code.call(self.known["Py_DecRef"], held)
            self.code.give(self.code.like(0, PLACE) if failed else self.otherwise())

        self.code.put(kernel_ir.If(test.value, self.code.record(leave), rare=True))

    def otherwise(self) -> Local:
        self.code.call(self.known["Py_IncRef"], self.known["otherwise"])
        return self.known["otherwise"]

    def differs(self, one: Local, other: Local | int) -> Local:
        return self.code.let(I1, "ne", one, self.code.like(other, one.type))

    def is_null(self, pointer: Local) -> Local:
        return pointer.same(self.code.like(0, pointer.type))

    def argument(self, number: int) -> tuple[Local, Local]:
        """An array and how many axes it has; another object is refused."""
        array = self.code["args"].at(number).load(kind=PLACE)
        self.leave_if(self.differs(array.bytes(TYPE).load(kind=PLACE), self.known["array"]))
        return array, array.bytes(AXES).load(kind=I32)

    def not_plain(self, array: Local, axes: Local, count: int) -> Local:
        """Whether an array is not of the kernel's numbers with so many axes."""
        return self.differs(array.bytes(DTYPE).load(kind=PLACE), self.known["dtype"]) | self.differs(axes, count)

    def layout_of(self, array: Local) -> tuple[Local, Local, Local]:
        """Shape, strides and data."""
        pointers = (array.bytes(SHAPE).load(kind=I64.read), array.bytes(STRIDES).load(kind=I64.read))
        return *pointers, array.bytes(DATA).load(kind=self.entry.to)

    def row(self, number: int, count: int) -> Local:
        """The data of an argument that is a plain array with one axis of so many entries, side by side."""
        array, axes = self.argument(number)
        self.refuse_other(number, axes, self.not_plain(array, axes, 1))
        shape, strides, data = self.layout_of(array)
        self.leave_if(self.differs(shape.load(), count) | self.differs(strides.load(), self.item))
        return data

    def refuse_other(self, number: int, axes: Local, other: Local) -> None:
        """Leave where an argument is no vector of the kernel's numbers."""
        self.leave_if(other)

    def rows(self) -> list[Local]:
        """The data of all arguments, quaternions of length one among them."""
        rows = [self.row(number, count) for number, count in enumerate(self.signature.inputs)]
        off = self.off_unit(rows)
        if off is not None:
            self.leave_if(off)
        return rows

    def block(self, rows: Sequence[Local], results: Sequence[Local]) -> None:
        """The kernel at one state."""
        self.code.call("block", *(x for row in (*rows, *results) for x in (row, 0)), 0, 0)

    def off_unit(self, rows: Sequence[Local]) -> Local | None:
        """Whether a quaternion of a state is not of length one, and no NaN. Whether it is to be refused is decided by
        the long way."""
        found = None
        for array, start in self.signature.units:
            total = self.code.number(0.0, kind=self.entry.kind)
            for i in range(4):
                x = rows[array].at(start + i).load()
                total = total + x * x
            by = total - 1.0
            for one in (by.greater(_OFF_UNIT), (-by).greater(_OFF_UNIT)):
                found = one if found is None else found | one
        return found

    def empty(self, axes: int, shape: Local, flipped: bool = False) -> Local:
        """A new array of the kernel's numbers; its making takes over one reference to the dtype."""
        code, dtype = self.code, self.known["dtype"]
        code.call(self.known["Py_IncRef"], dtype)
        given = code.like(axes, I32), shape, dtype, code.like(int(flipped), I32)
        return code.result_of(PLACE, self.known["empty"], *given)


class _Single(_Entry):
    """One state: vectors in, arrays out."""

    def __init__(self, signature: Signature, batches: bool) -> None:
        code = Code("single", self=PLACE, args=PLACE.to, n=I64)
        code.inner = False
        super().__init__(signature, code)
        self.batches = batches

    def function(self) -> Func:
        code, signature = self.code, self.signature
        self.leave_if(self.differs(code["n"], len(signature.inputs)))
        rows = self.rows()
        made: list[Local] = []
        for number, shape in enumerate(signature.outputs):
            made.append(self.empty(len(shape), code.table(f"shape{number}", I64.to), signature.flipped))
            self.leave_if(self.is_null(made[-1]), failed=True)
        data = [array.bytes(DATA).load(kind=self.entry.to) for array in made]
        self.block(rows, data)
        code.give(made[0] if len(made) == 1 else self.tuple_of(made))
        return code.function

    def refuse_other(self, number: int, axes: Local, other: Local) -> None:
        if self.batches and not number:
            self.code.put(kernel_ir.If(other.value, self.code.record(lambda: self.batch(axes))))
        else:
            self.leave_if(other)

    def batch(self, axes: Local) -> None:
        self.leave_if(self.differs(axes, 2))
        self.code.give(self.code.result_of(PLACE, "many", self.code["args"]))

    def tuple_of(self, arrays: list[Local]) -> Local:
        made = self.code.result_of(PLACE, self.known["PyTuple_New"], len(arrays))
        self.leave_if(self.is_null(made), failed=True)
        for number, array in enumerate(arrays):
            self.code.result_of(I32, self.known["PyTuple_SetItem"], made, number, array)
        return made


class _Into(_Entry):
    """One state: vectors in, and last an array for the result, or a tuple of them; they are written and returned."""

    def __init__(self, signature: Signature) -> None:
        code = Code("into", self=PLACE, args=PLACE.to, n=I64)
        code.inner = False
        super().__init__(signature, code)

    def function(self) -> Func:
        code, shapes, flipped = self.code, self.signature.outputs, self.signature.flipped
        if flipped and max(map(size, shapes)) > _LARGEST:
            code.give(self.otherwise())
            return code.function
        count = len(self.signature.inputs)
        self.leave_if(self.differs(code["n"], count + 1))
        rows, given = self.rows(), code["args"].at(count).load(kind=PLACE)
        if len(shapes) > 1:
            self.leave_if(self.differs(given.bytes(TYPE).load(kind=PLACE), self.known["tuple"]))
            self.leave_if(self.differs(code.result_of(I64, self.known["PyTuple_Size"], given), len(shapes)))
        places = []
        for number, shape in enumerate(shapes):
            array = given if len(shapes) == 1 else code.result_of(PLACE, self.known["PyTuple_GetItem"], given, number)
            places.append(self.writeable(array, shape[::-1] if flipped else shape))
            self.refuse_overlap(places[number], size(shape), rows)
        made = [code.room(size(shape), 64, kind=self.entry.to) for shape in shapes] if flipped else places
        self.block(rows, made)
        for place, table, shape in zip(places, made, shapes, strict=True) if flipped else ():
            self.transpose(table, place, *shape)
        code.call(self.known["Py_IncRef"], given)
        code.give(given)
        return code.function

    def writeable(self, array: Local, shape: tuple[int, ...]) -> Local:
        """The data of a contiguous array of this shape that may be written."""
        self.leave_if(self.differs(array.bytes(TYPE).load(kind=PLACE), self.known["array"]))
        self.leave_if(self.not_plain(array, array.bytes(AXES).load(kind=I32), len(shape)))
        self.leave_if((array.bytes(FLAGS).load(kind=I32) & _WRITEABLE).same(0))
        dims, strides, data = self.layout_of(array)
        for axis, n in enumerate(shape):
            step = self.item * size(shape[axis + 1 :])
            self.leave_if(self.differs(dims.at(axis).load(), n) | self.differs(strides.at(axis).load(), step))
        return data

    def refuse_overlap(self, place: Local, entries: int, rows: Sequence[Local]) -> None:
        """Leave where a result would be written over an argument, which NumPy copies first."""
        begin = place.address()
        for row, count in zip(rows, self.signature.inputs, strict=True):
            first = row.address()
            self.leave_if((begin < first + self.item * count) & (first < begin + self.item * entries))

    def transpose(self, table: Local, place: Local, rows: int, columns: int) -> None:
        with self.code.loop(0, columns) as column, self.code.loop(0, rows) as row:
            place.at(column * rows + row).store(table.at(row * columns + column).load())


class _Many(_Entry):
    """Many states: tables with a row for each, in and out."""

    def __init__(self, signature: Signature) -> None:
        super().__init__(signature, Code("many", args=PLACE.to))
        self.dims = self.code.room(3, 8, kind=I64.to)
        self.rows: list[Local] = []
        self.apart: list[Local] = []

    def function(self) -> Func:
        code, signature = self.code, self.signature
        for number, count in enumerate(signature.inputs):
            self.add(number, count)
        if signature.units:
            with code.loop(0, self.states, some=True) as state:
                off = self.off_unit([x.bytes(state * by) for x, by in zip(self.rows, self.apart, strict=True)])
                assert off is not None
                self.leave_if(off)
        result, outputs = self.array() if len(signature.outputs) == 1 else self.parts()
        raised = self.run(outputs)
        self.leave_if(raised, result)
        code.give(result)
        return code.function

    def add(self, number: int, count: int) -> None:
        """An argument with so many columns, entries side by side, and as many rows as the first."""
        array, axes = self.argument(number)
        self.leave_if(self.not_plain(array, axes, 2))
        shape, strides, data = self.layout_of(array)
        states = shape.load()
        if not number:
            self.states = states
        few = self.code.let(I1, "ult", states - 1, self.code.whole(MOST - 1))
        other = self.differs(states, self.states) | self.differs(shape.at(1).load(), count)
        other = other | self.differs(strides.at(1).load(), self.item)
        self.leave_if(other | few.same(self.code.like(False, I1)))
        self.rows.append(data)
        self.apart.append(strides.load())

    def shape(self, shape: Sequence[Local | int]) -> Local:
        for axis, n in enumerate(shape):
            self.dims.at(axis).store(n)
        return self.dims

    def array(self) -> tuple[Local, list[Local]]:
        """Room for one output: an array of its own."""
        (shape,) = self.signature.outputs
        made = self.empty(1 + len(shape), self.shape((self.states, *shape)))
        self.leave_if(self.is_null(made), failed=True)
        return made, [made.bytes(DATA).load(kind=self.entry.to)]

    def parts(self) -> tuple[Local, list[Local]]:
        """Room for several outputs: parts of one array, on whole lines of the cache where their sizes are."""
        code, sizes = self.code, [size(shape) for shape in self.signature.outputs]
        whole = self.empty(1, self.shape((self.states * sum(sizes) + _LINE // self.item,)))
        self.leave_if(self.is_null(whole), failed=True)
        data = whole.bytes(DATA).load(kind=I64)
        places = [((data + (_LINE - 1)) & -_LINE).place(self.entry.to)]
        result = code.result_of(PLACE, self.known["PyTuple_New"], len(sizes))
        self.leave_if(self.is_null(result), whole, failed=True)
        for number, shape in enumerate(self.signature.outputs):
            part = self.part(whole, places[number], shape)
            self.leave_if(self.is_null(part), result, whole, failed=True)
            code.call(self.known["Py_IncRef"], whole)
            code.result_of(I32, self.known["base"], part, whole)
            code.result_of(I32, self.known["PyTuple_SetItem"], result, number, part)
            places.append(places[number].at(self.states * sizes[number]))
        code.call(self.known["Py_DecRef"], whole)
        return result, places[: len(sizes)]

    def part(self, whole: Local, place: Local, shape: tuple[int, ...]) -> Local:
        """An output as a part of an array, which it is to keep alive."""
        code, known = self.code, self.known
        dims, null = self.shape((self.states, *shape)), code.like(0, PLACE)
        code.call(known["Py_IncRef"], known["dtype"])
        given = code.like(1 + len(shape), I32), dims, null, place, code.like(_PLAIN, I32), null
        return code.result_of(PLACE, known["new"], known["array"], known["dtype"], *given)

    def run(self, outputs: list[Local]) -> Local:
        """The kernel's loop without Python's lock; whether numbers overflowed or were invalid."""
        code, signature = self.code, self.signature
        arrays = [*self.rows, *outputs]
        table, word = code.room(len(arrays), 8, kind=PLACE.to), code.let(I32.to, "local")
        # As NumPy tells a gufunc: from state to state in each array, then between the entries of each.
        steps = [*self.apart, *(self.item * size(shape) for shape in signature.outputs), *signature.strides]
        told = code.room(len(steps), 8, kind=I64.to)
        for memory, entries in ((table, arrays), (told, steps)):
            for number, x in enumerate(entries):
                memory.at(number).store(x)
        self.dims.store(self.states)
        thread = code.result_of(PLACE, self.known["PyEval_SaveThread"])
        before = self.flags(word)
        word.store(before & ~_FLAGS)
        code.call("llvm.x86.sse.ldmxcsr", word)
        code.call("loop", table, self.dims, told, code.like(0, kernel_ir.TABLES))
        after = self.flags(word)
        code.call(self.known["PyEval_RestoreThread"], thread)
        return self.differs(after & _RAISED, 0)

    def flags(self, word: Local) -> Local:
        self.code.call("llvm.x86.sse.stmxcsr", word)
        return word.load(kind=I32, align=4)


def door_module(signature: Signature) -> Module:
    """`single` over a `loop` and tables elsewhere, whose addresses `behind` is to hold."""
    steps = (*[0] * signature.arrays, *signature.strides)
    loop = Code("loop", args=kernel_ir.TABLES, dimensions=I64.read, steps=I64.read, none=kernel_ir.TABLES)
    loop.inner, behind = False, loop.table("behind", PLACE.to)
    given = (loop[x] for x in ("args", "dimensions", "steps"))
    loop.call(behind.load(kind=PLACE), *given, behind.at(1).load(kind=PLACE))
    arrays = {
        name: kind
        for n in range(signature.arrays)
        for name, kind in ((f"a{n}", Type(signature.kind).to), (f"s{n}", I64))
    }
    block = Code("block", **arrays, first=I64, last=I64)
    table = block.room(signature.arrays, 8, kind=PLACE.to)
    for n in range(signature.arrays):
        table.at(n).store(block[f"a{n}"])
    one, told = (block.table(name, I64.read) for name in ("one", "steps"))
    block.call("loop", table, one, told, block.like(0, kernel_ir.TABLES))
    tables = Table("one", I64, (1,)), Table("steps", I64, steps)
    own = Module((loop.function, block.function), tables, (Memory("behind", PLACE, 2, inner=False),))
    return own.with_(entries_module(signature, batches=True))
