"""A kernel as its callers hold it, and as the disk keeps it: loading one takes nothing of what makes kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phistar.backends.machine import cache
from phistar.backends.machine.jit import gufunc, load_object, objects_of
from phistar.backends.machine.rows import Signature
from phistar.backends.machine.single import single_of
from phistar.backends.machine.threads import spread


@dataclass(frozen=True, eq=False)
class Kernel:
    """`function(q, *inputs)` is a NumPy gufunc; `inputs` and `outputs` name its arguments and results; `counted` are
    its operations per state, or counts them."""

    function: Any
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    counted: int | Callable[[], int]
    shapes: tuple[tuple[int, ...], ...] = ()
    forms: tuple[Any, ...] = ()  # the operations of equal statements, of those that were compiled first

    rows: tuple[int, ...] = ()  # entries of q and of each input
    chosen: Any = None  # the schedule, with what it was compared with
    flipped: bool = False  # whether `single` gives matrices as their transposes
    surrounded: Callable[..., Kernel] | None = None  # makes one kernel of it and of a recording around it

    @cached_property
    def operations(self) -> int:
        """Arithmetic instructions per state."""
        return self.counted() if callable(self.counted) else self.counted

    @cached_property
    def single(self) -> Any:
        """Entry point for one state, or for a plain batch; NotImplemented where it does not fit."""
        return single_of(self.function)

    @cached_property
    def into(self) -> Any:
        """The same for one state with the array, or the tuple of arrays, that the results go to after its arguments."""
        return single_of(self.function, "into")

    def compiled_form(self, wanted: Any) -> Any:
        """The statement that was compiled, of several equal ones."""
        if self.forms:
            return replace(wanted, form=self.forms[0].form, taken=self.forms[0].taken)
        return wanted if self.chosen is None else replace(wanted, taken=self.chosen.forms_taken)

    @property
    def choice(self) -> str:
        """Schedule taken and statement compiled, of several equal ones, with the counts that decided."""
        counted = ", ".join(f"{each.title}: {each.operations} operations" for each in self.forms)
        forms = counted if len(self.forms) < 2 else f"{self.forms[0].title} ({counted})"
        return "\n".join(part for part in (str(self.chosen or ""), forms) if part)

    def __call__(self, q: Any, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        results = spread(self.function, (q, *(vectors[name] for name in self.inputs)), list(self.shapes))
        return dict(zip(self.outputs, results if len(self.outputs) > 1 else (results,), strict=True))


def description(kernel: Kernel) -> dict[str, Any] | None:
    """Plain data that `found_kernel` makes the kernel of again; None of code that is not on disk by itself."""
    if not isinstance(kernel.function, np.ufunc):
        return None
    kept = objects_of(kernel.function)
    if not kept.code.name or kept.tables:
        return None
    rows = kept.signature
    return {
        "code": kept.code.name,
        "signature": [rows.inputs, rows.outputs, rows.units, rows.flipped],
        "inputs": kernel.inputs,
        "outputs": kernel.outputs,
        "operations": kernel.operations,
    }


def found_kernel(told: Mapping[str, Any], title: str) -> Kernel | None:
    """The kernel of a description, unless its code is gone."""
    found = cache.load(told["code"])
    if found is None:
        return None
    inputs, outputs, units, flipped = told["signature"]
    shapes, places = tuple(map(tuple, outputs)), tuple((array, start) for array, start in units)
    signature = Signature(tuple(inputs), shapes, places, flipped)
    function = gufunc(load_object(found[1], name=told["code"]), signature, title, f"{title}, compiled.")
    names, results = tuple(told["inputs"]), tuple(told["outputs"])
    return Kernel(function, names, results, told["operations"], shapes, (), signature.inputs, flipped=flipped)
