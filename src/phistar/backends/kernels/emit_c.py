"""C99 of functions of the kernel language, one state at a time: what has one lane is a double.

A whole number, a truth or a pointer that is used once, in its own block, is written where it is used; what is read from
memory has a line of its own, so that it is read when it should be, and so has every operation on floats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from ctypes import c_float

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import F32, F64, FLOATS, Func, Module, Outside, Table, Type, Value
from phistar.backends.kernels.validate import validate, values_used
from phistar.errors import StatementError

_KINDS = {"f64": "double", "f32": "float", "i64": "long", "u32": "unsigned", "i1": "int", "any": "void"}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "sdiv": "/", "srem": "%", "fadd": "+", "fsub": "-", "fmul": "*"}
_SIGNS |= {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}
_SIGNS |= {"fdiv": "/", "ogt": ">", "olt": "<", "and": "&"}
LIBRARY = (
    *(Outside(name, (F64,), F64) for name in ("sin", "cos")),
    *(Outside(name, (F32,), F32) for name in ("sinf", "cosf")),
)
"""What functions of one state may need of the C library."""
_OWN_LINES = frozenset(("load", "read", "call", *kernel_ir.FLOATING))
_SPACES = "    "
# Compilers join functions that are called once, and need quadratic time for what comes of it.
_APART = ["#if defined(__GNUC__)", "#define APART __attribute__((noinline))", "#elif defined(_MSC_VER)"]
_APART += ["#define APART __declspec(noinline)", "#else", "#define APART", "#endif", ""]


def number(value: float, kind: str = "f64") -> str:
    """Exact literal of a double, or of the nearest float of 32 bits."""
    nearest = float(value) if kind == "f64" else c_float(value).value
    if not math.isfinite(nearest):
        raise StatementError(f"A constant of the robot comes out as {nearest}; C has no literal for it.")
    text = nearest.hex() + ("f" if kind == "f32" else "")
    return f"({text})" if text.startswith("-") else text


def declaration(name: str, kind: Type) -> str:
    """A name declared with its type."""
    if kind.lanes > 1:
        raise StatementError(f"{name} has {kind.lanes} lanes; in C a value has one.")
    if kind == kernel_ir.TABLES:
        return f"const void *const *{name}"
    return f"{'const ' if kind.constant else ''}{_KINDS[kind.kind]} {'*' * kind.pointers}{name}"


def c_prototype(function: Func, prefix: str = "") -> str:
    """Prototype of a function, without the semicolon."""
    given = ", ".join(declaration(str(x.name), x.type) for x in function.parameters)
    how = ("APART " if function.called else "") + ("static " if function.inner else "")
    return f"{how}void {prefix}{function.name}({given})"


def c_text(
    functions: Sequence[Func], tables: Sequence[Table] = (), prefix: str = "", outside: Sequence[Outside] = ()
) -> str:
    """Tables and the functions that the last one needs, called with a prefix; those that are `outside` stand before
    them. They need nothing but <math.h>."""
    validate(Module(tuple(functions), tuple(tables), outside=(*LIBRARY, *outside)))
    known, needed = {x.name: x for x in functions}, [functions[-1].name]
    for name in needed:
        called = (x.function for x in kernel_ir.statements(known[name].body) if isinstance(x, kernel_ir.Call))
        needed += dict.fromkeys(x for x in called if isinstance(x, str) and x in known and x not in needed)
    apart = {x.name for x in outside}
    texts = [_Text(x, prefix, apart).text() for x in functions if x.name in needed]
    return "\n".join([*(_table(x, prefix) for x in tables), *([""] if tables else []), *texts])


def c_source(name: str, texts: Sequence[str], split: bool) -> str:
    """A file of functions with a header of their own; `split`: some are not to be joined with what calls them."""
    return "\n".join(["#include <math.h>", "", f'#include "{name}.h"', "", *(_APART if split else []), *texts])


def c_header(function: Func, comment: Sequence[str]) -> str:
    """The declaration of a function, under the lines of a comment."""
    guard = f"{function.name.upper()}_H"
    lines = ["/*", *(f" * {line}".rstrip() for line in comment), " */"]
    lines += [f"#ifndef {guard}", f"#define {guard}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += [f"{c_prototype(function)};", "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */"]
    return "\n".join(lines) + "\n"


def _table(table: Table, prefix: str) -> str:
    if table.type == kernel_ir.TABLES:
        kind, entries = "const void *const", [f"{prefix}{name}" for name in table.entries]
    else:
        kind = f"const {_KINDS[table.type.kind]}"
        entries = [number(x, table.type.kind) if table.type.kind in FLOATS else str(int(x)) for x in table.entries]
    lines, line = [], _SPACES
    for entry in entries or ["0"]:  # C has no empty arrays
        if len(line) + len(entry) > 110:
            lines, line = [*lines, line.rstrip()], _SPACES
        line += f"{entry}, "
    return "\n".join([f"static {kind} {prefix}{table.name}[] = {{", *lines, line.rstrip(), "};"])


class _Text:
    """Text of one function, under construction."""

    def __init__(self, function: Func, prefix: str, apart: Container[str]) -> None:
        self.function, self.prefix, self.lines, self.depth, self.apart = function, prefix, [], 1, apart
        self.texts: dict[str, str] = {}
        everything = list(kernel_ir.statements(function.body))
        self.uses = Counter(str(x.name) for s in everything for x in values_used(s) if isinstance(x.name, str))
        self.near = set(_local_values(function.body))

    def text(self) -> str:
        for x in self.function.parameters:
            if not self.uses[str(x.name)]:
                self.put(f"(void){x.name};")
        self.block(self.function.body)
        return "\n".join([c_prototype(self.function, self.prefix), "{", *self.lines, "}", ""])

    def put(self, line: str) -> None:
        self.lines.append(f"{_SPACES * self.depth}{line}")

    def name_of(self, function: str | Value) -> str:
        """Name of a function in C; a call by address has none."""
        if not isinstance(function, str):
            raise StatementError(f"{self.function.name}: a call by an address has no form in C.")
        return function if function in self.apart else f"{self.prefix}{function}"

    def inside(self, head: str, body: Iterable[kernel_ir.Statement], end: str = "}") -> None:
        self.put(head)
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.put(end)

    def operand(self, value: Value) -> str:
        if isinstance(value.name, str):
            return self.texts.get(value.name, value.name)
        return number(value.name, value.type.kind) if value.type.kind in FLOATS else str(value.name)

    def block(self, body: Iterable[kernel_ir.Statement]) -> None:
        for statement in body:
            match statement:
                case kernel_ir.Let():
                    self.let(statement)
                case kernel_ir.Store(value=value, place=place, offset=offset):
                    self.put(f"{self.place(place, offset)} = {_bare(self.operand(value))};")
                case kernel_ir.Call(function=name, arguments=arguments):
                    given = ", ".join(_bare(self.operand(x)) for x in arguments)
                    self.put(f"{self.name_of(name)}({given});")
                case kernel_ir.Clear(place=place, size=size):
                    count = f"{self.operand(size)} / {_entry_size(place)}"
                    self.put(f"for (long k = 0; k < {count}; k++) {self.operand(place)}[k] = 0.0;")
                case kernel_ir.For(index=index, start=start, stop=stop, step=step, body=inner):
                    i, test = index.name, "<" if step > 0 else ">"
                    bounds = f"long {i} = {_bare(self.operand(start))}; {i} {test} {self.operand(stop)}"
                    self.inside(f"for ({bounds}; {i} += {step}) {{", inner)
                case kernel_ir.Squares(index=index, stop=stop, size=size, body=inner):
                    i, n = index.name, self.operand(stop)
                    beyond = f"{i} + {size} < {n} && {i} + {size} > {n} - {size}"
                    step = f"{i} = {beyond} ? {n} - {size} : {i} + {size}" if size > 1 else f"{i}++"
                    self.inside(f"for (long {i} = 0; {i} < {n}; {step}) {{", inner)
                case kernel_ir.If(test=test, then=then, otherwise=otherwise):
                    self.inside(f"if ({_bare(self.operand(test))}) {{", then, "} else {" if otherwise else "}")
                    if otherwise:
                        self.lines.pop()
                        self.inside("} else {", otherwise)
                case kernel_ir.Switch(value=value, cases=cases):
                    self.put(f"switch ({_bare(self.operand(value))}) {{")
                    for k, case in enumerate(cases):
                        self.inside(f"case {k}: {{", case, "} break;")
                    self.put("default: break;")
                    self.put("}")

    def let(self, statement: kernel_ir.Let) -> None:
        target, name = statement.target, str(statement.target.name)
        if statement.operation == "room":
            self.put(f"{_KINDS[target.type.kind]} {name}[{statement.detail[0]}];")
            return
        right = self.right(statement)
        if statement.operation not in _OWN_LINES and name in self.near and self.uses[name] == 1:
            self.texts[name] = right if right.isidentifier() else f"({right})"
        elif self.uses[name]:
            kind = "" if target.type.pointers else "const "
            self.put(f"{kind}{declaration(name, target.type)} = {right};")

    def place(self, value: Value, offset: int = 0) -> str:
        """Entry at a byte offset from a pointer."""
        text = self.operand(value)
        return f"{text}[{offset // _entry_size(value)}]" if offset or text.isidentifier() else f"*{text}"

    def right(self, statement: kernel_ir.Let) -> str:
        operation, given = statement.operation, [self.operand(x) for x in statement.operands]
        match operation:
            case "load":
                cast = f"({declaration('', statement.target.type)})" if statement.target.type.pointers else ""
                return f"{cast}{self.place(statement.operands[0])}"
            case "read":
                return self.place(statement.operands[0], statement.detail[0])
            case "call" if statement.detail:
                return f"{statement.detail}({_bare(given[0])})"
            case "fneg":
                return f"-{given[0]}"
            case "sqrt":
                return f"sqrt{'f' if statement.target.type.kind == 'f32' else ''}({_bare(given[0])})"
            case "at":
                return f"{given[0]} + {given[1]}"
            case "bytes":
                kind = declaration("", statement.target.type)
                return (
                    f"({kind})((const char *){given[0]} + {given[1]})"
                    if "const" in kind
                    else (f"({kind})((char *){given[0]} + {given[1]})")
                )
            case "wide":
                return f"(long){given[0]}"
            case "float":
                return f"({_KINDS[statement.target.type.kind]}){given[0]}"
            case "select":
                return f"{given[0]} ? {given[1]} : {given[2]}"
            case "table":
                return f"{self.prefix}{statement.detail}"
            case "every":
                return given[0]
        if operation in _SIGNS:
            return f"{given[0]} {_SIGNS[operation]} {given[1]}"
        raise StatementError(f"{self.function.name}: {operation} has no form in C.")


def _entry_size(place: Value) -> int:
    """Bytes of what a pointer points to."""
    return Type(place.type.kind, 0, place.type.pointers - 1).size


def _bare(text: str) -> str:
    """Text without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


def _local_values(body: Iterable[kernel_ir.Statement]) -> Iterable[str]:
    """The values that are defined and used in one and the same block."""
    made: set[str] = set()
    for statement in body:
        bound = isinstance(statement, kernel_ir.For)  # tested again and again
        yield from (str(x.name) for x in values_used(statement) if x.name in made and not bound)
        if isinstance(statement, kernel_ir.Let):
            made.add(str(statement.target.name))
        for block in kernel_ir.blocks(statement):
            yield from _local_values(block)
