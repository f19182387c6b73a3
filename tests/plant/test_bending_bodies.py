"""Bodies that bend in plants: the step against `ps.simulate`, contact at nodes, momentum, books, files, lanes."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.wide import wide_links
from phistar.capture.rigid_appendages import with_rigid
from phistar.plant.tree_kernels import TreeKernels
from phistar.sim.scenes.scene import Scene

ALONG_Y = (0.0, 1.0, 0.0)


def ball(x=0.0, radius=0.05, name=""):
    return ps.Geometry(ps.Sphere(radius), ps.Pose((x, 0, 0)), name, role="collision")


def boom(**changes):
    return ps.beam(**({"length": 1.0, "EI": (20.0, 40.0), "mass_per_length": 1.0, "modes": 3} | changes))


def arm(damping=0.05, joint_damping=0.0):
    """Two beams and a hand with a ball, falling in the plane x z; the hand makes modal damping a full matrix."""
    b, parent = ps.ModelBuilder("arm", gravity=(0, 0, -9.81)), "world"
    for name in ("upper", "fore"):
        joint = ps.Revolute(axis=ALONG_Y, damping=joint_damping)
        b.body(name, parent, joint, inertia=boom(damping=damping))
        parent = f"{name}.tip"
    b.body("hand", parent, inertia=ps.Inertia(0.5, (0.05, 0, 0), 1e-3 * np.eye(3)), geometry=[ball(0.05, name="hand")])
    return b.build()


def satellite(ball_at_tip=False):
    """A free bus with two panels, one on a hinge."""
    b = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
    b.body("bus", joint=ps.Free(), inertia=ps.Inertia(50.0, (0, 0, 0), np.diag([5.0, 6.0, 7.0])))
    panel = boom(length=2.0, EI=(30.0, 60.0), damping=0.01, axial_inertia=0.05)
    b.body("left", "bus", ps.Fixed(), ps.Pose((0, 0.3, 0), rpy=(0, 0, np.pi / 2)), panel)
    b.body("right", "bus", ps.Revolute(axis=(1, 0, 0)), ps.Pose((0, -0.3, 0), rpy=(0, 0, -np.pi / 2)), panel)
    if ball_at_tip:
        b.geometry("left.tip", ball(name="bumper"))
    return b.build()


def plant_of(model, **where):
    plant = ps.Plant(gravity=model.gravity)
    plant.add(model, model.name, **where)
    return plant


def stepped(plant, state, duration, h):
    for _ in range(round(duration / h)):
        state = plant.step(state, h=h)
    return state


def test_steps_tend_to_the_motion_that_simulate_integrates():
    model = arm()
    expected = ps.simulate(model, model.neutral(), np.zeros(model.nv), 0.2, rtol=1e-10)
    plant = plant_of(model)
    errors = []
    for h in (1e-3, 5e-4):
        after = stepped(plant, plant.state(), 0.2, h)
        errors.append(max(np.abs(after.q - expected.q[-1]).max(), np.abs(after.v - expected.v[-1]).max()))
    assert errors[1] == pytest.approx(0.5 * errors[0], rel=0.1) and errors[1] < 5e-3


def test_a_motion_to_a_tolerance_is_that_of_simulate():
    model = arm()
    expected = ps.simulate(model, model.neutral(), np.zeros(model.nv), 0.1, rtol=1e-10)
    run = ps.simulate(plant_of(model), 0.1, rtol=1e-8)
    np.testing.assert_allclose(run.q[-1], expected.q[-1], atol=1e-6)


def test_a_beam_that_hardly_bends_moves_as_the_rigid_one():
    tips = []
    for inertia in (boom(EI=1e7), boom().rigid):
        b = ps.ModelBuilder("beam", gravity=(0, 0, -9.81))
        b.body("slide", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(5.0, (0, 0, 0), np.eye(3)))
        b.body("beam", "slide", ps.Revolute(axis=ALONG_Y), inertia=inertia, geometry=[ball(1.0)])
        plant = plant_of(b.build(), at=ps.Pose((0, 0, 0.4)))
        plant.add_shape(ps.Plane())
        tips.append(ps.simulate(plant, 0.6, step=1e-3).q[:, 1])
    np.testing.assert_allclose(tips[0], tips[1], atol=2e-4)
    assert np.ptp(tips[1][-50:]) < 0.02 < np.ptp(tips[1])  # it came to the floor


def test_poses_and_screws_of_nodes_are_those_of_kinematics():
    model = arm()
    nodes = tuple((k, dict(model.bodies[k].flexible.ends)["tip"]) for k in range(2))
    kernels, rng = TreeKernels(model, nodes), np.random.default_rng(3)
    q = 0.2 * rng.normal(size=model.nq)
    links = wide_links(model, q)
    poses = kernels._poses(q, links)
    rows = kernels.node_screws(q, links).reshape(2, -1, 6)
    for (k, node), own, name in zip(nodes, rows, ("upper.tip", "fore.tip"), strict=True):
        pose, jacobian = ps.forward_kinematics(model, q, name), ps.jacobian(model, q, name)
        np.testing.assert_allclose(poses[k, node][0], pose[:3, :3], atol=1e-13)
        np.testing.assert_allclose(poses[k, node][1], pose[:3, 3], atol=1e-13)
        moved = jacobian[:, model.bodies[k].mode_slice].T
        expected = np.concatenate([moved[:, :3], moved[:, 3:] + np.cross(pose[:3, 3], moved[:, :3])], axis=1)
        np.testing.assert_allclose(own, expected, atol=1e-13)


def test_contact_at_rest_bends_the_body_and_balances_weight_and_stiffness():
    model = arm(damping=0.3, joint_damping=2.0)
    plant = plant_of(model, at=ps.Pose((0, 0, 0.5)))
    plant.add_shape(ps.Plane())
    run = ps.simulate(plant, 8.0, step=4e-3)
    q, still = run.q[-1], np.zeros(model.nv)
    assert np.abs(run.v[-1]).max() < 1e-6
    held = plant.contact_torques(run)[-1] + ps.joint_friction(plant.model, q, still)
    np.testing.assert_allclose(ps.gravity_load(plant.model, q), held, atol=1e-5)
    assert np.abs(q[[2, 6]]).max() > 1e-3  # the ball stands under the tip's node, and the beam sags between
    tip = ps.forward_kinematics(plant.model, q, "arm/hand") @ [0.05, 0, 0, 1]
    assert 0.045 < tip[2] < 0.055


def test_momentum_of_a_free_flyer_with_panels_is_kept():
    model, rng = satellite(), np.random.default_rng(0)
    plant = plant_of(model)
    state = plant.state(v=0.2 * rng.normal(size=model.nv))
    before = ps.momentum(plant.model, state.q, state.v)
    after = stepped(plant, state, 0.5, 1e-3)
    np.testing.assert_allclose(ps.momentum(plant.model, after.q, after.v), before, atol=1e-12)
    assert np.abs(after.q[7:]).max() > 1e-3


def test_a_ball_against_a_panel_gives_it_its_momentum_and_the_books_close(tmp_path):
    ps.save(satellite(ball_at_tip=True), tmp_path / "satellite.json")
    (tmp_path / "hit.toml").write_text(
        "format_version = 1\ngravity = [0.0, 0.0, 0.0]\n[time]\nduration = 0.6\nstep = 0.001\nsample = 0.02\n"
        '[[parts]]\nname = "satellite"\nrobot = "satellite.json"\n'
        '[[parts]]\nname = "ball"\njoint = "free"\nmass = 2.0\nxyz = [0.2, 2.3, 0.0]\nvelocity = [-1.0, 0.0, 0.3]\n'
        "shapes = [{ sphere = 0.1 }]\n"
    )
    run = Scene.load(tmp_path / "hit.toml").run()
    assert run.summary["peak_force"] > 10.0 and run.summary["momentum_drift"] < 1e-12
    assert abs(run.summary["energy_residual"]) < 1e-4 < abs(run.summary["energy_change"])


def segments(count, length, EI, balls):
    """A beam as rigid segments with springs, which slides along z and turns at its near end."""
    b, step = ps.ModelBuilder("segments", gravity=(0, 0, -9.81)), length / count
    b.body("slide", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=ps.Inertia(1e-6, (0, 0, 0), 1e-9 * np.eye(3)))
    parent, turning = "slide", step**3 / 12.0
    for k in range(count):
        near = [
            x - k * step for x in balls if k * step - 1e-9 <= x < (k + 1) * step - 1e-9 or (k + 1 == count and x >= 1)
        ]
        joint = ps.Revolute(axis=ALONG_Y, stiffness=EI / step if k else 0.0)
        inertia = ps.Inertia(step, (step / 2, 0, 0), np.diag([1e-9, turning, turning]))
        place = ps.Pose((step if k else 0.0, 0, 0))
        b.body(f"s{k}", parent, joint, place, inertia, [ball(x, 0.01, f"{k}:{x:.3f}") for x in near])
        parent = f"s{k}"
    b.frame("tip", parent, ps.Pose((step, 0, 0)))
    return b.build()


def test_a_beam_dropped_on_two_posts_rings_as_segments_with_springs_do():
    balls, stiff = np.linspace(0.0, 1.0, 21), 30.0
    b = ps.ModelBuilder("beam", gravity=(0, 0, -9.81))
    b.body("slide", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=ps.Inertia(1e-6, (0, 0, 0), 1e-9 * np.eye(3)))
    bending = ps.beam(1.0, (1e6, stiff), 1.0, modes=4, root="free")
    b.body("beam", "slide", ps.Revolute(axis=ALONG_Y), inertia=bending, geometry=[ball(x, 0.01) for x in balls])
    heights = []
    for model, tip in ((b.build(), "beam.tip"), (segments(20, 1.0, stiff, balls), "tip")):
        plant = plant_of(model, at=ps.Pose((0, 0, 0.1)), material=ps.Material(friction=0.0))
        for x in (0.2, 0.8):
            post = ps.Capsule(0.02, 0.4)
            plant.add_shape(post, at=ps.Pose((x, 0, 0), rpy=(np.pi / 2, 0, 0)), material=ps.Material(friction=0.0))
        run = ps.simulate(plant, 0.15, step=2e-4)
        heights.append(ps.forward_kinematics(plant.model, run.q, f"{model.name}/{tip}")[:, 2, 3])
    assert np.abs(heights[0] - heights[1]).max() < 1.2e-3  # m; forty segments are half as far from twenty
    assert heights[0].min() < 0.027 and heights[0][-1] > heights[0].min() + 0.01  # the tips went down and came back


@pytest.mark.slow
def test_lanes_take_the_very_steps_of_one_scene():
    model = arm()
    plant = plant_of(model, at=ps.Pose((0, 0, 0.3)))
    plant.add_shape(ps.Plane())
    q, v = np.tile(model.neutral(), (32, 1)), 0.3 * np.random.default_rng(0).normal(size=(32, model.nv))
    run = plant.rollout((q, v), step=2e-3, steps=100)
    for k in (0, 17):
        after = stepped(plant, plant.state(q[k], v[k]), 0.2, 2e-3)
        np.testing.assert_allclose(run.q[k, -1], after.q, atol=1e-9)


def test_plants_with_bodies_that_bend_are_saved_and_loaded(tmp_path):
    plant = plant_of(arm(), at=ps.Pose((0, 0, 0.3)))
    plant.add_shape(ps.Plane())
    plant.add_shape(ps.Sphere(0.03), "arm/fore.tip", name="bumper")
    plant.save(tmp_path / "plant.toml")
    again = ps.Plant.load(tmp_path / "plant.toml")
    for each in (plant, again):
        nodes = {shape.name: shape.node for shape in each.system.shapes}
        assert nodes["hand"] == nodes["bumper"] == dict(plant.model.bodies[1].flexible.ends)["tip"]
    first, second = (stepped(each, each.state(), 0.2, 2e-3) for each in (plant, again))
    np.testing.assert_allclose(first.q, second.q, atol=1e-12)


def test_a_tool_on_the_tip_moves_with_it_and_a_rope_pulls_there():
    plant = plant_of(arm(damping=0.2, joint_damping=5.0), at=ps.Pose((0.6, 0, 2.5)))
    plant.add_body("tool", ps.Box((0.1, 0.1, 0.1)), inertia=0.4, at=ps.Pose((0.1, 0, 0)), on="arm/fore.tip", free=False)
    plant.add_tendon("rope", ["world", "arm/fore.tip"], stiffness=10.0)
    state = stepped(plant, plant.state(), 40.0, 1e-2)
    assert np.abs(state.v).max() < 1e-5
    model, q = plant.model, state.q
    place = ps.forward_kinematics(model, q, "arm/fore.tip")[:3, 3]
    still = np.zeros(model.nv)
    pull = ps.jacobian(model, q, "arm/fore.tip")[3:].T @ (-10.0 * place)
    held = pull + ps.joint_friction(model, q, still)
    np.testing.assert_allclose(ps.gravity_load(model, q), held, atol=1e-3)
    np.testing.assert_allclose(plant.acceleration(state), 0.0, atol=1e-3)
    mass = sum(body.inertia.mass for body in model.bodies)
    assert np.linalg.norm(place) > 0.1 and mass == pytest.approx(2.9)


def test_sensors_of_bodies_that_bend_tell_of_weight_and_motion():
    plant = plant_of(arm(damping=0.3, joint_damping=2.0), at=ps.Pose((0, 0, 3.0)))
    plant.sense("force_torque", "arm/upper", name="root")
    plant.sense("center_of_mass", "arm", name="center")
    plant.sense("mass_velocity", "arm", name="speed")
    plant.sense("frame_pose", "arm/fore.tip", name="tip")
    run = ps.simulate(plant, 0.3, step=1e-3)
    center, speed = run.signals["sensed/center"], run.signals["sensed/speed"]
    np.testing.assert_allclose(center, ps.center_of_mass(plant.model, run.q), atol=1e-12)
    np.testing.assert_allclose(np.diff(center, axis=0) / 1e-3, speed[1:], atol=2e-3)
    mass = sum(body.inertia.mass for body in plant.model.bodies)
    turn = ps.forward_kinematics(plant.model, run.q, "arm/upper")[:, :3, :3]
    force = np.einsum("tij,tj->ti", turn, run.signals["sensed/root"][:, 3:])
    expected = mass * (np.diff(speed, axis=0) / 1e-3 + [0, 0, 9.81])
    np.testing.assert_allclose(force[1:], expected, atol=1e-6)


def test_a_field_that_leaves_out_the_nodes_of_bodies_that_bend_is_refused():
    class Wind:
        def wrenches(self, bodies):
            return np.ones((len(bodies.model.bodies), 6))

    plant = plant_of(arm())
    plant.add_field(Wind())
    with pytest.raises(ps.PhistarError, match="then of each node of bodies that bend"):
        plant.step(plant.state())


def test_fields_act_on_the_rigid_bodies_of_a_robot_that_bends():
    class Push:
        def wrenches(self, bodies):
            return np.array([[0, 0, 0, 3.0, 0, 0], *np.zeros((len(bodies.parts.carriers) - 1, 6))])

    plant = plant_of(satellite())
    plant.add_field(Push())
    after = stepped(plant, plant.state(), 0.2, 1e-3)
    np.testing.assert_allclose(ps.momentum(plant.model, after.q, after.v)[3], 0.6, rtol=1e-6)


def test_motors_of_a_scene_are_at_joints_and_hold_an_arm_that_bends(tmp_path):
    b, parent = ps.ModelBuilder("arm"), "world"
    for name in ("upper", "fore"):
        b.body(name, parent, ps.Revolute(axis=ALONG_Y), inertia=boom(EI=(200.0, 400.0), modes=2, damping=0.05))
        parent = f"{name}.tip"
    ps.save(b.build(), tmp_path / "arm.json")
    text = "format_version = 1\n[time]\nduration = 1.0\nstep = 0.002\nsample = 0.02\n[controller]\nlaw = 'hold'\n"
    part = "stiffness = 60.0\ndamping = {}\n[[parts]]\nname = 'arm'\nrobot = 'arm.json'\n"
    (tmp_path / "arm.toml").write_text(text + part.format(4.0))
    scene = Scene.load(tmp_path / "arm.toml")
    assert [each.rate for each in scene.setting(0).plant.actuators] == [0, 3]
    run = scene.run()
    assert np.abs(run.arrays["q"][-1][[0, 3]]).max() < 0.02 and abs(run.summary["energy_residual"]) < 1e-4
    assert not run.arrays["tau"][:, [1, 2, 4, 5]].any()
    (tmp_path / "arm.toml").write_text(text + part.format(400.0))  # more than samples of 2 ms can damp
    with pytest.raises(ps.PhistarError, match="the motion diverges: a mode of fore"):
        Scene.load(tmp_path / "arm.toml").run()


def test_a_capture_knows_panels_that_bend_as_they_are_at_rest():
    model = satellite()
    held = with_rigid(model, {1, 2})
    assert not held.is_flexible and len(held.bodies) == 1
    assert held.total_mass == pytest.approx(model.total_mass)
    q = model.neutral()
    np.testing.assert_allclose(ps.mass_matrix(held, q[:7]), ps.mass_matrix(model, q)[:6, :6], atol=1e-12)
    for frame in ("left.tip", "right.tip"):
        expected = ps.forward_kinematics(model, q, frame)
        np.testing.assert_allclose(ps.forward_kinematics(held, q[:7], frame), expected, atol=1e-12)
