"""Short addresses: pointers into the middle of what is read and written most.

A place up to 128 bytes from a pointer takes one byte of an x86 instruction, any other place four. Code that is too long
for the cache of decoded instructions runs as fast as its bytes are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from phistar.backends.kernels import I64, Let, Statement, Store, Type, Value

REACH = 256  # bytes around a pointer that one byte tells apart
POINTERS = 11  # as many as registers hold beside the arguments

Window = tuple[str, int]  # a memory's pointer, and how often `REACH` bytes from it on


def nearby(body: Sequence[Statement], memories: Collection[str], kind: Type) -> list[Statement]:
    """The same statements, with places in some memories told from the pointers, of a kind, that most of them are near
    to; the compiler is not to count from the beginning again."""
    windows = [_window(statement, memories) for statement in body]
    chosen = {x for x, _ in Counter(x for x in windows if x is not None).most_common(POINTERS)}
    held = {x: Value(f"{x[0]}.near{x[1]}", kind) for x in chosen}
    opening: list[Statement] = []
    for memory, window in sorted(chosen):
        middle, place = Value(f"{memory}.near{window}.p", kind), Value(memory, kind)
        opening += [
            Let(middle, "bytes", (place, Value(REACH * window + REACH // 2, I64))),
            Let(held[memory, window], "anew", (middle,)),
        ]
    pairs = zip(body, windows, strict=True)
    return [*opening, *(_near(line, held[x], x[1]) if x in held else line for line, x in pairs)]


def _window(statement: Statement, memories: Collection[str]) -> Window | None:
    """Address at an offset in bytes from the start of one of the memories."""
    if type(statement) is Let and statement[1] == "read":
        memory, offset = statement[2][0][0], statement[3][0]
    elif type(statement) is Store:
        memory, offset = statement[1][0], statement[4]
    elif type(statement) is Let and statement[1] == "bytes":
        memory, offset = statement[2][0][0], statement[2][1][0]
    else:
        return None
    return (str(memory), int(offset) // REACH) if memory in memories else None


def _near(statement: Statement, place: Value, window: int) -> Statement:
    less = REACH * window + REACH // 2
    if type(statement) is Store:
        return Store(statement.value, place, statement.align, statement.whole, statement.offset - less)
    assert isinstance(statement, Let)
    target, operation, operands, detail = statement
    if operation == "read":
        return Let(target, operation, (place,), (detail[0] - less, detail[1]))
    return Let(target, operation, (place, Value(int(operands[1].name) - less, I64)))
