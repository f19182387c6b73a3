"""Functions of the kernel language as a person reads them."""

from __future__ import annotations

from phistar.backends.kernels import kernel_ir
from phistar.backends.kernels.kernel_ir import Func, Type, Value

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
    "fdiv": "/",
    "or": "|",
    "xor": "^",
}
_SIGNS |= {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}


def show(function: Func) -> str:
    """One statement a line: `x: f64×4 = …`, `p[…] = …`, `for`, `if`, `switch`."""
    given = ", ".join(f"{x.name}: {show_type(x.type)}" for x in function.parameters)
    return "\n".join([f"{function.name}({given})", *_block(function.body)])


def show_type(kind: Type) -> str:
    lanes = f"×{kind.lanes}" if kind.lanes else ""
    return f"{'const ' if kind.constant else ''}{kind.kind}{lanes}{'*' * kind.pointers}"


def show_statement(statement: kernel_ir.Statement) -> list[str]:
    """The lines of a statement."""
    match statement:
        case kernel_ir.Let(target=target):
            return [f"{target.name}: {show_type(target.type)} = {_right(statement)}"]
        case kernel_ir.Store(value=value, place=place, offset=offset):
            return [f"[{place.name}{f' + {offset} bytes' if offset else ''}] = {value.name}"]
        case kernel_ir.Masked(value=value, place=place, mask=mask):
            return [f"[{place.name}] = {value.name} where {mask.name}"]
        case kernel_ir.Scatter(value=value, pointer=pointer, index=index, mask=mask):
            return [f"[{pointer.name} + {index.name}] = {value.name} where {mask.name}"]
        case kernel_ir.Call(function=function, arguments=arguments):
            return [f"{function if isinstance(function, str) else f'[{function.name}]'}({_names(arguments)})"]
        case kernel_ir.Clear(place=place, size=size):
            return [f"[{place.name}] = 0 for {size.name} bytes"]
        case kernel_ir.For(index=index, start=start, stop=stop, step=step, body=body, carried=carried):
            more = "".join(f", {x.value.name} = {x.start.name} then {x.following.name}" for x in carried)
            after = [f"{x.after.name} = {x.value.name} at the end" for x in carried]
            return [f"for {index.name} in {start.name} … {stop.name} by {step}{more}", *_block(body), *after]
        case kernel_ir.Squares(index=index, stop=stop, size=size, body=body):
            return [f"for {index.name} in 0 … {stop.name}, whole {size}", *_block(body)]
        case kernel_ir.While(before=before, test=test, body=body, after=after, short=short):
            last = ["next", *_block(after)] if after else []
            return ["while, short" if short else "while", *_block(before), f"  {test.name}:", *_indent(body), *last]
        case kernel_ir.If(test=test, then=then, otherwise=otherwise, joined=joined):
            after = [f"{x.value.name} = {x.then.name} or {x.otherwise.name}" for x in joined]
            other = ["else", *_block(otherwise)] if otherwise else []
            return [f"if {test.name}", *_block(then), *other, *after]
        case kernel_ir.Switch(value=value, cases=cases):
            inside = [line for number, case in enumerate(cases) for line in (f"  case {number}", *_indent(case))]
            return [f"switch {value.name}", *inside]
        case kernel_ir.Return(value=value):
            return [f"return {value.name}" if value is not None else "return"]
    return [type(statement).__name__.lower()]


def _right(statement: kernel_ir.Let) -> str:
    operation, operands, detail = statement.operation, statement.operands, statement.detail
    if operation in _SIGNS:
        return f"{operands[0].name} {_SIGNS[operation]} {operands[1].name}"
    if operation == "load":
        return f"[{operands[0].name}]"
    if operation == "read":
        return f"[{operands[0].name} + {detail[0]} bytes]"
    if operation in ("at", "bytes"):
        return f"{operands[0].name} + {operands[1].name}{' bytes' if operation == 'bytes' else ''}"
    if operation == "call":
        return f"{detail or f'[{operands[0].name}]'}({_names(operands if detail else operands[1:])})"
    more = "" if detail is None or operation in kernel_ir.FLOATING else f" {detail}"
    return f"{operation}({_names(operands)}){more}"


def _names(values: tuple[Value, ...]) -> str:
    return ", ".join(str(x.name) for x in values)


def _block(body: tuple[kernel_ir.Statement, ...]) -> list[str]:
    return [f"  {line}" for statement in body for line in show_statement(statement)]


def _indent(body: tuple[kernel_ir.Statement, ...]) -> list[str]:
    return [f"  {line}" for line in _block(body)]
