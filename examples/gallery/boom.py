"""A boom of two beams that bend, on a free base: the shoulder pushes, the beams ring, momentum stays."""

import numpy as np

import phistar as ps

FILM = {"speed": 1.0}


def boom() -> ps.Model:
    beam = ps.beam(length=2.0, EI=(30.0, 45.0), mass_per_length=1.5, modes=4, axial_inertia=0.01, damping=0.005)
    b, z = ps.ModelBuilder("boom", gravity=(0, 0, 0)), ps.Revolute(axis=(0, 0, 1))
    bus = ps.Geometry(ps.Box((0.8, 0.7, 0.6)), color=(0.25, 0.42, 0.66, 1.0))
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(20.0, tensor=3.0 * np.eye(3)), geometry=[bus])
    b.body("upper", "base", z, ps.Pose(xyz=(0.4, 0, 0)), beam)
    b.body("fore", "upper.tip", z, inertia=beam)
    return b.build()


def motion() -> ps.Trajectory:
    model = boom()
    first = model.joint("upper").v_slice.start

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Forward for a second, back for a second, N m."""
        tau = np.zeros(model.nv)
        tau[first] = 4.0 if t < 1.0 else -4.0 if t < 2.0 else 0.0
        return tau

    return ps.simulate(model, model.neutral(), np.zeros(model.nv), 6.0, push, rtol=1e-8, t_eval=np.linspace(0, 6, 301))
