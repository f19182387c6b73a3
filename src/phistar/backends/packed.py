"""A trace over packed copies of rows: the unrolled kernel.

A block of states is packed, entry by entry with one state per lane, by small transposes; the straight-line code then
loads and stores whole vectors. One line of IR per entry instead of three per entry and lane: tables of
derivatives compile in a fraction of the time that row pointers take.
"""

from __future__ import annotations

from dataclasses import dataclass

from phistar.backends.llvm import MANY, Body, declarations, splat
from phistar.backends.loop import loop_text
from phistar.backends.rows import Signature, size
from phistar.backends.single import single_text
from phistar.backends.trace import Trace, depth_first, restricted
from phistar.backends.transpose import WRITTEN, Rows, transposed
from phistar.backends.unsolved import Loops


@dataclass(frozen=True)
class PackedPlaces:
    """%in and %out hold entries in order, a vector of lanes each; `entries` says where in %out each output belongs."""

    lanes: int
    entries: tuple[int, ...]

    def parameters(self) -> str:
        return "ptr noalias %in, ptr noalias %out"

    def lasts(self, number: int) -> bool:
        return True

    def load(self, target: str, number: int) -> list[str]:
        name = f"{target}.p"
        return [*self._at(name, "in", number), f"  %{target} = load {self._vector}, ptr %{name}{self._align}"]

    def store(self, position: int, value: str) -> list[str]:
        name = f"o{position}"
        lines = self._at(name, "out", self.entries[position])
        return [*lines, f"  store {self._vector} {value}, ptr %{name}{self._align}"]

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
    orders = _orders(restricted(trace, places), sum(signature.inputs))
    planned = (Body("part", made, PackedPlaces(lanes, tuple(places)), lanes, fma) for made in orders)
    body = min(planned, key=lambda body: body.traffic)
    made = loops.made if loops else ()
    constants = {
        i: float(trace.outputs[i]) for i, fixed in enumerate(trace.output_is_constant) if fixed and i not in made
    }
    functions = [*body.functions(), *(_copy(name, lanes) for name in ("pack", "unpack")), *_constants(constants, lanes)]
    more, calls = loops.text(lanes) if loops else ([], [])
    block = _block(body, len(trace.outputs), signature, lanes, calls)
    doors = [loop_text(signature, lanes), single_text(signature)]
    return "\n".join([declarations(lanes), *functions, *more, block, *doors])


def _orders(trace: Trace, inputs: int) -> list[Trace]:
    """Orders to choose from. Of a table times ℳ⁻¹, the last row needs all that the others do: made first, a column
    stays in registers from end to end. Where each order takes a second to plan, there is one."""
    if len(trace.outputs) <= inputs:
        return [trace]
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


def _block(body: Body, entries: int, signature: Signature, lanes: int, finishing: list[str]) -> str:
    """`lanes` states at once. Lanes beyond the end repeat the last state, so that no tail is special."""
    arrays, width = signature.arrays, min(lanes, 4)
    given = ", ".join(f"ptr %b{a}, i64 %s{a}" for a in range(arrays))
    lines = [f"define internal void @block({given}, i64 %first, i64 %last) #0 {{"]
    sizes = [size(shape) for shape in signature.shapes]
    inputs = len(signature.inputs)
    rooms = {"scratch": body.slot_count, "in": sum(sizes[:inputs]), "out": entries}
    for name, room in rooms.items():
        lines.append(f"  %{name} = alloca [{max(room, 1) * lanes} x double], align {8 * lanes}")
    for lane in range(lanes):
        lines += [
            f"  %n{lane} = add i64 %first, {lane}",
            f"  %c{lane} = icmp slt i64 %n{lane}, %last",
            f"  %r{lane} = select i1 %c{lane}, i64 %n{lane}, i64 %last",
        ]
        for a in range(arrays):
            lines.append(f"  %o{a}l{lane} = mul i64 %r{lane}, %s{a}")
            lines.append(f"  %a{a}l{lane} = getelementptr i8, ptr %b{a}, i64 %o{a}l{lane}")
    lines += _copies("pack", "in", sizes, range(inputs), lanes, width)
    lines += ["  call void @fill(ptr %out)", *body.calls("ptr %in, ptr %out, ptr %scratch"), *finishing]
    lines += _copies("unpack", "out", sizes, range(inputs, arrays), lanes, width)
    return "\n".join([*lines, "  ret void", "}"])


