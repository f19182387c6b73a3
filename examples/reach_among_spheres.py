"""Reach past two spheres: a terminal pose as a cost, the spheres as constraints, joint forces within bounds."""

import numpy as np

import phistar as ps

arm, o = ps.load("puma560"), ps.optimize
start, goal = np.array([0.0, 0.6, -0.2, 0.0, 0.5, 0.0]), np.array([1.4, 0.6, -0.2, 0.3, 0.5, 0.2])
target = ps.forward_kinematics(arm, goal, "tool")
way = ps.forward_kinematics(arm, np.linspace(start, goal, 5), "tool")[:, :3, 3]
spheres = [(way[2] - (0.0, 0.0, 0.05), 0.15), (way[3] + (0.0, 0.0, 0.1), 0.08)]

given = {"dt": 0.02, "steps": 60, "running": [o.control(1e-5), o.joint_velocity(1e-2)]}
given["terminal"] = [o.frame_pose("tool", target, 100.0), o.joint_velocity(1.0)]
straight = o.problem(arm, start, **given).solve()
obstacles = [o.outside_sphere("tool", center, radius) for center, radius in spheres]
found = o.problem(arm, start, constraints=obstacles, **given).solve(straight.q, straight.v, straight.u, iterations=600)

for name, motion in (("free", straight), ("among spheres", found)):
    tool = ps.forward_kinematics(arm, motion.q, "tool")[:, :3, 3]
    gaps = [np.linalg.norm(tool - center, axis=-1).min() - radius for center, radius in spheres]
    end = np.linalg.norm(tool[-1] - target[:3, 3])
    print(f"{name}: cost {motion.cost:.4f}, {100 * min(gaps):+.1f} cm from the nearest sphere, {1e3 * end:.1f} mm off")
print(found.reason)
