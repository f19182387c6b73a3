"""A trace over packed copies of rows: the unrolled kernel.

A block of states is packed, entry by entry with one state per lane, by small transposes; the straight-line code then
loads and stores whole vectors. One line of IR per entry instead of three per entry and lane: tables of
derivatives compile in a fraction of the time that row pointers take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

from phistar.backends.code import nearby
from phistar.backends.code.fill import fill_function
from phistar.backends.code.llvm import MANY, Body, declarations, splat
from phistar.backends.code.loop import loop_functions
from phistar.backends.code.nearby import Address, Line, lines_text
from phistar.backends.code.sincos import nearer_inputs
from phistar.backends.code.transpose import WRITTEN, Rows, Tile, chosen_copies, tiles
from phistar.backends.code.unsolved import Loops
from phistar.backends.kernels.copies import copy_function, copy_one_function
from phistar.backends.kernels.emit_llvm import ATTRIBUTES, DECLARED, functions_text, table_text
from phistar.backends.kernels.scratch import Scratch
from phistar.backends.machine.rows import Signature, size
from phistar.backends.machine.single import single_text
from phistar.backends.traces.order import few_alive
from phistar.backends.traces.trace import DIV, Trace, depth_first, only_turned, restricted

ABREAST = 4  # blocks that take turns
SHORT = 2000  # instructions: beyond, an order of their own keeps more values waiting, not fewer
HOLDING = 3.0, 5.0, 8.0  # how much longer registers may keep what is written nowhere (`residence`'s `writing`)
MOST_WRITTEN = 64  # entries of a table whose copies to its rows are written out; of more, they take long to compile
DECODED = 700  # instructions of a trace: of more, the cache of decoded ones may hold too few, as they happen to lie
MOST_PLACED = 256  # entries of a sparse table that are put into a single row one by one
MOST_TURNS = 64  # steps that take turns in one function
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

    def load(self, target: str, number: int) -> list[Line]:
        name = f"{target}.p"
        return [*self._at(name, "in", number), f"  %{target} = load {self._vector}, ptr %{name}{self._align}"]

    def store(self, position: int, value: str) -> list[Line]:
        name = f"o{position}"
        lines = self._at(name, "out", self.entries[position])
        return [*lines, f"  store {self._vector} {value}, ptr %{name}{self._align}"]

    def again(self, target: str, position: int) -> list[Line]:
        lines = self._at(f"{target}.p", "out", self.entries[position])
        return [*lines, f"  %{target} = load {self._vector}, ptr %{target}.p{self._align}"]

    def _at(self, name: str, memory: str, entry: int) -> list[Line]:
        return [Address(name, memory, 8 * self.lanes * entry)]

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
    near = only_turned(trace)
    planned = [Body("part", made, *given, sparing=not table, near=near) for made in orders]
    body = min(planned, key=lambda body: body.traffic if table else body.plan.writes)
    if not table and len(body.trace.code) <= SHORT:
        again = partial(Body, "part", body.trace, *given, sparing=True, near=near)
        body = _fewer_writes(body, lambda writing: again(writing=writing))
    made = loops.made if loops else ()
    constants = {
        i: float(trace.outputs[i]) for i, fixed in enumerate(trace.output_is_constant) if fixed and i not in made
    }
    more, calls = loops.text(lanes, len(signature.inputs)) if loops else ([], [])
    kept = loops.kept if loops else None
    blocks = Blocks(body, tuple(places), len(trace.outputs), signature, lanes, kept, constants)
    tables, fill = fill_function(constants, lanes)
    copies = [copy_function(name, lanes, placed=False) for name in ("pack", "unpack")]
    copies += [copy_one_function(name, lanes) for name in ("pack", "unpack")]
    loop = functions_text(loop_functions(signature, lanes * blocks.abreast), ["block"])
    head = [declarations(lanes), DECLARED, *map(table_text, tables), functions_text([*copies, fill])]
    doors = [loop, ATTRIBUTES, single_text(signature, batches=True)]
    return "\n".join([*head, *blocks.parts(), *more, *blocks.text(calls), *doors])


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
    constants: Mapping[int, float] = field(default_factory=dict)  # outputs that are the same for every state

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
    def is_sparse(self) -> bool:
        """Whether so many outputs are constants that these are better not packed for one state: its row is cleared, and
        what is made is put there."""
        long = all(count > WRITTEN for count in self.sizes[len(self.signature.inputs) :])
        few = len(self.places) <= MOST_PLACED and 2 * len(self.places) < self.entries
        return long and few and self.kept is None and self.abreast == 1 and not self.finished

    def _filled(self) -> list[str]:
        """The constants in packed memory; not for one state where its row takes them."""
        call = "  call void @fill(ptr %out)"
        return chosen_copies("fill", [call], []) if self.is_sparse else [call]

    def _lone_row(self, array: int, start: int, count: int) -> list[str]:
        """The row of one state: zeros, other constants, and what was made, from the first lane."""
        row, lines = f"%a{array}l0", []
        lines += [f"  call void @llvm.memset.p0.i64(ptr align 8 {row}, i8 0, i64 {8 * count}, i1 false)"]
        for entry in range(start, start + count):
            value, name = self.constants.get(entry), f"%lone{entry}"
            if value is not None and str(value) == "0.0":
                continue
            lines += [f"  {name} = getelementptr i8, ptr {row}, i64 {8 * (entry - start)}"]
            if value is None:
                lines += [f"  {name}p = getelementptr i8, ptr %out, i64 {8 * self.lanes * entry}"]
                lines += [f"  {name}x = load double, ptr {name}p, align 8"]
            given = f"{name}x" if value is None else splat(value, 1)[8:-1]
            lines += [f"  store double {given}, ptr {name}, align 8"]
        return lines

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
        functions = self.body.functions(self._pointers("load") if last else (), last, near=self.is_long)
        return [nearby.DECLARED, *functions] if self.is_long else functions

    def _last(self, tile: Tile, position: int, value: str, is_read: bool) -> list[Line]:
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
        pack = [*self._rows(range(inputs)), *self._copies("pack", "in", range(inputs))]
        pack += [*nearer_inputs(sorted(self.body.near), self.lanes), *self._filled()]
        rows = self._rows(range(inputs, arrays))
        if self.finished:
            pack += [*rows, *self._pointers("store")]
            left = (tile for tile in self.tiles if tile not in self.finished)
            unpack = lines_text([line for tile in left for line in tile.lines(self.lanes)])
        else:
            unpack = [*rows, *finishing, *self._copies("unpack", "out", range(inputs, arrays))]
        opening = "\n".join([*self._scratch().declared(), ""])
        opening += f"define internal void @block({given}, i64 %first, i64 %last) #0 {{"
        if self.abreast == 1:
            calls = self.body.calls("ptr %in, ptr %out, ptr %rows, ptr %scratch")
            own = self._scratch()
            lines = [*own.opening(), *self._lanes(), *pack, *calls, *unpack, *own.closing()]
            return ["\n".join([opening, *lines, "  ret void", "}"])]
        memory = ", ".join(f"ptr %{name}" for name in self.rooms)
        functions = []
        for name, lines in (("before", pack), ("after", unpack)):
            head = f"define internal void @{name}({given}, i64 %first, i64 %last, {memory}) #0 {{"
            functions.append("\n".join([head, *self._lanes(), *lines, "  ret void", "}"]))
        steps = ["before", *self.body.names, "after"]
        own = self._scratch("0")
        if len(steps) > MOST_TURNS:
            more, steps = self._grouped(steps, given)
            functions += more
        else:
            turns = [line for number, name in enumerate(steps) for line in self._turn(number, name, given)]
            steps = [*turns, f"turn{len(steps)}:"]
        lines = [opening, "entry:", *own.opening(), *self._count(), *steps, *own.closing()]
        return [*functions, "\n".join([*lines, "  ret void", "}"])]

    def _grouped(self, steps: list[str], given: str) -> tuple[list[str], list[str]]:
        """Functions of MOST_TURNS steps each, and their calls: a compiler goes through the blocks of a function with a
        depth of its own stack, which thousands of loops in one function exceed."""
        memory = ", ".join(f"ptr %{name}0" for name in self.rooms)
        passed = f"{given}, i64 %first, i64 %last, i64 %count, {memory}"
        functions, calls = [], []
        for group, start in enumerate(range(0, len(steps), MOST_TURNS)):
            chosen = steps[start : start + MOST_TURNS]
            turns = [line for number, name in enumerate(chosen) for line in self._turn(number, name, given)]
            head = [f"define internal void @turns{group}({passed}) #0 {{", "counting:", "  br label %turn0"]
            functions.append("\n".join([*head, *turns, f"turn{len(chosen)}:", "  ret void", "}"]))
            calls.append(f"  call void @turns{group}({passed})")
        return functions, ["turn0:", *calls]

    def _scratch(self, tag: str = "") -> Scratch:
        """The memory of all blocks that take turns."""
        rooms = {f"{name}{tag}": self.abreast * vectors * self.lanes for name, vectors in self.rooms.items()}
        return Scratch(rooms, 8 * self.lanes, "block.aside")

    def _count(self) -> list[str]:
        """How many blocks there are up to the last state."""
        return [
            "  br label %counting",
            "counting:",
            "  %more = sub i64 %last, %first",
            f"  %whole = sdiv i64 %more, {self.lanes}",
            "  %all = add i64 %whole, 1",
            f"  %few = icmp slt i64 %all, {self.abreast}",
            f"  %count = select i1 %few, i64 %all, i64 {self.abreast}",
            "  br label %turn0",
        ]

    def _turn(self, number: int, function: str, given: str) -> list[str]:
        """The same call on each block: of a part of the body, or of what goes before or after them."""
        before = f"turn{number - 1}" if number else "counting"
        lines = [f"turn{number}:", f"  %k{number} = phi i64 [0, %{before}], [%n{number}, %turn{number}]"]
        rooms = {}
        for name, room in self.rooms.items():
            lines.append(f"  %{name}{number}o = mul i64 %k{number}, {8 * self.lanes * room}")
            lines.append(f"  %{name}x{number} = getelementptr i8, ptr %{name}0, i64 %{name}{number}o")
            rooms[name] = f"ptr %{name}x{number}"
        if function in ("before", "after"):
            lines += [f"  %s{number}.o = mul i64 %k{number}, {self.lanes}"]
            lines += [f"  %now{number} = add i64 %first, %s{number}.o"]
            passed = [given, f"i64 %now{number}", "i64 %last", *rooms.values()]
        else:
            passed = [rooms[name] for name in ("in", "out", "rows", "scratch")]
        lines += [f"  call void @{function}({', '.join(passed)})", f"  %n{number} = add i64 %k{number}, 1"]
        lines += [f"  %c{number} = icmp slt i64 %n{number}, %count"]
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
        lines, several, alone, start = [], [], [], 0
        lanes, width = self.lanes, min(self.lanes, 4)
        for a in arrays:
            count = self.sizes[a]
            if count <= WRITTEN:
                for lane in range(0, lanes, width):
                    lines += lines_text(Rows(a, lane, width, memory, start, lanes).copied(count, function == "pack"))
            else:
                lines.append(f"  %m{a} = getelementptr i8, ptr %{memory}, i64 {8 * start * lanes}")
                sizes = f"i64 {8 * count}, i64 8, i64 {count}, i64 {count}"
                rows = f"ptr %b{a}, i64 %s{a}, {sizes}, ptr %m{a}, i64 %first, i64 %last"
                several.append(f"  call void @{function}({rows})")
                one = [f"  call void @{function}.one(ptr %a{a}l0, ptr %m{a}, i64 {count})"]
                alone += self._lone_row(a, start, count) if memory == "out" and self.is_sparse else one
            start += count
        return lines + (chosen_copies(function, several, alone) if several else [])