def _copies(function: str, memory: str, sizes: list[int], arrays: range, lanes: int, width: int) -> list[str]:
    """Between the rows of some arrays and their packed copies, `width` states at a time."""
    lines, start = [], 0
    for a in arrays:
        for lane in range(0, lanes, width):
            if sizes[a] <= WRITTEN:
                lines += Rows(a, lane, width, memory, start, lanes).copied(sizes[a], function == "pack")
                continue
            rows = ", ".join(f"ptr %a{a}l{lane + i}" for i in range(width))
            lines.append(f"  %m{a}l{lane} = getelementptr i8, ptr %{memory}, i64 {8 * (start * lanes + lane)}")
            lines.append(f"  call void @{function}({rows}, ptr %m{a}l{lane}, i64 {sizes[a]})")
        start += sizes[a]
    return lines


def _copy(name: str, lanes: int) -> str:
    """`pack`: entries 0 … n of some rows into columns of packed memory; `unpack`: back. Squares of `width` entries are
    transposed; the last square overlaps the one before it where n is no multiple."""
    width = min(lanes, 4)
    rows = [f"%r{i}" for i in range(width)]
    given = ", ".join(f"ptr {row}" for row in rows)
    lines = [f"define internal void @{name}({given}, ptr %p, i64 %n) #0 {{", "entry:"]
    lines += [f"  %last = sub i64 %n, {width}", "  %wide = icmp sge i64 %last, 0"]
    lines += ["  br i1 %wide, label %square, label %few", "square:", "  %e = phi i64 [0, %entry], [%e2, %square]"]
    lines += _square(rows, width, lanes, name == "pack")
    lines += [f"  %next = add i64 %e, {width}", "  %more = icmp slt i64 %next, %n"]
    lines += ["  %fits = icmp slt i64 %next, %last", "  %e2 = select i1 %fits, i64 %next, i64 %last"]
    lines += ["  br i1 %more, label %square, label %done", "few:", "  %any = icmp sgt i64 %n, 0"]
    lines += ["  br i1 %any, label %one, label %done", "one:", "  %k = phi i64 [0, %few], [%k2, %one]"]
    for i, row in enumerate(rows):
        lines += _pointer(f"a{i}", row, "%k", 8, 0) + _pointer(f"b{i}", "%p", "%k", 8 * lanes, 8 * i)
        source, target = (f"%a{i}", f"%b{i}") if name == "pack" else (f"%b{i}", f"%a{i}")
        lines += [f"  %x{i} = load double, ptr {source}, align 8", f"  store double %x{i}, ptr {target}, align 8"]
    lines += ["  %k2 = add i64 %k, 1", "  %again = icmp slt i64 %k2, %n", "  br i1 %again, label %one, label %done"]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _square(rows: list[str], width: int, lanes: int, packing: bool) -> list[str]:
    """Load, transpose and store `width`² entries from %e on."""
    vector, lines = f"<{width} x double>", []
    for i, row in enumerate(rows):
        lines += _pointer(f"f{i}", row, "%e", 8, 0)
        lines += [f"  %g{i}e = add i64 %e, {i}", *_pointer(f"g{i}", "%p", f"%g{i}e", 8 * lanes, 0)]
    source, target = ("f", "g") if packing else ("g", "f")
    lines += [f"  %v{i} = load {vector}, ptr %{source}{i}, align 8" for i in range(width)]
    made, shuffles = transposed([f"%v{i}" for i in range(width)], vector)
    lines += shuffles
    return lines + [f"  store {vector} {value}, ptr %{target}{i}, align 8" for i, value in enumerate(made)]


def _pointer(name: str, start: str, index: str, step: int, offset: int) -> list[str]:
    return [
        f"  %{name}.m = mul i64 {index}, {step}",
        f"  %{name}.o = add i64 %{name}.m, {offset}",
        f"  %{name} = getelementptr i8, ptr {start}, i64 %{name}.o",
    ]
