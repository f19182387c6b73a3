"""A trace over rows of arrays: the unrolled kernel, each state one row of every input and output."""

from __future__ import annotations

from dataclasses import dataclass

from phistar.backends.llvm import Body, declarations
from phistar.backends.loop import loop_text
from phistar.backends.trace import Trace


@dataclass(frozen=True)
class Signature:
    """Rows of each input, and the shape of each output; one state is one row of each."""

    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]

    @property
    def text(self) -> str:
        """NumPy's gufunc signature with frozen core dimensions."""
        left = ",".join(f"({n})" for n in self.inputs)
        right = ",".join(f"({','.join(str(n) for n in shape)})" for shape in self.outputs)
        return f"{left}->{right}"

    @property
    def arrays(self) -> int:
        return len(self.inputs) + len(self.outputs)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [(n,) for n in self.inputs] + list(self.outputs)


def size(shape: tuple[int, ...]) -> int:
    result = 1
    for n in shape:
        result *= n
    return result


@dataclass(frozen=True)
class RowPlaces:
    """Per array and lane a pointer to the row: %a{array}l{lane}."""

    signature: Signature
    lanes: int

    def parameters(self) -> str:
        return ", ".join(f"ptr %{name}" for name in self.names())

    def names(self) -> list[str]:
        return [f"a{a}l{lane}" for a in range(self.signature.arrays) for lane in range(self.lanes)]

    def load(self, target: str, number: int) -> list[str]:
        array, entry = _place(number, [(n,) for n in self.signature.inputs])
        lines, previous = [], "poison"
        for lane in range(self.lanes):
            name = f"%{target}.{lane}"
            result = f"%{target}" if lane == self.lanes - 1 else f"{name}v"
            lines += [
                f"  {name}p = getelementptr i8, ptr %a{array}l{lane}, i64 {8 * entry}",
                f"  {name} = load double, ptr {name}p, align 8",
                f"  {result} = insertelement <{self.lanes} x double> {previous}, double {name}, i32 {lane}",
            ]
            previous = result
        return lines

    def store(self, position: int, value: str) -> list[str]:
        array, entry = _place(position, list(self.signature.outputs))
        array += len(self.signature.inputs)
        lines = []
        for lane in range(self.lanes):
            name = f"%o{position}.{lane}"
            lines += [
                f"  {name} = extractelement <{self.lanes} x double> {value}, i32 {lane}",
                f"  {name}p = getelementptr i8, ptr %a{array}l{lane}, i64 {8 * entry}",
                f"  store double {name}, ptr {name}p, align 8",
            ]
        return lines


def _place(number: int, shapes: list[tuple[int, ...]]) -> tuple[int, int]:
    """(array, entry) of a value counted through all arrays."""
    for array, shape in enumerate(shapes):
        if number < size(shape):
            return array, number
        number -= size(shape)
    raise AssertionError(number)


def module_text(trace: Trace, signature: Signature, lanes: int, fma: bool) -> str:
    """The whole module; `loop` is the gufunc's inner loop."""
    places = RowPlaces(signature, lanes)
    body = Body("part", trace, places, lanes, fma)
    block = _block(body, places)
    return "\n".join([declarations(lanes), *body.functions(), block, loop_text(signature, lanes)])


def _block(body: Body, places: RowPlaces) -> str:
    """`lanes` states at once. Lanes beyond the end repeat the last state, so that no tail is special."""
    arrays, lanes = places.signature.arrays, places.lanes
    given = ", ".join(f"ptr %b{a}, i64 %s{a}" for a in range(arrays))
    lines = [f"define internal void @block({given}, i64 %first, i64 %last) #0 {{"]
    lines.append(f"  %scratch = alloca [{max(body.slot_count, 1) * lanes} x double], align {8 * lanes}")
    for lane in range(lanes):
        lines += [
            f"  %n{lane} = add i64 %first, {lane}",
            f"  %c{lane} = icmp slt i64 %n{lane}, %last",
            f"  %r{lane} = select i1 %c{lane}, i64 %n{lane}, i64 %last",
        ]
        for a in range(arrays):
            lines.append(f"  %o{a}l{lane} = mul i64 %r{lane}, %s{a}")
            lines.append(f"  %a{a}l{lane} = getelementptr i8, ptr %b{a}, i64 %o{a}l{lane}")
    arguments = ", ".join([*(f"ptr %{name}" for name in places.names()), "ptr %scratch"])
    return "\n".join([*lines, *body.calls(arguments), "  ret void", "}"])
