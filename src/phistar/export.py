"""Doors to elsewhere: any quantity as dependency-free C99, or as a `casadi.Function` for optimal control."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from phistar.backends.c import CFunction, identifier, number, plain
from phistar.backends.symbolic import casadi_function as symbolic_function
from phistar.backends.symbolic import replay
from phistar.described import described
from phistar.errors import FileError
from phistar.expression import Expression
from phistar.model import Model
from phistar.traced import Traced, traced

Quantity = Callable[..., Any] | Expression


def casadi_function(
    function: Quantity,
    model: Model,
    frame: str | Sequence[str] | None = None,
    *,
    parameters: Sequence[str] = (),
    matrix: bool = False,
) -> Any:
    """function(q, v, …) of one robot as a `casadi.Function` of column vectors, with the arguments' names.

    `function` is one of phistar's (ps.forward_dynamics, ps.jacobian, …) or a statement; `frame` names the frame(s) it
    is about, or where f_ext acts. `parameters` and `matrix` as in `ps.compile`.
    """
    found = traced(function, model, frame, parameters, matrix)
    return symbolic_function(identifier(f"{model.name}_{found.name}"), found.trace, found.arguments, found.results)


def export_c(
    function: Quantity,
    model: Model,
    directory: str | os.PathLike[str],
    frame: str | Sequence[str] | None = None,
    *,
    name: str | None = None,
    parameters: Sequence[str] = (),
    matrix: bool = False,
) -> tuple[Path, ...]:
    """Write NAME.c, NAME.h, NAME_example.c and README.md: `void NAME(const double *q, …, double *out)` in C99.

    NAME is the robot's and the function's name unless given. The other options are those of `casadi_function`.
    Files are written whole or not at all; the paths written are returned.
    """
    found = traced(function, model, frame, parameters, matrix)
    code = CFunction(identifier(name or f"{model.name}_{found.name}"), found.trace, found.arguments, found.results)
    about = [f"{code.name}: {found.name} of {plain(model.name)}, {found.trace.operations} operations.", _made_by()]
    header = [*about, "", *described(found)]
    files = {
        f"{code.name}.c": "".join(["/*\n", *(f" * {line}\n" for line in about), " */\n"]) + code.source(),
        f"{code.name}.h": code.header(header),
        f"{code.name}_example.c": _example(found, code),
        "README.md": _readme(code, header),
    }
    return _written(Path(directory), files)


def _made_by() -> str:
    try:
        return f"Written by phistar {version('phistar')}; write it anew rather than change it."
    except PackageNotFoundError:
        return "Written by phistar; write it anew rather than change it."


def _example(found: Traced, code: CFunction) -> str:
    """A program that evaluates the function at one state and compares it with what phistar computes there."""
    values = _state(found)
    expected = np.array(replay(found.trace, np.concatenate(list(values.values()))), dtype=float)
    lines = [f"/* {code.name} at one state, against the numbers that phistar finds there. */"]
    lines += ["#include <math.h>", "#include <stdio.h>", "", f'#include "{code.name}.h"', ""]
    lines += ["int main(void)", "{"]
    for name, entries in values.items():
        lines += _array(f"const double {name}", entries)
    start = 0
    for name, size in code.outputs:
        lines += _array(f"const double {name}_expected", expected[start : start + size])
        lines.append(f"    double {name}[{size}];")
        start += size
    lines += ["    double worst = 0.0;", "    int i;", ""]
    lines.append(f"    {code.name}({', '.join([*values, *(name for name, _ in code.outputs)])});")
    for name, size in code.outputs:
        lines += [
            f"    for (i = 0; i < {size}; i++) {{",
            f"        const double scale = 1.0 + fabs({name}_expected[i]);",
        ]
        lines.append(f"        const double error = fabs({name}[i] - {name}_expected[i]) / scale;")
        lines += [
            "        if (!(error <= worst)) worst = error;",
            f'        printf("{name}[%d] = %.17g\\n", i, {name}[i]);',
        ]
        lines.append("    }")
    lines += ['    printf("largest relative difference from phistar: %.1e\\n", worst);']
    return "\n".join([*lines, "    return worst < 1e-9 ? 0 : 1;", "}"]) + "\n"


def _state(found: Traced) -> dict[str, np.ndarray]:
    """A value for every argument, the same every time."""
    rng, model = np.random.default_rng(0), found.model
    special = {
        "q": lambda: model.random(rng),
        "inertia": lambda: np.concatenate([body.inertia.parameters for body in model.bodies]),
        "gravity": lambda: model.gravity,
    }
    return {name: special.get(name, lambda size=size: rng.normal(size=size))() for name, size in found.arguments}


def _array(declaration: str, entries: np.ndarray) -> list[str]:
    rows = [f"        {number(float(x))}," for x in entries]
    return [f"    {declaration}[{len(entries)}] = {{", *rows, "    };"]


def _readme(code: CFunction, about: list[str]) -> str:
    name = code.name
    command = f"cc -std=c99 -O2 -o {name}_example {name}_example.c {name}.c -lm && ./{name}_example"
    lines = [f"# {name}", "", "```c", f"{code.prototype};", "```", ""]
    lines += ["C99 that needs only <math.h>: no allocation, no globals, safe to call from several threads.", ""]
    lines += [f"Add `{name}.c` and `{name}.h` to your build. To try it:", "", "```sh", command, "```", ""]
    lines += ["The example prints the results at one state and fails if they differ from phistar's.", ""]
    return "\n".join([*lines, "```text", *about, "```"]) + "\n"


def _written(directory: Path, files: dict[str, str]) -> tuple[Path, ...]:
    """All files beside their places first, then each put into place."""
    waiting: list[tuple[str, Path]] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}.")
            waiting.append((temporary, directory / name))
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.chmod(temporary, 0o666 & ~_umask())
        for temporary, path in waiting:
            os.replace(temporary, path)
    except OSError as error:
        for temporary, _ in waiting:
            Path(temporary).unlink(missing_ok=True)
        raise FileError(f"{directory} cannot be written: {error.strerror or error}.") from error
    return tuple(path for _, path in waiting)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
