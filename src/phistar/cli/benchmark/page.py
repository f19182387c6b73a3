"""A run (measure.py) as tables for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from phistar.cli.benchmark.measure import ESTIMATED

Facts = dict[str, Any]
BUSY = 0.5  # other processes wanting the cores, per core, above which figures are not to be trusted
STYLES = {"reached": "green", "missed": "red"}


def page(facts: Facts) -> RenderableType:
    return Group(*_sections(facts))


def _sections(facts: Facts) -> Iterator[RenderableType]:
    yield from _heading(facts)
    for function in dict.fromkeys(row["function"] for row in facts["results"]):
        rows = [row for row in facts["results"] if row["function"] == function]
        yield Group(Text(), Text(f"ps.{function}", style="bold"), _results(rows))
    if facts["single"]:
        yield Group(Text(), Text("One state at a time: ps.forward_dynamics, ns a call", style="bold"), _single(facts))
    if facts["calls"]:
        yield calls_page(facts["calls"])
    if facts["float32"]:
        yield Group(Text(), Text("float32 against float64, ns a state", style="bold"), _short_floats(facts["float32"]))
    if facts["chains"]:
        yield Group(Text(), Text("Long chains: ps.forward_dynamics", style="bold"), _chains(facts))
    yield from _threads(facts)
    yield from _profiles(facts)
    yield from _targets(facts)
    yield from _notes(facts)


def _heading(facts: Facts) -> Iterator[RenderableType]:
    machine = facts["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    yield Text.assemble(
        (machine["processor"], "bold"),
        f"   {machine['cores']} cores · {machine['cpu']} · {machine['lanes']} states a vector · "
        f"FMA peak {facts['peak_gflops']:.1f} GFlop/s a core",
    )
    yield Text(f"Python {machine['python']}, {versions}", style="dim")
    if machine["load"] is not None and machine["load"] > BUSY * machine["cores"]:
        yield Text(
            f"The machine was busy (load {machine['load']:.1f} on {machine['cores']} cores): figures are rough.",
            style="yellow",
        )


def _results(rows: list[Facts]) -> Table:
    """One row per robot; columns that would be empty are left out."""
    cells = {heading: [cell(row) for row in rows] for heading, cell in COLUMNS.items()}
    shown = [heading for heading in COLUMNS if any(cells[heading])]
    table = _table([(heading.strip(), "left" if heading == "robot" else "right") for heading in shown])
    for index in range(len(rows)):
        table.add_row(*(cells[heading][index] for heading in shown))
    return table


def _single(facts: Facts) -> Table:
    columns = ["ps.compile", "×", "gufunc", "×", "public", "×", "pin.aba", "mj_forward"]
    table = _table([("robot", "left"), *((name, "right") for name in columns)])
    for row in facts["single"]:
        ours = [text(row[f"{name}_{kind}"]) for name in _WAYS for kind, text in (("ns", time), ("ratio", _ratio))]
        table.add_row(row["robot"], *ours, time(row.get("pin_python_ns")), time(row.get("mujoco_ns")))
    return table


def _short_floats(rows: list[Facts]) -> Table:
    columns = ["float64", "float32", "×", "bound", "lost"]
    table = _table([("function", "left"), ("robot", "left"), *((name, "right") for name in columns)])
    for row in rows:
        digits = [f"{row[name]:.1e}" if row[name] is not None else "refused" for name in ("error", "lost")]
        table.add_row(
            row["function"], row["robot"], time(row["wide_ns"]), time(row["short_ns"]), _ratio(row["ratio"]), *digits
        )
    return table


def calls_page(rows: list[Facts]) -> RenderableType:
    """One row per function; for each robot our time and how many times Pinocchio's Python call for the same takes it.
    Then the function of each robot that does worst."""
    table = _table([("function", "left"), *((name, "right") for row in rows for name in (row["robot"], "×"))])
    found = {row["robot"]: {call["function"]: call for call in row["calls"]} for row in rows}
    for function in dict.fromkeys(name for calls in found.values() for name in calls):
        cells = []
        for call in (calls.get(function, {}) for calls in found.values()):
            cells += [time(call.get("ours_ns")), _ratio(call.get("ratio"))]
        table.add_row(function, *cells)
    worst = [_worst(row) for row in rows]
    title = Text("One state at a time: every public function, ns a call", style="bold")
    return Group(Text(), title, table, Text(f"Worst: {'; '.join(text for text in worst if text)}."))


def _worst(row: Facts) -> str:
    known = [call for call in row["calls"] if call["ratio"] is not None]
    if not known:
        return ""
    least = min(known, key=lambda call: call["ratio"])
    below = sum(call["ratio"] < 1.5 for call in known)
    return f"{row['robot']}, {least['function']} {least['ratio']:.2f}× ({below} of {len(known)} below 1.5)"


_WAYS = ("handle", "gufunc", "public")


def _chains(facts: Facts) -> Table:
    table = _table([("links", "right"), ("ns a link", "right"), ("over the shortest", "right")])
    shortest = facts["chains"][0]["per_link_ns"]
    for row in facts["chains"]:
        table.add_row(f"{row['links']:,}", f"{row['per_link_ns']:.1f}", f"{row['per_link_ns'] / shortest:.2f}")
    return table


def _threads(facts: Facts) -> Iterator[RenderableType]:
    yield Text()
    for row in facts["threads"]:
        if row["ratio"] is None:
            yield Text(f"Two threads: not measured, this process may use {row['cores']} core.")
        else:
            yield Text(
                f"Two threads: {row['robot']}, {row['batch']:,} states of forward dynamics, "
                f"{time(row['one_ns'])} → {time(row['two_ns'])} ns a state, {row['ratio']:.2f}×"
            )


def _profiles(facts: Facts) -> Iterator[RenderableType]:
    if not facts["profiles"]:
        return
    numbers = ["× + fma", "+ −", "load", "store", "other", "ours ns", "least ns", "busy", "× pin at least ns"]
    table = _table([("function", "left"), ("robot", "left"), *((name, "right") for name in numbers)])
    for row in facts["profiles"]:
        counts = [f"{row[kind]:,}" for kind in ("multiplying", "adding", "loading", "storing", "others")]
        times = [time(row["ours_ns"]), time(row["bound_ns"]), f"{row['busy']:.0%}", _ratio(row["bound_ratio"])]
        table.add_row(row["function"], row["robot"], *counts, *times)
    title = f"Where the time goes: vector instructions for {facts['machine']['lanes']} states"
    yield Group(Text(), Text(title, style="bold"), table)


def _targets(facts: Facts) -> Iterator[RenderableType]:
    measured = [row for row in facts["targets"] if row["reached"] is not None]
    others = [row["what"] for row in facts["targets"] if row["reached"] is None]
    if measured:
        table = _table([("", "left"), ("goal", "right"), ("reached", "right"), ("", "left")])
        for row in measured:
            goal = f"{'≤' if row['at_most'] else '≥'} {_amount(row['goal'], row['unit'])}"
            verdict = Text(row["verdict"], style=STYLES[row["verdict"]])
            table.add_row(row["what"], goal, _amount(row["reached"], row["unit"]), verdict)
        yield Group(Text(), Text("Targets", style="bold"), table)
    if others:
        yield Text(f"\nTargets not measured in this run: {'; '.join(others)}.", style="dim")


def _notes(facts: Facts) -> Iterator[RenderableType]:
    yield Text()
    for note in facts["notes"]:
        yield Text(note, style="dim")
    for problem in facts["problems"]:
        yield Text(f"Left out: {problem}", style="dim")


def _amount(value: float, unit: str) -> str:
    if unit == "s":
        return _seconds(value)
    return f"{value:.3g}{unit}"


def time(nanoseconds: float | None) -> str:
    if nanoseconds is None:
        return ""
    return f"{nanoseconds:.1f}" if nanoseconds < 100 else f"{nanoseconds:,.0f}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _cpp(row: Facts) -> str:
    """Pinocchio's C++ time, marked where it is an estimate."""
    mark = "≈" if row["pin_cpp_is"] == ESTIMATED else ""
    return mark + time(row["pin_cpp_ns"]) if row["pin_cpp_ns"] else ""


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f} s" if value >= 0.1 else f"{1e3 * value:.1f} ms"


