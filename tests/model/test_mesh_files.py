"""Meshes of strangers: accepted formats alone, and no more memory than the file weighs."""

import base64
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

import phistar as ps
from phistar.safe_files import read_bytes

trimesh = pytest.importorskip("trimesh")
FORMATS = ["stl", "obj", "ply", "off", "glb", "gltf", "dae"]


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ps.Mesh(str(path))


def glb(tree, binary=b""):
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary if binary else b""
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def tree(count=3, **more):
    """A triangle in 36 bytes, told as `count` vertices."""
    return {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    } | more


CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4").tobytes()


@pytest.mark.parametrize("ending", FORMATS)
def test_the_accepted_formats_are_read(ending, tmp_path):
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    if ending == "dae":
        pytest.importorskip("collada")
    box.export(tmp_path / f"box.{ending}")
    mesh = ps.Mesh(str(tmp_path / f"box.{ending}"))
    assert np.ptp(mesh.read().vertices, axis=0) == pytest.approx([1.0, 2.0, 3.0])
    assert len(ps.Polytope.hull(mesh).points) == 8


def test_a_glb_of_its_own_bytes_is_read(tmp_path):
    assert len(written(tmp_path, "t.glb", glb(tree(), CORNERS)).read().faces) == 1


GLB_BOMBS = {
    "an array of 3e8 vectors without bytes": (
        tree() | {"accessors": [{"componentType": 5126, "count": 300_000_000, "type": "VEC3"}]},
        "3e\\+08|300000000",
    ),
    "1e7 vectors without bytes": (
        tree() | {"accessors": [{"componentType": 5126, "count": 10_000_000, "type": "VEC3"}]},
        "has no bytes",
    ),
    "an array longer than its bytes": (tree(4_000_000), "longer than the bytes"),
    "a negative count": (tree(-3), "no count"),
    "bytes outside the buffer": (
        tree(bufferViews=[{"buffer": 0, "byteOffset": 30, "byteLength": 36}]),
        "outside its buffer",
    ),
    "many arrays on the same bytes": (
        tree(
            accessors=[{"bufferView": 0, "componentType": 5121, "count": 10, "type": "VEC3"}] * 50_000
            + [{"componentType": 5126, "count": 60_000_000, "type": "VEC3", "sparse": {"count": 0}}]
        ),
        "numbers",
    ),
    "a node in two places": (tree(nodes=[{"mesh": 0, "children": [1]}, {"children": [2, 2]}, {}]), "two parents"),
    "nodes in a ring": (tree(nodes=[{"children": [1]}, {"children": [0]}]), "nodes within nodes"),
    "draco": (tree(extensionsRequired=["KHR_draco_mesh_compression"]), "save it uncompressed"),
    "no list": (tree(accessors={"a": 1}), "no list"),
    "an outside buffer": (tree(buffers=[{"uri": "../secret.bin", "byteLength": 36}]), "cannot be read"),
    "a device as buffer": (tree(buffers=[{"uri": "/dev/zero", "byteLength": 36}]), "no picture, material or buffer"),
}


@pytest.mark.parametrize("what", GLB_BOMBS)
def test_a_gltf_that_claims_what_is_not_there_is_refused(what, tmp_path):
    claim, words = GLB_BOMBS[what]
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.bin").write_bytes(CORNERS)
    with pytest.raises(ps.FileError, match=words):
        written(tmp_path / "in", "bomb.glb", glb(claim, CORNERS)).read()


def png(side):
    """The head of a black picture of side² pixels, which 2 kB of zeros fill."""
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    told = (struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c)) for k, c in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(told)


@pytest.mark.parametrize("side", [10_000, 60_000])
def test_a_picture_of_more_pixels_than_are_read_is_refused(side, tmp_path):
    picture = png(side)
    uri = "data:image/png;base64," + base64.b64encode(picture).decode()
    with pytest.raises(ps.FileError, match="million pixels"):
        written(tmp_path, "bomb.glb", glb(tree(images=[{"uri": uri}]), CORNERS)).read()


