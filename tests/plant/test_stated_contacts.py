"""Contact laws that are stated pair by pair: WD89's barrier in newtons, soft fingers, and the law as it is printed."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from phistar.plant.engine import Engine
from tests.plants import heights, plant_of, run


def balls(surface, height, gravity=(0.0, 0.0, -9.81), count=1):
    places = [(0.3 * i, 0.0, height) for i in range(count)]
    plant = plant_of([ps.Sphere(0.1)] * count, places, gravity=gravity)
    plant.contact("b0", "world", surface)
    return plant


def test_a_ball_rests_where_the_stated_barrier_carries_its_weight():
    """K_p(ε − d)/d = mg, whatever masses and sizes are; the other ball keeps its material's law."""
    plant = balls(ps.Surface(margin=2e-3, strength=15.0, damping=200.0), 0.1015, count=2)
    end = run(plant, 800)[-1]
    own, other = heights(plant, end) - 0.1
    assert own == pytest.approx(2e-3 / (1 + 9.81 / 15.0), rel=1e-6)
    assert abs(own - other) > 1e-4 and np.abs(end.v).max() < 1e-8


def test_what_moves_slowly_follows_the_stated_law_at_any_step():
    """A ball that comes at 20 mm/s: K_p(ε − d)/d − K_d ḋ as an ordinary differential equation, by scipy."""
    from scipy.integrate import solve_ivp

    def motion(t, x):
        gap, rate = x
        inside = max(2e-3 - gap, 0.0)
        force = 15.0 * inside / gap - 200.0 * min(inside / 5e-4, 1.0) * rate
        return rate, max(force, 0.0)

    found = solve_ivp(motion, (0.0, 0.3), (2.2e-3, -0.02), rtol=1e-9, atol=1e-12)
    plant = balls(ps.Surface(margin=2e-3, strength=15.0, damping=200.0), 0.1022, gravity=(0.0, 0.0, 0.0))
    v = np.zeros(6)
    v[5] = -0.02
    errors = []
    for h in (1e-3, 2.5e-4):
        end = run(plant, round(0.3 / h), h, plant.state(v=v))[-1]
        errors.append(abs(end.v[5] - found.y[1, -1]))
    assert errors[0] < 2e-3 and errors[1] < 0.4 * errors[0]


def test_a_soft_finger_stops_a_spinning_ball_and_a_hard_one_does_not():
    """μ m g r acts about the normal: ω falls at μ m g r/J until it rests."""
    spin = np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    height = 0.1 + 2e-3 / (1 + 9.81 / 15.0)
    for patch, after in ((0.0, 2.0), (0.01, 2.0 - 0.5 * 9.81 * 0.01 / 0.004 * 0.1), (0.05, 0.0)):
        plant = balls(ps.Surface(friction=0.5, patch=patch), height)
        end = run(plant, 200, 5e-4, plant.state(v=spin))[-1]
        assert end.v[2] == pytest.approx(after, abs=5e-3)  # bristles bend first


def test_the_law_as_printed_pulls_on_what_leaves():
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    ends = []
    for pulls in (False, True):
        plant = balls(ps.Surface(damping=200.0, pulls=pulls), 0.1018, gravity=(0.0, 0.0, 0.0))
        ends.append(run(plant, 20, 1e-4, plant.state(v=v))[-1].v[5])
    assert ends[0] >= 0.1 and ends[1] < 0.08


def test_a_soft_finger_turns_in_contacts_sensors_and_joint_forces_as_in_the_step():
    plant = balls(ps.Surface(friction=0.5, patch=0.01), 0.1 + 2e-3 / (1 + 9.81 / 15.0))
    plant.sense("contact_force", "b0", name="felt")
    made = ps.simulate(plant, 0.1, v0=[0.0, 0.0, 2.0, 0.0, 0.0, 0.0], step=5e-4)
    turning = 0.004 * np.diff(made.v[:, 2])[100] / 5e-4  # J dω/dt
    moment = made.contacts.moment[101].sum(axis=0)
    assert moment == pytest.approx([0.0, 0.0, -0.5 * 9.81 * 0.01], rel=1e-3) and moment[2] == pytest.approx(turning)
    assert made.signals["sensed/felt"][101, 2] == pytest.approx(turning)
    assert made.contact_torques[101, 2] == pytest.approx(turning)


