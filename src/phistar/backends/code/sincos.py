"""Sine and cosine without branches: Cody-Waite reduction by π/2 in parts, then fdlibm's polynomials; of floats of 32
bits those of Cephes.

The reduction carries no fast-math flags: it is only right when evaluated as written. Within 2 ulp to 1e14. Angles from
2⁵⁰ on, where doubles are 0.25 rad apart, are first replaced by the angle within ±π that has the C library's sine and
cosine (`within_reach`); infinity becomes NaN. Floats of 32 bits: within 2 ulp to 2¹², from where on they are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import nextafter

from phistar.backends.kernels import (
    I1,
    Code,
    Func,
    If,
    Joined,
    Let,
    Local,
    Module,
    Outside,
    Statement,
    Type,
    Value,
    kernel_ir,
    vector,
)


@dataclass(frozen=True)
class _Format:
    """A kind of floats: its whole numbers, and what its sines are made with. Adding `magic` rounds to an integer and
    leaves that integer in the low bits."""

    kind: str
    whole: str
    bits: int
    magic: float
    reach: float  # beyond, the count of quarter turns is not exact
    sum_reach: float  # beyond, the rounding of a sum is to be seen in its sine
    turns: tuple[float, ...]  # π/2 in parts
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


_TWO_OVER_PI = 0.6366197723675814
_HALVES = 134217729.0  # 2²⁷ + 1: splits a double into two of 26 bits, whose products are exact (Dekker 1971)
_DOUBLE = _Format(
    *("f64", "i64", 64, 6755399441055744.0, 2.0**50, 2.0**7),
    (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    (
        *(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04),
        *(2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
    ),
    (
        *(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05),
        *(-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
    ),
)
_SINGLE = _Format(
    *("f32", "i32", 32, 12582912.0, 2.0**12, 2.0**4),
    # The first three have at most twelve bits, so that their products with counts of as many are exact.
    (1.5703125, 4.837512969970703e-4, 7.549533620476723e-08, 2.5633440682570896e-12),
    (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
    (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
)
_FORMATS = {each.kind: each for each in (_DOUBLE, _SINGLE)}
TOGETHER = 64  # packed angles behind one branch: all of them wait on the stack while it is decided


def sincos(name: str, argument: Value, lanes: int, fma: str) -> list[Let]:
    """Statements that define `name.sin` and `name.cos` of the vector `argument`; `fma` is "fma", or "fmuladd" without
    it."""
    w = _Writer(name, lanes, fma, _FORMATS[argument.type.kind])
    turns = w.fuse("turns", argument, w.constant(_TWO_OVER_PI), w.constant(w.format.magic))
    count = w.binary("count", "fsub", turns, w.constant(w.format.magic))
    exact = fma == "fma" or w.format is _SINGLE
    r = _fused_remainder(w, argument, count) if exact else _split_remainder(w, argument, count)
    sine, cosine = _polynomials(w, r)
    _quadrants(w, turns, sine, cosine)
    return w.lines


@dataclass(frozen=True)
class Angle:
    """A vector of angles; of one that is a sum, its terms: from these whole turns are taken before they are added."""

    vector: Value
    terms: tuple[Value, ...] = ()

    @property
    def reach(self) -> float:
        own = _FORMATS[self.vector.type.kind]
        return own.sum_reach if self.terms else own.reach

    def reduce_turns(self, target: str) -> list[Let]:
        """Statements that define `target.turned`: the angle less whole turns."""
        kind, made = self.vector.type, Value(f"{target}.turned", self.vector.type)
        function, reach = less_turns(kind), Value(self.reach, Type(kind.kind))
        if not self.terms:
            return [Let(made, "call", (self.vector, reach), function)]
        parts = [Value(f"{target}.term{number}", kind) for number in range(len(self.terms))]
        given = zip(parts, self.terms, strict=True)
        calls = [Let(part, "call", (term, reach), function) for part, term in given]
        return [*calls, Let(made, "fadd", tuple(parts))]


def within_reach(name: str, angles: Mapping[str, Angle], lanes: int) -> list[Statement]:
    """Statements that define each target → angle: the same, less whole turns if it is beyond the reach of `sincos`. One
    branch for all of them."""
    lines, some = _beyond(name, angles, lanes)
    calls = [line for target, angle in angles.items() for line in angle.reduce_turns(target)]
    joined = [
        Joined(Value(target, angle.vector.type), Value(f"{target}.turned", angle.vector.type), angle.vector)
        for target, angle in angles.items()
    ]
    return [*lines, If(some, tuple(calls), (), tuple(joined), rare=True)]


def _beyond(name: str, angles: Mapping[str, Angle], lanes: int) -> tuple[list[Let], Value]:
    """Whether any of some angles is beyond its reach, and the statements that say so."""
    kind = next(iter(angles.values())).vector.type.kind
    w, signs = _Writer(name, lanes, "", _FORMATS[kind]), None
    for number, angle in enumerate(angles.values()):
        # A difference whose sign is looked at: comparing a NaN, of which nothing is to be told, would raise a flag.
        size = w.let(f"size{number}", "fabs", angle.vector)
        left = w.bits(f"left{number}", w.binary(f"room{number}", "fsub", w.constant(_before(angle.reach, kind)), size))
        signs = left if signs is None else w.whole(f"signs{number}", "or", signs, left)
    assert signs is not None
    beyond = w.put("beyond", "i1", "slt", signs, w.integer(0))
    w.lines.append(Let(Value(f"{name}.some", I1), "any", (beyond,)))
    return w.lines, w.lines[-1].target


def _before(reach: float, kind: str) -> float:
    """The last number before a power of two."""
    return nextafter(reach, 0) if kind == "f64" else reach * (1.0 - 2.0**-24)


def nearer_inputs(code: Code, memory: Local, entries: list[int], lanes: int) -> None:
    """Take whole turns from those of some vectors of packed memory, angles, that are beyond reach."""
    kind = vector(lanes, memory.type.kind)
    width = kind.size * lanes
    for start in range(0, len(entries), TOGETHER):
        places = {entry: memory.bytes(width * entry) for entry in entries[start : start + TOGETHER]}
        angles = {f"near{entry}": Angle(place.load(lanes, width).value) for entry, place in places.items()}
        lines, some = _beyond(f"angles{start}", angles, lanes)
        then: list[Statement] = []
        for (name, angle), place in zip(angles.items(), places.values(), strict=True):
            then += angle.reduce_turns(name)
            then.append(kernel_ir.Store(Value(f"{name}.turned", kind), place.value, width))
        for line in (*lines, If(some, tuple(then), rare=True)):
            code.put(line)


def less_turns(kind: Type) -> str:
    """The name of the function of `turning_module`."""
    return f"less_turns.v{kind.lanes}{kind.kind}"


def turning_module(*widths: int, kind: str = "f64") -> Module:
    """`less_turns` for vectors of such lanes, and what it calls of the C library."""
    one, end = Type(kind), _ENDINGS[kind]
    outside = [Outside(f"{name}{end}", (one,), one) for name in ("sin", "cos")]
    functions = tuple(_less_turns(vector(lanes, kind)) for lanes in widths)
    return Module(functions, outside=(*outside, Outside(f"atan2{end}", (one, one), one)))


_ENDINGS = {"f64": "", "f32": "f"}  # of the names that functions have in the C library


def _less_turns(kind: Type) -> Func:
    """Each angle of a vector that is beyond reach as the one within ±π with the same sine and cosine; the others stay
    what they are."""
    one, end = Type(kind.kind), _ENDINGS[kind.kind]
    code = Code(less_turns(kind), x=kind, reach=one)
    code.result, last = kind, code["x"]
    for lane in range(kind.lanes):
        angle = code["x"].take(lane)
        sine, cosine = (code.result_of(one, f"{name}{end}", angle) for name in ("sin", "cos"))
        turned = code.result_of(one, f"atan2{end}", sine, cosine)
        beyond = code.let(I1, "oge", code.let(one, "fabs", angle), code["reach"])
        last = code.let(kind, "put", last, beyond.select(turned, angle), detail=lane)
    code.give(last)
    return replace(code.function, called=True, rare=True)


@dataclass
class _Writer:
    """Names under `name`, vectors of `lanes` floats or whole numbers."""

    name: str
    lanes: int
    fma: str
    format: _Format
    lines: list[Let] = field(default_factory=list)

    def constant(self, value: float) -> Value:
        return Value(value, vector(self.lanes, self.format.kind))

    def integer(self, value: int) -> Value:
        return Value(value, vector(self.lanes, self.format.whole))

    def put(self, target: str, kind: str, operation: str, *operands: Value) -> Value:
        made = Value(f"{self.name}.{target}", vector(self.lanes, kind))
        self.lines.append(Let(made, operation, operands))
        return made

    def let(self, target: str, operation: str, *operands: Value) -> Value:
        return self.put(target, self.format.kind, operation, *operands)

    def binary(self, target: str, op: str, a: Value, b: Value) -> Value:
        return self.put(target, self.format.kind, op, a, b)

    def whole(self, target: str, op: str, a: Value, b: Value) -> Value:
        return self.put(target, self.format.whole, op, a, b)

    def fuse(self, target: str, a: Value, b: Value, c: Value) -> Value:
        """a·b + c, in one rounding where the hardware can."""
        return self.put(target, self.format.kind, self.fma, a, b, c)

    def bits(self, target: str, x: Value) -> Value:
        return self.put(target, self.format.whole, "bits", x)


def _fused_remainder(w: _Writer, x: Value, count: Value) -> Value:
    """x − count·π/2. The first step is exact: both terms are multiples of 2⁻⁵², the difference is below one. Of floats
    of 32 bits the first three are, as products of few bits, fused or not."""
    minus = w.let("minus", "fneg", count)
    for number, part in enumerate(w.format.turns):
        x = w.fuse(f"r{number}", minus, w.constant(part), x)
    return x


def _split_remainder(w: _Writer, x: Value, count: Value) -> Value:
    """The same without fused arithmetic: count·π/2 as an exact sum of two doubles."""
    scaled = w.binary("scaled", "fmul", count, w.constant(_HALVES))
    upper = w.binary("upper", "fsub", scaled, w.binary("rest", "fsub", scaled, count))
    lower = w.binary("lower", "fsub", count, upper)
    for number, part in enumerate(w.format.turns[:2]):
        scale = part * _HALVES
        high = scale - (scale - part)
        low = part - high
        whole = w.binary(f"w{number}", "fmul", count, w.constant(part))
        error = w.binary(f"hh{number}", "fmul", upper, w.constant(high))
        error = w.binary(f"e{number}", "fsub", error, whole)
        for pair, (a, b) in enumerate(((upper, low), (lower, high), (lower, low))):
            partial = w.binary(f"p{number}.{pair}", "fmul", a, w.constant(b))
            error = w.binary(f"e{number}.{pair}", "fadd", error, partial)
        x = w.binary(f"d{number}", "fsub", x, whole)
        x = w.binary(f"r{number}", "fsub", x, error)
    return w.binary("r2", "fsub", x, w.binary("last", "fmul", count, w.constant(w.format.turns[2])))


def _polynomials(w: _Writer, r: Value) -> tuple[Value, Value]:
    """Sine and cosine of |r| ≤ π/4."""
    z = w.binary("z", "fmul", r, r)
    sines, cosines = w.format.sine, w.format.cosine
    sine, cosine = w.constant(sines[-1]), w.constant(cosines[-1])
    for power in range(len(sines) - 2, -1, -1):
        sine = w.fuse(f"s{power}", sine, z, w.constant(sines[power]))
        cosine = w.fuse(f"c{power}", cosine, z, w.constant(cosines[power]))
    sine = w.fuse("sine", w.binary("cubed", "fmul", z, r), sine, r)
    return sine, w.fuse("cosine", w.fuse("slope", cosine, z, w.constant(-0.5)), z, w.constant(1.0))


def _quadrants(w: _Writer, turns: Value, sine: Value, cosine: Value) -> None:
    """Swapped for odd counts; the sine's sign is the second bit of the count, the cosine's the sum of both bits."""
    bits = w.bits("bits", turns)
    first = w.whole("first", "shl", bits, w.integer(w.format.bits - 1))
    second = w.whole(
        "second",
        "and",
        w.whole("bit", "shl", bits, w.integer(w.format.bits - 2)),
        w.integer(-(2 ** (w.format.bits - 1))),
    )
    swap = w.put("swap", "i1", "slt", first, w.integer(0))
    both = w.whole("both", "xor", first, second)
    for name, sign, odd, even in (("sin", second, cosine, sine), ("cos", both, sine, cosine)):
        value = w.bits(f"{name}.bits", w.let(f"{name}.value", "select", swap, odd, even))
        turned = w.whole(f"{name}.turned", "xor", value, sign)
        w.let(name, "bits", turned)
