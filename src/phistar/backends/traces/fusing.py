"""Products that vanish into the sums that use them.

A multiplication and an addition are one instruction. A product used by several sums can vanish into each of them: one
instruction less, and none that waits for another.
"""

from __future__ import annotations

from phistar.backends.traces.trace import ADD, INPUT, MUL, SUB, Trace


def fused_products(trace: Trace) -> dict[int, int]:
    """For each sum that takes in a product, that product; such a product is taken in by all its uses."""
    code, users = trace.code, users_of(trace)
    kept = {int(value) for value, constant in zip(trace.outputs, trace.output_is_constant, strict=True) if not constant}
    free = [index for index, (op, _, _) in enumerate(code) if op == MUL and index not in kept]
    own = {index for index in free if len(users[index]) == 1}
    found: dict[int, int] = {}

    def can_take(user: int, product: int) -> bool:
        """A sum that has a product of its own, used nowhere else, takes in that one."""
        op, left, right = code[user]
        if op not in (ADD, SUB) or left == right or user in found:
            return False
        return (right if left == product else left) not in own

    for index in free:
        if index not in own and all(can_take(user, index) for user in users[index]):
            found |= dict.fromkeys(users[index], index)
    for index, (op, left, right) in enumerate(code):
        if op in (ADD, SUB) and left != right and index not in found and (left in own or right in own):
            found[index] = right if right in own else left
    return found


def users_of(trace: Trace) -> dict[int, list[int]]:
    """The instructions that use each, in order."""
    users: dict[int, list[int]] = {}
    for index, (op, left, right) in enumerate(trace.code):
        if op < INPUT:
            users.setdefault(left, []).append(index)
            if right is not None and right != left:
                users.setdefault(right, []).append(index)
    return users
