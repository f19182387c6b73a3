"""Short addresses: pointers into the middle of what is read and written most.

A place up to 128 bytes from a pointer takes one byte of an x86 instruction, any other place four. Code that is too long
for the cache of decoded instructions runs as fast as its bytes are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

REACH = 256  # bytes around a pointer that one byte tells apart
POINTERS = 11  # as many as registers hold beside the arguments
DECLARED = "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)"


class Address(NamedTuple):
    """A line that gives a name to the place so many bytes from a pointer on."""

    name: str
    pointer: str
    offset: int

    @property
    def text(self) -> str:
        return f"  %{self.name} = getelementptr i8, ptr %{self.pointer}, i64 {self.offset}"


Line = str | Address


def lines_text(lines: Sequence[Line]) -> list[str]:
    """Lines as IR."""
    return [line.text if isinstance(line, Address) else line for line in lines]


def nearby(lines: Sequence[Line]) -> list[Line]:
    """The same lines, with places told from the pointers that most of them are near to. A mask that changes nothing
    keeps the compiler from counting from the beginning again."""
    windows = Counter((x.pointer, x.offset // REACH) for x in lines if isinstance(x, Address))
    chosen = {window for window, _ in windows.most_common(POINTERS)}
    opening: list[Line] = []
    for memory, window in sorted(chosen):
        name = f"{memory}.near{window}"
        opening.append(Address(f"{name}.p", memory, REACH * window + REACH // 2))
        opening.append(f"  %{name} = call ptr @llvm.ptrmask.p0.i64(ptr %{name}.p, i64 -8)")
    return [*opening, *(_near(line, chosen) for line in lines)]


def _near(line: Line, chosen: set[tuple[str, int]]) -> Line:
    if not isinstance(line, Address) or (line.pointer, line.offset // REACH) not in chosen:
        return line
    window = line.offset // REACH
    return Address(line.name, f"{line.pointer}.near{window}", line.offset - REACH * window - REACH // 2)