TEXTS = {
    "an STL of 4e9 triangles": ("a.stl", bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50), "lists 4294967295"),
    "a PLY of 3e9 vertices": (
        "a.ply",
        "ply\nformat binary_little_endian 1.0\nelement vertex 3000000000\nproperty float x\nend_header\n",
        "too short",
    ),
    "a PLY of elements of nothing": (
        "a.ply",
        "ply\nformat ascii 1.0\nelement vertex 3000000\nelement face 0\nend_header\n",
        "without properties",
    ),
    "a PLY whose property has no name": (
        "a.ply",
        "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty\nend_header\n",
        "no kind or name",
    ),
    "an OFF of 1e9 vertices": ("a.off", "OFF\n1000000000 1 0\n0 0 0\n", "too short"),
    "a COLLADA with entities": ("a.dae", '<!DOCTYPE x [<!ENTITY a "aaaa">]><COLLADA>&a;</COLLADA>', "DOCTYPE"),
    "a COLLADA of ten tens of nodes": (
        "a.dae",
        "<COLLADA><library_nodes>"
        + "".join(f'<node id="n{k}">' + 10 * f'<instance_node url="#n{k + 1}"/>' + "</node>" for k in range(12))
        + '</library_nodes><visual_scene><instance_node url="#n0"/></visual_scene></COLLADA>',
        "places of parts",
    ),
    "a COLLADA node in itself": (
        "a.dae",
        '<COLLADA><visual_scene><node id="a"><instance_node url="#a"/></node></visual_scene></COLLADA>',
        "holds itself",
    ),
    "NaN": ("a.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
    "infinity": ("a.obj", "v inf 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not finite"),
    "NaN in a GLB": ("a.glb", glb(tree(), CORNERS[:-4] + struct.pack("<f", float("nan"))), "not finite"),
    "NaN in an STL": ("a.stl", bytes(80) + struct.pack("<I12fH", 1, *[float("nan")] * 12, 0), "not finite"),
    "nothing": ("a.obj", "", "no triangles|cannot be read"),
    "vertices of two": (
        "a.ply",
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nelement face 1\n"
        "property list uchar int vertex_indices\nend_header\n0 0\n1 0\n0 1\n3 0 1 2\n",
        "three numbers|cannot be read",
    ),
    "another format": ("a.step", "ISO-10303-21;", "no format that is read; those are STL, OBJ, DAE"),
    "no ending": ("mesh", "solid", "no format"),
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_mesh_that_makes_no_sense_is_refused_with_a_sentence(what, tmp_path):
    name, content, words = TEXTS[what]
    with pytest.raises(ps.FileError, match=words):
        ps.Polytope.hull(written(tmp_path, name, content))


def test_a_flat_mesh_has_no_hull(tmp_path):
    with pytest.raises(ps.ModelError, match="no convex hull: it is flat"):
        ps.Polytope.hull(written(tmp_path, "a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"))


@pytest.mark.parametrize("name", ["mesh.zip", "mesh.3mf", "mesh.stl", "mesh.zae"])
def test_an_archive_is_never_unpacked(name, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.obj", b"v 0 0 0\n" * 100_000)
    with pytest.raises(ps.FileError):
        written(tmp_path, name, packed.getvalue()).read()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "a.stl")
    (tmp_path / "b.stl").symlink_to("/dev/zero")
    for name in ("a.stl", "b.stl"):
        with pytest.raises(ps.FileError, match="not a regular file"):
            ps.Mesh(str(tmp_path / name)).read()


def test_materials_outside_the_folder_are_not_read(tmp_path):
    (tmp_path / "secret.mtl").write_text("newmtl a\nKd 1 0 0\n")
    (tmp_path / "in").mkdir()
    text = "mtllib ../secret.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    found = written(tmp_path / "in", "a.obj", text).read()
    assert not hasattr(found.visual, "material")
    (tmp_path / "in" / "secret.mtl").write_text("newmtl a\nKd 1 0 0\n")
    assert written(tmp_path / "in", "a.obj", text).read().visual.material.diffuse[0] == 255


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
import phistar as ps
from phistar.safe_files import read_bytes
try:
    ps.Mesh(sys.argv[1]).read()
except ps.FileError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory as on Linux")
def test_a_small_glb_takes_little_memory(tmp_path):
    claim = tree() | {"accessors": [{"componentType": 5126, "count": 300_000_000, "type": "VEC3"}]}
    path = written(tmp_path, "bomb.glb", glb(claim)).path
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "bomb.glb" in done.stdout


@pytest.mark.parametrize("ending", ["obj", "glb", "dae"])
def test_many_parts_of_little_are_refused_at_once(ending, tmp_path):
    """Readers take the square of their number: 60,000 changes of material, in 1 MB, took minutes."""
    count = 6_000
    content = {
        "obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\n" + "".join(f"usemtl m{i}\nf 1 2 3\n" for i in range(count)),
        "glb": glb(tree(meshes=[{"primitives": [{"attributes": {"POSITION": 0}}] * count}]), CORNERS),
        "dae": f"<COLLADA><library_geometries>{'<triangles/>' * count}</library_geometries></COLLADA>",
    }[ending]
    with pytest.raises(ps.FileError, match="5000 is the most"):
        written(tmp_path, f"many.{ending}", content).read()


def test_one_mesh_of_many_primitives_in_many_places_is_refused(tmp_path):
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}] * 200}
    content = glb(tree(meshes=[mesh], nodes=[{"mesh": 0}] * 200, scenes=[{"nodes": list(range(200))}]), CORNERS)
    with pytest.raises(ps.FileError, match="4e\\+04 primitives"):
        written(tmp_path, "many.glb", content).read()


