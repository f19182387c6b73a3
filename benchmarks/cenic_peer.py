"""Drake's side of benchmarks/cenic.py, run by an interpreter that has drake (1.50 or later).

    python benchmarks/cenic_peer.py BALLS|quadruped ACCURACY

Prints one JSON line: seconds (the least of several runs: `steps`, of AdvanceTo alone, and `whole`, from the built
diagram to the places), steps, and the places of the bodies every 50 ms, (T, n, 3).
"""

import json
import sys
import time

import numpy as np
import pydrake.multibody.cenic  # noqa: F401  # pyright: ignore  # makes the scheme known
from pydrake.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties, Sphere  # pyright: ignore
from pydrake.math import RigidTransform  # pyright: ignore
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction  # pyright: ignore
from pydrake.multibody.tree import (  # pyright: ignore
    FixedOffsetFrame,
    RevoluteJoint,
    RevoluteSpring,
    RotationalInertia,
    SpatialInertia,
    UnitInertia,
)
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator  # pyright: ignore
from pydrake.systems.framework import DiagramBuilder  # pyright: ignore

scene, accuracy = sys.argv[1], float(sys.argv[2])
RADIUS, WIDE, SAMPLE, DURATION = 0.1, 5, 0.05, 1.0

builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.0)


def surface(friction):
    made = ProximityProperties()
    friction = CoulombFriction(friction, friction)
    AddContactMaterial(dissipation=20.0, point_stiffness=1e5, friction=friction, properties=made)
    return made


def rigid(name, mass, center, moments):
    """A body of principal moments (about its centre of mass)."""
    about = RotationalInertia(*moments).ShiftFromCenterOfMass(mass, -np.array(center, dtype=float))
    unit = UnitInertia(*(about.get_moments() / mass), *(about.get_products() / mass))
    return plant.AddRigidBody(name, SpatialInertia(mass, np.array(center, dtype=float), unit))


def add_balls(count):
    made = []
    for i in range(count):
        ball = plant.AddRigidBody(f"b{i}", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
        plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(RADIUS), f"s{i}", surface(0.5))
        made.append(ball)
    return made


def add_leg(base, name, x, y):
    side = np.sign(y) * 0.06
    parts = [
        ("hip", (x, y, 0), (1, 0, 0), 1.4, (0.05, 0, 0), (0.002, 0.002, 0.002)),
        ("thigh", (0.06, side, 0), (0, 1, 0), 1.6, (0, 0, -0.12), (0.01, 0.01, 0.003)),
        ("shank", (0, 0, -0.25), (0, 1, 0), 0.4, (0, 0, -0.12), (0.003, 0.003, 0.0005)),
    ]
    for part, place, axis, mass, center, moments in parts:
        body = rigid(f"{name}_{part}", mass, center, moments)
        place = RigidTransform(np.array(place, dtype=float))
        at = plant.AddFrame(FixedOffsetFrame(f"{name}_{part}_at", base.body_frame(), place))
        joint = RevoluteJoint(f"{name}_{part}_joint", at, body.body_frame(), np.array(axis, dtype=float), damping=5.0)
        joint = plant.AddJoint(joint)
        plant.AddForceElement(RevoluteSpring(joint, 0.0, 150.0))
        base = body
    plant.RegisterCollisionGeometry(base, RigidTransform([0, 0, -0.28]), Sphere(0.03), f"{name}_foot", surface(0.8))
    return base


def add_quadruped():
    base = rigid("base", 16.0, (0, 0, 0), (0.25, 0.7, 0.8))
    plant.RegisterCollisionGeometry(base, RigidTransform(), Box(0.52, 0.28, 0.2), "trunk", surface(0.8))
    ends = [("lf", 0.28, 0.12), ("rf", 0.28, -0.12), ("lh", -0.28, 0.12), ("rh", -0.28, -0.12)]
    return [base, *(add_leg(base, *end) for end in ends)]


floor = surface(0.5 if scene != "quadruped" else 0.8)
plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "floor", floor)
bodies = add_quadruped() if scene == "quadruped" else add_balls(int(scene))
plant.Finalize()
diagram = builder.Build()


def start(own):
    if scene == "quadruped":
        plant.SetFreeBodyPose(own, bodies[0], RigidTransform([0, 0, 0.57]))
        return
    count = len(bodies)
    for i, ball in enumerate(bodies):
        plant.SetFreeBodyPose(own, ball, RigidTransform([0.5 * (i % WIDE), 0.5 * (i // WIDE), 0.2]))
    speed = plant.GetVelocities(own).copy()
    speed[3::6] = 0.2 + 0.3 * np.arange(count) / count
    plant.SetVelocities(own, speed)


def run():
    whole = time.process_time()
    simulator = Simulator(diagram)
    own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    start(own)
    ResetIntegratorFromFlags(simulator, "cenic", SAMPLE).set_target_accuracy(accuracy)
    simulator.Initialize()
    places, spent = [], 0.0
    for k in range(round(DURATION / SAMPLE) + 1):
        if k:
            began = time.process_time()
            simulator.AdvanceTo(k * SAMPLE)
            spent += time.process_time() - began
        places.append([plant.EvalBodyPoseInWorld(own, body).translation().tolist() for body in bodies])
    return spent, time.process_time() - whole, simulator.get_integrator().get_num_steps_taken(), places


runs = [run() for _ in range(9)]
found = {"steps_seconds": min(each[0] for each in runs), "whole_seconds": min(each[1] for each in runs)}
print(json.dumps(found | {"steps": runs[0][2], "places": np.array(runs[0][3]).round(12).tolist()}))
