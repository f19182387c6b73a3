"""Sine and cosine as branch-free vector IR: Cody-Waite reduction by π/2 in three parts, then fdlibm's polynomials.

The reduction carries no fast-math flags: it is only right when evaluated as written. Good to about 1e14.
"""

from __future__ import annotations

import struct

_MAGIC = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to an integer and leaves that integer in the low bits
_TWO_OVER_PI = 0.6366197723675814
_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_SIN = (
    *(-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04),
    *(2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10),
)
_COS = (
    *(4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05),
    *(-2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11),
)


def sincos(name: str, argument: str, lanes: int, fma: str) -> list[str]:
    """Lines that define %name.sin and %name.cos of the vector `argument`."""
    vector, integers = f"<{lanes} x double>", f"<{lanes} x i64>"
    lines: list[str] = []

    def constant(value: float) -> str:
        word = f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
        return "<" + ", ".join([f"double {word}"] * lanes) + ">"

    def whole(value: int) -> str:
        return "<" + ", ".join([f"i64 {value}"] * lanes) + ">"

    def let(target: str, line: str) -> str:
        lines.append(f"  %{name}.{target} = {line}")
        return f"%{name}.{target}"

    def fused(target: str, a: str, b: str, c: str) -> str:
        call = f"call {vector} @llvm.{fma}.v{lanes}f64({vector} {a}, {vector} {b}, {vector} {c})"
        return let(target, call)

    turns = fused("turns", argument, constant(_TWO_OVER_PI), constant(_MAGIC))
    count = let("count", f"fsub {vector} {turns}, {constant(_MAGIC)}")
    minus = let("minus", f"fneg {vector} {count}")
    r = fused("r0", minus, constant(_PI_2[0]), argument)
    r = fused("r1", minus, constant(_PI_2[1]), r)
    r = fused("r", minus, constant(_PI_2[2]), r)
    z = let("z", f"fmul {vector} {r}, {r}")
    sine = constant(_SIN[-1])
    for power, c in enumerate(reversed(_SIN[:-1])):
        sine = fused(f"p{power}", sine, z, constant(c))
    cubed = let("cubed", f"fmul {vector} {z}, {r}")
    sine = fused("sine", cubed, sine, r)
    cosine = constant(_COS[-1])
    for power, c in enumerate(reversed(_COS[:-1])):
        cosine = fused(f"q{power}", cosine, z, constant(c))
    squared = let("squared", f"fmul {vector} {z}, {z}")
    half = fused("half", z, constant(-0.5), constant(1.0))
    cosine = fused("cosine", squared, cosine, half)
    # Quadrant: swap for odd turns, flip signs by the second bit.
    bits = let("bits", f"bitcast {vector} {turns} to {integers}")
    odd = let("odd", f"and {integers} {bits}, {whole(1)}")
    swap = let("swap", f"icmp ne {integers} {odd}, {whole(0)}")
    s = let("s", f"select <{lanes} x i1> {swap}, {vector} {cosine}, {vector} {sine}")
    c = let("c", f"select <{lanes} x i1> {swap}, {vector} {sine}, {vector} {cosine}")
    upper = let("upper", f"shl {integers} {bits}, {whole(62)}")
    sign_s = let("sign_s", f"and {integers} {upper}, {whole(-(2**63))}")
    next_bits = let("next", f"add {integers} {bits}, {whole(1)}")
    upper_c = let("upper_c", f"shl {integers} {next_bits}, {whole(62)}")
    sign_c = let("sign_c", f"and {integers} {upper_c}, {whole(-(2**63))}")
    s_bits = let("s_bits", f"bitcast {vector} {s} to {integers}")
    c_bits = let("c_bits", f"bitcast {vector} {c} to {integers}")
    s_flip = let("s_flip", f"xor {integers} {s_bits}, {sign_s}")
    c_flip = let("c_flip", f"xor {integers} {c_bits}, {sign_c}")
    let("sin", f"bitcast {integers} {s_flip} to {vector}")
    let("cos", f"bitcast {integers} {c_flip} to {vector}")
    return lines
