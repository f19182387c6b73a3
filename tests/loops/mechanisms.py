"""Mechanisms with loops that the tests share."""

import numpy as np

import phistar as ps

CUTS = [
    ps.Fixed(),
    ps.Revolute(axis=(1, 2, 2)),
    ps.Prismatic(axis=(0, 1, 0)),
    ps.Helical(axis=(0, 0.6, 0.8), pitch=0.3),
    ps.Universal(axis1=(1, 0, 0), axis2=(0.6, 0.8, 0)),
    ps.Cylindrical(axis=(2, 1, 2)),
    ps.Spherical(),
    ps.Planar(normal=(1, 0, 1)),
    ps.Distance(0.7),
]


def random_inertia(rng: np.random.Generator) -> ps.Inertia:
    turn, (x, y, z) = ps.Pose(rpy=rng.uniform(-3, 3, 3)).rotation, rng.uniform(0.02, 0.1, 3)
    tensor = turn @ np.diag([y + z, z + x, x + y]) @ turn.T
    return ps.Inertia(rng.uniform(0.5, 2.0), 0.2 * rng.standard_normal(3), 0.5 * (tensor + tensor.T))


def random_pose(rng: np.random.Generator) -> ps.Pose:
    return ps.Pose(xyz=0.4 * rng.standard_normal(3), rpy=rng.uniform(-1.5, 1.5, 3))


def two_arms(joint: object, seed: int = 0, links: int = 4, floating: bool = False, couplings: bool = False) -> ps.Model:
    """Two arms of mixed joints on a base, their tips joined by a cut joint; with couplings, two of those as well."""
    rng = np.random.default_rng(seed)
    kinds = [ps.Revolute(axis=(0, 0, 1)), ps.Spherical(), ps.Revolute(axis=(1, 1, 0), armature=0.1), ps.Prismatic()]
    b = ps.ModelBuilder("two arms", gravity=(0.3, -2.0, -9.0))
    b.body("base", joint=ps.Free() if floating else ps.Fixed(), inertia=random_inertia(rng))
    for arm in ("left", "right"):
        parent = "base"
        for k in range(links):
            b.body(f"{arm}{k}", parent, kinds[k % 4], random_pose(rng), random_inertia(rng))
            parent = f"{arm}{k}"
        b.frame(f"{arm} tip", parent, random_pose(rng))
    b.loop("closure", "left tip", "right tip", joint=joint)
    if couplings:
        b.loop("gear", "left0", "right0", joint=ps.Coupling((0.1, -0.7, 0.2, 0.05)))
        b.loop("stop", "right2", None, joint=ps.Coupling((0.3,)))
    return b.build()


def four_bar(lengths: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0), cut: object = None) -> ps.Model:
    """Crank, coupler and rocker in the x-y plane, ground last; rods of 1 kg, joined by a revolute cut joint."""
    crank, coupler, rocker, ground = lengths
    z = ps.Revolute(axis=(0, 0, 1))

    def rod(length: float) -> ps.Inertia:
        return ps.Inertia(1.0, (length / 2, 0, 0), np.diag([1e-4, length**2 / 12, length**2 / 12]))

    b = ps.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
    b.body("crank", joint=z, inertia=rod(crank))
    b.body("coupler", "crank", z, ps.Pose(xyz=(crank, 0, 0)), rod(coupler))
    b.body("rocker", joint=z, placement=ps.Pose(xyz=(ground, 0, 0)), inertia=rod(rocker))
    b.frame("coupler_end", "coupler", ps.Pose(xyz=(coupler, 0, 0)))
    b.frame("rocker_end", "rocker", ps.Pose(xyz=(rocker, 0, 0)))
    b.loop("closure", "coupler_end", "rocker_end", joint=cut or z)
    return b.build()
