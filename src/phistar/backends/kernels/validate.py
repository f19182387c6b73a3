"""The rules of the kernel language: a function that breaks one is refused with a sentence that names the statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from phistar.backends.kernels import ir
from phistar.backends.kernels.ir import F64, I1, I64, U32, Func, Let, Type, Value
from phistar.backends.kernels.show import show_statement
from phistar.errors import StatementError


def validate(functions: Iterable[Func], outside: Iterable[str] = ()) -> None:
    """Refuse functions of which one uses a value before or where it is not defined, defines one twice, gives an
    operation what it does not take, or calls a function that neither stands before it nor is `outside`."""
    known: dict[str, Func | None] = dict.fromkeys(outside)
    for function in functions:
        _Checked(function, known).body()
        known[function.name] = function


class _Checked:
    """One function as it is read: which values are defined where."""

    def __init__(self, function: Func, known: Mapping[str, Func | None]) -> None:
        self.function, self.known = function, known
        self.ever = {str(x.name) for x in function.parameters}
        if len(self.ever) < len(function.parameters):
            raise StatementError(f"{function.name}: two parameters have one name.")

    def body(self) -> None:
        self.block(self.function.body, {str(x.name): x.type for x in self.function.parameters})

    def block(self, body: Iterable[ir.Statement], defined: Mapping[str, Type]) -> None:
        here = dict(defined)
        for statement in body:
            self.statement(statement, here)

    def statement(self, statement: ir.Statement, here: dict[str, Type]) -> None:
        for value in used(statement):
            self.check(not isinstance(value.name, str) or here.get(value.name) == value.type, statement, "is not known")
        match statement:
            case Let(target=target):
                self.check(_fits(statement), statement, "does not fit together")
                self.define(target, statement, here)
            case ir.Store(value=value, place=place):
                same = value.type.kind == place.type.kind and place.type.pointers == 1 + value.type.pointers
                self.check(same and not place.type.constant, statement, "cannot be written there")
            case ir.Call(function=name, arguments=arguments):
                self.check(name in self.known, statement, "calls what does not stand before it")
                called = self.known[name]
                if called is not None:
                    pairs = list(zip(called.parameters, arguments, strict=False))
                    fits = len(arguments) == len(called.parameters) and all(_given(x.type, y.type) for x, y in pairs)
                    self.check(fits, statement, f"does not give what {name} takes")
            case ir.Clear(place=place):
                self.check(place.type.pointers == 1 and not place.type.constant, statement, "cannot be written there")
            case ir.For(index=index, step=step):
                self.check(step != 0, statement, "never ends")
                self.define(index, statement, here)
            case ir.Squares(index=index, size=size):
                self.check(size > 0, statement, "never ends")
                self.define(index, statement, here)
            case ir.If(test=test):
                self.check(test.type == I1, statement, "is no test")
        for block in ir.blocks(statement):
            self.block(block, here)
        if isinstance(statement, ir.For | ir.Squares):
            del here[str(statement.index.name)]

    def define(self, value: Value, statement: ir.Statement, here: dict[str, Type]) -> None:
        self.check(isinstance(value.name, str) and value.name not in self.ever, statement, "is defined twice")
        self.ever.add(str(value.name))
        here[str(value.name)] = value.type

    def check(self, holds: bool, statement: ir.Statement, reason: str) -> None:
        if not holds:
            raise StatementError(f"{self.function.name}: {show_statement(statement)[0].strip()} {reason}.")


def used(statement: ir.Statement) -> tuple[Value, ...]:
    """The values that a statement itself uses, not those of the blocks inside it."""
    match statement:
        case Let(operands=operands):
            return operands
        case ir.Store(value=value, place=place):
            return value, place
        case ir.Call(arguments=arguments):
            return arguments
        case ir.Clear(place=place, size=size):
            return place, size
        case ir.For(start=start, stop=stop):
            return start, stop
        case ir.Squares(stop=value) | ir.Switch(value=value) | ir.If(test=value):
            return (value,)


def _given(asked: Type, given: Type) -> bool:
    """Whether a value may be given to a parameter: what is written through must not be constant."""
    return asked[:3] == given[:3] and asked.constant >= given.constant


def _fits(statement: Let) -> bool:
    """Whether an operation takes such operands and gives such a value."""
    made, given = statement.target.type, [x.type for x in statement.operands]
    alike = len(given) == 2 and given[0] == given[1]
    match statement.operation:
        case name if name in ir.WHOLE:
            return alike and made == given[0] and made in ((I64, I1) if name == "and" else (I64,))
        case name if name in ir.FLOATING:
            return alike and made == given[0] and made.kind == "f64" and not made.pointers
        case name if name in ir.TESTS:
            return alike and given[0] == I64 and made == I1
        case "wide" | "float":
            return (given, made) == (([U32], I64) if statement.operation == "wide" else ([I64], F64))
        case "select":
            return len(given) == 3 and given[0] == I1 and given[1] == given[2] == made
        case "load":
            return len(given) == 1 and given[0].pointers == 1 + made.pointers and given[0].kind in (made.kind, "any")
        case "at" | "bytes":
            return len(given) == 2 and given[0] == made and made.pointers > 0 and given[1] == I64
        case "every":
            return given == [F64] and made.lanes > 0
        case "put":
            return given in ([F64], [made, F64]) and 0 <= statement.detail < made.lanes
        case "take":
            return len(given) == 1 and made == F64 and 0 <= statement.detail < given[0].lanes
        case "shuffle":
            return alike and made.lanes == len(statement.detail) and max(statement.detail) < 2 * given[0].lanes
        case "table":
            return made.pointers > 0 and made.constant and not given
        case "room":
            return made == F64.to and given in ([], [I64])
    return False
