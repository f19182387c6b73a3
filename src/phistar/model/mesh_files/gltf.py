"""glTF and GLB: every array they announce must lie in bytes that are there, and every node stand in one place.

An accessor is a claim ("3e8 vectors"), and readers allocate what is claimed before they look for it.
"""

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from phistar.model.mesh_files.images import count_pixels
from phistar.model.mesh_files.limits import (
    DEEPEST,
    LARGEST_BINARY,
    MOST_NUMBERS,
    MOST_PARTS,
    MOST_PIXELS,
    MOST_PLACES,
    MOST_TRIANGLES,
    damaged_file_error,
    too_much,
)

_COMPONENTS = {5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4}  # componentType → bytes
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
_JSON, _BINARY = 0x4E4F534A, 0x004E4942  # kinds of chunks of a GLB
_COMPRESSED = ("draco", "meshopt")  # extensions that unpack to more than they weigh
_DATA = "data:"

Find = Callable[[str], bytes]  # the content of a file beside the mesh


def check_glb(content: bytes, path: str, find: Find) -> None:
    """Refuse a GLB whose arrays are not in it."""
    try:
        magic, version, length = struct.unpack_from("<4sII", content)
        size, kind = struct.unpack_from("<II", content, 12)
    except struct.error:
        raise damaged_file_error(path, "it is shorter than the head of a GLB") from None
    if magic != b"glTF" or version != 2 or length > len(content) or kind != _JSON or 20 + size > len(content):
        raise damaged_file_error(path, "it is not a GLB of version 2")
    start, inside = 20 + size, b""
    if start + 8 <= len(content):
        size, kind = struct.unpack_from("<II", content, start)
        if kind == _BINARY and start + 8 + size <= len(content):
            inside = content[start + 8 : start + 8 + size]
    _check(content[20:start], path, find, inside)


def check_gltf(content: bytes, path: str, find: Find) -> None:
    """Refuse a glTF whose arrays are not in it or in the files beside it that it names."""
    _check(content, path, find, None)


def _check(text: bytes, path: str, find: Find, inside: bytes | None) -> None:
    try:
        tree = json.loads(text)
        _Checker(tree, path).check(find, inside)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged_file_error(
            path, f"its glTF cannot be understood ({type(error).__name__}: {error!s:.100})"
        ) from None


