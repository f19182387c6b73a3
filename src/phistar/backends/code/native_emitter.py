"""LLVM IR of one function of the loop language: locals live in memory, which LLVM's passes take to registers."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from phistar.backends.code.native_source import (
    ARRAY,
    FLOAT,
    TRUTH,
    WHOLE,
    arrays_used,
    asks,
    calls_of,
    kind_of,
    result_of,
)
from phistar.backends.code.native_values import Known, Value, Values
from phistar.errors import StatementError

LARGE = 12  # statements: a function with more is called, not written out at each of its calls


class Emitter:
    """IR of one function."""

    def __init__(
        self, tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef], constants: Mapping[str, float], layout: Known
    ) -> None:
        self.tree, self.values = tree, Values(tree, known, constants, layout)
        self.out = self.values.out
        self.ends: list[tuple[str, str]] = []  # where `continue` and `break` go

    def text(self) -> str:
        given, out = [], self.out
        array = "ptr" if asks(self.tree, self.values.known) else "ptr noalias"
        for name in arrays_used(self.tree, self.values.known):
            given.append(f"{array} %{name}")
        for name, note in self.values.arguments.items():
            kind = kind_of(note)
            given.append(f"{array} %{name}" if kind == ARRAY else f"{kind} %{name}.in")
            if kind == ARRAY and self.values.layout.lengths is not None:
                given.append(f"i64 %{name}.len")
            elif kind != ARRAY:
                self._store(name, (kind, f"%{name}.in"))
        if not all(name.isascii() for name in (self.tree.name, *self.values.locals.kinds, *self.values.arguments)):
            raise StatementError(f"{self.tree.name}: names in compiled loops are of ASCII letters.")
        self._block(self.tree.body)
        result = result_of(self.tree)
        if out.open and result != "void":
            raise StatementError(f"{self.tree.name}: not every way through it returns a value.")
        if out.open:
            out.put("ret void")
        size = sum(isinstance(node, ast.stmt) for node in ast.walk(self.tree))
        rooms = [f"  %{name}.v = alloca {kind}, align 8" for name, kind in self.values.locals.kinds.items()]
        large = self.values.layout.calls and size > LARGE
        apart = " noinline" if large and calls_of(self.tree, self.values.known) > 1 else ""
        inner = "" if self.tree.name == self.values.layout.entry else "internal "
        head = f"define {inner}{result} @{self.tree.name}({', '.join(given)}){apart} {{"
        return "\n".join([head, "entry:", *rooms, *out.lines, "}"])

    # Statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.out.open:
                return
            handle = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handle is None:
                raise self.values.refused(statement)
            handle(statement)

    def _assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if len(node.targets) != 1:
            raise self.values.refused(node)
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise self.values.refused(node)
            values = [self.values.value(each) for each in value.elts]
            for each, made in zip(target.elts, values, strict=True):
                self._set(each, made)
            return
        self._set(target, self.values.value(value))

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            read = ast.Name(node.target.id, ast.Load())
            self._store(node.target.id, self.values.combined(node, self.values.value(read), node.op, node.value))
        elif isinstance(node.target, ast.Subscript):
            place, kind = self.values.place(node.target)
            before = kind, self.out.made(f"load {kind}, ptr {place}, align 8")
            value = self.values.combined(node, before, node.op, node.value)
            self._write(node, place, kind, value)
        else:
            raise self.values.refused(node)

    def _set(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, value)
        elif isinstance(target, ast.Subscript):
            self._write(target, *self.values.place(target), value)
        else:
            raise self.values.refused(target)

    def _write(self, node: ast.AST, place: str, kind: str, value: Value) -> None:
        if (value[0], kind) == (FLOAT, WHOLE):
            raise StatementError(
                f"{self.tree.name}: {ast.unparse(node)} holds whole numbers; say int(…) to cut floats."
            )
        self.out.put(f"store {kind} {self.values.converted(value, kind)}, ptr {place}, align 8")

    def _store(self, name: str, value: Value) -> None:
        kind = self.values.locals.kinds[name]
        self.out.put(f"store {kind} {self.values.held(value, kind)}, ptr %{name}.v, align 8")

    def _for(self, node: ast.For) -> None:
        out, call = self.out, node.iter
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "range":
            raise self.values.refused(node)
        if not isinstance(node.target, ast.Name) or node.orelse or not 1 <= len(call.args) <= 3:
            raise self.values.refused(node)
        bounds = [self.values.converted(self.values.value(bound), WHOLE) for bound in call.args[:2]]
        start, stop = bounds if len(bounds) == 2 else ("0", bounds[0])
        step = self._step(call.args[2]) if len(call.args) == 3 else 1
        self.out.count += 1
        counter = f"%at.{out.count}"
        out.lines.insert(0, f"  {counter} = alloca i64, align 8")
        out.put(f"store i64 {start}, ptr {counter}, align 8")
        body, following, end, test = out.labels("for", "next", "end", "test")
        out.jump(test)
        out.begin(test)
        at = out.made(f"load i64, ptr {counter}, align 8")
        out.branch(out.made(f"icmp {'slt' if step > 0 else 'sgt'} i64 {at}, {stop}"), body, end)
        out.begin(body)
        self._store(node.target.id, (WHOLE, at))
        self._repeated(node.body, following, end)
        out.begin(following)
        # By one it ends at the last number; by more it might pass it, and stays there.
        on = f"add nsw i64 {at}, {step}" if abs(step) == 1 else f"call i64 @llvm.sadd.sat.i64(i64 {at}, i64 {step})"
        out.put(f"store i64 {out.made(on)}, ptr {counter}, align 8")
        out.jump(test)
        out.begin(end)

    def _step(self, node: ast.expr) -> int:
        try:
            step = ast.literal_eval(node)
        except ValueError:
            step = None
        if not isinstance(step, int) or not 0 < abs(step) < 2**63:
            raise self.values.refused(node)
        return step

    def _repeated(self, body: Sequence[ast.stmt], following: str, end: str) -> None:
        self.ends.append((following, end))
        self._block(body)
        self.ends.pop()
        if self.out.open:
            self.out.jump(following)

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.values.refused(node)
        out, (body, end, test) = self.out, self.out.labels("while", "end", "test")
        out.jump(test)
        out.begin(test)
        endless = isinstance(node.test, ast.Constant) and node.test.value is True
        if endless:
            out.jump(body)
        else:
            out.branch(self.values.converted(self.values.value(node.test), TRUTH), body, end)
        out.begin(body)
        self._repeated(node.body, test, end)
        out.open = False
        if not endless or any(f"label %{end}" in line for line in out.lines):
            out.begin(end)

    def _if(self, node: ast.If) -> None:
        out, (then, otherwise, end) = self.out, self.out.labels("then", "else", "end")
        out.branch(self.values.converted(self.values.value(node.test), TRUTH), then, otherwise)
        reached = False
        for label, body in ((then, node.body), (otherwise, node.orelse)):
            out.begin(label)
            self._block(body)
            if out.open:
                reached = True
                out.jump(end)
        out.open = False
        if reached:
            out.begin(end)

    def _break(self, node: ast.Break) -> None:
        self.out.jump(self.ends[-1][1])
        self.out.open = False

    def _continue(self, node: ast.Continue) -> None:
        self.out.jump(self.ends[-1][0])
        self.out.open = False

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _return(self, node: ast.Return) -> None:
        result = result_of(self.tree)
        if (node.value is None) != (result == "void"):
            raise self.values.refused(node)
        self.out.put(
            "ret void"
            if node.value is None
            else f"ret {result} {self.values.held(self.values.value(node.value), result)}"
        )
        self.out.open = False

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.values.value(node.value)
        elif not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):  # a docstring
            raise self.values.refused(node)
