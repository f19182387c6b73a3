"""A quadruped jumps: its feet stand on the ground, as loops to the world, until it takes off; in the air it pulls its
legs up, turns, and puts them down again. Optimal control finds both motions."""

import numpy as np

import phistar as ps

o = ps.optimize


def quadruped(feet=()):
    """A trunk on four legs of three joints; `feet` are places that hold them."""
    builder = ps.ModelBuilder("quadruped")
    builder.body("trunk", joint=ps.Free(), inertia=ps.Inertia(10.0, (0, 0, 0), np.diag([0.2, 0.4, 0.5])))
    hub, rod = ps.Inertia(0.3, (0, 0, 0), 2e-3 * np.eye(3)), ps.Inertia(0.5, (0, 0, -0.12), 4e-3 * np.eye(3))
    for k, (x, y) in enumerate(((0.3, 0.15), (0.3, -0.15), (-0.3, 0.15), (-0.3, -0.15))):
        swing, bend = ps.Revolute(axis=(1, 0, 0)), ps.Revolute(axis=(0, 1, 0))
        builder.body(f"hip{k}", "trunk", joint=swing, placement=ps.Pose(xyz=(x, y, 0)), inertia=hub)
        builder.body(f"thigh{k}", f"hip{k}", joint=bend, inertia=rod)
        builder.body(f"shank{k}", f"thigh{k}", joint=bend, placement=ps.Pose(xyz=(0, 0, -0.25)), inertia=rod)
        builder.frame(f"foot{k}", body=f"shank{k}", placement=ps.Pose(xyz=(0, 0, -0.25)))
    for k, place in enumerate(feet):
        builder.frame(f"ground{k}", body="world", placement=ps.Pose(xyz=tuple(place)))
        builder.loop(f"contact{k}", f"foot{k}", f"ground{k}", joint=ps.Spherical())
    return builder.build()


free = quadruped()
crouch = free.neutral()
for k in range(4):
    crouch[free.joint(f"thigh{k}").q_slice], crouch[free.joint(f"shank{k}").q_slice] = 0.9, -1.8
feet = [ps.forward_kinematics(free, crouch, f"foot{k}")[:3, 3] for k in range(4)]
standing = quadruped(feet)

# On the ground: from rest to 1.2 m/s upward in 0.16 s, in steps so short that feet hardly drift.
up = np.zeros(6)
up[5] = 1.2
push = o.problem(
    standing,
    crouch,
    dt=0.004,
    steps=40,
    running=[o.control(1e-3), o.joint_velocity(1e-2)],
    terminal=[o.frame_motion("trunk", [10.0] * 3 + [100.0] * 3, up), o.joint_velocity(1e-3)],
    passive=False,
).solve()
slid = [ps.forward_kinematics(free, push.q[-1], f"foot{k}")[:3, 3] - feet[k] for k in range(4)]
speed = ps.frame_velocity(free, push.q[-1], push.v[-1], "trunk")
print(f"push-off: {push.reason}; the trunk leaves at {speed[5]:.2f} m/s, feet move {1e3 * np.abs(slid).max():.1f} mm")

# In the air: the legs fold and stand again below a trunk that is level, while all falls as it must.
wanted, weight = crouch.copy(), np.ones(free.nv)
wanted[3:7] = [0.0, 0.0, 0.0, 1.0]
weight[3:6] = 0.0  # where it is in the world, nothing can change
flight = o.problem(
    free,
    push.q[-1],
    push.v[-1],
    dt=0.01,
    steps=24,
    running=[o.control(1e-4), o.joint_velocity(0.01 * weight)],
    terminal=[o.joint_position(wanted, 100.0 * weight), o.joint_velocity(weight)],
    passive=False,
).solve()
height = ps.center_of_mass(free, flight.q)[:, 2]
legs = np.abs(flight.q[-1, 7:] - crouch[7:]).max()
tilt = np.degrees(2.0 * np.linalg.norm(flight.q[-1, 3:6]))
print(f"flight: {flight.reason}; {100 * (height.max() - height[0]):.0f} cm up, legs ready to {legs:.3f} rad,", end=" ")
print(f"trunk level to {tilt:.1f}°")
