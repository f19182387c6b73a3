"""Rules of a supervisor as C99: the same switches at the same samples, one call each, without allocation.

Conditions mean in C what they mean in Python: a division by zero makes a condition false, `and` and `or` stop early,
comparisons chain.
"""

from __future__ import annotations

import ast
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phistar.backends.code.c import identifier, plain, variables
from phistar.backends.kernels import number
from phistar.control.supervisor import ALWAYS, Condition, Supervisor
from phistar.errors import FileError

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
SIGNS |= {ast.Eq: "==", ast.NotEq: "!="}
OWN = {
    "quotient": """static double quotient(double x, double y, int *failed)
{
    if (y == 0.0) {
        *failed = 1;
        return 0.0;
    }
    return x / y;
}
""",
    "least": "static double least(double x, double y) { return y < x ? y : x; }\n",
    "greatest": "static double greatest(double x, double y) { return y > x ? y : x; }\n",
}
GIVEN = ("state", "t", "elapsed", "facts")  # to every condition, whether it needs them or not


def export_rules(supervisor: Supervisor, directory: str | os.PathLike[str], name: str = "rules") -> tuple[Path, ...]:
    """Write the rules of a supervisor as C99 that needs nothing but <math.h>.

    NAME.c and NAME.h: `NAME_start(state, t)` once, then `NAME_step(state, t, facts)` at every sample, which gives the
    number of the rule that switched, from 1 on, or 0. It allocates nothing; the header says how many operations a step
    takes at most, and the order of the facts.

    Parameters
    ----------
    supervisor : Supervisor
    directory : path
        Made if it is not there.
    name : str
        NAME.

    Returns
    -------
    tuple of Path
        What was written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rules = {"from": "move", "to": "stop", "when": "speed < 0.01", "for": 0.1, "reason": "it stands still"}
    >>> content = {"format_version": 1, "start": "move", "ends": ["stop"], "rules": [rules]}
    >>> from phistar.control.supervisor import Supervisor
    >>> supervisor = Supervisor.of(content, ["speed"])
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in ps.onboard.export_rules(supervisor, folder)]
    ['rules.c', 'rules.h']
    """
    name, folder, paths = identifier(name), Path(directory), []
    code = RulesCode(supervisor, name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in (("c", code.source()), ("h", code.header())):
            temporary, path = folder / f".{name}.{secrets.token_hex(6)}", folder / f"{name}.{ending}"
            temporary.write_text(text, encoding="utf-8", newline="\n")
            os.replace(temporary, path)
            paths.append(path)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return tuple(paths)


class RulesCode:
    """The C of a supervisor's rules."""

    def __init__(self, supervisor: Supervisor, name: str) -> None:
        self.supervisor, self.name = supervisor, name
        rules = [rule for phase in supervisor.phases for rule in supervisor.rules[phase]]
        self.rules = tuple({id(rule): rule for rule in rules}.values())
        conditions = [part for flag in supervisor.flags for part in (flag.on, flag.off)]
        conditions += [rule.when for rule in self.rules]
        flags = [flag.name for flag in supervisor.flags]
        self.facts = facts_used(conditions, flags)
        self.most = max(map(len, supervisor.rules.values()), default=0) or 1
        safe = variables([*self.facts, *flags], name)
        own = {fact: f"facts[{name}_{text}]" for fact, text in zip(self.facts, safe, strict=False)}
        own |= {flag: f"(double)state->flags[{i}]" for i, flag in enumerate(flags)}
        self.names = {**own, "t": "t", "elapsed": "elapsed"}
        self.safe_facts = safe[: len(self.facts)]
        self.safe_phases = variables(supervisor.phases, name)

    @property
    def operations(self) -> int:
        """The most operations and comparisons of a step."""
        own = sum(_count(part) for flag in self.supervisor.flags for part in (flag.on, flag.off))
        rules = self.supervisor.rules.values()
        return 1 + own + max((sum(_count(rule.when) + 3 for rule in each) for each in rules), default=0)

    def header(self) -> str:
        name, own = self.name, self.supervisor
        facts = [f"    {name}_{text} = {i}," for i, text in enumerate(self.safe_facts)]
        phases = [f"    {name}_phase_{text} = {i}," for i, text in enumerate(self.safe_phases)]
        return "\n".join(
            [
                f"/* {name}: {len(self.rules)} rules over {len(own.phases)} phases; a step takes at most",
                f" * {self.operations} operations and comparisons, and allocates nothing. Written by phistar. */",
                f"#ifndef {name.upper()}_H",
                f"#define {name.upper()}_H",
                "",
                *_enumeration("Entries of `facts`.", [*facts, f"    {name}_facts = {len(facts)}"]),
                *_enumeration("Values of `phase`.", [*phases, f"    {name}_phases = {len(phases)}"]),
                "typedef struct {",
                "    int phase;",
                "    double since; /* when the phase began, s */",
                f"    double holding[{self.most}]; /* since when each rule of the phase has held */",
                f"    int flags[{len(own.flags) or 1}];",
                f"}} {name}_state;",
                "",
                f"extern const char *const {name}_phase_names[{len(own.phases)}];",
                f"extern const char *const {name}_reasons[{len(self.rules) + 1}]; /* by what {name}_step gives */",
                "",
                f"void {name}_start({name}_state *state, double t);",
                f"int {name}_step({name}_state *state, double t, const double *facts);",
                "",
                f"#endif /* {name.upper()}_H */",
                "",
            ]
        )

    def source(self) -> str:
        name, own = self.name, self.supervisor
        conditions = [each for flag in own.flags for each in (flag.on, flag.off)] + [rule.when for rule in self.rules]
        text = "\n".join(self._condition(i, each) for i, each in enumerate(conditions))
        kept = [function for called, function in OWN.items() if f"{called}(" in text]
        lines = ["#include <math.h>", "", f'#include "{name}.h"', "", *kept]
        lines += _texts(f"{name}_phase_names", own.phases)
        lines += _texts(f"{name}_reasons", ["", *(rule.reason for rule in self.rules)])
        lines += [text, *self._starting(), *self._stepping()]
        return "\n".join(lines) + "\n"

    def _condition(self, index: int, given: Condition) -> str:
        body = truth(ast.parse(given.text.strip(), mode="eval").body, self.names)
        head = f"static int condition{index}(const {self.name}_state *state, double t, double elapsed,"
        lines = [head, "    const double *facts)", "{", "    int failed = 0;", f"    const int holds = {body};"]
        lines += [f"    (void){each};" for each in GIVEN]
        return "\n".join([*lines, "    return holds && !failed;", "}", ""])

    def _starting(self) -> list[str]:
        own, name = self.supervisor, self.name
        clear = [f"    for (i = 0; i < {len(own.flags) or 1}; i++) state->flags[i] = 0;"]
        return [
            f"static void enter({name}_state *state, int phase, double t)",
            "{",
            "    int i;",
            "    state->phase = phase;",
            "    state->since = t;",
            f"    for (i = 0; i < {self.most}; i++) state->holding[i] = HUGE_VAL;",
            "}",
            "",
            f"void {name}_start({name}_state *state, double t)",
            "{",
            "    int i;",
            *clear,
            f"    enter(state, {own.phases.index(own.start_phase)}, t);",
            "}",
            "",
        ]

    def _stepping(self) -> list[str]:
        own, name, call = self.supervisor, self.name, "(state, t, elapsed, facts)"
        lines = [f"int {name}_step({name}_state *state, double t, const double *facts)", "{"]
        lines += ["    const double elapsed = t - state->since;", "    double held;"]
        for i in range(len(own.flags)):
            chosen = f"state->flags[{i}] ? !condition{2 * i + 1}{call} : condition{2 * i}{call}"
            lines.append(f"    state->flags[{i}] = {chosen};")
        lines.append("    switch (state->phase) {")
        for phase, rules in ((phase, own.rules[phase]) for phase in own.phases):
            lines.append(f"    case {own.phases.index(phase)}:")
            for k, rule in enumerate(rules):
                index = next(i for i, each in enumerate(self.rules) if each is rule)
                lines += [
                    f"        held = state->holding[{k}];",
                    f"        held = condition{2 * len(own.flags) + index}{call} ? (t < held ? t : held) : HUGE_VAL;",
                    f"        if (t - held >= {number(rule.lasting - 1e-9)}) {{",
                    f"            enter(state, {own.phases.index(rule.after)}, t);",
                    f"            return {index + 1};",
                    "        }",
                    f"        state->holding[{k}] = held;",
                ]
            lines.append("        break;")
        return [*lines, "    default:", "        break;", "    }", "    (void)held;", "    return 0;", "}"]


def facts_used(conditions: Sequence[Condition], flags: Sequence[str]) -> tuple[str, ...]:
    """The facts in some conditions, in the order in which they come."""
    names = dict.fromkeys(name for each in conditions for name in each.names)
    return tuple(name for name in names if name not in (*ALWAYS, *flags))


def truth(node: ast.expr, names: dict[str, str]) -> str:
    """A condition as an int of C."""
    match node:
        case ast.BoolOp(op=op, values=values):
            sign = " && " if isinstance(op, ast.And) else " || "
            return f"({sign.join(truth(each, names) for each in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"!{truth(operand, names)}"
        case ast.Compare(left=left, ops=ops, comparators=others):
            terms = [value(each, names) for each in (left, *others)]
            pairs = zip(terms, ops, terms[1:], strict=False)
            return f"({' && '.join(f'({a} {SIGNS[type(op)]} {b})' for a, op, b in pairs)})"
    return f"({value(node, names)} != 0.0)"


def value(node: ast.expr, names: dict[str, str]) -> str:
    """A term of a condition as a double of C."""
    match node:
        case ast.Constant(value=constant):
            return _literal(constant)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{value(operand, names)})"
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"quotient({value(left, names)}, {value(right, names)}, &failed)"
        case ast.BinOp(left=left, op=op, right=right):
            return f"({value(left, names)} {SIGNS[type(op)]} {value(right, names)})"
        case ast.Call(func=ast.Name(id="abs"), args=[only]):
            return f"fabs({value(only, names)})"
        case ast.Call(func=ast.Name(id=called), args=[first, *rest]):
            made, function = value(first, names), {"min": "least", "max": "greatest"}[called]
            for each in rest:
                made = f"{function}({made}, {value(each, names)})"
            return made
        case ast.BoolOp(op=op, values=[first, *rest]):
            made, after = value(first, names), rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
            chosen = (value(after, names), "0.0") if isinstance(op, ast.And) else (made, value(after, names))
            return f"({made} != 0.0 ? {chosen[0]} : {chosen[1]})"
    return f"({truth(node, names)} ? 1.0 : 0.0)"


def _literal(constant: Any) -> str:
    try:
        found = float(constant)
    except OverflowError:
        raise FileError(f"The rules have the number {constant!r:.40}…, which no double of C holds.") from None
    return number(found) if math.isfinite(found) else "HUGE_VAL"


def _count(condition: Condition) -> int:
    """Operations and comparisons of a condition."""
    tree = ast.parse(condition.text.strip(), mode="eval")
    counted = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Call, ast.Compare)
    several = {ast.BoolOp: "values", ast.Compare: "comparators", ast.Call: "args"}
    found = [node for node in ast.walk(tree) if isinstance(node, counted)]
    return sum(len(getattr(node, several[type(node)])) if type(node) in several else 1 for node in found)


def _enumeration(about: str, lines: Sequence[str]) -> list[str]:
    return [f"enum {{ /* {about} */", *lines, "};", ""]


def _texts(name: str, texts: Sequence[str]) -> list[str]:
    quoted = ['    "' + plain(text).replace('"', '\\"') + '",' for text in texts]
    return [f"const char *const {name}[{len(texts)}] = {{", *quoted, "};", ""]
