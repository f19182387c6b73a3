"""Functions of each link by itself, over mechanisms with links of any width: each kind of link traced once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from phistar.backends.kernel import Kernel, units_of
from phistar.backends.kernels import Module, llvm_text
from phistar.backends.machine.jit import Signature, Source, gufunc, host, machine_code
from phistar.backends.rolled.code import stage_calls
from phistar.backends.rolled.link_loops import Sizes, loop_functions
from phistar.backends.rolled.link_memory import Memory, Rooms, Stage, drop_unneeded, number_entries
from phistar.backends.rolled.recorder import Recorder, Step
from phistar.backends.rolled.robot_tables import Areas, Given, built_tables, coordinate_places
from phistar.backends.rolled.rolled_links import built_links
from phistar.backends.rolled.steps import LinkKind
from phistar.model import Model
from phistar.sweeps.ir import OUTWARD

ZERO = "zero"  # the place of results that no link makes

Entries = Callable[[Model, int], Sequence[int]]


@dataclass(frozen=True, eq=False)
class LinkMap:
    """`function(mechanism, k, *vectors)` gives link k's array for each result, from its own entries of vectors.

    `inputs` names the vectors and says which of their entries are a link's own; `outputs` names the results, the
    entries that a link makes, and their shapes. A result whose one entry all links make is a sum.
    """

    name: str
    function: Callable[..., tuple[np.ndarray, ...]]
    inputs: Mapping[str, Entries]
    outputs: Mapping[str, Entries]
    sizes: Callable[[Model], tuple[int, ...]]
    shapes: Callable[[Model], tuple[tuple[int, ...], ...]]
    summed: tuple[str, ...] = ()

    def kernel(self, model: Model) -> Kernel:
        """Machine code for a mechanism."""
        links, target = built_links(model, ()), host()
        kinds, numbers = links.kinds, links.numbers
        lanes, rows = target.lanes, (model.nq, *self.sizes(model))
        signature = Signature(rows, self.shapes(model), units_of(model))

        def source() -> Source:
            stage = Stage(OUTWARD, [self._step(model, kind, numbers.index(i)) for i, kind in enumerate(kinds)])
            sums: dict[str, tuple[int, int]] = dict.fromkeys((ZERO, *self.summed), (1, 1))
            (stage,) = drop_unneeded([stage], set(self.outputs), set(self.summed))
            memory = number_entries([stage], len(kinds), sums, Memory(2 * lanes, 1))
            made = stage_calls([stage], memory, lanes, target.fma)
            totals = (1, len(self.summed)) if self.summed else None
            sizes = Sizes(2 * lanes, made.scratch, 1, 0, 1, totals)
            axes = [len(shape) for shape in signature.shapes]
            loop = Module(tuple(loop_functions(made.calls, axes, len(rows), sizes)))
            counts = [step.trace.operations for step in stage.steps]
            header = {"memory": memory.data(), "operations": counts}
            return Source(llvm_text(made.module.with_(loop)), header, quick=True)

        header, code = machine_code("link map", (self.name, links.key, lanes), target, source)
        rooms = Rooms.from_data(header["memory"])
        areas = Areas(model, numbers, rooms, ())
        arrays = [coordinate_places(links, areas.own, rooms), *self._arrays(model, rooms, numbers, areas, signature)]
        columns = [*rows, *(shape[-1] if len(shape) == 2 else prod(shape) for shape in signature.outputs)]
        data = built_tables(links, areas, Given(arrays, columns, [], []), 2 * lanes)
        function = gufunc(code, signature, self.name, f"{self.name} of {model.name}, compiled link by link.", data)
        counted = sum(header["operations"][kind] for kind in numbers)
        return Kernel(function, tuple(self.inputs), tuple(self.outputs), counted, signature.outputs, (), rows)

    def _step(self, model: Model, kind: LinkKind, k: int) -> Step:
        record = Recorder({})
        mechanism, own = kind.mechanism(record)
        vectors = [record.array("own", name, (len(mine(model, k)),)) for name, mine in self.inputs.items()]
        made = self.function(mechanism, own, *vectors)
        stores: list[Any] = []
        for name, value in zip(self.outputs, made, strict=True):
            memory = "total" if name in self.summed else "own"
            stores += [((memory, name, i), x) for i, x in enumerate(np.asarray(value).reshape(-1))]
        return record.finish(stores)

    def _arrays(
        self, model: Model, rooms: Rooms, numbers: list[int], areas: Areas, signature: Signature
    ) -> list[np.ndarray]:
        """Places of each array's entries: those that links have among their own, or one that all links share."""
        nothing, waste = rooms.flat[ZERO], int(areas.own[-1])

        def places(name: str, entries: Entries, size: int, missing: int) -> np.ndarray:
            if name in self.summed:
                return np.array([rooms.flat[name]])
            result = np.full(size, missing)
            for k, kind in enumerate(numbers):
                known = rooms.own[kind]
                for i, entry in enumerate(entries(model, k)):
                    number = known.get((name, i), -1)
                    result[entry] = areas.own[k] + number if number >= 0 else waste
            return result

        sizes, shapes = self.sizes(model), signature.outputs
        arrays = [places(name, x, n, waste) for (name, x), n in zip(self.inputs.items(), sizes, strict=True)]
        made = zip(self.outputs.items(), shapes, strict=True)
        return [*arrays, *(places(name, x, prod(shape), nothing) for (name, x), shape in made)]
