"""Functions of a robot, control laws say, as FMI 3 co-simulation FMUs: their C with FMI's calls around it."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from phistar.backends.code.c import CFunction
from phistar.errors import FileError, PhistarError
from phistar.export import kernel_code
from phistar.model import Model

COMPILERS = ("cc", "gcc", "clang")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # as FMI calls them
SYSTEMS = {"linux": ("linux", "so"), "darwin": ("darwin", "dylib"), "win32": ("windows", "dll")}


class Variable(NamedTuple):
    """A scalar of an FMU."""

    name: str
    reference: int
    start: float | None  # None: an output


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
    target = Path(path)
    if target.suffix != ".fmu":
        raise FileError(f"An FMU is a file NAME.fmu; it was given {str(path)!r:.200}.")
    if rows is None and isinstance(getattr(function, "rows", None), Mapping):
        rows = dict(function.rows)
    found, code = kernel_code(function, model, frame, target.stem, parameters, False, rows)
    variables = _variables(code, model)
    source = _source(code, variables)
    token = hashlib.sha256(source.encode()).hexdigest()
    source = source.replace("@TOKEN@", token)
    system, ending = SYSTEMS.get(sys.platform, (sys.platform, "so"))
    machine = platform.machine().lower()
    contents: dict[str, str | bytes] = {
        "modelDescription.xml": _description(code.name, f"{found.name} of {model.name}", token, variables),
        f"sources/{code.name}_fmu.c": source,
        "sources/buildDescription.xml": _build(code.name),
        f"binaries/{MACHINES.get(machine, machine)}-{system}/{code.name}.{ending}": _compile(code.name, source, ending),
    }
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _variables(code: CFunction, model: Model) -> tuple[Variable, ...]:
    """Inputs, then outputs, numbered from 1 on."""
    made: list[Variable] = []
    for name, size in code.arguments:
        starts = model.neutral() if name == "q" and size == model.nq else np.zeros(size)
        if name != "t":
            made += [Variable(f"{name}[{i}]", len(made) + 1 + i, float(start)) for i, start in enumerate(starts)]
    for name, shape in code.results:
        size = int(np.prod(shape))
        made += [Variable(f"{name}[{i}]", len(made) + 1 + i, None) for i in range(size)]
    return tuple(made)


def _source(code: CFunction, variables: Sequence[Variable]) -> str:
    """The function's C, what it is called with, and FMI's calls."""
    given, at = [], 0
    for name, size in code.arguments:
        given.append("&own->time" if name == "t" else f"in + {at}")
        at += 0 if name == "t" else size
    at = 0
    for _, shape in code.results:
        given.append(f"out + {at}")
        at += int(np.prod(shape))
    given += ["own->work"] if code.work else []
    starts = [repr(each.start) for each in variables if each.start is not None]
    defined = {
        "INPUTS": len(starts),
        "OUTPUTS": len(variables) - len(starts),
        "WORK": code.work,
        "START": ", ".join([*starts, "0.0"]),
        "CALL": f"{code.name}({', '.join(given)})",
        "TOKEN": '"@TOKEN@"',
    }
    lines = [f"#define CODE_{name} {value}" for name, value in defined.items()]
    own = code.source().replace(f'#include "{code.name}.h"', f"static {code.prototype};")
    fmi = files("phistar.onboard").joinpath("fmu.c").read_text("utf-8")
    return "\n".join([own.replace(f"\nvoid {code.name}(", f"\nstatic void {code.name}("), *lines, fmi])


def _compile(name: str, source: str, ending: str) -> bytes:
    compiler = next((found for each in COMPILERS if (found := shutil.which(each))), None)
    if compiler is None:
        raise PhistarError(f"An FMU needs a C compiler to be made; none of {', '.join(COMPILERS)} is on this machine.")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{name}.c").write_text(source, "utf-8")
        options = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-fvisibility=hidden"]
        command = [compiler, *options, "-o", f"{name}.{ending}", f"{name}.c", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise PhistarError(f"{compiler} could not make the FMU {name}: {done.stderr[:500]}")
        return (Path(folder) / f"{name}.{ending}").read_bytes()


def _description(name: str, about: str, token: str, variables: Sequence[Variable]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(name)} instantiationToken="{token}" '
        f'description={quoteattr(about)} generationTool="phistar">',
        f'  <CoSimulation modelIdentifier={quoteattr(name)} canHandleVariableCommunicationStepSize="true"/>',
        "  <ModelVariables>",
        '    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>',
    ]
    for each in variables:
        kind = 'causality="output"' if each.start is None else f'causality="input" start="{each.start!r}"'
        lines.append(f'    <Float64 name={quoteattr(each.name)} valueReference="{each.reference}" {kind}/>')
    outputs = [each.reference for each in variables if each.start is None]
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    lines += [f'    <Output valueReference="{reference}"/>' for reference in outputs]
    lines += [f'    <InitialUnknown valueReference="{reference}"/>' for reference in outputs]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _build(name: str) -> str:
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<fmiBuildDescription fmiVersion="3.0">',
            f'  <BuildConfiguration modelIdentifier="{name}">',
            f'    <SourceFileSet language="C99"><SourceFile name="{name}_fmu.c"/></SourceFileSet>',
            "  </BuildConfiguration>",
            "</fmiBuildDescription>",
            "",
        ]
    )