def test_a_surface_that_pulls_has_a_normal_force_below_zero():
    plant = balls(ps.Surface(damping=200.0, pulls=True), 0.1018, gravity=(0.0, 0.0, 0.0))
    made = ps.simulate(plant, 2e-3, v0=[0.0, 0.0, 0.0, 0.0, 0.0, 0.1], step=1e-4)
    pulled = np.diff(made.v[:, 5])[:5] / 1e-4
    assert (pulled < 0.0).all()
    np.testing.assert_allclose(made.contacts.normal[1:6, 0], pulled, rtol=1e-9)
    np.testing.assert_allclose(made.contacts.force[1:6, 0, 2], pulled, rtol=1e-9)


def test_a_restitution_of_zero_does_not_bounce():
    made = ps.simulate(balls(ps.Surface(restitution=0.0), 0.2), 0.5)
    landed = np.flatnonzero(made.contacts.normal[:, 0] > 0.0)[0]
    assert made.q[landed:, 2].max() < 0.1025 and abs(made.v[-1, 5]) < 1e-3


def test_the_books_of_a_step_close():
    """Energy changes by work less what the method loses, and what floats by impulses from outside."""
    plant = balls(ps.Surface(friction=0.5, patch=0.01), 0.15)
    engine = Engine(plant.system)
    engine.counts[c.TELLING] = 1
    engine.load(plant.state().q, np.array([0.3, 2.0, 1.0, 0.5, 0.1, -0.4]))

    def account():
        q, v = engine.q.copy(), engine.v.copy()
        energy = ps.kinetic_energy(plant.model, q, v) + ps.potential_energy(plant.model, q)
        return float(energy), ps.momentum(plant.model, q, v)

    met = 0
    for _ in range(200):
        before = account()
        engine.step(2e-3)
        after = account()
        work, loss = engine.numbers[[c.WORK, c.LOSS]]
        assert after[0] - before[0] == pytest.approx(work - loss, abs=3e-7) and loss >= -1e-12
        outside = engine.numbers[c.OUTSIDE : c.OUTSIDE + 6]
        np.testing.assert_allclose(after[1] - before[1], outside, atol=1e-12)
        met += int(engine.counts[c.MET])
    assert met > 50


def test_two_links_of_one_arm_push_on_each_other():
    """The inner forces of a tree: with nothing else, what floats keeps its momentum."""
    builder = ps.ModelBuilder("arm", gravity=(0, 0, 0))
    shape = [ps.Geometry(ps.Sphere(0.1), role="collision")]
    inertia = ps.Inertia(1.0, (0, 0, 0), np.eye(3) * 4e-3)
    builder.body("base", parent="world", joint=ps.Free(), inertia=inertia, geometry=shape)
    for name, x in (("one", 0.0), ("two", 0.6)):
        builder.body(
            name, parent="base", joint=ps.Prismatic((1, 0, 0)), inertia=inertia, geometry=shape,
            placement=ps.Pose(xyz=(x + 0.3, 0, 0)),
        )  # fmt: skip
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(builder.build(), "arm")
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0])
    states = run(plant, 300, 1e-3, plant.state(v=v))
    apart = [state.q[8] - state.q[7] + 0.6 for state in states]
    assert min(apart) > 0.2 and states[-1].v[7] - states[-1].v[6] > -1e-9
    momenta = [ps.momentum(plant.model, state.q, state.v) for state in (states[0], states[-1])]
    np.testing.assert_allclose(momenta[1], momenta[0], atol=1e-12)
