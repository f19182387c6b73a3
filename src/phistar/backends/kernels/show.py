"""Functions of the kernel language as a person reads them."""

from __future__ import annotations

from phistar.backends.kernels import ir
from phistar.backends.kernels.ir import Func, Type, Value

_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "sdiv": "//",
    "srem": "%",
    "and": "&",
    "fadd": "+",
    "fsub": "-",
    "fmul": "*",
}
_SIGNS |= {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}


def show(function: Func) -> str:
    """One statement a line: `x: f64×4 = …`, `p[…] = …`, `for`, `if`, `switch`."""
    given = ", ".join(f"{x.name}: {show_type(x.type)}" for x in function.parameters)
    return "\n".join([f"{function.name}({given})", *_block(function.body)])


def show_type(kind: Type) -> str:
    lanes = f"×{kind.lanes}" if kind.lanes else ""
    return f"{'const ' if kind.constant else ''}{kind.kind}{lanes}{'*' * kind.pointers}"


def show_statement(statement: ir.Statement) -> list[str]:
    """The lines of a statement."""
    match statement:
        case ir.Let(target=target):
            return [f"{target.name}: {show_type(target.type)} = {_right(statement)}"]
        case ir.Store(value=value, place=place):
            return [f"[{place.name}] = {value.name}"]
        case ir.Call(function=name, arguments=arguments):
            return [f"{name}({_names(arguments)})"]
        case ir.Clear(place=place, size=size):
            return [f"[{place.name}] = 0 for {size.name} bytes"]
        case ir.For(index=index, start=start, stop=stop, step=step, body=body):
            return [f"for {index.name} in {start.name} … {stop.name} by {step}", *_block(body)]
        case ir.Squares(index=index, stop=stop, size=size, body=body):
            return [f"for {index.name} in 0 … {stop.name}, whole {size}", *_block(body)]
        case ir.If(test=test, then=then, otherwise=otherwise):
            return [f"if {test.name}", *_block(then), *(["else", *_block(otherwise)] if otherwise else [])]
        case ir.Switch(value=value, cases=cases):
            inside = [line for number, case in enumerate(cases) for line in (f"  case {number}", *_indented(case))]
            return [f"switch {value.name}", *inside]


def _right(statement: ir.Let) -> str:
    operation, operands, detail = statement.operation, statement.operands, statement.detail
    if operation in _SIGNS:
        return f"{operands[0].name} {_SIGNS[operation]} {operands[1].name}"
    if operation == "load":
        return f"[{operands[0].name}]"
    if operation in ("at", "bytes"):
        return f"{operands[0].name} + {operands[1].name}{' bytes' if operation == 'bytes' else ''}"
    more = "" if detail is None else f" {detail}"
    return f"{operation}({_names(operands)}){more}"


def _names(values: tuple[Value, ...]) -> str:
    return ", ".join(str(x.name) for x in values)


def _block(body: tuple[ir.Statement, ...]) -> list[str]:
    return [f"  {line}" for statement in body for line in show_statement(statement)]


def _indented(body: tuple[ir.Statement, ...]) -> list[str]:
    return [f"  {line}" for line in _block(body)]
