"""Meshes that collide by their hull or their convex pieces: a hollow is filled by the one and open in the other."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import PhistarError
from phistar.model.mesh_files import FORMATS
from phistar.sim.scenes import mesh_solids
from phistar.sim.scenes.scene import Scene

pytest.importorskip("coal")
trimesh = pytest.importorskip("trimesh")
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.8, 1.0], [0.8, 0.2], [0.0, 0.2]])  # an angle, seen along y
SCENE = """
format_version = 1
gravity = [0.0, 0.0, -9.81]
[time]
duration = 0.5
sample = 0.05
step = 0.002
[[parts]]
name = "angle"
[[parts.shapes]]
name = "angle"
{way} = "angle.stl"
scale = 2.0
[[parts]]
name = "ball"
joint = "free"
mass = 1.0
xyz = [1.0, 1.0, {height}]
[[parts.shapes]]
sphere = 0.1
"""


@pytest.fixture
def angle(tmp_path):
    """A mesh file: a foot 1 m long and 0.2 m high with a wall 1 m high at its end, 1 m deep."""
    sides = [np.insert(CORNERS, 1, y, axis=1) for y in (0.0, 1.0)]
    flat = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4)]
    ring = [(i, (i + 1) % 6) for i in range(6)]
    faces = flat + [(a + 6, c + 6, b + 6) for a, b, c in flat]
    faces += [face for i, j in ring for face in ((i, j + 6, j), (i, i + 6, j + 6))]
    path = tmp_path / "angle.stl"
    trimesh.Trimesh(np.vstack(sides), faces).export(path)
    return path


def fallen(folder, way, height):
    (folder / "scene.toml").write_text(SCENE.format(way=way, height=height))
    return Scene.load(folder / "scene.toml").run().arrays["q"][-1, 2]


def test_a_ball_rests_on_the_foot_of_the_pieces_and_on_the_slope_of_the_hull(angle):
    pytest.importorskip("coacd")
    assert fallen(angle.parent, "pieces", 0.52) == pytest.approx(0.5, abs=0.01)  # the foot's top, and the radius
    with pytest.raises(PhistarError, match="angle / ball intersect"):
        fallen(angle.parent, "hull", 0.52)  # inside the hull, which fills the corner
    assert fallen(angle.parent, "hull", 1.6) > 0.9


def test_pieces_are_cut_once_and_fill_the_mesh(angle, monkeypatch, tmp_path, caplog):
    pytest.importorskip("coacd")
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "cache"))
    first = mesh_solids.pieces(ps.Mesh(str(angle)))
    volume = sum(trimesh.convex.convex_hull(piece.points).volume for piece in first)
    assert volume == pytest.approx(0.36, rel=0.02)
    assert f"{angle} (0.0 MB) is cut into convex pieces" in caplog.text
    caplog.clear()
    monkeypatch.setattr(ps.Polytope, "pieces", None)  # a second cut would fail
    again = mesh_solids.pieces(ps.Mesh(str(angle)))
    assert [piece.points.tolist() for piece in again] == [piece.points.tolist() for piece in first]
    assert "is cut into" not in caplog.text


@pytest.mark.parametrize("way", ["hull", "pieces"])
def test_a_mesh_that_is_too_large_is_refused_before_it_is_read(angle, monkeypatch, way):
    monkeypatch.setitem(FORMATS, ".stl", 1000)
    with pytest.raises(ps.FileError, match=r"angle\.stl is larger than .* MB, the most that is read of a mesh in STL"):
        mesh_solids.solids(ps.Mesh(str(angle)), way)


def robot_file(angle):
    mesh = f'<geometry><mesh filename="{angle}"/></geometry>'
    text = (
        f'<robot name="r"><link name="base"><visual>{mesh}</visual><collision>{mesh}</collision></link>'
        '<link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial><collision>{mesh}</collision></link><joint name="j" type="continuous">'
        '<parent link="base"/><child link="tip"/><axis xyz="0 0 1"/><origin xyz="5 0 0"/></joint></robot>'
    )
    path = angle.parent / "robot.urdf"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("way", "left"), [("hull", 1), ("none", 0)])
def test_a_robots_collision_meshes_are_replaced_and_its_looks_stay(angle, way, left):
    robot = ps.load(robot_file(angle))
    found = mesh_solids.without_meshes(robot, way)
    for geometry in (found.base_geometry, found.bodies[0].geometry):
        collision = [each for each in geometry if each.role == "collision"]
        assert len(collision) == left and all(isinstance(each.shape, ps.Polytope) for each in collision)
    assert [each.role for each in found.base_geometry].count("visual") == 1


def test_a_robot_with_meshes_is_told_what_to_write(angle):
    robot_file(angle)
    scene = SCENE.format(way="hull", height=9.0) + '[[parts]]\nname = "arm"\nrobot = "robot.urdf"\n'
    (angle.parent / "scene.toml").write_text(scene)
    with pytest.raises(PhistarError, match='meshes = "hull" or "pieces"'):
        Scene.load(angle.parent / "scene.toml")  # at once, not when something comes near
    (angle.parent / "scene.toml").write_text(scene + 'meshes = "hull"\nxyz = [0.0, 0.0, -9.0]\n')
    assert Scene.load(angle.parent / "scene.toml").run().summary["completed"]


def test_a_robot_whose_collision_mesh_is_missing_is_told_where_to_look(angle):
    robot = robot_file(angle)
    robot.write_text(robot.read_text().replace("angle.stl", "package://somewhere/angle.stl"))
    scene = SCENE.format(way="hull", height=9.0) + '[[parts]]\nname = "arm"\nrobot = "robot.urdf"\n'
    (angle.parent / "scene.toml").write_text(scene)
    with pytest.raises(PhistarError, match=r"A mesh was not found .* as packages=\["):
        Scene.load(angle.parent / "scene.toml")


@pytest.mark.parametrize("content", [b"", b"solid nothing\nendsolid nothing\n", b"\x00" * 90])
@pytest.mark.parametrize("way", ["hull", "pieces"])
def test_a_mesh_without_triangles_is_a_sentence(tmp_path, content, way):
    path = tmp_path / "empty.stl"
    path.write_bytes(content)
    with pytest.raises(PhistarError, match=r"empty\.stl"):
        mesh_solids.solids(ps.Mesh(str(path)), way)


def test_a_mesh_that_is_not_there_is_a_sentence(tmp_path):
    for path, words in (("", "packages"), (str(tmp_path / "no.stl"), "cannot be read"), ("a\0b.stl", "cannot be read")):
        for way in ("hull", "pieces"):
            with pytest.raises(PhistarError, match=words):
                mesh_solids.solids(ps.Mesh(path), way)