class _Checker:
    """The tables of one glTF."""

    def __init__(self, tree: Mapping[str, Any], path: str) -> None:
        self.tree, self.path = tree, path
        for name in ("buffers", "bufferViews", "accessors", "meshes", "nodes", "images"):
            entries = tree.get(name, [])
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise damaged_file_error(path, f"{name} is no list of tables")
            if len(entries) > 10 * MOST_PLACES:
                raise too_much(path, len(entries), name, 10 * MOST_PLACES)

    def check(self, find: Find, inside: bytes | None) -> None:
        for name in self.tree.get("extensionsRequired", []):
            if any(word in str(name).lower() for word in _COMPRESSED):
                raise damaged_file_error(
                    self.path, f"it needs {str(name)[:60]}, which is not read: save it uncompressed"
                )
        buffers = self._buffers(find, inside)
        views = [self._view(entry, buffers) for entry in self._all("bufferViews")]
        self._check_bytes(views)
        sizes = [self._accessor(entry, views) for entry in self._all("accessors")]
        numbers = sum(count * _WIDTHS[kind] for count, kind in sizes)
        if numbers > MOST_NUMBERS:
            raise too_much(self.path, numbers, "numbers", MOST_NUMBERS)
        self._check_places([count for count, _ in sizes], [count * _WIDTHS[kind] for count, kind in sizes])
        pixels = 0
        for image in self._all("images"):
            if "bufferView" in image:
                pixels += count_pixels(views[_index(image["bufferView"])], self.path)
            elif str(image.get("uri", "")).startswith(_DATA):
                pixels += count_pixels(_data(image["uri"]), self.path)
            if pixels > MOST_PIXELS:
                raise too_much(self.path, pixels, "pixels in its pictures", MOST_PIXELS)

    def _all(self, name: str) -> list[dict[str, Any]]:
        return self.tree.get(name, [])

    def _buffers(self, find: Find, inside: bytes | None) -> list[bytes]:
        """All buffers; readers hold each as often as it is named."""
        found: list[bytes] = []
        for number, entry in enumerate(self._all("buffers")):
            found.append(self._buffer(entry, number, find, inside))
            self._check_bytes(found)
        return found

    def _check_bytes(self, parts: Sequence[bytes | memoryview]) -> None:
        total = sum(map(len, parts))
        if total > 2 * LARGEST_BINARY:
            raise too_much(self.path, total, "bytes in its buffers", 2 * LARGEST_BINARY)

    def _buffer(self, entry: Mapping[str, Any], number: int, find: Find, inside: bytes | None) -> bytes:
        address = entry.get("uri")
        if address is None:
            if number or inside is None:
                raise damaged_file_error(self.path, f"buffer {number} is nowhere")
            return inside
        return _data(address) if str(address).startswith(_DATA) else find(str(address))

    def _view(self, entry: Mapping[str, Any], buffers: list[bytes]) -> memoryview:
        if any(word in str(entry.get("extensions", "")).lower() for word in _COMPRESSED):
            raise damaged_file_error(self.path, "it holds compressed arrays, which are not read: save it uncompressed")
        start, length = _count(entry.get("byteOffset", 0)), _count(entry["byteLength"])
        buffer = buffers[_index(entry["buffer"])]
        if start + length > len(buffer):
            raise damaged_file_error(self.path, f"a part of {length} bytes lies outside its buffer of {len(buffer)}")
        return memoryview(buffer)[start : start + length]

    def _accessor(self, entry: Mapping[str, Any], views: list[memoryview]) -> tuple[int, str]:
        """Count and kind of an accessor, after checking that so many are there."""
        count, kind = _count(entry["count"]), str(entry["type"])
        if count > MOST_NUMBERS:
            raise too_much(self.path, count, "entries in one array", MOST_NUMBERS)
        size = _WIDTHS[kind] * _COMPONENTS[entry["componentType"]]
        if "bufferView" in entry and count:
            view = views[_index(entry["bufferView"])]
            stride = _count(self._all("bufferViews")[entry["bufferView"]].get("byteStride", size)) or size
            if _count(entry.get("byteOffset", 0)) + stride * (count - 1) + size > len(view):
                raise damaged_file_error(self.path, f"an array of {count} entries is longer than the bytes it is in")
        elif count and "sparse" not in entry:
            raise damaged_file_error(self.path, f"an array of {count} entries has no bytes")
        return count, kind

    def _check_places(self, counts: list[int], numbers: list[int]) -> None:
        """Nodes are trees, each in one place; a mesh that stands in many is read as many times."""
        weights = [sum(map(self._weight(counts), mesh.get("primitives", ()))) for mesh in self._all("meshes")]
        nodes = self._all("nodes")
        children = [_index(child) for node in nodes for child in node.get("children", ())]
        if len(set(children)) < len(children) or any(child >= len(nodes) for child in children):
            raise damaged_file_error(self.path, "a node has two parents or is not there")
        if max(_depths(nodes), default=0) > DEEPEST or len(nodes) > MOST_PLACES:
            raise too_much(self.path, len(nodes), "nodes, or nodes within nodes", MOST_PLACES)
        parts = [len(mesh.get("primitives", ())) for mesh in self._all("meshes")]
        drawn = sum(parts[_index(node["mesh"])] for node in nodes if "mesh" in node)
        if sum(parts) > MOST_PARTS or drawn > MOST_PLACES:
            raise too_much(self.path, max(sum(parts), drawn), "primitives", MOST_PARTS)
        total = sum(weights[_index(node["mesh"])] for node in nodes if "mesh" in node)
        if total > 3 * MOST_TRIANGLES:
            raise too_much(self.path, total / 3, "triangles", MOST_TRIANGLES)
        held = [sum(_numbers(primitive, numbers) for primitive in x.get("primitives", ())) for x in self._all("meshes")]
        total = sum(held[_index(node["mesh"])] for node in nodes if "mesh" in node)
        if total > 2 * MOST_NUMBERS:
            raise too_much(self.path, total, "numbers in all places of its meshes", 2 * MOST_NUMBERS)

    @staticmethod
    def _weight(counts: list[int]) -> Callable[[Mapping[str, Any]], int]:
        """Vertices that a primitive draws."""

        def weight(primitive: Mapping[str, Any]) -> int:
            places = [primitive["attributes"].get("POSITION"), primitive.get("indices")]
            return max((counts[_index(place)] for place in places if place is not None), default=0)

        return weight


def _numbers(primitive: Mapping[str, Any], numbers: list[int]) -> int:
    """The numbers of all arrays of a primitive."""
    places = [*primitive["attributes"].values(), primitive.get("indices")]
    return sum(numbers[_index(place)] for place in places if place is not None)


def _depths(nodes: list[dict[str, Any]]) -> Iterator[float]:
    """Depth of each node below a root; infinite where the nodes form a cycle."""
    above = {_index(child): number for number, node in enumerate(nodes) for child in node.get("children", ())}
    for number in range(len(nodes)):
        depth, place = 0, number
        while place in above:
            place, depth = above[place], depth + 1
            if depth > DEEPEST:
                yield math.inf
                return
        yield depth


def _data(address: str) -> bytes:
    head, _, body = address.partition(",")
    if not head.endswith(";base64"):
        raise ValueError("data that is not base64")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r:.40} is no count")
    return value


_index = _count