def _format_scaled(row: Facts, name: str, factor: float, form: str) -> str:
    return "" if row[name] is None else form.format(factor * row[name])


def _table(columns: list[tuple[str, str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for heading, justify in columns:
        table.add_column(heading, justify="right" if justify == "right" else "left", no_wrap=True)
    return table


# Headings that look alike differ by spaces.
COLUMNS: dict[str, Callable[[Facts], str]] = {
    "robot": lambda row: row["robot"],
    "dof": lambda row: f"{row['dof']:,}",
    "ours ns": lambda row: time(row["ours_ns"]),
    "pin C++": _cpp,
    "×": lambda row: _ratio(row["pin_cpp_ratio"]),
    "Python": lambda row: time(row["pin_python_ns"]),
    "× ": lambda row: _ratio(row["pin_python_ratio"]),
    "MuJoCo": lambda row: time(row["mujoco_ns"]),
    "×  ": lambda row: _ratio(row["mujoco_ratio"]),
    "ops": lambda row: _format_scaled(row, "operations", 1, "{:,}"),
    "peak": lambda row: _format_scaled(row, "peak_fraction", 1, "{:.0%}"),
    "first": lambda row: _seconds(row["first_call_s"]),
    "cached": lambda row: _seconds(row["cached_call_s"]),
    "code": lambda row: _format_scaled(row, "code_bytes", 1e-3, "{:,.0f} kB"),
}
