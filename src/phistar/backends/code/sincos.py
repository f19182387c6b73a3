"""Sine and cosine as branch-free vector IR: Cody-Waite reduction by π/2 in three parts, then fdlibm's polynomials.

The reduction carries no fast-math flags: it is only right when evaluated as written. Within 2 ulp to 1e14. Angles from
2⁵⁰ on, where doubles are 0.25 rad apart, are first replaced by the angle within ±π that has the C library's sine and
cosine (`within_reach`); infinity becomes NaN.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import nextafter

_MAGIC = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer and leaves that integer in the low bits
_TWO_OVER_PI = 0.6366197723675814
_REACH = 2.0**50  # beyond, the count of quarter turns has no place in the low bits
_SUM_REACH = 2.0**7  # beyond, the rounding of a sum is to be seen in its sine
_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_HALVES = 134217729.0  # 2²⁷ + 1: splits a double into two of 26 bits, whose products are exact (Dekker 1971)
_SIN = (
    *(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04),
    *(2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
)
_COS = (
    *(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05),
    *(-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
)
_SIGN = -(2**63)
TOGETHER = 64  # packed angles behind one branch: all of them wait on the stack while it is decided


def sincos(name: str, argument: str, lanes: int, fma: str) -> list[str]:
    """Lines that define %name.sin and %name.cos of the vector `argument`; `fma` is "fma", or "fmuladd" without it."""
    w = _Writer(name, lanes, fma)
    turns = w.fused("turns", argument, w.constant(_TWO_OVER_PI), w.constant(_MAGIC))
    count = w.binary("count", "fsub", turns, w.constant(_MAGIC))
    r = _fused_remainder(w, argument, count) if fma == "fma" else _split_remainder(w, argument, count)
    sine, cosine = _polynomials(w, r)
    _quadrants(w, turns, sine, cosine)
    return w.lines


@dataclass(frozen=True)
class Angle:
    """A vector of angles; of one that is a sum, its terms: from these whole turns are taken before they are added."""

    vector: str
    terms: tuple[str, ...] = ()

    @property
    def reach(self) -> float:
        return _SUM_REACH if self.terms else _REACH

    def turned(self, target: str, vector: str, function: str) -> list[str]:
        """Lines that define %target.turned: the angle less whole turns."""
        reach = f"double 0x{_word(self.reach):016X}"
        if not self.terms:
            return [f"  %{target}.turned = call {vector} {function}({vector} {self.vector}, {reach})"]
        parts = [f"%{target}.term{number}" for number in range(len(self.terms))]
        given = zip(parts, self.terms, strict=True)
        lines = [f"  {part} = call {vector} {function}({vector} {term}, {reach})" for part, term in given]
        return [*lines, f"  %{target}.turned = fadd {vector} {', '.join(parts)}"]


def within_reach(name: str, angles: Mapping[str, Angle], lanes: int, stores: Sequence[str] = ()) -> list[str]:
    """Lines that define %target for each target → angle: the same, less whole turns if it is beyond the reach of
    `sincos`. One branch, labelled with `name`, for all of them; with `stores`, lines that store each %target.turned,
    nothing is defined after it."""
    w, signs = _Writer(name, lanes, ""), ""
    for number, angle in enumerate(angles.values()):
        # A difference whose sign is looked at: comparing a NaN, of which nothing is to be told, would raise a flag.
        size = w.let(f"size{number}", f"call {w.vector} @llvm.fabs.v{lanes}f64({w.vector} {angle.vector})")
        left = w.bits(f"left{number}", w.binary(f"room{number}", "fsub", w.constant(nextafter(angle.reach, 0)), size))
        signs = w.whole(f"signs{number}", "or", signs, left) if signs else left
    beyond = w.let("beyond", f"icmp slt {w.integers} {signs}, {w.integer(0)}")
    lanes_beyond = w.let("lanes", f"bitcast <{lanes} x i1> {beyond} to i{lanes}")
    some = w.let("some", f"icmp ne i{lanes} {lanes_beyond}, 0")
    function = f"@less_turns.v{lanes}"
    calls = [line for target, angle in angles.items() for line in angle.turned(target, w.vector, function)]
    joined = [
        f"  %{target} = phi {w.vector} [{angle.vector}, %{name}.near], [%{target}.turned, %{name}.far]"
        for target, angle in angles.items()
    ]
    return [
        *(f"  br label %{name}.near", f"{name}.near:", *w.lines),
        f'  br i1 {some}, label %{name}.far, label %{name}.on, !prof !{{!"branch_weights", i32 1, i32 1000000}}',
        *(f"{name}.far:", *calls, *stores, f"  br label %{name}.on"),
        *(f"{name}.on:", *(joined if not stores else ())),
    ]


def nearer_inputs(entries: Sequence[int], lanes: int) -> list[str]:
    """Lines that take whole turns from those of some vectors of %in, packed angles, that are beyond reach."""
    lines = []
    for start in range(0, len(entries), TOGETHER):
        angles, stores = {}, []
        for entry in entries[start : start + TOGETHER]:
            lines += [f"  %angle{entry}.p = getelementptr i8, ptr %in, i64 {8 * lanes * entry}"]
            lines += [f"  %angle{entry} = load <{lanes} x double>, ptr %angle{entry}.p, align {8 * lanes}"]
            stores += [f"  store <{lanes} x double> %near{entry}.turned, ptr %angle{entry}.p, align {8 * lanes}"]
            angles[f"near{entry}"] = Angle(f"%angle{entry}")
        lines += within_reach(f"angles{start}", angles, lanes, stores)
    return lines


FUNCTIONS = "\n".join(
    [
        *(f"declare double @{name}(double)" for name in ("sin", "cos", "llvm.fabs.f64")),
        "declare double @atan2(double, double)",
    ]
)
"""The C library's, declared once in a module that has `less_turns_text`."""


