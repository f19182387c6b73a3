"""A trace over packed copies of rows: the unrolled kernel.

A block of states is packed, entry by entry with one state per lane, by small transposes; the straight-line code then
loads and stores whole vectors. One statement per entry instead of three per entry and lane: tables of derivatives
compile in a fraction of the time that row pointers take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from phistar.backends.choice import DECODED, FAR_CODE, SLOW_TO_COMPILE
from phistar.backends.code.sincos import nearer_inputs, turning_module
from phistar.backends.code.state_loop import loop_functions
from phistar.backends.code.straight_line import LOADED, Body, PackedPlaces
from phistar.backends.code.unsolved import Loops
from phistar.backends.kernels import (
    COPIED_IN_LINE,
    I64,
    Code,
    Func,
    Local,
    Module,
    Rows,
    Tile,
    Type,
    Value,
    copy_function,
    copy_one_function,
    fill_function,
    llvm_text,
    tiles,
    vector,
)
from phistar.backends.machine.jit import Signature, size
from phistar.backends.machine.python_entries import entries_module
from phistar.backends.traces.order import ORDERED_AS_WRITTEN, few_alive
from phistar.backends.traces.trace import DIV, Trace, angle_inputs, depth_first, restrict

ABREAST = 4  # blocks that take turns
HOLDING = 3.0, 5.0, 8.0  # how much longer registers may keep what is written nowhere (`residence`'s `writing`)
MOST_WRITTEN = 64  # entries of a table whose copies to its rows are written out; of more, they take long to compile
MOST_PLACED = 256  # entries of a sparse table that are put into a single row one by one
MOST_TURNS = 64  # steps that take turns in one function


def module_text(trace: Trace, signature: Signature, lanes: int, fma: bool, loops: Loops | None = None) -> str:
    """The whole module; `loop` is the gufunc's inner loop. A trace may make more than the outputs: what follows them is
    for the loops that finish them."""
    return llvm_text(kernel_module(trace, signature, lanes, fma, loops))


def kernel_module(trace: Trace, signature: Signature, lanes: int, fma: bool, loops: Loops | None = None) -> Module:
    """The functions of a kernel and what they read."""
    places = [i for i, constant in enumerate(trace.output_is_constant) if not constant]
    kind, entry = vector(lanes, signature.kind), Type(signature.kind)
    body = planned_body(trace, places, sum(signature.inputs), kind, fma)
    made = loops.made if loops else ()
    constants = {
        i: float(trace.outputs[i]) for i, fixed in enumerate(trace.output_is_constant) if fixed and i not in made
    }
    blocks = Blocks(body, tuple(places), len(trace.outputs), signature, lanes, loops, constants)
    tables, fill = fill_function(constants, lanes, entry)
    copies = [copy_function(name, lanes, placed=False, entry=entry) for name in ("pack", "unpack")]
    copies += [copy_one_function(name, lanes, entry) for name in ("pack", "unpack")]
    loop = Module(tuple(loop_functions(signature, lanes * blocks.abreast)))
    called = Module((*copies, fill), tuple(tables))
    doors = entries_module(signature, batches=True)
    return turning_module(lanes, kind=signature.kind).with_(called, blocks.parts(), blocks.module(), loop, doors)


def planned_body(trace: Trace, places: Sequence[int], inputs: int, kind: Type, fma: bool) -> Body:
    """The straight-line functions of some outputs of a trace, on packed memory of vectors of a type."""
    orders = _orders(restrict(trace, list(places)), inputs, fma)
    table, given = len(places) > inputs, (PackedPlaces(kind, tuple(places)), kind.lanes, fma)
    common = {"near": angle_inputs(trace), "kind": kind.kind}
    planned = [Body("part", made, *given, sparing=not table, **common) for made in orders]
    body = min(planned, key=lambda body: body.traffic if table else body.plan.writes)
    if not table and len(body.trace.code) <= ORDERED_AS_WRITTEN:
        again = partial(Body, "part", body.trace, *given, sparing=True, **common)
        body = _fewer_writes(body, lambda writing: again(writing=writing))
    return body


def _fewer_writes(body: Body, planned: Callable[[float], Body]) -> Body:
    """A plan that writes less and reads no more, if to hold on longer to what is not written yet gives one."""
    for other in map(planned, HOLDING):
        if other.plan.writes < body.plan.writes and other.plan.read_count <= body.plan.read_count:
            body = other
    return body


def _orders(trace: Trace, inputs: int, fma: bool) -> list[Trace]:
    """Orders to choose from. Of a table times ℳ⁻¹, the last row needs all that the others do: made first, a column
    stays in registers from end to end. Where links wait for divisions, what can be done meanwhile is to come first.
    Where each order takes a second to plan, there is one."""
    if len(trace.outputs) <= inputs:
        waits = len(trace.code) <= ORDERED_AS_WRITTEN and any(op == DIV for op, _, _ in trace.code)
        return [few_alive(trace, fma), trace] if waits else [trace]
    return [
        depth_first(trace, last_first)
        for last_first in ((False, True) if len(trace.code) <= SLOW_TO_COMPILE else (False,))
    ]


@dataclass(frozen=True, eq=False)
class Blocks:
    """`block`: states from `first` on, at most to `last`, `lanes` at once. Lanes beyond the end repeat the last state,
    so that no tail is special.

    Straight-line code longer than the instruction cache is read anew from further away each time it runs. So its parts
    take turns: each runs on several blocks, abreast in memory, while it is at hand.
    """

    body: Body
    places: tuple[int, ...]  # of the body's outputs in packed memory
    entries: int
    signature: Signature
    lanes: int
    loops: Loops | None = None
    constants: Mapping[int, float] = field(default_factory=dict)  # outputs that are the same for every state

    @property
    def kept_entries(self) -> tuple[int, ...] | None:
        """Entries of each output in packed memory, where that is not all of them."""
        return self.loops.kept if self.loops else None

    @property
    def sizes(self) -> list[int]:
        """Entries of each array in packed memory."""
        outputs = (
            self.kept_entries if self.kept_entries is not None else [size(shape) for shape in self.signature.outputs]
        )
        return [*self.signature.inputs, *outputs]

    @property
    def rooms(self) -> dict[str, int]:
        """Vectors of each kind of memory of one block."""
        inputs = sum(self.sizes[: len(self.signature.inputs)])
        return {
            "scratch": max(self.body.slot_count, 1),
            "in": max(inputs, 1),
            "out": max(self.entries, 1),
            "rows": len(self.signature.outputs),  # a pointer for each lane
        }

    @property
    def is_long(self) -> bool:
        """Whether the code is too long for the cache of decoded instructions; longer vectors have addresses of another
        kind."""
        return self.body.width <= LOADED and sum(len(part) for part in self.body.parts) >= DECODED

    @property
    def abreast(self) -> int:
        """Blocks that take turns: several if the code is long and what it works on is not."""
        long = sum(len(part) for part in self.body.parts) >= FAR_CODE
        return ABREAST if long and self.rooms["out"] <= self.rooms["in"] else 1

    @property
    def is_sparse(self) -> bool:
        """Whether so many outputs are constants that these are better not packed for one state: its row is cleared, and
        what is made is put there."""
        long = all(count > COPIED_IN_LINE for count in self.sizes[len(self.signature.inputs) :])
        few = len(self.places) <= MOST_PLACED and 2 * len(self.places) < self.entries
        return long and few and self.kept_entries is None and self.abreast == 1 and not self.last_outputs

    @property
    def tiles(self) -> list[Tile]:
        """Output tiles copied to their rows as soon as they are computed; none where loops finish the outputs, blocks
        take turns, or the table is too long to be written out."""
        if self.entries > MOST_WRITTEN or self.kept_entries is not None or self.abreast > 1:
            return []
        result, start, inputs = [], 0, len(self.signature.inputs)
        for array, count in enumerate(self.sizes[inputs:], inputs):
            result += [Tile(array, start, entry, size) for entry, size in tiles(count, min(self.lanes, 4))]
            start += count
        return result

    @cached_property
    def last_outputs(self) -> dict[Tile, int]:
        """Output of each tile's body that is computed last; a tile of constants has none."""
        body, owner = self.body, {place: tile for tile in self.tiles for place in tile.places}
        made = (position for part in body.parts for index in part for position in body.stores.get(index, ()))
        return {owner[self.places[position]]: position for position in made} if owner else {}

    def parts(self) -> Module:
        """The body's functions, tiles copied in their turn."""
        last = {position: partial(self._last, tile, position) for tile, position in self.last_outputs.items()}
        return self.body.module(self._load_rows if last else None, last, near=self.is_long)

    def _last(self, tile: Tile, position: int, code: Code, rows: Any, value: Value, is_read: bool) -> None:
        """The tile's last output, a vector, which goes to packed memory only if it is read again there, or where a
        vector has more states than a tile has rows."""
        entry, wide = self.places[position] - tile.start, self.lanes > 4
        for statement in self.body.places.store(position, value) if is_read or wide else ():
            code.put(statement)
        tile.unpack(rows[tile.array], code["out"], {} if wide else {entry: Local(code, value)})

    @property
    def _outputs(self) -> range:
        return range(len(self.signature.inputs), self.signature.arrays)

    def _load_rows(self, code: Code) -> dict[int, list[Local]]:
        """Pointers to the rows of the outputs, loaded from `rows`."""
        return {
            a: [place.load(kind=self._kinds["out"]) for place in places]
            for a, places in self._row_places(code["rows"]).items()
        }

    def _row_places(self, memory: Local) -> dict[int, list[Local]]:
        """Places in `rows` of the pointers to each output's rows."""
        first, lanes = self._outputs.start, range(self.lanes)
        return {a: [memory.at((a - first) * self.lanes + lane) for lane in lanes] for a in self._outputs}

    def module(self) -> Module:
        """`block` and what it calls."""
        rooms = {name: self.abreast * vectors * self.lanes for name, vectors in self.rooms.items()}
        code = Code("block", **self._arrays, first=I64, last=I64)
        kinds = self._kinds
        memory = {name: code.room(n, self.body.width, "block.aside", kinds[name]) for name, n in rooms.items()}
        if self.abreast == 1:
            states = self._states(code)
            self._before(code, memory, states)
            for name in self.body.names:
                code.call(name, *(memory[x] for x in ("in", "out", "rows", "scratch")))
            called = self._after(code, memory, states)
            return called.with_(Module((code.function,)))
        return self._in_turns(code, memory)

    @property
    def _arrays(self) -> dict[str, Any]:
        """Parameters of each array: its base pointer and the stride of its rows."""
        base = Type(self.signature.kind).to
        return {name: kind for a in range(self.signature.arrays) for name, kind in ((f"b{a}", base), (f"s{a}", I64))}

    @property
    def _kinds(self) -> dict[str, Type]:
        """Types of the pointers to each kind of memory."""
        entry = Type(self.signature.kind)
        return {"scratch": entry.to, "in": entry.to, "out": entry.to, "rows": entry.to.to}

    def _in_turns(self, code: Code, memory: Mapping[str, Local]) -> Module:
        """Several blocks of states abreast: each step is done to all of them before the next."""
        functions, called = [], Module(())
        for name in ("before", "after"):
            own = Code(name, **self._arrays, first=I64, last=I64, **{x: self._kinds[x] for x in memory})
            given, states = {x: own[x] for x in memory}, self._states(own)
            if name == "before":
                self._before(own, given, states)
            else:
                called = self._after(own, given, states)
            functions.append(own.function)
        steps = ["before", *self.body.names, "after"]
        blocks = (code["last"] - code["first"]) // self.lanes + 1
        count = (blocks < self.abreast).select(blocks, self.abreast)
        if len(steps) > MOST_TURNS:
            functions += self._group(code, memory, count, steps)
        else:
            self._turns(code, memory, count, steps)
        return called.with_(Module((*functions, code.function)))

    def _group(self, code: Code, memory: Mapping[str, Local], count: Local, steps: list[str]) -> list[Func]:
        """Functions of MOST_TURNS steps each, which are called: a compiler goes through the blocks of a function with a
        depth of its own stack, which thousands of loops in one function exceed."""
        functions, rooms = [], {x: self._kinds[x] for x in memory}
        for group, start in enumerate(range(0, len(steps), MOST_TURNS)):
            own = Code(f"turns{group}", **self._arrays, first=I64, last=I64, count=I64, **rooms)
            self._turns(own, {x: own[x] for x in memory}, own["count"], steps[start : start + MOST_TURNS])
            functions.append(own.function)
            arrays = (code[x] for x in self._arrays)
            code.call(f"turns{group}", *arrays, code["first"], code["last"], count, *memory.values())
        return functions

    def _turns(self, code: Code, memory: Mapping[str, Local], count: Local, steps: list[str]) -> None:
        """The same call on each block: of a part of the body, or of what goes before or after them."""
        for name in steps:
            with code.loop(0, count, some=True) as k:
                own = {x: memory[x].at(k * (self.lanes * vectors)) for x, vectors in self.rooms.items()}
                if name in ("before", "after"):
                    now = code["first"] + k * self.lanes
                    code.call(name, *(code[x] for x in self._arrays), now, code["last"], *own.values())
                else:
                    code.call(name, *(own[x] for x in ("in", "out", "rows", "scratch")))

    def _before(self, code: Code, memory: Mapping[str, Local], states: list[Local]) -> None:
        """Pack the inputs and fill in the constants of the outputs."""
        inputs, out = range(len(self.signature.inputs)), memory["out"]
        self._copies(code, "pack", memory["in"], self._rows(code, states, inputs))
        nearer_inputs(code, memory["in"], sorted(self.body.near), self.lanes)
        if self.is_sparse:  # one state's row takes them itself
            code.branch(self._alone(code), lambda: None, lambda: code.call("fill", out))
        else:
            code.call("fill", out)
        if self.last_outputs:
            rows = self._rows(code, states, self._outputs)
            for a, places in self._row_places(memory["rows"]).items():
                for place, row in zip(places, rows[a], strict=True):
                    place.store(row)

    def _after(self, code: Code, memory: Mapping[str, Local], states: list[Local]) -> Module:
        """Unpack the outputs, once loops have finished them; return the module that these call."""
        if self.last_outputs:
            left = [tile for tile in self.tiles if tile not in self.last_outputs]
            rows = self._rows(code, states, sorted({tile.array for tile in left}))
            for tile in left:
                tile.unpack(rows[tile.array], memory["out"])
            return Module(())
        rows, called = self._rows(code, states, self._outputs), Module(())
        if self.loops is not None:
            called = self.loops.put(code, memory["out"], list(rows.values()))
        self._copies(code, "unpack", memory["out"], rows)
        return called

    def _alone(self, code: Code) -> Local:
        """Whether there is only one state."""
        return code["first"].same(code["last"])

    def _states(self, code: Code) -> list[Local]:
        """Index of the state in each lane."""
        found = [code["first"] + code.whole(lane) for lane in range(self.lanes)]
        return [(state < code["last"]).select(state, code["last"]) for state in found]

    def _rows(self, code: Code, states: list[Local], arrays: Any) -> dict[int, list[Local]]:
        """Pointers to each lane's row of some arrays."""
        return {a: [code[f"b{a}"].bytes(state * code[f"s{a}"]) for state in states] for a in arrays}

    def _copies(self, code: Code, function: str, memory: Local, rows: Mapping[int, list[Local]]) -> None:
        """Copy between the rows of some arrays and their packed copies, four states at a time."""
        long, start = [], 0
        for a, own in rows.items():
            count = self.sizes[a]
            if count > COPIED_IN_LINE:
                long.append((a, own, start, memory.at(self.lanes * start)))
            elif function == "pack":
                Rows(own, memory, start).pack(count)
            else:
                Rows(own, memory, start).unpack(count)
            start += count
        if not long:
            return

        def several() -> None:
            for a, _, _, place in long:
                n, item = self.sizes[a], self.signature.item
                given = (code[f"b{a}"], code[f"s{a}"], item * n, item, n, n, place, code["first"], code["last"])
                code.call(function, *given)

        def alone() -> None:
            for a, own, start, place in long:
                if function == "unpack" and self.is_sparse:
                    self._lone_row(code, own[0], memory, start, self.sizes[a])
                else:
                    code.call(f"{function}.one", own[0], place, self.sizes[a])

        code.branch(self._alone(code), alone, several)

    def _lone_row(self, code: Code, row: Local, memory: Local, start: int, count: int) -> None:
        """The row of one state: zeros, other constants, and what was made, from the first lane."""
        code.clear(row, self.signature.item * count)
        for entry in range(start, start + count):
            value = self.constants.get(entry)
            if value is None:
                row.at(entry - start).store(memory.at(self.lanes * entry).load())
            elif str(value) != "0.0":
                row.at(entry - start).store(code.number(value, kind=self.signature.kind))
