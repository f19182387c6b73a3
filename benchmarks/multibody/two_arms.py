"""A closed chain of two arms of n links that hold one thing rigidly, here and in Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

import phistar as ps


def two_arms(n: int) -> ps.Model:
    """Two arms that lie on each other, the right one twice as heavy, their tips welded: any q of one closes both."""
    b, length = ps.ModelBuilder(f"two arms of {n}"), 1.0 / n
    for arm, mass in (("left", 1.0), ("right", 2.0)):
        parent = "world"
        for k in range(n):
            place = ps.Pose(xyz=(length, 0.2 * length, 0.1 * length)) if k else ps.Pose()
            tensor = (0.1 * mass * length**3 + 1e-6) * np.eye(3)
            inertia = ps.Inertia(mass * length, (length / 2, 0.1 * length, 0), tensor)
            b.body(f"{arm}{k}", parent, ps.Revolute(axis=np.eye(3)[k % 3]), place, inertia)
            parent = f"{arm}{k}"
        b.frame(f"{arm}_tip", parent, ps.Pose(xyz=(length, 0, 0)))
    b.loop("grip", "left_tip", "right_tip", joint=ps.Fixed())
    return b.build()


def states(n: int, batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closed states with different joint forces on the two arms."""
    rng, reach = np.random.default_rng(1), min(1.0, 10.0 / n)
    q, v = reach * rng.uniform(-0.5, 0.5, (batch, n)), reach * rng.standard_normal((batch, n))
    tau = rng.standard_normal((batch, 2 * n)) / n
    return np.concatenate([q, q], -1), np.concatenate([v, v], -1), tau


class Compared(NamedTuple):
    """Seconds of both, and the quartiles of how many times longer the second took than the first just before it."""

    ours: float
    theirs: float
    quartiles: tuple[float, float, float]


def seconds(function: Callable[[], Any]) -> float:
    """Processor time of one call in this thread: waiting for a processor that others use is not counted."""
    start = thread_time()
    function()
    return thread_time() - start


def compared(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int = 41) -> Compared:
    """Medians of calls in turn, after one each that is not counted: what slows the machine for a while (its clock,
    other work) slows both, and the ratio of neighbours does not see it."""
    times = np.array([(seconds(ours), seconds(theirs)) for _ in range(1 + repeats)])[1:]
    low, middle, high = np.percentile(times[:, 1] / times[:, 0], (25, 50, 75))
    median, others = np.median(times, axis=0)
    return Compared(float(median), float(others), (float(low), float(middle), float(high)))


class Peer:
    """Pinocchio's constraintDynamics of the same mechanism, one state a call."""

    def __init__(self, model: ps.Model) -> None:
        import pinocchio as pin  # pyright: ignore[reportMissingImports]

        self.pin, made, numbers = pin, pin.Model(), {-1: 0}
        made.gravity.linear = np.array(model.gravity)
        for k, body in enumerate(model.bodies):
            joint = pin.JointModelRevoluteUnaligned(*(float(x) for x in body.joint.axis))
            numbers[k] = made.addJoint(numbers[body.parent], joint, self._placed(body.placement), body.joint.name)
            inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.tensor))
            made.appendBodyToJoint(numbers[k], inertia, pin.SE3.Identity())
        ends = [model.frame(name) for name in ("left_tip", "right_tip")]
        sides = [x for end in ends for x in (numbers[end.body], self._placed(end.placement))]
        weld = pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, made, *sides, pin.ReferenceFrame.LOCAL)
        self.welds, self.kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        self.welds.append(weld)
        self.kept.append(weld.createData())
        self.model, self.data = made, made.createData()
        pin.initConstraintDynamics(made, self.data, self.welds, self.kept)
        self.settings = pin.ProximalSettings(1e-14, 1e-14, 1)

    def _placed(self, pose: ps.Pose) -> Any:
        return self.pin.SE3(np.array(pose.rotation), np.array(pose.translation))

    def each(self, states: list[tuple[np.ndarray, ...]]) -> None:
        """State after state."""
        for q, v, tau in states:
            self.pin.constraintDynamics(self.model, self.data, q, v, tau, self.welds, self.kept, self.settings)

    def __call__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.pin.constraintDynamics(self.model, self.data, q, v, tau, self.welds, self.kept, self.settings)
