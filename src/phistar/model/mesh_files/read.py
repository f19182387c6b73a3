"""A mesh file as trimesh reads it, after what it claims to hold has been compared with what is there."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from phistar import safe_files
from phistar.errors import FileError, ModelError
from phistar.model.mesh_files.collada import check_collada
from phistar.model.mesh_files.gltf import check_glb, check_gltf
from phistar.model.mesh_files.images import count_pixels
from phistar.model.mesh_files.limits import (
    LARGEST_BINARY,
    LARGEST_TEXT,
    MEGABYTE,
    MOST_PIXELS,
    MOST_TRIANGLES,
    too_much,
)
from phistar.model.mesh_files.listed import check_obj, check_off, check_ply, check_stl
from phistar.model.mesh_files.msh import read_msh

LARGEST_MESH = LARGEST_BINARY
# Each with the most bytes that are read of it. Archives (.zip, .3mf, .zae, …) are not among them: they unpack.
FORMATS = {
    ".stl": LARGEST_BINARY,
    ".obj": LARGEST_TEXT,
    ".dae": LARGEST_TEXT,
    ".ply": LARGEST_BINARY,
    ".glb": LARGEST_BINARY,
    ".gltf": LARGEST_TEXT,
    ".off": LARGEST_TEXT,
    ".msh": LARGEST_BINARY,
}
_FARTHEST = 1e15  # of a vertex from the origin: its products stay exact enough to be compared
_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tga", ".tif", ".tiff", ".webp")
_BESIDE = (*_PICTURES, ".mtl", ".bin")
_MOST_BESIDE, _LARGEST_MATERIAL = 1_000, 4 * MEGABYTE


def check_format(path: str) -> str:
    """Return the format of a mesh by the ending of its name, or refuse it."""
    if not path:
        raise FileError(
            "A mesh was not found when its robot was loaded; the model's warnings name it. Give the folder of its "
            'package as packages=[…] (--packages DIR), or, where nothing is to collide with it, meshes = "none".'
        )
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        known = ", ".join(each[1:].upper() for each in FORMATS)
        raise FileError(f"The mesh {path} is of no format that is read; those are {known}.")
    return ending


def mesh_bytes(path: str) -> bytes:
    """Return the content of a mesh file of an accepted format and size."""
    return safe_files.read_bytes(path, f"a mesh in {check_format(path)[1:].upper()}", FORMATS[check_format(path)])


def read_mesh(path: str) -> Any:
    """Return the triangles of a mesh file as a `trimesh.Trimesh`; every vertex is finite."""
    content, ending = mesh_bytes(path), check_format(path)
    beside = _Beside(Path(path).parent)
    _check(ending, content, path, beside)
    try:
        import trimesh
    except ImportError:
        raise ModelError("Reading a mesh needs the package trimesh: pip install 'phistar[sim]'.") from None
    try:
        with np.errstate(all="ignore"):
            if ending == ".msh":
                scene: Any = trimesh.Scene(trimesh.Trimesh(*read_msh(content, path), process=False))
            else:
                scene = trimesh.load_scene(
                    io.BytesIO(content), file_type=ending[1:], resolver=_resolver(beside), process=False
                )
            _check_parts(path, [part for part in scene.geometry.values() if hasattr(part, "faces")])
            found: Any = scene.to_mesh()
    except FileError:
        raise
    except Exception as error:  # readers of foreign formats raise whatever they like
        raise FileError(f"The mesh {path} cannot be read: {str(error) or type(error).__name__:.200}.") from None
    if len(getattr(found, "faces", ())) == 0:
        raise FileError(f"The mesh {path} has no triangles.")
    if not (np.abs(found.vertices) < _FARTHEST).all():  # a node may move them
        raise _not_finite(path)
    return found


def _check_parts(path: str, parts: list[Any]) -> None:
    """Refuse numbers that are none: trimesh would drop their triangles, and give another shape without a word."""
    count = sum(len(part.faces) for part in parts)
    if count > MOST_TRIANGLES:
        raise too_much(path, count, "triangles", MOST_TRIANGLES)
    for part in parts:
        if np.ndim(part.vertices) != 2 or np.shape(part.vertices)[1] != 3:
            raise FileError(f"The mesh {path} has vertices that are no three numbers each.")
        if not (np.abs(part.vertices) < _FARTHEST).all():  # NaN fails too
            raise _not_finite(path)
        part.process()


def _not_finite(path: str) -> FileError:
    return FileError(f"The mesh {path} has vertices that are not finite numbers below {_FARTHEST:g}.")


def _check(ending: str, content: bytes, path: str, beside: Callable[[str], bytes]) -> None:
    match ending:
        case ".stl":
            check_stl(content, path)
        case ".ply":
            check_ply(content, path)
        case ".obj":
            check_obj(content, path)
        case ".off":
            check_off(content, path)
        case ".dae":
            check_collada(content, path)
        case ".glb":
            check_glb(content, path, beside)
        case ".gltf":
            check_gltf(content, path, beside)


@dataclass
class _Beside:
    """The materials, pictures and buffers that a mesh names: in its own folder or below, nowhere else, and no more of
    them than a mesh can need."""

    folder: Path
    files: int = 0
    size: int = 0  # bytes
    pixels: int = 0

    def __call__(self, name: str) -> bytes:
        self.files += 1
        if self.files > _MOST_BESIDE:
            raise FileError(f"a mesh that names more than {_MOST_BESIDE} files is not read further")
        name = name.strip()
        place = self.folder / name
        if not safe_files.is_inside(place, self.folder):  # exporters leave paths of their own machine
            place = self.folder / Path(name.replace("\\", "/")).name
        ending = place.suffix.lower()
        if ending not in _BESIDE or not safe_files.is_inside(place, self.folder):
            raise FileError(f"{name} is no picture, material or buffer in the folder of the mesh.")
        content = safe_files.read_bytes(
            place, "a part of a mesh", _LARGEST_MATERIAL if ending == ".mtl" else LARGEST_BINARY
        )
        self.size += len(content)
        self.pixels += count_pixels(content, str(place)) if ending in _PICTURES else 0
        if self.size > 2 * LARGEST_BINARY or self.pixels > MOST_PIXELS:
            raise FileError("the files beside the mesh are larger in all than what is read.")
        return content


def _resolver(find: Callable[[str], bytes]) -> Any:
    from trimesh.resolvers import Resolver

    class Beside(Resolver):
        """Resolver that gives trimesh other files."""

        def __init__(self) -> None:
            self.file_name = "mesh"

        def get(self, key: str) -> bytes:
            return find(key)

        def write(self, name: str, data: Any) -> None:
            raise FileError("nothing is written beside a mesh")

        def namespaced(self, namespace: str) -> Any:
            return self

        def keys(self) -> tuple[str, ...]:
            return ()

    return Beside()
