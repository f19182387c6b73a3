"""Doors to elsewhere: any quantity as dependency-free C99, as an object file for another processor, as WebAssembly, or
as a `casadi.Function`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.backends.code.c import CCall, CFunction, CTrace, identifier, variables
from phistar.backends.rolled_kernel import RolledCall, rolled_call
from phistar.backends.traces.calls import Step
from phistar.backends.traces.symbolic import casadi_function as symbolic_function
from phistar.backends.traces.trace import Trace
from phistar.export.files import about, c_files, lent_memory, steps_of, write
from phistar.export.headers import check_languages, header_files
from phistar.export.objects import MOST_ON_STACK, describe_object, processor_named
from phistar.export.web import WebFunction, loaded_module, web_files
from phistar.expression import Expression
from phistar.model import Model
from phistar.recording import Recording, record
from phistar.single_precision import ACCURACY, bounded_error, is_single, record_short

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
    """Return a function of one robot as a `casadi.Function` of column vectors, with the arguments' names.

    Parameters
    ----------
    function : callable or Expression
        One of phistar's (ps.forward_dynamics, ps.jacobian, …), one written with them, or a statement.
    model : Model
    frame : str or sequence of str, optional
        The frame(s) it is about, or where f_ext acts.
    parameters, matrix, rows
        As in `ps.compile`.

    Returns
    -------
    casadi.Function

    Examples
    --------
    >>> gravity = ps.casadi_function(ps.gravity_load, ps.planar_chain(2, gravity=(0, -9.81, 0)))
    >>> gravity.name_in(), gravity.size1_out(0)
    (['q'], 2)
    """
    name, found = _with_c_names(record(function, model, frame, parameters, matrix, rows))
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
    dtype: Any = np.float64,
    accuracy: float | None = None,
    headers: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write a function of one robot as C99 without dependencies.

    NAME.c, NAME.h, NAME_example.c, which checks itself, and README.md: `void NAME(const double *q, …, double *out)`.
    Quantities of long robots are loops over the links, as they run here; the function then grows with the robot by its
    data alone. Where they need more memory than a stack should give, the function takes it as a last argument, `work`.
    Files are written whole or not at all.

    Parameters
    ----------
    function : callable or Expression
        As in `casadi_function`.
    model : Model
    directory : path
    frame : str or sequence of str, optional
        The frame(s) it is about, or where f_ext acts.
    name : str, optional
        NAME; by default the robot's and the function's.
    parameters, matrix, rows, dtype, accuracy
        As in `ps.compile`; with float32 the C is of floats.
    headers : sequence of "c++" and "rust", optional
        Further languages: NAME.hpp takes `std::array`, NAME.rs arrays of Rust, of the sizes that there are.

    Returns
    -------
    tuple of Path
        What was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in ps.export_c(ps.gravity_load, ps.planar_chain(2), folder, name="weight")]
    ['weight.c', 'weight.h', 'weight_example.c', 'README.md']
    """
    languages = check_languages(headers)
    found, code, error = typed_code(function, model, frame, name, parameters, matrix, rows, dtype, accuracy)
    files = c_files(Path(directory), found, code, error)
    return write(Path(directory), files | header_files(code, about(found, code, error), languages))


