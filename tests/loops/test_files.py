"""Loops from robot files move: MJCF's equality constraints held exactly, URDF's mimic joints, Cassie's closed legs."""

from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.loops.assembly import closure_rows

DATA = Path(__file__).parents[1] / "data"
FOUR_BAR = """<mujoco><option gravity="0 -9.81 0"/><compiler angle="radian"/>
<default><joint axis="0 0 1"/></default>
<worldbody>
  <body name="crank"><joint name="A"/><inertial pos=".5 0 0" mass="1" diaginertia="1e-4 .0833333333333 .0833333333333"/>
    <body name="coupler" pos="1 0 0"><joint name="B"/>
      <inertial pos=".5 0 0" mass="1" diaginertia="1e-4 .0833333333333 .0833333333333"/></body></body>
  <body name="rocker" pos="1 0 0"><joint name="D"/>
    <inertial pos=".5 0 0" mass="1" diaginertia="1e-4 .0833333333333 .0833333333333"/></body>
</worldbody>
<equality>{equality}</equality></mujoco>"""
MIMIC = """<robot name="gripper"><link name="base"/>{links}{joints}</robot>"""


@pytest.mark.parametrize(
    "equality",
    [
        '<weld body1="coupler" body2="rocker" anchor="1 0 0" relpose="1 0 0 1 0 0 0" torquescale="0"/>',
        '<joint joint1="D" joint2="A"/><joint joint1="B" joint2="A" polycoef="0 -1 0 0 0"/>',
    ],
    ids=["points that meet", "joints that turn alike"],
)
def test_a_four_bar_in_mjcf_falls_as_a_parallelogram(tmp_path, equality):
    pytest.importorskip("mujoco")
    path = tmp_path / "four_bar.xml"
    path.write_text(FOUR_BAR.format(equality=equality))
    model = ps.load(path)
    q = np.array([-1.2, 1.2, -1.2])
    np.testing.assert_allclose(ps.loop_residual(model, q), 0.0, atol=1e-12)
    want = -2.0 * 9.81 * np.cos(-1.2) / (5 / 3)
    got = ps.forward_dynamics(model, q, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(got, [want, -want, want], atol=1e-9)


def test_a_mimic_joint_of_a_urdf_follows_its_driver(tmp_path):
    links = "".join(
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name, mass in (("left", 1), ("right", 3))
    )
    joint = '<joint name="{0}" type="prismatic"><parent link="base"/><child link="{0}"/><axis xyz="1 0 0"/>'
    joint += '<limit lower="-1" upper="1" effort="1" velocity="1"/>{1}</joint>'
    mimic = '<mimic joint="left" multiplier="-2" offset="0.1"/>'
    path = tmp_path / "gripper.urdf"
    path.write_text(MIMIC.format(links=links, joints=joint.format("left", "") + joint.format("right", mimic)))
    model = ps.load(path)
    acceleration = ps.forward_dynamics(model, [0.2, -0.3], [0.0, 0.0], [1.0, 0.0])
    np.testing.assert_allclose(acceleration, [1 / 13, -2 / 13], atol=1e-14)  # 1 + 2² · 3 kg seen from the driver
    (force,) = ps.constraint_forces(model, [0.2, -0.3], [0.0, 0.0], [1.0, 0.0]).values()
    np.testing.assert_allclose(force, [3 * -2 / 13], atol=1e-14)
    run = ps.simulate(model, [0.2, -0.3], [0.1, -0.2], 0.5, control=lambda t, q, v: [1.0, 0.0])
    np.testing.assert_allclose(run.q[-1], [0.2 + 0.05 + 0.125 / 13, -0.3 - 0.1 - 0.25 / 13], atol=1e-9)
    assert np.abs(run.loop_residual).max() < 1e-14
    assert ps.forward_dynamics_derivatives(model, [0.2, -0.3], [0, 0], [1, 0]).dtau[0, 0] == pytest.approx(1 / 13)


@pytest.mark.slow
def test_the_closed_legs_of_cassie_stay_closed():
    pytest.importorskip("mujoco")
    model = ps.load(DATA / "mjcf" / "cassie.xml")
    q = ps.assemble(model, model.neutral())
    rng = np.random.default_rng(0)
    v = ps.loops.assemble_velocity(model, q, 0.1 * rng.standard_normal(model.nv))
    tau = rng.standard_normal(model.nv)
    report = ps.loops.loop_report(model, q)
    assert report.rows == 12 and report.rank == 10
    acceleration = ps.forward_dynamics(model, q, v, tau)
    h, rows = 1e-6, closure_rows(model, q)[1]
    ahead, back = (closure_rows(model, model.integrate(q, s * v))[1] for s in (h, -h))
    falling = rows @ acceleration + (ahead - back) @ v / (2 * h)
    assert np.abs(falling).max() < 1e-7 * np.abs(acceleration).max()
    made = ps.rollout(
        model, q, v, dt=2e-4, steps=50, limits="ignore"
    )  # springs throw light rods about: 70 rad/s after a millisecond
    assert np.abs(ps.loop_residual(model, made.q)).max() < 1e-10
