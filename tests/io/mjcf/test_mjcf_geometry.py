"""Geoms of MJCF files: shapes, colours, roles, and meshes that are there, missing or out of bounds."""

import numpy as np
import pytest

import phistar as ps

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
CORNERS = np.array([[0.3, 0.2, 0.1], [1.3, 0.2, 0.1], [0.3, 2.2, 0.1], [0.3, 0.2, 3.1]])
FACES = [[1, 3, 2], [1, 2, 4], [1, 4, 3], [2, 3, 4]]


@pytest.fixture
def load(tmp_path):
    """Loads a body with these geoms."""

    def write(geoms: str, before: str = "", **options) -> ps.Model:
        path = tmp_path / "robot.xml"
        body = f'<body name="bob"><joint/>{geoms}</body>'
        path.write_text(f"<mujoco>{before}<worldbody>{body}</worldbody></mujoco>", encoding="utf-8")
        return ps.load(path, **options)

    return write


@pytest.fixture
def wedge(tmp_path):
    """A tetrahedron in wedge.obj."""
    vertices = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    (tmp_path / "wedge.obj").write_text("\n".join([*vertices, *(f"f {a} {b} {c}" for a, b, c in FACES)]))
    return tmp_path / "wedge.obj"


def test_primitives_have_full_lengths(load):
    kinds = ["sphere", "capsule", "cylinder", "box", "ellipsoid"]
    model = load("".join(f'<geom type="{kind}" size="0.1 0.2 0.3" contype="0" conaffinity="0"/>' for kind in kinds))
    assert [item.shape for item in model.bodies[0].geometry] == [
        ps.Sphere(0.1),
        ps.Capsule(0.1, 0.4),
        ps.Cylinder(0.1, 0.4),
        ps.Box((0.2, 0.4, 0.6)),
        ps.Ellipsoid((0.1, 0.2, 0.3)),
    ]


def test_geoms_are_drawn_or_collide_or_both(load):
    drawn = '<geom size="0.1" contype="0" conaffinity="0"/>'
    model = load(f'<geom size="0.1" name="both"/>{drawn}<geom size="0.1" group="3"/>')
    assert [item.role for item in model.bodies[0].geometry] == ["visual", "collision", "visual", "collision"]


def test_a_geom_is_of_its_own_colour_or_of_its_materials(load):
    material = '<asset><material name="red" rgba="1 0 0 1"/></asset>'
    geoms = '<geom size="0.1" material="red"/><geom size="0.1" material="red" rgba="0 0 1 0.5"/><geom size="0.1"/>'
    colors = [item.color.tolist() for item in load(geoms, material).bodies[0].geometry if item.role == "visual"]
    assert colors == [[1, 0, 0, 1], [0, 0, 1, 0.5], [0.5, 0.5, 0.5, 1]]


def test_geoms_of_the_world_and_of_fixed_bodies_are_kept(load, tmp_path):
    (tmp_path / "world.xml").write_text(
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>'
        '<body pos="0 0 2"><geom name="lamp" size="0.1"/></body></worldbody></mujoco>'
    )
    model = ps.load(tmp_path / "world.xml")
    places = {item.name: item.placement.translation.tolist() for item in model.base_geometry}
    assert places == {"floor": [0, 0, 0], "lamp": [0, 0, 2]}


def test_a_missing_mesh_leaves_a_geometry_without_a_path(load):
    model = load(
        f'{INERTIAL}<geom type="mesh" mesh="m" pos="1 2 3"/>', '<asset><mesh name="m" file="gone.stl"/></asset>'
    )
    geometry = model.bodies[0].geometry[0]
    assert geometry.shape == ps.Mesh("") and geometry.placement.translation.tolist() == [1, 2, 3]
    assert "Paths of meshes whose file does not exist were left out (1)." in model.warnings


