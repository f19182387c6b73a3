"""Short addresses: pointers into the middle of what is read and written most.

A place up to 128 bytes from a pointer takes one byte of an x86 instruction, any other place four. Code that is too long
for the cache of decoded instructions runs as fast as its bytes are read.
"""

from __future__ import annotations

import re
from collections import Counter

REACH = 256  # bytes around a pointer that one byte tells apart
POINTERS = 11  # as many as registers hold beside the arguments
DECLARED = "declare ptr @llvm.ptrmask.p0.i64(ptr, i64)"
_PLACE = re.compile(r"  (%\S+) = getelementptr i8, ptr %(in|out|scratch), i64 (\d+)$")


def nearby(function: str) -> str:
    """The text of the same function, with places in %in, %out and %scratch told from the pointers that most of them
    are near to. A mask that changes nothing keeps the compiler from counting from the beginning again."""
    head, *lines = function.splitlines()
    found = [_PLACE.match(line) for line in lines]
    windows = Counter((match[2], int(match[3]) // REACH) for match in found if match)
    chosen = {window for window, _ in windows.most_common(POINTERS)}
    opening, result = [], []
    for memory, window in sorted(chosen):
        name, middle = f"%{memory}.near{window}", REACH * window + REACH // 2
        opening.append(f"  {name}.p = getelementptr i8, ptr %{memory}, i64 {middle}")
        opening.append(f"  {name} = call ptr @llvm.ptrmask.p0.i64(ptr {name}.p, i64 -8)")
    for line, match in zip(lines, found, strict=True):
        if match and (window := (match[2], int(match[3]) // REACH)) in chosen:
            offset = int(match[3]) - REACH * window[1] - REACH // 2
            line = f"  {match[1]} = getelementptr i8, ptr %{match[2]}.near{window[1]}, i64 {offset}"
        result.append(line)
    return "\n".join([head, *opening, *result])