GEOMETRY = """<COLLADA><library_geometries><geometry id="g"><mesh><triangles><p>{}</p></triangles></mesh></geometry>
</library_geometries><visual_scene><node>{}</node></visual_scene></COLLADA>"""
MANY_TIMES = {
    "views of the same bytes": (
        "a.glb",
        lambda: glb(tree(bufferViews=[{"buffer": 0, "byteLength": 600_000}] * 1000), CORNERS + bytes(600_000)),
        "bytes in its buffers",
    ),
    "buffers of the same file": (
        "a.gltf",
        lambda: json.dumps(tree(buffers=[{"uri": "b.bin", "byteLength": 36}] * 600)).encode(),
        "larger in all",
    ),
    "a mesh with more than its corners": (
        "a.glb",
        lambda: glb(
            tree(
                nodes=[{"mesh": 0}] * 9000,
                bufferViews=[{"buffer": 0, "byteLength": 36 * 2000}],
                accessors=[{"bufferView": 0, "componentType": 5126, "count": n, "type": "VEC3"} for n in (3, 6000)],
                meshes=[{"primitives": [{"attributes": {"POSITION": 0, "COLOR_0": 1}}]}],
            ),
            CORNERS * 2000,
        ),
        "numbers in all places",
    ),
    "pictures": (
        "a.glb",
        lambda: glb(
            tree(images=[{"uri": "data:image/png;base64," + base64.b64encode(png(4000)).decode()}] * 10), CORNERS
        ),
        "pixels in its pictures",
    ),
    "a COLLADA geometry in many places": (
        "a.dae",
        lambda: GEOMETRY.format(3000 * "0 1 2 ", 9000 * '<instance_geometry url="#g"/>'),
        "letters in all places",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", MANY_TIMES)
def test_what_a_small_file_names_many_times_is_refused_before_it_is_read(what, tmp_path):
    name, content, words = MANY_TIMES[what]
    (tmp_path / "b.bin").write_bytes(CORNERS + bytes(2**20))
    with pytest.raises(ps.FileError, match=words):
        written(tmp_path, name, content()).read()


def test_text_of_more_than_is_read_is_refused_whatever_its_ending(tmp_path, monkeypatch):
    monkeypatch.setattr("phistar.model.mesh_files.listed.LARGEST_TEXT", 100)
    monkeypatch.setattr("phistar.model.mesh_files.listed.MOST_WRITTEN", 10)
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    head = "ply\nformat ascii 1.0\nelement vertex 20\nproperty float x\nend_header\n"
    texts = {
        "a.stl": f"solid x\n{3 * facet}endsolid",
        "a.ply": head + 20 * "0\n",
        "a.off": "OFF\n20 1 0\n" + 21 * "0 0 0\n",
    }
    for name, text in texts.items():
        with pytest.raises(ps.FileError, match="is the most that is read"):
            written(tmp_path, name, text).read()


def test_a_material_that_names_pictures_for_ever_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("phistar.model.mesh_files.read._MOST_BESIDE", 5)
    (tmp_path / "m.mtl").write_text("".join(f"newmtl a{k}\nmap_Kd x{k}.png\n" for k in range(100)))
    asked = []
    monkeypatch.setattr("phistar.safe_files.read_bytes", lambda *given: asked.append(given[0]) or read_bytes(*given))
    obj = "mtllib m.mtl\nusemtl a1\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    assert len(written(tmp_path, "a.obj", obj).read().faces) == 1
    assert len(asked) <= 7


def msh_bytes(points, faces):
    head = np.array([len(points), 0, 0, len(faces)], "<i4").tobytes()
    return head + np.asarray(points, "<f4").tobytes() + np.asarray(faces, "<i4").tobytes()


def test_mujocos_msh_is_read_and_refused_when_its_counts_lie(tmp_path):
    points, faces = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    whole = msh_bytes(points, faces)
    path = tmp_path / "solid.msh"
    path.write_bytes(whole)
    np.testing.assert_allclose(ps.Mesh(str(path)).read().volume, 1.0 / 6.0)
    for spoiled, told in (
        (whole[:-4], "counts ask for"),
        (b"\1\0", "four counts"),
        (msh_bytes(points, [[0, 1, 9]]), "beyond"),
    ):
        path.write_bytes(spoiled)
        with pytest.raises(ps.PhistarError, match=told):
            ps.Mesh(str(path)).read()
