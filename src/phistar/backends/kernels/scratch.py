"""Working memory of a function in LLVM IR: on the stack while it is small, else on the heap.

A thread's stack may be as small as 64 kB, a third of which Python and NumPy take, and a kernel is called from any
thread. To take large memory anew at each call costs the system a fault per page, so a function lays one piece aside for
its next call; a thread that finds none there takes its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_ON_STACK = 32 * 1024  # bytes that one function of a kernel takes of the stack, at most: half of 64 kB
MOST_LAID_ASIDE = 4 * 1024 * 1024  # bytes; more is given back at once


@dataclass(frozen=True)
class Scratch:
    """Pieces of memory, `entries` doubles in each, that begin at multiples of `align` bytes. `aside` names the global,
    one of `jit.ASIDE`, that points to what the function lays aside; without a name it lays nothing aside."""

    entries: Mapping[str, int]
    align: int
    aside: str = ""

    @property
    def is_on_heap(self) -> bool:
        return 8 * sum(self.entries.values()) > MOST_ON_STACK

    @property
    def _rooms(self) -> dict[str, int]:
        return {name: -(-8 * n // self.align) * self.align for name, n in self.entries.items()}

    @property
    def _size(self) -> int:
        return sum(self._rooms.values()) + self.align

    @property
    def _keeps(self) -> bool:
        return bool(self.aside) and self._size <= MOST_LAID_ASIDE

    def declarations(self) -> list[str]:
        """Lines for the module."""
        return [f"@{self.aside} = global i64 0, align 8"] if self.is_on_heap and self._keeps else []

    def opening(self) -> list[str]:
        """Lines that make each piece a pointer of its name."""
        if not self.is_on_heap:
            return [f"  %{name} = alloca [{n} x double], align {self.align}" for name, n in self.entries.items()]
        lines = self._take() if self._keeps else [self._allocate("heap"), "  %heap.i = ptrtoint ptr %heap to i64"]
        lines += [f"  %heap.u = add i64 %heap.i, {self.align - 1}", f"  %heap.e = and i64 %heap.u, {-self.align}"]
        lines += ["  %heap.p = inttoptr i64 %heap.e to ptr"]
        start = 0
        for name, room in self._rooms.items():
            lines.append(f"  %{name} = getelementptr i8, ptr %heap.p, i64 {start}")
            start += room
        return lines

    def _allocate(self, name: str) -> str:
        return f"  %{name} = call ptr @malloc(i64 {self._size})"

    def _take(self) -> list[str]:
        """Lines that take the memory laid aside, or allocate some if another thread has it."""
        return [
            *("  br label %heap.look", "heap.look:"),
            f"  %heap.found = atomicrmw xchg ptr @{self.aside}, i64 0 acq_rel",
            "  %heap.none = icmp eq i64 %heap.found, 0",
            "  br i1 %heap.none, label %heap.make, label %heap.have",
            *("heap.make:", self._allocate("heap.made"), "  %heap.new = ptrtoint ptr %heap.made to i64"),
            *("  br label %heap.have", "heap.have:"),
            "  %heap.i = phi i64 [%heap.found, %heap.look], [%heap.new, %heap.make]",
        ]

    def closing(self) -> list[str]:
        """Lines that lay the memory aside or give it back; the function's last, before it returns."""
        if not self.is_on_heap:
            return []
        if not self._keeps:
            return ["  call void @free(ptr %heap)"]
        return [
            f"  %heap.other = atomicrmw xchg ptr @{self.aside}, i64 %heap.i acq_rel",
            "  %heap.left = inttoptr i64 %heap.other to ptr",
            "  call void @free(ptr %heap.left)",  # of nothing, nothing
        ]
