"""Expressions of the loop language as values of the kernel language."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from phistar.backends.code.native_arithmetic import OUTSIDE, Arithmetic
from phistar.backends.code.native_source import (
    ARRAY,
    FLOAT,
    TRUTH,
    WHOLE,
    Locals,
    array_name,
    arrays_used,
    arrays_written,
    bundle_of,
    holds_wholes,
    join_kinds,
    kind_of,
    result_of,
)
from phistar.backends.kernels import F64, I1, I64, Code, Local, Type, Value, kernel_ir
from phistar.errors import StatementError

_ARITHMETIC = {ast.Add: ("fadd", "add"), ast.Sub: ("fsub", "sub"), ast.Mult: ("fmul", "mul"), ast.Div: ("fdiv", "")}
_ARITHMETIC |= {ast.FloorDiv: ("", "sdiv"), ast.Mod: ("", "srem")}
_COMPARED = {ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"), ast.GtE: ("oge", "sge")}
_COMPARED |= {ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne")}
_LAZY = (ast.Subscript, ast.Call, ast.FloorDiv, ast.Mod)  # what must not be done where Python would not
_PLAIN = (ast.Name, ast.Constant, ast.expr_context, ast.boolop, ast.BoolOp)  # checked, all but these

TYPES = {FLOAT: F64, WHOLE: I64, TRUTH: I1}
_KINDS = {kind: name for name, kind in TYPES.items()}


class Known(Protocol):
    """Arrays by name, see `native.Layout`."""

    @property
    def columns(self) -> Mapping[str, int]: ...
    @property
    def wholes(self) -> Any: ...
    @property
    def calls(self) -> bool: ...
    @property
    def lengths(self) -> Mapping[str, int] | None: ...


class Values:
    """The expressions of one function."""

    def __init__(
        self, tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef], constants: Mapping[str, float], layout: Known
    ) -> None:
        self.tree, self.known, self.constants, self.layout = tree, known, constants, layout
        self.bundle = bundle_of(tree)
        self.arguments = {x.arg: x.annotation for x in tree.args.args[bool(self.bundle) :]}
        self.code, self.checked = Code(tree.name, **self._parameters()), layout.lengths is not None
        self.code.prefix = "e."  # of names that no array has
        self.numbers = Arithmetic(self.code, self.checked, TYPES.get(result_of(tree)))
        self.locals = Locals(tree, known, constants, self._whole_array)
        self.places = {name: Local(self.code, self._place(name, kind)) for name, kind in self.locals.kinds.items()}

    def _parameters(self) -> dict[str, Type]:
        """The arrays that are used, then the arguments; of numbers those that locals begin with, of arrays, where
        indices are checked, the numbers of entries too."""
        given = {name: self._array_type(name in self.layout.wholes) for name in arrays_used(self.tree, self.known)}
        for name, note in self.arguments.items():
            kind = kind_of(note)
            given |= {name: self._array_type(holds_wholes(note))} if kind == ARRAY else {f"{name}.in": TYPES[kind]}
            given |= {f"{name}.len": I64} if kind == ARRAY and self.layout.lengths is not None else {}
        return given

    @staticmethod
    def _array_type(wholes: bool) -> Type:
        return I64.to if wholes else F64.to

    def _place(self, name: str, kind: str) -> Value:
        """Stack slot of a local; LLVM's passes promote it to a register."""
        place = Value(f"{name}.v", TYPES[kind].to)
        self.code.put(kernel_ir.Let(place, "local", ()))
        return place

    def value(self, node: ast.expr) -> Local:
        made = self.value_or_nothing(node)
        if made is None:
            raise StatementError(f"{self.tree.name}: a result of nothing stands where a number belongs.")
        return made

    def value_or_nothing(self, node: ast.expr) -> Local | None:
        """None for a call of a function that returns nothing."""
        handle = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if handle is None:
            raise self.refusal(node)
        return handle(node)

    def _value_constant(self, node: ast.Constant) -> Local:
        return self._number(node, node.value)

    def _number(self, node: ast.expr, value: Any) -> Local:
        if not isinstance(value, int | float) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            raise self.refusal(node)
        if isinstance(value, bool):
            return self.code.like(value, I1)
        return self.code.whole(value) if isinstance(value, int) else self.code.number(value)

    def _value_name(self, node: ast.Name) -> Local:
        if node.id in self.places:
            return self.places[node.id].load()
        if node.id in self.constants:
            return self._number(node, self.constants[node.id])
        raise self.refusal(node)

    def _value_subscript(self, node: ast.Subscript) -> Local:
        return self.place(node).load()

    def _value_unaryop(self, node: ast.UnaryOp) -> Local:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.numbers.opposite(self.convert(value, TRUTH))
        if value.type == I1 or not isinstance(node.op, ast.USub | ast.UAdd):
            raise self.refusal(node)
        return value if isinstance(node.op, ast.UAdd) else self.numbers.negate(value)

    def _value_binop(self, node: ast.BinOp) -> Local:
        return self.combine(node, self.value(node.left), node.op, node.right)

    def combine(self, node: ast.AST, left: Local, op: ast.operator, other: ast.expr) -> Local:
        right = self.value(other)
        kind = FLOAT if isinstance(op, ast.Div) else join_kinds(kind_in(left), kind_in(right))
        name = _ARITHMETIC.get(type(op), ("", ""))[kind == WHOLE]
        if not name or I1 in (left.type, right.type):
            raise self.refusal(node)
        if kind == FLOAT:
            return self.numbers.float(name, self.convert(left, kind), self.convert(right, kind))
        if name in ("sdiv", "srem"):
            return self.numbers.floor_division(name, left, right)
        return self.numbers.whole(name, left, right)

    def _value_compare(self, node: ast.Compare) -> Local:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARED:
            raise self.refusal(node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        if I1 in (left.type, right.type):
            raise self.refusal(node)
        kind = join_kinds(kind_in(left), kind_in(right))
        a, b = (x if kind_in(x) == kind else self.numbers.exact(x) for x in (left, right))
        return self.code.let(I1, _COMPARED[type(node.ops[0])][kind == WHOLE], a, b)

    def _value_boolop(self, node: ast.BoolOp) -> Local:
        both = isinstance(node.op, ast.And)
        value = self.convert(self.value(node.values[0]), TRUTH)
        for other in node.values[1:]:
            if self._lazy(other):
                test = value if both else self.numbers.opposite(value)
                value = self._either(test, other, self.code.like(not both, I1), TRUTH)
            else:
                second = self.convert(self.value(other), TRUTH)
                value = value & second if both else value | second
        return value

    def _value_ifexp(self, node: ast.IfExp) -> Local:
        kind, test = self.locals.kind(node), self.convert(self.value(node.test), TRUTH)
        if self._lazy(node.body) or self._lazy(node.orelse):
            return self._either(test, node.body, node.orelse, kind)
        return test.select(self.hold(self.value(node.body), kind), self.hold(self.value(node.orelse), kind))

    def _either(self, test: Local, then: ast.expr, otherwise: ast.expr | Local, kind: str) -> Local:
        """One of two values, of which only that one is found."""
        found: list[Local] = []

        def find(what: ast.expr | Local) -> None:
            found.append(self.hold(what if isinstance(what, Local) else self.value(what), kind))

        blocks = [self.code.record(partial(find, what)) for what in (then, otherwise)]
        made = self.code.new_local(TYPES[kind])
        way = kernel_ir.Joined(made.value, found[0].value, found[1].value)
        self.code.put(kernel_ir.If(test.value, blocks[0], blocks[1], (way,)))
        return made

    def _value_call(self, node: ast.Call) -> Local | None:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.refusal(node)
        name, numbers = node.func.id, self.numbers
        if name in self.known:
            return self._call(self.known[name], node)
        values = [self.value(argument) for argument in node.args]
        if name == "ask" and [x.type for x in values] == [I64, I64]:
            return self.code.result_of(I64, values[0].place(kernel_ir.PLACE), values[1])
        if len(values) != (2 if name in ("min", "max") else 1) or I1 in [x.type for x in values]:
            raise self.refusal(node)
        value = values[0]
        match name:
            case "sqrt":
                return numbers.root(self.convert(value, FLOAT))
            case "int" | "floor" if value.type == I64:
                return value
            case "int":
                return numbers.cut(value)
            case "floor":
                return numbers.cut(numbers.of_one("floor", value))
            case "float":
                return self.convert(value, FLOAT)
            case "abs" if value.type == F64:
                return numbers.of_one("fabs", value)
            case "abs":  # 0 − x or x − 0
                negative = value < 0
                return numbers.whole("sub", negative.select(0, value), negative.select(value, 0))
            case "min" | "max":
                return self._least(name, values)
        raise self.refusal(node)

    def _least(self, name: str, values: Sequence[Local]) -> Local:
        """The first where neither is less, as with a NaN."""
        kind = join_kinds(kind_in(values[0]), kind_in(values[1]))
        first, second = (x if kind_in(x) == kind else self.numbers.exact(x) for x in values)
        left, right = (second, first) if name == "min" else (first, second)
        return self.code.let(I1, "olt" if kind == FLOAT else "slt", left, right).select(second, first)

    def _call(self, tree: ast.FunctionDef, node: ast.Call) -> Local | None:
        arguments = [self.code[name] for name in arrays_used(tree, self.known)]
        start, given = int(bundle_of(tree) is not None), node.args
        if len(given) != len(tree.args.args):
            raise self.refusal(node)
        self._check_arrays(tree, node)
        for argument, each in zip(tree.args.args[start:], given[start:], strict=True):
            kind = kind_of(argument.annotation)
            if kind != ARRAY:
                arguments.append(self.hold(self.value(each), kind))
                continue
            arguments.append(self.code[self._array(each)])
            if self._whole_array(each) != holds_wholes(argument.annotation):
                raise StatementError(f"{self.tree.name}: {ast.unparse(each)} is of the other kind of number.")
            if self.layout.lengths is not None:
                arguments.append(self._length(each))
        result, made = TYPES.get(result_of(tree)), None
        if result is None:
            self.code.call(tree.name, *arguments)
        else:
            made = self.code.result_of(result, tree.name, *arguments)
        self.numbers.end_after_fault()
        return made

    def _check_arrays(self, tree: ast.FunctionDef, node: ast.Call) -> None:
        """Two names of one array, of which one is written, are refused: what is read would not be looked up again."""
        start = int(bundle_of(tree) is not None)
        names = [(name, name) for name in arrays_used(tree, self.known)]
        for argument, each in zip(tree.args.args[start:], node.args[start:], strict=True):
            if kind_of(argument.annotation) == ARRAY:
                names.append((self._array(each), f"{argument.arg}()"))
        written = arrays_written(tree, self.known)
        for number, (name, inside) in enumerate(names):
            for other, within in names[:number]:
                if name == other and (inside in written or within in written):
                    raise StatementError(
                        f"{self.tree.name}: {ast.unparse(node)} is given {name} twice, and writes to it."
                    )

    # Arrays

    def _array(self, node: ast.expr) -> str:
        """The name of an array: an argument, or one of many."""
        name = array_name(node, self.bundle)
        if isinstance(node, ast.Name) and kind_of(self.arguments.get(node.id, ast.Name("int"))) != ARRAY:
            name = None
        if name is None:
            raise self.refusal(node)
        return name

    def _whole_array(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return holds_wholes(self.arguments.get(node.id))
        return array_name(node, self.bundle) in self.layout.wholes

    def _length(self, node: ast.expr) -> Local:
        assert self.layout.lengths is not None
        if isinstance(node, ast.Name):
            return self.code[f"{node.id}.len"]
        return self.code.whole(self.layout.lengths[self._array(node)])

    def place(self, node: ast.Subscript) -> Local:
        """Address of an entry."""
        name, code, index = self._array(node.value), self.code, node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) > 2 or (len(parts) == 2) != (name in self.layout.columns):
            raise self.refusal(node)
        if any(isinstance(x, ast.UnaryOp) and isinstance(x.operand, ast.Constant) for x in parts):
            raise StatementError(f"{self.tree.name}: {ast.unparse(node)} counts from the end; indices are from 0 on.")
        values = [self.convert(self.value(x), WHOLE) for x in parts]
        at, wide = values[0], code.whole(self.layout.columns.get(name, 1))
        if self.checked:
            size = self._length(node.value)
            rows = size if len(values) == 1 else size // wide
            for value, count in zip(values, (rows, wide), strict=False):
                self.numbers.end_unless(code.let(I1, "ult", value, count), OUTSIDE)
        if len(values) == 2:
            row = code.let(I64, "mul", at, wide, detail="fits")
            at = code.let(I64, "add", row, values[1], detail="fits")
        array = code[name]
        return code.let(array.type, "at", array, at, detail="fits")

    def _lazy(self, node: ast.expr) -> bool:
        """Whether an expression must not be evaluated where Python would not: it may end the loop, or the process."""
        if self.checked:
            return not all(isinstance(x, _PLAIN) for x in ast.walk(node))
        return any(isinstance(x, _LAZY) for x in ast.walk(node))

    def hold(self, value: Local, kind: str) -> Local:
        """A value where Python would go on with a whole number and the compiled loop goes on with a float."""
        return self.numbers.exact(value) if (value.type, kind) == (I64, FLOAT) else self.convert(value, kind)

    def convert(self, value: Local, kind: str) -> Local:
        if value.type == TYPES[kind]:
            return value
        if (value.type, kind) == (I64, FLOAT):
            return value.floating()
        raise StatementError(f"{self.tree.name}: a {kind_in(value)} stands where a {kind} belongs.")

    def refusal(self, node: ast.AST) -> StatementError:
        text = ast.unparse(node)
        return StatementError(f"{self.tree.name}: {text!r:.100} is not part of what loops are compiled from.")


def kind_in(value: Local) -> str:
    """The kind of number that a value is."""
    return _KINDS[value.type]
