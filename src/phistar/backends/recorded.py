"""A function of arrays, recorded for a robot and compiled; for long robots link by link where `pairwise/` has it, else
run on the arrays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.backends.code.packed import module_text
from phistar.backends.code.unsolved import Loops, Unsolved
from phistar.backends.kernel import Kernel, compilable
from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.values import has_rotors
from phistar.backends.machine import cache
from phistar.backends.machine.jit import compile_object, gufunc, host, load_object
from phistar.backends.machine.rows import Signature
from phistar.backends.machine.threads import STATES_PER_THREAD, spread, together
from phistar.backends.pairwise.forms import FORMS, has_many_pairs
from phistar.backends.pairwise.kernel import pair_kernel
from phistar.backends.traces.arrays import is_traced, traced
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.model import Model
from phistar.spatial.batches import leading_axes

LARGEST_WRITTEN = 12  # joint rates; beyond, ℳ⁻¹X is a loop
FEW = 30  # states up to which room for the results is NumPy's business
LANES = 4  # states at once: with hundreds of results, wider vectors spill more than they gain


@dataclass(frozen=True, eq=False)
class Recorded:
    """`function(model, q, *vectors)` gives `outputs`, an array each; it takes floats (…, n) and traced scalars (n,).

    `inputs` are "q" and names of (…, nv) vectors; `shapes` gives the results' shapes without leading axes; `fits` says
    which robots are short enough to be written out, `long` makes the kernel of others.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    function: Callable[..., tuple[np.ndarray, ...] | Unsolved]
    shapes: Callable[[Model], tuple[tuple[int, ...], ...]]
    fits: Callable[[Model], bool] = compilable
    long: Callable[[Model], Kernel] | None = None

    def __call__(self, model: Model, *arrays: Any) -> Any:
        """An array per output, or the one output. Robots run one state at a time: a kernel is called at once."""
        try:
            kernel = model.__dict__["_kernels"][self.name]
            made = kernel.single(*arrays)
            if made is not NotImplemented:
                return made
            if arrays[0].size < 2 * STATES_PER_THREAD * model.nq:
                batch = arrays[0].shape[:-1]
                if arrays[0].size < FEW * model.nq or len({x.shape[:-1] for x in arrays}) > 1:
                    return kernel.function(*arrays)
                return kernel.function(*arrays, out=together(batch, kernel.shapes))
        except (KeyError, AttributeError, ValueError, TypeError):
            pass  # not compiled yet, or the long way says what is wrong with the arguments
        given = self._checked(model, arrays)
        if is_traced(*given):
            return _unwrapped(self._results(model, *(traced(x) if is_traced(x) else x for x in given)))
        if model.nv and (self.fits(model) or self._is_known_of(model)):
            kernel = self.kernel(model)
            return spread(kernel.function, tuple(given), list(kernel.shapes))
        return self._interpreted(model, given)

    def _interpreted(self, model: Model, given: list[np.ndarray]) -> Any:
        batch, shapes = np.broadcast_shapes(*(x.shape[:-1] for x in given)), self.shapes(model)
        if not model.nv:
            return _unwrapped(tuple(np.zeros((*batch, *shape)) for shape in shapes))
        found = zip(self._results(model, *given), shapes, strict=True)
        return _unwrapped(tuple(np.array(np.broadcast_to(x, (*batch, *shape))) for x, shape in found))

    def _checked(self, model: Model, arrays: tuple[Any, ...]) -> list[np.ndarray]:
        pairs = zip(self.inputs, arrays, strict=True)
        given = [model.checked(x, model.nq if name == "q" else model.nv, name) for name, x in pairs]
        leading_axes(dict(zip(self.inputs, given, strict=True)))
        return given

    def _results(self, model: Model, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        made = self.function(model, *arrays)
        return made.solved() if isinstance(made, Unsolved) else made

    def trace(self, model: Model) -> tuple[Trace, Loops | None]:
        """The instructions of one state and, for many joints, the loops that follow them."""
        tape = Tape()
        given = [tape.inputs((model.nq if name == "q" else model.nv,)) for name in self.inputs]
        made, loops = self.function(model, *given), None
        if isinstance(made, Unsolved) and model.nv > LARGEST_WRITTEN:
            values, loops = made.recorded()
        else:
            results = made.solved() if isinstance(made, Unsolved) else made
            values = [x for result in results for x in np.asarray(result).reshape(-1)]
        return finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values]), loops

    def signature(self, model: Model) -> Signature:
        """The rows of the inputs and the shapes of the outputs."""
        return Signature(tuple(model.nq if x == "q" else model.nv for x in self.inputs), self.shapes(model))

    def kernel(self, model: Model) -> Kernel:
        """Machine code for a robot: kept on the model, found on disk, or made."""
        in_loops = self._is_known_of(model) and (has_many_pairs(model) or not self.fits(model))
        return model.kept(self.name, lambda: self._made_of_links(model) if in_loops else self._made(model))

    def _is_known_of(self, model: Model) -> bool:
        """Whether there are loops over the robot's links and pairs of joints for it."""
        return self.long is not None or (self.name in FORMS and not has_rotors(model))

    def _made_of_links(self, model: Model) -> Kernel:
        if self.long is not None:
            return self.long(model)
        signature = self.signature(model)
        function, operations = pair_kernel(self.name, single_axes(without_roundoff(model)), signature)
        return Kernel(function, self.inputs[1:], self.outputs, operations, signature.outputs)

    def _made(self, model: Model) -> Kernel:
        target = host()
        lanes = min(target.lanes, LANES)
        name = cache.key("recorded", self.name, model.key, target, lanes)
        signature = self.signature(model)
        found = cache.load(name)
        if found is None:
            trace, loops = self.trace(model)
            code = compile_object(module_text(trace, signature, lanes, target.fma, loops), target)
            header = {"operations": trace.operations + (loops.operations if loops else 0)}
            cache.store(name, header, code)
        else:
            header, code = found
        function = gufunc(load_object(code), signature, self.name, f"{self.name} of {model.name}, compiled.")
        return Kernel(function, self.inputs[1:], self.outputs, header["operations"], signature.outputs)


def _unwrapped(results: tuple[np.ndarray, ...]) -> Any:
    """As a gufunc gives them: a tuple, or the one array."""
    first, *others = results
    return results if others else first
