"""LLVM IR of the expressions of the loop language: their instructions in order, and the kind of what they give."""

from __future__ import annotations

import ast
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from phistar.backends.code.native_arithmetic import OUTSIDE, Arithmetic, Lines
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
    joined,
    kind_of,
    result_of,
)
from phistar.errors import StatementError

_ARITHMETIC = {ast.Add: ("fadd", "add"), ast.Sub: ("fsub", "sub"), ast.Mult: ("fmul", "mul"), ast.Div: ("fdiv", "")}
_ARITHMETIC |= {ast.FloorDiv: ("", "sdiv"), ast.Mod: ("", "srem")}
_COMPARED = {ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"), ast.GtE: ("oge", "sge")}
_COMPARED |= {ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne")}
_LAZY = (ast.Subscript, ast.Call, ast.FloorDiv, ast.Mod)  # what must not be done where Python would not
_PLAIN = (ast.Name, ast.Constant, ast.expr_context, ast.boolop, ast.BoolOp)  # checked, all but these

Value = tuple[str, str]  # its kind, and how IR names it


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
    @property
    def entry(self) -> str: ...
    @property
    def in_order(self) -> bool: ...


class Values:
    """The expressions of one function."""

    def __init__(
        self, tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef], constants: Mapping[str, float], layout: Known
    ) -> None:
        self.tree, self.known, self.constants, self.layout = tree, known, constants, layout
        self.bundle = bundle_of(tree)
        self.arguments = {x.arg: x.annotation for x in tree.args.args[bool(self.bundle) :]}
        self.out, self.checked = Lines(), layout.lengths is not None
        self.numbers = Arithmetic(self.out, self.checked, result_of(tree), layout.in_order)
        self.locals = Locals(tree, known, constants, self._whole_array)

    def value(self, node: ast.expr) -> Value:
        handle = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if handle is None:
            raise self.refused(node)
        return handle(node)

    def _value_constant(self, node: ast.Constant) -> Value:
        return self._number(node, node.value)

    def _number(self, node: ast.expr, value: Any) -> Value:
        if not isinstance(value, int | float) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
            raise self.refused(node)
        return number(value)

    def _value_name(self, node: ast.Name) -> Value:
        kind = self.locals.kinds.get(node.id)
        if kind:
            return kind, self.out.made(f"load {kind}, ptr %{node.id}.v, align 8")
        if node.id in self.constants:
            return self._number(node, self.constants[node.id])
        raise self.refused(node)

    def _value_subscript(self, node: ast.Subscript) -> Value:
        place, kind = self.place(node)
        return kind, self.out.made(f"load {kind}, ptr {place}, align 8")

    def _value_unaryop(self, node: ast.UnaryOp) -> Value:
        kind, value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return TRUTH, self.out.made(f"xor i1 {self.converted((kind, value), TRUTH)}, true")
        if kind == TRUTH or not isinstance(node.op, ast.USub | ast.UAdd):
            raise self.refused(node)
        if isinstance(node.op, ast.UAdd):
            return kind, value
        return kind, self.numbers.negated(kind, value)

    def _value_binop(self, node: ast.BinOp) -> Value:
        return self.combined(node, self.value(node.left), node.op, node.right)

    def combined(self, node: ast.AST, left: Value, op: ast.operator, other: ast.expr) -> Value:
        right = self.value(other)
        kind = FLOAT if isinstance(op, ast.Div) else joined(left[0], right[0])
        name = _ARITHMETIC.get(type(op), ("", ""))[kind == WHOLE]
        if not name or TRUTH in (left[0], right[0]):
            raise self.refused(node)
        if kind == FLOAT:
            return kind, self.numbers.float(name, self.converted(left, kind), self.converted(right, kind))
        if name in ("sdiv", "srem"):
            return kind, self.numbers.floored(name, left[1], right[1])
        return kind, self.numbers.whole(name, left[1], right[1])

    def _value_compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARED:
            raise self.refused(node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        if TRUTH in (left[0], right[0]):
            raise self.refused(node)
        kind = joined(left[0], right[0])
        name = _COMPARED[type(node.ops[0])][kind == WHOLE]
        how = "fcmp" if kind == FLOAT else "icmp"
        a, b = (x[1] if x[0] == kind else self.numbers.exact(x[1]) for x in (left, right))
        return TRUTH, self.out.made(f"{how} {name} {kind} {a}, {b}")

    def _value_boolop(self, node: ast.BoolOp) -> Value:
        both = isinstance(node.op, ast.And)
        value = self.converted(self.value(node.values[0]), TRUTH)
        for other in node.values[1:]:
            if self._lazy(other):
                test = value if both else self.out.made(f"xor i1 {value}, true")
                value = self._either(test, other, (TRUTH, "false" if both else "true"), TRUTH)
            else:
                name = "and" if both else "or"
                value = self.out.made(f"{name} i1 {value}, {self.converted(self.value(other), TRUTH)}")
        return TRUTH, value

    def _value_ifexp(self, node: ast.IfExp) -> Value:
        kind, test = self.locals.kind(node), self.converted(self.value(node.test), TRUTH)
        if self._lazy(node.body) or self._lazy(node.orelse):
            return kind, self._either(test, node.body, node.orelse, kind)
        left, right = self.held(self.value(node.body), kind), self.held(self.value(node.orelse), kind)
        return kind, self.out.made(f"select i1 {test}, {kind} {left}, {kind} {right}")

    def _either(self, test: str, then: ast.expr, otherwise: ast.expr | Value, kind: str) -> str:
        """One of two values, of which only that one is found."""
        out, labels = self.out, self.out.labels("then", "else", "end")
        out.branch(test, *labels[:2])
        found = []
        for label, what in zip(labels[:2], (then, otherwise), strict=True):
            out.begin(label)
            value = self.held(what if isinstance(what, tuple) else self.value(what), kind)
            last = out.labels("from")[0]
            out.jump(last)
            out.begin(last)
            out.jump(labels[2])
            found.append(f"[ {value}, %{last} ]")
        out.begin(labels[2])
        return out.made(f"phi {kind} {', '.join(found)}")

    def _value_call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.refused(node)
        name = node.func.id
        if name in self.known:
            return self._called(self.known[name], node)
        values = [self.value(argument) for argument in node.args]
        if name == "ask" and [kind for kind, _ in values] == [WHOLE, WHOLE]:
            where = self.out.made(f"inttoptr i64 {values[0][1]} to ptr")
            return WHOLE, self.out.made(f"call i64 {where}(i64 {values[1][1]})")
        if len(values) != (2 if name in ("min", "max") else 1) or TRUTH in [kind for kind, _ in values]:
            raise self.refused(node)
        kind, value = values[0]
        if name == "sqrt":
            return FLOAT, self.numbers.root(self.converted(values[0], FLOAT))
        if name in ("int", "floor") and kind == WHOLE:
            return values[0]
        if name == "int":
            return WHOLE, self.numbers.cut(value)
        if name == "floor":
            return WHOLE, self.numbers.cut(
                self.out.made(f"call {self.numbers.flags} double @llvm.floor.f64(double {value})")
            )
        if name == "float":
            return FLOAT, self.converted(values[0], FLOAT)
        if name == "abs" and kind == FLOAT:
            return FLOAT, self.out.made(f"call {self.numbers.flags} double @llvm.fabs.f64(double {value})")
        if name == "abs":
            negative = self.out.made(f"icmp slt i64 {value}, 0")
            return WHOLE, self.numbers.whole("sub", *self._turned(negative, value))
        if name in ("min", "max"):
            return self._least(name, values)
        raise self.refused(node)

    def _turned(self, negative: str, value: str) -> tuple[str, str]:
        """What is subtracted from what for a number's size: 0 − x or x − 0."""
        made = self.out.made
        return made(f"select i1 {negative}, i64 0, i64 {value}"), made(f"select i1 {negative}, i64 {value}, i64 0")

    def _least(self, name: str, values: Sequence[Value]) -> Value:
        """The first where neither is less, as with a NaN."""
        kind = joined(values[0][0], values[1][0])
        first, second = (x[1] if x[0] == kind else self.numbers.exact(x[1]) for x in values)
        left, right = (second, first) if name == "min" else (first, second)
        test = self.out.made(f"{'fcmp olt' if kind == FLOAT else 'icmp slt'} {kind} {left}, {right}")
        return kind, self.out.made(f"select i1 {test}, {kind} {second}, {kind} {first}")

    def _called(self, tree: ast.FunctionDef, node: ast.Call) -> Value:
        texts = [f"ptr %{name}" for name in arrays_used(tree, self.known)]
        start, given = int(bundle_of(tree) is not None), node.args
        if len(given) != len(tree.args.args):
            raise self.refused(node)
        self._check_arrays(tree, node)
        for argument, each in zip(tree.args.args[start:], given[start:], strict=True):
            kind = kind_of(argument.annotation)
            if kind == ARRAY:
                name = self._array(each)
                if self._whole_array(each) != holds_wholes(argument.annotation):
                    raise StatementError(f"{self.tree.name}: {ast.unparse(each)} is of the other kind of number.")
                texts.append(f"ptr %{name}")
                if self.layout.lengths is not None:
                    texts.append(f"i64 {self._length(each)}")
            else:
                texts.append(f"{kind} {self.held(self.value(each), kind)}")
        result = result_of(tree)
        if result == "void":
            self.out.put(f"call void @{tree.name}({', '.join(texts)})")
            self.numbers.end_after_fault()
            return "void", ""
        made = self.out.made(f"call {result} @{tree.name}({', '.join(texts)})")
        self.numbers.end_after_fault()
        return result, made

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
            raise self.refused(node)
        return name

    def _whole_array(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return holds_wholes(self.arguments.get(node.id))
        return array_name(node, self.bundle) in self.layout.wholes

    def _length(self, node: ast.expr) -> str:
        assert self.layout.lengths is not None
        return f"%{node.id}.len" if isinstance(node, ast.Name) else str(self.layout.lengths[self._array(node)])

    def place(self, node: ast.Subscript) -> tuple[str, str]:
        """The address of an entry, and its kind."""
        name, made, index = self._array(node.value), self.out.made, node.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        if len(parts) > 2 or (len(parts) == 2) != (name in self.layout.columns):
            raise self.refused(node)
        if any(isinstance(x, ast.UnaryOp) and isinstance(x.operand, ast.Constant) for x in parts):
            raise StatementError(f"{self.tree.name}: {ast.unparse(node)} counts from the end; indices are from 0 on.")
        values = [self.converted(self.value(x), WHOLE) for x in parts]
        at, wide = values[0], self.layout.columns.get(name, 1)
        if self.checked:
            size = self._length(node.value)
            rows = size if len(values) == 1 else made(f"udiv i64 {size}, {wide}")
            self.numbers.end_unless(made(f"icmp ult i64 {at}, {rows}"), OUTSIDE)
        if len(values) == 2 and self.checked:
            self.numbers.end_unless(made(f"icmp ult i64 {values[1]}, {wide}"), OUTSIDE)
        if len(values) == 2:
            at = made(f"add nsw i64 {made(f'mul nsw i64 {at}, {wide}')}, {values[1]}")
        kind = WHOLE if self._whole_array(node.value) else FLOAT
        return made(f"getelementptr inbounds {kind}, ptr %{name}, i64 {at}"), kind

    def _lazy(self, node: ast.expr) -> bool:
        """Whether an expression must not be evaluated where Python would not: it may end the loop, or the process."""
        if self.checked:
            return not all(isinstance(x, _PLAIN) for x in ast.walk(node))
        return any(isinstance(x, _LAZY) for x in ast.walk(node))

    def held(self, value: Value, kind: str) -> str:
        """A value where Python would go on with a whole number and the compiled loop goes on with a float."""
        return self.numbers.exact(value[1]) if (value[0], kind) == (WHOLE, FLOAT) else self.converted(value, kind)

    def converted(self, value: Value, kind: str) -> str:
        if value[0] == kind:
            return value[1]
        if (value[0], kind) == (WHOLE, FLOAT):
            return self.out.made(f"sitofp i64 {value[1]} to double")
        words = {FLOAT: "float", WHOLE: "whole number", TRUTH: "truth", "void": "result of nothing"}
        raise StatementError(f"{self.tree.name}: a {words[value[0]]} stands where a {words[kind]} belongs.")

    def refused(self, node: ast.AST) -> StatementError:
        text = ast.unparse(node)
        return StatementError(f"{self.tree.name}: {text!r:.100} is not part of what loops are compiled from.")


def number(value: float) -> Value:
    if isinstance(value, bool):
        return TRUTH, "true" if value else "false"
    if isinstance(value, int):
        return WHOLE, str(value)
    return FLOAT, f"0x{struct.unpack('>Q', struct.pack('>d', float(value)))[0]:016X}"  # the bits of it
