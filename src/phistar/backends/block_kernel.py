"""Kernels of programs of calls over blocks (`block_calls.py`): a loop over a table of calls, states in lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phistar.backends.code.memory_places import NUMBER, VECTOR, MemoryPlaces, Spot
from phistar.backends.code.sincos import turning_module
from phistar.backends.code.straight_line import Body
from phistar.backends.kernel import Kernel
from phistar.backends.kernels import F64, Func, Module, Value, llvm_text
from phistar.backends.machine import cache
from phistar.backends.machine.jit import Signature, Source, gufunc, host, machine_code
from phistar.backends.rolled.block_calls import CONSTANT, CallProgram, Kind
from phistar.backends.rolled.code import HELD, SMALL, WRITING
from phistar.backends.rolled.link_loops import Calls, Sizes, count, loop_functions, stage_code, table
from phistar.backends.traces.order import few_alive
from phistar.backends.traces.trace import INPUT
from phistar.spatial.value import digest


def compile_calls(
    name: tuple[Any, ...], make: Any, signature: Signature, title: str, outputs: tuple[str, ...]
) -> Kernel:
    """The kernel of the program that `make()` records, known by `name`: its tables are found on disk, or made."""
    target = host()
    lanes = target.lanes
    key = cache.key("calls", name, lanes)
    found, program = cache.load(key, cache.PROGRAM), None
    if found is None:
        program = make()
        tables = _tables(program, 2 * lanes)
        header = {"code": _digest(program).hex(), "operations": program.operations, "width": _width(program)}
        header["tables"] = [(x.dtype.str, x.shape) for x in tables]
        cache.store(key, header, b"".join(x.tobytes() for x in tables), cache.PROGRAM)
    else:
        header, tables = found[0], _read(*found)

    def source() -> Source:
        return Source(_text(program or make(), header["width"], signature, lanes, target.fma), quick=True)

    axes = [len(shape) for shape in signature.shapes]
    made_from = header["code"], header["width"], axes, len(signature.inputs), lanes
    _, code = machine_code("calls", made_from, target, source)
    function = gufunc(code, signature, title, f"{title}, compiled as calls over blocks.", tables)
    return Kernel(function, (), outputs, header["operations"], signature.outputs, (), signature.inputs)


def _read(header: dict[str, Any], data: bytes) -> list[np.ndarray]:
    found, start = [], 0
    for kind, shape in header["tables"]:
        size = int(np.prod(shape))
        found.append(np.frombuffer(data, kind, size, start).reshape(shape).copy())
        start += found[-1].nbytes
    return found


def _digest(program: CallProgram) -> bytes:
    return digest([(repr(kind.trace), kind.loads, kind.stores) for kind in program.kinds])


def _width(program: CallProgram) -> int:
    """Columns of the table of calls: kind, constants, blocks."""
    return 2 + max(len(_pointers(kind)) for kind in program.kinds)


def _pointers(kind: Kind) -> list[tuple[str, int]]:
    """The blocks that a kind reads or writes: ("in" or "out", position)."""
    read = {kind.loads[number][0] for op, number, _ in kind.trace.code if op == INPUT} - {CONSTANT}
    return [("in", at) for at in sorted(read)] + [("out", at) for at in sorted({at for at, _ in kind.stores})]


def _tables(program: CallProgram, lanes: int) -> list[np.ndarray]:
    """The tables of a robot, in the order of `link_loops.TABLES`, then the places of the arrays' entries."""
    pointers = [_pointers(kind) for kind in program.kinds]
    places, room = _place_blocks(program, pointers)
    numbers = sorted({x for row in program.outputs for x in row if isinstance(x, float)})
    fixed = {x: room + i for i, x in enumerate(numbers)}
    arrays = [[places[x[0]] + x[1] for x in row] for row in program.inputs]
    arrays += [
        [places[x[0]] + x[1] if isinstance(x, tuple) else fixed[float(x)] for x in row] for row in program.outputs
    ]
    rows = np.zeros((len(program.calls), _width(program)), dtype=np.int64)
    starts = np.cumsum([0, *(len(call.constants) for call in program.calls)])
    for number, call in enumerate(program.calls):
        taken = [(call.taken if way == "in" else call.made)[at] for way, at in pointers[call.kind]]
        rows[number, :2] = call.kind, starts[number]
        rows[number, 2 : 2 + len(taken)] = [lanes * places[block] for block in taken if block is not None]
    counts = [len(rows), room + len(numbers), 0, len(numbers), *map(len, arrays), *map(len, arrays)]
    none, at = np.zeros(1, dtype=np.uint32), lambda x: (lanes * np.array(x, dtype=np.int64)).astype(np.uint32)
    own = np.array([x for call in program.calls for x in (*call.constants,)] + [0.0])
    return [
        np.array(counts, dtype=np.int64),
        rows.astype(np.uint32),
        own,
        none,
        np.zeros(1),
        none,
        at([*(fixed[x] for x in numbers), 0]),
        np.array([*numbers, 0.0]),
        *(at([*x, 0]) for x in arrays),
    ]