def test_a_mesh_outside_the_folders_is_not_named_unless_its_folder_is_given(load, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "m.stl").write_bytes(b"")
    (tmp_path / "robots").mkdir()
    path = tmp_path / "robots" / "robot.xml"
    asset = '<compiler meshdir="../elsewhere"/><asset><mesh file="m.stl"/></asset>'
    path.write_text(
        f'<mujoco>{asset}<worldbody><body>{INERTIAL}<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    assert ps.load(path).base_geometry[0].shape == ps.Mesh("")
    assert any("lies outside the allowed folders" in warning for warning in ps.load(path).warnings)
    found = ps.load(path, packages=[folder]).base_geometry[0].shape
    assert found == ps.Mesh(str((folder / "m.stl").resolve()))


def test_a_mesh_that_no_inertia_needs_is_never_opened(load, tmp_path):
    (tmp_path / "m.stl").write_bytes(b"this is no mesh")
    model = load(f'{INERTIAL}<geom type="mesh" mesh="m"/>', '<asset><mesh file="m.stl"/></asset>')
    assert model.bodies[0].geometry[0].shape == ps.Mesh(str((tmp_path / "m.stl").resolve()))


def test_an_inertia_that_needs_a_missing_mesh_says_so(load):
    with pytest.raises(
        ps.FileError, match=r"robot\.xml:1: the inertia of body 'bob' follows from the mesh 'gone\.stl'"
    ):
        load('<geom type="mesh" mesh="m"/>', '<asset><mesh name="m" file="gone.stl"/></asset>')


def test_a_broken_mesh_that_an_inertia_needs_is_refused(load, tmp_path):
    (tmp_path / "m.stl").write_bytes(b"this is no mesh")
    with pytest.raises(ps.FileError, match="MuJoCo does not accept this"):
        load('<geom type="mesh" mesh="m"/>', '<asset><mesh file="m.stl"/></asset>')


@pytest.mark.parametrize("weighs", [True, False])
@pytest.mark.parametrize(
    "asset", ["", 'scale="1 -2 3"', 'refpos="1 0 2" scale="2 3 4"', 'refpos="1 0 2" refquat="1 1 0 0" scale="2 2 2"']
)
def test_meshes_stand_where_mujoco_puts_them(load, wedge, asset, weighs):
    """Path, scale and placement give the vertices that MuJoCo has, whether it read the mesh for an inertia or not."""
    geom = '<geom type="mesh" mesh="wedge" pos="1 2 3" euler="10 20 30" group="4"/>'
    before = f'<asset><mesh file="wedge.obj" {asset}/></asset>'
    (item,) = load(geom if weighs else INERTIAL + geom, before).bodies[0].geometry
    mj = mujoco.MjModel.from_xml_path(str(wedge.parent / "robot.xml"))
    data = mujoco.MjData(mj)
    mujoco.mj_kinematics(mj, data)
    theirs = mj.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    ours = (CORNERS * item.shape.scale) @ item.placement.rotation.T + item.placement.translation
    assert item.shape.path == str(wedge.resolve()) and item.role == "collision"
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_a_mesh_weighs_as_in_mujoco(load, wedge):
    model = load('<geom type="mesh" mesh="wedge" density="100"/>', '<asset><mesh file="wedge.obj"/></asset>')
    assert model.total_mass == pytest.approx(100.0, rel=1e-6)  # a sixth of 1 · 2 · 3, as 32-bit vertices


@pytest.mark.parametrize("folder", ["", "meshes"])
def test_a_mesh_is_looked_for_in_the_mesh_folder_then_beside_the_file_that_names_it(folder, wedge, tmp_path):
    """MuJoCo's rule, with wedges of two sizes."""
    parts, main = tmp_path / "parts", tmp_path / folder
    parts.mkdir()
    main.mkdir(exist_ok=True)
    (parts / "names.xml").write_text('<mujoco><asset><mesh name="m" file="../lump/m.obj"/></asset></mujoco>')
    compiler = f'<compiler meshdir="{folder}"/>' if folder else ""
    body = '<worldbody><body name="bob"><joint/><geom type="mesh" mesh="m" density="100"/></body></worldbody>'
    path = tmp_path / "robot.xml"
    path.write_text(f'<mujoco>{compiler}<include file="parts/names.xml"/>{body}</mujoco>')
    (tmp_path / "lump").mkdir()
    wedge.rename(tmp_path / "lump" / "m.obj")
    mass = mujoco.MjModel.from_xml_path(str(path)).body("bob").mass[0]
    assert ps.load(path).total_mass == pytest.approx(mass, rel=1e-15)


def test_meshes_that_do_not_weigh_are_told_from_those_that_do(load):
    """Groups outside inertiagrouprange, no mass, no density: the missing mesh does not matter."""
    asset, ball = '<asset><mesh name="m" file="gone.stl"/></asset>', '<geom size="0.1" group="2"/>'
    for massless in ('mass="0"', 'density="0"', 'group="4"'):
        geoms = f'<geom type="mesh" mesh="m" {massless}/>{ball}'
        assert load(geoms, f'<compiler inertiagrouprange="0 3"/>{asset}').total_mass == pytest.approx(4.18879, rel=1e-5)
    with pytest.raises(ps.FileError, match="follows from the mesh"):
        load(f'{INERTIAL}<geom type="mesh" mesh="m"/>', f'<compiler inertiafromgeom="true"/>{asset}')


def test_shapes_fitted_to_a_mesh_need_it(load, wedge):
    fitted = f'{INERTIAL}<geom type="box" mesh="{{}}"/>'
    (item, _) = load(fitted.format("wedge"), '<asset><mesh file="wedge.obj"/></asset>').bodies[0].geometry
    assert isinstance(item.shape, ps.Box)
    model = load(fitted.format("m"), '<asset><mesh name="m" file="gone.stl"/></asset>')
    assert model.bodies[0].geometry == () and "Shapes fitted to missing meshes were left out (1)." in model.warnings


def test_height_fields_are_left_out(load, tmp_path):
    (tmp_path / "hills.xml").write_text(
        '<mujoco><asset><hfield name="h" nrow="1000000" ncol="1000000" size="1 1 1 1"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )
    assert ps.load(tmp_path / "hills.xml").warnings == ("Height fields were left out (1).",)
