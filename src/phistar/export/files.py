"""The files of a C export: source, header, an example that checks itself, and a README of all exports in the folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from phistar.backends.code.c import WORK, CFunction, plain
from phistar.backends.kernels import number as number_text
from phistar.backends.machine.jit import dtype_of
from phistar.backends.traces.calls import Step
from phistar.backends.traces.roundoff import rounding_bound
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Trace
from phistar.errors import FileError
from phistar.export.described import description
from phistar.recording import Recording

MARK = "Written by phistar"


def c_files(directory: Path, found: Recording, code: CFunction, error: float | None = None) -> dict[str, str | bytes]:
    """Name and text of every file; `error` bounds what float32 loses."""
    work, head = lent_memory(code), about(found, code, error)
    return {
        f"{code.name}.c": "".join(["/*\n", *(f" * {line}\n" for line in head[:2]), " */\n"]) + code.source(),
        f"{code.name}.h": code.header([*head[:3], *work, *head[3:]]),
        f"{code.name}_example.c": _example(found, code),
        "README.md": _readme(directory, code),
    }


def lent_memory(code: CFunction) -> list[str]:
    """Lines about the memory that a function's caller lends it."""
    return [f"{WORK}[{code.work}]: memory to work in; what it holds does not matter.", ""] if code.work else []


def about(found: Recording, code: CFunction, error: float | None = None) -> list[str]:
    """Header comment of an exported file: the function, who wrote it, then its arguments and results."""
    operations = sum(step.operations for step in steps_of(found))
    return [
        f"{code.name}: {found.name} of {plain(found.model.name)}, {operations} operations.",
        f"{MARK}{_version()}; write it anew rather than change it.",
        "",
        *(
            []
            if error is None
            else [f"Floats of 32 bits: up to {error:.1e} of the largest entry of a result is lost.", ""]
        ),
        *description(found),
    ]


def _version() -> str:
    try:
        return f" {version('phistar')}"
    except PackageNotFoundError:
        return ""


def _example(found: Recording, code: CFunction) -> str:
    """A program that evaluates the function at one state and compares it with what phistar computes there."""
    values, number = example_state(found), {"f64": "double", "f32": "float"}[code.kind]
    values = {name: x.astype(dtype_of(code.kind)).astype(float) for name, x in values.items()}
    expected = expected_results(found, list(values.values()))
    lines = [f"/* {code.name} at one state, against the numbers that phistar finds there. */"]
    lines += ["#include <math.h>", "#include <stdio.h>", "", f'#include "{code.name}.h"', ""]
    lines += ["int main(void)", "{"]
    for name, entries in values.items():
        lines += _array(f"const {number} {name}", entries)
    start = 0
    for name, size in code.outputs:
        lines += _array(f"const double {name}_expected", expected[start : start + size])
        lines.append(f"    {number} {name}[{size}];")
        start += size
    lines += [f"    static {number} {WORK}[{code.work}];"] if code.work else []
    lines += ["    double worst = 0.0;", "    int i;", ""]
    given = [*values, *(name for name, _ in code.outputs), *([WORK] if code.work else [])]
    lines.append(f"    {code.name}({', '.join(given)});")
    start = 0
    for name, size in code.outputs:
        largest = np.abs(expected[start : start + size]).max()
        scale = f"1.0 + fabs({name}_expected[i])" if code.kind == "f64" else number_text(max(float(largest), 1e-30))
        lines += [f"    for (i = 0; i < {size}; i++) {{", f"        const double scale = {scale};"]
        start += size
        lines.append(f"        const double error = fabs({name}[i] - {name}_expected[i]) / scale;")
        lines += [
            "        if (!(error <= worst)) worst = error;",
            f'        printf("{name}[%d] = %.17g\\n", i, {name}[i]);',
        ]
        lines.append("    }")
    lines += ['    printf("largest relative difference from phistar: %.1e\\n", worst);']
    return "\n".join([*lines, f"    return worst < {_tolerance(found, code, values):.3g} ? 0 : 1;", "}"]) + "\n"


def _tolerance(found: Recording, code: CFunction, values: Mapping[str, np.ndarray]) -> float:
    """What the example's results may differ by: of float32 the bound on its rounding at that state."""
    if code.kind == "f64":
        return 1e-9
    state = np.concatenate(list(values.values()))[None]
    return rounding_bound(found.trace, state, [shape for _, shape in found.results])


def steps_of(found: Recording) -> tuple[Step, ...]:
    """Steps of a recording, in order."""
    if found.steps:
        return found.steps
    shapes, slots = tuple(shape for _, shape in found.results), tuple(range(len(found.arguments)))
    return (Step(found.trace, slots, shapes, found.trace.operations),)


def expected_results(found: Recording, arguments: list[np.ndarray]) -> np.ndarray:
    """The results at one state, one after the other."""
    slots, made = list(arguments), []
    for step in steps_of(found):
        given = [slots[n] for n in step.slots]
        if isinstance(step.work, Trace):
            numbers = replay(step.work, [x for array in given for x in array])
            sizes = [int(np.prod(shape)) for shape in step.shapes]
            made = np.split(np.array(numbers, dtype=float), np.cumsum(sizes)[:-1])
        else:
            made = [np.ravel(x) for x in step.work(*given)]
        slots += made
    return np.concatenate(made)


def example_state(found: Recording) -> dict[str, np.ndarray]:
    """A value for every argument, the same every time."""
    rng, model = np.random.default_rng(0), found.model
    special = {
        "q": lambda: model.random(rng),
        "inertia": lambda: np.concatenate([body.inertia.parameters for body in model.bodies]),
        "gravity": lambda: model.gravity,
    }
    return {name: special.get(name, lambda size=size: rng.normal(size=size))() for name, size in found.arguments}


def _array(declaration: str, entries: np.ndarray) -> list[str]:
    rows = [f"        {number_text(float(x))}," for x in entries]
    return [f"    {declaration}[{len(entries)}] = {{", *rows, "    };"]


def write(directory: Path, files: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """All files beside their places first, then each put into place."""
    waiting: list[tuple[Path, Path]] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            temporary = directory / f".{name}.{secrets.token_hex(6)}"
            waiting.append((temporary, directory / name))
            with temporary.open("xb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        for temporary, path in waiting:
            os.replace(temporary, path)
    except OSError as error:
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)
        raise FileError(f"{directory} cannot be written: {error.strerror or error}.") from error
    return tuple(path for _, path in waiting)


def _readme(directory: Path, code: CFunction) -> str:
    functions = _earlier_exports(directory) | {code.name: code.prototype}
    lines = [
        "# Robot functions in C",
        "",
        f"{MARK}. C99 that needs only `<math.h>`: no allocation, no globals, safe to",
    ]
    lines += ["call from several threads. Each header says the order and the units of every argument.", ""]
    for name, prototype in sorted(functions.items()):
        command = f"cc -std=c99 -O2 -o {name}_example {name}_example.c {name}.c -lm && ./{name}_example"
        lines += [f"## {name}", "", "```c", f"{prototype};", "```", "", f"Add `{name}.c` and `{name}.h` to your build."]
        lines += ["The example fails if its results differ from phistar's:", "", "```sh", command, "```", ""]
    return "\n".join(lines)


def _earlier_exports(directory: Path) -> dict[str, str]:
    """Name and prototype of what earlier exports left in the folder."""
    found = {}
    for header in directory.glob("*.h"):
        text = header.read_text(encoding="utf-8", errors="replace")
        declared = [line.rstrip(";") for line in text.splitlines() if line.startswith(f"void {header.stem}(")]
        if MARK in text and declared:
            found[header.stem] = declared[0]
    return found
