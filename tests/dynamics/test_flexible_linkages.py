"""A slider-crank and a four-bar with a rod that bends, beside Exudyn's absolute nodal coordinates."""

import numpy as np
import pytest

import phistar as ps
from phistar.view.bent_surfaces import node_places

CRANK, ROD, ROCKER, MASS = 0.15, 0.3, 0.25, 0.05
SPEED, RISE, START = 100.0, 0.02, 0.5
TIMES = (0.02, 0.03, 0.04, 0.05, 0.06)
PIN = ps.Revolute(axis=(0, 0, 1))
FLYWHEEL = 1e5  # kg m²: the crank turns as it is pushed, whatever the rod does
STEP = 2e-5
# The far pin and the rod's middle by Exudyn 1.13.6, sixteen cable elements: benchmarks/multibody/exudyn_linkages.py.
EXUDYN = {
    "slider-crank": [
        (0.270496, 0.0, 0.142411, 0.078049),
        (0.166072, 0.0, 0.023154, 0.045541),
        (0.154856, 0.0, 0.007465, -0.027837),
        (0.230088, 0.0, 0.09969, -0.074131),
        (0.386899, 0.0, 0.247908, -0.056388),
    ],
    "four-bar": [
        (0.293172, 0.249907, 0.150361, 0.204072),
        (0.15676, 0.204896, 0.017037, 0.150351),
        (0.091359, 0.137728, -0.025855, 0.044136),
        (0.08604, 0.12931, 0.025847, -0.008079),
        (0.140167, 0.192232, 0.123296, 0.043193),
    ],
}


def linkage(kind, modes=4, elastic=True):
    """A crank that is driven, a rod that bends in the plane, and a slider, or a rocker with its mass at its end."""
    b = ps.ModelBuilder(kind, gravity=(0, 0, 0))
    rod = ps.beam(ROD, EI=(4.0, 4e6), mass_per_length=0.2, modes=modes)
    b.body("crank", joint=PIN, inertia=ps.Inertia(0.1, (0, 0, 0), FLYWHEEL * np.eye(3)))
    b.body("rod", "crank", PIN, ps.Pose(xyz=(CRANK, 0, 0)), rod if elastic else rod.rigid)
    if kind == "slider-crank":
        b.body("slider", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(MASS, (0, 0, 0), np.zeros((3, 3))))
        b.frame("far", "slider")
    else:
        load = ps.Inertia(MASS, (ROCKER, 0, 0), np.zeros((3, 3)))
        b.body("rocker", joint=PIN, placement=ps.Pose(xyz=(ROD, 0, 0)), inertia=load)
        b.frame("far", "rocker", ps.Pose(xyz=(ROCKER, 0, 0)))
    if not elastic:
        b.frame("rod.tip", "rod", ps.Pose(xyz=(ROD, 0, 0)))
    b.loop("pin", "rod.tip", "far", joint=PIN)
    return b.build()


def start(model):
    q = model.neutral()
    q[0], q[1] = START, -1.0 if "slider" in model.body_indices else 0.3
    q[-1] = 0.4 if "slider" in model.body_indices else 1.9
    modes = model.bodies[1].mode_q_slice
    rigid = linkage(model.name, elastic=False)
    closed = ps.assemble(rigid, np.delete(q, range(modes.start, modes.stop)), locked=["crank"])
    q[:2], q[-1] = closed[:2], closed[2]
    return q


def pushes(model, count):
    """The crank's torque in each step: its rate rises by 3τ² − 2τ³."""
    tau = np.minimum((np.arange(count) + 0.5) * STEP / RISE, 1.0)
    forces = np.zeros((count, model.nv))
    forces[:, 0] = FLYWHEEL * SPEED / RISE * 6.0 * (tau - tau * tau)
    return forces


def places(model, q):
    """Far pin and middle of the rod, (4,)."""
    body = model.bodies[1]
    nodes, _ = node_places(body.flexible, q[body.mode_q_slice])
    along = body.flexible.nodes[:, 0]
    order = np.argsort(along)
    middle = [np.interp(0.5 * ROD, along[order], nodes[order, i]) for i in range(3)]
    pose = ps.forward_kinematics(model.tree, q, "rod")
    return np.concatenate(
        [ps.forward_kinematics(model.tree, q, "far")[:2, 3], (pose[:3, :3] @ middle + pose[:3, 3])[:2]]
    )


@pytest.mark.parametrize("kind", EXUDYN)
def test_it_is_exudyns_motion_to_a_thousandth_of_the_rods_length_at_four_modes(kind):
    model = linkage(kind)
    count = round(TIMES[-1] / STEP)
    run = ps.rollout(model, start(model), np.zeros(model.nv), pushes(model, count), dt=STEP)
    seen = run.q[[round(t / STEP) for t in TIMES]]
    found = np.array([places(model, q) for q in seen])
    assert np.abs(found - EXUDYN[kind]).max() < 1e-3 * ROD
    chord = 0.5 * (found[:, :2] + CRANK * np.stack([np.cos(seen[:, 0]), np.sin(seen[:, 0])], axis=-1))
    assert np.linalg.norm(found[:, 2:] - chord, axis=-1).max() > 3e-3  # ten times what is compared
