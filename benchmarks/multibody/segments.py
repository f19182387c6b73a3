"""A flexible pendulum as rigid segments with springs, in Pinocchio and in MuJoCo, beside a beam of a few modes.

    OPENBLAS_NUM_THREADS=1 python benchmarks/multibody/segments.py [SEGMENTS]      # 200 by default

One metre, one kilogram, EI = 20 N m², hinged at its root, falling from the horizontal. The segments' motion is taken by
the implicit midpoint rule, of inverse dynamics with Pinocchio's derivatives and of MuJoCo's mass matrix and bias
forces; half as many segments give the order of what is left, which is extrapolated.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import sys
import time

import mujoco
import numpy as np
import pinocchio as pin

import phistar as ps

LENGTH, EI, MASS = 1.0, 20.0, 1.0
TIMES = (0.2, 0.4, 0.6)
STEP = 5e-4
ACROSS = 1e-12  # kg m² about a segment's own axis, about which nothing turns


class InPinocchio:
    """A chain of rods: T of a motion with its slopes by q and v, the mass matrix, and the tip."""

    def __init__(self, count: int) -> None:
        self.model, parent, self.size = pin.Model(), 0, LENGTH / count
        self.model.gravity.linear = np.array([0.0, 0.0, -9.81])
        mass = MASS / count
        side = mass * self.size**2 / 12
        inertia = pin.Inertia(mass, np.array([0.5 * self.size, 0, 0]), np.diag([ACROSS, side, side]))
        for k in range(count):
            place = pin.SE3(np.eye(3), np.array([self.size if k else 0.0, 0, 0]))
            parent = self.model.addJoint(parent, pin.JointModelRY(), place, f"j{k}")
            self.model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        self.data, self.last = self.model.createData(), parent

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        pin.computeRNEADerivatives(self.model, self.data, q, v, a)
        mass = np.triu(self.data.M) + np.triu(self.data.M, 1).T
        return self.data.tau, mass, self.data.dtau_dq, self.data.dtau_dv

    def tip(self, q: np.ndarray) -> np.ndarray:
        pin.forwardKinematics(self.model, self.data, q)
        return self.data.oMi[self.last].act(np.array([self.size, 0, 0]))[[0, 2]]


class InMujoco:
    """The same in MuJoCo, whose bias forces come without slopes: Newton's steps take mass and springs alone."""

    def __init__(self, count: int) -> None:
        spec, self.size = mujoco.MjSpec(), LENGTH / count
        spec.option.gravity = [0.0, 0.0, -9.81]
        parent, mass = spec.worldbody, MASS / count
        side = mass * self.size**2 / 12
        for k in range(count):
            parent = parent.add_body(
                pos=[self.size if k else 0.0, 0, 0], mass=mass, ipos=[0.5 * self.size, 0, 0],
                inertia=[1e-3 * side, side, side], explicitinertial=True,
            )  # fmt: skip
            parent.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        self.last = parent.add_site(pos=[self.size, 0, 0], name="tip").name
        self.model = spec.compile()
        self.data, self.none = mujoco.MjData(self.model), np.zeros((count, count))

    def forces(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        self.data.qpos[:], self.data.qvel[:] = q, v
        mujoco.mj_fwdPosition(self.model, self.data)
        mujoco.mj_fwdVelocity(self.model, self.data)
        mass = np.zeros((len(q), len(q)))
        mujoco.mj_fullM(self.model, self.data, mass)
        return mass @ a + self.data.qfrc_bias, mass, self.none, self.none

    def tip(self, q: np.ndarray) -> np.ndarray:
        self.data.qpos[:] = q
        mujoco.mj_kinematics(self.model, self.data)
        return self.data.site(self.last).xpos[[0, 2]].copy()


def fallen(chain: InPinocchio | InMujoco, count: int) -> np.ndarray:
    """x and z of the tip at the times."""
    springs = np.full(count, EI * count / LENGTH)
    springs[0] = 0.0  # the hinge
    q, v, found = np.zeros(count), np.zeros(count), []
    for step in range(round(TIMES[-1] / STEP)):
        a = np.zeros(count)
        for _ in range(60):
            middle, rate = q + 0.5 * STEP * (v + 0.5 * STEP * a), v + 0.5 * STEP * a
            tau, mass, by_q, by_v = chain.forces(middle, rate, a)
            slope = mass + 0.25 * STEP**2 * (by_q + np.diag(springs)) + 0.5 * STEP * by_v
            change = np.linalg.solve(slope, -(tau + springs * middle))
            a = a + change
            if np.abs(change).max() < 1e-10 * max(1.0, np.abs(a).max()):
                break
        q, v = q + STEP * v + 0.5 * STEP**2 * a, v + STEP * a
        if any(abs((step + 1) * STEP - t) < 0.5 * STEP for t in TIMES):
            found.append(chain.tip(q))
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
    beams = {modes: bent(modes) for modes in (1, 2, 4)}
    for kind in (InPinocchio, InMujoco):
        began = time.perf_counter()
        fine, coarse = (fallen(kind(n), n) for n in (count, count // 2))
        limit, took = fine + (fine - coarse) / 3.0, time.perf_counter() - began
        print(f"{kind.__name__}: {count} segments ({took:.0f} s), tip at {TIMES} s: {np.round(fine, 6).tolist()}")
        for modes, found in beams.items():
            far = [np.abs(found - other).max() for other in (fine, limit)]
            print(f"  {modes} modes: {far[0]:.1e} m from them, {far[1]:.1e} m from the limit")
