"""Springs of joints that turn on a quaternion: scenes give their forces, plants refuse them."""

import numpy as np
import pytest

import phistar as ps
from tests.scenes import little_scene

BODY = ps.Inertia(1.0, (0, 0, -0.3), 0.05 * np.eye(3))
BALL = """<mujoco><option gravity="0 0 0"/><worldbody><body name="bob"><joint name="ball" type="ball" stiffness="5"/>
<geom type="sphere" size=".1" mass="1" pos="0 0 -.3" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""


def test_a_ball_joint_on_a_spring_swings_in_a_scene_as_in_simulate(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "ball.xml").write_text(BALL)
    model = ps.load(str(tmp_path / "ball.xml"))
    q = model.integrate(model.neutral(), [0.4, 0.2, -0.1])
    time = {"duration": 0.25, "sample": 0.05, "step": 0.0005}
    part = {"name": "bob", "robot": "ball.xml", "q": q.tolist()}
    (tmp_path / "swing.toml").write_text(little_scene(part, time=time, gravity=[0.0, 0.0, 0.0]))
    made = ps.Scene.load(tmp_path / "swing.toml").run(seed=0)
    exact = ps.simulate(model, q, np.zeros(3), 0.25, t_eval=[0.0, 0.25])
    assert np.abs(exact.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-3)


@pytest.mark.parametrize("joint", [{"stiffness": 5.0}, {"friction": 0.1}])
def test_a_plant_refuses_springs_and_dry_friction_of_ball_joints(joint):
    builder = ps.ModelBuilder("pendulum")
    builder.body("bob", "world", ps.Spherical(**joint), inertia=BODY)
    with pytest.raises(ps.ModelError, match="'bob' of pendulum is spherical and has a spring or dry friction"):
        ps.Plant().add(builder.build(), "pendulum")
