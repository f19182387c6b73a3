"""LLVM IR of modules of the kernel language."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import Module, Type, Value
from phistar.backends.kernels.llvm_values import RIGHT, Declared, Scratch, call_text, operand, type_text, with_type
from phistar.backends.kernels.validate import validate

_INLINED = {None: "", True: " noinline", False: " alwaysinline"}
_RARELY = ', !prof !{!"branch_weights", i32 1, i32 1000000}'


def llvm_text(module: Module, heap: bool = True) -> str:
    """A module as LLVM reads it; `heap`: large memory of functions is taken of the heap, else all of the stack."""
    validate(module)
    declared = Declared()
    functions = [_Text(function, declared, heap).text() for function in module.functions]
    elsewhere = [_outside_text(x) for x in module.outside]
    memory, tables = map(_memory_text, module.memory), map(_table_text, module.tables)
    lines = [*declared.lines, *elsewhere, *memory, *tables, *functions, "attributes #0 = { nounwind }"]
    return "\n".join([*lines, ""])


def _outside_text(function: kernel_ir.Outside) -> str:
    result = type_text(function.result) if function.result else "void"
    return f"declare {result} @{function.name}({', '.join(map(type_text, function.parameters))})"


def _memory_text(memory: kernel_ir.Memory) -> str:
    kind = type_text(memory.type)
    where = "internal global" if memory.inner else "global"
    return f"@{memory.name} = {where} [{memory.entries} x {kind}] zeroinitializer, align 8"


def _table_text(table: kernel_ir.Table) -> str:
    kind, names = type_text(table.type), table.type == kernel_ir.TABLES
    words = (f"@{x}" if names else operand(Value(x, table.type)) for x in table.entries)
    entries = ", ".join(f"{kind} {word}" for word in words)
    align = f", align {table.type.size * table.type.lanes}" if table.type.lanes else ""
    return f"@{table.name} = internal constant [{len(table.entries)} x {kind}] [{entries}]{align}"


class _Text:
    """Text of one function, under construction."""

    def __init__(self, function: kernel_ir.Func, declared: Declared, heap: bool) -> None:
        self.function, self.declared = function, declared
        self.lines: list[str] = []
        self.label, self.count, self.open = "entry", 0, True
        self.ends: list[tuple[str, str]] = []  # where `Continue` and `Break` go
        self.broken: set[str] = set()  # the ends that something goes to
        taken = [
            s
            for s in kernel_ir.statements(function.body)
            if isinstance(s, kernel_ir.Let) and s.operation in ("room", "local")
        ]
        self.rooms = [s for s in taken if s.operation == "room"]
        self.locals = [s.target for s in taken if s.operation == "local"]
        self.own = _own(self.rooms, heap)

    def text(self) -> str:
        function, own = self.function, self.own
        if own is not None:
            self.lines += own.opening()
            if own.is_on_heap:
                self.declare("malloc", "free")
                self.jump("begin")
                self.begin("begin")
        self.block(function.body)
        if self.open:
            self.leave(None)
        given = ", ".join(self.parameter(x) for x in function.parameters)
        result = type_text(function.result) if function.result else "void"
        how = _INLINED[function.called] + (" cold" if function.rare else "")
        head = f"define {'internal ' if function.inner else ''}{result} @{function.name}({given}){how} #0 {{"
        places = [f"  {operand(x)} = alloca {type_text(_entry(x.type))}, align 8" for x in self.locals]
        return "\n".join([*(own.declarations() if own else []), head, "entry:", *places, *self.lines, "}"])

    def parameter(self, value: Value) -> str:
        apart = " noalias" if value.name in self.function.apart else ""
        return f"{type_text(value.type)}{apart} {operand(value)}"

    def declare(self, *names: str) -> None:
        for name in names:
            self.declared.alone(name)

    # Blocks

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}.{self.count}" for name in names]

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label, self.open = label, True

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")
        self.open = False

    def fork(self, test: str, then: str, otherwise: str, weights: str = "") -> None:
        self.lines.append(f"  br i1 {test}, label %{then}, label %{otherwise}{weights}")
        self.open = False

    def instruction(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %.{self.count} = {text}")
        return f"%.{self.count}"

    def block(self, body: Iterable[kernel_ir.Statement]) -> None:
        lines, declared = self.lines, self.declared
        for statement in body:
            if type(statement) is kernel_ir.Let:
                target, operation, operands, detail = statement
                right = RIGHT.get(operation)
                if right is not None:
                    lines.append(f"  %{target[0]} = {right(declared, target, operands, detail)}")
                elif operation == "read":
                    (name, kind), (offset, align) = target, detail
                    lines.append(f"  %{name}.p = getelementptr i8, ptr %{operands[0][0]}, i64 {offset}")
                    lines.append(f"  %{name} = load {type_text(kind)}, ptr %{name}.p, align {align}")
                else:
                    self.several(statement)
            elif type(statement) is kernel_ir.Store:
                value, place, align, whole, offset = statement
                to = (
                    self.instruction(f"getelementptr i8, ptr {operand(place)}, i64 {offset}")
                    if offset
                    else operand(place)
                )
                lines.append(f"  store{' volatile' if whole else ''} {with_type(value)}, ptr {to}, align {align}")
            else:
                self.other(statement)

    def other(self, statement: kernel_ir.Statement) -> None:
        match statement:
            case kernel_ir.Call(function=function, arguments=arguments):
                self.lines.append(f"  {call_text('void', function, arguments)}")
            case kernel_ir.Masked(value=value, place=place, mask=mask, align=align):
                whole = value.type.size * value.type.lanes
                self.masked_store("store", value, f"ptr {operand(place)}", "p0", align or whole, mask)
            case kernel_ir.Scatter(value=value, pointer=pointer, index=index, mask=mask):
                lanes = value.type.lanes
                places = self.instruction(_entries(value.type, pointer, index))
                self.masked_store("scatter", value, f"<{lanes} x ptr> {places}", f"v{lanes}p0", value.type.size, mask)
            case kernel_ir.Clear(place=place, size=size):
                self.declare("memset")
                given = f"ptr align 8 {operand(place)}, i8 0, {with_type(size)}, i1 false"
                self.lines.append(f"  call void @llvm.memset.p0.i64({given})")
            case kernel_ir.For():
                self.loop(statement)
            case kernel_ir.Squares():
                self.squares(statement)
            case kernel_ir.While():
                self.while_loop(statement)
            case kernel_ir.If():
                self.branch(statement)
            case kernel_ir.Switch(value=value, cases=cases):
                self.switch(value, cases)
            case kernel_ir.Return(value=value):
                self.leave(value)
            case kernel_ir.Break() | kernel_ir.Continue():
                label = self.ends[-1][isinstance(statement, kernel_ir.Break)]
                self.broken.add(label)
                self.jump(label)

    def masked_store(self, how: str, value: Value, places: str, kind: str, align: int, mask: Value) -> None:
        """A store of the lanes in which the mask is true."""
        name = f"@llvm.masked.{how}.v{value.type.lanes}{value.type.kind}.{kind}"
        types = f"{type_text(value.type)}, {places.rsplit(' ', 1)[0]}, i32, {type_text(mask.type)}"
        self.declared.lines[f"declare void {name}({types})"] = None
        self.lines.append(f"  call void {name}({with_type(value)}, {places}, i32 {align}, {with_type(mask)})")

    def leave(self, value: Value | None) -> None:
        """Free memory, then return."""
        for room in self.rooms:
            if room.operands:
                self.declare("free")
                self.lines.append(f"  call void @free(ptr %{room.target.name}.raw)")
        self.lines += self.own.closing() if self.own is not None else []
        self.lines.append(f"  ret {with_type(value)}" if value is not None else "  ret void")
        self.open = False

    def loop(self, statement: kernel_ir.For) -> None:
        """Loop tested at its end, and before it where it may have no iterations."""
        index, start, stop, step, body, carried, some = statement
        head, end = self.labels("loop", "end")
        test, before = f"icmp {'slt' if step > 0 else 'sgt'} i64", self.label
        known = isinstance(start.name, int) and isinstance(stop.name, int)
        turns = known and (start.name < stop.name) == (step > 0) and start.name != stop.name  # type: ignore[operator]
        skipped = not (some or turns)
        if skipped:
            self.fork(self.instruction(f"{test} {operand(start)}, {operand(stop)}"), head, end)
        else:
            self.jump(head)
        place = len(self.lines) + 1
        self.begin(head)
        self.block(body)
        following = self.instruction(f"add i64 {operand(index)}, {step}")
        last = self.label
        self.fork(self.instruction(f"{test} {following}, {operand(stop)}"), head, end)
        self.begin(end)
        phis = [f"  {operand(index)} = phi i64 [{operand(start)}, %{before}], [{following}, %{last}]"]
        for x in carried:
            kind, now = type_text(x.value.type), operand(x.following)
            phis.append(f"  {operand(x.value)} = phi {kind} [{operand(x.start)}, %{before}], [{now}, %{last}]")
            never = f", [{operand(x.start)}, %{before}]" if skipped else ""
            self.lines.append(f"  {operand(x.after)} = phi {kind} [{now}, %{last}]{never}")
        self.lines[place:place] = phis

    def squares(self, statement: kernel_ir.Squares) -> None:
        index, stop, size, body = statement
        head, end = self.labels("square", "end")
        last, before = self.instruction(f"sub i64 {operand(stop)}, {size}"), self.label
        self.jump(head)
        place = len(self.lines) + 1
        self.begin(head)
        self.block(body)
        beyond = self.instruction(f"add i64 {operand(index)}, {size}")
        more = self.instruction(f"icmp slt i64 {beyond}, {operand(stop)}")
        fits = self.instruction(f"icmp slt i64 {beyond}, {last}")
        following = self.instruction(f"select i1 {fits}, i64 {beyond}, i64 {last}")
        self.lines.insert(place, f"  {operand(index)} = phi i64 [0, %{before}], [{following}, %{self.label}]")
        self.fork(more, head, end)
        self.begin(end)

    def while_loop(self, statement: kernel_ir.While) -> None:
        test, body, following, end = self.labels("test", "while", "next", "end")
        following = following if statement.after else test
        self.jump(test)
        self.begin(test)
        self.block(statement.before)
        endless = statement.test.name is True
        if endless:
            self.jump(body)
        else:
            self.fork(operand(statement.test), body, end)
        self.begin(body)
        self.ends.append((following, end))
        self.block(statement.body)
        self.ends.pop()
        if self.open:
            self.jump(following)
        if statement.after:
            self.begin(following)
            self.block(statement.after)
            self.jump(test)
            self.lines[-1] += f", !llvm.loop {self.declared.short_loop()}" if statement.short else ""
        if not endless or end in self.broken:
            self.begin(end)

    def branch(self, statement: kernel_ir.If) -> None:
        one, other, end = self.labels("then", "else", "end")
        before, otherwise = self.label, statement.otherwise
        self.fork(operand(statement.test), one, other if otherwise else end, _RARELY if statement.rare else "")
        sources, reached = [], not otherwise
        for label, body in ((one, statement.then), (other, otherwise)):
            if body or label == one:
                self.begin(label)
                self.block(body)
                sources.append(self.label)
                if self.open:
                    self.jump(end)
                    reached = True
        if not reached:
            return
        self.begin(end)
        sources = sources if otherwise else [*sources, before]
        for x in statement.joined:
            values = zip((x.then, x.otherwise), sources, strict=True)
            ways = ", ".join(f"[{operand(value)}, %{source}]" for value, source in values)
            self.lines.append(f"  {operand(x.value)} = phi {type_text(x.value.type)} {ways}")

    def switch(self, value: Value, cases: tuple[tuple[Any, ...], ...]) -> None:
        case, end = self.labels("case", "end")
        named = " ".join(f"i64 {c}, label %{case}.{c}" for c in range(len(cases)))
        self.lines.append(f"  switch {with_type(value)}, label %{end} [{named}]")
        for c, body in enumerate(cases):
            self.begin(f"{case}.{c}")
            self.block(body)
            if self.open:
                self.jump(end)
        self.begin(end)

    # Values of several lines

    def several(self, statement: kernel_ir.Let) -> None:
        target, operation, operands, detail = statement
        name, kind = operand(target), type_text(target.type)
        match operation:
            case "room":
                self.lines += self.allocate(statement) if operands else []
            case "every":
                lane = self.instruction(f"insertelement {kind} poison, {with_type(operands[0])}, i32 0")
                chosen = f"<{target.type.lanes} x i32> zeroinitializer"
                self.lines.append(f"  {name} = shufflevector {kind} {lane}, {kind} poison, {chosen}")
            case "bits" if operands[0].type.kind == "i1":
                bits = self.instruction(f"bitcast {with_type(operands[0])} to i{operands[0].type.lanes}")
                self.lines.append(f"  {name} = zext i{operands[0].type.lanes} {bits} to i64")
            case "bits":
                self.lines.append(f"  {name} = bitcast {with_type(operands[0])} to {kind}")
            case "first":
                lanes = operands[0].type.lanes
                wide = self.instruction(
                    f"zext i{lanes} {self.instruction(f'bitcast {with_type(operands[0])} to i{lanes}')} to i64"
                )
                self.declare("cttz")
                self.lines.append(f"  {name} = call i64 @llvm.cttz.i64(i64 {wide}, i1 true)")
            case "gather":
                lanes, mask = target.type.lanes, operands[2]
                places = self.instruction(_entries(target.type, operands[0], operands[1]))
                full = f"@llvm.masked.gather.v{lanes}{target.type.kind}.v{lanes}p0"
                types = f"<{lanes} x ptr>, i32, {type_text(mask.type)}, {kind}"
                self.declared.lines[f"declare {kind} {full}({types})"] = None
                given = f"<{lanes} x ptr> {places}, i32 {target.type.size}, {with_type(mask)}, {kind} zeroinitializer"
                self.lines.append(f"  {name} = call {kind} {full}({given})")
            case "any":
                lanes = operands[0].type.lanes
                bits = self.instruction(f"bitcast {with_type(operands[0])} to i{lanes}")
                self.lines.append(f"  {name} = icmp ne i{lanes} {bits}, 0")
            case "beyond":
                self.declare(detail)
                both = f"call {{i64, i1}} @llvm.s{detail}.with.overflow.i64({', '.join(map(with_type, operands))})"
                self.lines.append(f"  {name} = extractvalue {{i64, i1}} {self.instruction(both)}, 1")

    def allocate(self, statement: kernel_ir.Let) -> list[str]:
        """Memory of a size known only at run time."""
        self.declare("malloc")
        name, align = operand(statement.target), statement.detail[1]
        return [
            f"  {name}.size = mul {with_type(statement.operands[0])}, 8",
            f"  {name}.all = add i64 {name}.size, {align}",
            f"  {name}.raw = call ptr @malloc(i64 {name}.all)",
            f"  {name}.first = ptrtoint ptr {name}.raw to i64",
            f"  {name}.up = add i64 {name}.first, {align - 1}",
            f"  {name}.even = and i64 {name}.up, {-align}",
            f"  {name} = inttoptr i64 {name}.even to ptr",
        ]


def _entries(kind: Type, pointer: Value, index: Value) -> str:
    """Places of the entries behind a pointer, one for each lane."""
    return f"getelementptr {type_text(Type(kind.kind))}, ptr {operand(pointer)}, {with_type(index)}"


def _entry(kind: Type) -> Type:
    """Type that a pointer points to."""
    return Type(kind.kind, kind.lanes, kind.pointers - 1)


def _own(rooms: list[kernel_ir.Let], heap: bool) -> Scratch | None:
    """Scratch memory of known size, taken on entry to the function."""
    fixed = {str(x.target.name): x.detail for x in rooms if not x.operands}
    if not fixed:
        return None
    sizes = {str(x.target.name): _entry(x.target.type).size for x in rooms}
    entries = {name: -(-detail[0] * sizes[name] // 8) for name, detail in fixed.items()}
    kept = next((detail[2] for detail in fixed.values() if detail[2]), "")
    return Scratch(entries, max(detail[1] for detail in fixed.values()), kept, heap)
