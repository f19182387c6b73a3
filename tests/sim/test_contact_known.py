"""Contact against known answers: sliding, rolling, Painlevé's rod, the tippe top, bounces, orders and energy."""

import json
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from phistar.contact.surface import Surface, normal_energy
from phistar.plant.course_columns import TIME
from phistar.sim.extrapolation import Extrapolation
from phistar.sim.motion import Motion
from tests.worlds import world_of

pytest.importorskip("coal")
KNOWN = json.loads((Path(__file__).parents[1] / "data/contact/references.json").read_text("utf-8"))


def shape(kind, name="", **placed):
    return [ps.Geometry(kind, name=name, role="collision", **placed)]


def on_the_floor(inertia, geometry, surface, gravity=9.81, joint=None):
    builder = ps.ModelBuilder("body", gravity=(0, 0, -gravity))
    builder.body("ground", "world", geometry=shape(ps.Plane(), "floor"))
    builder.body("body", "world", joint or ps.Free(), inertia=inertia, geometry=geometry)
    return world_of(builder.build(), surface, [("body", "floor")])


def free(world):
    return Motion(world, lambda t, q, v: np.zeros(world.model.nv))


def axes(world, state):
    return ps.forward_kinematics(world.model, state.q, "body")[:3, :3]


def energies_of(world, motion, moments):
    """Kinetic, potential, and elastic in gaps and bristles, of moments as they are made."""
    surface, found = world.system.laws[0], []
    for moment in moments:
        state, model, engine = moment.state, world.model, motion.session.engine
        table = engine.tables["contacts"][: engine.counts[c.CONTACTS]]
        bent = 0.5 * surface.bristle_stiffness * np.sum(table[:, c.BENT : c.BENT + 3] ** 2)
        kept = float(np.sum(normal_energy(surface.margin, surface.strength, table[:, c.GAP])) + bent)
        moving = ps.kinetic_energy(model, state.q, state.v) + ps.potential_energy(model, state.q)
        found.append((moment, float(moving) + kept))
    return [moment for moment, _ in found], np.array([each for _, each in found])


def test_a_sliding_block_rests_after_coulombs_time_and_way():
    inertia = ps.Inertia(2.0, (0, 0, 0), np.eye(3) * 0.02)
    world = on_the_floor(inertia, shape(ps.Box((0.3, 0.3, 0.1))), Surface(friction=0.3))
    height = 0.05 + 2e-3 / (1 + 2 * 9.81 / 4 / 15.0)
    moments = list(free(world).fixed(world.start([0, 0, height, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]), 0.0, [0.5], 1e-3))
    assert moments[-1].state.q[0] == pytest.approx(1.0 / (2 * 0.3 * 9.81), rel=1e-2)
    assert abs(moments[-1].state.v[3]) < 1e-7
    sticks = [event.time for moment in moments for event in moment.events if event.what == "stick"]
    assert sticks[0] == pytest.approx(1.0 / (0.3 * 9.81), rel=1e-2)


