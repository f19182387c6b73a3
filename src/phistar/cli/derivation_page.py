"""The facts about a statement (derive.py) as a page for a person."""

from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Facts = dict[str, Any]

WIDE = 100  # columns from which the laws find room beside the statements


def page(facts: Facts, width: int) -> RenderableType:
    """The statement, its derivation, its recursion, its operations."""
    derivation = _derivation(facts["derivation"], width >= WIDE)
    return Group(*_heading(facts), Text(), *derivation, Text(), *_recursion(facts), Text(), *_operations(facts))


def _heading(facts: Facts) -> Iterator[RenderableType]:
    vector = facts["domain"] == "Scalars"
    spaces = f"a vector in {facts['codomain']}" if vector else f"{facts['domain']} → {facts['codomain']}"
    yield Text.assemble((facts["derivation"]["start"]["statement"], "bold"), "   ", (spaces, "dim"))
    yield Text(mechanism(facts["mechanism"]), style="dim")


def mechanism(facts: Facts) -> str:
    """Assumptions open to the laws."""
    shape = "Serial chain with one task frame, at its tip" if facts["serial"] else "Any tree, with any task frames"
    motors = "joints with armature" if facts["armature"] else "joints without armature"
    return f"{shape}; {motors}" + ("; no more dofs than the tip has." if facts["nonredundant"] else ".")


def _derivation(facts: Facts, wide: bool) -> Iterator[RenderableType]:
    yield Text("Derivation", style="bold")
    start, steps = facts["start"], facts["steps"]
    if not steps:
        yield Text(f"  {start['statement']}   {start['cost']}")
        yield Text("  No law makes this cheaper.")
        return
    laws = [("law", "left"), ("citation", "left")] if wide else []
    table = _table(("step", "right"), ("", "left"), *laws, ("cost", "right"))
    table.add_row("", f"  {start['statement']}", *("" for _ in laws), start["cost"])
    for number, step in enumerate(steps, start=1):
        shown = Text(f"= {step['statement']}", "bold" if number == len(steps) else "")
        source = [step["law"], step["citation"].replace("; ", "\n")] if wide else []
        if not wide:
            shown.append("\n  " + ", ".join(filter(None, (step["law"], step["citation"]))), "not bold dim")
        table.add_row(str(number), shown, *source, f"{step['cost_before']} → {step['cost']}")
    yield table


def _recursion(facts: Facts) -> Iterator[RenderableType]:
    recursion = facts["recursion"]
    count = len(recursion["sweeps"])
    ways = f" ({', '.join(recursion['sweeps'])})" if count else ""
    title = f"Recursion: {count} sweep{'' if count == 1 else 's'}{ways}"
    yield Text.assemble((title, "bold"), ("   " + "; ".join(_terms_of_use(recursion)), "dim"))
    for line in recursion["algorithm"]:
        yield Text(f"  {line}", overflow="fold")


def _terms_of_use(recursion: Facts) -> Iterator[str]:
    """Inputs and result of a recursion."""
    given = [item["name"] for item in recursion["inputs"] if not item["identity"]]
    unit = [item["name"] for item in recursion["inputs"] if item["identity"]]
    if given:
        yield f"given {', '.join(given)}"
    if unit:
        yield f"{', '.join(unit)} is the identity"
    yield f"result {recursion['result']}"


def _operations(facts: Facts) -> Iterator[RenderableType]:
    derived, naive = facts["operations"]["derived"], facts["operations"]["naive"]
    wanted = "the operator as a matrix" if facts["matrix"] else "one value"
    yield Text(f"Operations for {wanted}, on a serial chain of n revolute links", style="bold")
    kinds = [(name, "right") for name in derived["polynomials"]]
    sizes = [(f"n = {item['n']:,}", "right") for item in derived["counts"]]
    table = _table(("", "left"), *kinds, *sizes)
    if derived["statement"] == naive["statement"]:
        table.add_row("as written", *_counts(derived))
        yield table
        return
    table.add_row("derived", *_counts(derived))
    table.add_row("naive", *_counts(naive))
    ratios = [_ratio(a["total"], b["total"]) for a, b in zip(derived["counts"], naive["counts"])]
    table.add_row("naive : derived", *("" for _ in kinds), *ratios)
    yield table
    yield Text(f"  naive: {naive['statement']} as it stands, inverses by dense solves", style="dim")


def _counts(operations: Facts) -> list[str]:
    return [*operations["polynomials"].values(), *(f"{item['total']:,}" for item in operations["counts"])]


def _ratio(derived: int, naive: int) -> str:
    return f"{naive / derived:,.1f}" if derived else "∞" if naive else "1.0"


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim")
    for heading, justify in columns:
        table.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    return table
