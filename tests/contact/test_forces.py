"""The forces of an implicit step satisfy the laws they are made of."""

from types import FunctionType

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.native import Arrays
from phistar.contact import forces, rows, solving, surface
from phistar.contact.forces import compiled_forces
from phistar.contact.pairs import all_pairs
from phistar.contact.surface import Surface, normal_force
from phistar.sim.world import World

pytest.importorskip("coal")
INPUTS = (
    "numbers",
    "table",
    "slots",
    "held",
    "parameters",
    "sides",
    "spans",
    "masks",
    "trees",
    "stops",
    "stop_surface",
)
INPUTS += ("dry", "q", "rates", "inverse", "screws", "momenta")


def two_links_and_a_ball(friction=0.5):
    """An arm with dry friction and limits whose last link a ball lies on, and the ball on the floor."""
    builder = ps.ModelBuilder("pushed", gravity=(0, 0, -9.81))
    builder.body("ground", "world", geometry=[ps.Geometry(ps.Plane(), name="floor", role="collision")])
    bar = ps.Geometry(ps.Capsule(0.05, 0.4), ps.Pose(xyz=(0, 0, 0.2)), role="collision")
    inertia = ps.Inertia(1.0, (0, 0, 0.2), np.diag([0.02, 0.02, 0.002]))
    limits = {"limits": (-1.0, 1.0), "friction": 0.3}
    builder.body("upper", "world", ps.Revolute(axis=(0, 1, 0), **limits), ps.Pose(xyz=(0, 0, 0.6)), inertia, [bar])
    builder.body("lower", "upper", ps.Revolute(axis=(0, 1, 0), **limits), ps.Pose(xyz=(0, 0, 0.4)), inertia, [bar])
    ball = ps.Inertia(0.5, (0, 0, 0), np.eye(3) * 0.4 * 0.5 * 0.01)
    own = ps.Geometry(ps.Sphere(0.1), role="collision")
    builder.body("ball", "world", ps.Free(), inertia=ball, geometry=[own])
    world = World(all_pairs(builder.build(), Surface(friction=friction, patch=0.01)))
    at, whole = 0.995, 0.995 + 0.2
    reach = 0.4 * np.array([np.sin(at), 0.0, np.cos(at)]) + 0.5515 * np.array([np.sin(whole), 0.0, np.cos(whole)])
    q = [at, 0.2, reach[0], 0.0, reach[2] + 0.6, 0, 0, 0, 1]
    return world, world.start(q, [0.1, -0.4, 0.1, 0.3, 2.0, -0.6, 0.2, 0.1])


def solved(world, state, tau, step, monkeypatch):
    """The inputs of the loops by name, and what they make of them."""
    gaps, kept = world.gaps(state, step), {}

    def recorded(*sizes):
        def call(*given):
            kept.update(zip(INPUTS, given, strict=True))
            return compiled_forces(*sizes)(*given)

        return call

    monkeypatch.setattr("phistar.sim.world.compiled_forces", recorded)
    made = world._solved(state, world.dynamics.free(state.q, state.v, tau, np.array([step])), step, gaps)
    monkeypatch.undo()
    return gaps, kept, made


def by_python(kept, sizes):
    """The same loops, run by Python."""
    names = {**vars(surface), **vars(rows), **vars(solving), **vars(forces), **sizes}
    for function in forces.FORCES:
        names[function.__name__] = FunctionType(function.__code__, names)
    nv, places, stops, slots = (sizes[name] for name in ("NV", "PLACES", "STOPS", "SLOTS"))
    normals, count = places + stops, 4 * places + stops
    two = {"table": 7, "held": 5, "parameters": 9, "sides": 2, "spans": 4, "masks": nv, "stops": 4, "dry": nv}
    two |= {"inverse": nv, "screws": 6, "momenta": 6}
    given = {name: x.reshape(-1, two[name]) if name in two else x for name, x in kept.items()}
    shapes = {"w": (nv,), "momenta_after": (1, 6), "held_after": (slots, 5), "forces": (places, 6), "pushes": (stops,)}
    shapes |= {"report": (2,), "rubs": (nv,), "stops_it": (nv,), "jacobian": (count, nv), "answers": (count, nv)}
    shapes |= {"axes": (places, 9), "surface": (normals, 9), "matrix": (normals, normals)}
    shapes |= {"factor": (normals, normals), "normals": (normals, 10), "grips": (places, 10)}
    arrays = Arrays(**given, **{name: np.zeros(shape) for name, shape in shapes.items()})
    names["implicit_forces"](arrays)
    return arrays


