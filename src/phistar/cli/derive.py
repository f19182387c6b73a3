"""`phistar derive`: how the cheapest form of an operator statement is reached, its recursion, and what it costs."""

import ctypes
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console

from phistar.cli import info
from phistar.cli.derivation_page import page
from phistar.errors import FileError, StatementError
from phistar.expression import Algebra, Expression, RobotStatement, algebra
from phistar.identities.derivation import Derivation
from phistar.identities.justify import rewrite_once
from phistar.identities.match import factor_rules, is_definition
from phistar.operators.nodes import Node
from phistar.operators.parse import parse
from phistar.operators.robot_letters import merge_letters
from phistar.operators.show import text
from phistar.operators.symbols import NAMES
from phistar.sweeps.cost import Count, cost_polynomial
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import lower
from phistar.sweeps.patterns import count

LONGEST_SEARCH = 20.0  # seconds; the papers' statements take less than one
SIZES = [7, 100]
SYMBOLS = (*NAMES, "Lambda")


def derive(
    statement: Annotated[
        str, typer.Argument(metavar="STATEMENT", help='Operators joined by @ + - .T .inv, e.g. "J @ inv(mass) @ J.T".')
    ],
    tree: Annotated[bool, typer.Option("--tree", help="Any tree with any frames, not a serial chain.")] = False,
    armature: Annotated[bool, typer.Option("--armature", help="The joints have motor inertia A.")] = False,
    nonredundant: Annotated[
        bool, typer.Option("--nonredundant", help="The arm has no more degrees of freedom than its tip.")
    ] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="Compute the operator itself, not its action.")] = False,
    sizes: Annotated[
        list[int] | None,
        typer.Option("--n", metavar="N", min=1, max=10**9, help="Links to count at; may be repeated (7 and 100)."),
    ] = None,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print the derivation as LaTeX.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write what phistar check reads.")
    ] = None,
    robots: Annotated[
        list[str] | None,
        typer.Option("--robot", metavar="NAME", help="One of several robots; repeat it, and write NAME.J, NAME.mass."),
    ] = None,
) -> None:
    """Simplify an operator statement and show how: each law, the recursion, the cost against the naive way.

    \b
    Examples:
      phistar derive "J @ inv(mass) @ J.T"
      phistar derive "inv(mass) @ (T - C - g)" --tree --armature
      phistar derive "inv(inv(a.Lambda) + inv(b.Lambda))" --robot a --robot b

    \b
    Symbols (or as they are printed: φ, ψ, Ω, ℳ, 𝒞, 𝒢, θ̇ …):
    {symbols}
    """
    if as_latex and as_json:
        raise typer.BadParameter("--latex and --json are two forms of one answer; choose one (JSON holds the LaTeX).")
    if robots:
        if tree or armature or nonredundant or matrix or sizes or as_latex or as_json or certificate:
            raise typer.BadParameter("--robot stands alone: each robot is a chain, and its derivation is printed.")
        with limited_time(LONGEST_SEARCH):
            typer.echo(str(read_robots(statement, robots).derivation()))
        return
    operators = algebra(tree=tree, armature=armature, nonredundant=nonredundant)
    with limited_time(LONGEST_SEARCH):
        expression = read(statement, operators)
        if certificate is not None:
            write_certificate(certificate, expression.derivation(matrix))
        if as_latex:
            typer.echo(expression.derivation(matrix).latex())
            return
        facts = explanation(statement, expression, matrix, sizes or SIZES)
    if as_json:
        typer.echo(info.as_text(facts))
        return
    console = Console()
    console.width = console.width if console.is_terminal else info.WIDTH_WHEN_PIPED
    console.print(page(facts, console.width))


derive.__doc__ = (derive.__doc__ or "").replace("{symbols}", fill(" ".join(SYMBOLS), 72).replace("\n", "\n    "))


