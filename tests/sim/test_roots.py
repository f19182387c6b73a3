"""What nothing holds: its momentum is kept to rounding by fixed steps and by extrapolated ones, and a common velocity
changes nothing else."""

import numpy as np
import pytest

import phistar as ps
from phistar.contact.surface import Surface
from phistar.sim.motion import Motion
from phistar.sim.roots import Roots
from tests.worlds import world_of

pytest.importorskip("coal")
BODY = ps.Inertia(2.0, (0.01, -0.02, 0.015), np.diag([0.02, 0.03, 0.025]))


def shape(kind):
    return [ps.Geometry(kind, role="collision")]


def two_boxes():
    builder = ps.ModelBuilder("space", gravity=(0, 0, 0))
    for name in ("a", "b"):
        builder.body(name, "world", ps.Free(), inertia=BODY, geometry=shape(ps.Box((0.2, 0.2, 0.2))))
    q = [0, 0, 0, 0, 0, 0, 1, 0.25, 0.06, 0.05, 0, 0, 0, 1]
    v = [0.1, 0, 0.2, 0.5, 0, 0, 0.3, 0.2, 0.1, -0.5, 0, 0]
    return world_of(builder.build(), Surface(strength=100.0)), q, v, np.zeros(12)


def arm_on_a_free_base():
    """Two links whose tip is pushed against a ball by the joints' motors."""
    builder = ps.ModelBuilder("satellite", gravity=(0, 0, 0))
    builder.body("base", "world", ps.Free(), inertia=ps.Inertia(10.0, (0, 0.02, 0), np.eye(3) * 0.3))
    for k, parent in enumerate(("base", "link0")):
        builder.body(
            f"link{k}",
            parent,
            ps.Revolute(axis=(0, 0, 1), damping=0.1),
            ps.Pose(xyz=(0.2 if k == 0 else 0.4, 0, 0)),
            ps.Inertia(1.0, (0.2, 0, 0), np.diag([1e-3, 0.02, 0.02])),
            shape(ps.Capsule(0.02, 0.2)) if k == 0 else [],
        )
    tip = ps.Geometry(ps.Sphere(0.04), placement=ps.Pose(xyz=(0.4, 0, 0)), role="collision")
    builder.body("tip", "link1", ps.Fixed(), geometry=[tip])
    builder.body("ball", "world", ps.Free(), inertia=BODY, geometry=shape(ps.Sphere(0.1)))
    q = [0, 0, 0, 0, 0, 0, 1, 0.3, -0.6, 0.95, 0.17, 0.01, 0, 0, 0, 1]
    return world_of(builder.build(), Surface()), q, np.zeros(14), np.array([*[0.0] * 6, 1.0, 2.0, *[0.0] * 6])


@pytest.mark.parametrize("case", (two_boxes, arm_on_a_free_base))
@pytest.mark.parametrize("step", (None, 2e-3))
def test_inner_forces_leave_the_total_momentum_as_it_was_to_rounding(case, step):
    world, q, v, tau = case()
    motion = Motion(world, lambda t, q, v: tau, rtol=1e-5, atol=1e-8)
    start = world.start(q, v)
    made = motion.moments(start, 0.0, [0.25]) if step is None else motion.fixed(start, 0.0, [0.5], step)
    moments = list(made)
    assert max(moment.step.peak for moment in moments) > 0.5  # they did push
    model = world.model
    whole = np.array([ps.momentum(model, moment.state.q, moment.state.v) for moment in moments])
    parts = [Roots(model).momenta(moment.state.q, moment.state.v) for moment in moments]
    size = max(float(np.max(np.abs(each))) for each in parts)
    assert np.max(np.abs(whole - ps.momentum(model, np.array(q), np.array(v)))) < 1e-11 * max(size, 0.1)
    assert np.ptp(np.array(parts)[:, 0, 3]) > 1e-3  # while each tree's own changed


def test_a_roots_twist_is_the_one_of_its_momentum():
    world, _, _, _ = arm_on_a_free_base()
    model, rng = world.model, np.random.default_rng(3)
    q, v = model.random(rng), rng.normal(size=model.nv)
    roots = Roots(model)
    momenta = roots.momenta(q, v)
    np.testing.assert_allclose(momenta.sum(axis=0), ps.momentum(model, q, v), rtol=1e-12, atol=1e-12)
    other = v.copy()
    other[:6], other[8:] = 0.0, 1.0
    np.testing.assert_allclose(roots.set_momenta(q, other, momenta), v, rtol=1e-10, atol=1e-10)


