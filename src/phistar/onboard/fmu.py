"""Functions of a robot, control laws say, as FMI 3 co-simulation FMUs: their C with FMI's calls around it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from phistar.backends.code.c import CFunction
from phistar.export import kernel_code
from phistar.model import Model
from phistar.onboard.fmu_file import FmuParts, Variable, fmu_path, number_variables, part_of_c, write_fmu


def export_fmu(
    function: Any,
    model: Model,
    path: str | os.PathLike[str],
    frame: str | Sequence[str] | None = None,
    *,
    parameters: Sequence[str] = (),
    rows: Mapping[str, int] | None = None,
) -> Path:
    """Write a control law, or any function of a robot, as an FMU for co-simulation (FMI 3.0).

    Inputs are the entries of its arguments, `q[0]`, `v[0]`, `reference[0]`, …, outputs those of its results; t is FMI's
    time. A step computes the outputs from the inputs at its beginning, as a sampled controller does. It allocates
    memory once, when it is instantiated. The C source comes along; the binary is for this machine, made by its C
    compiler.

    Parameters
    ----------
    function : callable or Expression
        As for `ps.export_c`; it remembers nothing from one step to the next.
    model : Model
    path : path
        NAME.fmu; NAME is the model's identifier.
    frame, parameters, rows
        As for `ps.export_c`; the rows of a law are its own by default.

    Returns
    -------
    Path

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> ps.onboard.export_fmu(ps.control.PDControl(arm), arm, "springs.fmu")  # doctest: +SKIP
    PosixPath('springs.fmu')
    """
    target = fmu_path(path)
    if rows is None and isinstance(getattr(function, "rows", None), Mapping):
        rows = dict(function.rows)
    found, code = kernel_code(function, model, frame, target.stem, parameters, False, rows)
    own = code.source().replace(f'#include "{code.name}.h"', f"static {code.prototype};")
    own = own.replace(f"\nvoid {code.name}(", f"\nstatic void {code.name}(")
    defined, about = {"WORK": code.work, "CALL": _call(code)}, f"{found.name} of {model.name}"
    text = f"{own}\n{part_of_c('fmu_function.c')}"
    return write_fmu(target, FmuParts(code.name, about, _variables(code, model), text, defined, {}, {}, {}))


def _variables(code: CFunction, model: Model) -> tuple[Variable, ...]:
    """Inputs, then outputs."""
    made: list[tuple[str, float | None, str]] = []
    for name, size in code.arguments:
        starts = model.neutral() if name == "q" and size == model.nq else np.zeros(size)
        if name != "t":
            made += [(f"{name}[{i}]", float(start), "") for i, start in enumerate(starts)]
    for name, shape in code.results:
        made += [(f"{name}[{i}]", None, "") for i in range(int(np.prod(shape)))]
    return number_variables(made)


def _call(code: CFunction) -> str:
    """The call of the function, in C."""
    given, at = [], 0
    for name, size in code.arguments:
        given.append("&own->time" if name == "t" else f"in + {at}")
        at += 0 if name == "t" else size
    at = 0
    for _, shape in code.results:
        given.append(f"out + {at}")
        at += int(np.prod(shape))
    given += ["own->work"] if code.work else []
    return f"{code.name}({', '.join(given)})"
