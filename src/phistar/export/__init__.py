"""Doors to elsewhere: any quantity as dependency-free C99, or as a `casadi.Function` for optimal control."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from phistar.backends.code.c import CFunction, identifier, variables
from phistar.backends.traces.symbolic import casadi_function as symbolic_function
from phistar.export.files import texts, write
from phistar.expression import Expression
from phistar.model import Model
from phistar.recording import Recording, record

Quantity = Callable[..., Any] | Expression


def casadi_function(
    function: Quantity,
    model: Model,
    frame: str | Sequence[str] | None = None,
    *,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    rows: Mapping[str, int] | None = None,
) -> Any:
    """function(q, v, …) of one robot as a `casadi.Function` of column vectors, with the arguments' names.

    `function` is one of phistar's (ps.forward_dynamics, ps.jacobian, …), one written with them, or a statement; `frame`
    names the frame(s) it is about, or where f_ext acts. `parameters`, `matrix` and `rows` as in `ps.compile`.
    """
    name, found = _named(record(function, model, frame, parameters, matrix, rows))
    return symbolic_function(name, found.trace, found.arguments, found.results)


def export_c(
    function: Quantity,
    model: Model,
    directory: str | os.PathLike[str],
    frame: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    rows: Mapping[str, int] | None = None,
) -> tuple[Path, ...]:
    """Write NAME.c, NAME.h, NAME_example.c and README.md: `void NAME(const double *q, …, double *out)` in C99.

    NAME is the robot's and the function's name unless given. The other options are those of `casadi_function`.
    Files are written whole or not at all; the paths written are returned.
    """
    name, found = _named(record(function, model, frame, parameters, matrix, rows), name)
    code = CFunction(name, found.trace, found.arguments, found.results)
    return write(Path(directory), texts(found, code), code)


def _named(found: Recording, name: str | None = None) -> tuple[str, Recording]:
    """A name for the function, and its arguments and results under names that C can use."""
    name = identifier(name or f"{found.model.name}_{found.name}")
    entries = (*found.arguments, *found.results)
    safe = zip(variables([text for text, _ in entries], name), (size for _, size in entries), strict=True)
    pairs: list[Any] = list(safe)
    count = len(found.arguments)
    return name, replace(found, arguments=tuple(pairs[:count]), results=tuple(pairs[count:]))
