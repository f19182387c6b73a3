"""Path-integral control beside mujoco.rollout: 1,024 rollouts of 50 steps, with noise and cost; one thread.

    python benchmarks/path_integral.py

One round of each: noise, motions, costs, weights and the weighted mean. On MuJoCo's side NumPy draws the noise and
makes costs and means, on ours compiled loops do. Both take semi-implicit Euler steps, without limits and contacts. The
body that nothing holds moves on three slides and a ball here, on a free joint there, whose rates are the same. The same
controls are first run through both: their motions must agree before a time means anything.
"""

import os
import time
from importlib import import_module

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["PHISTAR_THREADS"] = "1"  # before NumPy is loaded

from typing import Any

import numpy as np

import phistar as ps
from phistar.cli.benchmark.peer_mujoco import mujoco_of

SAMPLES, STEPS, STEP, REPEATS = 1024, 50, 0.01, 15
MOMENTS = np.array([1.3, 1.0, 0.7])
WEIGHTS = (1e-3, 10.0, 0.1)  # of controls, coordinates and rates


def panda() -> tuple[ps.Model, np.ndarray, Any]:
    model = ps.load("panda").tree
    kinds: dict[str, Any] = {joint.name: joint.kind for joint in model.joints}
    bare = {name: type(kind)(axis=kind.axis, armature=kind.armature_diagonal) for name, kind in kinds.items()}
    model = model.replace(joints=bare)
    q = model.neutral()
    q[:7] = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8]
    return model, q, mujoco_of(model).model


def body() -> tuple[ps.Model, np.ndarray, Any]:
    builder, nothing = ps.ModelBuilder("body"), ps.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    for k, axis in enumerate(np.eye(3)):
        parent = f"slide{k - 1}" if k else "world"
        builder.body(f"slide{k}", parent=parent, joint=ps.Prismatic(axis=axis), inertia=nothing)
    builder.body("body", parent="slide2", joint=ps.Spherical(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(MOMENTS)))
    model = builder.build()
    single = ps.ModelBuilder("body")
    single.body("body", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(MOMENTS)))
    return model, model.neutral(), mujoco_of(single.build()).model


class Peer:
    """The same in MuJoCo and NumPy."""

    def __init__(self, model: ps.Model, start: np.ndarray, peer: Any) -> None:
        library = import_module("mujoco")
        self.rollout = import_module("mujoco.rollout").rollout
        peer.opt.timestep = STEP
        self.model, self.data, self.ours = peer, [library.MjData(peer)], model
        self.kind = int(library.mjtState.mjSTATE_QFRC_APPLIED)
        self.start = np.zeros((SAMPLES, 1 + model.nq + model.nv))
        self.start[:, 1 : 1 + model.nq] = self.coordinates(start)
        self.goal, self.rng = self.coordinates(start), np.random.default_rng(0)

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Its quaternions have the real part first."""
        return q if self.ours.nq == self.ours.nv else np.concatenate([q[..., :3], q[..., 6:], q[..., 3:6]], axis=-1)

    def motions(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states, _ = self.rollout(self.model, self.data, self.start, u, control_spec=self.kind)
        nq = self.ours.nq
        return states[:, :, 1 : 1 + nq], states[:, :, 1 + nq :]

    def round(self, mean: np.ndarray) -> np.ndarray:
        half = 2.0 * self.rng.normal(size=(SAMPLES // 2, *mean.shape))
        u = mean + np.concatenate([half, -half])
        q, v = self.motions(u)
        away = q - self.goal
        costs: Any = sum(w * np.einsum("sti,sti->s", x, x) for w, x in zip(WEIGHTS, (u, away, v), strict=True))
        weights = np.exp(-(costs - costs.min()) / (0.1 * (costs - costs.min()).mean()))
        return np.tensordot(weights / weights.sum(), u, axes=1)


def compare(name: str, model: ps.Model, start: np.ndarray, compiled: Any) -> None:
    o, still = ps.optimize, np.zeros(model.nv)
    running = [o.control(WEIGHTS[0]), o.joint_position(start, WEIGHTS[1]), o.joint_velocity(WEIGHTS[2])]
    every = [joint.name for joint in model.joints]
    task = o.problem(model, start, dt=STEP, steps=STEPS, running=running, passive=False, actuated=every)
    law, peer = ps.control.PathIntegral(task, noise=2.0, samples=SAMPLES), Peer(model, start, compiled)
    u = np.random.default_rng(1).normal(size=(SAMPLES, STEPS, model.nv))
    ours, theirs = law.motions.run(task.q0, task.v0, u), peer.motions(u)
    pairs = (peer.coordinates(ours.q[:, 1:]), theirs[0]), (ours.v[:, 1:], theirs[1])
    apart = max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)
    mean, best = np.zeros((STEPS, model.nv)), [np.inf, np.inf]
    law.plan(start, still, mean)
    for _ in range(REPEATS):
        for number, call in enumerate((lambda: law.plan(start, still, mean), lambda: peer.round(mean))):
            began = time.thread_time()
            call()
            best[number] = min(best[number], time.thread_time() - began)
    print(f"{name}: {1e3 * best[0]:.2f} ms a round of {SAMPLES} x {STEPS} steps, MuJoCo {1e3 * best[1]:.1f} ms", end="")
    print(f": {best[1] / best[0]:.1f} x; the same controls move both alike to {apart:.1e} of the greatest q and v")


def main() -> None:
    compare("panda", *panda())
    compare("free body", *body())


if __name__ == "__main__":
    main()
