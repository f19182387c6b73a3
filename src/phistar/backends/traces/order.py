"""An order of instructions that keeps few values waiting: what frees registers comes first.

Values that wait for their use fill registers, and what does not fit goes to memory and back. Each instruction frees the
operands that it is the last to use and adds its own value. Of those that can run, the one that frees most is next, and
among equals the one that most work waits for (Goodman and Hsu, International Conference on Supercomputing 1988).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from phistar.backends.traces.fusing import fused_products
from phistar.backends.traces.trace import ADD, COS, DIV, INPUT, MUL, NEG, SIGN, SIN, SQRT, SUB, Trace, reordered

CYCLES = {ADD: 3, SUB: 3, MUL: 3, DIV: 13, NEG: 1, SIN: 40, COS: 40, SQRT: 20, SIGN: 3}
FUSED = 4  # cycles


def few_alive(trace: Trace, fma: bool) -> Trace:
    """The same instructions in such an order; a product that vanishes into sums stays before the first of them."""
    code = trace.code
    fused = fused_products(trace) if fma else {}
    absorbed = set(fused.values())

    def operands(index: int) -> tuple[int, ...]:
        """Computed operands."""
        _, left, right = code[index]
        needed: tuple[int | None, ...] = (left, right)
        if index in fused:
            product = fused[index]
            needed = (*code[product][1:], right if left == product else left)
        return tuple(x for x in dict.fromkeys(needed) if x is not None and code[x][0] < INPUT)

    computed = [index for index, (op, _, _) in enumerate(code) if op < INPUT and index not in absorbed]
    cycles = {index: FUSED if index in fused else CYCLES[code[index][0]] for index in computed}
    order = [index for index, (op, _, _) in enumerate(code) if op >= INPUT]
    placed: set[int] = set()
    for index in _listed(computed, operands, cycles):
        product = fused.get(index)
        if product is not None and product not in placed:
            placed.add(product)
            order.append(product)
        order.append(index)
    return reordered(trace, order)


def _listed(
    computed: Sequence[int], operands: Callable[[int], tuple[int, ...]], cycles: dict[int, int]
) -> Sequence[int]:
    needs = {index: operands(index) for index in computed}
    users: dict[int, list[int]] = {index: [] for index in computed}
    for index in computed:
        for value in needs[index]:
            users[value].append(index)
    waiting: dict[int, int] = {}  # cycles from an instruction to the end of all that needs it
    for index in reversed(computed):
        waiting[index] = cycles[index] + max((waiting[user] for user in users[index]), default=0)
    uses = {index: len(found) for index, found in users.items()}
    missing = {index: len(found) for index, found in needs.items()}
    freed = {index: sum(uses[value] == 1 for value in needs[index]) for index in computed}
    done: set[int] = set()
    ready: list[tuple[int, int, int]] = []  # an instruction that comes to free more is listed again

    def list_it(index: int) -> None:
        heappush(ready, (bool(users[index]) - freed[index], -waiting[index], index))

    for index in computed:
        if not missing[index]:
            list_it(index)
    result: list[int] = []
    while ready:
        *_, index = heappop(ready)
        if index in done:
            continue
        done.add(index)
        result.append(index)
        for value in needs[index]:
            uses[value] -= 1
            if uses[value] == 1:
                last = next(user for user in users[value] if user not in done)
                freed[last] += 1
                if not missing[last]:
                    list_it(last)
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                list_it(user)
    return result
