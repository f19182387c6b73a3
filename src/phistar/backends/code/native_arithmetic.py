"""Arithmetic of the loop language in LLVM IR, as Python does it: a checked loop ends where Python raises, or would need
more than 64 bits, with a fault.

Unchecked, whole numbers wrap at 64 bits, int and floor give the nearest whole number that there is, and floats divide
and take roots by IEEE 754; a whole number divided by 0 is a fault in any loop, which would end the process.
"""

from __future__ import annotations

from phistar.backends.code.native_source import FLOAT, WHOLE

ANY_ORDER, IN_ORDER = "contract reassoc arcp", "contract arcp"  # without nsz: the sign of a zero is Python's
OUTSIDE, BY_ZERO, TOO_LONG, NOT_FINITE, NEGATIVE, NOT_EXACT = range(1, 7)  # what @fault says
_EXACT = 2**53  # whole numbers to here are floats
_ZERO = {"void": "", FLOAT: " 0.0", WHOLE: " 0", "i1": " false"}
DECLARED = "\n".join(
    [
        *(f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "fabs", "floor")),
        *(f"declare {{i64, i1}} @llvm.s{op}.with.overflow.i64(i64, i64)" for op in ("add", "sub", "mul")),
        "declare i64 @llvm.fptosi.sat.i64.f64(double)",
        "declare i64 @llvm.sadd.sat.i64(i64, i64)",
        "@fault = internal global i64 0",
    ]
)


