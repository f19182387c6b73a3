"""The loop of a rollout: pack a block of states, step through time, write every state out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phistar.backends.kernels import F64, I64, Code, Func, Local, copy_function, kernel_ir

if TYPE_CHECKING:
    from phistar.backends.code.timeloop import TimeSignature


@dataclass(frozen=True)
class TimeArray:
    """An array of a rollout: its place, the bytes from state to state, from time to time, and between its entries."""

    base: Local
    state: Local
    step: Local
    entry: Local


@dataclass(frozen=True)
class TimeArrays:
    """How many states and steps there are, and the arrays by name."""

    states: Local
    steps: Local
    arrays: dict[str, TimeArray]


def entry() -> Code:
    """`void loop(char **args, intp *dimensions, intp *steps, void *data)`, as NumPy calls it."""
    code = Code("loop", args=kernel_ir.TABLES, dimensions=I64.read, steps=I64.read, data=kernel_ir.TABLES)
    code.inner = False
    return code


def time_arrays(code: Code, signature: TimeSignature, rates: Local | int) -> TimeArrays:
    """Addresses and strides of the arrays as NumPy passes them; a step advances one entry of the times, and `rates`
    entries of the joint forces or other inputs of each step."""
    names, found = [*signature.names, "qs", "vs"], {}
    dimensions, steps = code["dimensions"], code["steps"]
    position = len(names)
    for number, name in enumerate(names):
        base, state = code["args"].at(number).load(kind=F64.to), steps.at(number).load()
        first = steps.at(position).load()
        position += 1
        if name in ("qs", "vs"):
            found[name] = TimeArray(base, state, first, steps.at(position).load())
            position += 1
        else:
            found[name] = TimeArray(base, state, first * rates if name == "c" else first, first)
    times = dimensions.at(1 + signature.dimensions.index("t")).load()
    return TimeArrays(dimensions.load(), times - 1, found)


def loop_functions(
    signature: TimeSignature, step: Callable[[Code, dict[str, Local], Local], None], scratch: int, lanes: int
) -> list[Func]:
    """`loop` and what it calls; `step` writes the step of a number."""
    memory, code, align = signature.memory, entry(), 8 * lanes
    room, count = memory.given
    given = time_arrays(code, signature, count)
    rooms = {"x": memory.n, "y": 2 * memory.n, "z": 2 * memory.n, "held": memory.held_size, "scratch": scratch}
    places = {name: code.room(max(n, 1) * lanes, align) for name, n in rooms.items()}
    held = {name: places["held"].at(lanes * start) for name, start in memory.held.items()}
    sizes = {"q": memory.nq, "v": memory.nv}
    last = given.states - 1

    with code.loop(0, given.states, lanes) as first:

        def copied(function: str, name: str, size: int, place: Local, at: Local | int = 0) -> None:
            x = given.arrays[name]
            base = x.base if isinstance(at, int) else x.base.bytes(at * x.step)
            code.call(function, base, x.state, x.entry * size, x.entry, size, size, place, first, last)

        for name, start in (("q", 0), ("v", memory.nq)):
            for place, more in (("x", 0), ("y", 0), ("y", memory.n)):
                copied("pack", name, sizes[name], places[place].at(lanes * (start + more)))
            copied("unpack", f"{name}s", sizes[name], places["x"].at(lanes * start))
        if memory.gains:
            copied("pack", "g", memory.gains, held["gains"])
        with code.loop(0, given.steps) as k:
            copied("pack", "t", 2, held["clock"], k)
            now, then = held["clock"], held["clock"].at(lanes)
            then.store(then.load(lanes, align) - now.load(lanes, align), align)
            if signature.controls:
                copied("pack", "c", count, held[room], k)
            step(code, places, k)
            for name, start in (("q", 0), ("v", memory.nq)):
                copied("unpack", f"{name}s", sizes[name], places["x"].at(lanes * start), k + 1)
    return [*(copy_function(name, lanes, placed=False) for name in ("pack", "unpack")), code.function]
