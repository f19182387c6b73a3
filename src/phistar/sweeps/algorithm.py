"""A program printed as the papers print recursions: links from tip (1) to base (n), one loop per sweep."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from phistar.sweeps.ir import (
    INWARD,
    BackCongruentParent,
    BackFromChildren,
    BackFromParent,
    BackFromSiblings,
    Call,
    CarriedChildren,
    CongruentChildren,
    CongruentParent,
    CongruentSiblings,
    Data,
    Divide,
    Field,
    FromBase,
    FromChildren,
    FromParent,
    FromRoot,
    FromSiblings,
    FromTask,
    Invert,
    Plus,
    Program,
    SolveFlat,
    SolveStacked,
    Sweep,
    TaskOperator,
    Term,
    Times,
    ToBase,
    ToRoot,
    ToScalar,
    ToTask,
    Transpose,
    subterms,
)

_FUNCTIONS = {
    "pose": "X(k+1) · X_joint(k)",
    "bias_acceleration": "[ω(k+1)×ω(k); ω(k+1)×(ω(k+1)×ℓ(k+1,k))]",
    "rotor_moment": "[ω(k+1)×S(k)θ̇(k); 0]",
    "bias_force": "[ω(k)×I(k)ω(k); m(k) ω(k)×(ω(k)×p(k))]",
    "reference_acceleration": "[ω(k)×h(k)θ̇ᵣ(k); ωᵣ(k+1)×(ω(k+1)×ℓ(k+1,k))]",
    "reference_force": "[ω(k)×(I(k) − ½tr I(k))ωᵣ(k); m(k) ωᵣ(k)×(ω(k)×p(k))]",
    "reference_rotor_moment": "[ω(k+1)×S(k)θ̇ᵣ(k); 0]",
    "reference_turning": "−[ω(k)×ωᵣ(k); ω(k)×vᵣ(k)]",
    "subspace_rate": "Ḣ*(k)",
    "turning": "[H*(k)θ̇(k)]×P⁺(k) + P⁺(k)[H*(k)θ̇(k)]×*",
    "diagonal": "R(k)",
    "coriolis_block": "½(V(k)×*M(k) + [M(k)V(k)]^ − M(k)V(k)~)",
    "own_bracket": "[H*(k)θ̇(k)]~ H*(k)",
    "bias_acceleration_at_frames": "[0; ω×(ω×ℓ(1,0))]",
}


_MOVED = (FromChildren, FromParent, CongruentChildren, CarriedChildren, CongruentParent)
_MOVED += (BackFromParent, BackFromChildren, BackCongruentParent)
_MOVES: dict[type[Term], str] = {
    FromChildren: "φ(k,k−1) {}(k−1)",
    FromParent: "φ*(k+1,k) {}(k+1)",
    CongruentChildren: "φ(k,k−1) {}(k−1) φ*(k,k−1)",
    CarriedChildren: "φ(k,k−1) {}(k−1) φ*(k,k−1)",
    CongruentParent: "φ*(k+1,k) {}(k+1) φ(k+1,k)",
    BackFromParent: "φ(k,k+1) {}(k+1)",
    BackFromChildren: "φ*(k−1,k) {}(k−1)",
    BackCongruentParent: "φ(k,k+1) {}(k+1) φ*(k,k+1)",
    FromSiblings: "Σ φ(k,s) {}(s)",
    BackFromSiblings: "Σ φ*(s,k) {}(s)",
    CongruentSiblings: "Σ φ(k,s) {}(s) φ*(k,s)",
    FromRoot: "π_f*(k) {}",
    ToRoot: "π_f {}",
    FromTask: "B(k) {}",
    FromBase: "E*(k) {}",
    ToTask: "B* {}",
    ToBase: "E {}",
}
"""How what comes from elsewhere is written."""


@dataclass(frozen=True)
class Algorithm:
    """The recursions of a program; `str()` prints them."""

    program: Program

    def __str__(self) -> str:
        lines: list[str] = []
        for sweep in self.program.sweeps:
            lines += _flat(sweep) if sweep.direction == "flat" else _loop(sweep)
        return "\n".join(lines)


def _loop(sweep: Sweep) -> list[str]:
    inward = sweep.direction == INWARD
    end = "(0)" if inward else "(n+1)"
    starts = [f"{name}{end} = 0" for name in _neighbours(sweep)]
    loop = "for k = 1 … n    (inward, tip to base)" if inward else "for k = n … 1    (outward, base to tip)"
    body = [f"    {s.target}(k) = {_show(s.term, True)}" for s in sweep.statements]
    return ["; ".join(starts), loop, *body, "end loop"] if starts else [loop, *body, "end loop"]


def _neighbours(sweep: Sweep) -> list[str]:
    made = {s.target for s in sweep.statements}
    names: dict[str, None] = {}
    stack = [s.term for s in sweep.statements]
    while stack:
        term = stack.pop()
        if isinstance(term, _MOVED) and term.name in made:
            names[term.name] = None
        stack.extend(subterms(term))
    return list(names)


def _flat(sweep: Sweep) -> list[str]:
    return [f"{s.target} = {_show(s.term, False)}" for s in sweep.statements]


def _show(term: Term, at_link: bool) -> str:
    here = "(k)" if at_link else ""
    if type(term) in _MOVES:
        return _MOVES[type(term)].format(getattr(term, "name", ""))
    match term:
        case Data(name=name):
            return f"{name}(k)"
        case Field(name=name):
            return name + here
        case ToScalar(left=left, right=right):
            return f"Σ {left}*(k) {right}(k)"
        case Times(left=left, right=right):
            return f"{_grouped(left, at_link)} {_grouped(right, at_link)}"
        case Transpose(of=Data(name=name) | Field(name=name)):
            return f"{name}*(k)" if at_link else f"{name}*"
        case Transpose(of=inner):
            return f"({_show(inner, at_link)})*"
        case Invert(of=inner):
            return f"{_grouped(inner, at_link)}⁻¹"
        case Divide(left=left, matrix=matrix):
            return f"{_grouped(left, at_link)} {_grouped(matrix, at_link)}⁻¹"
        case Plus(terms=terms):
            return _sum(terms, at_link)
        case Call(function="motion_bracket" | "force_bracket" as function, arguments=(inner,)):
            return f"[{_show(inner, at_link)}]{'~' if function == 'motion_bracket' else '^'}"
        case Call(function=function):
            return _FUNCTIONS[function]
        case TaskOperator(name=name, transposed=transposed, of=inner):
            return f"{name.removesuffix('_task')}{'*' if transposed else ''} {_grouped(inner, at_link)}"
        case SolveFlat(matrix=matrix, right=right):
            return f"SOLVE: {_grouped(matrix, at_link)}⁻¹ {_grouped(right, at_link)}"
        case SolveStacked(matrix=matrix, right=right):
            return f"SOLVE (dense): {matrix}⁻¹ {right}"
    raise AssertionError(term)


def _sum(terms: tuple[tuple[Fraction, Term], ...], at_link: bool) -> str:
    if not terms:
        return "0"
    shown = ""
    for c, term in terms:
        size = "" if abs(c) == 1 else f"{abs(c)}·"
        body = size + (_show(term, at_link) if not isinstance(term, Plus) else f"({_show(term, at_link)})")
        shown += f" {'−' if c < 0 else '+'} {body}" if shown else ("−" if c < 0 else "") + body
    return shown


def _grouped(term: Term, at_link: bool) -> str:
    shown = _show(term, at_link)
    return f"({shown})" if isinstance(term, Plus) else shown
