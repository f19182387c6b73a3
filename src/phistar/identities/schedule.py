"""Assignment of values to sweeps: neighbours that run the same way along the mechanism share one.

Sweeps alternate inward and outward. A memoryless operation runs in the sweep of its argument; a recursion needs a sweep
of its own direction no earlier than its argument's; task-space and dense operations happen between sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from phistar.identities.graph import TRANSITION, memoryless_letters
from phistar.identities.graph_values import Apply, Blocks, Operand, Solve, Total, Value, arguments, walk
from phistar.identities.polynomial import letters
from phistar.operators.meanings import GIVEN, INWARD, LOCAL, OUTWARD, POSE, Recursion, recursion_of
from phistar.operators.nodes import Adjoint, Inverse, Node, Symbol
from phistar.operators.own import is_own_vector
from phistar.operators.rate_letters import AXES_AXIAL, AXIAL, is_recursive_rate
from phistar.operators.spaces import RANKS
from phistar.operators.symbols import Symbols

FLAT = "flat"
LATER = "later"  # in any sweep after the one that makes the argument: siblings do not wait for each other

_RECURSIVE = {"phi", "psi", "E_phi", TRANSITION}
_BACKWARD = {"phi_b", "E_phi_b"}
_OF_VELOCITIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("a", "b", "b_r"), ("V",)),
    **dict.fromkeys(("a_ref", "b_ref", "b_r_ref", "n_ref"), ("V", "V_ref")),
}
_FLAT_SPACES = {"task", "base", "root", "closures", "scalars", *RANKS}


@dataclass(frozen=True)
class Schedule:
    """`sweeps[i]` is the direction of sweep i; `when` gives a value's sweep, i + ½ for what follows sweep i."""

    sweeps: tuple[str, ...]
    when: dict[Value, float]
    fields: dict[Recursion, float]


def symbol_of(letter: Node) -> Symbol:
    inner = letter.of if isinstance(letter, Adjoint | Inverse) else letter
    assert isinstance(inner, Symbol), letter
    return inner


@cache
def direction(value: Value) -> str:
    """Direction in which a value is computed along the mechanism."""
    if isinstance(value, Apply):
        name = symbol_of(value.letter).name
        if name in _RECURSIVE:
            return OUTWARD if isinstance(value.letter, Adjoint) else INWARD
        if name in _BACKWARD:
            return INWARD if isinstance(value.letter, Adjoint) else OUTWARD
        if name == "E_s":
            return LATER
        return FLAT if value.space.over in _FLAT_SPACES else LOCAL
    if isinstance(value, Solve):
        return FLAT
    return FLAT if value.space.over in _FLAT_SPACES else LOCAL  # type: ignore[attr-defined]


@cache
def field_needs(symbol: Symbol) -> list[Recursion]:
    """The recursions that define the blocks of a symbol, in order."""
    if is_recursive_rate(symbol):
        return _rate_needs(symbol)
    if symbol.name in ("B", "a0"):
        return [*(field_needs(Symbols().V) if symbol.name == "a0" else []), POSE]
    if symbol.name in _OF_VELOCITIES:
        return [x for name in _OF_VELOCITIES[symbol.name] for x in field_needs(getattr(Symbols(), name))]
    own = recursion_of(symbol)
    if own is None:
        return []
    at_frames = len(own.of) > 1 and any(isinstance(x, Symbol) and x.name == "B" for x in letters(own.of[0]))
    others = (x for part in own.of for x in letters(part) if isinstance(x, Symbol) and recursion_of(x) is not None)
    before = [x for other in (*others, *own.after) for x in field_needs(other)]
    return list(dict.fromkeys([*([POSE] if at_frames else []), *before, own]))


def _rate_needs(symbol: Symbol) -> list[Recursion]:
    """The recursion of a symbol, and the same differentiated; Ω's also asks for that of G and D."""
    inner, along = symbol.of[:2]
    assert isinstance(inner, Symbol) and isinstance(along, Symbol)
    found: list[Recursion] = []
    for need in field_needs(inner):
        found += [need] if need is POSE else [need, replace(need, along=along)]
    return found


