"""Free-flying robots that the tests of this folder share."""

from functools import cache

import numpy as np

import phistar as ps


@cache
def nine_links() -> ps.Model:
    return ps.load("rj2w_tree")


@cache
def with_wheels() -> ps.Model:
    """A bus with three reaction wheels and a three-joint arm; one wheel's motor is geared and spins a rotor."""
    builder = ps.ModelBuilder("with_wheels", gravity=(0, 0, 0))
    builder.body("bus", joint=ps.Free(), inertia=ps.Inertia(50.0, (0.02, 0, 0.01), np.diag([8.0, 10.0, 9.0])))
    for i, axis in enumerate(np.eye(3)):
        wheel = ps.Inertia(1.5, (0, 0, 0), 0.02 * (np.eye(3) + np.outer(axis, axis)))
        builder.body(f"wheel{i}", parent="bus", joint=ps.Revolute(axis=axis), inertia=wheel)
    parent, axes = "bus", ((0, 0, 1), (0, 1, 0), (0, 1, 0))
    for i, axis in enumerate(axes):
        motor = {"gear_ratio": 20.0, "rotor_inertia": 1e-4, "gyroscopic": i == 0}
        link = ps.Inertia(4.0, (0.3, 0, 0), np.diag([0.02, 0.15, 0.15]))
        joint, place = ps.Revolute(axis=axis, **motor), ps.Pose(xyz=(0.6 if i else 0.5, 0, 0))
        builder.body(f"arm{i}", parent=parent, joint=joint, placement=place, inertia=link)
        parent = f"arm{i}"
    builder.frame("tool", "arm2", ps.Pose(xyz=(0.6, 0, 0)))
    return builder.build()


def state(model: ps.Model, seed: int = 0, shape: tuple[int, ...] = (3,)):
    rng = np.random.default_rng(seed)
    return model.random(rng, shape), rng.normal(size=(*shape, model.nv))
