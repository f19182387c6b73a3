"""`phistar export`: a function of a robot as C or WebAssembly."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from phistar.cli import info
from phistar.cli.arguments import Floating, Packages, Robot, Without
from phistar.cli.command_names import functions


def export(
    robot: Robot,
    function: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION",
            autocompletion=functions,
            help="What to compute: forward_dynamics, mass_matrix, jacobian, …",
        ),
    ],
    c: Annotated[
        Path | None, typer.Option("--c", metavar="DIR", help="Folder for C files; made if it is not there.")
    ] = None,
    wasm: Annotated[
        Path | None, typer.Option("--wasm", metavar="DIR", help="Folder for a module of WebAssembly and its loader.")
    ] = None,
    frame: Annotated[
        list[str] | None,
        typer.Option("--frame", metavar="NAME", help="The frame it is about, or where f_ext acts; may be repeated."),
    ] = None,
    floating: Floating = False,
    packages: Packages = None,
    without: Without = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the names of the files as JSON.")] = False,
) -> None:
    """Write a function of a robot as C99 that needs nothing but <math.h>, or as WebAssembly, with an example.

    \b
    Examples:
      phistar export puma560 forward_dynamics --c build/puma
      phistar export arm.urdf jacobian --frame tool --c build/arm
      phistar export puma560 inverse_dynamics --wasm build/page
    """
    from phistar.export import export_c, export_wasm
    from phistar.io import load

    if c is None and wasm is None:
        raise typer.BadParameter("say where to: --c DIR for C99, --wasm DIR for WebAssembly, or both.")
    chosen = function_named(function)
    model = load(robot, floating=floating, packages=packages or [], without=without or [])
    doors = ((export_c, c), (export_wasm, wasm))
    paths = [path for door, folder in doors if folder for path in door(chosen, model, folder, frame or None)]
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
