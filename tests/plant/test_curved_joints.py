"""Springs of joints that turn on a quaternion: in scenes and plants as in simulate."""

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
    time = {
        "duration": 0.25,
        "sample": 0.05,
        "step": 0.0001,
    }  # implicit: a spring of 35 rad/s loses ω²h/2 of its swing a second
    part = {"name": "bob", "robot": "ball.xml", "q": q.tolist()}
    (tmp_path / "swing.toml").write_text(little_scene(part, time=time, gravity=[0.0, 0.0, 0.0]))
    made = ps.Scene.load(tmp_path / "swing.toml").run(seed=0)
    exact = ps.simulate(model, q, np.zeros(3), 0.25, t_eval=[0.0, 0.25])
    assert np.abs(exact.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-3)


def ball(**joint):
    builder = ps.ModelBuilder("pendulum")
    builder.body("bob", "world", ps.Spherical(**joint), inertia=BODY)
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(builder.build(), "pendulum")
    return plant


def test_a_ball_joint_on_a_spring_swings_in_a_plant_as_in_simulate():
    plant = ball(stiffness=(5.0, 4.0, 3.0), rest=ps.Spherical().integrate([0, 0, 0, 1.0], [0.3, 0.0, 0.2]))
    model = plant.model
    q = model.integrate(model.neutral(), [0.9, 1.1, -0.4])
    exact = ps.simulate(model, q, np.zeros(3), 0.25, t_eval=[0.0, 0.25])
    errors = []
    for steps in (500, 1000):
        state = plant.state(q)
        for _ in range(steps):
            state = plant.step(state, h=0.25 / steps)
        errors.append(np.abs(state.v - exact.v[-1]).max())
    assert np.abs(exact.q[-1] - q).max() > 0.1 and errors[1] < 2e-3 * np.abs(exact.v[-1]).max()
    assert errors[1] < 0.6 * errors[0]


def test_a_stiff_spring_of_a_ball_joint_is_implicit():
    plant = ball(stiffness=1e5, damping=1.0)
    state = plant.state(plant.model.integrate(plant.model.neutral(), [0.5, -2.0, 1.0]))
    for _ in range(500):
        state = plant.step(state, h=0.002)
    assert np.abs(plant.model.difference(plant.model.neutral(), state.q)).max() < 1e-6


def test_the_derivative_of_a_step_knows_the_springs_of_ball_joints():
    plant, h, d = ball(stiffness=5.0), 0.002, 1e-6
    model = plant.model
    q, v = model.integrate(model.neutral(), [0.9, 1.1, -0.4]), np.array([0.3, -0.2, 0.5])
    found = plant.step_derivatives(plant.state(q, v), h=h).state[3:, :3]
    sides = [[plant.step(plant.state(model.integrate(q, s * d * e), v), h=h).v for s in (1, -1)] for e in np.eye(3)]
    np.testing.assert_allclose(found, np.array([(a - b) / (2 * d) for a, b in sides]).T, atol=1e-7)


def test_dry_friction_of_a_ball_joint_holds_up_to_its_bound():
    for bound, holds in ((0.31, True), (0.29, False)):
        plant = ball(friction=bound)
        state = plant.state()
        for _ in range(300):
            state = plant.step(state, h=0.002, force=[0.3, 0.0, 0.0])
        assert (np.abs(state.v).max() < 1e-9) == holds


def test_a_plant_refuses_springs_of_free_joints():
    builder = ps.ModelBuilder("bushing")
    builder.body("bob", "world", ps.Free(stiffness=5.0), inertia=BODY)
    with pytest.raises(ps.ModelError, match="'bob' of bushing is free and has a spring or dry friction"):
        ps.Plant().add(builder.build(), "bushing")
