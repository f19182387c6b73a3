"""MSH, MuJoCo's own binary format of meshes: four counts, then vertices, normals, texture coordinates and faces."""

import numpy as np

from phistar.errors import FileError
from phistar.model.mesh_files.limits import MOST_TRIANGLES, too_much

_HEAD = 16  # bytes: whole numbers of 4


def read_msh(content: bytes, path: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (t, 3); refused unless the file is exactly as long as its counts say."""
    counts = np.frombuffer(content[:_HEAD], "<i4").tolist() if len(content) >= _HEAD else []
    if not counts or min(counts) < 0:
        raise FileError(f"The mesh {path} does not begin with the four counts of an MSH file.")
    vertices, normals, textures, faces = counts
    if max(vertices, faces) > MOST_TRIANGLES:
        raise too_much(path, max(vertices, faces), "triangles", MOST_TRIANGLES)
    wanted = _HEAD + 4 * (3 * vertices + 3 * normals + 2 * textures + 3 * faces)
    if len(content) != wanted:
        raise FileError(f"The mesh {path} has {len(content)} bytes; its counts ask for {wanted}.")
    points = np.frombuffer(content, "<f4", 3 * vertices, _HEAD).reshape(-1, 3).astype(float)
    corners = np.frombuffer(content, "<i4", 3 * faces, wanted - 12 * faces).reshape(-1, 3).astype(np.int64)
    if not faces:
        raise FileError(f"The mesh {path} has no triangles.")
    if corners.min() < 0 or corners.max() >= vertices:
        raise FileError(f"The mesh {path} has triangles with corners beyond its {vertices} vertices.")
    return points, corners
