"""An acrobot swings up with one motor at its elbow: optimal control finds the motion."""

import numpy as np

import phistar as ps

FILM = {"speed": 1.0}


def acrobot() -> ps.Model:
    rod = ps.Inertia(1.0, (0, 0, -0.5), np.diag([1 / 12, 1 / 12, 1e-3]))
    b, hinge = ps.ModelBuilder("acrobot"), ps.Revolute(axis=(0, 1, 0))
    b.geometry("world", ps.Geometry(ps.Box((0.12, 0.5, 0.12)), ps.Pose(xyz=(0, 0.3, 0)), color=(0.3, 0.33, 0.38, 1)))
    parent, place = "world", ps.Pose()
    for name, color in (("upper", (0.25, 0.5, 0.75, 1.0)), ("lower", (0.92, 0.6, 0.2, 1.0))):
        bar = ps.Geometry(ps.Capsule(0.05, 0.9), ps.Pose(xyz=(0, 0, -0.5)), color=color)
        b.body(name, parent, hinge, place, rod, [bar])
        parent, place = name, ps.Pose(xyz=(0, 0, -1.0))
    return b.build()


def motion() -> ps.Trajectory:
    model, o, upright = acrobot(), ps.optimize, [np.pi, 0.0]
    goal = [o.joint_position(upright, 1e3), o.joint_velocity(1e2)]
    cost = [o.control(0.1), o.joint_position(upright, 0.1)]
    found = o.problem(model, [0.0, 0.0], dt=0.02, steps=200, actuated=["lower"], running=cost, terminal=goal)
    plan = found.solve(iterations=500, tolerance=1e-7)
    return ps.Trajectory(model, np.linspace(0.0, 4.0, len(plan.q)), plan.q, plan.v, name="swing_up")
