"""Mesh files of strangers: `read.py` reads the accepted formats after `gltf.py`, `collada.py` and `listed.py` have
checked what they claim to hold against what is there."""

from phistar.model.mesh_files.read import FORMATS, LARGEST_MESH, check_format, mesh_bytes, read_mesh

__all__ = ["FORMATS", "LARGEST_MESH", "check_format", "mesh_bytes", "read_mesh"]
