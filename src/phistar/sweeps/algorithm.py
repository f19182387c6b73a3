"""A program printed as the papers print recursions: links from tip (1) to base (n), one loop per sweep."""

from __future__ import annotations

import re
from dataclasses import dataclass

from phistar.operators.own import shown_name
from phistar.sweeps import ir
from phistar.sweeps.evaluate import Domain, Terms, evaluate
from phistar.sweeps.ir import (
    INWARD,
    ZERO,
    Call,
    Combined,
    Move,
    Program,
    SolveStacked,
    Statement,
    Sweep,
    Term,
    Times,
    ToBase,
    ToRoot,
    ToScalar,
    ToTask,
    is_sent,
    subterms,
)
from phistar.sweeps.primitives import PRIMITIVES
from phistar.sweeps.regions import Column, Gathered, PairProgram, Pairs, Spread

_MOVES = {
    (ir.CHILDREN, ir.FORCE): "φ(k,k−1) {}(k−1)",
    (ir.CHILDREN, ir.MOTION): "φ*(k−1,k) {}(k−1)",
    (ir.CHILDREN, ir.INERTIA): "φ(k,k−1) {}(k−1) φ*(k,k−1)",
    (ir.CHILDREN, ir.CARRIED): "φ(k,k−1) {}(k−1) φ*(k,k−1)",
    (ir.PARENT, ir.MOTION): "φ*(k+1,k) {}(k+1)",
    (ir.PARENT, ir.FORCE): "φ(k,k+1) {}(k+1)",
    (ir.PARENT, ir.COMPLIANCE): "φ*(k+1,k) {}(k+1) φ(k+1,k)",
    (ir.PARENT, ir.INERTIA): "φ(k,k+1) {}(k+1) φ*(k,k+1)",
    (ir.SIBLINGS, ir.FORCE): "Σ φ(k,s) {}(s)",
    (ir.SIBLINGS, ir.MOTION): "Σ φ*(s,k) {}(s)",
    (ir.SIBLINGS, ir.INERTIA): "Σ φ(k,s) {}(s) φ*(k,s)",
    (ir.ROOT, ir.COPY): "π_f*(k) {}",
    (ir.FRAMES, ir.FORCE): "B(k) {}",
    (ir.BASE, ir.MOTION): "E*(k) {}",
}
"""How what comes from elsewhere is written."""
_SENT_ON: dict[type[Term], str] = {ToRoot: "π_f {}", ToTask: "B* {}", ToBase: "E {}"}


@dataclass(frozen=True)
class Algorithm:
    """The recursions of a program; `str()` prints them."""

    program: Program | PairProgram

    def __str__(self) -> str:
        text, program = _Text(), self.program
        if isinstance(program, Program):
            evaluate(program, text)
            return "\n".join(text.lines)
        evaluate(program.sweeps, text)
        return "\n".join([*text.lines, *(line for region in program.regions for line in _region(region))])

    def _repr_latex_(self) -> str:
        return "$$\n\\begin{array}{l}\n" + " \\\\\n".join(map(_typeset, str(self).splitlines())) + "\n\\end{array}\n$$"


def _region(region: Pairs) -> list[str]:
    """A loop over pairs of link k and the columns of link j, in one frame."""
    way = "for k = 1 … n    (inward" if region.direction == INWARD else "for k = n … 1    (outward"
    lines, text = (
        [f"{way}, with columns of each link j, in one frame)"],
        _Text(frozenset(x.name for x in region.fields)),
    )
    places = (("    k carries j: ", "outboard"), ("    j carries k: ", "inboard"), ("    any j: ", "everywhere"))
    for x in region.fields:
        shown = [
            (place, text.value(term, "(k)").text) for place, way in places if (term := getattr(x, way)) is not ZERO
        ]
        lines += [f"{place}{x.name}(k,j) = {value}" for place, value in shown]
        if x.own:
            lines.append(f"    j = k: {x.name}(k,k) {'+' if x.everywhere is not ZERO else ''}= {x.own}(k)")
    return [*lines, "end loop"]


_SIGNS = {"⁻¹": "^{-1}", "⁻": "^{-}", "⁺": "^{+}", "−": "-", "*": "^{*}", "…": r"\dots", "·": r"\cdot ", "_": r"\_"}


