"""`fill`: the outputs that are the same for every state, put where they belong in packed memory.

Loops over tables, because thousands of stores in straight-line code take a compiler seconds. Zeros that lie together,
as in the columns of joints that do not move a frame, are cleared at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from phistar.backends.kernels import F64, I64, Code, Func, Table

SHORTEST_RUN = 4  # zeros that are worth to be cleared together


def fill_function(constants: Mapping[int, float], lanes: int) -> tuple[list[Table], Func]:
    """The function of `out` and its tables; `constants` are numbers by their entries."""
    runs = zero_runs(constants)
    cleared = {entry for start, count in runs for entry in range(start, start + count)}
    others = {entry: value for entry, value in constants.items() if entry not in cleared}
    code, tables = Code("fill", out=F64.to), []
    if runs:
        starts, counts = zip(*runs, strict=True)
        tables += [Table("starts", I64, tuple(lanes * x for x in starts))]
        tables += [Table("lengths", I64, tuple(8 * lanes * x for x in counts))]
        first, length = (code.table(name, I64.read) for name in ("starts", "lengths"))
        with code.loop(0, len(runs)) as k:
            code.clear(code["out"].at(first.at(k).load()), length.at(k).load())
    if others:
        tables += [Table("places", I64, tuple(lanes * x for x in others))]
        tables += [Table("numbers", F64, tuple(others.values()))]
        places, numbers = code.table("places", I64.read), code.table("numbers", F64.read)
        with code.loop(0, len(others)) as k:
            code["out"].at(places.at(k).load()).store(numbers.at(k).load().every(lanes), 8 * lanes)
    return tables, code.function


def zero_runs(constants: Mapping[int, float]) -> list[tuple[int, int]]:
    """First entries and lengths of zeros that lie together; −0 is none."""
    runs: list[tuple[int, int]] = []
    for entry in sorted(entry for entry, value in constants.items() if str(value) == "0.0"):
        if runs and sum(runs[-1]) == entry:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((entry, 1))
    return [run for run in runs if run[1] >= SHORTEST_RUN]
