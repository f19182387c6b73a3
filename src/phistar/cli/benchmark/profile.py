"""Profile of a kernel: its counted vector instructions against the core's best throughput.

Operations per second over the FMA peak cannot say why a kernel is slow: an addition is half a multiply-add, and what
does not fit into the registers goes to memory and back. The bound here is exact: every multiplication and multiply-add
needs one of the units that the peak was measured on, for as long as they could go at that rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import phistar as ps
from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import Target, assembly, host
from phistar.cli.benchmark.benchmark_tasks import DERIVATIVES, FORWARD, INVERSE, MASS, MASS_INVERSE
from phistar.derivatives import RECORDED
from phistar.model import Model

Facts = dict[str, Any]
PROFILED = (FORWARD, INVERSE, MASS, MASS_INVERSE, DERIVATIVES)
SMALL = 10  # degrees of freedom, up to which all is straight-line code


@dataclass(frozen=True)
class Instructions:
    """Instruction counts of one block of states: on the multipliers, separate additions, loads, stores, others."""

    multiplying: int
    adding: int
    loading: int
    storing: int
    others: int

    @property
    def total(self) -> int:
        return self.multiplying + self.adding + self.loading + self.storing + self.others


def profiles(rows: list[Facts], models: dict[str, Model], peak_gflops: float) -> list[Facts]:
    """A profile of each result of a small robot, where this processor's instructions can be told apart."""
    target = host()
    if not target.triple.startswith("x86_64") or target.lanes < 4:
        return []
    chosen = [row for row in rows if 1 < row["dof"] <= SMALL and row["function"] in PROFILED]
    return [_profile(row, models[row["robot"]], target, peak_gflops) for row in chosen]


def _profile(row: Facts, model: Model, target: Target, peak_gflops: float) -> Facts:
    found = count_instructions(assembly(text_of(row["function"], model, target), target))
    together = peak_gflops / 2  # multiplications of single numbers in a nanosecond, at the peak
    least = found.multiplying / together
    return {
        "function": row["function"],
        "robot": row["robot"],
        **asdict(found),
        "total": found.total,
        "ours_ns": row["ours_ns"],
        "bound_ns": least,
        "busy": least / row["ours_ns"],
        "bound_ratio": row["pin_cpp_ns"] / least if row["pin_cpp_ns"] else None,
    }


def text_of(function: str, model: Model, target: Target) -> str:
    """The module that is compiled for a function of a robot."""
    if function in RECORDED:
        recorded = RECORDED[function]
        trace, loops = recorded.trace(model)
        return module_text(trace, recorded.signature(model), target.lanes, target.fma, loops)
    wanted, _ = getattr(ps, function).statements_for(model, ())
    trace, _, signature = wanted.cheapest()
    return module_text(trace, signature, target.lanes, target.fma)


def count_instructions(text: str) -> Instructions:
    """The vector instructions of the kernel's straight-line parts and of its copies between rows and vectors."""
    found = Counter(kind for line in _block(text) for kind in [_kind(*_split_instruction(line))])
    return Instructions(*(found[kind] for kind in ("multiplying", "adding", "loading", "storing", "others")))


def _block(text: str) -> Iterator[str]:
    """Lines of x86 vector instructions, without the functions that serve other than whole blocks of rows."""
    inside = True
    for line in text.splitlines():
        if line and not line[0].isspace() and line.endswith(":") and not line.startswith("."):
            inside = not line.startswith(("loop", "single"))
        if inside and line.startswith("\tv"):
            yield line.split("#")[0].strip()


def _split_instruction(line: str) -> tuple[str, str]:
    name, _, operands = line.partition("\t")
    return name, operands


def _kind(name: str, operands: str) -> str:
    if name.startswith(("vmul", "vfmadd", "vfmsub", "vfnm")):
        return "multiplying"
    if name.startswith(("vadd", "vsub")):
        return "adding"
    if name.startswith(("vmov", "vbroadcast")) and "(" in operands:
        return "storing" if operands.rstrip().endswith(")") else "loading"
    return "others"
