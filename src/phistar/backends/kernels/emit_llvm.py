"""LLVM IR of functions of the kernel language."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from phistar.backends.kernels import ir
from phistar.backends.kernels.ir import Type, Value
from phistar.backends.kernels.scratch import Scratch
from phistar.backends.kernels.validate import validate

_KINDS = {"f64": "double", "i64": "i64", "u32": "i32", "i1": "i1"}
DECLARED = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\ndeclare ptr @malloc(i64)\ndeclare void @free(ptr)"
ATTRIBUTES = "attributes #0 = { nounwind }"


def type_text(kind: Type) -> str:
    """A type as IR names it."""
    if kind.pointers:
        return "ptr"
    return f"<{kind.lanes} x {_KINDS[kind.kind]}>" if kind.lanes else _KINDS[kind.kind]


def number_text(value: float) -> str:
    """A double exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def operand(value: Value) -> str:
    """A value without its type."""
    if isinstance(value.name, str):
        return f"%{value.name}"
    if value.type.kind != "f64":
        return str(value.name)
    word = number_text(value.name)
    return "<" + ", ".join([f"double {word}"] * value.type.lanes) + ">" if value.type.lanes else word


def typed(value: Value) -> str:
    """A value with its type."""
    return f"{type_text(value.type)} {operand(value)}"


def functions_text(functions: Sequence[ir.Func], outside: Iterable[str] = ()) -> str:
    """The definitions of some functions, which also call others that are `outside`."""
    validate(functions, outside)
    return "\n".join(_Text(function).text() for function in functions)


def table_text(table: ir.Table) -> str:
    """The definition of a table of numbers."""
    kind = type_text(table.type)
    numbers = [number_text(x) if table.type.kind == "f64" else str(x) for x in table.entries]
    entries = ", ".join(f"{kind} {x}" for x in numbers)
    return f"@{table.name} = internal constant [{len(numbers)} x {kind}] [{entries}]"


