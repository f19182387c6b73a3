"""Instructions as late as they keep nothing waiting: what is made long before its use takes a register, or goes to
memory and back.

An instruction moves down to the first that uses it if all of its operands are needed there or later anyway: then its
own value waits less, and none waits more. What takes long to compute stays where it is.
"""

from __future__ import annotations

from phistar.backends.traces.fusing import fused_products
from phistar.backends.traces.sums import chained
from phistar.backends.traces.trace import ADD, DIV, INPUT, MUL, NEG, SUB, Trace, reordered

ORDERED_AS_WRITTEN = 2000  # instructions: of fewer, what waits for divisions is put in order as it is written down


def arranged(trace: Trace) -> Trace:
    """The instructions of a statement as they are best compiled. Where there are many and inertias among them, which
    have many short sums, these become chains; the long sums of inverse dynamics would wait in registers."""
    many = len(trace.code) > ORDERED_AS_WRITTEN and any(op == DIV for op, _, _ in trace.code)
    return late(chained(trace)) if many else trace


def late(trace: Trace) -> Trace:
    """The same instructions in such an order."""
    code, fused = trace.code, fused_products(trace)
    absorbed = set(fused.values())
    place = list(range(len(code)))  # before which instruction each is to stand
    first: dict[int, int] = {}  # the place of a value's first use so far, and of its last
    last: dict[int, int] = {}
    for index in range(len(code) - 1, -1, -1):
        op, left, right = code[index]
        if op >= INPUT:
            continue
        product = fused.get(index)
        ends = (left, right) if product is None else (*code[product], right if left == product else left)[-3:]
        operands = {x for x in ends if x is not None and code[x][0] < INPUT}
        soonest = first.get(index, index)
        if index in absorbed:  # stands with the sums that it vanishes into, and they need its factors
            place[index] = soonest
            continue
        if op in (ADD, SUB, MUL, NEG) and all(last.get(x, -1) >= soonest for x in operands):
            place[index] = soonest
        for x in operands if product is None else {*operands, product}:
            first[x], last[x] = min(first.get(x, place[index]), place[index]), max(last.get(x, -1), place[index])
    known = (index for index, (op, _, _) in enumerate(code) if op >= INPUT)
    moved = sorted((index for index, (op, _, _) in enumerate(code) if op < INPUT), key=lambda i: (place[i], i))
    return reordered(trace, [*known, *moved])