def schedule(roots: tuple[Value, ...]) -> Schedule:
    """The assignment with the fewest sweeps; both first directions are tried."""
    values = list(dict.fromkeys(value for root in roots for value in walk(root)))
    return min((_schedule(roots, values, first) for first in (OUTWARD, INWARD)), key=lambda s: len(s.sweeps))


def _schedule(roots: tuple[Value, ...], values: list[Value], first: str) -> Schedule:
    when: dict[Value, float] = {}
    fields: dict[Recursion, float] = {}

    def at(earliest: float, way: str) -> float:
        sweep = int(earliest + 0.5)
        if way == LOCAL:
            return sweep
        other = OUTWARD if first == INWARD else INWARD
        return sweep if way == (first if sweep % 2 == 0 else other) else sweep + 1

    for value in values:
        ready = max((when[x] for x in arguments(value)), default=0.0)
        for symbol in _symbols_in(value):
            ready_field = 0.0
            for need in field_needs(symbol):
                ready_field = max(ready_field, fields.setdefault(need, at(ready_field, need.way)))
            ready = max(ready, ready_field)
        way = direction(value)
        if isinstance(value, Operand) or (isinstance(value, Total) and not value.terms and way == LOCAL):
            when[value] = 0.0
        elif way == FLAT:
            when[value] = int(ready + 0.5) - 0.5 if ready != int(ready) else ready + 0.5
            if _is_input(value):
                when[value] = 0.0
        elif way == LOCAL:
            when[value] = int(ready + 0.5)
        elif way == LATER:
            given = isinstance(value, Apply) and (isinstance(value.argument, Operand) or _is_input(value.argument))
            when[value] = int(ready + 0.5) if given else int(ready) + 1
        else:
            when[value] = at(ready, way)
    _sink(roots, values, when, first)
    count = int(max([0.0, *when.values(), *fields.values()])) + 1
    second = OUTWARD if first == INWARD else INWARD
    return Schedule(tuple(first if i % 2 == 0 else second for i in range(count)), when, fields)


def _symbols_in(value: Value) -> list[Symbol]:
    """The symbols whose blocks a value reads."""
    if isinstance(value, Blocks):
        return memoryless_letters(value.node)
    if not isinstance(value, Apply):
        return []
    symbol = symbol_of(value.letter)
    if symbol.name == TRANSITION:
        return [x for part in symbol.of for x in memoryless_letters(part)]
    return memoryless_letters(symbol.of[0]) if symbol.name in (AXIAL, AXES_AXIAL) else [symbol]


def _sink(roots: tuple[Value, ...], values: list[Value], when: dict[Value, float], first: str) -> None:
    """Memoryless values, and those shifted by one link the way the sweep runs, move to the one later sweep that reads
    them, where their terms can merge with the reader's."""
    readers: dict[Value, set[float]] = {}
    for value in reversed(values):
        times = readers.get(value, set())
        solved = isinstance(value, Apply) and isinstance(value.letter, Inverse)  # ν = D⁻¹ε belongs to the filter
        moves = direction(value) == LOCAL and not isinstance(value, Operand)
        if (moves or _is_shift(value)) and len(times) == 1 and not solved:
            (later,) = times
            runs = first if later % 2 == 0 else OUTWARD if first == INWARD else INWARD
            if later == int(later) and value not in roots and (moves or runs == direction(value)):
                when[value] = later
        for argument in arguments(value):
            fixed = {-1.0} if direction(value) == LATER else set()  # has to be ready before the sweep of its reader
            readers.setdefault(argument, set()).update({when[value], *fixed})


def _is_shift(value: Value) -> bool:
    return isinstance(value, Apply) and symbol_of(value.letter).name == "E_phi"


def _is_input(value: Value) -> bool:
    """A vector given from outside, known before the first sweep."""
    symbol = symbol_of(value.letter) if isinstance(value, Apply) else None
    return symbol is not None and ((symbol.name in GIVEN and "vector" in symbol.traits) or is_own_vector(symbol))
