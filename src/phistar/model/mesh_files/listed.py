"""STL, PLY and OFF: how many entries their head lists, against the bytes that follow; OBJ: how many parts it has."""

import re
import struct

from phistar.model.mesh_files.limits import (
    LARGEST_TEXT,
    MOST_PARTS,
    MOST_TRIANGLES,
    MOST_WRITTEN,
    damaged_file_error,
    too_much,
)

_STL_HEAD, _STL_TRIANGLE = 84, 50  # bytes
_PLY_HEAD = 64 * 1024
_PLY_SIZES = {
    **dict.fromkeys(("char", "uchar", "int8", "uint8"), 1),
    **dict.fromkeys(("short", "ushort", "int16", "uint16"), 2),
    **dict.fromkeys(("int", "uint", "float", "int32", "uint32", "float32"), 4),
    **dict.fromkeys(("double", "float64", "int64", "uint64", "long"), 8),
}


def check_stl(content: bytes, path: str) -> None:
    """Refuse a binary STL with another count than it has triangles; text is as long as it is."""
    if content[:5].lower() == b"solid" and b"facet" in content[:1000].lower():
        if len(content) > LARGEST_TEXT:
            raise too_much(path, len(content), "bytes of text", LARGEST_TEXT)
        return
    if len(content) < _STL_HEAD:
        raise damaged_file_error(path, "it is shorter than the head of an STL")
    count = struct.unpack_from("<I", content, 80)[0]
    if _STL_HEAD + count * _STL_TRIANGLE > len(content):
        raise damaged_file_error(
            path, f"it lists {count} triangles and has room for {(len(content) - _STL_HEAD) // 50}"
        )
    if count > MOST_TRIANGLES:
        raise too_much(path, count, "triangles", MOST_TRIANGLES)


def check_ply(content: bytes, path: str) -> None:
    """Refuse a PLY whose elements cannot be in the bytes after its head."""
    end = re.search(rb"end_header\r?\n", content[:_PLY_HEAD])
    if not content.startswith(b"ply") or end is None:
        raise damaged_file_error(path, "it has no head of a PLY")
    words = [line.split() for line in content[: end.start()].decode("ascii", "replace").splitlines()]
    kind = next((line[1] for line in words if line[:1] == ["format"] and len(line) > 1), "ascii")
    least, count, width, total = 0, 0, 0, 0
    for line in [*words, ["element", "", "0"]]:
        if line[:1] == ["property"]:
            if len(line) < (5 if line[1:2] == ["list"] else 3):
                raise damaged_file_error(path, "a property of its elements has no kind or name")
            # A list has at least its own length; a number in text a digit and a space.
            width += 2 if kind == "ascii" else _PLY_SIZES.get(line[2 if line[1:2] == ["list"] else 1], 1)
        elif line[:1] == ["element"]:
            if count and not width:
                raise damaged_file_error(path, "it lists elements without properties")
            least, total = least + count * width, total + count
            if len(line) != 3 or not (line[2].isascii() and line[2].isdigit() and len(line[2]) < 12):
                raise damaged_file_error(path, "the count of an element is no number")
            count, width = int(line[2]), 0
    if least > len(content) - end.end() + 1:
        raise damaged_file_error(path, f"it lists {total} elements, for which it is too short")
    most = MOST_WRITTEN if kind == "ascii" else 3 * MOST_TRIANGLES
    if total > most:
        raise too_much(path, total, "elements", most)


def check_obj(content: bytes, path: str) -> None:
    """Refuse an OBJ that changes its material more often than readers bear."""
    parts = content.count(b"usemtl")
    if parts > MOST_PARTS:
        raise too_much(path, parts, "changes of material", MOST_PARTS)


def check_off(content: bytes, path: str) -> None:
    """Refuse an OFF that lists more than it has lines."""
    text = re.sub(rb"#[^\n]*", b"", content[:4096])
    found = re.match(rb"\s*C?OFF\s+(\d{1,11})\s+(\d{1,11})\b", text)
    if found is None:
        raise damaged_file_error(path, "it has no head of an OFF")
    total = int(found[1]) + int(found[2])
    if total > len(content) // 4:
        raise damaged_file_error(path, f"it lists {total} vertices and faces, for which it is too short")
    if total > MOST_WRITTEN:
        raise too_much(path, total, "vertices and faces", MOST_WRITTEN)
