"""Meshes under attack: each format that is read, and the files that a mesh names beside it."""

import base64
import json
import struct
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import phistar as ps
from tools.attack.mutate import Attempt, mutated_bytes, mutated_tree, mutated_xml


@cache
def _meshes() -> dict[str, bytes]:
    import trimesh

    box = trimesh.creation.box((1.0, 2.0, 3.0))
    made = {}
    for kind in ("stl", "stl_ascii", "obj", "ply", "off", "glb", "dae"):
        content = box.export(file_type=kind)
        made[kind] = content if isinstance(content, bytes) else str(content).encode()
    return made


def mesh(random: Random, folder: Path) -> Attempt:
    kind = random.choice(sorted(_meshes()))
    content = bytes(_meshes()[kind])
    if kind == "glb" and random.random() < 0.6:
        content = _spoiled_glb(random, content)
    elif kind == "dae" and random.random() < 0.6:
        content = mutated_xml(random, content)
    else:
        content = mutated_bytes(random, content)
    path = folder / f"mesh.{kind.partition('_')[0]}"
    path.write_bytes(content)
    return lambda: ps.Polytope.hull(ps.Mesh(str(path)))


def _spoiled_glb(random: Random, content: bytes) -> bytes:
    size = struct.unpack_from("<I", content, 12)[0]
    text = json.dumps(mutated_tree(random, json.loads(content[20 : 20 + size]))).encode()
    text += b" " * (-len(text) % 4)
    rest = content[20 + size :]
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest


@cache
def _gltf() -> tuple[dict[str, bytes], bytes]:
    """A scene in glTF with its buffers, and a picture."""
    import io

    import trimesh
    from PIL import Image

    made: Any = trimesh.creation.box((1.0, 2.0, 3.0)).export(file_type="gltf")
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    return {name: bytes(content) for name, content in made.items()}, picture.getvalue()


def mesh_beside(random: Random, folder: Path) -> Attempt:
    """glTF with buffers beside it or within it, and OBJ with a material and a picture: one of the files is spoiled."""
    made, picture = _gltf()
    files = {"mesh.gltf": made["model.gltf"], **made, "skin.png": picture}
    if random.random() < 0.3:  # buffers within the text
        tree = json.loads(files["mesh.gltf"])
        for buffer in tree["buffers"]:
            within = base64.b64encode(mutated_bytes(random, made[buffer["uri"]])).decode()
            buffer["uri"] = f"data:application/octet-stream;base64,{within}"
        files["mesh.gltf"] = json.dumps(tree).encode()
    name = "mesh.gltf"
    if random.random() < 0.4:
        name = "mesh.obj"
        files["mesh.obj"] = b"mtllib skin.mtl\nusemtl a\n" + bytes(_meshes()["obj"])
        files["skin.mtl"] = b"newmtl a\nKd 1 0 0\nmap_Kd skin.png\n"
    spoiled = random.choice([each for each in files if each not in ("mesh.gltf", "model.gltf")] + 3 * [name])
    if spoiled == "mesh.gltf" and random.random() < 0.7:
        files[spoiled] = json.dumps(mutated_tree(random, json.loads(files[spoiled]))).encode()
    else:
        files[spoiled] = mutated_bytes(random, files[spoiled])
    for each, content in files.items():
        (folder / each).write_bytes(content)
    return lambda: ps.Polytope.hull(ps.Mesh(str(folder / name)))
