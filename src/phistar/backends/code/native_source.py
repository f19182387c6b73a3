"""The source of loops that are compiled: functions as syntax trees, the arrays they use, the kinds of locals."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from types import CodeType, SimpleNamespace
from typing import Any

from phistar.errors import StatementError

FLOAT, WHOLE, TRUTH, ARRAY = "float", "whole number", "truth", "array"
KINDS = {"int": WHOLE, "float": FLOAT, "bool": TRUTH}


class Arrays(SimpleNamespace):
    """Arrays by name: the first argument of functions that share many."""


class Wholes:
    """Annotates an argument that is an array of whole numbers (int64)."""


def wide_range(*bounds: int) -> range:
    """The range of a loop that pays in vectors: of many numbers, and run often."""
    return range(*bounds)


def _lines(file: str, names: dict[str, Any]) -> tuple[str, ...]:
    linecache.checkcache(file)
    return tuple(linecache.getlines(file, names))


@lru_cache(maxsize=128)
def _last_lines(lines: tuple[str, ...]) -> dict[int, int | None]:
    """Last lines of a file's functions by their first ones: the parser finds them in a tenth of the time that
    `inspect.getsource` takes."""
    nodes = (node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.FunctionDef))
    return {min([node.lineno, *(x.lineno for x in node.decorator_list)]): node.end_lineno for node in nodes}


def tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Syntax tree of a function's source."""
    code = getattr(function, "__code__", None)
    lines = _lines(code.co_filename, function.__globals__) if isinstance(code, CodeType) else ()
    first = code.co_firstlineno if isinstance(code, CodeType) else 0
    last = _last_lines(lines).get(first)
    if last is None:
        raise StatementError(f"{function!r:.100} is not a plain function, which loops are compiled from.")
    tree = ast.parse(textwrap.dedent("".join(lines[first - 1 : last]))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    given = tree.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise StatementError(f"{tree.name}: compiled functions take plain arguments, without defaults or stars.")
    return tree


def nodes_of(tree: ast.FunctionDef) -> list[ast.AST]:
    """All nodes of a function, found once."""
    if "nodes" not in tree.__dict__:
        tree.__dict__["nodes"] = [*ast.walk(tree)]
    return tree.__dict__["nodes"]


def bundle_of(tree: ast.FunctionDef) -> str | None:
    """Name of the first argument if it is `Arrays`, else None."""
    first = tree.args.args[0] if tree.args.args else ast.arg("")
    return first.arg if isinstance(first.annotation, ast.Name) and first.annotation.id == Arrays.__name__ else None


def kind_of(node: ast.expr | None) -> str:
    """The kind of an argument: arrays of either kind of number are ARRAY."""
    return KINDS.get(node.id, ARRAY) if isinstance(node, ast.Name) else ARRAY


def holds_wholes(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == Wholes.__name__


def result_of(tree: ast.FunctionDef) -> str:
    return KINDS.get(tree.returns.id, "void") if isinstance(tree.returns, ast.Name) else "void"


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """Cache the function's result on the tree; each tree belongs to one module."""

    @wraps(function)
    def ask(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> Any:
        found = tree.__dict__.setdefault("found", {})
        if function.__name__ not in found:
            found[function.__name__] = function(tree, known)
        return found[function.__name__]

    return ask


@_once
def arrays_used(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> list[str]:
    """The arrays of its first argument that a function, or one that it calls, reads or writes; by name, sorted."""
    own = bundle_of(tree)
    found = {node.attr for node in nodes_of(tree) if isinstance(node, ast.Attribute) and array_name(node, own)}
    for name in set(call_names(tree, known)) - {tree.name}:
        if name in known:
            found.update(arrays_used(known[name], known))
    return sorted(found)


@_once
def arrays_written(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> set[str]:
    """The arrays that a function, or one that it calls, writes: names of its first argument's, and its own arguments
    that are arrays (as `name()`)."""
    direct, passed, own = set(), set(), bundle_of(tree)
    for node in nodes_of(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            name = array_name(node.value, own)
            if isinstance(node.value, ast.Name):
                passed.add(f"{name}()")
            else:
                direct.add(name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
            callee = known[node.func.id]
            if callee.name == tree.name:
                continue
            written = arrays_written(callee, known)
            direct.update(name for name in written if not name.endswith("()"))
            for argument, given in zip(callee.args.args, node.args, strict=False):
                if f"{argument.arg}()" in written:
                    name = array_name(given, bundle_of(tree))
                    passed.add(f"{name}()" if isinstance(given, ast.Name) else name or "")
    return direct | passed


@_once
def calls_of(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> int:
    """Number of call sites of a function."""
    return sum(call_names(other, known).count(tree.name) for other in known.values())


@_once
def call_names(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> list[str]:
    """Names of the functions called, once per call."""
    calls = (node.func for node in nodes_of(tree) if isinstance(node, ast.Call))
    return [called.id for called in calls if isinstance(called, ast.Name)]


LARGE = 12  # statements: a function with more is called, not written out at each of its calls


@_once
def is_called(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> bool:
    """Whether a function is not written out where it is called: often, and large with all that is written out in it."""
    return written_size(tree, known) > LARGE and calls_of(tree, known) > 1


@_once
def written_size(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> int:
    """Number of statements of a function, and of those that are written out in it."""
    size = sum(isinstance(node, ast.stmt) for node in nodes_of(tree))
    inside = [known[name] for name in call_names(tree, known) if name in known and name != tree.name]
    return size + sum(written_size(each, known) for each in inside if not is_called(each, known))


def has_wide_ranges(tree: ast.FunctionDef) -> bool:
    """Whether a function says which of its loops pay in vectors."""
    return any(isinstance(node, ast.Name) and node.id == wide_range.__name__ for node in nodes_of(tree))


@_once
def asks(tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> bool:
    """Whether a function, or one that it calls, asks what is outside, which may write to any array."""
    names = set(call_names(tree, known))
    return "ask" in names or any(asks(known[name], known) for name in names - {tree.name} if name in known)


def array_name(node: ast.expr, bundle: str | None) -> str | None:
    """The name of an array: an argument, or one of many; None for what is no array."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == bundle:
        return node.attr
    return None


class Locals:
    """The kinds of a function's locals, whole, float or truth: one that is ever given a float is a float throughout."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        known: Mapping[str, ast.FunctionDef],
        constants: Mapping[str, float],
        wholes: Callable[[ast.expr], bool],
    ) -> None:
        self.tree, self.known, self.constants, self.wholes = tree, known, constants, wholes
        given = tree.args.args[bool(bundle_of(tree)) :]
        self.kinds = {x.arg: kind_of(x.annotation) for x in given if kind_of(x.annotation) != ARRAY}
        self.given = frozenset(self.kinds)
        stores = [node for node in nodes_of(tree) if isinstance(node, ast.Assign | ast.AugAssign | ast.For)]
        before = None
        while before != self.kinds:
            before = dict(self.kinds)
            for node in stores:
                self._join(node)
        self._flow(tree.body, set(self.given))

    def kind(self, node: ast.expr) -> str:
        """Kind of an expression; "" while it is not known yet."""
        match node:
            case ast.Constant(value=bool()) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return TRUTH
            case ast.Constant(value=value):
                return WHOLE if isinstance(value, int) else FLOAT
            case ast.Name(id=name):
                if name in self.kinds:
                    return self.kinds[name]
                return "" if name not in self.constants else WHOLE if isinstance(self.constants[name], int) else FLOAT
            case ast.Subscript():
                return WHOLE if self.wholes(node.value) else FLOAT
            case ast.UnaryOp(operand=operand):
                return self.kind(operand)
            case ast.BinOp(op=ast.Div()):
                return FLOAT
            case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
                return join_kinds(self.kind(left), self.kind(right))
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call_kind(name, args)
        return FLOAT

    def _call_kind(self, name: str, args: Sequence[ast.expr]) -> str:
        if name in self.known:
            return result_of(self.known[name])
        if name in ("min", "max", "abs"):
            kind = ""
            for each in args:
                kind = join_kinds(kind, self.kind(each))
            return kind
        return WHOLE if name in ("floor", "ask") else KINDS.get(name, FLOAT)

    def _join(self, node: ast.Assign | ast.AugAssign | ast.For) -> None:
        match node:
            case ast.For(target=ast.Name(id=name)):
                self._widen(name, WHOLE)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._widen(name, FLOAT if isinstance(op, ast.Div) else self.kind(value))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._widen(name, self.kind(value))
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name):
                        self._widen(target.id, self.kind(value))

    def _widen(self, name: str, kind: str) -> None:
        known = self.kinds.get(name, "")
        if known and kind and (known == TRUTH) != (kind == TRUTH):
            raise StatementError(f"{self.tree.name}: {name} is given truths and numbers; a local holds one of them.")
        if kind == "void":
            raise StatementError(f"{self.tree.name}: {name} is given the result of a function that returns none.")
        if join_kinds(known, kind):
            self.kinds[name] = join_kinds(known, kind)

    # What is read must have a value on every way there

    def _flow(self, body: Sequence[ast.stmt], given: set[str]) -> set[str] | None:
        """Names bound after the statements; None where control does not reach their end."""
        now: set[str] | None = set(given)
        for statement in body:
            if now is None:
                return None
            now = self._after(statement, now)
        return now

    def _after(self, node: ast.stmt, now: set[str]) -> set[str] | None:
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=bounds), body=body):
                for bound in bounds:
                    self._read(bound, now)
                self._flow(body, now | {name})
                return now
            case ast.While(test=test, body=body):
                self._read(test, now)
                self._flow(body, now)
                endless = isinstance(test, ast.Constant) and test.value is True
                return None if endless and not any(isinstance(x, ast.Break) for x in ast.walk(node)) else now
            case ast.If(test=test, body=body, orelse=other):
                self._read(test, now)
                ends = [x for x in (self._flow(body, now), self._flow(other, now)) if x is not None]
                return set.intersection(*ends) if ends else None
            case ast.Break() | ast.Continue():
                return None
            case ast.Return(value=value):
                if value is not None:
                    self._read(value, now)
                return None
            case ast.Assign(targets=[target], value=value):
                self._read(value, now)
                targets = target.elts if isinstance(target, ast.Tuple) else [target]
                for each in targets:
                    self._read(each, now)
                return now | {each.id for each in targets if isinstance(each, ast.Name)}
        self._read(node, now)
        return now

    def _read(self, node: ast.AST, now: set[str]) -> None:
        for each in ast.walk(node):
            if not isinstance(each, ast.Name):
                continue
            target = isinstance(node, ast.AugAssign) and each is node.target
            if (target or isinstance(each.ctx, ast.Load)) and each.id in self.kinds and each.id not in now:
                raise StatementError(f"{self.tree.name}: {each.id} may be read before it has a value.")


def join_kinds(a: str, b: str) -> str:
    """The kind that holds both: float beside whole is float."""
    return a if not b or a == b else b if not a else FLOAT
