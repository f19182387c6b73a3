"""`states_tables`: makes a function of a robot out of the statements of tables over its joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any

from phistar.backends.kernel import Kernel
from phistar.entries import Entry, entry_of
from phistar.expression import Expression
from phistar.identities.law import TREE
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.stated import Arguments, Result, StatedFunction, robot_by_name


def states_tables(
    statements: Callable[[Symbols], Mapping[str, Node]],
) -> Callable[[Callable[Arguments, Result]], StatedTables[Arguments, Result]]:
    """Decorate a function with the statements of the tables over joints that it gives."""
    return lambda function: StatedTables(function, statements)


class StatedTables(StatedFunction[Arguments, Result]):
    """A public function and the statements of its tables, which are compiled pair by pair of joints."""

    def __init__(
        self, function: Callable[Arguments, Result], statements: Callable[[Symbols], Mapping[str, Node]]
    ) -> None:
        self._function, self._statement = function, statements
        self._slot = function.__name__
        self._kernel: Callable[[Model], Kernel | None] = lambda model: None
        update_wrapper(self, function)

    def use_kernel(self, kernel: Callable[[Model], Kernel | None]) -> None:
        """Say which kernel of a model gives the function's results as they are, if one does."""
        self._kernel = kernel

    def _entry(self, model: Model, frames: Any) -> Entry | None:
        kernel = self._kernel(model)
        return None if kernel is None else entry_of(kernel)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        check_robot(self._function.__name__, args or robot_by_name(kwargs))
        return self._function(*args, **kwargs)

    @property
    def statements(self) -> dict[str, Expression]:
        """Statements by the names of the results; each an operator, for any tree with armature."""
        symbols = Symbols()
        return {name: Expression(node, symbols, TREE) for name, node in self._statement(symbols).items()}

    def nodes(self, symbols: Symbols) -> Mapping[str, Node]:
        """The statements over given symbols."""
        return self._statement(symbols)

    def slot(self) -> str:
        """Under what name a robot keeps the kernel."""
        return self._slot
