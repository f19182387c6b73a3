"""The kernel language run by Python, one statement after the other: what an emitter's text must do, to the last bit."""

import operator

import numpy as np

from phistar.backends.kernels import kernel_ir

OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "sdiv": operator.floordiv}
OPERATORS |= {"srem": operator.mod, "and": operator.and_, "fadd": operator.add, "fsub": operator.sub}
OPERATORS |= {"fmul": operator.mul, "slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}
OPERATORS |= {"eq": operator.eq, "ne": operator.ne, "fdiv": operator.truediv, "ogt": operator.gt, "olt": operator.lt}


class Pointer:
    """A place in a list."""

    def __init__(self, memory, place=0):
        self.memory, self.place = memory, place

    def at(self, entries):
        return Pointer(self.memory, self.place + entries)

    def __getitem__(self, index):
        return self.memory[self.place + index]

    def __setitem__(self, index, value):
        self.memory[self.place + index] = value


class Machine:
    """Functions and tables of one lane."""

    def __init__(self, functions, tables=()):
        self.functions = {x.name: x for x in functions}
        named = {x.name: list(x.entries) for x in tables if x.type != kernel_ir.TABLES}
        self.tables = {name: Pointer(entries) for name, entries in named.items()}
        for x in tables:
            if x.type == kernel_ir.TABLES:
                self.tables[x.name] = Pointer([self.tables[name] for name in x.entries])

    def call(self, name, *arguments):
        function = self.functions[name]
        names = {x.name: y for x, y in zip(function.parameters, arguments, strict=True)}
        self.block(function.body, names)

    def block(self, body, names):
        def value(x):
            return names[x.name] if isinstance(x.name, str) else x.name

        for s in body:
            match s:
                case kernel_ir.Let(target=target, operation=operation, operands=operands, detail=detail):
                    names[target.name] = self.made(operation, [value(x) for x in operands], detail)
                case kernel_ir.Store():
                    value(s.place)[s.offset // 8] = value(s.value)
                case kernel_ir.Call():
                    self.call(s.function, *map(value, s.arguments))
                case kernel_ir.Clear():
                    for k in range(value(s.size) // 8):
                        value(s.place)[k] = 0.0
                case kernel_ir.For():
                    for i in range(value(s.start), value(s.stop), s.step):
                        names[s.index.name] = i
                        self.block(s.body, names)
                case kernel_ir.Squares():
                    for i in range(0, value(s.stop), s.size):
                        names[s.index.name] = min(i, value(s.stop) - s.size)
                        self.block(s.body, names)
                case kernel_ir.If():
                    self.block(s.then if value(s.test) else s.otherwise, names)
                case kernel_ir.Switch():
                    self.block(s.cases[value(s.value)], names)

    def made(self, operation, given, detail):
        match operation:
            case "load":
                return given[0][0]
            case "read":
                return given[0][detail[0] // 8]
            case "fneg":
                return -given[0]
            case "sqrt" | "call":
                return float(getattr(np, detail or operation)(given[0]))
            case "at":
                return given[0].at(given[1])
            case "bytes":
                return given[0].at(given[1] // 8)
            case "wide" | "every":
                return given[0]
            case "select":
                return given[1] if given[0] else given[2]
            case "table":
                return self.tables[detail]
        return OPERATORS[operation](*given)