def write_certificate(file: Path, derivation: Derivation) -> None:
    """The derivation as JSON that `phistar check` replays."""
    try:
        file.write_text(json.dumps(derivation.certificate(), ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise FileError(f"{file} cannot be written: {error.strerror}.") from None


def read(statement: str, operators: Algebra) -> Expression:
    """The expression that a statement means; an inverse that cannot be is refused where it stands."""
    meanings = {name: getattr(operators, name).node for name in SYMBOLS}

    def check(inverse: Node) -> None:
        try:
            operators.expression(inverse).derivation()
        except StatementError as error:
            raise StatementError(re.sub(r"ps\.algebra\((\w+)=True\)", r"--\1", str(error))) from None

    return operators.expression(parse(statement, meanings, check))


def read_robots(statement: str, names: list[str]) -> RobotStatement:
    """The statement about several abstract robots that a text means."""
    both = algebra(dict.fromkeys(names))
    known = [(robot, name) for robot in names for name in SYMBOLS if name != "I"]
    meanings = {f"{robot}.{name}": both[robot].__getattr__(name).node for robot, name in known}
    return RobotStatement(merge_letters(parse(statement, meanings)), both.robots)


def explanation(statement: str, expression: Expression, matrix: bool, sizes: list[int]) -> dict[str, Any]:
    """Everything the command shows, as plain data."""
    derivation, program = expression.derivation(matrix), expression.program(matrix)
    naive = with_definitions(expression)
    setting, node = expression.setting, expression.node
    return {
        "statement": statement,
        "matrix": matrix,
        "domain": str(node.domain),
        "codomain": str(node.codomain),
        "mechanism": {
            "serial": setting.serial,
            "armature": not setting.no_armature,
            "nonredundant": setting.nonredundant,
        },
        "derivation": derivation.as_dict() | {"steps": steps_of(derivation)},
        "recursion": recursion(expression, matrix),
        "operations": {
            "derived": {"statement": text(derivation.result)} | operations(program, sizes),
            "naive": {"statement": text(naive)} | operations(lower(naive, matrix), sizes),
        },
    }


def steps_of(derivation: Derivation) -> list[dict[str, Any]]:
    """The steps, each with its cost class before and after."""
    rows = derivation.as_dict()["steps"]
    costs = [str(derivation.cost(step.before)) for step in derivation.steps]
    return [row | {"cost_before": before} for row, before in zip(rows, costs)]


def with_definitions(expression: Expression) -> Node:
    """The naive way: physical quantities expressed in operators, every inverse left to a dense solve."""
    symbols, node = expression.symbols, expression.node
    for rule in factor_rules(symbols, expression.setting):
        if is_definition(rule.law.sides(symbols)[0]):
            while (filled := rewrite_once(node, rule.rewrite)) is not None:
                node = filled.node
    return node


def recursion(expression: Expression, matrix: bool) -> dict[str, Any]:
    program = expression.program(matrix)
    return {
        "sweeps": [sweep.direction for sweep in program.passes],
        "inputs": [
            {"name": name, "over": space, "identity": name in program.columns} for name, space in program.inputs
        ],
        "result": program.result_names["y"],
        "algorithm": str(expression.algorithm(matrix)).splitlines(),
    }


def operations(program: Program, sizes: list[int]) -> dict[str, Any]:
    """Counts as polynomials in n, exact from `from_n` links on, and at the sizes asked for."""
    polynomial = cost_polynomial(program)
    shown = [part.rsplit(" ", 1) for part in str(polynomial).split(", ")]
    return {
        "polynomials": {kind: power_sum for power_sum, kind in shown},
        "coefficients": {kind: [str(c) for c in part] for (_, kind), part in zip(shown, polynomial.parts)},
        "from_n": polynomial.from_n,
        "counts": [_count_facts(n, polynomial(n) if n >= polynomial.from_n else count(program, n)) for n in sizes],
    }


def _count_facts(n: int, found: Count) -> dict[str, int]:
    return {
        "n": n,
        "additions": found.adds,
        "multiplications": found.multiplies,
        "divisions": found.divides,
        "total": found.total,
    }


class Expired(BaseException):
    """Raised in the thread of a search whose time is over; as no signal is needed, in a script's background, too."""


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Refuse a statement that the search cannot finish: products of many sums expand without measure."""
    here, expired = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Expired)
    timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, (here, expired))
    timer.daemon = True
    timer.start()
    try:
        yield
    except (Expired, RecursionError):
        raise StatementError(
            "The statement is too long: its expansion does not end in reasonable time. Derive its parts."
        ) from None
    finally:
        timer.cancel()
