"""A Panda reaches past two spheres: a terminal pose as a cost, the spheres and joint limits as constraints, joint
forces within those of its motors."""

import numpy as np

import phistar as ps


def reaching_arm():
    """Robot, its tool, and where it starts and is to end."""
    from phistar.cli.benchmark.robots import available

    if available("panda"):
        still = [0.0, 0.0]  # the fingers
        start, goal = [-0.6, 0.2, 0.0, -1.8, 0.0, 2.0, 0.8, *still], [0.8, 0.3, 0.2, -1.6, 0.1, 2.0, 0.8, *still]
        return ps.load("panda").tree, "panda_hand_tcp", np.array(start), np.array(goal)
    print("pip install 'phistar[peers]' brings the Panda's file; a Puma reaches instead.")
    return ps.load("puma560"), "tool", np.array([0, 0.6, -0.2, 0, 0.5, 0]), np.array([1.4, 0.6, -0.2, 0.3, 0.5, 0.2])


o = ps.optimize
arm, tool, start, goal = reaching_arm()
target = ps.forward_kinematics(arm, goal, tool)
way = ps.forward_kinematics(arm, np.linspace(start, goal, 5), tool)[:, :3, 3]
spheres = [(way[2] - (0.0, 0.0, 0.05), 0.15), (way[3] + (0.0, 0.0, 0.1), 0.08)]

given = {"dt": 0.02, "steps": 60, "running": [o.control(1e-5), o.joint_velocity(1e-2)], "limits": "effort"}
given["terminal"] = [o.frame_pose(tool, target, 100.0), o.joint_velocity(1.0)]
straight = o.problem(arm, start, **given).solve()
kept = [o.joint_limits(arm), *(o.outside_sphere(tool, center, radius) for center, radius in spheres)]
found = o.problem(arm, start, constraints=kept, **given).solve(straight.q, straight.v, straight.u, iterations=600)

for name, motion in (("free", straight), ("among spheres", found)):
    places = ps.forward_kinematics(arm, motion.q, tool)[:, :3, 3]
    gaps = [np.linalg.norm(places - center, axis=-1).min() - radius for center, radius in spheres]
    end = np.linalg.norm(places[-1] - target[:3, 3])
    print(f"{name}: cost {motion.cost:.4f}, {100 * min(gaps):+.1f} cm from the nearest sphere, {1e3 * end:.1f} mm off")
print(found.reason)
