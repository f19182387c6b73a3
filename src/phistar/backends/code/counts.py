"""How many operations loops of the little language of `native.py` take: a twin of each function counts them.

The twin keeps what decides how often something is computed: whole numbers, tests on them, loops and calls. Of what is
computed it keeps the number of operations, and of a loop without tests and calls that number times its length. So a
table over pairs is counted in the time of its rows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from phistar.backends.code.native import FLOAT, WHOLE, Arrays, bundle_of, kind_of, result_of, tree_of
from phistar.errors import StatementError

_COUNT = "operations"  # the twin's own variable


def operations(functions: Sequence[Callable[..., Any]], arrays: Arrays) -> int:
    """Operations on floats when the last of some functions is called, a multiply-add two; of `arrays` only those are
    read that whole numbers come from."""
    known = {tree.name: tree for tree in map(tree_of, functions)}
    names: dict[str, Any] = {Arrays.__name__: Arrays}
    for function in functions:
        names |= {name: x for name, x in function.__globals__.items() if type(x) in (int, float)}
    twins = [_Twin(tree, known).function() for tree in known.values()]
    module = ast.fix_missing_locations(ast.Module([twin for twin in twins if twin is not None], []))
    exec(compile(module, "<counted>", "exec"), names)
    return int(names[functions[-1].__name__](arrays))


class _Twin:
    """One function as it counts. Functions that give whole numbers stay what they are; those that give floats are
    counted where they are called."""

    def __init__(self, tree: ast.FunctionDef, known: Mapping[str, ast.FunctionDef]) -> None:
        self.tree, self.known = tree, known
        self.bundle = bundle_of(tree)
        self.kinds = {argument.arg: kind_of(argument.annotation) for argument in tree.args.args}

    def function(self) -> ast.FunctionDef | None:
        if result_of(self.tree) == WHOLE:
            return self.tree
        if result_of(self.tree) == FLOAT:
            return None
        text = f"def {self.tree.name}():\n {_COUNT} = 0\n return {_COUNT}"
        made = ast.parse(text).body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body[1:1] = self.tree.args, self.block(self.tree.body)
        return made

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements that do the same to whole numbers and add up what is computed."""
        result: list[ast.stmt] = []
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    result += self.assigned(statement, target, value)
                case ast.For(target=ast.Name(id=name)):
                    self.kinds[name] = WHOLE
                    result += self.repeated(statement)
                case ast.If(test=test):
                    bodies = self.block(statement.body), self.block(statement.orelse)
                    result += [*_added(self.count(test)), ast.If(test, bodies[0] or [ast.Pass()], bodies[1])]
                case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if name in self.known:
                    result += [*_added(self.count(call)), ast.AugAssign(_name(), ast.Add(), self.called(name, call))]
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise StatementError(f"{self.tree.name}: {ast.unparse(statement)!r:.100} cannot be counted.")
        return result

    def called(self, name: str, call: ast.Call) -> ast.Call:
        """The same call of a twin: of arrays and floats, none."""
        asked = [kind_of(argument.annotation) for argument in self.known[name].args.args]
        bundle = [isinstance(x, ast.Name) and self.bundle == x.id for x in call.args]
        kept = [whole == WHOLE or many for whole, many in zip(asked, bundle, strict=True)]
        given = [x if keeps else ast.Constant(None) for x, keeps in zip(call.args, kept, strict=True)]
        return ast.Call(call.func, given, [])

    def assigned(self, statement: ast.Assign, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = list(zip(target.elts, value.elts, strict=True)) if several else [(target, value)]  # type: ignore[attr-defined]
        whole = [isinstance(left, ast.Name) and self.kind(right) == WHOLE for left, right in pairs]
        self.kinds |= {left.id: self.kind(right) for left, right in pairs if isinstance(left, ast.Name)}
        kept = [ast.Assign([left], right) for (left, right), keeps in zip(pairs, whole, strict=True) if keeps]
        return [*_added(sum(self.count(right) for _, right in pairs)), *(ast.copy_location(x, statement) for x in kept)]

    def repeated(self, statement: ast.For) -> list[ast.stmt]:
        """A loop; where each turn takes as many operations, their number times the turns."""
        inside = self.block(statement.body)
        alike = all(isinstance(x, ast.AugAssign) and isinstance(x.value, ast.Constant) for x in inside)
        if not alike:
            return [ast.For(statement.target, statement.iter, inside, [])]
        each = sum(x.value.value for x in inside)  # type: ignore[attr-defined]
        turns = ast.Call(ast.Name("len", ast.Load()), [statement.iter], [])
        product = ast.BinOp(ast.Constant(each), ast.Mult(), turns)
        return [ast.AugAssign(_name(), ast.Add(), product)] if each else []

    def kind(self, node: ast.expr) -> str:
        """Whether a value is whole or float."""
        match node:
            case ast.Subscript():
                return FLOAT
            case ast.Constant(value=value):
                return WHOLE if isinstance(value, int) else FLOAT
            case ast.Name(id=name):
                return self.kinds.get(name, WHOLE)
            case ast.UnaryOp(operand=operand):
                return self.kind(operand)
            case ast.BinOp(left=left, right=right):
                divides = isinstance(node.op, ast.Div)
                return FLOAT if divides or FLOAT in (self.kind(left), self.kind(right)) else WHOLE
            case ast.Call(func=ast.Name(id=name), args=arguments):
                given = [self.kind(x) for x in arguments] if name in ("min", "max") else []
                return result_of(self.known[name]) if name in self.known else FLOAT if FLOAT in given else WHOLE
        return WHOLE

    def count(self, node: ast.expr) -> int:
        """The operations on floats in a value; where an entry of an array stands is none."""
        match node:
            case ast.Subscript():
                return 0
            case ast.Call(func=ast.Name(id=name), args=arguments):
                own = _Twin(self.known[name], self.known).result() if name in self.known else 0
                return own + sum(self.count(x) for x in arguments)
        own = isinstance(node, ast.BinOp | ast.UnaryOp) and self.kind(node) == FLOAT
        return own + sum(self.count(x) for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr))

    def result(self) -> int:
        """Those of a function that gives a float; others add up themselves."""
        if result_of(self.tree) != FLOAT:
            return 0
        found = 0
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.kinds[name] = self.kind(value)
                    found += self.count(value)
                case ast.Return(value=ast.expr() as value):
                    found += self.count(value)
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    raise StatementError(f"{self.tree.name}: {ast.unparse(statement)!r:.100} cannot be counted.")
        return found


def _name() -> ast.Name:
    return ast.Name(_COUNT, ast.Store())


def _added(count: int) -> list[ast.stmt]:
    return [ast.AugAssign(_name(), ast.Add(), ast.Constant(count))] if count else []
