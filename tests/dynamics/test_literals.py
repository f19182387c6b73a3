"""Numbers that other programs' authors wrote down: RBDL's and Pinocchio's own tests (see tests/data/literals)."""

import json
from pathlib import Path

import numpy as np
import pytest

import phistar as ps

DATA = Path(__file__).parents[1] / "data"
RBDL = json.loads((DATA / "literals" / "rbdl_literals.json").read_text())["tests"]
PINOCCHIO = json.loads((DATA / "literals" / "pinocchio_value_rnea.json").read_text())
DOWN = (0.0, -9.81, 0.0)
AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
FLOATING = ("TX", "TY", "TZ", "RZ", "RY", "RX")


def joint(name: str) -> ps.Revolute | ps.Prismatic:
    return (ps.Revolute if name[0] == "R" else ps.Prismatic)(axis=AXES[name[1]])


def massless_chain(builder: ps.ModelBuilder, names, last: ps.Inertia) -> str:
    """Joints one after another at one place, the inertia behind the last; the name of the last body."""
    parent = "world"
    for number, name in enumerate(names):
        inertia = last if number == len(names) - 1 else ps.Inertia.zero()
        builder.body(f"{name}{number}", parent=parent, joint=joint(name), inertia=inertia)
        parent = f"{name}{number}"
    return parent


def named(start: str) -> list[dict]:
    return [test for test in RBDL if test["name"].startswith(start)]


@pytest.mark.parametrize("test", [test for test in RBDL if "bodies" in test], ids=lambda test: test["name"])
def test_rbdl_chains_and_trees_fall_as_written_down(test):
    builder = ps.ModelBuilder(test["name"], gravity=DOWN)
    for number, body in enumerate(test["bodies"], start=1):
        builder.body(
            f"body{number}",
            parent="world" if body["parent"] == 0 else f"body{body['parent']}",
            joint=joint(body["joint"]),
            placement=ps.Pose(xyz=body["joint_origin_in_parent"]),
            inertia=ps.Inertia(body["mass"], body["com"], np.diag(body["inertia_com_diag"])),
        )
    model = builder.build()
    zero = np.zeros(model.nv)
    assert np.allclose(ps.forward_dynamics(model, zero, zero, zero), test["expected_qdd"], rtol=0, atol=1e-12)


def test_rbdl_three_rotations_behind_massless_bodies():
    (test,) = named("ForwardDynamics3DoFModel")
    builder = ps.ModelBuilder("three rotations", gravity=DOWN)
    massless_chain(builder, ("RZ", "RY", "RX"), ps.Inertia(1.0, (0, 0.5, 0), np.eye(3)))
    model, zero = builder.build(), np.zeros(3)
    assert np.allclose(ps.forward_dynamics(model, test["q"], zero, zero), test["expected_qdd"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("test", named("FloatingBaseDoubleImplicit"), ids=["at rest", "turned", "driven"])
def test_rbdl_floating_base_with_one_joint(test):
    builder = ps.ModelBuilder("floating", gravity=DOWN)
    base = massless_chain(builder, FLOATING, ps.Inertia(1.0, (1, 0, 0), np.eye(3)))
    arm = ps.Inertia(1.0, (1, 0, 0), np.eye(3))
    builder.body("arm", parent=base, joint=ps.Revolute(), placement=ps.Pose(xyz=(2, 0, 0)), inertia=arm)
    result = ps.forward_dynamics(builder.build(), test["q"], np.zeros(7), test["tau"])
    assert np.allclose(result, test["expected_qdd"], rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def free_body():
    builder = ps.ModelBuilder("free body", gravity=(0, 0, 0))
    body = massless_chain(builder, FLOATING, ps.Inertia(1.0, (1, 0, 0), np.eye(3)))
    builder.frame("corner", body=body, placement=ps.Pose(xyz=(-1.9, -1.8, 0)))
    builder.frame("axis", body=body, placement=ps.Pose(xyz=(1, 0, 0)))
    return builder.build()


STATE = np.array([0.1, 1.1, 1.2, 1.3, 1.5, 1.7])


def test_humans_point_position_velocity_and_acceleration(free_body):
    (test,) = named("HuMAnS point kinematics")
    jacobian = ps.jacobian(free_body, STATE, "corner")[3:]
    at_rest = ps.jacobian_dot_v(free_body, STATE, STATE, "corner")[3:]
    found = {
        "expected_world_position": ps.forward_kinematics(free_body, STATE, "corner")[:3, 3],
        "expected_world_velocity": jacobian @ STATE,
        "expected_world_acceleration_qdd_zero": at_rest,
        "expected_world_acceleration_qdd_equal_q": jacobian @ STATE + at_rest,
    }
    for name, value in found.items():
        assert np.allclose(value, test[name], rtol=0, atol=1e-12), name


def test_rbdl_point_velocity(free_body):
    (test,) = named("PointVelocity")
    velocity = ps.jacobian(free_body, STATE, "axis")[3:] @ STATE
    assert np.allclose(velocity, test["expected_world_velocity"], rtol=0, atol=1e-12)


# Pinocchio's humanoid


@pytest.fixture(scope="module")
def humanoid():
    return ps.load(DATA / "urdf" / "simple_humanoid.urdf", floating=True, gravity=(0, 0, -9.8))


def entries(text: str, model: ps.Model) -> np.ndarray:
    """v[k] = k/10 or k/100 from k = 6 on, in the file's order of joints; zero for "0"."""
    result = np.zeros(model.nv)
    if text != "0":
        divisor = 100 if "/100" in text else 10
        assert f"/{divisor}" in text
        for k, name in enumerate(PINOCCHIO["joint_order"], start=6):
            result[model.joint(name).v_slice] = k / divisor
    return result


@pytest.mark.parametrize("test", PINOCCHIO["tests"], ids=lambda test: test["name"])
def test_pinocchio_inverse_dynamics_of_a_humanoid(test, humanoid):
    q = humanoid.integrate(humanoid.neutral(), entries(test["q"], humanoid))
    tau = ps.inverse_dynamics(humanoid, q, entries(test["v"], humanoid), entries(test["a"], humanoid))
    ordered = [tau[3:6], tau[:3], *(tau[humanoid.joint(name).v_slice] for name in PINOCCHIO["joint_order"])]
    difference = np.linalg.norm(np.concatenate(ordered) - test["tau"])
    assert difference <= test["tol"] * np.linalg.norm(test["tau"])
