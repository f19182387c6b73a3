"""WebAssembly of functions of the kernel language, one state at a time: what has one lane is an f64.

Every value is a local of its function; engines find registers for them. Pointers are addresses of 32 bits, kept in
places of eight bytes, so that offsets in bytes mean here what they mean to other targets. No function calls itself:
working memory that one asks for stands at an address of its own. Sine and cosine are the host's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from phistar.backends.kernels import kernel_ir, wasm_binary
from phistar.backends.kernels.kernel_ir import F64, Func, Let, Module, Outside, Table, Type, Value
from phistar.backends.kernels.validate import validate
from phistar.backends.kernels.wasm_binary import WasmFunction, double, encode_signed, encode_unsigned
from phistar.errors import StatementError

_LIBRARY = ("sin", "cos")
_OUTSIDE = tuple(Outside(name, (F64,), F64) for name in _LIBRARY)
_KINDS = {"f64": wasm_binary.F64, "i64": wasm_binary.I64}
_WORD = 8  # bytes of an entry of memory, whatever it holds, but for numbers of 32 bits
_SHORT = ("u32", "i32")
_BLOCK, _LOOP, _IF, _ELSE, _END = b"\x02\x40", b"\x03\x40", b"\x04\x40", b"\x05", b"\x0b"
_GET, _SET, _CALL, _BRANCH, _BRANCH_IF, _BRANCH_TABLE = b"\x20", b"\x21", b"\x10", b"\x0c", b"\x0d", b"\x0e"
_TO_ADDRESS, _ADD_ADDRESS, _SCALE = b"\xa7", b"\x6a", b"\x6c"
_FILL = b"\xfc\x0b\x00"
_LOADS = {"f64": b"\x2b\x03", "i64": b"\x29\x03", "u32": b"\x28\x02", "i32": b"\x28\x02", "pointer": b"\x28\x02"}
_STORES = {"f64": b"\x39\x03", "i64": b"\x37\x03", "u32": b"\x36\x02", "i32": b"\x36\x02", "pointer": b"\x36\x02"}
_FLOATING = {"fadd": 0xA0, "fsub": 0xA1, "fmul": 0xA2, "fdiv": 0xA3, "fneg": 0x9A, "sqrt": 0x9F, "fabs": 0x99}
_FLOATING |= {"floor": 0x9C, "copysign": 0xA6, "oeq": 0x61, "une": 0x62, "olt": 0x63, "ogt": 0x64, "ole": 0x65}
_FLOATING |= {"oge": 0x66, "select": 0x1B, "float": 0xB9, "wide": 0xAD}
_LONG = {"add": 0x7C, "sub": 0x7D, "mul": 0x7E, "sdiv": 0x7F, "srem": 0x81, "and": 0x83, "or": 0x84, "xor": 0x85}
_LONG |= {"shl": 0x86, "eq": 0x51, "ne": 0x52, "slt": 0x53, "ult": 0x54, "sgt": 0x55, "sle": 0x57, "ule": 0x58}
_LONG |= {"sge": 0x59}
_SHORTS = {"add": 0x6A, "sub": 0x6B, "mul": 0x6C, "sdiv": 0x6D, "srem": 0x6F, "and": 0x71, "or": 0x72, "xor": 0x73}
_SHORTS |= {"shl": 0x74, "eq": 0x46, "ne": 0x47, "slt": 0x48, "ult": 0x49, "sgt": 0x4A, "sle": 0x4C, "ule": 0x4D}
_SHORTS |= {"sge": 0x4E}


class Unit(NamedTuple):
    """Functions and tables that know each other by name; from outside their names have a prefix."""

    functions: tuple[Func, ...]
    tables: tuple[Table, ...] = ()
    prefix: str = ""


def wasm_module(units: Sequence[Unit], entry: str) -> bytes:
    """A module that exports one function, its memory, and from which address on the memory is free."""
    functions = {f"{unit.prefix}{x.name}": (unit, x) for unit in units for x in unit.functions}
    outside = tuple(Outside(name, tuple(x.type for x in f.parameters), f.result) for name, (_, f) in functions.items())
    for unit in units:
        own = {x.name for x in unit.functions}
        validate(Module(unit.functions, unit.tables, outside=(*_OUTSIDE, *(x for x in outside if x.name not in own))))
    needed = _reachable(functions, entry)
    libraries = sorted({name for key in needed for name in _callees(functions[key][1]) if name in _LIBRARY})
    numbers = {name: number for number, name in enumerate([*libraries, *needed])}
    places, end = _table_places(units)
    made: list[WasmFunction] = []
    for name in needed:
        unit, function = functions[name]
        code = _FunctionCode(function, unit.prefix, numbers, places, end)
        code.block(function.body)
        given = tuple(_kind(x.type) for x in function.parameters)
        made.append(WasmFunction(name, given, tuple(code.local_types), b"".join(code.out)))
        end = code.end
    data = [(places[f"{unit.prefix}{x.name}"], _raw(x, unit.prefix, places)) for unit in units for x in unit.tables]
    return wasm_binary.binary_module(libraries, made, entry, data, end)


def _callees(function: Func) -> Iterable[str]:
    for x in kernel_ir.statements(function.body):
        if isinstance(x, kernel_ir.Call) and isinstance(x.function, str):
            yield x.function
        elif isinstance(x, Let) and x.operation == "call" and isinstance(x.detail, str):
            yield x.detail


def _reachable(functions: Mapping[str, tuple[Unit, Func]], entry: str) -> list[str]:
    """The entry and what it calls, directly or not."""
    found = [entry]
    for name in found:
        unit, function = functions[name]
        called = (each if each in functions else f"{unit.prefix}{each}" for each in _callees(function))
        found += dict.fromkeys(each for each in called if each in functions and each not in found)
    return found


def _kind(kind: Type) -> bytes:
    """Value type of a local; pointers, truths and short numbers have 32 bits."""
    if kind.lanes > 1:
        raise StatementError(f"A value has {kind.lanes} lanes; in WebAssembly it has one.")
    return wasm_binary.I32 if kind.pointers else _KINDS.get(kind.kind, wasm_binary.I32)


def _table_places(units: Sequence[Unit]) -> tuple[dict[str, int], int]:
    """Address at which each table begins, and the first free one after them; nothing stands at 0."""
    places, end = {}, _WORD
    for unit in units:
        for table in unit.tables:
            places[f"{unit.prefix}{table.name}"] = end
            end += _WORD * len(table.entries)
    return places, end


def _raw(table: Table, prefix: str, places: Mapping[str, int]) -> bytes:
    if table.type == kernel_ir.TABLES:
        return b"".join(struct.pack("<q", places[f"{prefix}{name}"]) for name in table.entries)
    form = {"f64": "d", "i64": "q", "u32": "I", "i32": "i"}[table.type.kind]
    return struct.pack(f"<{len(table.entries)}{form}", *table.entries)


def _size(pointer: Type) -> int:
    """Bytes from one entry behind a pointer to the next."""
    return 4 if pointer.pointers == 1 and pointer.kind in _SHORT else _WORD


class _FunctionCode:
    """Instructions of one function, under construction."""

    def __init__(
        self, function: Func, prefix: str, numbers: Mapping[str, int], places: Mapping[str, int], end: int
    ) -> None:
        self.function, self.prefix, self.numbers, self.places, self.end = function, prefix, numbers, places, end
        self.locals = {str(x.name): number for number, x in enumerate(function.parameters)}
        self.local_types: list[bytes] = []
        self.out: list[bytes] = []

    def put(self, *parts: bytes) -> None:
        self.out += parts

    def refuse(self, what: str) -> StatementError:
        return StatementError(f"{self.function.name}: {what} has no form in WebAssembly.")

    def get(self, value: Value) -> None:
        if isinstance(value.name, str):
            self.put(_GET, encode_unsigned(self.locals[value.name]))
        elif _kind(value.type) == wasm_binary.F64:
            self.put(b"\x44", double(float(value.name)))
        else:
            self.put(b"\x42" if _kind(value.type) == wasm_binary.I64 else b"\x41", encode_signed(int(value.name)))

    def set(self, value: Value) -> None:
        """Move the number on the stack to the local of a value."""
        name = str(value.name)
        if name not in self.locals:
            self.locals[name] = len(self.function.parameters) + len(self.local_types)
            self.local_types.append(_kind(value.type))
        self.put(_SET, encode_unsigned(self.locals[name]))

    def address(self, value: Value) -> None:
        """A whole number as an address."""
        self.get(value)
        if _kind(value.type) == wasm_binary.I64:
            self.put(_TO_ADDRESS)

    def block(self, body: Iterable[kernel_ir.Statement]) -> None:
        for statement in body:
            if type(statement) is Let:
                self.let(statement)
            else:
                self.statement(statement)

    def statement(self, statement: kernel_ir.Statement) -> None:
        match statement:
            case kernel_ir.Store(value=value, place=place, offset=offset):
                self.get(place)
                self.get(value)
                self.put(_STORES["pointer" if value.type.pointers else value.type.kind], encode_unsigned(offset))
            case kernel_ir.Call(function=str(name), arguments=arguments):
                for x in arguments:
                    self.get(x)
                self.put(_CALL, encode_unsigned(self.number(name)))
            case kernel_ir.Clear(place=place, size=size):
                self.get(place)
                self.put(b"\x41\x00")
                self.address(size)
                self.put(_FILL)
            case kernel_ir.For():
                self.loop(statement)
            case kernel_ir.Squares():
                self.squares(statement)
            case kernel_ir.If(test=test, then=then, otherwise=otherwise, joined=joined):
                self.get(test)
                self.put(_IF)
                self.side(then, [(x.value, x.then) for x in joined])
                self.put(_ELSE)
                self.side(otherwise, [(x.value, x.otherwise) for x in joined])
                self.put(_END)
            case kernel_ir.Switch(value=value, cases=cases):
                self.switch(value, cases)
            case _:
                raise self.refuse(type(statement).__name__)

    def side(self, body: Iterable[kernel_ir.Statement], joined: Sequence[tuple[Value, Value]]) -> None:
        """A block, and what values are at its end; all are read before one is set."""
        self.block(body)
        for _, found in joined:
            self.get(found)
        for value, _ in reversed(joined):
            self.set(value)

    def number(self, name: str) -> int:
        """Number of a function: one of the same unit first."""
        own = f"{self.prefix}{name}"
        return self.numbers[own if own in self.numbers else name]

    def loop(self, loop: kernel_ir.For) -> None:
        self.get(loop.start)
        self.set(loop.index)
        self.side((), [(x.value, x.start) for x in loop.carried])
        self.put(_BLOCK, _LOOP)
        self.get(loop.index)
        self.get(loop.stop)
        self.put(b"\x59" if loop.step > 0 else b"\x57", _BRANCH_IF, encode_unsigned(1))  # leave at or beyond the end
        self.side(loop.body, [(x.value, x.following) for x in loop.carried])
        self.get(loop.index)
        self.put(b"\x42", encode_signed(loop.step), b"\x7c")
        self.set(loop.index)
        self.put(_BRANCH, encode_unsigned(0), _END, _END)
        self.side((), [(x.after, x.value) for x in loop.carried])

    def squares(self, loop: kernel_ir.Squares) -> None:
        """By `size` at a time, the last time `size` before the end: the next index is min(index + size, stop − size),
        or index + size where that one has been."""
        index, size = loop.index, b"\x42" + encode_signed(loop.size)
        self.put(b"\x42\x00")
        self.set(index)
        self.put(_BLOCK, _LOOP)
        self.get(index)
        self.get(loop.stop)
        self.put(b"\x59", _BRANCH_IF, encode_unsigned(1))
        self.block(loop.body)
        last = Value(f"{index.name} last", kernel_ir.I64)
        self.get(loop.stop)
        self.put(size, b"\x7d")
        self.set(last)
        self.get(index)
        self.put(size, b"\x7c")
        self.set(index)
        self.get(last)  # select: last, index; last where index − size < last < index < stop
        self.get(index)
        self.get(index)
        self.get(last)
        self.put(b"\x55")
        self.get(index)
        self.get(loop.stop)
        self.put(b"\x53", b"\x71", b"\x1b")
        self.set(index)
        self.put(_BRANCH, encode_unsigned(0), _END, _END)

    def switch(self, value: Value, cases: Sequence[tuple[kernel_ir.Statement, ...]]) -> None:
        """Blocks inside each other, the first case's innermost; each leaves the outermost at its end."""
        count = len(cases)
        self.put(*[_BLOCK] * (count + 1))
        self.address(value)
        self.put(
            _BRANCH_TABLE, wasm_binary.vector([encode_unsigned(k) for k in range(count)]), encode_unsigned(count), _END
        )
        for k, case in enumerate(cases):
            self.block(case)
            self.put(_BRANCH, encode_unsigned(count - 1 - k), _END)

    def let(self, statement: Let) -> None:
        target, operation, operands, detail = statement
        match operation:
            case "room":
                self.end = -(-self.end // _WORD) * _WORD
                self.put(b"\x41", encode_signed(self.end))
                self.end += _WORD * detail[0]
            case "table":
                self.put(b"\x41", encode_signed(self.places[f"{self.prefix}{detail}"]))
            case "load" | "read":
                self.get(operands[0])
                kind = "pointer" if target.type.pointers else target.type.kind
                self.put(_LOADS[kind], encode_unsigned(detail[0] if operation == "read" else 0))
            case "at" | "bytes":
                self.get(operands[0])
                self.address(operands[1])
                if operation == "at":
                    self.put(b"\x41", encode_signed(_size(operands[0].type)), _SCALE)
                self.put(_ADD_ADDRESS)
            case "call" if detail:
                self.get(operands[0])
                self.put(_CALL, encode_unsigned(self.number(detail)))
            case "select":
                for x in (*operands[1:], operands[0]):
                    self.get(x)
                self.put(b"\x1b")
            case "every":
                self.get(operands[0])
            case _:
                self.plain(operation, operands)
        self.set(target)

    def plain(self, operation: str, operands: Sequence[Value]) -> None:
        """An operation that is one instruction on its operands."""
        kind = _kind(operands[0].type)
        whole = {wasm_binary.I32: _SHORTS, wasm_binary.I64: _LONG}.get(kind, {})
        code = whole.get(operation) or _FLOATING.get(operation)
        if code is None:
            raise self.refuse(operation)
        for x in operands:
            self.get(x)
        self.put(bytes((code,)))
