"""Compiled loops differentiated: from functions of the little language, others that carry one direction along.

A float x has its change x_d beside it, an array m.x that varies its m.x_d; tests are those of x. A function of floats,
f_d, gives the change alone and f is called for the value, so that what it leaves in arrays must be the same however
often it is called; one that gives a whole number, or nothing, is replaced by its f_d, which does and gives what f does.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from phistar.backends.code.native_source import FLOAT, kind_of, result_of, tree_of
from phistar.errors import StatementError

ZERO = ast.Constant(0.0)


def changes(
    functions: Sequence[Callable[..., Any]], given: Mapping[str, str], varying: Collection[str]
) -> list[Callable[..., Any]]:
    """f_d of every function; `given` names, by f, those of others that are written by hand, `varying` the arrays."""
    trees = {function.__name__: tree_of(function) for function in functions}
    made = []
    for function in functions:
        tree = _Change(trees[function.__name__], trees, given, varying).change()
        text = ast.unparse(ast.fix_missing_locations(tree))
        name = f"<change of {function.__module__}.{function.__name__}>"
        linecache.cache[name] = (len(text), None, [line + "\n" for line in text.split("\n")], name)
        space = dict(function.__globals__)
        exec(compile(text, name, "exec"), space)  # text made from the package's own functions
        made.append(space[tree.name])
    return made


def value_functions(functions: Sequence[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """Functions that the differentiated code calls for values: those that return floats, and the ones they call."""
    trees = {function.__name__: tree_of(function) for function in functions}
    wanted = {name for name, tree in trees.items() if result_of(tree) == FLOAT}
    for name in [*reversed(trees)]:  # a function stands after those it calls
        if name in wanted:
            called = {
                node.func.id
                for node in ast.walk(trees[name])
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            wanted |= called & set(trees)
    return [function for function in functions if function.__name__ in wanted]


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0.0


def _sum(a: ast.expr, b: ast.expr, op: ast.operator) -> ast.expr:
    if _is_zero(b):
        return a
    if _is_zero(a):
        return b if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), b)
    return ast.BinOp(a, op, b)


def _times(a: ast.expr, b: ast.expr) -> ast.expr:
    return ZERO if _is_zero(a) or _is_zero(b) else ast.BinOp(a, ast.Mult(), b)


class _Change(ast.NodeTransformer):
    """One function: statements keep their order, each with its change before it or beside it."""

    def __init__(
        self,
        tree: ast.FunctionDef,
        known: Mapping[str, ast.FunctionDef],
        given: Mapping[str, str],
        varying: Collection[str],
    ) -> None:
        self.tree, self.known, self.given, self.varying = tree, known, given, varying
        counters = (node.target for node in ast.walk(tree) if isinstance(node, ast.For))
        self.fixed = {target.id for target in counters if isinstance(target, ast.Name)}
        self.fixed |= {arg.arg for arg in tree.args.args if kind_of(arg.annotation) != FLOAT}
        assigned = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.locals = (assigned | {arg.arg for arg in tree.args.args}) - self.fixed
        self.gives_change = result_of(tree) == FLOAT

    def change(self) -> ast.FunctionDef:
        floats = [arg for arg in self.tree.args.args if kind_of(arg.annotation) == FLOAT]
        more = [ast.arg(f"{arg.arg}_d", ast.Name("float", ast.Load())) for arg in floats]
        arguments = ast.arguments([], [*self.tree.args.args, *more], None, [], [], None, [])
        body = [each for statement in self.tree.body for each in self._statement(statement)]
        made = ast.FunctionDef(f"{self.tree.name}_d", arguments, body, [], self.tree.returns, None)
        if "type_params" in made._fields:
            made.type_params = []  # type: ignore[attr-defined]  # Python 3.12 has them
        return made

    # Statements

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Assign():
                return [self._assign(node)]
            case ast.AugAssign():
                return self._augmented_assignment(node)
            case ast.If():
                return [ast.If(self._value(node.test), self._block(node.body), self._block(node.orelse))]
            case ast.For():
                return [ast.For(node.target, self._value(node.iter), self._block(node.body), [], None)]
            case ast.While():
                return [ast.While(self._value(node.test), self._block(node.body), [])]
            case ast.Return(value=None):
                return [node]
            case ast.Return(value=value) if value is not None:
                return [ast.Return(self._change(value) if self.gives_change else self._value(value))]
            case ast.Expr():
                return [ast.Expr(self._value(node.value))]
            case ast.Break() | ast.Continue() | ast.Pass():
                return [node]
        raise StatementError(f"{self.tree.name}: a {type(node).__name__} cannot be differentiated.")

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [each for statement in body for each in self._statement(statement)]

    def _assign(self, node: ast.Assign) -> ast.stmt:
        """Values and changes at once: all of the right side is what was there before."""
        target, value = node.targets[0], node.value
        targets = list(target.elts) if isinstance(target, ast.Tuple) else [target]
        values = list(value.elts) if isinstance(value, ast.Tuple) else [value]
        left: list[ast.expr] = list(targets)
        right: list[ast.expr] = [self._value(each) for each in values]
        for place, each in zip(targets, values, strict=True):
            beside = self._beside(place, ast.Store())
            if beside is not None:
                left.append(beside)
                right.append(self._change(each))
        if len(left) == 1:
            return ast.Assign(left, right[0])
        return ast.Assign([ast.Tuple(left, ast.Store())], ast.Tuple(right, ast.Load()))

    def _augmented_assignment(self, node: ast.AugAssign) -> list[ast.stmt]:
        beside = self._beside(node.target, ast.Store())
        plain = ast.AugAssign(node.target, node.op, self._value(node.value))
        if beside is None:
            return [plain]
        own, change = ast.parse(ast.unparse(node.target), mode="eval").body, self._change(node.value)
        if isinstance(node.op, ast.Add | ast.Sub):
            more: list[ast.stmt] = [] if _is_zero(change) else [ast.AugAssign(beside, node.op, change)]
            return [*more, plain]
        whole = ast.BinOp(own, node.op, node.value)
        return [ast.Assign([beside], self._change(whole)), plain]

    def _beside(self, place: ast.expr, context: ast.expr_context) -> ast.Name | ast.Subscript | None:
        """Address of the derivative of a local or of an array's entry, or None."""
        match place:
            case ast.Name(id=name):
                return ast.Name(f"{name}_d", context) if name in self.locals else None
            case ast.Subscript(value=ast.Attribute(value=bundle, attr=name), slice=index):
                if name not in self.varying:
                    return None
                return ast.Subscript(ast.Attribute(bundle, f"{name}_d", ast.Load()), index, context)
        return None

    # Expressions

    def _value(self, node: ast.expr) -> ast.expr:
        """The value itself; functions that do something as well are those that do it for changes too."""
        return self.visit(ast.parse(ast.unparse(node), mode="eval").body)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments: list[ast.expr] = [self.visit(each) for each in node.args]
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in self.given or (name in self.known and result_of(self.known[name]) != FLOAT):
            return self._call(name, node.args)
        return ast.Call(node.func, arguments, [])

    def _call(self, name: str, given: Sequence[ast.expr]) -> ast.Call:
        values = [self._value(each) for each in given]
        if name in self.given:
            floats = [number for number in range(len(given)) if number >= 3]
            return ast.Call(
                ast.Name(self.given[name], ast.Load()), [*values, *(self._change(given[i]) for i in floats)], []
            )
        parameters = self.known[name].args.args
        floats = [number for number, arg in enumerate(parameters) if kind_of(arg.annotation) == FLOAT]
        return ast.Call(ast.Name(f"{name}_d", ast.Load()), [*values, *(self._change(given[i]) for i in floats)], [])

    def _change(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Name() | ast.Subscript():
                return self._beside(node, ast.Load()) or ZERO
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                change = self._change(operand)
                return ZERO if _is_zero(change) else ast.UnaryOp(ast.USub(), change)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                return _sum(self._change(left), self._change(right), op)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return _sum(_times(self._change(left), right), _times(left, self._change(right)), ast.Add())
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                top = _sum(self._change(left), _times(node, self._change(right)), ast.Sub())
                return ZERO if _is_zero(top) else ast.BinOp(top, ast.Div(), right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                a, b = self._change(body), self._change(orelse)
                return ZERO if _is_zero(a) and _is_zero(b) else ast.IfExp(self._value(test), a, b)
            case ast.Call(func=ast.Name(id=name), args=given):
                return self._change_of_call(name, given, node)
        return ZERO

    def _change_of_call(self, name: str, given: list[ast.expr], node: ast.Call) -> ast.expr:
        if name in self.known:
            return self._call(name, given) if result_of(self.known[name]) == FLOAT else ZERO
        inner = [self._change(each) for each in given]
        if all(_is_zero(each) for each in inner):
            return ZERO
        zero = ast.Constant(0.0)
        if name == "sqrt":
            return ast.BinOp(inner[0], ast.Div(), ast.Call(ast.Name("max", ast.Load()), [
                ast.BinOp(ast.Constant(2.0), ast.Mult(), node), ast.Constant(1e-300)], []))  # fmt: skip
        if name == "abs":
            test = ast.Compare(given[0], [ast.GtE()], [zero])
            return ast.IfExp(test, inner[0], ast.UnaryOp(ast.USub(), inner[0]))
        if name in ("min", "max"):
            sign = ast.LtE() if name == "min" else ast.GtE()
            return ast.IfExp(ast.Compare(given[0], [sign], [given[1]]), inner[0], inner[1])
        return ZERO  # int and floor
