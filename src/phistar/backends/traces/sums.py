"""Sums as chains: what is added up is added term by term, so that every product becomes a multiply-add.

(xy + zw) + (ab + cd) takes five instructions as it stands, ((xy + zw) + ab) + cd four: a product that starts a sum of
its own is an instruction by itself. A sum of p products and t other terms takes p + t − 1, or p where t is none.
"""

from __future__ import annotations

from typing import Any

from phistar.backends.traces.fusing import users_of
from phistar.backends.traces.order import CYCLES, FUSED
from phistar.backends.traces.trace import ADD, DIV, INPUT, MUL, NEG, SUB, Tape, Trace, finish

Code = tuple[tuple[int, Any, Any], ...]
Terms = list[tuple[bool, int]]
"""Of each term whether it is taken away, and its instruction."""


def chained(trace: Trace) -> Trace:
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
        order = ahead if self.finished(ahead) <= self.finished(order) else order
        added = next((place for place, (minus, _) in enumerate(order) if not minus), 0)
        order = [*order[added : added + 1], *order[:added], *order[added + 1 :]]
        total = 0.0
        for minus, term in order:
            total = total - self.made[term] if minus else total + self.made[term]
        self.made[index], self.ready[index] = total, self.finished(order)

    def finished(self, terms: Terms) -> int:
        """When the chain is ready."""
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