def _typeset(line: str) -> str:
    """A printed line as LaTeX; words stay words."""
    indent = r"\qquad " * ((len(line) - len(line.lstrip())) // 4)
    words = re.sub(r"[A-Za-z]{3,}(?:[ ,]+[A-Za-z]{2,})*", lambda word: rf"\text{{ {word.group()} }}", line.strip())
    return indent + "".join(_SIGNS.get(sign, sign) for sign in re.split("(⁻¹|.)", words) if sign)


@dataclass(frozen=True)
class _Shown:
    """A term as it is written; a sum takes brackets inside a product, a name takes its star before the (k)."""

    text: str
    is_sum: bool = False
    name: str = ""

    @property
    def in_brackets(self) -> str:
        return f"({self.text})" if self.is_sum else self.text


class _Text(Domain):
    """Lines of text; the one site is link k, or none between sweeps. `pairs`: fields that have columns of link j."""

    def __init__(self, pairs: frozenset[str] = frozenset()) -> None:
        self.lines: list[str] = []
        self.pairs = pairs

    def sites(self, sweep: Sweep) -> tuple[str, ...]:
        return ("",) if sweep.direction == "flat" else ("(k)",)

    def begin(self, sweep: Sweep) -> None:
        if sweep.direction == "flat":
            return
        inward = sweep.direction == INWARD
        starts = [f"{name}{'(0)' if inward else '(n+1)'} = 0" for name in _neighbours(sweep)]
        self.lines += ["; ".join(starts)] if starts else []
        loop = "for k = 1 … n    (inward, tip to base)" if inward else "for k = n … 1    (outward, base to tip)"
        self.lines.append(loop)

    def leave(self, sweep: Sweep, at: str) -> None:
        self.lines += ["end loop"] if at else []

    def put(self, statement: Statement, at: str, value: _Shown) -> None:
        self.lines.append(f"{'    ' if at else ''}{statement.target}{at} = {value.text}")

    def get(self, name: str, at: str) -> _Shown:
        return _Shown(f"{name}(k,j)" if name in self.pairs else name + at, name=name)

    def data(self, name: str, at: str) -> _Shown:
        return _Shown(f"{shown_name(name)}(k)", name=name)

    def product(self, left: _Shown, right: _Shown, term: Times, at: str, half: bool) -> _Shown:
        return _Shown(f"{left.in_brackets} {right.in_brackets}")

    def total(self, terms: Terms, half: bool) -> _Shown:
        shown = "" if terms else "0"
        for c, x in terms:
            size = "" if abs(c) == 1 else f"{abs(c)}·"
            shown += (" − " if c < 0 else " + ") if shown else "−" if c < 0 else ""
            shown += size + x.in_brackets
        return _Shown(shown, is_sum=True)

    def transpose(self, x: _Shown) -> _Shown:
        return _Shown(f"{x.name}*{x.text.removeprefix(x.name)}" if x.name else f"({x.text})*")

    def invert(self, x: _Shown) -> _Shown:
        return _Shown(f"{x.in_brackets}⁻¹")

    def divide(self, x: _Shown, matrix: _Shown) -> _Shown:
        return _Shown(f"{x.in_brackets} {matrix.in_brackets}⁻¹")

    def apply(self, function: str, arguments: list[_Shown], at: str) -> _Shown:
        return _Shown(PRIMITIVES[function].show([x.text for x in arguments]))

    def operator(self, name: str, transposed: bool, x: _Shown) -> _Shown:
        return _Shown(f"{name.removesuffix('_task')}{'*' if transposed else ''} {x.in_brackets}")

    def solve(self, matrix: _Shown, right: _Shown, symmetric: bool) -> _Shown:
        return _Shown(f"SOLVE: {matrix.in_brackets}⁻¹ {right.in_brackets}")

    def move(self, term: Term, at: str) -> _Shown:
        match term:
            case ToScalar(left=left, right=right):
                return _Shown(f"Σ {left}*(k) {right}(k)")
            case Combined(left=left, right=right):
                return _Shown(f"{left}(k) {right}")
            case Gathered(operator=operator, transposed=transposed, name=name):
                return _Shown(f"Σ {shown_name(operator)}{'*' if transposed else ''}(k) {name}(k)")
            case Spread(operator=operator, transposed=transposed, name=name):
                return _Shown(f"{shown_name(operator)}{'*' if transposed else ''}(k) {name}")
            case SolveStacked(matrix=matrix, right=right):
                return _Shown(f"SOLVE (dense): {matrix}⁻¹ {right}")
            case Call(function=function):
                return _Shown(PRIMITIVES[function].text)
            case Column(name=name):
                return _Shown(f"{name}(j)")
            case Move(source=source, name=name, is_plain=True) if name in self.pairs:
                return _Shown(f"{name}(k{'−' if source == ir.CHILDREN else '+'}1,j)")
            case Move(source=source, act=act, name=name):
                return _Shown(_MOVES[source, act].format(name))
        return _Shown(_SENT_ON[type(term)].format(getattr(term, "name", "")))


def _neighbours(sweep: Sweep) -> list[str]:
    made = {s.target for s in sweep.statements}
    names: dict[str, None] = {}
    stack = [s.term for s in sweep.statements]
    while stack:
        term = stack.pop()
        if is_sent(term, ir.CHILDREN, ir.PARENT) and term.name in made:
            names[term.name] = None
        stack.extend(subterms(term))
    return list(names)
