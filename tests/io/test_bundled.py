"""Bundled robots: they load, cite their source, and are what the sources say."""

import re

import numpy as np
import pytest

import phistar as ps
from phistar.io.bundled import SOURCES, load_bundled, names

ALL = pytest.mark.parametrize("name", names())


@ALL
def test_every_name_loads_and_cites_its_source(name):
    model = load_bundled(name)
    assert model.name == name
    assert re.search(r"Corke|Armstrong|Rodriguez|Walker|phistar's own", SOURCES[name])
    assert ps.load(name) == model


@ALL
def test_every_link_is_drawn_and_collides(name):
    for body in load_bundled(name).bodies:
        assert {"visual", "collision"} == {geometry.role for geometry in body.geometry}


@ALL
def test_gravity_can_be_set_when_loading(name):
    assert load_bundled(name, gravity=(1, 2, 3)).gravity.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "gravity"), [("puma560", -9.81), ("planar2", -9.81), ("freeflyer", 0), ("rj2w_tree", 0)]
)
def test_robots_in_space_have_no_gravity(name, gravity):
    assert load_bundled(name).gravity.tolist() == [0, 0, gravity]


@pytest.mark.parametrize("name", ["puma560", "puma560_akb", "freeflyer", "rj2w_tree", "wd89_fig1"])
def test_floating_robots_have_a_free_joint_called_root(name):
    model = load_bundled(name, floating=True)
    assert isinstance(model.joints[0].kind, ps.Free)
    assert model.joints[0].name == "root"
    assert sum(isinstance(joint.kind, ps.Free) for joint in model.joints) == 1


def test_planar_chains_of_any_length_are_bundled():
    model = load_bundled("planar7")
    assert (model.name, model.nv) == ("planar7", 7)


@pytest.mark.parametrize("name", ["puma", "planar0", "planar10000", "planar2x", ""])
def test_an_unknown_robot_is_refused_by_name(name):
    with pytest.raises(ps.UnknownNameError, match=f"no bundled robot '{name}'"):
        load_bundled(name)


def test_an_unknown_robot_is_answered_with_the_nearest():
    with pytest.raises(ps.UnknownNameError, match="puma560"):
        load_bundled("puma650")


def test_an_option_the_robot_lacks_is_refused():
    with pytest.raises(ps.ModelError, match="'puma560_akb' has no option friction; its options: motors"):
        load_bundled("puma560_akb", friction=False)


def test_the_pumas_unphysical_link_is_a_warning_and_strict_raises():
    assert any("link1" in warning for warning in load_bundled("puma560").warnings)
    with pytest.raises(ps.ModelError, match="link1"):
        load_bundled("puma560", strict=True)


def test_motors_and_friction_of_the_puma_are_options():
    full = load_bundled("puma560")
    bare = load_bundled("puma560", motors=False, friction=False)
    np.testing.assert_allclose(full.armature[0], 62.6111**2 * 0.0002, rtol=1e-15)
    assert not bare.armature.any()
    for joint in bare.joints:
        assert not joint.damping.any()
        assert not joint.friction.any()
    np.testing.assert_allclose(full.joints[1].damping, 107.815**2 * 0.000817, rtol=1e-15)
    np.testing.assert_allclose(full.joints[1].friction.ravel(), [107.815 * 0.126, 107.815 * 0.071], rtol=1e-15)


def coal_solids(coal, model, q, body):
    """The collision solids of a body (−1 is the world), placed at q."""
    link = ps.forward_kinematics(model, q, model.joints[body].name) if body >= 0 else np.eye(4)
    shapes = {
        ps.Box: lambda box: coal.Box(*box.size),
        ps.Sphere: lambda sphere: coal.Sphere(sphere.radius),
        ps.Capsule: lambda capsule: coal.Capsule(capsule.radius, capsule.length),
        ps.Cylinder: lambda cylinder: coal.Cylinder(cylinder.radius, cylinder.length),
    }
    for geometry in model.bodies[body].geometry if body >= 0 else model.base_geometry:
        if geometry.role == "collision":
            placed = link @ geometry.placement.matrix
            pose = coal.Transform3s(placed[:3, :3], placed[:3, 3])
            yield coal.CollisionObject(shapes[type(geometry.shape)](geometry.shape), pose)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["puma560", "puma560_akb", "rj2w_tree", "freeflyer", "wd89_fig1"])
