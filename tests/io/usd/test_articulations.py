"""USD stages as models: bodies, joints, masses, units, axes and loops mean what UsdPhysics says."""

import numpy as np
import pytest

import phistar as ps

pytest.importorskip("pxr")
from pxr import Gf, Usd, UsdGeom, UsdPhysics


def stage_of(path, up="Z", metres=1.0):
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    return stage


def add_link(stage, name, at, mass, moments, unit=1.0):
    link = UsdGeom.Xform.Define(stage, name)
    link.AddTranslateOp().Set(Gf.Vec3d(*(np.asarray(at, float) / unit)))
    UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
    api = UsdPhysics.MassAPI.Apply(link.GetPrim())
    api.CreateMassAttr(mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*(np.array([0.25, 0.0, 0.0]) / unit)))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*(np.asarray(moments) / unit**2)))
    api.CreatePrincipalAxesAttr(Gf.Quatf(1.0))
    cube = UsdGeom.Cube.Define(stage, f"{name}/box")
    cube.CreateSizeAttr(0.1 / unit)
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    return link


def add_hinge(stage, name, first, second, at, axis, unit=1.0, kind=UsdPhysics.RevoluteJoint):
    joint = kind.Define(stage, name)
    if first:
        joint.CreateBody0Rel().SetTargets([first])
    joint.CreateBody1Rel().SetTargets([second])
    joint.CreateLocalPos0Attr(Gf.Vec3f(*(np.asarray(at, float) / unit)))
    joint.CreateAxisAttr(axis)
    return joint


def pendulum(path, up="Z", unit=1.0):
    """Two links of 0.5 m along x that swing about y (Z up), or about z (Y up)."""
    stage, axis = stage_of(path, up, unit), "Y" if up == "Z" else "Z"
    add_link(stage, "/arm/upper", (0, 0, 0), 2.0, (0.01, 0.05, 0.05), unit)
    add_link(stage, "/arm/lower", (0.5, 0, 0), 1.0, (0.01, 0.03, 0.03), unit)
    add_hinge(stage, "/arm/shoulder", None, "/arm/upper", (0, 0, 0), axis, unit)
    elbow = add_hinge(stage, "/arm/elbow", "/arm/upper", "/arm/lower", (0.5, 0, 0), axis, unit)
    elbow.CreateLowerLimitAttr(-90.0)
    elbow.CreateUpperLimitAttr(120.0)
    stage.Save()
    return path


def expected(sign=1.0):
    builder = ps.ModelBuilder("expected")
    axis = (0, sign, 0)
    for name, parent, at, mass, moments in (
        ("upper", "world", (0, 0, 0), 2.0, (0.01, 0.05, 0.05)),
        ("lower", "upper", (0.5, 0, 0), 1.0, (0.01, 0.03, 0.03)),
    ):
        inertia = ps.Inertia(mass, (0.25, 0, 0), np.diag(moments))
        builder.body(name, parent, ps.Revolute(axis=axis), ps.Pose(xyz=at), inertia)
    return builder.build()


@pytest.mark.parametrize(("up", "unit"), [("Z", 1.0), ("Z", 0.01), ("Y", 1.0), ("Y", 0.01)])
def test_a_pendulum_moves_as_one_that_is_built_whatever_its_units_and_upward_axis(up, unit, tmp_path):
    model = ps.load(pendulum(tmp_path / "arm.usda", up, unit))
    other = expected(1.0 if up == "Z" else -1.0)  # z of a stage with y upward is −y here
    assert [joint.name for joint in model.joints] == ["shoulder", "elbow"]
    q, v, tau = [0.3, -0.4], [0.5, 0.7], [0.2, -0.1]
    np.testing.assert_allclose(ps.forward_dynamics(model, q, v, tau), ps.forward_dynamics(other, q, v, tau), rtol=1e-5)
    np.testing.assert_allclose(model.joints[1].kind.limits.ravel(), np.radians([-90, 120]), rtol=1e-6)
    box = model.bodies[0].geometry[0]
    np.testing.assert_allclose(box.shape.size, 0.1, rtol=1e-6)


def test_a_robot_that_nothing_ties_stands_fixed_with_a_warning_or_floats(tmp_path):
    stage = stage_of(tmp_path / "free.usda")
    add_link(stage, "/base", (0, 0, 1), 2.0, (0.1, 0.1, 0.1))
    add_link(stage, "/leg", (0.5, 0, 1), 1.0, (0.1, 0.1, 0.1))
    add_hinge(stage, "/knee", "/base", "/leg", (0.5, 0, 0), "Y")
    stage.Save()
    fixed, free = ps.load(tmp_path / "free.usda"), ps.load(tmp_path / "free.usda", floating=True)
    assert fixed.nv == 1 and any("floating=True" in text for text in fixed.warnings)
    assert free.nv == 7 and free.joints[0].name == "root"
    np.testing.assert_allclose(ps.forward_kinematics(fixed, [0.0], "base")[:3, 3], [0, 0, 1])


def test_joints_left_out_of_the_articulation_are_loops(tmp_path):
    path = pendulum(tmp_path / "ring.usda")
    stage = Usd.Stage.Open(str(path))
    tie = add_hinge(stage, "/arm/tie", None, "/arm/lower", (1.0, 0, 0), "Y")
    tie.CreateLocalPos1Attr(Gf.Vec3f(0.5, 0, 0))
    tie.CreateExcludeFromArticulationAttr(True)
    stage.Save()
    model = ps.load(path)
    assert model.nv == 2 and [loop.name for loop in model.loops] == ["tie"]
    np.testing.assert_allclose(ps.loop_residual(model, [0.0, 0.0]), 0.0, atol=1e-7)


def test_masses_follow_from_shapes_and_density_where_the_file_has_none(tmp_path):
    stage = stage_of(tmp_path / "box.usda")
    link = UsdGeom.Xform.Define(stage, "/box")
    UsdPhysics.RigidBodyAPI.Apply(link.GetPrim())
    cube = UsdGeom.Cube.Define(stage, "/box/shape")
    cube.CreateSizeAttr(1.0)
    cube.AddScaleOp().Set(Gf.Vec3f(0.2, 0.3, 0.4))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    stage.Save()
    body = ps.load(tmp_path / "box.usda", floating=True).bodies[0]
    np.testing.assert_allclose(body.inertia.mass, 24.0, rtol=1e-6)
    np.testing.assert_allclose(np.diag(body.inertia.tensor), 2.0 * np.array([0.25, 0.2, 0.13]), rtol=1e-6)


def test_what_cannot_be_read_is_told(tmp_path):
    stage = stage_of(tmp_path / "empty.usda")
    stage.Save()
    with pytest.raises(ps.FileError, match="no rigid body"):
        ps.load(tmp_path / "empty.usda")
    (tmp_path / "text.usda").write_text("no stage at all")
    with pytest.raises(ps.FileError, match="USD layer"):
        ps.load(tmp_path / "text.usda")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "outer.usda").write_text(
        '#usda 1.0\ndef Xform "a" (references = @../../elsewhere/other.usda@</x>)\n{\n}\n'
    )
    with pytest.raises(ps.FileError, match="the layer"):
        ps.load(tmp_path / "inner" / "outer.usda")
