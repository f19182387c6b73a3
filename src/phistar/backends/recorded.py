"""A function of arrays, recorded for a robot and compiled; of tables over joints, or for long robots, as loops over
pairs of joints or link by link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.choice import (
    PAIRS,
    SOLVED,
    TABLE_LANES,
    WRITTEN,
    Choice,
    Tally,
    choose_tables,
    compilable,
    is_written,
)
from phistar.backends.code.packed import module_text
from phistar.backends.code.unsolved import Loops, Unsolved
from phistar.backends.kernel import Kernel, units_of
from phistar.backends.links.values import has_rotors
from phistar.backends.machine.jit import Signature, Source, gufunc, host, machine_code
from phistar.backends.machine.threads import STATES_PER_THREAD, spread, together
from phistar.backends.pairwise.pair_kernel import PairKernel, Places, pair_kernel
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.calls import tape_of_calls
from phistar.backends.traces.trace import ShortTape, Tape, Trace, finish, is_traced, unless_too_long
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.operators.nodes import Node, spelling
from phistar.operators.symbols import Symbols
from phistar.spatial.vectors import leading_axes

Nodes = tuple[tuple[str, Node], ...]
FEW_STATES = 30  # states up to which room for the results is NumPy's business


@dataclass(frozen=True, eq=False)
class Recorded:
    """`function(model, q, *vectors)` gives `outputs`, an array each; it takes floats (…, n) and traced scalars (n,).

    `inputs` are "q" and names of (…, nv) vectors, or of as many entries as `rows` says; `shapes` gives the results'
    shapes without leading axes; `fits` says which robots are short enough to be written out, `long` makes the kernel of
    others. Of tables over joints, `tables` are the statements and the symbols that they are written in, `slot` is where
    a robot keeps their kernel, and `places` where they stand in the outputs (`PairKernel`). `vanishes`: without joints,
    all is zero.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    function: Callable[..., tuple[np.ndarray, ...] | Unsolved]
    shapes: Callable[[Model], tuple[tuple[int, ...], ...]]
    fits: Callable[[Model], bool] = compilable
    long: Callable[[Model], Kernel] | None = None
    vanishes: bool = True  # for a robot without joints
    tables: Callable[[], tuple[Nodes, Symbols]] | None = None
    slot: Callable[[], str] | None = None
    places: Places = ()
    rows: tuple[tuple[str, int], ...] = ()

    def size(self, model: Model, name: str) -> int:
        """Entries of an input."""
        return model.nq if name == "q" else dict(self.rows).get(name, model.nv)

    def cache_name(self) -> str:
        """Under what name a robot keeps the kernel."""
        return self.slot() if self.slot is not None else self.name

    def __call__(self, model: Model, *arrays: Any) -> Any:
        """An array per output, or the one output. Robots run one state at a time: a kernel is called at once."""
        try:
            kernel = model.__dict__["_kernels"][self.cache_name()]
            made = kernel.single(*arrays)
            if made is not NotImplemented:
                return made
            if arrays[0].size < 2 * STATES_PER_THREAD * model.nq and not model.quaternions:
                batch = arrays[0].shape[:-1]
                if arrays[0].size < FEW_STATES * model.nq or len({x.shape[:-1] for x in arrays}) > 1:
                    return kernel.function(*arrays)
                return kernel.function(*arrays, out=together(batch, kernel.shapes))
        except (KeyError, AttributeError, ValueError, TypeError):
            pass  # not compiled yet, or the long way says what is wrong with the arguments
        check_robot(self.name, (model,))
        given = self._check(model, arrays)
        if is_traced(*given):
            tape = tape_of_calls(*given) if self.is_long(model) else None
            if tape is not None:
                kernel = self.kernel(model)
                return _unwrap(tuple(tape.call(kernel.function, given, kernel.shapes, kernel.operations)))
            return _unwrap(self._results(model, *(traced(x) if is_traced(x) else x for x in given)))
        if model.nv and (self.fits(model) or self.long is not None or self._has_pairs(model)):
            kernel = self.kernel(model)
            return spread(kernel.function, tuple(given), list(kernel.shapes))
        return self._interpret(model, given)

    def is_long(self, model: Model) -> bool:
        """Whether it is too long for a robot to be written out."""
        return bool(model.nv) and model.kept((self.cache_name(), "long"), lambda: self._is_long(model))

    def _is_long(self, model: Model) -> bool:
        if self._pairs(model) is not None:
            return self.choice(model).schedule == PAIRS or not self.fits(model)
        return self.long is not None and not self.fits(model)

    def _interpret(self, model: Model, given: list[np.ndarray]) -> Any:
        batch, shapes = np.broadcast_shapes(*(x.shape[:-1] for x in given)), self.shapes(model)
        if not model.nv and self.vanishes:
            return _unwrap(tuple(np.zeros((*batch, *shape)) for shape in shapes))
        found = zip(self._results(model, *given), shapes, strict=True)
        return _unwrap(tuple(np.array(np.broadcast_to(x, (*batch, *shape))) for x, shape in found))

    def _check(self, model: Model, arrays: tuple[Any, ...]) -> list[np.ndarray]:
        pairs = zip(self.inputs, arrays, strict=True)
        sizes = partial(self.size, model)
        given = [model.checked_q(x) if name == "q" else model.checked(x, sizes(name), name) for name, x in pairs]
        leading_axes(dict(zip(self.inputs, given, strict=True)))
        return given

    def _results(self, model: Model, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = self.function(model, *arrays)
        return made.solve() if isinstance(made, Unsolved) else made

    def is_written(self, model: Model, vectors: int) -> bool:
        """Whether its instructions for a robot compile within the budget, as far as so many vectors swept over the
        links let them be recorded; what `fits` may ask."""
        count = partial(self.operations_within, model)
        return model.kept((self.name, "written"), lambda: is_written(self.name, model, vectors, count))

    def operations_within(self, model: Model, most: int) -> int | None:
        """Operations of one state, or None where there are more instructions than said."""
        counted = self._count_within(model, most)
        return None if counted is None else counted[0]

    def _count_within(self, model: Model, most: int | None) -> tuple[int, int] | None:
        """The same, and the operations of the loops that follow."""
        with unless_too_long():
            trace, loops = self.trace(model, most)
            model.kept((self.cache_name(), "trace"), lambda: (trace, loops))
            return trace.operations, loops.operations if loops else 0
        return None

    def trace(self, model: Model, most: int | None = None) -> tuple[Trace, Loops | None]:
        """The instructions of one state and, for many joints, the loops that follow them; TooLong where there are more
        than `most`."""
        tape = Tape() if most is None else ShortTape(most)
        given = [tape.inputs((self.size(model, name),)) for name in self.inputs]
        made, loops = self.function(model, *given), None
        if isinstance(made, Unsolved) and model.nv > SOLVED:
            values, loops = made.record()
        else:
            results = made.solve() if isinstance(made, Unsolved) else made
            values = [x for result in results for x in np.asarray(result).reshape(-1)]
        return finish(tape, values), loops

    def signature(self, model: Model) -> Signature:
        """The rows of the inputs and the shapes of the outputs."""
        rows = tuple(self.size(model, x) for x in self.inputs)
        return Signature(rows, self.shapes(model), units_of(model, self.inputs.index("q")))

    def known_kernel(self, model: Model) -> Kernel | None:
        """The kernel, if a call has left it on the model."""
        return model.__dict__.get("_kernels", {}).get(self.cache_name())

    def kernel(self, model: Model) -> Kernel:
        """Machine code for a robot: kept on the model, found on disk, or made."""
        return model.kept(self.cache_name(), lambda: self._choose(model))

    def _choose(self, model: Model) -> Kernel:
        tables = self._pairs(model)
        if tables is None:
            return self._kernel(model) if self.fits(model) or self.long is None else self.long(model)
        choice = self.choice(model)
        made = self._kernel(model) if choice.schedule == WRITTEN else self._pair_by_pair(model, tables)
        return replace(made, chosen=choice)

    def choice(self, model: Model) -> Choice:
        """The schedule of tables over pairs of joints, with what it was compared with."""
        return model.kept((self.cache_name(), "choice"), lambda: choose_tables(_TableCounts(self, model)))

    def is_chosen_written(self, model: Model) -> bool:
        """Whether tables over pairs of joints are faster as instructions than as loops over the pairs."""
        return self._has_pairs(model) and self.choice(model).schedule == WRITTEN

    def _has_pairs(self, model: Model) -> bool:
        """Whether loops over pairs can make the tables; asked at every call of a long robot."""
        return model.kept((self.cache_name(), "has pairs"), lambda: self._pairs(model) is not None)

    def _pairs(self, model: Model) -> PairKernel | None:
        """The kernel of loops over pairs that makes the tables, where there is one: of rigid links."""
        rigid = not model.is_flexible and model.embedding is None
        return (
            pair_kernel(*self.tables(), model) if self.tables is not None and rigid and not has_rotors(model) else None
        )

    def _pair_by_pair(self, model: Model, found: PairKernel) -> Kernel:
        signature = self.signature(model)
        function, operations = found.compile(signature, places=self.places)
        return Kernel(function, self.inputs[1:], self.outputs, operations, signature.outputs)

    def _kernel(self, model: Model) -> Kernel:
        target = host()
        lanes = min(target.lanes, TABLE_LANES)
        stated = [(name, spelling(node)) for name, node in self.tables()[0]] if self.tables is not None else []
        signature = self.signature(model)

        def source() -> Source:
            counted = model.__dict__.get("_kernels", {}).pop((self.cache_name(), "trace"), None)
            trace, loops = counted or self.trace(model)
            header = {"operations": trace.operations + (loops.operations if loops else 0)}
            return Source(module_text(trace, signature, lanes, target.fma, loops), header)

        header, code = machine_code("recorded", (self.name, stated, model.key, lanes), target, source)
        function = gufunc(code, signature, self.name, f"{self.name} of {model.name}, compiled.")
        return Kernel(function, self.inputs[1:], self.outputs, header["operations"], signature.outputs)


@dataclass(frozen=True, eq=False)
class _TableCounts:
    """Operations per state of recorded tables by each schedule, as `choose` asks for them."""

    recorded: Recorded
    model: Model

    @property
    def key(self) -> Any:
        assert self.recorded.tables is not None
        stated = [(name, spelling(node)) for name, node in self.recorded.tables()[0]]
        return self.recorded.name, stated, self.model.key

    def link_by_link(self) -> Tally | None:
        return None

    def pair_by_pair(self) -> Tally | None:
        found = self.recorded._pairs(self.model)
        return None if found is None else Tally(found.operations())

    def count_written_out(self, most: int | None, hopeless: float) -> Tally | None:
        found = self.recorded._count_within(self.model, most)
        return None if found is None else Tally(*found)


def _unwrap(results: tuple[np.ndarray, ...]) -> Any:
    """Results as a gufunc returns them: a tuple, or the one array."""
    first, *others = results
    return results if others else first
