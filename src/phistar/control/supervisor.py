"""Supervisor of control laws: phases, and rules over facts that lead from one to the next, as readable data.

    [flags]
    left1 = {on = "left_tip1 > 1.0", off = "left_tip1 < 0.3"}

    [[rules]]
    from = "approach"
    to = "contact"
    when = "position_error < 0.010 and speed < 0.01"
    for = 0.1
    reason = "both hands keep still in front of their faces"

A fact is a number with a name. A flag comes on and goes off at its own marks, and is 1 or 0 in what comes after it.
`when` must hold without a break `for` so many seconds; of several rules the first that does decides. `t` and `elapsed`,
the time in this phase, are facts always. Steps are pure: a state goes in, a state and the switches made come out.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

from phistar.control.sampled import Switch
from phistar.errors import FileError
from phistar.model.names import unknown
from phistar.safe_files import MEGABYTE, parse_toml, read_text

FORMAT_VERSION = 1
LARGEST = MEGABYTE
ALWAYS = ("t", "elapsed")
FUNCTIONS = {"abs": abs, "min": min, "max": max}
NEVER = float("inf")  # since when a rule has held that does not
_NODES = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Compare,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Eq,
    ast.NotEq,
    ast.Call,
    ast.Name,
    ast.Load,
    ast.Constant,
)


@dataclass(frozen=True)
class Condition:
    """An expression over facts: `text` as it was written, the `names` in it in order."""

    text: str
    names: tuple[str, ...]
    code: CodeType

    def holds(self, facts: Mapping[str, Any]) -> bool:
        """Whether it does; a division by zero, or of what is too large, is no."""
        try:
            return bool(eval(self.code, _GLOBALS, facts))  # names, numbers and the nodes above: see `condition`
        except ArithmeticError:
            return False


_GLOBALS: dict[str, Any] = {"__builtins__": {}, **FUNCTIONS}


class Rule(NamedTuple):
    """A transition from any of `before` to `after`, taken when `when` has held for `lasting` seconds."""

    before: tuple[str, ...]
    after: str
    when: Condition
    lasting: float
    reason: str


class Flag(NamedTuple):
    """Comes on where `on` holds, goes off where `off` does, and stays as it is between."""

    name: str
    on: Condition
    off: Condition


class State(NamedTuple):
    """The phase and since when, the flags, and since when each rule of the phase has held."""

    phase: str
    since: float
    flags: tuple[bool, ...]
    holding: tuple[float, ...]


@dataclass(frozen=True)
class Supervisor:
    """Rules, checked: every phase can be reached, and left unless it is an end."""

    phases: tuple[str, ...]
    start_phase: str
    ends: tuple[str, ...]
    flags: tuple[Flag, ...]
    rules: Mapping[str, tuple[Rule, ...]]  # by the phase they lead out of

    @staticmethod
    def load(path: str | os.PathLike[str], facts: Iterable[str]) -> Supervisor:
        """The rules of a TOML file; `facts` are the names they may use."""
        content = parse_toml(read_text(path, "a file of rules in TOML", LARGEST), str(path), "a file of rules")
        return Supervisor.of(content, facts, str(path))

    @staticmethod
    def of(content: Mapping[str, Any], facts: Iterable[str], where: str = "The rules") -> Supervisor:
        """The rules as a TOML file has them."""
        content = dict(content)
        version = content.pop("format_version", None)
        if version != FORMAT_VERSION:
            raise FileError(f"{where}: format_version is {version!r}; this phistar reads {FORMAT_VERSION}.")
        start, ends = content.pop("start", None), content.pop("ends", [])
        marks, tables = content.pop("flags", {}), content.pop("rules", [])
        if content:
            raise FileError(f"{where}: {next(iter(content))!r} is not known; there are start, ends, flags and rules.")
        if not isinstance(start, str):
            raise FileError(f"{where}: `start` names the first phase; it is {start!r:.100}.")
        if not isinstance(ends, list | tuple) or not all(isinstance(name, str) for name in ends):
            raise FileError(f"{where}: `ends` is a list of names of phases; it is {ends!r:.100}.")
        if not isinstance(marks, Mapping) or not isinstance(tables, list | tuple):
            raise FileError(f"{where}: flags are a table, [flags], and rules a list of tables, [[rules]].")
        known = [*ALWAYS, *facts]
        flags = tuple(_flag(name, value, known, where) for name, value in marks.items())
        known += [flag.name for flag in flags]
        rules = [_rule(table, known, f"{where}, rule {i + 1}") for i, table in enumerate(tables)]
        return _build_supervisor(start, tuple(ends), flags, rules, where)

    def start(self, t: float = 0.0) -> State:
        """State in the first phase, with every flag off."""
        return State(self.start_phase, t, (False,) * len(self.flags), self._fresh(self.start_phase))

    def _fresh(self, phase: str) -> tuple[float, ...]:
        return (NEVER,) * len(self.rules.get(phase, ()))

    def step(self, state: State, t: float, facts: Mapping[str, float]) -> tuple[State, Switch | None]:
        """The state after a look at the facts at t, and the switch made, if any."""
        known: dict[str, Any] = {**facts, "t": t, "elapsed": t - state.since}
        flags = []
        for flag, was in zip(self.flags, state.flags, strict=True):
            flags.append(not flag.off.holds(known) if was else flag.on.holds(known))
            known[flag.name] = flags[-1]
        own, holding = self.rules.get(state.phase, ()), []
        for rule, since in zip(own, state.holding, strict=True):
            held = min(since, t) if rule.when.holds(known) else NEVER
            if t - held >= rule.lasting - 1e-9:
                after = State(rule.after, t, tuple(flags), self._fresh(rule.after))
                return after, Switch(t, state.phase, rule.after, _reason(rule, known))
            holding.append(held)
        return State(state.phase, state.since, tuple(flags), tuple(holding)), None


def _reason(rule: Rule, facts: Mapping[str, float]) -> str:
    """The rule's own words and the numbers that decided."""
    numbers = ", ".join(f"{name} {float(facts[name]):.4g}" for name in rule.when.names)
    return f"{rule.reason} ({numbers})" if numbers else rule.reason


