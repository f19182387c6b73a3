"""The file of an FMI 3 FMU: what it says of itself, its C, and the binary for this machine."""

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
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from phistar.errors import FileError, PhistarError

COMPILERS = ("cc", "gcc", "clang")
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}  # as FMI calls them
SYSTEMS = {"linux": ("linux", "so"), "darwin": ("darwin", "dylib"), "win32": ("windows", "dll")}


class Variable(NamedTuple):
    """A scalar of an FMU; `about` says what it is of."""

    name: str
    reference: int
    start: float | None  # None: an output
    about: str = ""


class FmuParts(NamedTuple):
    """What one FMU differs from another in.

    `code` stands before FMI's calls and has what a step does; `defined` are its CODE_* besides those of the variables;
    `attributes` are those of the description's CoSimulation, `experiment` those of its DefaultExperiment; `resources`
    are files that come along.
    """

    name: str
    about: str
    variables: Sequence[Variable]
    code: str
    defined: Mapping[str, object]
    attributes: Mapping[str, object]
    experiment: Mapping[str, float]
    resources: Mapping[str, bytes]


def fmu_path(path: str | os.PathLike[str]) -> Path:
    """The path of an FMU, which ends in .fmu."""
    target = Path(path)
    if target.suffix != ".fmu":
        raise FileError(f"An FMU is a file NAME.fmu; it was given {str(path)!r:.200}.")
    return target


def number_variables(names: Sequence[tuple[str, float | None, str]], first: int = 1) -> tuple[Variable, ...]:
    """Variables of names, starts and what they are of, numbered from `first` on."""
    return tuple(Variable(name, first + i, start, about) for i, (name, start, about) in enumerate(names))


def part_of_c(name: str) -> str:
    return files("phistar.onboard").joinpath(name).read_text("utf-8")


def write_fmu(target: Path, parts: FmuParts) -> Path:
    source = _source(parts)
    token = hashlib.sha256(source.encode()).hexdigest()
    source = source.replace("@TOKEN@", token)
    system, ending = SYSTEMS.get(sys.platform, (sys.platform, "so"))
    machine, name = platform.machine().lower(), parts.name
    contents: dict[str, str | bytes] = {
        "modelDescription.xml": _description(parts, token),
        f"sources/{name}_fmu.c": source,
        "sources/buildDescription.xml": _build(name),
        f"binaries/{MACHINES.get(machine, machine)}-{system}/{name}.{ending}": _compile(name, source, ending),
        **{f"resources/{path}": content for path, content in parts.resources.items()},
    }
    try:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in contents.items():
                archive.writestr(path, content)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _source(parts: FmuParts) -> str:
    starts = [repr(each.start) for each in parts.variables if each.start is not None]
    defined = {
        "INPUTS": len(starts),
        "OUTPUTS": len(parts.variables) - len(starts),
        "START": ", ".join([*starts, "0.0"]),
        "TOKEN": '"@TOKEN@"',
        "WORK": 0,
        **parts.defined,
    }
    lines = [f"#define CODE_{name} {value}" for name, value in defined.items()]
    return "\n".join(
        ["#define _POSIX_C_SOURCE 200809L", *lines, part_of_c("fmu_head.c"), parts.code, part_of_c("fmu.c")]
    )


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


def _description(parts: FmuParts, token: str) -> str:
    name, own = quoteattr(parts.name), "".join(f' {key}="{value}"' for key, value in parts.attributes.items())
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<fmiModelDescription fmiVersion="3.0" modelName={name} instantiationToken="{token}" '
        f'description={quoteattr(parts.about)} generationTool="phistar">',
        f'  <CoSimulation modelIdentifier={name} canHandleVariableCommunicationStepSize="true"{own}/>',
    ]
    if parts.experiment:
        run = "".join(f' {key}="{value!r}"' for key, value in parts.experiment.items())
        lines.append(f"  <DefaultExperiment{run}/>")
    lines.append("  <ModelVariables>")
    lines.append('    <Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>')
    for each in parts.variables:
        kind = 'causality="output"' if each.start is None else f'causality="input" start="{each.start!r}"'
        about = f" description={quoteattr(each.about)}" if each.about else ""
        lines.append(f'    <Float64 name={quoteattr(each.name)} valueReference="{each.reference}"{about} {kind}/>')
    outputs = [each.reference for each in parts.variables if each.start is None]
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
