"""Evaluation of the functions that `states` makes: their statements for a robot, compiled, evaluated or recorded.

Apart from `stated.py`, so that a function whose kernel is on disk is called without what makes kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.backends.executor import choose_schedule, executor, is_written_inside
from phistar.backends.kernel import Kernel, Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.machine import cache
from phistar.backends.programs.derivations import ARTICULATED
from phistar.backends.programs.program import Wanted, is_wide
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.calls import CallTape, tape_of_statements
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import is_traced
from phistar.backends.wide_kernel import evaluate
from phistar.entries import Passed
from phistar.errors import ShapeError
from phistar.expression import Expression, setting_of, symbols_of
from phistar.identities.law import TREE
from phistar.model import Model
from phistar.operators.meanings import GIVEN
from phistar.operators.nodes import Node, adjoint
from phistar.operators.symbols import Symbols
from phistar.stated_arguments import checked_arguments, external_forces

_RUNTIME: ContextVar[Mapping[str, np.ndarray]] = ContextVar("runtime parameters of a recording")


@dataclass(frozen=True, eq=False)
class StatedKernels:
    """The statements of one function, `form` as `states` was given it, and the kernels of them that robots keep in a
    slot."""

    statement: Callable[[Symbols], Any]
    matrix: Wanted
    given_form: str
    slot: str

    @property
    def form(self) -> str:
        return self.given_form or ARTICULATED

    @property
    def statements(self) -> dict[str, Expression]:
        symbols = Symbols()
        nodes = self.nodes(symbols).items()
        return {name: Expression(node, symbols, TREE, form=self.form) for name, node in nodes}

    def nodes(self, symbols: Symbols) -> Mapping[str, Node]:
        """The statements over given symbols."""
        stated = self.statement(symbols)
        return {"y": stated} if isinstance(stated, Node) else stated

    def evaluate(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, f_ext: Any = None, frames: Any = ()
    ) -> tuple[np.ndarray, Passed | None]:
        """The value of the one statement, and which kernel gave it."""
        own, vectors = (q, *(vectors or {}).values()), dict(vectors or {})
        if f_ext is not None and not (isinstance(f_ext, Mapping) and not f_ext):
            frames, vectors["f"] = external_forces(model, f_ext)
        q, given = checked_arguments(model, q, vectors, frames)
        if (special := self._special(model, q, given, frames)) is not None:
            return special["y"], None
        kernel, flipped = self.kernel(model, frames)
        made = kernel(q, given)["y"]
        result = np.swapaxes(made, -1, -2) if flipped else made
        return result, Passed(model, own, f_ext, tuple(frames), kernel, tuple(given), flipped, result)

    def evaluate_all(
        self, model: Model, q: Any, vectors: Mapping[str, Any] | None = None, frames: tuple[str, ...] = ()
    ) -> dict[str, np.ndarray]:
        """The values of all statements; vectors as (…, rows), operators as (…, rows, columns).

        Traced numbers (n,), one state, are answered with traced numbers: the statements are recorded, not run.
        """
        if (single := self._single(model, q, vectors or {}, frames)) is not None:
            return single
        q, given = checked_arguments(model, q, vectors or {}, frames)
        if (special := self._special(model, q, given, frames)) is not None:
            return special
        kernel, flipped = self.kernel(model, frames)
        results = kernel(q, given)
        return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results

    def _single(
        self, model: Model, q: Any, vectors: Mapping[str, Any], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray] | None:
        """The values at one state, or for a plain batch, where the kernel is known and takes the arguments as they
        are; else None: the long way says what is wrong with them."""
        kernel, flipped = model.__dict__.get("_kernels", {}).get((self.slot, frames), (None, False))
        if not isinstance(kernel, Kernel) or not isinstance(kernel.function, np.ufunc) or flipped != kernel.flipped:
            return None
        given = {GIVEN.get(name): x for name, x in vectors.items()}
        if given.keys() != set(kernel.inputs):
            return None
        made = kernel.single(q, *(given[name] for name in kernel.inputs))
        if made is NotImplemented:
            return None
        return dict(zip(kernel.outputs, made if len(kernel.outputs) > 1 else (made,), strict=True))

    def _special(
        self, model: Model, q: np.ndarray, given: Mapping[str, np.ndarray], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray] | None:
        """The values where no kernel of the model's own is meant: links of any width, and traced numbers."""
        if has_wide_links(model):
            key = (self.slot, frames, "any width")
            wanted = model.kept(key, lambda: self.statements_for(model, frames, flip=False)[0])
            return evaluate(wanted, self.slot, q, given)
        return self._trace(model, q, given, frames) if is_traced(q, *given.values()) else None

    def kernel(self, model: Model, frames: tuple[str, ...]) -> tuple[Any, bool]:
        """Compiled code, kept on the model; operators with few rows are made as their adjoints and flipped."""
        return model.kept((self.slot, frames), lambda: self._compile(model, frames))

    def _compile(self, model: Model, frames: tuple[str, ...]) -> tuple[Any, bool]:
        wanted, flipped = self.statements_for(model, frames)
        return executor(wanted), flipped

    def statements_for(
        self, model: Model, frames: tuple[str, ...], parameters: Any = (), flip: bool = True
    ) -> tuple[Statements, bool]:
        """Statements to compile for a robot, and whether they are the adjoints."""
        symbols = symbols_of(model, frames)
        nodes = self.nodes(symbols)
        flipped = flip and self.matrix is True and all(is_wide(node) for node in nodes.values())
        named = tuple((name, adjoint(node) if flipped else node) for name, node in nodes.items())
        setting = setting_of(model, frames)
        wanted = Statements(named, symbols, setting, self.matrix, model, {}, tuple(parameters), self.form, flipped)
        return wanted, flipped

    def _trace(
        self, model: Model, q: np.ndarray, given: Mapping[str, np.ndarray], frames: tuple[str, ...]
    ) -> dict[str, np.ndarray]:
        """The instructions of the cheapest form, on the tape of the arguments."""
        for array in (q, *given.values()):
            if array.ndim != 1:
                raise ShapeError(f"Traced numbers are one state, (n,); an argument has shape {array.shape}.")
        runtime = _RUNTIME.get({})
        if (tape := tape_of_statements(q, *given.values())) is not None:
            wanted, flipped = self.statements_for(model, frames, tuple(runtime))
            known = {**runtime, **given, "q": q}
            called = called_statements(tape, wanted, lambda name, _: known[name])
            if called is not None:
                return {name: np.swapaxes(x, -1, -2) for name, x in called.items()} if flipped else called
        key = (self.slot, frames, "recorded", tuple(runtime))
        trace, names, signature, flipped = model.kept(key, lambda: self._instructions(model, frames, tuple(runtime)))
        arrays = [q, *(given[name] if name in given else runtime[name] for name in names)]
        entries, results, start = replay(trace, [x for array in arrays for x in np.asarray(array)]), {}, 0
        for name, shape in zip(self.nodes(symbols_of(model, frames)), signature.outputs, strict=True):
            stop = start + int(np.prod(shape))
            block = np.empty(stop - start, dtype=object)
            block[:] = entries[start:stop]
            results[name], start = traced(block.reshape(shape)), stop
        return {name: np.swapaxes(x, -1, -2) for name, x in results.items()} if flipped else results

    def _instructions(self, model: Model, frames: tuple[str, ...], parameters: tuple[str, ...]) -> tuple[Any, ...]:
        wanted, flipped = self.statements_for(model, frames, parameters)
        return *wanted.cheapest(), flipped


def called_statements(
    tape: CallTape, wanted: Statements, given: Callable[[str, int], np.ndarray]
) -> dict[str, np.ndarray] | None:
    """The results of a call of what is too long to be written out, on inputs that are `given` by name and size; None
    where it is not too long."""
    choice = choose_schedule(wanted)
    if is_written_inside(choice):
        return None
    if tape.callee is None:
        kernel = wanted.model.kept(cache.key("called", wanted.key), lambda: executor(wanted))
    else:
        kernel = tape.callee(replace(wanted, taken=choice.forms_taken))
    if kernel is None:
        return None
    arrays = [given(name, rows) for name, rows in zip(("q", *kernel.inputs), kernel.rows, strict=True)]
    made = tape.call(kernel, arrays, kernel.shapes, kernel.operations)
    return dict(zip(kernel.outputs, made, strict=True))


@contextmanager
def runtime_parameters(**values: np.ndarray) -> Iterator[None]:
    """Inside, recorded statements take these ("inertia", "gravity") as traced numbers in place of the robot's own."""
    token = _RUNTIME.set(values)
    try:
        yield
    finally:
        _RUNTIME.reset(token)
