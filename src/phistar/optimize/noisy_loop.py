"""Noisy motions with their cost as one kernel: noise goes in, costs come out, and nothing of the motions is written.

An item is the noise of GROUP pairs of motions, (steps, controls, GROUP); the second motion of a pair has the noise of
the first with the other sign. Both are made while their noise is in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from phistar.backends.code.sincos import turning_module
from phistar.backends.code.state_loop import entry
from phistar.backends.code.straight_line import Body
from phistar.backends.code.timeloop import (
    Phase,
    TimeLoop,
    most_slots,
    phase_body,
    rooms_of,
    store_clock,
    write_phase,
)
from phistar.backends.kernels import F64, Code, Func, Local, Module, llvm_text

GROUP = 8  # pairs of motions whose noise lies side by side: the most lanes that there are


@dataclass(frozen=True)
class NoisySignature:
    """(x),(t),(m),(z),(g)->(2·GROUP): the first state, times, mean controls (t − 1)·nu, noise (t − 1)·nu·GROUP and
    parameters; the costs of GROUP motions, then of those that mirror them. Rows are contiguous."""

    inputs: tuple[str, ...] = ("x", "t", "m", "z", "g")
    outputs: tuple[tuple[str, ...], ...] = ((str(2 * GROUP),),)
    text: str = f"(x),(t),(m),(z),(g)->({2 * GROUP})"
    kind: str = "f64"


@dataclass(frozen=True)
class NoisyLoop:
    """Steps of motions whose row of a step is [noise; mean controls; sign of the noise], and what notes their cost."""

    loop: TimeLoop
    end: Phase
    controls: int

    @property
    def operations(self) -> int:
        """Arithmetic instructions per step."""
        return self.loop.operations

    def text(self, lanes: int, fma: bool) -> str:
        """The whole module; `loop` is the gufunc's inner loop."""
        bodies = self.loop.bodies(lanes, fma) | {"end": phase_body("end", self.end, self.loop.memory, lanes, fma)}
        loop = Module((self._function(lanes, bodies),))
        return llvm_text(turning_module(lanes).with_(*(body.module() for body in bodies.values()), loop))

    def _function(self, lanes: int, bodies: Mapping[str, Body]) -> Func:
        code = entry()
        items, times = code["dimensions"].load(), code["dimensions"].at(2).load()
        strides = [code["steps"].at(number).load() for number in range(6)]
        bases = [code["args"].at(number).load(kind=F64.to) for number in range(6)]
        places, held = rooms_of(code, self.loop.memory, most_slots(bodies), lanes)
        with code.loop(0, items) as item:
            arrays = [base.bytes(item * stride) for base, stride in zip(bases, strides, strict=True)]
            with code.loop(0, GROUP, lanes) as lane, code.loop(0, 2) as side:
                self._begin(code, arrays, places, held, side, lanes)
                with code.loop(0, times - 1) as k:
                    self._read_row(code, arrays, held, k, lane, lanes)
                    self.loop.write_step(code, places, k, bodies)
                write_phase(code, bodies["end"], places, (places["y"], places["z"]), (0.0, 0.0))
                cost = held["noted"].load(lanes, 8 * lanes)
                arrays[5].at(side * GROUP + lane).store(cost)
        return code.function

    def _begin(
        self,
        code: Code,
        arrays: list[Local],
        places: Mapping[str, Local],
        held: Mapping[str, Local],
        side: Local,
        lanes: int,
    ) -> None:
        """The first state, parameters and sign, which all lanes share."""
        memory = self.loop.memory
        with code.loop(0, memory.n) as e:
            value = arrays[0].at(e).load().every(lanes)
            for place in (places["x"].at(e * lanes), places["y"].at(e * lanes), places["y"].at((e + memory.n) * lanes)):
                place.store(value, 8 * lanes)
        with code.loop(0, memory.gains) as e:
            held["gains"].at(e * lanes).store(arrays[4].at(e).load().every(lanes), 8 * lanes)
        sign = code.number(1.0) - side.floating() * 2.0
        held["row"].at(2 * self.controls * lanes).store(sign.every(lanes), 8 * lanes)

    def _read_row(
        self, code: Code, arrays: list[Local], held: Mapping[str, Local], k: Local, lane: Local, lanes: int
    ) -> None:
        """Time, noise and mean controls of a step."""
        now, then = (arrays[1].at(k + more).load().every(lanes) for more in (0, 1))
        store_clock(held["clock"], now, then, lanes)
        row, nu = held["row"], self.controls
        with code.loop(0, nu) as e:
            noise = arrays[3].at((k * nu + e) * GROUP + lane).load(lanes)
            row.at(e * lanes).store(noise, 8 * lanes)
            row.at((e + nu) * lanes).store(arrays[2].at(k * nu + e).load().every(lanes), 8 * lanes)
