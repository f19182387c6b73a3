"""The peak of one core: fused multiply-adds on registers alone, in as many independent chains as hide their latency."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from phistar.backends.machine.jit import Target, compile_object, host, load_object
from phistar.cli.benchmark.timing import Contestant, contest

CHAINS = 12  # with the two factors they fill the sixteen registers that every x86-64 has
ROUNDS = 4000


def peak(seconds: float, target: Target | None = None) -> float:
    """Floating-point operations per nanosecond (GFlop/s) of one core; a multiply-add is two."""
    target = target or host()
    loop = loop_function(target)
    work = Contestant(lambda: loop(ROUNDS, 0.999, 1e-3), ROUNDS)
    return 2 * CHAINS * target.lanes / contest({"peak": work}, seconds)["peak"].best


def loop_function(target: Target) -> Callable[[int, float, float], float]:
    """loop(n, a, b): x ← a x + b, n times from b, in every lane of every chain; the chains' sum of one lane."""
    code = load_object(compile_object(loop_text(target.lanes), target))
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double, ctypes.c_double)(code.address)
    return lambda n, a, b: (code, function(n, a, b))[1]  # the code must live as long as the function


def loop_text(lanes: int) -> str:
    """The module; the sum over all chains is returned, so that nothing can be left out."""
    vector = f"<{lanes} x double>"
    chains = range(CHAINS)
    lines = [
        f"declare {vector} @llvm.fmuladd.v{lanes}f64({vector}, {vector}, {vector})",
        "define double @loop(i64 %n, double %a, double %b) {",
        "start:",
    ]
    for name in ("a", "b"):
        lines.append(f"  %{name}.0 = insertelement {vector} poison, double %{name}, i32 0")
        lines.append(
            f"  %{name}.v = shufflevector {vector} %{name}.0, {vector} poison, <{lanes} x i32> zeroinitializer"
        )
    lines += ["  br label %again", "again:", "  %i = phi i64 [0, %start], [%next, %again]"]
    lines += [f"  %x{k} = phi {vector} [%b.v, %start], [%y{k}, %again]" for k in chains]
    lines += [
        f"  %y{k} = call {vector} @llvm.fmuladd.v{lanes}f64({vector} %x{k}, {vector} %a.v, {vector} %b.v)"
        for k in chains
    ]
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %n"]
    lines += ["  br i1 %more, label %again, label %done", "done:"]
    lines += [f"  %s{k} = fadd {vector} %{'s' if k > 1 else 'y'}{k - 1}, %y{k}" for k in chains if k]
    lines += [f"  %sum = extractelement {vector} %s{CHAINS - 1}, i32 0", "  ret double %sum", "}"]
    return "\n".join(lines)
