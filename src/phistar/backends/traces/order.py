"""The order of a trace's instructions, and what they are joined to, before code is made of them.

A product vanishes into the sums that use it: a multiplication and an addition are one instruction. So sums become
chains, term by term: (xy + zw) + (ab + cd) takes five instructions, ((xy + zw) + ab) + cd four; p products and t other
terms take p + t − 1, or p where t is none.

What waits for its use fills registers, and what does not fit goes to memory and back. Each instruction frees the
operands that it is the last to use and adds its own value. Of those that can run, the one that frees most is next, and
among equals the one that most work waits for (Goodman and Hsu, International Conference on Supercomputing 1988). An
instruction moves down to the first that uses it if all of its operands are needed there or later anyway: then its own
value waits less, and none waits more. What takes long to compute stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

from phistar.backends.traces.trace import (
    ADD,
    COS,
    DIV,
    INPUT,
    MUL,
    NEG,
    SIGN,
    SIN,
    SQRT,
    SUB,
    Tape,
    Trace,
    finish,
    reorder,
)

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
    for index in _list(computed, operands, cycles):
        product = fused.get(index)
        if product is not None and product not in placed:
            placed.add(product)
            order.append(product)
        order.append(index)
    return reorder(trace, order)


def _list(computed: Sequence[int], operands: Callable[[int], tuple[int, ...]], cycles: dict[int, int]) -> Sequence[int]:
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


def fused_products(trace: Trace) -> dict[int, int]:
    """Products fused into sums, by sum; a product is fused in all its uses or in none."""
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


Code = tuple[tuple[int, Any, Any], ...]
Terms = list[tuple[bool, int]]
"""Whether each term is subtracted, and its instruction."""


def chain_sums(trace: Trace) -> Trace:
    """Rewrite sums as chains, equal up to rounding: the term ready last is added last, and terms that cancel are
    dropped."""
    code, within = trace.code, _within(trace)
    chains = _Chains(code)
    for index, (op, left, right) in enumerate(code):
        if op not in (ADD, SUB):
            chains.repeat(index, op, left, right)
        elif index not in within:
            chains.add_up(index, _terms(code, within, index))
    pairs = zip(trace.outputs, trace.output_is_constant, strict=True)
    return finish(chains.tape, [value if fixed else chains.made[int(value)] for value, fixed in pairs])


class _Chains:
    """New trace under construction: what each old instruction became, and when it is ready at the earliest."""

    def __init__(self, code: Code) -> None:
        self.code, self.tape = code, Tape()
        self.made: dict[int, Any] = {}
        self.ready: dict[int, int] = {}

    def repeat(self, index: int, op: int, left: Any, right: Any) -> None:
        """An instruction that is no sum, on what its operands have become."""
        if op >= INPUT:
            self.made[index], self.ready[index] = self.tape.emit(op, left, right), 0
            return
        x, y = self.made[left], None if right is None else self.made[right]
        if op == MUL:
            self.made[index] = x * y
        elif op == DIV:
            self.made[index] = x / y
        else:
            self.made[index] = -x if op == NEG else self.tape.emit(op, x.index)
        self.ready[index] = max(self.ready[left], 0 if right is None else self.ready[right])
        self.ready[index] += 0 if op == MUL else CYCLES[op]

    def add_up(self, index: int, terms: Terms) -> None:
        """A chain in the order in which terms are ready, but for a number that starts it unless it comes too late, and
        for the first term, which is added."""
        order = sorted(terms, key=lambda term: self.ready[term[1]])
        number = next((place for place, (_, term) in enumerate(order) if self.code[term][0] != MUL), 0)
        ahead = [*order[number : number + 1], *order[:number], *order[number + 1 :]]
        order = ahead if self.ready_time(ahead) <= self.ready_time(order) else order
        added = next((place for place, (minus, _) in enumerate(order) if not minus), 0)
        order = [*order[added : added + 1], *order[:added], *order[added + 1 :]]
        total = 0.0
        for minus, term in order:
            total = total - self.made[term] if minus else total + self.made[term]
        self.made[index], self.ready[index] = total, self.ready_time(order)

    def ready_time(self, terms: Terms) -> int:
        """Time at which the chain is ready."""
        now = -FUSED
        for _, term in terms:
            now = max(now, self.ready[term]) + FUSED
        return now


def _within(trace: Trace) -> set[int]:
    """Sums that are a term of one other sum and nothing else."""
    code, users = trace.code, users_of(trace)
    kept = {int(value) for value, fixed in zip(trace.outputs, trace.output_is_constant, strict=True) if not fixed}
    sums = (index for index, (op, _, _) in enumerate(code) if op in (ADD, SUB) and index not in kept)
    return {index for index in sums if _only_reader_adds(code, users[index])}


def _only_reader_adds(code: Code, readers: list[int]) -> bool:
    op, left, right = code[readers[0]]
    return len(readers) == 1 and op in (ADD, SUB) and left != right


def _terms(code: Code, within: set[int], index: int) -> Terms:
    """Terms of a sum, in the order in which they are computed."""
    found: Terms = []
    waiting = [(False, index)]
    while waiting:
        minus, at = waiting.pop()
        op, left, right = code[at]
        if at == index or at in within:
            waiting += [(minus, left), (minus != (op == SUB), right)]
        elif (not minus, at) in found:
            found.remove((not minus, at))
        else:
            found.append((minus, at))
    return sorted(found, key=lambda term: term[1])


ORDERED_AS_WRITTEN = 2000  # instructions: of fewer, what waits for divisions is put in order as it is written down


def arrange(trace: Trace) -> Trace:
    """The instructions of a statement as they are best compiled. Where there are many and inertias among them, which
    have many short sums, these become chains; the long sums of inverse dynamics would wait in registers."""
    many = len(trace.code) > ORDERED_AS_WRITTEN and any(op == DIV for op, _, _ in trace.code)
    return late(chain_sums(trace)) if many else trace


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
    return reorder(trace, [*known, *moved])
