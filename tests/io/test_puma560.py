"""The PUMA 560 against the Robotics Toolbox: its own tests' literals, and the same at full precision."""

import json
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.io.bundled import load_bundled

CASES = json.loads((Path(__file__).parents[1] / "data" / "puma560" / "corke_cases.json").read_text())["cases"]
LITERAL = 1.5e-4  # the toolbox's tests assert four decimals
COMPUTED = 1e-11
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]


@pytest.fixture(scope="module")
def puma():
    return load_bundled("puma560")


def tool_axes(model, q):
    """diag(R, R)ᵀ: from world axes to the tool's."""
    return np.kron(np.eye(2), ps.forward_kinematics(model, q, "tool")[:3, :3].T)


def force_with_friction(model, q, qd, qdd, gravity=None, **unused):
    if gravity is not None:
        model = model.replace(gravity=gravity)
    return ps.inverse_dynamics(model, q, qd, qdd) - ps.joint_friction(model, q, qd)


def acceleration_with_friction(model, q, qd, tau=None, tau_from=None, **unused):
    force = force_with_friction(model, **tau_from) if tau is None else np.array(tau)
    return ps.forward_dynamics(model, q, qd, force + ps.joint_friction(model, q, qd))


def operational_inertia(model, q, **unused):
    inverse = np.linalg.inv(ps.jacobian(model, q, "tool")[LINEAR_FIRST])
    return inverse.T @ ps.mass_matrix(model, q) @ inverse


def force_with_tip_wrench(model, q, qd, qdd, tip_wrench_force_first, **unused):
    """The toolbox's wrench is exerted by the tool; f_ext acts on it, in world axes, moment first."""
    exerted = tool_axes(model, q).T @ np.array(tip_wrench_force_first, dtype=float)[LINEAR_FIRST]
    return ps.inverse_dynamics(model, q, qd, qdd, f_ext={"tool": -exerted})


QUANTITIES = {
    "mass_matrix": lambda model, q, **unused: ps.mass_matrix(model, q),
    "gravity_load": lambda model, q, **unused: ps.gravity_load(model, q),
    "mass_times_acceleration": lambda model, q, qdd, **unused: ps.mass_matrix(model, q) @ qdd,
    "jacobian_world": lambda model, q, **unused: ps.jacobian(model, q, "tool")[LINEAR_FIRST],
    "jacobian_tool": lambda model, q, **unused: (tool_axes(model, q) @ ps.jacobian(model, q, "tool"))[LINEAR_FIRST],
    "operational_inertia": operational_inertia,
    "force_with_friction": force_with_friction,
    "force_with_tip_wrench": force_with_tip_wrench,
    "acceleration_with_friction": acceleration_with_friction,
}


def labels(cases):
    return [f"{case['toolbox']}-{case['quantity']}-{index}" for index, case in enumerate(cases)]


DIRECT = [case for case in CASES if case["quantity"] in QUANTITIES]
CORIOLIS = [case for case in CASES if case["quantity"] == "coriolis"]


def test_every_case_of_the_data_is_compared():
    assert len(DIRECT) + len(CORIOLIS) == len(CASES) == 28


@pytest.mark.parametrize("case", DIRECT, ids=labels(DIRECT))
def test_the_puma_agrees_with_the_toolbox(puma, case):
    found = QUANTITIES[case["quantity"]](puma, **{key: case[key] for key in case.keys() - {"literal", "computed"}})
    np.testing.assert_allclose(found, case["literal"], rtol=0, atol=LITERAL)
    np.testing.assert_allclose(found, case["computed"], rtol=0, atol=COMPUTED)


@pytest.mark.parametrize("case", CORIOLIS, ids=labels(CORIOLIS))
def test_the_pumas_coriolis_forces_agree_with_the_toolbox(puma, case):
    """C is not unique, C q̇ is; each printed entry of C may be off by half a unit of its fourth decimal."""
    q, qd = case["q"], np.array(case["qd"])
    found = ps.bias(puma, q, qd) - ps.gravity_load(puma, q)
    np.testing.assert_allclose(found, np.array(case["literal"]) @ qd, rtol=0, atol=0.5e-4 * np.abs(qd).sum())
    np.testing.assert_allclose(found, np.array(case["computed"]) @ qd, rtol=0, atol=COMPUTED)


def test_the_puma_stretches_to_its_dh_lengths(puma):
    """At q = 0 the upper arm is level and the forearm points up."""
    pose = ps.forward_kinematics(puma, np.zeros(6), "tool")
    np.testing.assert_allclose(pose[:3, 3], [0.4318 + 0.0203, -0.15005, 0.67183 + 0.4318], atol=1e-15)
    np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-15)


AKB_DH = [  # α(i−1), a(i−1), d, mass, centre of mass, moments, rotor inertia, gear ratio
    (0, 0, 0, 0, (0, 0, 0), (0, 0, 0.35), 0.000291, -62.6111),
    (-np.pi / 2, 0, 0.2435, 17.4, (0.068, 0.006, -0.016), (0.13, 0.524, 0.539), 0.000409, 107.815),
    (0, 0.4318, -0.0934, 4.8, (0, -0.07, 0.014), (0.066, 0.0125, 0.066), 0.000299, -53.7063),
    (np.pi / 2, -0.0203, 0.4331, 0.82, (0, 0, -0.019), (0.0018, 0.0018, 0.0013), 3.5e-05, 76.0364),
    (-np.pi / 2, 0, 0, 0.34, (0, 0, 0), (0.0003, 0.0003, 0.0004), 3.5e-05, 71.923),
    (np.pi / 2, 0, 0, 0.09, (0, 0, 0.032), (0.00015, 0.00015, 4e-05), 3.5e-05, 76.686),
]


def pin_puma(pin):
    """Armstrong's table told to pin directly: frame i is Rx(α) Tx(a) Tz(d) from frame i−1, then Rz(q)."""
    model = pin.Model()
    for index, (alpha, a, d, mass, com, moments, rotor, gear) in enumerate(AKB_DH):
        rotation = pin.utils.rotate("x", alpha)
        placement = pin.SE3(rotation, rotation @ np.array([a, 0.0, d]))
        joint = model.addJoint(index, pin.JointModelRZ(), placement, f"joint{index + 1}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.array(com, float), np.diag(moments)), pin.SE3.Identity())
        model.armature[index] = gear**2 * rotor
    return model


def test_armstrongs_puma_agrees_with_pin():
    pin = pytest.importorskip("pinocchio")
    model, peer = load_bundled("puma560_akb"), pin_puma(pin)
    data = peer.createData()
    rng = np.random.default_rng(11)
    for q, v, a in rng.uniform(-2, 2, (5, 3, 6)):
        mass = pin.crba(peer, data, q)
        np.testing.assert_allclose(ps.mass_matrix(model, q), np.triu(mass) + np.triu(mass, 1).T, atol=1e-12)
        np.testing.assert_allclose(ps.inverse_dynamics(model, q, v, a), pin.rnea(peer, data, q, v, a), atol=1e-11)
        pin.forwardKinematics(peer, data, q)
        np.testing.assert_allclose(ps.forward_kinematics(model, q, "tool"), data.oMi[6].homogeneous, atol=1e-14)
