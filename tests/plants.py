"""Plants of free bodies and small trees for the tests of the step."""

import numpy as np

import phistar as ps
from phistar.model.geometry import Geometry


def body(shape, mass=1.0, moment=None, name="body"):
    """A model of one free body with one shape."""
    moment = 0.004 * mass if moment is None else moment
    builder = ps.ModelBuilder(name)
    inertia = ps.Inertia(mass, (0, 0, 0), np.eye(3) * moment)
    geometry = [Geometry(shape, ps.Pose(), name, role="collision")]
    builder.body(name, parent="world", joint=ps.Free(), inertia=inertia, geometry=geometry)
    return builder.build()


def plant_of(shapes, places, floor=True, gravity=(0, 0, -9.81), masses=None, **material):
    """Free bodies at places, above a floor."""
    plant, made = ps.Plant(gravity=gravity), ps.Material(**material)
    if floor:
        plant.add_shape(ps.Plane(), material=made)
    for number, (shape, place) in enumerate(zip(shapes, places, strict=True)):
        mass = 1.0 if masses is None else masses[number]
        plant.add(body(shape, mass), f"b{number}", at=ps.Pose(xyz=place), material=made)
    return plant


def run(plant, steps, h=0.002, state=None, command=None):
    """The states of some steps, the first included."""
    states = [plant.state() if state is None else state]
    for _ in range(steps):
        states.append(plant.step(states[-1], command, h))
    return states


def heights(plant, state):
    """z of every free body in the world."""
    return np.array([ps.forward_kinematics(plant.model, state.q, b.name)[2, 3] for b in plant.model.bodies])
