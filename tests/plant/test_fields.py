"""Forces from outside, body by body: τ = Hφf; a fluid and a support against weight are MuJoCo's."""

import numpy as np
import pytest

import phistar as ps
from phistar.plant.body_motions import BodyMotions
from phistar.plant.fields import generalized_forces

mujoco = pytest.importorskip("mujoco")

SWIMMER = """<mujoco><option density="900" viscosity="0.3" wind="0.2 -0.1 0.4" gravity="0 0 -9.81"/>
<default><geom type="box" size=".1 .03 .02" pos="0.1 0 0" density="500"/></default><worldbody>
<body name="head" gravcomp="0.5"><freejoint/><geom euler="20 0 30"/>
 <body name="weld" pos="-.1 0 0" gravcomp="1.5"><geom size=".02 .03 .04"/></body>
 <body name="mid" pos=".2 0 0"><joint name="one" axis="0 0 1" damping=".01"/><geom/>
  <body name="tail" pos=".2 0 0" gravcomp="1"><joint name="two" axis="0 1 1"/><geom/></body></body></body>
</worldbody></mujoco>"""


def at_a_state(tmp_path, text=SWIMMER):
    (tmp_path / "fish.xml").write_text(text)
    plant = ps.Plant.load(tmp_path / "fish.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "fish.xml"))
    data, rng = mujoco.MjData(model), np.random.default_rng(3)
    quaternion = rng.normal(size=4)
    data.qpos[:] = [*rng.normal(size=3), *quaternion / np.linalg.norm(quaternion), *rng.normal(size=2)]
    data.qvel[:] = rng.normal(size=8)
    mujoco.mj_forward(model, data)
    q, turn = data.qpos.copy(), np.zeros(9)
    q[3:7] = np.roll(data.qpos[3:7], -1)
    mujoco.mju_quat2Mat(turn, data.qpos[3:7])
    turn = turn.reshape(3, 3)
    v = np.concatenate([data.qvel[3:6], turn.T @ data.qvel[:3], data.qvel[6:]])
    return plant, data, q, v, lambda force: np.concatenate([force[3:6], turn.T @ force[:3], force[6:]])


def test_a_fluid_and_gravity_compensation_are_mujocos(tmp_path):
    plant, data, q, v, ours = at_a_state(tmp_path)
    bodies = BodyMotions(plant.model, 0.0, q, v)
    for field, peer in zip(plant.fields, (data.qfrc_fluid, data.qfrc_gravcomp), strict=True):
        np.testing.assert_allclose(generalized_forces([field], bodies), ours(peer), atol=1e-12)


def test_they_act_in_steps(tmp_path):
    plant, data, q, v, ours = at_a_state(tmp_path)
    h = 1e-6
    after = plant.step(plant.state(q, v), h=h)
    peer = ps.forward_dynamics(plant.model, q, v, ours(data.qfrc_passive))
    assert np.abs((after.v - v) / h - peer).max() < 5e-5 * np.abs(peer).max()


def test_the_power_of_a_field_on_the_joints_is_its_power_on_the_bodies(tmp_path):
    """⟨τ, θ̇⟩ = ⟨f, V⟩ with τ = Hφf and V = φ*H*θ̇."""
    plant, _, q, v, _ = at_a_state(tmp_path)
    bodies = BodyMotions(plant.model, 0.0, q, v)
    wrenches = plant.fields[0].wrenches(bodies)
    np.testing.assert_allclose(generalized_forces(plant.fields[:1], bodies) @ v, (wrenches * bodies.twists).sum())


def test_a_model_says_that_a_plant_keeps_them_and_a_plant_can_do_without(tmp_path):
    (tmp_path / "fish.xml").write_text(SWIMMER)
    with pytest.raises(ps.PhistarError, match=r"ps\.Plant\.load keeps them"):
        ps.load(tmp_path / "fish.xml")
    plant = ps.Plant.load(tmp_path / "fish.xml", without=["fluid", "gravcomp"])
    assert plant.fields == ()
    ps.Plant.load(tmp_path / "fish.xml").save(tmp_path / "fish.toml")
    assert len(ps.Plant.load(tmp_path / "fish.toml").fields) == 2


def test_ellipsoids_in_a_fluid_are_refused(tmp_path):
    (tmp_path / "fish.xml").write_text(SWIMMER.replace('euler="20 0 30"', 'fluidshape="ellipsoid"'))
    with pytest.raises(ps.PhistarError, match="ellipsoids"):
        ps.Plant.load(tmp_path / "fish.xml")


class Wrong:
    def wrenches(self, bodies):
        return np.zeros(3)


def test_fields_are_checked(tmp_path):
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm")
    with pytest.raises(ps.PhistarError, match="has a method wrenches"):
        plant.add_field(lambda bodies: bodies)  # pyright: ignore[reportArgumentType]
    plant.add_field(Wrong())
    with pytest.raises(ps.PhistarError, match=r"\(2, 6\), were expected"):
        plant.step(plant.state())
    with pytest.raises(ps.PhistarError, match="takes none"):
        plant.rollout(plant.state(), steps=2)
    with pytest.raises(ps.PhistarError, match="no place in a file"):
        plant.save(tmp_path / "arm.toml")


class Wind:
    """A force that grows with time."""

    def wrenches(self, bodies):
        force = np.zeros((len(bodies.model.bodies), 6))
        force[:, 3] = bodies.time
        return force


def test_fields_know_the_time():
    plant, builder = ps.Plant(gravity=(0, 0, 0)), ps.ModelBuilder("slider")
    builder.body("cart", "world", ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    plant.add(builder.build(), "slider")
    plant.add_field(Wind())
    run = ps.simulate(plant, 1.0, step=0.001)
    np.testing.assert_allclose(run.v[-1], 0.25, rtol=2e-3)
