"""One function of the loop language as a function of the kernel language: locals live in memory, which LLVM's passes
take to registers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from phistar.backends.code.native_source import (
    ARRAY,
    FLOAT,
    TRUTH,
    WHOLE,
    asks,
    is_called,
    kind_of,
    result_of,
    wide_range,
)
from phistar.backends.code.native_values import TYPES, Known, Values
from phistar.backends.kernels import F64, I1, I64, Func, Local, Value, kernel_ir
from phistar.errors import StatementError

RANGES = (range.__name__, wide_range.__name__)


class Emitter:
    """One function as it is written."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        known: Mapping[str, ast.FunctionDef],
        constants: Mapping[str, float],
        layout: Known,
        sparing: bool = False,
    ) -> None:
        self.tree, self.values = tree, Values(tree, known, constants, layout)
        self.sparing = sparing  # whether only loops over wide ranges are to be in vectors
        self.code = self.values.code
        self.open = True  # whether what comes next is reached
        self.broken: list[bool] = []  # of the loops around it, whether they are left by a break

    def function(self) -> Func:
        values, tree = self.values, self.tree
        if not all(name.isascii() for name in (tree.name, *values.locals.kinds, *values.arguments)):
            raise StatementError(f"{tree.name}: names in compiled loops are of ASCII letters.")
        for name, note in values.arguments.items():
            if kind_of(note) != ARRAY:
                self._store(name, self.code[f"{name}.in"])
        self._block(tree.body)
        result = TYPES.get(result_of(tree))
        if self.open and result is not None:
            raise StatementError(f"{tree.name}: not every way through it returns a value.")
        called = is_called(tree, values.known) if values.layout.calls else None
        arrays = frozenset(name for name, place in self.code.given.items() if place.type.pointers)
        apart = frozenset() if asks(tree, values.known) else arrays
        return replace(self.code.function, result=result, apart=apart, called=called)

    # Statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.open:
                return
            handle = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handle is None:
                raise self.values.refusal(statement)
            handle(statement)

    def _inside(
        self, body: Sequence[ast.stmt], first: Callable[[], None] | None = None
    ) -> tuple[kernel_ir.Statement, ...]:
        """A block of its own, behind what is written `first`."""
        self.open = True

        def write() -> None:
            if first is not None:
                first()
            self._block(body)

        return self.code.record(write)

    def _assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if len(node.targets) != 1:
            raise self.values.refusal(node)
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise self.values.refusal(node)
            values = [self.values.value(each) for each in value.elts]
            for each, made in zip(target.elts, values, strict=True):
                self._set(each, made)
            return
        self._set(target, self.values.value(value))

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            read = ast.Name(node.target.id, ast.Load())
            self._store(node.target.id, self.values.combine(node, self.values.value(read), node.op, node.value))
        elif isinstance(node.target, ast.Subscript):
            place = self.values.place(node.target)
            self._write(node, place, self.values.combine(node, place.load(), node.op, node.value))
        else:
            raise self.values.refusal(node)

    def _set(self, target: ast.expr, value: Local) -> None:
        if isinstance(target, ast.Name):
            self._store(target.id, value)
        elif isinstance(target, ast.Subscript):
            self._write(target, self.values.place(target), value)
        else:
            raise self.values.refusal(target)

    def _write(self, node: ast.AST, place: Local, value: Local) -> None:
        kind = WHOLE if place.type == I64.to else FLOAT
        if (value.type, kind) == (F64, WHOLE):
            raise StatementError(
                f"{self.tree.name}: {ast.unparse(node)} holds whole numbers; say int(…) to cut floats."
            )
        place.store(self.values.convert(value, kind))

    def _store(self, name: str, value: Local) -> None:
        self.values.places[name].store(self.values.hold(value, self.values.locals.kinds[name]))

    def _for(self, node: ast.For) -> None:
        code, call, target = self.code, node.iter, node.target
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in RANGES:
            raise self.values.refusal(node)
        if not isinstance(target, ast.Name) or node.orelse or not 1 <= len(call.args) <= 3:
            raise self.values.refusal(node)
        bounds = [self.values.convert(self.values.value(bound), WHOLE) for bound in call.args[:2]]
        start, stop = bounds if len(bounds) == 2 else (code.whole(0), bounds[0])
        step = self._step(call.args[2]) if len(call.args) == 3 else 1
        counter = code.let(I64.to, "local")
        counter.store(start)
        at, test = code.new_local(I64), code.new_local(I1)
        before = (
            kernel_ir.Let(at.value, "load", (counter.value,), 8),
            kernel_ir.Let(test.value, "slt" if step > 0 else "sgt", (at.value, stop.value)),
        )
        self.broken.append(False)
        body = self._inside(node.body, lambda: self._store(target.id, at))
        self.broken.pop()
        # By one it ends at the last number; by more it might pass it, and stays there.
        way = ("add", "fits") if abs(step) == 1 else ("sadd_sat", None)
        after = code.record(lambda: counter.store(code.let(I64, way[0], at, code.whole(step), detail=way[1])))
        short = self.sparing and call.func.id != wide_range.__name__
        code.put(kernel_ir.While(before, test.value, body, after, short))
        self.open = True

    def _step(self, node: ast.expr) -> int:
        try:
            step = ast.literal_eval(node)
        except ValueError:
            step = None
        if not isinstance(step, int) or not 0 < abs(step) < 2**63:
            raise self.values.refusal(node)
        return step

    def _while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.values.refusal(node)
        tests: list[Value] = []
        endless = isinstance(node.test, ast.Constant) and node.test.value is True
        before = self.code.record(lambda: tests.append(self.values.convert(self.values.value(node.test), TRUTH).value))
        self.broken.append(False)
        body = self._inside(node.body)
        self.code.put(kernel_ir.While(before, tests[0], body))
        self.open = self.broken.pop() or not endless

    def _if(self, node: ast.If) -> None:
        test, blocks, reached = self.values.convert(self.values.value(node.test), TRUTH), [], False
        for body in (node.body, node.orelse):
            blocks.append(self._inside(body))
            reached = reached or self.open
        self.code.put(kernel_ir.If(test.value, blocks[0], blocks[1]))
        self.open = reached

    def _break(self, node: ast.Break) -> None:
        self.code.put(kernel_ir.Break())
        self.broken[-1], self.open = True, False

    def _continue(self, node: ast.Continue) -> None:
        self.code.put(kernel_ir.Continue())
        self.open = False

    def _pass(self, node: ast.Pass) -> None:
        pass

    def _return(self, node: ast.Return) -> None:
        result = result_of(self.tree)
        if (node.value is None) != (result not in TYPES):
            raise self.values.refusal(node)
        self.code.give(None if node.value is None else self.values.hold(self.values.value(node.value), result))
        self.open = False

    def _expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.values.value_or_nothing(node.value)
        elif not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):  # a docstring
            raise self.values.refusal(node)