def test_the_solids_of_joined_links_touch(name):
    """As drawn the robot hangs together, whatever its joints do: no gap of more than a centimetre at any joint."""
    coal = pytest.importorskip("coal")
    model = load_bundled(name)
    for q in model.random(1, (3,)):
        for body, parent in enumerate(model.parents):
            if parent < 0 and not model.base_geometry:
                continue
            gaps = [
                coal.distance(a, b, coal.DistanceRequest(), coal.DistanceResult())
                for a in coal_solids(coal, model, q, body)
                for b in coal_solids(coal, model, q, parent)
            ]
            assert min(gaps) < 0.01, model.bodies[body].name


def test_the_two_way_tree_has_the_papers_forward_trees():
    """RJ2W Table 4: the links beyond each joint."""
    table = dict(enumerate([{1}, {2}, {1, 2, 3}, {1, 2, 3, 4}, {1, 2, 3, 4, 5}, {6}], start=1))
    table |= {7: {1, 2, 3, 4, 5, 6, 7}, 8: {1, 2, 3, 4, 5, 6, 7, 8}}
    model = load_bundled("rj2w_tree", strict=True)
    assert len(model.bodies) == 9
    for number, expected in table.items():
        beyond = {model.joint(f"joint{number}").body}
        for index, parent in enumerate(model.parents):
            if parent in beyond:
                beyond.add(index)
        assert {int(model.bodies[index].name.removeprefix("link")) for index in beyond} == expected


def test_the_free_flyer_carries_two_pumas():
    model = load_bundled("freeflyer")
    arm = load_bundled("puma560")
    assert model.nv == 6 + 2 * arm.nv
    np.testing.assert_allclose(model.total_mass, 300 + 2 * arm.total_mass)
    q = np.concatenate([model.neutral()[:7], np.tile([0.1, 0.2, -0.3, 0.4, 0.5, 0.6], 2)])
    left, right = (ps.forward_kinematics(model, q, frame) for frame in ("left_tool", "right_tool"))
    np.testing.assert_allclose(left[:3, :3], right[:3, :3], atol=1e-15)
    np.testing.assert_allclose(left[:3, 3] - right[:3, 3], [0, 1.6, 0], atol=1e-15)
    reach = ps.forward_kinematics(arm, q[7:13], "tool")[:3, 3]  # the arm's z is the base's x
    np.testing.assert_allclose(left[:3, 3], [0.4 + reach[2], 0.8 + reach[1], -reach[0]], atol=1e-15)


def closing_jacobian(model: ps.Model, q: np.ndarray) -> np.ndarray:
    """Rates of frame_a relative to frame_b for every cut revolute joint, but for the turn about its own axis."""
    free = np.diag([1.0, 0, 1, 1, 1, 1])  # the axes are all y
    return np.vstack(
        [free @ (ps.jacobian(model, q, loop.frame_a) - ps.jacobian(model, q, loop.frame_b)) for loop in model.loops]
    )


def test_the_papers_closed_system_is_assembled_at_zero_and_has_three_freedoms():
    """WD89 after (9): of nine joints, six follow from three."""
    model = load_bundled("wd89_fig1", strict=True)
    q = model.neutral()
    for loop in model.loops:
        a, b = (ps.forward_kinematics(model, q, frame) for frame in (loop.frame_a, loop.frame_b))
        np.testing.assert_allclose(a, b, atol=1e-15)
    assert model.nv + len(model.loops) == 9
    assert model.nv - np.linalg.matrix_rank(closing_jacobian(model, q)) == 3


def test_the_papers_primary_joints_move_its_closed_system():
    """WD89 after (9): q1, q2, q4, q6 are functions of q5, q7 (and q3 is free): their columns have full rank."""
    model = load_bundled("wd89_fig1")
    secondary = [model.joint(f"joint{number}").v_slice.start for number in (1, 2, 4, 6)]
    columns = closing_jacobian(model, model.neutral())[:, secondary]
    assert np.linalg.svd(columns, compute_uv=False)[3] > 0.1


def test_of_bundled_robots_nothing_can_be_left_out():
    with pytest.raises(ps.FileError, match="of MJCF files alone"):
        ps.load("puma560", without=["fluid"])
