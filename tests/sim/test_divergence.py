"""Damping of any strength is stable in steps of any length; what does diverge ends the run and says so."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.errors import PhistarError, ShapeError
from phistar.plant.session import Diverged
from phistar.sim.motion import Motion
from phistar.sim.scenes.scene import Scene
from phistar.sim.trajectory import Stopped
from tests.scenes import little_scene
from tests.worlds import stepper, world_of

INERTIA, STEP = 1e-3, 2e-3
WHEEL = """<robot name="wheel"><link name="base"/>
<link name="wheel"><inertial><mass value="1"/>
<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<joint name="axle" type="continuous"><axis xyz="0 0 1"/><parent link="base"/><child link="wheel"/>{}</joint></robot>"""


def scene(folder, dynamics="", **tables):
    (folder / "wheel.urdf").write_text(WHEEL.format(dynamics))
    part = {"name": "robot", "robot": "wheel.urdf", "v": [1.0]}
    time = {"duration": 1.0, "sample": 0.002, "step": STEP}
    (folder / "wheel.toml").write_text(little_scene(part, time=time, **tables))
    return Scene.load(folder / "wheel.toml")


def test_strong_damping_slows_a_joint_down_as_the_implicit_step_must(tmp_path):
    run = scene(tmp_path, '<dynamics damping="5"/>').run()
    v = run.arrays["v"][:, 0]
    known = (1.0 + STEP * 5.0 / INERTIA) ** -np.arange(len(v), dtype=float)
    np.testing.assert_allclose(v, known, rtol=1e-9, atol=1e-300)
    assert run.summary["completed"] and abs(run.summary["energy_residual"]) < 1e-12


def test_damping_inside_an_arm_is_that_of_the_whole_implicit_equation():
    """(ℳ + hD)v⁺ = ℳv − h(𝒞 + 𝒢), with damping in some of the joints."""
    builder, bar = ps.ModelBuilder("arm"), ps.Inertia(1.0, (0.2, 0.05, 0), np.diag([0.01, 0.02, 0.02]))
    for k, damping in enumerate((40.0, 0.0, 3.0)):
        parent = "world" if k == 0 else f"link{k - 1}"
        builder.body(
            f"link{k}", parent, ps.Revolute(axis=(0, k == 1, k != 1), damping=damping), ps.Pose(xyz=(0.4, 0, 0)), bar
        )
    model, h = builder.build(), 5e-3
    world = world_of(model, Surface())
    q, v, tau = np.array([0.3, -0.7, 0.4]), np.array([1.0, -2.0, 3.0]), np.array([0.5, 0.2, -0.1])
    made = stepper(world)(world.start(q, v), tau, h)
    mass = ps.mass_matrix(model, q)
    right = mass @ v + h * (tau - ps.bias(model, q, v))
    np.testing.assert_allclose(made.state.v, np.linalg.solve(mass + h * np.diag([40.0, 0.0, 3.0]), right), rtol=1e-10)


def test_a_run_that_diverges_stops_with_a_sentence_and_what_there_was(tmp_path):
    with pytest.raises(Stopped, match=r"the motion diverges: robot/axle reaches .* Take a shorter step") as stopped:
        scene(tmp_path).run(control=lambda t, q, v: 5.0 * v)
    result = stopped.value.result
    assert result.summary["completed"] is False and "diverges" in result.summary["reason"]
    assert len(result.arrays["t"]) > 5 and np.isfinite(result.arrays["v"]).all()
    assert np.abs(result.arrays["v"]).max() < 1e6


def wheel_world():
    builder = ps.ModelBuilder("wheel")
    builder.body("wheel", "world", ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3) * INERTIA))
    return world_of(builder.build(), Surface())


def test_forces_beyond_all_numbers_are_no_penetration():
    world = wheel_world()
    with pytest.raises(Diverged, match="joint rates grow beyond all numbers"):
        stepper(world)(world.start([0.0], [1e305]), np.array([1e150]), 1.0)


def test_a_world_starts_in_one_state_and_says_so():
    world = wheel_world()
    with pytest.raises(ShapeError, match=r"q has shape \(2, 1\); a world starts in one state"):
        world.start(np.zeros((2, 1)), np.zeros(1))
    with pytest.raises(PhistarError, match=r"v has shape \(3, 1\)"):
        Motion(world, lambda t, q, v: np.zeros(1)).first(world.start(np.zeros(1), np.zeros((3, 1))), 0.0, 1e-3)


def test_a_simulation_that_would_not_end_says_so_soon(tmp_path):
    """A time constant of a nanosecond: the explicit method would take a hundred million steps."""
    (tmp_path / "wheel.urdf").write_text(WHEEL.format('<dynamics damping="1e6"/>'))
    with pytest.raises(PhistarError, match=r"steps of .* to the end\. A spring or damping is too stiff"):
        ps.simulate(ps.load(tmp_path / "wheel.urdf"), [0.0], [1.0], duration=0.4)
