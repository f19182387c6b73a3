"""A free-flying robot waves its arms: the base turns against them, and the momentum stays zero (RJ2W)."""

import numpy as np

import phistar as ps

FILM = {"speed": 1.5}


def motion() -> ps.Trajectory:
    model = ps.load("freeflyer")
    t, count = np.linspace(0.0, 9.0, 451), model.nv - 6
    phase = np.linspace(0.0, 2.0, count)
    wave = 0.7 * np.sin(2 * np.pi * t[:, None] / 4.5 + phase) - 0.7 * np.sin(phase)
    rate = 0.7 * 2 * np.pi / 4.5 * np.cos(2 * np.pi * t[:, None] / 4.5 + phase)
    q = np.tile(model.neutral(), (len(t), 1))
    v = np.zeros((len(t), model.nv))
    for k in range(len(t) - 1):  # the base's twist is what keeps the momentum zero
        q[k, 7:] = wave[k]
        joints = np.concatenate([np.zeros(6), rate[k]])
        mass = ps.mass_matrix(model, q[k])
        v[k] = joints
        v[k, :6] = -np.linalg.solve(mass[:6, :6], mass[:6] @ joints)
        q[k + 1] = model.integrate(q[k], (t[k + 1] - t[k]) * v[k])
    return ps.Trajectory(model, t, q, v, name="flyer")