class Lines:
    """Instructions in order, with names for their results and labels."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.open = True  # whether the block at hand has no end yet

    def put(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def made(self, right: str) -> str:
        self.count += 1
        self.put(f"%.{self.count} = {right}")
        return f"%.{self.count}"

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}.{self.count}" for name in names]

    def branch(self, test: str, then: str, otherwise: str) -> None:
        self.put(f"br i1 {test}, label %{then}, label %{otherwise}")

    def jump(self, label: str) -> None:
        self.put(f"br label %{label}")

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.open = True


class Arithmetic:
    """Operations on values that IR names, in a function that returns a `result`; sums are taken in any order, or as
    they stand, `in_order`."""

    def __init__(self, out: Lines, checked: bool, result: str, in_order: bool) -> None:
        self.out, self.checked, self.result = out, checked, result
        self.flags = IN_ORDER if in_order else ANY_ORDER

    def end_unless(self, fits: str, fault: int) -> None:
        """What follows is done only where it `fits`; else the function ends here, as by an exception."""
        if not self.checked:
            return
        out, (wrong, on) = self.out, self.out.labels("wrong", "on")
        out.branch(fits, on, wrong)
        out.begin(wrong)
        out.put(f"store i64 {fault}, ptr @fault, align 8")
        self._leave()
        out.begin(on)

    def end_after_fault(self) -> None:
        """After a call: a fault in it ends the caller too."""
        if not self.checked:
            return
        out, (wrong, on) = self.out, self.out.labels("wrong", "on")
        fault = out.made("load i64, ptr @fault, align 8")
        out.branch(out.made(f"icmp eq i64 {fault}, 0"), on, wrong)
        out.begin(wrong)
        self._leave()
        out.begin(on)

    def _leave(self) -> None:
        self.out.put(f"ret {self.result}{_ZERO[self.result]}")

    def whole(self, name: str, left: str, right: str) -> str:
        """Sum, difference or product of whole numbers ("add", "sub", "mul")."""
        made = self.out.made
        if not self.checked:
            return made(f"{name} i64 {left}, {right}")
        both = made(f"call {{i64, i1}} @llvm.s{name}.with.overflow.i64(i64 {left}, i64 {right})")
        value, beyond = (made(f"extractvalue {{i64, i1}} {both}, {n}") for n in (0, 1))
        self.end_unless(made(f"xor i1 {beyond}, true"), TOO_LONG)
        return value

    def floored(self, name: str, left: str, right: str) -> str:
        """⌊a/b⌋ or a − b⌊a/b⌋ ("sdiv", "srem"), the rest of b's sign: LLVM's quotient is cut towards zero, and the
        processor stops at b = 0 and at −2⁶³/−1."""
        made, out = self.out.made, self.out
        if right.lstrip("-").isdigit() and int(right) not in (0, -1):
            return self._floored(name, left, right)
        apart = made(f"icmp ne i64 {right}, 0")
        if self.checked:
            self.end_unless(apart, BY_ZERO)
        else:
            wrong, on = out.labels("wrong", "on")
            out.branch(apart, on, wrong)
            out.begin(wrong)
            out.put(f"store i64 {BY_ZERO}, ptr @fault, align 8")
            out.jump(on)
            out.begin(on)
        turned = made(f"icmp eq i64 {right}, -1")
        either = made(f"or i1 {turned}, {made(f'xor i1 {apart}, true')}")
        found = self._floored(name, left, made(f"select i1 {either}, i64 1, i64 {right}"))
        if name == "srem":
            return found
        least = made(f"icmp ne i64 {left}, {-(2**63)}")
        self.end_unless(made(f"or i1 {least}, {made(f'xor i1 {turned}, true')}"), TOO_LONG)
        return made(f"select i1 {turned}, i64 {made(f'sub i64 0, {left}')}, i64 {found}")

    def _floored(self, name: str, left: str, right: str) -> str:
        made = self.out.made
        rest = made(f"srem i64 {left}, {right}")
        apart = made(f"icmp slt i64 {made(f'xor i64 {rest}, {right}')}, 0")  # their signs differ
        lower = made(f"and i1 {apart}, {made(f'icmp ne i64 {rest}, 0')}")
        if name == "srem":
            return made(f"select i1 {lower}, i64 {made(f'add i64 {rest}, {right}')}, i64 {rest}")
        quotient = made(f"sdiv i64 {left}, {right}")
        return made(f"select i1 {lower}, i64 {made(f'sub i64 {quotient}, 1')}, i64 {quotient}")

    def float(self, name: str, left: str, right: str) -> str:
        """Of floats ("fadd", "fsub", "fmul", "fdiv")."""
        if name == "fdiv":
            self.end_unless(self.out.made(f"fcmp une double {right}, 0.0"), BY_ZERO)
        return self.out.made(f"{name} {self.flags} double {left}, {right}")

    def negated(self, kind: str, value: str) -> str:
        return self.out.made(f"fneg {self.flags} double {value}") if kind == FLOAT else self.whole("sub", "0", value)

    def root(self, value: str) -> str:
        self.end_unless(self.out.made(f"fcmp uge double {value}, 0.0"), NEGATIVE)  # that of NaN is NaN
        return self.out.made(f"call {self.flags} double @llvm.sqrt.f64(double {value})")

    def cut(self, value: str) -> str:
        """The whole number that a float is without what stands behind its point."""
        made = self.out.made
        if self.checked:
            size = made(f"call double @llvm.fabs.f64(double {value})")
            self.end_unless(made(f"fcmp one double {size}, 0x7FF0000000000000"), NOT_FINITE)
            low, high = (
                made(f"fcmp {test}") for test in (f"oge double {value}, {_LOW}", f"olt double {value}, {_HIGH}")
            )
            self.end_unless(made(f"and i1 {low}, {high}"), TOO_LONG)
        return made(f"call i64 @llvm.fptosi.sat.i64.f64(double {value})")

    def exact(self, value: str) -> str:
        """A whole number as a float where Python would keep, or compare, all its digits."""
        made = self.out.made
        if self.checked:
            near = made(f"icmp ule i64 {made(f'add i64 {value}, {_EXACT}')}, {2 * _EXACT}")
            self.end_unless(near, NOT_EXACT)
        return made(f"sitofp i64 {value} to double")


_LOW, _HIGH = "0xC3E0000000000000", "0x43E0000000000000"  # −2⁶³ and 2⁶³
