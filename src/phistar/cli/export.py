"""`phistar export`: a function of a robot as C, an object file or WebAssembly."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from phistar.cli import info
from phistar.cli.arguments import Floating, Packages, Robot, Without
from phistar.cli.command_names import functions

Function = Annotated[
    str,
    typer.Argument(
        metavar="FUNCTION", autocompletion=functions, help="What to compute: forward_dynamics, mass_matrix, jacobian, …"
    ),
]
Sources = Annotated[
    Path | None, typer.Option("--c", metavar="DIR", help="Folder for C files; made if it is not there.")
]
Web = Annotated[
    Path | None, typer.Option("--wasm", metavar="DIR", help="Folder for a module of WebAssembly and its loader.")
]
Object = Annotated[
    Path | None, typer.Option("--object", metavar="DIR", help="Folder for an object file and its header.")
]
Processor = Annotated[
    str, typer.Option("--target", metavar="NAME", help="Processor of the object file, e.g. cortex-m7 or rv64gc.")
]
Numbers = Annotated[str, typer.Option("--dtype", help="float64, or float32 for C and object files.")]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="LANGUAGE", help="A header for c++ or rust too; may be repeated."),
]
Frames = Annotated[
    list[str] | None,
    typer.Option("--frame", metavar="NAME", help="The frame it is about, or where f_ext acts; may be repeated."),
]


def export(
    robot: Robot,
    function: Function,
    c: Sources = None,
    wasm: Web = None,
    compiled: Object = None,
    target: Processor = "",
    dtype: Numbers = "float64",
    headers: Headers = None,
    frame: Frames = None,
    floating: Floating = False,
    packages: Packages = None,
    without: Without = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the names of the files as JSON.")] = False,
) -> None:
    """Write a function of a robot as C99 that needs nothing but <math.h>, or as WebAssembly, with an example, or as an
    object file for another processor.

    \b
    Examples:
      phistar export puma560 forward_dynamics --c build/puma
      phistar export arm.urdf jacobian --frame tool --c build/arm
      phistar export puma560 inverse_dynamics --wasm build/page
      phistar export puma560 gravity_load --object build/m4 --target cortex-m4 --dtype float32 --header rust
    """
    from phistar.export import export_c, export_object, export_wasm
    from phistar.io import load

    if c is None and wasm is None and compiled is None:
        raise typer.BadParameter("say where to: --c DIR for C99, --wasm DIR for WebAssembly, or --object DIR.")
    if (compiled is None) != (not target):
        raise typer.BadParameter("--object DIR and --target NAME go together.")
    if wasm is not None and (dtype != "float64" or headers):
        raise typer.BadParameter("--dtype and --header are for --c and --object.")
    chosen = function_named(function)
    model = load(robot, floating=floating, packages=packages or [], without=without or [])
    typed: dict[str, Any] = {"dtype": dtype, "headers": headers or ()}
    paths = list[Path]()
    if c is not None:
        paths += export_c(chosen, model, c, frame or None, **typed)
    if compiled is not None:
        paths += export_object(chosen, model, compiled, target, frame or None, **typed)
    if wasm is not None:
        paths += export_wasm(chosen, model, wasm, frame or None)
    if as_json:
        typer.echo(info.as_text({"files": [str(path) for path in paths]}))
        return
    for path in paths:
        typer.echo(f"wrote {path}")


def function_named(name: str) -> Any:
    """A public function of a model and a state."""
    from phistar.model.names import unknown

    functions = functions_of_a_state()
    if name not in functions:
        raise unknown("function of a state", name, functions, "phistar")
    return functions[name]


def functions_of_a_state() -> dict[str, Any]:
    """Every public function of a model and a state, by name."""
    import phistar

    public = {each: getattr(phistar, each) for each in phistar.__all__}
    return {each: found for each, found in public.items() if _is_of_a_state(found)}


def _is_of_a_state(found: Any) -> bool:
    if isinstance(found, type) or not callable(found):
        return False
    return list(inspect.signature(found).parameters)[:2] == ["model", "q"]
