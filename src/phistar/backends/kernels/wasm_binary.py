"""The binary format of WebAssembly 1.0 with bulk memory: numbers, vectors and sections of a module."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

I32, I64, F64 = b"\x7f", b"\x7e", b"\x7c"  # value types
PAGE = 65_536  # bytes by which memory is counted
Signature = tuple[tuple[bytes, ...], tuple[bytes, ...]]  # types of parameters and results
_HEADER = b"\0asm\1\0\0\0"
_FUNCTION, _MEMORY, _GLOBAL = b"\0", b"\2", b"\3"  # what is imported or exported


class WasmFunction(NamedTuple):
    """A function with its parameters' types, those of its locals, and its instructions."""

    name: str
    parameters: tuple[bytes, ...]
    local_types: tuple[bytes, ...]
    code: bytes


def encode_unsigned(number: int) -> bytes:
    """LEB128 of a whole number that is not negative."""
    found = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        found.append(low | (0x80 if number else 0))
        if not number:
            return bytes(found)


def encode_signed(number: int) -> bytes:
    """LEB128 of a whole number with its sign."""
    found = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        last = number == (-1 if low & 0x40 else 0)
        found.append(low | (0 if last else 0x80))
        if last:
            return bytes(found)


def double(number: float) -> bytes:
    return struct.pack("<d", number)


def text(name: str) -> bytes:
    encoded = name.encode()
    return encode_unsigned(len(encoded)) + encoded


def vector(items: Sequence[bytes]) -> bytes:
    """Items behind their number."""
    return encode_unsigned(len(items)) + b"".join(items)


def section(number: int, items: Sequence[bytes]) -> bytes:
    content = vector(items)
    return bytes((number,)) + encode_unsigned(len(content)) + content if items else b""


def binary_module(
    imported: Iterable[str],
    functions: Sequence[WasmFunction],
    exported: str,
    data: Sequence[tuple[int, bytes]],
    end: int,
) -> bytes:
    """Module of functions that import f64 → f64 of the name from `math`, with one of them exported.

    Memory starts with the data, each at its address, and is free from `end` on, which is exported as `free`.
    """
    imports = list(imported)
    of_one: Signature = ((F64,), (F64,))
    own: list[Signature] = [(f.parameters, ()) for f in functions]
    kinds: dict[Signature, None] = dict.fromkeys([of_one, *own] if imports else own)
    numbers = {kind: number for number, kind in enumerate(kinds)}
    types = [b"\x60" + vector(given) + vector(results) for given, results in kinds]
    entry = len(imports) + [f.name for f in functions].index(exported)
    exports = [(exported, _FUNCTION, entry), ("memory", _MEMORY, 0), ("free", _GLOBAL, 0)]
    parts = [
        (1, types),
        (2, [text("math") + text(name) + _FUNCTION + encode_unsigned(numbers[of_one]) for name in imports]),
        (3, [encode_unsigned(numbers[f.parameters, ()]) for f in functions]),
        (5, [b"\0" + encode_unsigned(-(-end // PAGE) or 1)]),
        (6, [I32 + b"\0\x41" + encode_signed(end) + b"\x0b"]),
        (7, [text(name) + kind + encode_unsigned(number) for name, kind, number in exports]),
        (10, [_body(f) for f in functions]),
        (11, [b"\0\x41" + encode_signed(place) + b"\x0b" + encode_unsigned(len(raw)) + raw for place, raw in data]),
    ]
    return _HEADER + b"".join(section(number, items) for number, items in parts)


def _body(function: WasmFunction) -> bytes:
    """Locals, run by run of one type, and instructions, behind their length."""
    runs: list[tuple[int, bytes]] = []
    for kind in function.local_types:
        count = runs.pop()[0] if runs and runs[-1][1] == kind else 0
        runs.append((count + 1, kind))
    content = vector([encode_unsigned(count) + kind for count, kind in runs]) + function.code + b"\x0b"
    return encode_unsigned(len(content)) + content
