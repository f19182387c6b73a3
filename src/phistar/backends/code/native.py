"""Loops over arrays of floats, written in Python, as LLVM IR: what branches and iterates, and so cannot be traced.

A function of this little language is plain Python as well, and does the same when Python runs it. It has

    numbers        floats and whole numbers, named constants, + - * / // and comparisons, and, or, not, a if c else b
    functions      sqrt, abs, min, max of two, int, float, and other functions of the language
    arrays         x[i], x[i, j] to read and write; float64, rows one after the other; m.x of an argument m: Arrays
    statements     assignments, for … in range(…), while, if, break, return, and calls

A local variable is whole or float as first assigned. `and` and `or` look at both sides. Division by 0 is not checked.
"""

from __future__ import annotations

import ast
import inspect
import struct
import textwrap
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from phistar.errors import StatementError

FLAGS = "contract reassoc nsz arcp"
FLOAT, WHOLE, TRUTH, ARRAY = "double", "i64", "i1", "ptr"
_ARITHMETIC = {ast.Add: ("fadd", "add"), ast.Sub: ("fsub", "sub"), ast.Mult: ("fmul", "mul"), ast.Div: ("fdiv", "")}
_ARITHMETIC |= {ast.FloorDiv: ("", "sdiv"), ast.Mod: ("", "srem")}
_COMPARED = {ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"), ast.GtE: ("oge", "sge")}
_COMPARED |= {ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne")}
_KINDS = {"int": WHOLE, "float": FLOAT}

Value = tuple[str, str]  # its type, and how IR names it


class Arrays(SimpleNamespace):
    """Arrays by name: the first argument of functions that share many."""


def module_text(
    functions: Sequence[Callable[..., Any]], constants: Mapping[str, float], columns: Mapping[str, int]
) -> str:
    """IR of some functions. Arguments are int, float, Arrays (the first, if any), or else one array. Names stand for
    numbers of their modules or in `constants`; `columns` has the row lengths of arrays with two axes, by name."""
    trees = [tree_of(function) for function in functions]
    known = {tree.name: tree for tree in trees}
    texts = []
    for function, tree in zip(functions, trees, strict=True):
        named = {name: x for name, x in function.__globals__.items() if type(x) in (int, float)}
        texts.append(_Emitter(tree, known, {**named, **constants}, columns).text())
    return "\n".join(["declare double @llvm.sqrt.f64(double)", "declare double @llvm.fabs.f64(double)", *texts])


def arrays_used(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> list[str]:
    """The arrays of its first argument that a function, or one that it calls, reads or writes; by name, sorted."""
    own = bundle_of(tree)
    if own is None:
        return []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
            found.add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
            found.update(arrays_used(known[node.func.id], known))
    return sorted(found)


def bundle_of(tree: ast.FunctionDef) -> str | None:
    """The name of the first argument if it is many arrays."""
    first = tree.args.args[0] if tree.args.args else ast.arg("")
    return first.arg if isinstance(first.annotation, ast.Name) and first.annotation.id == Arrays.__name__ else None


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """What stands in a function's source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def kind_of(node: ast.expr | None) -> str:
    return _KINDS.get(node.id, ARRAY) if isinstance(node, ast.Name) else ARRAY


class _Emitter:
    """IR of one function: locals live in memory, which LLVM's passes take to registers."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        known: Mapping[str, ast.FunctionDef],
        constants: Mapping[str, float],
        columns: Mapping[str, int],
    ) -> None:
        self.tree, self.known, self.constants, self.columns = tree, known, constants, columns
        self.lines: list[str] = []
        self.rooms: list[str] = []  # of the locals, at the entry
        self.locals: dict[str, str] = {}
        self.bundle = bundle_of(tree)
        self.ends: list[str] = []  # where `break` goes
        self.count = 0
        self.open = True  # whether the block at hand has no end yet

    def text(self) -> str:
        given = [f"ptr noalias %{name}" for name in arrays_used(self.tree, self.known)]
        for argument in self.tree.args.args[bool(self.bundle) :]:
            kind, name = kind_of(argument.annotation), argument.arg
            given.append(f"ptr noalias %{name}" if kind == ARRAY else f"{kind} %{name}.in")
            if kind != ARRAY:
                self._store(name, (kind, f"%{name}.in"))
        self._block(self.tree.body)
        result = result_of(self.tree)
        if self.open:
            self._put("ret void" if result == "void" else "unreachable")
        head = f"define internal {result} @{self.tree.name}({', '.join(given)}) {{"
        return "\n".join([head, "entry:", *self.rooms, *self.lines, "}"])

    # Statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.open:
                return
            handle = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handle is None:
                raise self._refused(statement)
            handle(statement)

    def _assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if len(node.targets) != 1:
            raise self._refused(node)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            values = [self._value(each) for each in value.elts]
            for each, made in zip(target.elts, values, strict=True):
                self._set(each, made)
            return
        self._set(target, self._value(value))

    def _augassign(self, node: ast.AugAssign) -> None:
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        self._set(node.target, self._value(ast.copy_location(ast.BinOp(read, node.op, node.value), node)))

    def _set(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, value)
        elif isinstance(target, ast.Subscript):
            place = self._place(target)
            self._put(f"store double {self._as(value, FLOAT)}, ptr {place}, align 8")
        else:
            raise self._refused(target)

    def _store(self, name: str, value: Value) -> None:
        if name not in self.locals:
            self.locals[name] = value[0]
            self.rooms.append(f"  %{name}.v = alloca {value[0]}, align 8")
        kind = self.locals[name]
        self._put(f"store {kind} {self._as(value, kind)}, ptr %{name}.v, align 8")

    def _for(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        if len(node.iter.args) > 2 or node.orelse:
            raise self._refused(node)
        bounds = [self._as(self._value(bound), WHOLE) for bound in node.iter.args]
        start, stop = bounds if len(bounds) == 2 else ("0", bounds[0])
        name = node.target.id
        self._store(name, (WHOLE, start))
        body, end = self._labels("for", "end")
        test = self._jump_to_new("test")
        at = self._made(f"load i64, ptr %{name}.v, align 8")
        inside = self._made(f"icmp slt i64 {at}, {stop}")
        self._put(f"br i1 {inside}, label %{body}, label %{end}")
        self._begin(body)
        self.ends.append(end)
        self._block(node.body)
        self.ends.pop()
        if self.open:
            now = self._made(f"load i64, ptr %{name}.v, align 8")
            after = self._made(f"add nsw i64 {now}, 1")
            self._put(f"store i64 {after}, ptr %{name}.v, align 8")
            self._put(f"br label %{test}")
        self._begin(end)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self._refused(node)
        body, end = self._labels("while", "end")
        test = self._jump_to_new("test")
        self._put(f"br i1 {self._as(self._value(node.test), TRUTH)}, label %{body}, label %{end}")
        self._begin(body)
        self.ends.append(end)
        self._block(node.body)
        self.ends.pop()
        if self.open:
            self._put(f"br label %{test}")
        self._begin(end)

    def _if(self, node: ast.If) -> None:
        then, otherwise, end = self._labels("then", "else", "end")
        self._put(f"br i1 {self._as(self._value(node.test), TRUTH)}, label %{then}, label %{otherwise}")
        reached = False
        for label, body in ((then, node.body), (otherwise, node.orelse)):
            self._begin(label)
            self._block(body)
            if self.open:
                reached = True
                self._put(f"br label %{end}")
        if reached:
            self._begin(end)
        else:
            self.open = False

    def _break(self, node: ast.Break) -> None:
        self._put(f"br label %{self.ends[-1]}")
        self.open = False

    def _return(self, node: ast.Return) -> None:
        result = result_of(self.tree)
        self._put("ret void" if node.value is None else f"ret {result} {self._as(self._value(node.value), result)}")
        self.open = False

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._value(node.value)
        elif not isinstance(node.value, ast.Constant):  # a docstring
            raise self._refused(node)

    # Values

    def _value(self, node: ast.expr) -> Value:
        handle = getattr(self, f"_value_{type(node).__name__.lower()}", None)
        if handle is None:
            raise self._refused(node)
        return handle(node)

    def _value_constant(self, node: ast.Constant) -> Value:
        return _number(node.value)

    def _value_name(self, node: ast.Name) -> Value:
        if node.id in self.locals:
            return self.locals[node.id], self._made(f"load {self.locals[node.id]}, ptr %{node.id}.v, align 8")
        if node.id in self.constants:
            return _number(self.constants[node.id])
        raise self._refused(node)

    def _value_subscript(self, node: ast.Subscript) -> Value:
        return FLOAT, self._made(f"load double, ptr {self._place(node)}, align 8")

    def _value_unaryop(self, node: ast.UnaryOp) -> Value:
        kind, value = self._value(node.operand)
        if isinstance(node.op, ast.Not):
            return TRUTH, self._made(f"xor i1 {self._as((kind, value), TRUTH)}, true")
        return kind, self._made(f"fneg {FLAGS} double {value}" if kind == FLOAT else f"sub i64 0, {value}")

    def _value_binop(self, node: ast.BinOp) -> Value:
        left, right = self._value(node.left), self._value(node.right)
        divides = isinstance(node.op, ast.Div)
        kind = FLOAT if divides or FLOAT in (left[0], right[0]) else WHOLE
        name = _ARITHMETIC.get(type(node.op), ("", ""))[kind == WHOLE]
        if not name:
            raise self._refused(node)
        if name in ("sdiv", "srem"):
            return WHOLE, self._floored(name, left[1], right[1])
        flags = f" {FLAGS}" if kind == FLOAT else ""
        return kind, self._made(f"{name}{flags} {kind} {self._as(left, kind)}, {self._as(right, kind)}")

    def _floored(self, name: str, left: str, right: str) -> str:
        """⌊a/b⌋ or a − b⌊a/b⌋, the rest of b's sign: LLVM's quotient is cut towards zero."""
        near = self._made(f"add i64 {self._made(f'srem i64 {left}, {right}')}, {right}")
        rest = self._made(f"srem i64 {near}, {right}")
        return rest if name == "srem" else self._made(f"sdiv i64 {self._made(f'sub i64 {left}, {rest}')}, {right}")

    def _value_compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            raise self._refused(node)
        left, right = self._value(node.left), self._value(node.comparators[0])
        kind = FLOAT if FLOAT in (left[0], right[0]) else WHOLE
        name = _COMPARED[type(node.ops[0])][kind == WHOLE]
        how = "fcmp" if kind == FLOAT else "icmp"
        return TRUTH, self._made(f"{how} {name} {kind} {self._as(left, kind)}, {self._as(right, kind)}")

    def _value_boolop(self, node: ast.BoolOp) -> Value:
        name = "and" if isinstance(node.op, ast.And) else "or"
        value = self._as(self._value(node.values[0]), TRUTH)
        for other in node.values[1:]:
            value = self._made(f"{name} i1 {value}, {self._as(self._value(other), TRUTH)}")
        return TRUTH, value

    def _value_ifexp(self, node: ast.IfExp) -> Value:
        test = self._as(self._value(node.test), TRUTH)
        return self._chosen(test, self._value(node.body), self._value(node.orelse))

    def _chosen(self, test: str, left: Value, right: Value) -> Value:
        kind = FLOAT if FLOAT in (left[0], right[0]) else WHOLE
        return kind, self._made(f"select i1 {test}, {kind} {self._as(left, kind)}, {kind} {self._as(right, kind)}")

    def _value_call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if name in self.known:
            return self._called(self.known[name], node.args)
        values = [self._value(argument) for argument in node.args]
        if name in ("sqrt", "abs"):
            intrinsic = {"sqrt": "sqrt", "abs": "fabs"}[name]
            return FLOAT, self._made(f"call {FLAGS} double @llvm.{intrinsic}.f64(double {self._as(values[0], FLOAT)})")
        if name in ("min", "max") and len(values) == 2:
            kind = FLOAT if FLOAT in (values[0][0], values[1][0]) else WHOLE
            first, second = ((kind, self._as(x, kind)) for x in values)
            left, right = (second, first) if name == "min" else (first, second)
            test = self._made(f"{'fcmp olt' if kind == FLOAT else 'icmp slt'} {kind} {left[1]}, {right[1]}")
            return self._chosen(test, second, first)  # the first where neither is less, as with a NaN
        if name in _KINDS:
            return _KINDS[name], self._as(values[0], _KINDS[name])
        raise self._refused(node)

    def _called(self, tree: ast.FunctionDef, given: Sequence[ast.expr]) -> Value:
        texts = [f"ptr %{name}" for name in arrays_used(tree, self.known)]
        start = int(bundle_of(tree) is not None)
        for argument, node in zip(tree.args.args[start:], given[start:], strict=True):
            kind = kind_of(argument.annotation)
            value = f"%{self._array(node)}" if kind == ARRAY else self._as(self._value(node), kind)
            texts.append(f"{kind} {value}")
        result = result_of(tree)
        if result == "void":
            self._put(f"call void @{tree.name}({', '.join(texts)})")
            return "void", ""
        return result, self._made(f"call {result} @{tree.name}({', '.join(texts)})")

    def _array(self, node: ast.expr) -> str:
        """The name of an array: an argument, or one of many."""
        if isinstance(node, ast.Name) and node.id not in self.locals and node.id not in self.constants:
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.bundle:
            return node.attr
        raise self._refused(node)

    def _place(self, node: ast.Subscript) -> str:
        """The address of an entry."""
        name, index = self._array(node.value), node.slice
        if isinstance(index, ast.Tuple):
            row, column = (self._as(self._value(x), WHOLE) for x in index.elts)
            start = self._made(f"mul nsw i64 {row}, {self.columns[name]}")
            at = self._made(f"add nsw i64 {start}, {column}")
        else:
            at = self._as(self._value(index), WHOLE)
        return self._made(f"getelementptr inbounds double, ptr %{name}, i64 {at}")

    def _as(self, value: Value, kind: str) -> str:
        if value[0] == kind:
            return value[1]
        if (value[0], kind) == (WHOLE, FLOAT):
            return self._made(f"sitofp i64 {value[1]} to double")
        if (value[0], kind) == (FLOAT, WHOLE):
            return self._made(f"fptosi double {value[1]} to i64")
        raise StatementError(f"{self.tree.name}: a {value[0]} stands where a {kind} belongs.")

    # Lines

    def _put(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def _made(self, right: str) -> str:
        self.count += 1
        self._put(f"%t{self.count} = {right}")
        return f"%t{self.count}"

    def _labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def _jump_to_new(self, name: str) -> str:
        (label,) = self._labels(name)
        self._put(f"br label %{label}")
        self._begin(label)
        return label

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.open = True

    def _refused(self, node: ast.AST) -> StatementError:
        text = ast.unparse(node)
        return StatementError(f"{self.tree.name}: {text!r:.100} is not part of what loops are compiled from.")


def result_of(tree: ast.FunctionDef) -> str:
    return _KINDS.get(tree.returns.id, "void") if isinstance(tree.returns, ast.Name) else "void"


def _number(value: Any) -> Value:
    if isinstance(value, bool):
        return TRUTH, "true" if value else "false"
    if isinstance(value, int):
        return WHOLE, str(value)
    return FLOAT, _written(float(value))


def _written(value: float) -> str:
    """A float as IR writes it: the bits of it."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
