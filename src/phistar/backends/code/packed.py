"""A trace over packed copies of rows: the unrolled kernel.

A block of states is packed, entry by entry with one state per lane, by small transposes; the straight-line code then
loads and stores whole vectors. One line of IR per entry instead of three per entry and lane: tables of
derivatives compile in a fraction of the time that row pointers take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

from phistar.backends.code.llvm import MANY, Body, declarations, splat
from phistar.backends.code.loop import loop_text
from phistar.backends.code.nearby import DECLARED, nearby
from phistar.backends.code.transpose import WRITTEN, Rows, Tile, copy_text, tiles
from phistar.backends.code.unsolved import Loops
from phistar.backends.machine.rows import Signature, size
from phistar.backends.machine.single import single_text
from phistar.backends.traces.order import few_alive
from phistar.backends.traces.trace import DIV, Trace, depth_first, restricted

ABREAST = 4  # blocks that take turns
SHORT = 2000  # instructions: beyond, an order of their own keeps more values waiting, not fewer
HOLDING = 3.0, 5.0, 8.0  # how much longer registers may keep what is written nowhere (`residence`'s `writing`)
MOST_WRITTEN = 64  # entries of a table whose copies to its rows are written out; of more, they take long to compile
DECODED = 700  # instructions of a trace: of more, the cache of decoded ones may hold too few, as they happen to lie
LONG = 4000  # instructions: code that is read from further away each time it runs


@dataclass(frozen=True)
class PackedPlaces:
    """%in and %out hold entries in order, a vector of lanes each; `entries` says where in %out each output belongs."""

    lanes: int
    entries: tuple[int, ...]

    def parameters(self) -> str:
        return "ptr noalias %in, ptr noalias %out, ptr noalias %rows"

    def lasts(self, number: int) -> bool:
        return True

    def load(self, target: str, number: int) -> list[str]:
        name = f"{target}.p"
        return [*self._at(name, "in", number), f"  %{target} = load {self._vector}, ptr %{name}{self._align}"]

    def store(self, position: int, value: str) -> list[str]:
        name = f"o{position}"
        lines = self._at(name, "out", self.entries[position])
        return [*lines, f"  store {self._vector} {value}, ptr %{name}{self._align}"]

    def again(self, target: str, position: int) -> list[str]:
        lines = self._at(f"{target}.p", "out", self.entries[position])
        return [*lines, f"  %{target} = load {self._vector}, ptr %{target}.p{self._align}"]

    def _at(self, name: str, memory: str, entry: int) -> list[str]:
        return [f"  %{name} = getelementptr i8, ptr %{memory}, i64 {8 * self.lanes * entry}"]

    @property
    def _vector(self) -> str:
        return f"<{self.lanes} x double>"

    @property
    def _align(self) -> str:
        return f", align {8 * self.lanes}"


def module_text(trace: Trace, signature: Signature, lanes: int, fma: bool, loops: Loops | None = None) -> str:
    """The whole module; `loop` is the gufunc's inner loop. A trace may make more than the outputs: what follows them is
    for the loops that finish them."""
    places = [i for i, constant in enumerate(trace.output_is_constant) if not constant]
    orders = _orders(restricted(trace, places), sum(signature.inputs), fma)
    table, given = len(places) > sum(signature.inputs), (PackedPlaces(lanes, tuple(places)), lanes, fma)
    planned = [Body("part", made, *given, sparing=not table) for made in orders]
    body = min(planned, key=lambda body: body.traffic if table else body.plan.writes)
    if not table and len(body.trace.code) <= SHORT:
        body = _fewer_writes(body, lambda writing: Body("part", body.trace, *given, writing=writing, sparing=True))
    made = loops.made if loops else ()
    constants = {
        i: float(trace.outputs[i]) for i, fixed in enumerate(trace.output_is_constant) if fixed and i not in made
    }
    more, calls = loops.text(lanes, len(signature.inputs)) if loops else ([], [])
    blocks = Blocks(body, tuple(places), len(trace.outputs), signature, lanes, loops.kept if loops else None)
    copies = (copy_text(name, lanes) for name in ("pack", "unpack"))
    functions = [*blocks.parts(), *copies, *_constants(constants, lanes)]
    doors = [loop_text(signature, lanes * blocks.abreast), single_text(signature, batches=True)]
    return "\n".join([declarations(lanes), *functions, *more, *blocks.text(calls), *doors])


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
        waits = len(trace.code) <= SHORT and any(op == DIV for op, _, _ in trace.code)
        return [few_alive(trace, fma), trace] if waits else [trace]
    return [depth_first(trace, last_first) for last_first in ((False, True) if len(trace.code) <= MANY else (False,))]


def _constants(constants: dict[int, float], lanes: int) -> list[str]:
    """`fill` puts the outputs that are the same for every state where they belong: a loop over a table, because
    thousands of stores in straight-line code take a compiler seconds."""
    count, vector = len(constants), f"<{lanes} x double>"
    places = ", ".join(f"i64 {8 * lanes * entry}" for entry in constants)
    numbers = ", ".join(splat(value, 1)[1:-1] for value in constants.values())
    lines = ["define internal void @fill(ptr %out) #0 {", "entry:"]
    lines += [f"  br i1 {'true' if count else 'false'}, label %one, label %done"]
    lines += ["one:", "  %k = phi i64 [0, %entry], [%k2, %one]"]
    for name, kind in (("place", "i64"), ("number", "double")):
        lines += [f"  %{name}p = getelementptr {kind}, ptr @{name}s, i64 %k"]
        lines += [f"  %{name} = load {kind}, ptr %{name}p, align 8"]
    lines += ["  %p = getelementptr i8, ptr %out, i64 %place"]
    lines += [f"  %a = insertelement {vector} poison, double %number, i32 0"]
    lines += [f"  %b = shufflevector {vector} %a, {vector} poison, <{lanes} x i32> zeroinitializer"]
    lines += [f"  store {vector} %b, ptr %p, align {8 * lanes}", "  %k2 = add i64 %k, 1"]
    lines += [f"  %more = icmp slt i64 %k2, {count}", "  br i1 %more, label %one, label %done"]
    tables = [f"@places = internal constant [{count} x i64] [{places}]"]
    tables += [f"@numbers = internal constant [{count} x double] [{numbers}]"]
    return [*tables, "\n".join([*lines, "done:", "  ret void", "}"])]


@dataclass(frozen=True, eq=False)
class Blocks:
    """`block`: states from %first on, at most to %last, `lanes` at once. Lanes beyond the end repeat the last state, so
    that no tail is special.

    Straight-line code longer than the instruction cache is read anew from further away each time it runs. So its parts
    take turns: each runs on several blocks, abreast in memory, while it is at hand.
    """

    body: Body
    places: tuple[int, ...]  # of the body's outputs in packed memory
    entries: int
    signature: Signature
    lanes: int
    kept: tuple[int, ...] | None = None  # entries of each output in packed memory, where that is not all of them

    @property
    def sizes(self) -> list[int]:
        """Entries of each array in packed memory."""
        outputs = self.kept if self.kept is not None else [size(shape) for shape in self.signature.outputs]
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
        """Whether the code is too long for the cache of decoded instructions; vectors of more than four states have
        addresses of another kind."""
        return self.lanes <= 4 and sum(len(part) for part in self.body.parts) >= DECODED

    @property
    def abreast(self) -> int:
        """Blocks that take turns: several if the code is long and what it works on is not."""
        long = sum(len(part) for part in self.body.parts) >= LONG
        return ABREAST if long and self.rooms["out"] <= self.rooms["in"] else 1

    @property
    def tiles(self) -> list[Tile]:
        """What goes to the rows as soon as it is made, while there is other work to do; nothing of what loops finish,
        or of a table too long to be written out."""
        if self.entries > MOST_WRITTEN or self.kept is not None or self.abreast > 1:
            return []
        result, start, inputs = [], 0, len(self.signature.inputs)
        for array, count in enumerate(self.sizes[inputs:], inputs):
            result += [Tile(array, start, entry, size) for entry, size in tiles(count, min(self.lanes, 4))]
            start += count
        return result

    @cached_property
    def finished(self) -> dict[Tile, int]:
        """For each tile the output of the body that is made last; a tile of constants has none."""
        body, owner = self.body, {place: tile for tile in self.tiles for place in tile.places}
        made = (position for part in body.parts for index in part for position in body.stores.get(index, ()))
        return {owner[self.places[position]]: position for position in made} if owner else {}

    def parts(self) -> list[str]:
        """The body's functions, tiles copied in their turn."""
        last = {position: partial(self._last, tile, position) for tile, position in self.finished.items()}
        functions = self.body.functions(self._pointers("load") if last else (), last)
        return [DECLARED, *map(nearby, functions)] if self.is_long else functions

    def _last(self, tile: Tile, position: int, value: str, is_read: bool) -> list[str]:
        """The tile's last output, the vector `value`, which goes to packed memory only if it is read again there, or
        where a vector has more states than a tile has rows."""
        entry, wide = self.places[position] - tile.start, self.lanes > 4
        stored = self.body.places.store(position, value) if is_read or wide else []
        return [*stored, *tile.lines(self.lanes, {} if wide else {entry: value})]

    def _pointers(self, way: str) -> list[str]:
        """Where the rows of the outputs are, as %rows has it: "load", or "store" it there."""
        lines, inputs = [], len(self.signature.inputs)
        for array in range(inputs, self.signature.arrays):
            for lane in range(self.lanes):
                name, place = f"%a{array}l{lane}", 8 * ((array - inputs) * self.lanes + lane)
                lines.append(f"  {name}p = getelementptr i8, ptr %rows, i64 {place}")
                given = f"{name} = load ptr, ptr {name}p" if way == "load" else f"store ptr {name}, ptr {name}p"
                lines.append(f"  {given}, align 8")
        return lines

    def text(self, finishing: list[str]) -> list[str]:
        """The functions; `finishing`: calls on %out after the body's."""
        arrays, inputs = self.signature.arrays, len(self.signature.inputs)
        given = ", ".join(f"ptr %b{a}, i64 %s{a}" for a in range(arrays))
        pack = [*self._rows(range(inputs)), *self._copies("pack", "in", range(inputs)), "  call void @fill(ptr %out)"]
        rows = self._rows(range(inputs, arrays))
        if self.finished:
            pack += [*rows, *self._pointers("store")]
            left = (tile for tile in self.tiles if tile not in self.finished)
            unpack = [line for tile in left for line in tile.lines(self.lanes)]
        else:
            unpack = [*rows, *finishing, *self._copies("unpack", "out", range(inputs, arrays))]
        opening = f"define internal void @block({given}, i64 %first, i64 %last) #0 {{"
        calls = self.body.calls("ptr %in, ptr %out, ptr %rows, ptr %scratch")
        if self.abreast == 1:
            own = [line for name in self.rooms for line in self._room(name)]
            return ["\n".join([opening, *own, *self._lanes(), *pack, *calls, *unpack, "  ret void", "}"])]
        memory = ", ".join(f"ptr %{name}" for name in self.rooms)
        functions = []
        for name, lines in (("before", pack), ("after", unpack)):
            head = f"define internal void @{name}({given}, i64 %first, i64 %last, {memory}) #0 {{"
            functions.append("\n".join([head, *self._lanes(), *lines, "  ret void", "}"]))
        ends = [f"  call void @{name}({given}, i64 %now, i64 %last, {memory})" for name in ("before", "after")]
        steps = [ends[0], *calls, ends[1]]
        turns = [line for number, call in enumerate(steps) for line in self._turn(number, call)]
        own = [line for name in self.rooms for line in self._room(f"{name}0", name)]
        lines = [opening, "entry:", *own, *self._count(), *turns, f"turn{len(steps)}:", "  ret void", "}"]
        return [*functions, "\n".join(lines)]

    def _room(self, name: str, kind: str = "") -> list[str]:
        vectors = self.abreast * self.rooms[kind or name]
        return [f"  %{name} = alloca [{vectors * self.lanes} x double], align {8 * self.lanes}"]

    def _count(self) -> list[str]:
        """How many blocks there are up to the last state."""
        return [
            "  %more = sub i64 %last, %first",
            f"  %whole = sdiv i64 %more, {self.lanes}",
            "  %all = add i64 %whole, 1",
            f"  %few = icmp slt i64 %all, {self.abreast}",
            f"  %count = select i1 %few, i64 %all, i64 {self.abreast}",
            "  br label %turn0",
        ]

    def _turn(self, number: int, call: str) -> list[str]:
        """The same call on each block."""
        before = f"turn{number - 1}" if number else "entry"
        lines = [f"turn{number}:", f"  %k{number} = phi i64 [0, %{before}], [%n{number}, %turn{number}]"]
        for name, room in self.rooms.items():
            lines.append(f"  %{name}{number}o = mul i64 %k{number}, {8 * self.lanes * room}")
            lines.append(f"  %{name}x{number} = getelementptr i8, ptr %{name}0, i64 %{name}{number}o")
            call = call.replace(f"ptr %{name}", f"ptr %{name}x{number}")
        if "%now" in call:
            lines += [f"  %s{number}.o = mul i64 %k{number}, {self.lanes}"]
            lines += [f"  %now{number} = add i64 %first, %s{number}.o"]
            call = call.replace("%now", f"%now{number}")
        lines += [call, f"  %n{number} = add i64 %k{number}, 1", f"  %c{number} = icmp slt i64 %n{number}, %count"]
        return [*lines, f"  br i1 %c{number}, label %turn{number}, label %turn{number + 1}"]

    def _lanes(self) -> list[str]:
        """The state of each lane."""
        lines = []
        for lane in range(self.lanes):
            lines += [
                f"  %n{lane} = add i64 %first, {lane}",
                f"  %c{lane} = icmp slt i64 %n{lane}, %last",
                f"  %r{lane} = select i1 %c{lane}, i64 %n{lane}, i64 %last",
            ]
        return lines

    def _rows(self, arrays: range) -> list[str]:
        """Where each lane's row of some arrays is."""
        lines = []
        for lane in range(self.lanes):
            for a in arrays:
                lines.append(f"  %o{a}l{lane} = mul i64 %r{lane}, %s{a}")
                lines.append(f"  %a{a}l{lane} = getelementptr i8, ptr %b{a}, i64 %o{a}l{lane}")
        return lines

    def _copies(self, function: str, memory: str, arrays: range) -> list[str]:
        """Between the rows of some arrays and their packed copies, four states at a time."""
        lines, start, lanes, width = [], 0, self.lanes, min(self.lanes, 4)
        for a in arrays:
            count = self.sizes[a]
            for lane in range(0, lanes, width):
                if count <= WRITTEN:
                    lines += Rows(a, lane, width, memory, start, lanes).copied(count, function == "pack")
                    continue
                rows = ", ".join(f"ptr %a{a}l{lane + i}" for i in range(width))
                lines.append(f"  %m{a}l{lane} = getelementptr i8, ptr %{memory}, i64 {8 * (start * lanes + lane)}")
                lines.append(f"  call void @{function}({rows}, ptr %m{a}l{lane}, i64 {count})")
            start += count
        return lines