def less_turns_text(lanes: int) -> str:
    """`less_turns.v{lanes}`: each angle of a vector that is beyond reach as the one within ±π with the same sine and
    cosine; the others stay what they are."""
    vector, last = f"<{lanes} x double>", "%x"
    lines = [f"declare {vector} @llvm.fabs.v{lanes}f64({vector})"]
    lines += [f"define internal {vector} @less_turns.v{lanes}({vector} %x, double %reach) nounwind noinline cold {{"]
    for lane in range(lanes):
        lines += [f"  %a{lane} = extractelement {vector} %x, i32 {lane}"]
        lines += [f"  %{name}{lane} = call double @{name}(double %a{lane})" for name in ("sin", "cos")]
        lines += [f"  %t{lane} = call double @atan2(double %sin{lane}, double %cos{lane})"]
        lines += [f"  %z{lane} = call double @llvm.fabs.f64(double %a{lane})"]
        lines += [f"  %b{lane} = fcmp oge double %z{lane}, %reach"]
        lines += [f"  %y{lane} = select i1 %b{lane}, double %t{lane}, double %a{lane}"]
        lines += [f"  %x{lane} = insertelement {vector} {last}, double %y{lane}, i32 {lane}"]
        last = f"%x{lane}"
    return "\n".join([*lines, f"  ret {vector} {last}", "}"])


@dataclass
class _Writer:
    """Names under %name, vectors of `lanes` doubles or integers."""

    name: str
    lanes: int
    fma: str
    lines: list[str] = field(default_factory=list)

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x double>"

    @property
    def integers(self) -> str:
        return f"<{self.lanes} x i64>"

    def constant(self, value: float) -> str:
        return "<" + ", ".join([f"double 0x{_word(value) % 2**64:016X}"] * self.lanes) + ">"

    def integer(self, value: int) -> str:
        return "<" + ", ".join([f"i64 {value}"] * self.lanes) + ">"

    def let(self, target: str, line: str) -> str:
        self.lines.append(f"  %{self.name}.{target} = {line}")
        return f"%{self.name}.{target}"

    def binary(self, target: str, op: str, a: str, b: str) -> str:
        return self.let(target, f"{op} {self.vector} {a}, {b}")

    def whole(self, target: str, op: str, a: str, b: str) -> str:
        return self.let(target, f"{op} {self.integers} {a}, {b}")

    def fused(self, target: str, a: str, b: str, c: str) -> str:
        """a·b + c, in one rounding where the hardware can."""
        given = ", ".join(f"{self.vector} {x}" for x in (a, b, c))
        return self.let(target, f"call {self.vector} @llvm.{self.fma}.v{self.lanes}f64({given})")

    def select(self, target: str, mask: str, a: str, b: str) -> str:
        return self.let(target, f"select <{self.lanes} x i1> {mask}, {self.vector} {a}, {self.vector} {b}")

    def bits(self, target: str, x: str) -> str:
        return self.let(target, f"bitcast {self.vector} {x} to {self.integers}")


def _word(value: float) -> int:
    return struct.unpack(">q", struct.pack(">d", value))[0]


def _fused_remainder(w: _Writer, x: str, count: str) -> str:
    """x − count·π/2. The first step is exact: both terms are multiples of 2⁻⁵², the difference is below one."""
    minus = w.let("minus", f"fneg {w.vector} {count}")
    for number, part in enumerate(_PI_2):
        x = w.fused(f"r{number}", minus, w.constant(part), x)
    return x


def _split_remainder(w: _Writer, x: str, count: str) -> str:
    """The same without fused arithmetic: count·π/2 as an exact sum of two doubles."""
    scaled = w.binary("scaled", "fmul", count, w.constant(_HALVES))
    upper = w.binary("upper", "fsub", scaled, w.binary("rest", "fsub", scaled, count))
    lower = w.binary("lower", "fsub", count, upper)
    for number, part in enumerate(_PI_2[:2]):
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
    return w.binary("r2", "fsub", x, w.binary("last", "fmul", count, w.constant(_PI_2[2])))


def _polynomials(w: _Writer, r: str) -> tuple[str, str]:
    """Sine and cosine of |r| ≤ π/4."""
    z = w.binary("z", "fmul", r, r)
    sine, cosine = w.constant(_SIN[-1]), w.constant(_COS[-1])
    for power in range(len(_SIN) - 2, -1, -1):
        sine = w.fused(f"s{power}", sine, z, w.constant(_SIN[power]))
        cosine = w.fused(f"c{power}", cosine, z, w.constant(_COS[power]))
    sine = w.fused("sine", w.binary("cubed", "fmul", z, r), sine, r)
    return sine, w.fused("cosine", w.fused("slope", cosine, z, w.constant(-0.5)), z, w.constant(1.0))


def _quadrants(w: _Writer, turns: str, sine: str, cosine: str) -> None:
    """Swapped for odd counts; the sine's sign is the second bit of the count, the cosine's the sum of both bits."""
    bits = w.bits("bits", turns)
    first = w.whole("first", "shl", bits, w.integer(63))
    second = w.whole("second", "and", w.whole("bit", "shl", bits, w.integer(62)), w.integer(_SIGN))
    swap = w.let("swap", f"icmp slt {w.integers} {first}, {w.integer(0)}")
    both = w.whole("both", "xor", first, second)
    for name, sign, odd, even in (("sin", second, cosine, sine), ("cos", both, sine, cosine)):
        value = w.bits(f"{name}.bits", w.select(f"{name}.value", swap, odd, even))
        turned = w.whole(f"{name}.turned", "xor", value, sign)
        w.let(name, f"bitcast {w.integers} {turned} to {w.vector}")