@pytest.mark.parametrize("count, force", [(1, 80.0), pytest.param(25, 200.0, marks=pytest.mark.slow)])
def test_balls_roll_on_a_pulled_box_as_simbenchmark_computes(count, force):
    known = KNOWN["simbenchmark"]["rolling"]
    box, ball, gravity = known["box_mass"], known["ball_mass"], known["gravity"]
    builder = ps.ModelBuilder("rolling", gravity=(0, 0, -gravity))
    builder.body("ground", "world", geometry=shape(ps.Plane(), "floor"))
    wide = ps.Inertia(box, (0, 0, 0), np.eye(3) * 40.0)
    builder.body("box", "world", ps.Free(), inertia=wide, geometry=shape(ps.Box((4.0, 4.0, 0.4)), "box"))
    small = ps.Inertia(ball, (0, 0, 0), np.eye(3) * 0.4 * ball * 0.01)
    names = [f"ball{i}" for i in range(count)]
    for name in names:
        builder.body(name, "world", ps.Free(), inertia=small, geometry=shape(ps.Sphere(0.1), name))
    model = builder.build()
    hard = Surface(friction=known["friction_box_ground"], strength=200.0, bristle_stiffness=1e5, bristle_damping=1e3)
    thin = Surface(friction=known["friction_ball_box"], margin=2e-4)
    pairs = [("box", "floor", hard), *((name, "box", thin) for name in names)]
    world, weight = world_of(model, pairs=pairs), (box + count * ball) * gravity
    low, high = 2e-3 / (1 + weight / 4 / 200.0), 2e-4 / (1 + ball * gravity / 15.0)
    side = round(np.sqrt(count))
    grid = [(0.7 * (k % side - (side - 1) / 2), 0.7 * (k // side - (side - 1) / 2)) for k in range(count)]
    resting = [x for place in grid for x in (*place, 0.5 + low + high, 0, 0, 0, 1)]
    start = world.start([0, 0, 0.2 + low, 0, 0, 0, 1, *resting], np.zeros(model.nv))
    pull = np.array([0, 0, 0, force, 0, 0, *[0.0] * (6 * count)])
    moments = list(Motion(world, lambda t, q, v: pull).fixed(start, 0.0, [0.1, 0.3], 2e-3))
    half, end = (next(m.state for m in moments if m.time == time) for time in (0.1, 0.3))  # bristles bend before
    rubbed = known["friction_box_ground"] * weight
    passed_on = (force - rubbed) / box / (3.5 / ball + count / box)
    assert (end.v[3] - half.v[3]) / 0.2 == pytest.approx((force - rubbed - count * passed_on) / box, rel=4e-3)
    for k, name in enumerate(names):
        speeds = []
        for state in (half, end):
            turn = ps.forward_kinematics(model, state.q, name)[:3, :3]
            speeds.append((turn @ state.v[6 * k + 9 : 6 * k + 12])[0])
        assert (speeds[1] - speeds[0]) / 0.2 == pytest.approx(passed_on / ball, rel=4e-3)


def slid_rod(friction, speed):
    """Painlevé's rod at 45°, its tip sliding so that friction presses it down: the tip's speeds, and normal forces."""
    geometry = shape(ps.Sphere(1e-3), placement=ps.Pose(xyz=(0, 0, -1.0)))
    surface = Surface(
        friction=friction, margin=1e-3, strength=1e3, damping=50.0, bristle_stiffness=1e6, bristle_damping=100.0
    )
    inertia = ps.Inertia(1.0, (0, 0, 0), np.diag([1 / 3, 1 / 3, 1e-3]))
    world = on_the_floor(inertia, geometry, surface, KNOWN["painleve"]["gravity"])
    lean, half = np.pi / 8, np.sqrt(0.5)
    start = [half, 0, half + 1.99e-3, 0, np.sin(lean), 0, np.cos(lean)]
    turn = ps.forward_kinematics(world.model, np.array(start), "body")[:3, :3]
    begin = world.start(start, [0, 0, 0, *(turn.T @ [-speed, 0, 0])])
    tips, forces = [], []
    for moment in free(world).fixed(begin, 0.0, [0.01], 1e-4):
        own, v = axes(world, moment.state), moment.state.v
        tips.append((own @ (v[3:] + np.cross(v[:3], [0, 0, -1.0])))[0])
        forces.append(moment.step.peak)
    return np.array(tips), np.array(forces)


def test_painleves_rod_slides_below_the_critical_friction_and_jams_without_a_blow_above_it():
    critical = KNOWN["painleve"]["critical_friction_at_45_degrees"]
    tips, forces = slid_rod(0.6 * critical, 2.0)
    assert np.max(tips) < -1.8  # slides on
    slow, pushed = slid_rod(0.6 * critical, 1.0)
    assert np.max(slow) < -0.8 and np.max(forces) < 2.0 * np.max(pushed)
    tips, forces = slid_rod(1.2 * critical, 2.0)
    slow, pushed = slid_rod(1.2 * critical, 1.0)
    assert np.max(tips) > 0.0 and np.max(slow) > 0.0  # held, and thrown back, within 10 ms
    assert np.max(forces) > 50.0 * 10.0  # by far more than its weight
    assert np.max(forces) / np.max(pushed) == pytest.approx(2.0, rel=0.25)  # an impulse, in proportion to the speed


def test_a_tippe_top_stands_up_on_its_stem_and_its_energy_never_grows():
    radius, low, mass = 0.02, 0.004, 0.02
    inertia = ps.Inertia(mass, (0, 0, -low), np.eye(3) * 0.4 * mass * radius**2)
    surface = Surface(friction=0.3, margin=2e-4, strength=0.2, damping=2.0, bristle_stiffness=500, bristle_damping=1)
    world = on_the_floor(inertia, shape(ps.Sphere(radius)), surface)
    q = [0, 0, radius + 1e-4, np.sin(0.05), 0, 0, np.cos(0.05)]
    turn = ps.forward_kinematics(world.model, np.array(q), "body")[:3, :3]
    start = world.start(q, [*(turn.T @ [0, 0, 180.0]), 0, 0, 0])
    motion = free(world)
    moments, energies = energies_of(world, motion, motion.fixed(start, 0.0, [1.6], 4e-4))
    upright = [axes(world, moment.state)[2, 2] for moment in moments[::50]]
    assert upright[0] > 0.99 and upright[-1] < -0.9
    rise = moments[-1].state.q[2] - low * upright[-1] - (q[2] - low * np.cos(0.1))
    assert rise > 1.8 * low  # the centre of mass has climbed
    assert np.max(np.diff(energies)) < 1e-6 * energies[0]


def elastic_ball(surface, gravity=9.81, mass=1.0):
    inertia = ps.Inertia(mass, (0, 0, 0), np.eye(3) * 0.4 * mass * 0.01)
    return on_the_floor(inertia, shape(ps.Sphere(0.1)), surface, gravity, ps.Prismatic(axis=(0, 0, 1)))


def test_errors_fall_at_the_methods_order():
    """A ball that swings inside the margin: first order by steps of one length, fifth extrapolated."""
    world = elastic_ball(Surface(damping=0.0, strength=15.0))
    start = world.start([0.1012], [0.0])

    def long(count):
        session = world.session()
        session.load(start)
        steps = Extrapolation(session, 1e3, 0.02 / count, rows=(5, 5))
        steps.begin(0.0, 0.02 / count)
        made = 0
        while steps.numbers[TIME] < 0.02:
            steps.advance(0.02, each=False)
            made += steps.steps_made
        assert made == count
        return session.state().q[0]

    exact = long(160)
    errors = [abs(long(count) - exact) for count in (10, 20, 40)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 4.5)
    ends = [list(free(world).fixed(start, 0.0, [0.02], step))[-1].state.q[0] for step in (4e-5, 2e-5)]
    assert np.log2(abs(ends[0] - exact) / abs(ends[1] - exact)) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_bounces_keep_more_energy_than_the_best_of_simbenchmark():
    known = KNOWN["simbenchmark"]["bouncing"]
    world = elastic_ball(Surface(restitution=1.0, friction=0.0, margin=1e-3, strength=1e6), mass=known["mass"])
    motion = Motion(world, lambda t, q, v: np.zeros(1), rtol=1e-10, atol=1e-13)
    whole = known["mass"] * known["gravity"] * known["height"]
    samples = np.arange(1, 401) * known["duration"] / 400
    errors = energies_of(world, motion, motion.moments(world.start([known["height"]], [0.0]), 0.0, samples))[1] - whole
    assert np.max(errors) < 1e-9 * whole
    assert known["balls"] ** 2 * np.mean(np.square(errors)) < known["best_mean_squared_energy_error"]


def test_a_thin_hard_barrier_holds_at_steps_of_4_ms():
    world = elastic_ball(Surface(margin=5e-4, damping=200.0), mass=2.0)
    moments = list(free(world).fixed(world.start([0.2], [-3.0]), 0.0, [0.4], 4e-3))
    assert 0.0 < min(moment.step.nearest for moment in moments) < 5e-4
    force = moments[-1].step.places_in(world).normal[0]
    assert force == pytest.approx(2 * 9.81, rel=1e-6) and abs(moments[-1].state.v[0]) < 1e-9


@pytest.mark.parametrize("step", (1e-3, 4e-3))
def test_a_box_that_falls_on_a_corner_loses_energy_in_every_step(step):
    inertia = ps.Inertia(2.0, (0, 0, 0), np.eye(3) * 0.02)
    world = on_the_floor(inertia, shape(ps.Box((0.3, 0.2, 0.1))), Surface(friction=0.4))
    start = world.start([0, 0, 0.4, 0.3, 0.2, 0.1, np.sqrt(1 - 0.14)], [1.0, 2.0, 0.5, 0.5, 0, 0])
    motion = free(world)
    moments, energies = energies_of(world, motion, motion.fixed(start, 0.0, [0.8], step))
    assert np.max(np.diff(energies)) < 1e-14 * energies[0]  # in flight it is kept
    assert energies[-1] < 0.4 * energies[0] and min(moment.step.nearest for moment in moments) > 0.0


def test_every_pair_but_neighbours_may_touch():
    world = elastic_ball(Surface())
    assert not len(world_of(world.model).pairs)  # joined by one joint
