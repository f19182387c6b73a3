"""Drake's side of benchmarks/cenic.py, run by an interpreter that has drake (1.50 or later).

    python benchmarks/cenic_peer.py BALLS ACCURACY

Prints one JSON line: seconds (the least of several runs), and the places of the balls every 50 ms, (T, n, 3).
"""

import json
import sys
import time

import numpy as np
import pydrake.multibody.cenic  # noqa: F401  # pyright: ignore  # makes the scheme known
from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere  # pyright: ignore
from pydrake.math import RigidTransform  # pyright: ignore
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction  # pyright: ignore
from pydrake.multibody.tree import SpatialInertia  # pyright: ignore
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator  # pyright: ignore
from pydrake.systems.framework import DiagramBuilder  # pyright: ignore

count, accuracy = int(sys.argv[1]), float(sys.argv[2])
RADIUS, WIDE, SAMPLE, DURATION = 0.1, 5, 0.05, 1.0

builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
surface = ProximityProperties()
AddContactMaterial(dissipation=20.0, point_stiffness=1e5, friction=CoulombFriction(0.5, 0.5), properties=surface)
plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "floor", surface)
balls = []
for i in range(count):
    ball = plant.AddRigidBody(f"b{i}", SpatialInertia.SolidSphereWithMass(1.0, RADIUS))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(RADIUS), f"s{i}", surface)
    balls.append(ball)
plant.Finalize()
diagram = builder.Build()


def run():
    simulator = Simulator(diagram)
    context = simulator.get_mutable_context()
    own = plant.GetMyMutableContextFromRoot(context)
    for i, ball in enumerate(balls):
        plant.SetFreeBodyPose(own, ball, RigidTransform([0.5 * (i % WIDE), 0.5 * (i // WIDE), 0.2]))
        speed = plant.GetVelocities(own).copy()
        speed[6 * i + 3] = 0.2 + 0.3 * i / count
        plant.SetVelocities(own, speed)
    ResetIntegratorFromFlags(simulator, "cenic", SAMPLE).set_target_accuracy(accuracy)
    simulator.Initialize()
    places, spent = [], 0.0
    for k in range(round(DURATION / SAMPLE) + 1):
        if k:
            began = time.process_time()
            simulator.AdvanceTo(k * SAMPLE)
            spent += time.process_time() - began
        places.append([plant.EvalBodyPoseInWorld(own, ball).translation().tolist() for ball in balls])
    return spent, places


runs = [run() for _ in range(3)]
print(json.dumps({"seconds": min(each[0] for each in runs), "places": np.array(runs[0][1]).round(12).tolist()}))