def condition(text: Any, known: Iterable[str], where: str) -> Condition:
    """A condition read: names of facts, numbers, comparisons, and, or, not, + − * /, abs, min, max; nothing else."""
    if not isinstance(text, str):
        raise FileError(f'{where}: a condition is text such as "speed < 0.01"; it is {text!r:.100}.')
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FileError(f"{where}: the condition {text!r:.200} cannot be read.") from None
    known, names = list(known), []
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in ast.walk(tree):
        if not isinstance(node, _NODES) or (isinstance(node, ast.Constant) and not _is_number(node.value)):
            raise FileError(
                f"{where}: {ast.unparse(node)!r:.100} cannot stand in a condition ({text!r:.200}); it may have facts, "
                "numbers, comparisons, and, or, not, + - * /, abs, min, max."
            )
        if isinstance(node, ast.Call) and not _is_known_call(node):
            raise FileError(f"{where}: {ast.unparse(node)!r:.100} is not known; there are abs(a), min(a, b, …), max.")
        if isinstance(node, ast.Name) and node not in called:
            if node.id not in known:
                raise FileError(f"{where}: {unknown('fact', node.id, known, repr(text))}")
            names.append((node.col_offset, node.id))
    ordered = tuple(dict.fromkeys(name for _, name in sorted(names)))
    return Condition(text, ordered, compile(tree, where, "eval"))


def _is_known_call(node: ast.Call) -> bool:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    plain = name in FUNCTIONS and not node.keywords
    return plain and (len(node.args) == 1 if name == "abs" else len(node.args) > 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flag(name: str, value: Any, known: list[str], where: str) -> Flag:
    where = f"{where}, flag {name!r}"
    if not isinstance(value, Mapping) or set(value) != {"on", "off"}:
        raise FileError(f"{where}: a flag has two conditions, on and off; it was given {value!r:.100}.")
    if name in known:
        raise FileError(f"{where}: there is a fact of this name already.")
    return Flag(name, condition(value["on"], known, where), condition(value["off"], known, where))


def _rule(table: Any, known: list[str], where: str) -> Rule:
    allowed = {"from", "to", "when", "for", "reason"}
    if not isinstance(table, Mapping) or not {"from", "to", "when", "reason"} <= set(table) <= allowed:
        raise FileError(f"{where}: a rule has from, to, when, reason and, if it must last, for; it is {table!r:.200}.")
    before, lasting = table["from"], table.get("for", 0.0)
    before = tuple(before) if isinstance(before, list | tuple) else (before,)
    if not before or not all(isinstance(text, str) and text for text in (*before, table["to"], table["reason"])):
        raise FileError(f"{where}: from and to are names of phases, reason is a sentence; it is {table!r:.200}.")
    if not _is_number(lasting) or not 0.0 <= lasting < NEVER:
        raise FileError(f"{where}: `for` is a time in seconds, 0 or more; it is {lasting!r:.100}.")
    return Rule(before, table["to"], condition(table["when"], known, where), float(lasting), table["reason"])


def _build_supervisor(
    start: str, ends: tuple[str, ...], flags: tuple[Flag, ...], rules: list[Rule], where: str
) -> Supervisor:
    named = [name for rule in rules for name in (*rule.before, rule.after)]
    phases = tuple(dict.fromkeys([start, *named, *ends]))
    own = {phase: tuple(rule for rule in rules if phase in rule.before) for phase in phases}
    reached, ahead = {start}, [start]
    while ahead:
        new = {rule.after for rule in own[ahead.pop()]} - reached
        reached |= new
        ahead += new
    for phase in phases:
        if phase not in reached:
            raise FileError(f"{where}: no rule leads from {start!r} to the phase {phase!r}.")
        if not own[phase] and phase not in ends:
            raise FileError(f"{where}: no rule leads out of the phase {phase!r}; list it in `ends`, or add one.")
        if own[phase] and phase in ends:
            raise FileError(f"{where}: {phase!r} is listed in `ends`, but a rule leads out of it.")
    return Supervisor(phases, start, ends, flags, own)