def test_compiled_forces_are_those_of_the_loops_as_they_stand(monkeypatch):
    world, state = two_links_and_a_ball()
    tau = np.linspace(-1.0, 1.0, world.model.nv)
    gaps, kept, made = solved(world, state, tau, 1e-3, monkeypatch)
    sizes = {"NV": 8, "PLACES": 4, "STOPS": 4, "SLOTS": world.pairs.slots, "ROOTS": 1}
    known = by_python(kept, sizes)
    assert len(gaps.slots) == 1 and made.forces[0, 2] > 0.0 and made.pushes.max() > 0.0
    for name in ("w", "momenta_after", "held_after", "pushes"):
        own = made[("w", "momenta_after", "held_after", "forces", "pushes").index(name)]
        np.testing.assert_allclose(own, getattr(known, name), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(made.forces[:1, :5], known.forces[:1, :5], rtol=1e-7)


def test_forces_obey_the_normal_law_coulombs_law_and_newtons_at_the_steps_end(monkeypatch):
    world, state = two_links_and_a_ball()
    step, tau = 1e-3, np.zeros(world.model.nv)
    gaps, _, made = solved(world, state, tau, step, monkeypatch)
    force, gap = made.forces[0, :4], made.forces[0, 4]
    parameters = type(world.parameters)(*(x[gaps.slot] for x in world.parameters))
    touch = made.held[gaps.slot[0], 4]
    law = normal_force(parameters, [gap], [(gap - gaps.distance[0]) / step], [touch])[0]
    assert force[2] == pytest.approx(law, rel=1e-9)
    assert np.hypot(*force[:2]) <= 0.5 * force[2] * (1 + 1e-9)
    after = state._replace(v=made.w)
    assert gap == pytest.approx(gaps.distance[0] + step * world.closing(after, gaps)[0], rel=1e-7)
    acceleration = (made.w - state.v) / step
    acceleration[5:] -= np.cross(state.v[2:5], state.v[5:])  # of the ball: w is in axes that stand, v̇ in its own
    left = ps.inverse_dynamics(
        world.model, state.q, state.v, acceleration, wrenches(world, state, gaps, force, made.axes[0])
    )
    np.testing.assert_allclose(left[2:], 0.0, atol=1e-8)
    dry = left[:2] - [made.pushes[0] - made.pushes[2], made.pushes[1] - made.pushes[3]]
    assert np.all(np.abs(dry) <= 0.3 + 1e-9)
    slides = np.abs(made.w[:2]) > 1e-6
    np.testing.assert_allclose(dry[slides], -0.3 * np.sign(made.w[:2][slides]), rtol=1e-8)
    assert slides.any() and made.pushes.max() > 0.0


def wrenches(world, state, gaps, force, axes):
    """What the place of contact does to its two bodies, [moment; force] at their origins."""
    basis, found = axes.reshape(3, 3).T, {}
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(basis[:, 2], gaps.normal[0])
    pair = world.pairs.slot_pair(gaps.slots[0])
    for site, way in ((pair.a, 1.0), (pair.b, -1.0)):
        name = world.model.bodies[site.body].name
        arm = gaps.point[0] - ps.forward_kinematics(world.model, state.q, name)[:3, 3]
        linear = way * basis @ force[:3]
        found[name] = np.concatenate([np.cross(arm, linear) + way * basis[:, 2] * force[3], linear])
    return found
