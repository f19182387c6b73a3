"""A flexible pendulum as rigid segments with springs, in Pinocchio, beside a beam of a few modes.

    OPENBLAS_NUM_THREADS=1 python benchmarks/multibody/segments.py [SEGMENTS]      # 200 by default

One metre, one kilogram, EI = 20 N m², hinged at its root, falling from the horizontal. The segments' motion is taken by
the implicit midpoint rule with Pinocchio's derivatives of inverse dynamics; half as many segments give the order of
what is left, which is extrapolated.
"""

# pyright: reportMissingImports=false

import sys
import time

import numpy as np
import pinocchio as pin

import phistar as ps

LENGTH, EI, MASS = 1.0, 20.0, 1.0
TIMES = (0.2, 0.4, 0.6)
STEP = 5e-4


def segmented(count: int) -> tuple[pin.Model, np.ndarray]:
    """A chain of rods and the stiffness of the springs between them."""
    model, parent, size = pin.Model(), 0, LENGTH / count
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    mass = MASS / count
    inertia = pin.Inertia(mass, np.array([0.5 * size, 0, 0]), np.diag([1e-12, *(2 * (mass * size**2 / 12,))]))
    for k in range(count):
        place = pin.SE3(np.eye(3), np.array([size if k else 0.0, 0, 0]))
        parent = model.addJoint(parent, pin.JointModelRY(), place, f"j{k}")
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    springs = np.full(count, EI / size)
    springs[0] = 0.0  # the hinge
    return model, springs


def fallen(count: int) -> np.ndarray:
    """x and z of the tip at the times."""
    model, springs = segmented(count)
    data, found = model.createData(), []
    q, v = np.zeros(count), np.zeros(count)
    for step in range(round(TIMES[-1] / STEP)):
        a = np.zeros(count)
        for _ in range(20):
            middle, rate = q + 0.5 * STEP * (v + 0.5 * STEP * a), v + 0.5 * STEP * a
            pin.computeRNEADerivatives(model, data, middle, rate, a)
            mass = np.triu(data.M) + np.triu(data.M, 1).T
            slope = mass + 0.25 * STEP**2 * (data.dtau_dq + np.diag(springs)) + 0.5 * STEP * data.dtau_dv
            change = np.linalg.solve(slope, -(data.tau + springs * middle))
            a = a + change
            if np.abs(change).max() < 1e-10 * max(1.0, np.abs(a).max()):
                break
        q, v = q + STEP * v + 0.5 * STEP**2 * a, v + STEP * a
        if any(abs((step + 1) * STEP - t) < 0.5 * STEP for t in TIMES):
            pin.forwardKinematics(model, data, q)
            found.append(data.oMi[count].act(np.array([LENGTH / count, 0, 0]))[[0, 2]])
    return np.array(found)


def bent(modes: int) -> np.ndarray:
    """The same of a beam."""
    b = ps.ModelBuilder("pendulum", gravity=(0, 0, -9.81))
    beam = ps.beam(LENGTH, EI=(1e4 * EI, EI), mass_per_length=MASS / LENGTH, modes=modes)
    b.body("rod", joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam)
    model = b.build()
    run = ps.simulate(model, model.neutral(), np.zeros(model.nv), TIMES[-1], rtol=1e-10, t_eval=(0.0, *TIMES))
    return ps.forward_kinematics(model, run.q[-len(TIMES) :], "rod.tip")[:, [0, 2], 3]


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    began = time.perf_counter()
    fine, coarse = fallen(count), fallen(count // 2)
    limit = fine + (fine - coarse) / 3.0
    print(f"{count} segments ({time.perf_counter() - began:.0f} s), tip at {TIMES} s: {np.round(fine, 6).tolist()}")
    print(f"extrapolated: {np.round(limit, 6).tolist()}")
    for modes in (1, 2, 4):
        found = bent(modes)
        far = [np.abs(found - other).max() for other in (fine, limit)]
        print(f"{modes} modes: {far[0]:.1e} m from them, {far[1]:.1e} m from the limit")