def export_object(
    function: Quantity,
    model: Model,
    directory: str | os.PathLike[str],
    target: str,
    frame: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
    rows: Mapping[str, int] | None = None,
    dtype: Any = np.float64,
    accuracy: float | None = None,
    headers: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Write a function of one robot as an object file for another processor, ready to be linked.

    NAME.o and NAME.h, which says its sizes, the operations of every call, and the order and units of all numbers. It
    allocates nothing, and of the C library it calls sine, cosine and square root. No compiler is needed.

    Parameters
    ----------
    function, model, directory, frame, name, parameters, matrix, rows, dtype, accuracy, headers
        As in `export_c`.
    target : str
        "cortex-m4", "cortex-m7", "cortex-m33", "rv32imafc", "rv64gc", "aarch64", "x86-64-v2", "x86-64-v3" or
        "x86-64-v4". Those without doubles of their own are quick with `dtype=np.float32` alone.

    Returns
    -------
    tuple of Path
        What was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     files = ps.export_object(ps.gravity_load, ps.planar_chain(2), folder, "cortex-m4", name="weight")
    >>> [path.name for path in files]
    ['weight.o', 'weight.h']
    """
    languages, chosen = check_languages(headers), processor_named(target)
    found, code, error = typed_code(function, model, frame, name, parameters, matrix, rows, dtype, accuracy)
    code = replace(code, most_on_stack=MOST_ON_STACK)
    data = code.object_code(chosen.target)
    head = about(found, code, error)
    head = [*head[:2], *describe_object(found, code, target, data), *lent_memory(code), *head[2:]]
    files: dict[str, str | bytes] = {f"{code.name}.o": data, f"{code.name}.h": code.header(head)}
    return write(Path(directory), files | header_files(code, head, languages))


def export_wasm(
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
    """Write a function of one robot as WebAssembly, for browsers and Node.js.

    NAME.wasm, NAME.mjs, which loads it (`const compute = await load()`, then `compute(q, v, tau).out`), and
    NAME_example.mjs, which checks itself. The module needs nothing but the host's sine and cosine. Files are written
    whole or not at all.

    Parameters
    ----------
    function, model, directory, frame, name, parameters, matrix, rows
        As in `export_c`.

    Returns
    -------
    tuple of Path
        What was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in ps.export_wasm(ps.gravity_load, ps.planar_chain(2), folder, name="weight")]
    ['weight.wasm', 'weight.mjs', 'weight_example.mjs']
    """
    found, code = kernel_code(function, model, frame, name, parameters, matrix, rows)
    return write(Path(directory), web_files(found, code))


def web_function(function: Quantity, model: Model, *, name: str) -> WebFunction:
    """A function of a robot for a page that holds it: the bytes of a module, and its loader's text."""
    return loaded_module(kernel_code(function, model, None, name, (), False, None)[1])


def kernel_code(
    function: Quantity,
    model: Model,
    frame: str | Sequence[str] | None,
    name: str | None,
    parameters: Sequence[str],
    matrix: bool,
    rows: Mapping[str, int] | None,
) -> tuple[Recording, CFunction]:
    """A function recorded, with loops over the links of long robots, and as functions of the kernel language."""
    name, found = _with_c_names(record(function, model, frame, parameters, matrix, rows, calls=rolled_call), name)
    return found, CFunction(name, tuple(map(_step, steps_of(found))), found.arguments, found.results)


def typed_code(
    function: Quantity,
    model: Model,
    frame: str | Sequence[str] | None,
    name: str | None,
    parameters: Sequence[str],
    matrix: bool,
    rows: Mapping[str, int] | None,
    dtype: Any,
    accuracy: float | None,
) -> tuple[Recording, CFunction, float | None]:
    """A function recorded, and in the kernel language, of float64 or of float32, with the bound on what that loses."""
    if not is_single(dtype, accuracy):
        return *kernel_code(function, model, frame, name, parameters, matrix, rows), None
    short = record_short(function, model, frame, parameters, matrix, rows)
    error = bounded_error(short, accuracy or ACCURACY)
    name, found = _with_c_names(short, name)
    return found, CFunction(name, tuple(map(_step, steps_of(found))), found.arguments, found.results, "f32"), error


def _step(step: Step) -> CTrace | CCall:
    """A step of a recording as C has it."""
    sizes = tuple(math.prod(shape) for shape in step.shapes)
    if isinstance(step.work, Trace):
        return CTrace(step.work, step.slots, sizes)
    assert isinstance(step.work, RolledCall)
    made = step.work.export()
    return CCall(step.slots, sizes, made.functions, made.tables, made.work)


def _with_c_names(found: Recording, name: str | None = None) -> tuple[str, Recording]:
    """A name for the function, and its arguments and results under names that C can use."""
    name = identifier(name or f"{found.model.name}_{found.name}")
    entries = (*found.arguments, *found.results)
    safe = zip(variables([text for text, _ in entries], name), (size for _, size in entries), strict=True)
    pairs: list[Any] = list(safe)
    count = len(found.arguments)
    return name, replace(found, arguments=tuple(pairs[:count]), results=tuple(pairs[count:]))
