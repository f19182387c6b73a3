"""The rules of the kernel language: a module that breaks one is refused with a sentence that names the statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import I1, I64, U32, Func, Let, Module, Outside, Type, Value
from phistar.backends.kernels.show_kernel import show_statement
from phistar.errors import StatementError

Given = tuple[Type, ...]


def validate(module: Module) -> None:
    """Refuse a module of which a function uses a value before or where it is not defined, defines one twice, gives an
    operation what it does not take, or calls a function that stands neither in it nor outside."""
    known: dict[str, Func | Outside] = {x.name: x for x in (*module.outside, *module.functions)}
    places = {x.name for x in (*module.tables, *module.memory)}
    for function in module.functions:
        _Checked(function, known, places).body()


class _Checked:
    """One function as it is read: which values are defined where."""

    def __init__(self, function: Func, known: Mapping[str, Func | Outside], places: set[str]) -> None:
        self.function, self.known, self.places = function, known, places
        self.ever = {str(x.name) for x in function.parameters}
        self.loops = 0
        if len(self.ever) < len(function.parameters):
            raise StatementError(f"{function.name}: two parameters have one name.")

    def body(self) -> None:
        self.block(self.function.body, {str(x.name): x.type for x in self.function.parameters})
        if self.function.result is not None and not _ends(self.function.body):
            raise StatementError(f"{self.function.name}: not every way through it returns a value.")

    def block(self, body: Iterable[kernel_ir.Statement], defined: Mapping[str, Type]) -> dict[str, Type]:
        here = dict(defined)
        for statement in body:
            if type(statement) is Let:
                self.let(statement, here)
            else:
                self.statement(statement, here)
        return here

    def let(self, statement: Let, here: dict[str, Type]) -> None:
        target, operation, operands, detail = statement
        for name, kind in operands:
            if name.__class__ is str and here.get(name) != kind:  # type: ignore[call-overload]
                self.refuse(statement, "is not known")
        rule = _RULES.get(operation)
        if rule is None or not rule(target[1], tuple([x[1] for x in operands]), detail):
            self.refuse(statement, "does not fit together")
        if operation == "call":
            self.check_call(statement, detail, operands if detail else operands[1:], target.type)
        elif operation in ("table", "constant"):
            name = detail if operation == "table" else detail[0]
            self.check(name in self.places, statement, "is of a table that there is not")
        self.define(target, statement, here)

    def statement(self, statement: kernel_ir.Statement, here: dict[str, Type]) -> None:
        for value in values_used(statement):
            known = not isinstance(value.name, str) or here.get(value.name) == value.type
            self.check(known, statement, "is not known")
        match statement:
            case kernel_ir.Store(value=value, place=place):
                to = place.type
                same = to.pointers == 1 + value.type.pointers and to.kind in (value.type.kind, "any")
                self.check((same or to == kernel_ir.PLACE) and not to.constant, statement, "cannot be written there")
            case (
                kernel_ir.Masked(value=value, place=place, mask=mask)
                | kernel_ir.Scatter(value=value, pointer=place, mask=mask)
            ):
                to, lanes = place.type, value.type.lanes
                fits = to[::2] == (value.type.kind, 1) and mask.type == Type("i1", lanes) and not to.constant
                self.check(fits and lanes > 0, statement, "cannot be written there")
            case kernel_ir.Call(function=function, arguments=arguments):
                self.check_call(statement, function, arguments, None)
            case kernel_ir.Clear(place=place):
                self.check(place.type.pointers == 1 and not place.type.constant, statement, "cannot be written there")
            case kernel_ir.If(test=test):
                self.check(test.type == I1, statement, "is no test")
            case kernel_ir.Break() | kernel_ir.Continue():
                self.check(self.loops > 0, statement, "stands in no loop")
            case kernel_ir.Return(value=value):
                given = value.type if value is not None else None
                self.check(given == self.function.result, statement, "is not what the function gives")
        self.inside(statement, here)

    def inside(self, statement: kernel_ir.Statement, here: dict[str, Type]) -> None:
        """The blocks of a statement, and what it defines for them and for what follows."""
        match statement:
            case kernel_ir.For(index=index, step=step, body=body, carried=carried):
                self.check(step != 0, statement, "never ends")
                within = dict(here)
                for value in (index, *(x.value for x in carried)):
                    self.define(value, statement, within)
                end = self.block(body, within)
                for x in carried:
                    alike = x.value.type == x.start.type == x.following.type == x.after.type
                    self.check(alike and _is_known(x.following, end), statement, "does not carry on what it began with")
                    self.define(x.after, statement, here)
            case kernel_ir.Squares(index=index, size=size, body=body):
                self.check(size > 0, statement, "never ends")
                within = dict(here)
                self.define(index, statement, within)
                self.block(body, within)
            case kernel_ir.While(before=before, test=test, body=body, after=after):
                within = self.block(before, here)
                self.check(test.type == I1 and _is_known(test, within), statement, "is no test")
                self.loops += 1
                self.block(body, within)
                self.loops -= 1
                self.block(after, within)
            case kernel_ir.If(then=then, otherwise=otherwise, joined=joined):
                ends = self.block(then, here), self.block(otherwise, here)
                for x in joined:
                    alike = x.value.type == x.then.type == x.otherwise.type
                    known = _is_known(x.then, ends[0]) and _is_known(x.otherwise, ends[1])
                    self.check(alike and known, statement, "does not join what its blocks make")
                    self.define(x.value, statement, here)
            case kernel_ir.Switch(cases=cases):
                for case in cases:
                    self.block(case, here)

    def check_call(
        self, statement: kernel_ir.Statement, function: str | Value, arguments: tuple[Value, ...], result: Type | None
    ) -> None:
        if not isinstance(function, str):
            return
        self.check(function in self.known, statement, "calls what there is not")
        known = self.known[function]
        asked = [x.type if isinstance(x, Value) else x for x in known.parameters]
        fits = len(arguments) == len(asked) and all(
            _may_be_given(x, y.type) for x, y in zip(asked, arguments, strict=True)
        )
        self.check(fits and known.result == result, statement, f"does not give what {function} takes")

    def define(self, value: Value, statement: kernel_ir.Statement, here: dict[str, Type]) -> None:
        name, kind = value
        if name.__class__ is not str or name in self.ever:
            self.refuse(statement, "is defined twice")
        self.ever.add(name)  # type: ignore[arg-type]
        here[name] = kind  # type: ignore[index]

    def check(self, holds: bool, statement: kernel_ir.Statement, reason: str) -> None:
        if not holds:
            self.refuse(statement, reason)

    def refuse(self, statement: kernel_ir.Statement, reason: str) -> None:
        raise StatementError(f"{self.function.name}: {show_statement(statement)[0].strip()} {reason}.")


def values_used(statement: kernel_ir.Statement) -> tuple[Value, ...]:
    """The values that a statement itself uses, not those of the blocks inside it."""
    match statement:
        case Let(operands=operands):
            return operands
        case kernel_ir.Store(value=value, place=place):
            return value, place
        case kernel_ir.Masked(value=value, place=place, mask=mask):
            return value, place, mask
        case kernel_ir.Scatter():
            return tuple(statement)
        case kernel_ir.Call(function=function, arguments=arguments):
            return arguments if isinstance(function, str) else (function, *arguments)
        case kernel_ir.Clear(place=place, size=size):
            return place, size
        case kernel_ir.For(start=start, stop=stop, carried=carried):
            return start, stop, *(x.start for x in carried)
        case kernel_ir.Squares(stop=value) | kernel_ir.Switch(value=value) | kernel_ir.If(test=value):
            return (value,)
        case kernel_ir.Return(value=value) if value is not None:
            return (value,)
    return ()


def _ends(body: tuple[kernel_ir.Statement, ...]) -> bool:
    """Whether nothing behind a block is reached from it."""
    match body[-1:]:
        case (kernel_ir.Return() | kernel_ir.Break() | kernel_ir.Continue(),):
            return True
        case (kernel_ir.If(then=then, otherwise=otherwise),):
            return _ends(then) and _ends(otherwise)
        case (kernel_ir.While(test=test, body=inner),):
            return test.name is True and not any(isinstance(x, kernel_ir.Break) for x in kernel_ir.statements(inner))
    return False


def _is_known(value: Value, here: Mapping[str, Type]) -> bool:
    return not isinstance(value.name, str) or here.get(value.name) == value.type


def _may_be_given(asked: Type, given: Type) -> bool:
    """Whether a value may be given to a parameter: what is written through must not be constant."""
    return asked[:3] == given[:3] and asked.constant >= given.constant


def _floats(made: Type, given: Given, detail: object, count: int) -> bool:
    alike = len(given) == given.count(made) == count
    return alike and made[0] in kernel_ir.FLOATS and not made[2] and detail in kernel_ir.FREEDOMS


def _wholes(made: Type, given: Given, truths: bool) -> bool:
    alike = len(given) == 2 and given[0] == made and given[1] == made and not made.pointers
    return alike and made.kind in (("i64", "i32", "i1") if truths else ("i64", "i32"))


def _are_comparable(made: Type, given: Given, floats: bool) -> bool:
    alike = len(given) == 2 and given[0] == given[1] and made == Type("i1", given[0].lanes)
    return alike and ((given[0].kind in kernel_ir.FLOATS) == floats or given[0].pointers > 0)


def _selects(made: Type, given: Given, detail: object) -> bool:
    return len(given) == 3 and given[0] in (I1, Type("i1", made.lanes)) and given[1] == given[2] == made


def _loads(made: Type, given: Given, detail: object) -> bool:
    if len(given) != 1 or not given[0].pointers:
        return False
    return given[0].kind == "any" or (given[0].pointers == 1 + made.pointers and given[0].kind == made.kind)


def _reads(made: Type, given: Given, detail: object) -> bool:
    return isinstance(detail, tuple) and _loads(made, given, detail)


def _moves(made: Type, given: Given, detail: object) -> bool:
    return len(given) == 2 and given[0] == made and made.pointers > 0 and given[1] == I64


def _gathers(made: Type, given: Given, detail: object) -> bool:
    if len(given) != 3 or not made.lanes:
        return False
    return given[0][::2] == (made.kind, 1) and given[1:] == (Type("i64", made.lanes), Type("i1", made.lanes))


def _shuffles(made: Type, given: Given, detail: tuple[int, ...]) -> bool:
    alike = len(given) == 2 and given[0] == given[1]
    return alike and made.lanes == len(detail) and max(detail) < 2 * given[0].lanes


def _same_size(made: Type, given: Given, detail: object) -> bool:
    if len(given) == 1 and given[0].kind == "i1":
        return given[0].lanes > 0 and made == I64
    kinds = {given[0].kind, made.kind}
    return len(given) == 1 and given[0].lanes == made.lanes and kinds in ({"f64", "i64"}, {"f32", "i32"})


_COUNTS = dict.fromkeys(kernel_ir.FLOATING, 2) | dict.fromkeys(("fneg", "sqrt", "fabs", "floor"), 1)
_COUNTS |= dict.fromkeys(("fma", "fmuladd"), 3)
_TRUTHS = ("and", "or", "xor")
_RULES: dict[str, Callable[..., bool]] = {
    **{x: (lambda m, g, d, n=n: _floats(m, g, d, n)) for x, n in _COUNTS.items()},
    **{x: (lambda m, g, d, t=x in _TRUTHS: _wholes(m, g, t)) for x in kernel_ir.WHOLE},
    **{x: (lambda m, g, d: _are_comparable(m, g, False)) for x in kernel_ir.TESTS},
    **{x: (lambda m, g, d: _are_comparable(m, g, True)) for x in kernel_ir.FLOAT_TESTS},
    "wide": lambda m, g, d: (g, m) == ((U32,), I64),
    "float": lambda m, g, d: g == (Type("i64", m.lanes),) and m.kind in kernel_ir.FLOATS and not m.pointers,
    "cut": lambda m, g, d: g in ((Type(x, m.lanes),) for x in kernel_ir.FLOATS) and m == Type("i64", m.lanes),
    "bits": _same_size,
    "beyond": lambda m, g, d: (g, m) == ((I64, I64), I1) and d in ("add", "sub", "mul"),
    "sadd_sat": lambda m, g, d: _wholes(m, g, False),
    "select": _selects,
    "any": lambda m, g, d: len(g) == 1 and g[0].kind == "i1" and g[0].lanes > 0 and m == I1,
    "load": _loads,
    "read": _reads,
    "constant": lambda m, g, d: not g and m.kind in kernel_ir.FLOATS and not m.pointers,
    "at": _moves,
    "bytes": _moves,
    "anew": lambda m, g, d: g == (m,) and m.pointers > 0,
    "address": lambda m, g, d: len(g) == 1 and g[0].pointers > 0 and m == I64,
    "place": lambda m, g, d: g == (I64,) and m.pointers > 0,
    "every": lambda m, g, d: g == (Type(m.kind),) and m.lanes > 0,
    "pick": lambda m, g, d: len(g) == 2 and g[0].lanes > 0 and g[1] == I64 and m == Type(g[0].kind),
    "first": lambda m, g, d: len(g) == 1 and g[0].kind == "i1" and g[0].lanes > 0 and m == I64,
    "lane": lambda m, g, d: not g and m.kind == "i64" and m.lanes > 0,
    "gather": _gathers,
    "put": lambda m, g, d: g in ((Type(m.kind),), (m, Type(m.kind))) and 0 <= d < m.lanes,
    "take": lambda m, g, d: len(g) == 1 and m == Type(g[0].kind) and 0 <= d < g[0].lanes,
    "shuffle": _shuffles,
    "table": lambda m, g, d: m.pointers > 0 and not g,
    "room": lambda m, g, d: m.pointers > 0 and g in ((), (I64,)),
    "local": lambda m, g, d: m.pointers == 1 and not g,
    "call": lambda m, g, d: isinstance(d, str) or (len(g) > 0 and g[0].pointers > 0),
}
"""Whether each operation takes values of the given types and returns one of the given type."""
