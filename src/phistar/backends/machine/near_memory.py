"""Memory for machine code whose sections reach each other: code refers to its constants by distances of 32 bits.

The loader asks the system for each section by itself, and the system gives the highest gap that is large enough. In a
process with many large libraries a small section may so land gigabytes from a large one, which ends the process. What
is too far away is therefore taken first, page by page, and kept: it costs addresses, no memory.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import suppress
from threading import Lock

FAR = 1 << 30  # half of what 32 bits reach: sections lie on both sides of each other
SLACK = 1 << 20  # beyond an object's own size: alignment, stubs, tables
_lock = Lock()
_taken: list[mmap.mmap] = []  # gaps that are too far from where code goes; never given back


def keep_sections_near(size: int) -> None:
    """Leave no gap of this process for a section of an object of `size` bytes that is far from where others go."""
    if sys.platform != "linux":
        return
    with _lock, suppress(OSError):  # where addresses are short, there are no two far apart
        whole = _pages(size + SLACK)
        with _mapped(whole) as large:
            _take_far_gaps(_address(large), whole)


def _take_far_gaps(home: int, piece: int) -> None:
    """Take every gap that is far from `home`, large ones first."""
    while piece >= mmap.PAGESIZE:
        small = _mapped(piece)
        if abs(_address(small) - home) < FAR:
            small.close()
            piece = _pages(piece // 2) if piece > mmap.PAGESIZE else 0
        else:
            _taken.append(small)


def _mapped(size: int) -> mmap.mmap:
    """Addresses as the loader gets them, private and without memory until they are written to."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _address(memory: mmap.mmap) -> int:
    place = ctypes.c_char.from_buffer(memory)
    found = ctypes.addressof(place)
    del place
    return found
