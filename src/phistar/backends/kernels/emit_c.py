"""C99 of functions of the kernel language, one state at a time: what has one lane is a double.

A value that is used once, in its own block, is written where it is used; what is read from memory has a line of its
own, so that it is read when it should be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from phistar.backends.kernels import ir
from phistar.backends.kernels.ir import Func, Module, Outside, Straight, Table, Type, Value
from phistar.backends.kernels.validate import used, validate
from phistar.backends.traces.trace import ADD, CONST, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB
from phistar.errors import StatementError

INFIX = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
CALL = {SIN: "sin", COS: "cos", SQRT: "sqrt"}
_KINDS = {"f64": "double", "i64": "long", "u32": "unsigned", "i1": "int", "any": "void"}
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "sdiv": "/", "srem": "%", "fadd": "+", "fsub": "-", "fmul": "*"}
_SIGNS |= {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}
_SPACES = "    "


def number(value: float) -> str:
    """A double exactly."""
    if not math.isfinite(value):
        raise StatementError(f"A constant of the robot comes out as {value}; C has no literal for it.")
    text = float(value).hex()
    return f"({text})" if text.startswith("-") else text


def instruction(op: int, a: str, b: str) -> str:
    """One instruction of a trace."""
    if op in INFIX:
        return f"{a} {INFIX[op]} {b}"
    if op == SIGN:
        return f"{a} > 0.0 ? 1.0 : {a} < 0.0 ? -1.0 : {a}"
    return f"-{a}" if op == NEG else f"{CALL[op]}({a})"


def declared(name: str, kind: Type) -> str:
    """A name with its type."""
    if kind.lanes > 1:
        raise StatementError(f"{name} has {kind.lanes} lanes; in C a value has one.")
    if kind == ir.TABLES:
        return f"const void *const *{name}"
    return f"{'const ' if kind.constant else ''}{_KINDS[kind.kind]} {'*' * kind.pointers}{name}"


def prototype(function: Func | Straight, prefix: str) -> str:
    given = ", ".join(declared(str(x.name), x.type) for x in function.parameters)
    return f"static void {prefix}{function.name}({given})"


def c_text(functions: Sequence[Func | Straight], tables: Sequence[Table], prefix: str = "") -> str:
    """Tables and the functions that the last one needs, called with a prefix; they need nothing but <math.h>."""
    loops = tuple(x for x in functions if isinstance(x, Func))
    steps = [x for x in functions if isinstance(x, Straight)]
    outside = tuple(Outside(x.name, tuple(y.type for y in x.parameters)) for x in steps)
    validate(Module(loops, tuple(tables), outside=outside))
    known, needed = {x.name: x for x in functions}, [functions[-1].name]
    for name in needed:
        found = known[name]
        called = ir.statements(found.body) if isinstance(found, Func) else ()
        needed += dict.fromkeys(x.function for x in called if isinstance(x, ir.Call) and x.function not in needed)
    texts = [
        _straight(x, prefix) if isinstance(x, Straight) else _Text(x, prefix).text()
        for x in functions
        if x.name in needed
    ]
    return "\n".join([*(_table(x, prefix) for x in tables), "", *texts])


def _table(table: Table, prefix: str) -> str:
    if table.type == ir.TABLES:
        kind, entries = "const void *const", [f"{prefix}{name}" for name in table.entries]
    else:
        kind = f"const {_KINDS[table.type.kind]}"
        entries = [number(x) if table.type.kind == "f64" else str(int(x)) for x in table.entries]
    lines, line = [], _SPACES
    for entry in entries or ["0"]:  # C has no empty arrays
        if len(line) + len(entry) > 110:
            lines, line = [*lines, line.rstrip()], _SPACES
        line += f"{entry}, "
    return "\n".join([f"static {kind} {prefix}{table.name}[] = {{", *lines, line.rstrip(), "};"])


def _straight(function: Straight, prefix: str) -> str:
    """The loads that are needed, the instructions, then the stores."""
    trace, lines, known = function.trace, [], {}

    def operand(index: int | None) -> str:
        if index is None:
            return ""
        op, value, _ = trace.code[index]
        if op == CONST:
            return number(value)
        if index not in known:  # an input
            place = function.loads[value]
            lines.append(f"    const double x{index} = {place.pointer}[{place.index}];")
            known[index] = f"x{index}"
        return known[index]

    for index, (op, left, right) in enumerate(trace.code):
        if op < INPUT:
            a, b = operand(left), operand(right)
            lines.append(f"    const double x{index} = {instruction(op, a, b)};")
            known[index] = f"x{index}"
    pairs = zip(trace.outputs, trace.output_is_constant, function.stores, strict=True)
    values = [number(float(x)) if constant else operand(int(x)) for x, constant, _ in pairs]
    for value, place in zip(values, function.stores, strict=True):
        target = f"{place.pointer}[{place.index}]"
        lines.append(f"    {target} = {f'{target} + {value}' if place.added else value};")
    touched = {place.pointer for place in function.stores} | {
        function.loads[value].pointer
        for index, (op, value, _) in enumerate(trace.code)
        if op == INPUT and index in known
    }
    unused = [f"    (void){x.name};" for x in function.parameters if x.name not in touched]
    return "\n".join([prototype(function, prefix), "{", *unused, *lines, "}", ""])


class _Text:
    """One function as it is written."""

    def __init__(self, function: Func, prefix: str) -> None:
        self.function, self.prefix, self.lines, self.depth = function, prefix, [], 1
        self.texts: dict[str, str] = {}
        everything = list(ir.statements(function.body))
        self.uses = Counter(str(x.name) for s in everything for x in used(s) if isinstance(x.name, str))
        self.near = set(_used_beside(function.body))

    def text(self) -> str:
        for x in self.function.parameters:
            if not self.uses[str(x.name)]:
                self.put(f"(void){x.name};")
        self.block(self.function.body)
        return "\n".join([prototype(self.function, self.prefix), "{", *self.lines, "}", ""])

    def put(self, line: str) -> None:
        self.lines.append(f"{_SPACES * self.depth}{line}")

    def inside(self, head: str, body: Iterable[ir.Statement], end: str = "}") -> None:
        self.put(head)
        self.depth += 1
        self.block(body)
        self.depth -= 1
        self.put(end)

    def operand(self, value: Value) -> str:
        if isinstance(value.name, str):
            return self.texts.get(value.name, value.name)
        return number(value.name) if value.type.kind == "f64" else str(value.name)

    def block(self, body: Iterable[ir.Statement]) -> None:
        for statement in body:
            match statement:
                case ir.Let():
                    self.let(statement)
                case ir.Store(value=value, place=place):
                    self.put(f"{self.place(place)} = {_bare(self.operand(value))};")
                case ir.Call(function=name, arguments=arguments):
                    given = ", ".join(_bare(self.operand(x)) for x in arguments)
                    self.put(f"{self.prefix}{name}({given});")
                case ir.Clear(place=place, size=size):
                    count = f"{self.operand(size)} / 8"
                    self.put(f"for (long k = 0; k < {count}; k++) {self.operand(place)}[k] = 0.0;")
                case ir.For(index=index, start=start, stop=stop, step=step, body=inner):
                    i, test = index.name, "<" if step > 0 else ">"
                    bounds = f"long {i} = {_bare(self.operand(start))}; {i} {test} {self.operand(stop)}"
                    self.inside(f"for ({bounds}; {i} += {step}) {{", inner)
                case ir.Squares(index=index, stop=stop, size=size, body=inner):
                    i, n = index.name, self.operand(stop)
                    beyond = f"{i} + {size} < {n} && {i} + {size} > {n} - {size}"
                    step = f"{i} = {beyond} ? {n} - {size} : {i} + {size}" if size > 1 else f"{i}++"
                    self.inside(f"for (long {i} = 0; {i} < {n}; {step}) {{", inner)
                case ir.If(test=test, then=then, otherwise=otherwise):
                    self.inside(f"if ({_bare(self.operand(test))}) {{", then, "} else {" if otherwise else "}")
                    if otherwise:
                        self.lines.pop()
                        self.inside("} else {", otherwise)
                case ir.Switch(value=value, cases=cases):
                    self.put(f"switch ({_bare(self.operand(value))}) {{")
                    for k, case in enumerate(cases):
                        self.inside(f"case {k}: {{", case, "} break;")
                    self.put("default: break;")
                    self.put("}")

    def let(self, statement: ir.Let) -> None:
        target, name = statement.target, str(statement.target.name)
        if statement.operation == "room":
            self.put(f"double {name}[{statement.detail[0]}];")
            return
        right = self.right(statement)
        if statement.operation != "load" and name in self.near and self.uses[name] == 1:
            self.texts[name] = right if right.isidentifier() else f"({right})"
        elif self.uses[name]:
            kind = "" if target.type.pointers else "const "
            self.put(f"{kind}{declared(name, target.type)} = {right};")

    def place(self, value: Value) -> str:
        """What a pointer points to."""
        text = self.operand(value)
        return f"*{text}"

    def right(self, statement: ir.Let) -> str:
        operation, given = statement.operation, [self.operand(x) for x in statement.operands]
        match operation:
            case "load":
                cast = f"({declared('', statement.target.type)})" if statement.target.type.pointers else ""
                return f"{cast}{self.place(statement.operands[0])}"
            case "at":
                return f"{given[0]} + {given[1]}"
            case "bytes":
                kind = declared("", statement.target.type)
                return (
                    f"({kind})((const char *){given[0]} + {given[1]})"
                    if "const" in kind
                    else (f"({kind})((char *){given[0]} + {given[1]})")
                )
            case "wide":
                return f"(long){given[0]}"
            case "float":
                return f"(double){given[0]}"
            case "and":
                return f"{given[0]} & {given[1]}"
            case "select":
                return f"{given[0]} ? {given[1]} : {given[2]}"
            case "table":
                return f"{self.prefix}{statement.detail}"
            case "every":
                return given[0]
        if operation in _SIGNS:
            return f"{given[0]} {_SIGNS[operation]} {given[1]}"
        raise StatementError(f"{self.function.name}: {operation} has no form in C.")


def _bare(text: str) -> str:
    """Without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1]


def _used_beside(body: Iterable[ir.Statement]) -> Iterable[str]:
    """The values that are defined and used in one and the same block."""
    made: set[str] = set()
    for statement in body:
        bound = isinstance(statement, ir.For)  # tested again and again
        yield from (str(x.name) for x in used(statement) if x.name in made and not bound)
        if isinstance(statement, ir.Let):
            made.add(str(statement.target.name))
        for block in ir.blocks(statement):
            yield from _used_beside(block)
