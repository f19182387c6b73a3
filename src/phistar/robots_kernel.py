"""Statements about several robots as one kernel: each robot's part on one tape, what they share added up there.

Parts that are too long to be written out are called, so that the work is linear in the links of all robots together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.kernel import Kernel, Statements, compile_trace, units_of
from phistar.backends.machine.threads import spread
from phistar.backends.programs.program import is_wide
from phistar.backends.staged_kernel import staged_kernel
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.calls import CallTape, steps_of
from phistar.backends.traces.solve import invert
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import finish
from phistar.errors import ShapeError
from phistar.expression import RobotStatement, check_frames
from phistar.expression.given import needed_vectors, rows_of
from phistar.expression.several import check_robots, space_rows
from phistar.operators.interned import walks_its_node
from phistar.operators.nodes import Adjoint, Identity, Inverse, Node, Product, Sum, Symbol, adjoint
from phistar.operators.robot_letters import letters_of_robots
from phistar.operators.spaces import SCALARS
from phistar.stated_kernels import called_statements
from phistar.sweeps.lower import GIVEN

_ASCII = {field: name for name, field in GIVEN.items()}


@dataclass(frozen=True, eq=False)
class CompiledRobots:
    """function(q of each robot, x, *vectors): broadcasts over leading axes as NumPy does, takes `out=`."""

    statement: RobotStatement
    inputs: tuple[str, ...]  # "left.q", "right.q", "x", "left.v", …
    kernel: Kernel

    @property
    def operations(self) -> int:
        """Arithmetic instructions per state of all robots."""
        return self.kernel.operations

    def __call__(self, *arrays: Any, out: Any = None) -> Array:
        try:
            if len(arrays) != len(self.inputs):
                raise ValueError(f"It takes {len(self.inputs)} arrays, not {len(arrays)}")
            return spread(self.kernel.function, arrays, list(self.kernel.shapes), out)
        except (ValueError, TypeError, IndexError) as error:
            wanted = ", ".join(f"{name} (…, {n})" for name, n in zip(self.inputs, self.kernel.rows, strict=True))
            given = ", ".join(str(np.shape(x)) for x in arrays)
            raise ShapeError(f"{self.statement} takes {wanted}; it was given {given}. {error}.") from None


@walks_its_node
def compiled_robots(statement: RobotStatement, matrix: bool) -> CompiledRobots:
    """The kernel of e·x, of e itself with `matrix`, or of a vector."""
    simple = statement.simplify()
    check_robots(simple.robots, simple.robots, "a model")
    recorder = _Recorder(simple, matrix and simple.node.domain != SCALARS)
    values = recorder.value()
    entries, shape = [array.size for array in recorder.arguments.values()], values.shape
    tape, numbers = recorder.tape, list(values.reshape(-1))
    title, places = f"statement about {', '.join(simple.robots)}", list(recorder.arguments)
    units = tuple(x for name, robot in simple.robots.items() for x in units_of(robot.model, places.index(f"{name}.q")))
    if tape.calls:
        steps = tuple(steps_of(tape, entries, numbers, [shape]))
        kernel = staged_kernel(steps, entries, title, ("y",), units)
    else:
        kernel = compile_trace(finish(tape, numbers), entries, [shape], title, ("y",), units)
    return CompiledRobots(simple, tuple(places), kernel)


class _Recorder:
    """The arguments of all robots on one tape, and the values of letters there."""

    def __init__(self, statement: RobotStatement, matrix: bool) -> None:
        self.statement, self.robots, self.matrix_wanted, self.tape = statement, statement.robots, matrix, CallTape()
        self.arguments: dict[str, np.ndarray] = {}
        for name, robot in self.robots.items():
            self._argument(f"{name}.q", robot.model.nq)
        if self._takes_operand:
            assert statement.node.domain is not None
            self._argument("x", space_rows(statement.node.domain, self.robots))
        for letter in sorted(letters_of_robots(statement.node), key=lambda x: list(self.robots).index(x.name)):
            robot = self.robots[letter.name]
            check_frames(letter.of[0], robot.symbols)
            for vector in sorted(needed_vectors(letter.of[0])):
                self._argument(f"{letter.name}.{vector}", rows_of(vector, robot.symbols, robot.model))

    @cached_property
    def _takes_operand(self) -> bool:
        return not self.matrix_wanted and self.statement.node.domain != SCALARS

    def _argument(self, name: str, rows: int) -> None:
        if name not in self.arguments:
            self.arguments[name] = traced(self.tape.inputs((rows,)))

    def value(self) -> np.ndarray:
        node = self.statement.node
        if self.matrix_wanted:
            return np.asarray(self.matrix(node))
        return np.asarray(self.product(node, self.arguments["x"] if self._takes_operand else None))

    def product(self, node: Node, x: Any) -> Any:
        """node·x; of a vector statement x is None."""
        match node:
            case Symbol():
                return self.letter(node, False, x)
            case Product(factors=factors):
                for factor in reversed(factors):
                    x = self.product(factor, x)
                return x
            case Sum(terms=terms):
                return sum(float(c) * self.product(term, x) for c, term in terms)
            case Identity():
                return x
        return np.matmul(self.matrix(node), x)

    def matrix(self, node: Node) -> Any:
        match node:
            case Identity(space=space):
                assert space is not None
                return np.eye(space_rows(space, self.robots))
            case Symbol(source=source):
                return self.letter(node, False, None)[:, None] if source == SCALARS else self.letter(node, True, None)
            case Product(factors=factors):
                result = self.matrix(factors[0])
                for factor in factors[1:]:
                    result = np.matmul(result, self.matrix(factor))
                return result
            case Sum(terms=terms):
                return sum(float(c) * self.matrix(term) for c, term in terms)
            case Inverse(of=inner):
                return invert(self.matrix(inner))
            case Adjoint(of=inner):
                return np.asarray(self.matrix(inner)).T
        raise AssertionError(type(node))

    def letter(self, letter: Symbol, matrix: bool, x: Any) -> np.ndarray:
        """Value of one robot's part, inlined or called."""
        robot, node = self.robots[letter.name], letter.of[0]
        flipped = matrix and is_wide(node)
        named = (("y", adjoint(node) if flipped else node),)
        wanted = Statements(named, robot.symbols, robot.setting, matrix, robot.model, robot.operators)

        def argument(field: str, _rows: int) -> np.ndarray:
            public = _ASCII.get(field, field)
            return np.asarray(x if public == "x" else self.arguments[f"{letter.name}.{public}"])

        found = called_statements(self.tape, wanted, argument)
        if found is not None:
            return found["y"].T if flipped else found["y"]
        trace, names, signature = wanted.cheapest()
        arrays = [argument(name, rows) for name, rows in zip(("q", *names), signature.inputs, strict=True)]
        made = replay(trace, [entry for array in arrays for entry in array])
        out = np.empty(len(made), dtype=object)
        out[:] = made
        value = traced(out.reshape(signature.outputs[0]))
        return value.T if flipped else value
