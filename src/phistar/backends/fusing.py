"""Which products a compiler should fuse into the sums that use them.

A multiplication and an addition are one instruction where the product is used once; a compiler sees that by itself. A
product used by several sums can vanish into each of them: one instruction less.
"""

from __future__ import annotations

from phistar.backends.trace import ADD, INPUT, MUL, SUB, Trace


def fused_products(trace: Trace, ranges: list[tuple[int, int]]) -> dict[int, int]:
    """For each sum that takes in a product of several uses, that product; such a product is taken in by all its uses,
    within one part of the trace."""
    code, users = trace.code, _users(trace)
    kept = {int(value) for value, constant in zip(trace.outputs, trace.output_is_constant, strict=True) if not constant}
    found: dict[int, int] = {}

    def can_take(user: int, product: int) -> bool:
        """A sum that has a product of its own, used nowhere else, fuses with that one already."""
        op, left, right = code[user]
        if op not in (ADD, SUB) or left == right or user in found:
            return False
        other = right if left == product else left
        return not (code[other][0] == MUL and len(users[other]) == 1)

    for start, stop in ranges:
        for index in range(start, stop):
            using = users.get(index, [])
            shared = code[index][0] == MUL and index not in kept and len(using) > 1 and using[-1] < stop
            if shared and all(can_take(user, index) for user in using):
                found |= dict.fromkeys(using, index)
    return found


def _users(trace: Trace) -> dict[int, list[int]]:
    """The instructions that use each, in order."""
    users: dict[int, list[int]] = {}
    for index, (op, left, right) in enumerate(trace.code):
        if op < INPUT:
            users.setdefault(left, []).append(index)
            if right is not None and right != left:
                users.setdefault(right, []).append(index)
    return users