def thrown(velocity, step):
    """The state after 0.4 s of a base with an arm, tumbling under gravity on a turned mount, thrown with a velocity."""
    builder = ps.ModelBuilder("thrown", gravity=(0, 0, -9.81))
    mount = ps.Pose(xyz=(1, -2, 0.5), rpy=(0.4, -0.3, 0.9))
    builder.body("base", "world", ps.Free(), mount, ps.Inertia(10.0, (0, 0.1, 0.05), np.diag([0.2, 0.3, 0.4])))
    builder.body("arm", "base", ps.Revolute(axis=(0, 0, 1)), ps.Pose(xyz=(0.3, 0, 0)), BODY, shape(ps.Sphere(0.1)))
    model = builder.build()
    q, spin = np.array([0, 0, 0, 0, 0, 0, 1, 0.2]), np.array([1.0, -2.0, 3.0])
    v = np.concatenate([spin, mount.rotation.T @ np.asarray(velocity, float), [0.5]])
    motion = Motion(world_of(model, Surface()), lambda t, q, v: np.zeros(7), rtol=1e-6, atol=1e-9)
    start = motion.world.start(q, v)
    made = motion.moments(start, 0.0, [0.4]) if step is None else motion.fixed(start, 0.0, [0.4], step)
    return model, start, list(made)[-1].state


def about_center(model, state):
    momentum = ps.momentum(model, state.q, state.v)
    return momentum[:3] - np.cross(ps.center_of_mass(model, state.q), momentum[3:])


@pytest.mark.parametrize("velocity", [(0, 0, 0), (3, 1, 2), (80, 0, 0)])
def test_free_flight_keeps_the_spin_about_the_center_of_mass_at_any_speed(velocity):
    model, start, end = thrown(velocity, 4e-3)
    np.testing.assert_allclose(about_center(model, end), about_center(model, start), rtol=0, atol=1e-10)
    fallen = ps.center_of_mass(model, end.q) - ps.center_of_mass(model, start.q)
    linear = ps.momentum(model, start.q, start.v)[3:] / model.total_mass
    steps = 100  # q⁺ = q ⊕ h v⁺: the sum of h² g over 1, 2, …, steps
    np.testing.assert_allclose(
        fallen, 0.4 * linear + 4e-3**2 * model.gravity * steps * (steps + 1) / 2, rtol=0, atol=1e-11
    )


@pytest.mark.parametrize("step", (None, 4e-3))
def test_a_thrown_body_tumbles_as_one_at_rest_does(step):
    """Galileo: attitude, joint and spin do not know how fast the whole moves."""
    _, _, still = thrown((0, 0, 0), step)
    _, _, fast = thrown((20, -10, 5), step)
    np.testing.assert_allclose(fast.q[3:], still.q[3:], rtol=0, atol=1e-9 if step else 1e-5)
    np.testing.assert_allclose(fast.v[[0, 1, 2, 6]], still.v[[0, 1, 2, 6]], rtol=0, atol=1e-9 if step else 1e-4)


def box_and_ball():
    """Both spin, and meet off their centres."""
    builder = ps.ModelBuilder("meeting", gravity=(0, 0, 0))
    builder.body("box", "world", ps.Free(), inertia=BODY, geometry=shape(ps.Box((0.3, 0.3, 0.3))))
    mount = ps.Pose(xyz=(0.5, 0.08, 0.03), rpy=(0.4, -0.3, 0.9))
    builder.body("ball", "world", ps.Free(), mount, inertia=BODY, geometry=shape(ps.Sphere(0.15)))
    model = builder.build()
    v = np.array([0.3, -0.2, 1.0, 0.5, 0, 0, -0.7, 0.4, 1.5, *(mount.rotation.T @ [-0.3, 0, 0])])
    return world_of(model, Surface()), model.neutral(), v, np.zeros(12)


def spinning_arm():
    """The arm of above, turning as a whole, with a ball that turns."""
    world, q, v, tau = arm_on_a_free_base()
    v[:3], v[8:11] = [0.02, 0.03, 0.1], [0.5, -0.3, 1.0]
    return world, q, v, tau


