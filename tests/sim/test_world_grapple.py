"""The grapple's bodies in the world's step: many pairs, twelve contacts, masses drawn by chance, a floating base."""

import copy

import numpy as np
import pytest

import phistar as ps
from phistar.backends import one_state
from phistar.backends.machine import jit
from phistar.sim.scenes.scene import Scene
from tests.worlds import stepper

pytest.importorskip("coal")
AT_THE_FACES = {  # the hands face each other, with a satellite of 0.4 m between them
    "left": np.radians([-112.0, 81.0, 7.0, -90.0, -22.0, 0.0]).tolist(),
    "right": np.radians([68.0, 81.0, 7.0, -90.0, -22.0, -180.0]).tolist(),
}
STEP = 2e-3


def scene_of(name, satellite, arms=AT_THE_FACES):
    """A bundled scene with the satellite and the arms, without friction in their joints, put somewhere."""
    scene = Scene.load(name)
    content = copy.deepcopy(dict(scene.content))
    for part in content["parts"]:
        if part["name"] == "satellite":
            part.update({"mass": 50.0, "gyration": [0.163] * 3, "rpy": [0.0] * 3, "velocity": [0.0] * 3, **satellite})
        if part["name"] in arms:
            part |= {"q": arms[part["name"]], "options": {"friction": False}}
    return Scene(scene.name, content, scene.folder, scene.where)


def squeezed(world, state, push, start):
    """Joint forces that press both hands on the satellite and keep them from turning away; world axes."""
    model, tau = world.model, np.zeros(world.model.nv)
    for side, way in (("left", 1.0), ("right", -1.0)):
        at, was = (ps.forward_kinematics(model, q, f"{side}/tool") for q in (state.q, start.q))
        turned = 0.5 * np.cross(at[:3, :3].T, was[:3, :3].T).sum(axis=0)
        away = was[:3, 3] - at[:3, 3]
        force = np.concatenate([20.0 * turned, 500.0 * away])
        force[4] = way * push
        jacobian = ps.jacobian(model, state.q, f"{side}/tool")
        damping = np.array([5.0, 5.0, 5.0, 200.0, 200.0, 200.0])
        base = model.joints[0].v_slice if model.joints[0].nv == 6 else slice(0, 0)
        rates = state.v.copy()
        rates[base] = 0.0
        tau = tau + jacobian.T @ (force - damping * (jacobian @ rates))
        tau[base] = 0.0
    return tau


def moved(world, start, state, count, push):
    made, advance = None, stepper(world)
    for _ in range(count):
        made = advance(state, squeezed(world, state, push, start), STEP)
        state = made.state
    return made


@pytest.mark.parametrize("name", ["grapple", "grapple-free"])
def test_another_seed_has_other_masses_and_compiles_nothing(name, monkeypatch):
    scene = Scene.load(name)
    first, second = (scene.setting(seed) for seed in (0, 1))
    states = [setting.world.start(*setting.start) for setting in (first, second)]
    tau = np.linspace(-1.0, 1.0, first.model.nv)
    stepper(first.world)(states[0], tau, STEP)

    def refused(*given):
        raise AssertionError("something was compiled")

    for module, what in ((one_state, "record"), (jit, "compile_object")):
        monkeypatch.setattr(module, what, refused)
    assert first.model.total_mass != second.model.total_mass
    made = stepper(second.world)(states[1], tau, STEP)
    monkeypatch.undo()
    assert made.state.v.shape == (second.model.nv,)
    before, after = (ps.momentum(second.model, state.q, state.v) for state in (states[1], made.state))
    if name == "grapple-free":  # the other masses are those of the second model
        np.testing.assert_allclose(after - before, made.step.outside, rtol=0, atol=1e-12)


def test_joints_with_dry_friction_stay_where_they_are():
    setting = Scene.load("grapple").setting(0)
    world, state = setting.world, setting.world.start(*setting.start)
    ahead, back = np.concatenate([joint.kind.friction for joint in world.model.joints], axis=-1)
    tau = 0.9 * np.where(np.arange(len(ahead)) % 2, ahead, -back)
    advance, states = stepper(world), [state]
    for _ in range(200):
        states.append(advance(states[-1], tau, STEP).state)
    assert np.abs(states[-1].v[:12]).max() < 1e-10 and np.abs(states[-1].q[:12] - states[150].q[:12]).max() < 1e-11
    assert np.abs(states[-1].q[:12] - states[0].q[:12]).max() < 1e-4  # bristles bend first
    for _ in range(20):
        state = advance(states[-1], 1.2 / 0.9 * tau, STEP).state
        states.append(state)
    assert np.abs(state.v[:12]).max() > 1e-3


def test_fingers_hold_a_satellite_by_friction_and_it_does_not_creep():
    world = (setting := scene_of("grapple", {"xyz": [0.466, 0.0, 0.0], "spin": [0.0, 0.02, 0.03]}).setting(0)).world
    start = world.start(*setting.start)
    step = moved(world, start, start, 700, 40.0)
    assert len(step.step.pair) == 6 and step.step.normal.min() > 1.0 and step.step.nearest > 0.0
    later = moved(world, start, step.state, 100, 40.0)
    assert np.max(np.abs(held(world, later.state) - held(world, step.state))) < 1e-4


def held(world, state):
    """The fingers' tips along the satellite's faces, (6, 2), as it sees them: hands may rock on them, and do."""
    back = np.linalg.inv(ps.forward_kinematics(world.model, state.q, "satellite"))
    tips = np.array([[0.07, 0.0, 0.19, 1.0], [-0.035, 0.060622, 0.19, 1.0], [-0.035, -0.060622, 0.19, 1.0]])
    tools = [ps.forward_kinematics(world.model, state.q, f"{side}/tool") for side in ("left", "right")]
    return np.concatenate([tips @ (back @ tool).T for tool in tools])[:, [0, 2]]


def test_grooves_make_twelve_contacts_of_six_fingers():
    arms = {
        "left": [-1.942602, 1.447806, 0.100834, -1.636972, -0.377929, 0.073013],
        "right": [1.198990, 1.447806, 0.100834, -1.636972, -0.377929, -3.068580],
    }
    world = (
        setting := scene_of("grapple-grooved", {"xyz": [0.462, 0.0, 0.0], "spin": [0.0] * 3}, arms).setting(0)
    ).world
    start = world.start(*setting.start)
    step = moved(world, start, start, 400, 40.0)
    places = step.step.places_in(world)
    across = np.linalg.norm(places.force, axis=1) - places.normal
    assert len(places.pair) == 12 and np.abs(across).max() < 1e-12 and places.normal.min() > 0.5
    later = moved(world, start, step.state, 100, 40.0)
    assert np.max(np.abs(held(world, later.state) - held(world, step.state))) < 2e-4 and later.step.nearest > 0.0


def test_a_floating_base_keeps_the_momentum_of_a_whole_grasp():
    satellite = {"xyz": [0.466, 0.0, 0.0], "spin": [0.03, 0.02, -0.05], "velocity": [0.0, 0.004, 0.002]}
    world = (setting := scene_of("grapple-free", satellite).setting(0)).world
    state = world.start(*setting.start)
    before = ps.momentum(world.model, state.q, state.v)
    largest, touched, start, advance = 0.0, 0.0, state, stepper(world)
    for _ in range(400):
        state, step = advance(state, squeezed(world, state, 40.0, start), STEP)
        largest = max(largest, np.max(np.abs(ps.momentum(world.model, state.q, state.v) - before)))
        touched = max(touched, step.normal.sum())
    assert touched > 50.0
    assert largest < 1e-10 * np.linalg.norm(before)
