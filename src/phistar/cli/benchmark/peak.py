"""The peak of one core: fused multiply-adds on registers alone, in as many independent chains as hide their latency."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from phistar.backends.kernels import F64, I64, Code, Local, Module, llvm_text
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
    code = Code("loop", n=I64, a=F64, b=F64)
    code.inner, code.result = False, F64
    a, b = (code[name].every(lanes) for name in ("a", "b"))

    def turn(i: Local, chains: list[Local]) -> list[Local]:
        return [code.let(x.type, "fmuladd", x, a, b) for x in chains]

    first, *others = code.carry(0, code["n"], [b] * CHAINS, turn)
    code.give(sum(others, first).take(0))
    return llvm_text(Module((code.function,)))