def collision(case, boost):
    """Of every step, all trees thrown with the velocity `boost`: places, attitudes, velocities and spins of the roots
    as the first sees them, with the joints' coordinates; and the largest force of contact."""
    world, q, v, tau = case()
    model, q, v = world.model, np.array(q, float), np.array(v, float)
    bodies = Roots(model).bodies
    names, joints = [model.bodies[i].name for i in bodies], np.ones(model.nq, bool)
    for i, name in zip(bodies, names, strict=True):
        joints[model.joints[i].q_slice] = False
        v[model.joints[i].v_slice][3:] += ps.forward_kinematics(model, q, name)[:3, :3].T @ boost
    seen, pressing = [], []
    for moment in Motion(world, lambda t, q, v: tau).fixed(world.start(q, v), 0.0, [0.4], 2e-3):
        state = moment.state
        poses = np.array([ps.forward_kinematics(model, state.q, name) for name in names])
        motion = np.array([ps.frame_velocity(model, state.q, state.v, name) for name in names])
        apart, closing = poses[:, :3, 3] - poses[0, :3, 3], motion[:, 3:] - motion[0, 3:]
        vectors = [apart, closing, motion[:, :3], *np.swapaxes(poses[:, :3, :3], 1, 2)]
        seen.append(np.append(np.concatenate(vectors) @ poses[0, :3, :3], state.q[joints]))
        pressing.append(moment.step.peak)
    return np.array(seen), np.array(pressing)


@pytest.mark.parametrize("case", (box_and_ball, spinning_arm))
def test_bodies_collide_as_they_do_at_rest_however_fast_all_of_them_fly(case):
    """Galileo, with contact: motion as one body sees the other, and every force, do not know of a common velocity."""
    still, pressing = collision(case, (0, 0, 0))
    fast, pressing_too = collision(case, (3, -2, 1))
    assert np.max(pressing) > 1.0  # they did meet
    np.testing.assert_allclose(fast, still, rtol=0, atol=1e-9)
    np.testing.assert_allclose(pressing_too, pressing, rtol=0, atol=1e-9 * np.max(pressing))


def slider(builder, name, at):
    bar = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01)
    builder.body(name, "world", ps.Prismatic(axis=(1, 0, 0)), ps.Pose(xyz=(0, at, 0)), bar)


def beside_coupled_sliders(builder):
    """Two sliders 5 m away, of which one follows the other."""
    slider(builder, "first", 5.0)
    slider(builder, "second", 6.0)
    builder.loop("geared", "second", "first", ps.Coupling((0.0, -1.0)))


def with_a_linkage_of_its_own(builder):
    """A parallelogram on the box itself, which opens and closes."""
    turning = ps.Revolute(axis=(0, 0, 1))
    bar = ps.Inertia(0.3, (0.2, 0, 0), np.diag([1e-3, 4e-3, 4e-3]))
    for name, parent, at in (("left", "box", (0, 0, 0)), ("top", "left", (0.4, 0, 0)), ("right", "box", (0, 0.3, 0))):
        builder.body(name, parent, turning, ps.Pose(xyz=at), bar)
    builder.frame("end of top", "top", ps.Pose(xyz=(0, 0.3, 0)))
    builder.frame("end of right", "right", ps.Pose(xyz=(0.4, 0, 0)))
    builder.loop("closure", "end of top", "end of right", joint=turning)


@pytest.mark.parametrize("loop", (beside_coupled_sliders, with_a_linkage_of_its_own))
def test_a_free_body_keeps_its_momentum_whatever_loops_the_model_has(loop):
    builder = ps.ModelBuilder("space", gravity=(0, 0, 0))
    builder.body("box", "world", ps.Free(), inertia=BODY)
    loop(builder)
    model = builder.build()
    v = np.zeros(model.nv)
    v[:6] = [1.0, -0.5, 0.7, 1.0, 0.0, 0.0]
    if loop is with_a_linkage_of_its_own:
        v[6:] = [0.8, -0.8, 0.8]
    world = world_of(model, Surface())
    moments = list(Motion(world, lambda t, q, v: np.zeros(len(v))).fixed(world.start(model.neutral(), v), 0, [2], 2e-3))
    kept = np.array([ps.momentum(model, moment.state.q, moment.state.v) for moment in moments])
    assert np.max(np.abs(kept - ps.momentum(model, model.neutral(), v))) < 1e-11
    residual, rate = ps.loop_residual(model, moments[-1].state.q, moments[-1].state.v)
    assert max(np.abs(residual).max(), np.abs(rate).max()) < 1e-9