def _place_blocks(program: CallProgram, pointers: list[list[tuple[str, int]]]) -> tuple[dict[int, int], int]:
    """The first cell of each block that is used, and how many there are: a block's cells are used again once it was
    read for the last time, so that what is handed on stays in the caches."""
    last: dict[int, int] = {}
    for number, call in enumerate(program.calls):
        for way, at in pointers[call.kind]:
            block = (call.taken if way == "in" else call.made)[at]
            if block is not None:
                last[block] = number
    always = {x[0] for row in (*program.inputs, *program.outputs) for x in row if isinstance(x, tuple)}
    places, room, free = dict[int, int](), 0, dict[int, list[int]]()
    for block in sorted(always):
        places[block], room = room, room + program.sizes[block]
    for number, call in enumerate(program.calls):
        for block in call.made:
            if block in last and block not in places:
                size = program.sizes[block]
                if free.get(size):
                    places[block] = free[size].pop()
                else:
                    places[block], room = room, room + size
        for block in {*call.taken, *call.made}:
            if block is not None and last.get(block) == number and block not in always:
                free.setdefault(program.sizes[block], []).append(places[block])
    return places, room


@dataclass(frozen=True)
class CallStage:
    """The functions of each kind of call, as `loop_functions` puts them into a loop over the table of calls."""

    kinds: tuple[Calls, ...]
    width: int

    def function(self, number: int, sizes: Sizes) -> Func:
        code = stage_code(number)
        rows, constants, work = table(code, "links"), table(code, "constants"), code["work"]
        with code.loop(0, count(code, "n")) as k:
            row = rows.at(k * self.width)

            def put(calls: Calls) -> None:
                known = {"constant": constants.at(row.at(1).load())} if "constant" in calls.pointers else {}
                blocks = [name for name in calls.pointers if name != "constant"]
                known |= {name: work.at(row.at(2 + i).load()) for i, name in enumerate(blocks)}
                calls.put(code, 0, sizes, known)

            code.switch(row.at(0).load(), [partial(put, calls) for calls in self.kinds])
        return code.function


def _text(program: CallProgram, width: int, signature: Signature, lanes: int, fma: bool) -> str:
    bodies, kinds, scratch = list[Module](), list[Calls](), 1
    for number, kind in enumerate(program.kinds):
        ordered, names = few_alive(kind.trace, fma), []
        for wide in (lanes, 2 * lanes) if len(kind.trace.code) <= SMALL else (lanes,):
            held = HELD[wide // lanes] * (1 + (lanes > 4))
            places = _memory(kind, 2 * lanes, wide)
            body = Body(f"kind{number}lanes{wide}part", ordered, places, wide, fma, held, WRITING, sums_of_angles=True)
            bodies.append(body.module())
            names.append(body.names)
            scratch = max(scratch, body.slot_count)
        given = tuple(str(value.name) for value in _memory(kind, 2 * lanes, lanes).parameters)
        kinds.append(Calls("calls", (names[0],), tuple(names[1:]), given))
    sizes = Sizes(2 * lanes, scratch, 1, 0, 1, None)
    axes = [len(shape) for shape in signature.shapes]
    functions = loop_functions([CallStage(tuple(kinds), width)], axes, len(signature.inputs), sizes)
    return llvm_text(turning_module(lanes, 2 * lanes).with_(*bodies, Module(tuple(functions))))


def _memory(kind: Kind, room: int, lanes: int) -> MemoryPlaces:
    """Loads and stores of vectors of so many of the memory's lanes."""
    pointers = _pointers(kind)
    names = {pointer: f"block{i}" for i, pointer in enumerate(pointers)}
    constants = any(kind.loads[number][0] == CONSTANT for op, number, _ in kind.trace.code if op == INPUT)
    given = [Value("constant", F64.read)] if constants else []
    given += [Value(names[pointer], F64.to) for pointer in pointers]
    loads = [
        Spot("constant", 8 * cell, NUMBER)
        if at == CONSTANT
        else Spot(names.get(("in", at), ""), 8 * room * cell, VECTOR)
        for at, cell in kind.loads
    ]
    stores = [Spot(names["out", at], 8 * room * cell, VECTOR) for at, cell in kind.stores]
    return MemoryPlaces(tuple(given), loads, stores, lanes)
