"""A beam that bends, dropped on two posts: it strikes, its ends swing down, and it rings until it lies.

Prints how far its tip is from twenty rigid segments with springs on the same posts, and how it lies in the end.
"""

import numpy as np

import phistar as ps

LENGTH, STIFFNESS, POSTS = 1.0, 30.0, (0.2, 0.8)
BALLS = np.linspace(0.0, LENGTH, 21)  # where it collides: each ball moves with the node nearest to it
SMOOTH = ps.Material(friction=0.0)
NOTHING = ps.Inertia(1e-6, (0, 0, 0), 1e-9 * np.eye(3))


def balls(places):
    """Collision shapes along x."""
    return [ps.Geometry(ps.Sphere(0.01), ps.Pose((x, 0, 0)), role="collision") for x in places]


def bending(modes=4, damping=0.0):
    """The beam by its modes, on a slide along z and a hinge: it falls and turns in the plane."""
    b = ps.ModelBuilder("beam", gravity=(0, 0, -9.81))
    beam = ps.beam(LENGTH, (1e6, STIFFNESS), 1.0, modes=modes, root="free", damping=damping)
    b.body("slide", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=NOTHING)
    b.body("beam", "slide", ps.Revolute(axis=(0, 1, 0)), inertia=beam, geometry=balls(BALLS))
    b.frame("tip", "beam.tip")
    return b.build()


def segments(count=20):
    """The same beam as rigid segments with springs between them."""
    b, step = ps.ModelBuilder("beam", gravity=(0, 0, -9.81)), LENGTH / count
    b.body("slide", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=NOTHING)
    parent, owner = "slide", np.minimum((BALLS / step + 1e-9).astype(int), count - 1)
    for k in range(count):
        joint = ps.Revolute(axis=(0, 1, 0), stiffness=STIFFNESS / step if k else 0.0)
        inertia = ps.Inertia(step, (step / 2, 0, 0), np.diag([1e-9, step**3 / 12, step**3 / 12]))
        own = balls(BALLS[owner == k] - k * step)
        b.body(f"segment{k}", parent, joint, ps.Pose((step if k else 0.0, 0, 0)), inertia, own)
        parent = f"segment{k}"
    b.frame("tip", parent, ps.Pose((step, 0, 0)))
    return b.build()


def dropped(model, duration, step=2e-4):
    """Its plant, ten centimetres above the posts' axes, and the motion there."""
    plant = ps.Plant()
    plant.add(model, "beam", at=ps.Pose((0, 0, 0.1)), material=SMOOTH)
    for x in POSTS:
        place = ps.Pose((x, 0, 0), rpy=(np.pi / 2, 0, 0))
        plant.add_shape(ps.Capsule(0.02, 0.4), at=place, material=SMOOTH, name=f"post at {x}")
    return plant, ps.simulate(plant, duration, step=step)


def tip(plant, run):
    """The height of the tip over time."""
    return ps.forward_kinematics(plant.model, run.q, "beam/tip")[:, 2, 3]


if __name__ == "__main__":
    heights = [tip(*dropped(model, 0.15)) for model in (bending(), segments())]
    apart = np.abs(heights[0] - heights[1]).max()
    print(f"until the first rebound the tip is within {1e3 * apart:.1f} mm of twenty segments")
    plant, run = dropped(bending(damping=0.1), 3.0, step=1e-3)
    q, still = run.q[-1], np.zeros(plant.model.nv)
    print(
        f"after 3 s it lies: rates below {np.abs(run.v[-1]).max():.0e}, its tip at {1e3 * tip(plant, run)[-1]:.1f} mm"
    )
    held = plant.contact_torques(run)[-1] + ps.joint_friction(plant.model, q, still)
    print(f"  weight less contacts and bending: {np.abs(ps.gravity_load(plant.model, q) - held).max():.0e} N")
