"""`states`: makes a function of a robot out of an operator statement, and lets the function show its statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from phistar.backends.program import Evaluation, is_wide, program_of
from phistar.backends.solve import solve as solve_safely
from phistar.errors import ModelError, ShapeError
from phistar.expression import Expression, setting_of
from phistar.identities.law import TREE
from phistar.model import Model
from phistar.operators.nodes import Node, adjoint
from phistar.operators.symbols import Symbols

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Statements = Mapping[str, Node]

__all__ = ["Stated", "batched", "solve_safely", "states"]


def states(
    statement: Callable[[Symbols], Node | Statements], *, matrix: bool = False
) -> Callable[[Callable[Arguments, Result]], Stated[Arguments, Result]]:
    """Decorate a function with the statement it evaluates; `matrix`: the operator itself is wanted."""
    return lambda function: Stated(function, statement, matrix)


class Stated(Generic[Arguments, Result]):
    """A public function and the statement behind it."""

    def __init__(
        self, function: Callable[Arguments, Result], statement: Callable[[Symbols], Any], matrix: bool
    ) -> None:
        self._function, self._statement, self._matrix = function, statement, matrix
        update_wrapper(self, function)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return self._function(*args, **kwargs)

    @property
    def statement(self) -> Expression:
        """The abstract statement, for any tree with armature; of several, the first."""
        return next(iter(self.statements.values()))

    @property
    def statements(self) -> dict[str, Expression]:
        symbols = Symbols()
        return {name: Expression(node, symbols, TREE) for name, node in self._nodes(symbols).items()}

    def _nodes(self, symbols: Symbols) -> Statements:
        stated = self._statement(symbols)
        return {"y": stated} if isinstance(stated, Node) else stated

    def evaluate(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, f_ext: Any = None, frames: Any = ()
    ) -> np.ndarray:
        """The value of the one statement."""
        vectors = dict(vectors or {})
        if f_ext:
            frames, vectors["f"] = _external(model, f_ext)
        return self.evaluate_all(model, q, vectors, frames)["y"]

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        """The values of all statements; scalars-to-space ones as (…, rows), operators as (…, rows, columns)."""
        for name in frames:
            model.frame(name)
        symbols = Symbols(frames, bool(np.any(model.armature)))
        nodes = self._nodes(symbols)
        results: dict[str, np.ndarray] = {}
        for wanted in (True, False):
            chosen = {k: n for k, n in nodes.items() if (self._matrix and n.domain.name != "Scalars") == wanted}  # type: ignore[union-attr]
            if chosen:
                results |= _evaluated(model, q, vectors or {}, symbols, chosen, wanted)
        return {name: results[name] for name in nodes}


def _evaluated(
    model: Model, q: Any, vectors: Mapping[str, Any], symbols: Symbols, nodes: Statements, matrix: bool
) -> dict[str, np.ndarray]:
    flipped = matrix and all(is_wide(node) for node in nodes.values())
    pairs = tuple((name, adjoint(node) if flipped else node) for name, node in nodes.items())
    program = program_of(pairs, symbols, setting_of(model, symbols.frames or ()), matrix)
    results = Evaluation(program, model, symbols.frames or ())(q, vectors)
    return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results


def _external(model: Model, f_ext: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """External forces by frame as one stacked vector."""
    if not isinstance(f_ext, Mapping):
        raise ShapeError("f_ext must map frame names to forces (…, 6), e.g. {'tool': [0, 0, 0, 0, 0, -10]}.")
    forces = [model.checked(force, 6, f"f_ext[{name!r}]") for name, force in f_ext.items()]
    shape = np.broadcast_shapes(*(force.shape for force in forces))
    return tuple(f_ext), np.concatenate([np.broadcast_to(force, shape) for force in forces], axis=-1)


def batched(model: Model, q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """q and v with common leading axes."""
    q, v = model.checked(q, model.nq, "q"), model.checked(v, model.nv, "v")
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ShapeError(f"The leading axes {q.shape[:-1]} and {v.shape[:-1]} do not broadcast.") from None
    return np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, model.nv))


def refuse_loops(model: Model, what: str) -> None:
    if model.loops:
        raise ModelError(
            f"{what} of {model.name} must keep its loops closed, which is not available yet; use model.tree."
        )