class _Text:
    """One function as it is written."""

    def __init__(self, function: ir.Func) -> None:
        self.function, self.lines, self.label, self.count = function, ["entry:"], "entry", 0
        self.rooms = [s for s in ir.statements(function.body) if isinstance(s, ir.Let) and s.operation == "room"]
        self.fixed = {x.target.name: x.detail for x in self.rooms if not x.operands}

    def text(self) -> str:
        function, own = self.function, self.own()
        if own is not None:
            self.lines += own.opening()
            if own.is_on_heap:
                self.jump("begin")
                self.begin("begin")
        self.block(function.body)
        for room in self.rooms:
            self.lines += [f"  call void @free(ptr %{room.target.name}.raw)"] if room.operands else []
        self.lines += own.closing() if own is not None else []
        given = ", ".join(typed(x) for x in function.parameters)
        kind = "internal void" if function.inner else "void"
        head = f"define {kind} @{function.name}({given}) #0 {{"
        return "\n".join([*(own.declared() if own else []), head, *self.lines, "  ret void", "}"])

    def own(self) -> Scratch | None:
        """Memory of a known size, taken when the function begins."""
        if not self.fixed:
            return None
        entries = {str(name): detail[0] for name, detail in self.fixed.items()}
        kept = next((detail[2] for detail in self.fixed.values() if detail[2]), "")
        return Scratch(entries, max(detail[1] for detail in self.fixed.values()), kept)

    # Blocks

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def fork(self, test: str, then: str, otherwise: str) -> None:
        self.lines.append(f"  br i1 {test}, label %{then}, label %{otherwise}")

    def made(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %.{self.count} = {text}")
        return f"%.{self.count}"

    def block(self, body: Iterable[ir.Statement]) -> None:
        for statement in body:
            match statement:
                case ir.Let():
                    self.let(statement)
                case ir.Store(value=value, place=place, align=align, whole=whole):
                    way = "store volatile" if whole else "store"
                    self.lines.append(f"  {way} {typed(value)}, {typed(place)}, align {align}")
                case ir.Call(function=name, arguments=arguments):
                    self.lines.append(f"  call void @{name}({', '.join(map(typed, arguments))})")
                case ir.Clear(place=place, size=size):
                    given = f"ptr align 8 {operand(place)}, i8 0, {typed(size)}, i1 false"
                    self.lines.append(f"  call void @llvm.memset.p0.i64({given})")
                case ir.For():
                    self.loop(statement)
                case ir.Squares():
                    self.squares(statement)
                case ir.If(test=test, then=then, otherwise=otherwise):
                    self.chosen(operand(test), then, otherwise)
                case ir.Switch(value=value, cases=cases):
                    self.switch(value, cases)

    def loop(self, statement: ir.For) -> None:
        """Tested at its end, and before where it may have no turn at all."""
        index, start, stop, step, body = statement
        head, end = self.labels("loop", "end")
        test = f"icmp {'slt' if step > 0 else 'sgt'} i64"
        known = isinstance(start.name, int) and isinstance(stop.name, int)
        if known and (start.name < stop.name) == (step > 0) and start.name != stop.name:  # type: ignore[operator]
            self.jump(head)
        else:
            self.fork(self.made(f"{test} {operand(start)}, {operand(stop)}"), head, end)
        before, place = self.label, len(self.lines) + 1
        self.begin(head)
        self.block(body)
        following = self.made(f"add i64 {operand(index)}, {step}")
        phi = f"  {operand(index)} = phi i64 [{operand(start)}, %{before}], [{following}, %{self.label}]"
        self.lines.insert(place, phi)
        self.fork(self.made(f"{test} {following}, {operand(stop)}"), head, end)
        self.begin(end)

    def squares(self, statement: ir.Squares) -> None:
        index, stop, size, body = statement
        head, end = self.labels("square", "end")
        last = self.made(f"sub i64 {operand(stop)}, {size}")
        self.jump(head)
        before, place = self.label, len(self.lines) + 1
        self.begin(head)
        self.block(body)
        beyond = self.made(f"add i64 {operand(index)}, {size}")
        more = self.made(f"icmp slt i64 {beyond}, {operand(stop)}")
        fits = self.made(f"icmp slt i64 {beyond}, {last}")
        following = self.made(f"select i1 {fits}, i64 {beyond}, i64 {last}")
        self.lines.insert(place, f"  {operand(index)} = phi i64 [0, %{before}], [{following}, %{self.label}]")
        self.fork(more, head, end)
        self.begin(end)

    def chosen(self, test: str, then: tuple[Any, ...], otherwise: tuple[Any, ...]) -> None:
        one, other, end = self.labels("then", "else", "end")
        self.fork(test, one, other if otherwise else end)
        for label, body in ((one, then), (other, otherwise)):
            if body:
                self.begin(label)
                self.block(body)
                self.jump(end)
        self.begin(end)

    def switch(self, value: Value, cases: tuple[tuple[Any, ...], ...]) -> None:
        number = self.labels("case", "end")
        named = " ".join(f"i64 {c}, label %{number[0]}.{c}" for c in range(len(cases)))
        self.lines.append(f"  switch {typed(value)}, label %{number[1]} [{named}]")
        for c, body in enumerate(cases):
            self.begin(f"{number[0]}.{c}")
            self.block(body)
            self.jump(number[1])
        self.begin(number[1])

    # Values

    def let(self, statement: ir.Let) -> None:
        target, operation, operands, detail = statement
        if operation == "room":
            self.lines += self.allocated(statement) if operands else []
        else:
            self.lines.append(f"  {operand(target)} = {self.right(target, operation, operands, detail)}")

    def right(self, target: Value, operation: str, operands: tuple[Value, ...], detail: Any) -> str:
        first, kind = (typed(operands[0]) if operands else ""), type_text(target.type)
        rest = ", ".join(operand(x) for x in operands[1:])
        match operation:
            case "wide":
                return f"zext {first} to i64"
            case "float":
                return f"sitofp {first} to double"
            case "select":
                return f"select {', '.join(map(typed, operands))}"
            case "load":
                return f"load {kind}, {first}, align {detail}"
            case "at":
                entry = Type(target.type.kind, target.type.lanes, target.type.pointers - 1)
                return f"getelementptr {type_text(entry)}, {first}, {typed(operands[1])}"
            case "bytes":
                return f"getelementptr i8, {first}, {typed(operands[1])}"
            case "table":
                return f"getelementptr i8, ptr @{detail}, i64 0"
            case "every":
                lane = self.made(f"insertelement {kind} poison, {first}, i32 0")
                return f"shufflevector {kind} {lane}, {kind} poison, <{target.type.lanes} x i32> zeroinitializer"
            case "put":
                into = operand(operands[0]) if len(operands) == 2 else "poison"
                return f"insertelement {kind} {into}, {typed(operands[-1])}, i32 {detail}"
            case "take":
                return f"extractelement {first}, i32 {detail}"
            case "shuffle":
                chosen = ", ".join(f"i32 {'poison' if i < 0 else i}" for i in detail)
                return f"shufflevector {first}, {typed(operands[1])}, <{len(detail)} x i32> <{chosen}>"
        name = f"icmp {operation}" if operation in ir.TESTS else operation
        return f"{name} {first}, {rest}"

    def allocated(self, statement: ir.Let) -> list[str]:
        """Memory of a size that is known when the function runs."""
        name, align = operand(statement.target), statement.detail[1]
        return [
            f"  {name}.size = mul {typed(statement.operands[0])}, 8",
            f"  {name}.all = add i64 {name}.size, {align}",
            f"  {name}.raw = call ptr @malloc(i64 {name}.all)",
            f"  {name}.first = ptrtoint ptr {name}.raw to i64",
            f"  {name}.up = add i64 {name}.first, {align - 1}",
            f"  {name}.even = and i64 {name}.up, {-align}",
            f"  {name} = inttoptr i64 {name}.even to ptr",
        ]
