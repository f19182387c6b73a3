"""Pinocchio: the same robot in it, its C++ batch calls, its Python calls, and its results in our order.

The wheel has C++ batch calls (a loop over states inside the library) for forward and inverse dynamics only. For the
other functions the time inside the library is estimated: the Python call less the same Python call on a one-joint
robot, which does nearly nothing but cross the binding. On forward and inverse dynamics, where both are had, the report
says how far this estimate is from the batch call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import starmap
from typing import Any

import numpy as np

from phistar.cli.benchmark.benchmark_tasks import DERIVATIVES, FORWARD, INVERSE, MASS, MASS_INVERSE, TASK_SPACE, States
from phistar.cli.benchmark.timing import Contestant, calls_for, calls_in_turn, rows_of
from phistar.errors import PhistarError
from phistar.model import Free, Model, Prismatic, Revolute

MOST_LINKS = 500  # its data holds several arrays of n³ numbers: 32 GB at n = 1000
BATCHED = (FORWARD, INVERSE)


def is_installed() -> bool:
    return find_spec("pinocchio") is not None


@dataclass(frozen=True, eq=False)
class Pinocchio:
    """A robot in Pinocchio, with one set of its working data."""

    model: Any
    data: Any
    library: Any
    order: np.ndarray  # our places of its velocity entries: it has a free joint's linear part first

    def batch(self, function: str, states: States) -> Contestant | None:
        """Pinocchio's C++ loop over states on one thread, results written in place; None where it has none."""
        if function not in BATCHED or self.model.nv < 2:  # its binding misreads arrays with one row: one state is done
            return None
        states = states[: max(4 * calls_for(len(self.order)), 16)]
        pool = self.library.ModelPool(self.model, 1)
        q, v, tau = (np.asfortranarray(x.T) for x in (states.q, states.v[:, self.order], states.tau[:, self.order]))
        out = np.zeros_like(v)
        call = self.library.abaInParallel if function == FORWARD else self.library.rneaInParallel
        return Contestant(lambda: call(1, pool, q, v, tau, out), states.count)

    def single(self, function: str, states: States) -> Contestant | None:
        """Pinocchio's Python call on one state after the other; None where it has no such function."""
        call, count = self._calls().get(function), calls_for(len(self.order))
        return None if call is None else calls_in_turn(call, self._rows(states, count, function))

    def value(self, function: str, states: States) -> np.ndarray | None:
        """Pinocchio's results for all states, in our order of velocities; None where it has no such function."""
        call = self._calls().get(function)
        if call is None:
            return None
        results = starmap(call, self._rows(states, states.count, function))
        return np.stack([self._in_our_order(function, result) for result in results])

    def _rows(self, states: States, count: int, function: str) -> list[tuple[np.ndarray, ...]]:
        arrays = (states.q, states.v[:, self.order], states.tau[:, self.order])
        return rows_of(arrays[:1] if function in (MASS, MASS_INVERSE) else arrays, count)

    def _calls(self) -> dict[str, Callable[..., Any]]:
        pin, model, data = self.library, self.model, self.data
        return {
            FORWARD: partial(pin.aba, model, data),
            INVERSE: partial(pin.rnea, model, data),
            MASS: partial(pin.crba, model, data),
            MASS_INVERSE: partial(pin.computeMinverse, model, data),
            DERIVATIVES: partial(pin.computeABADerivatives, model, data),
            TASK_SPACE: self._task_inertia,
        }

    def _task_inertia(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """(J ℳ⁻¹ J*)⁻¹ of the last frame by its functions and NumPy; c(0) and g(0), which ours gives too, left out."""
        pin, last = self.library, self.model.nframes - 1
        inverse = np.triu(pin.computeMinverse(self.model, self.data, q))
        inverse = inverse + np.triu(inverse, 1).T
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        jacobian = pin.computeFrameJacobian(self.model, self.data, q, last, axes)
        return np.linalg.inv(jacobian @ inverse @ jacobian.T)

    def _in_our_order(self, function: str, result: Any) -> np.ndarray:
        back = np.argsort(self.order)
        if function in (FORWARD, INVERSE):
            return result[back]
        if function == TASK_SPACE:
            return np.roll(result, (3, 3), axis=(0, 1))
        if function in (MASS, MASS_INVERSE):
            upper = np.triu(result)  # of a symmetric matrix it computes one triangle
            return (upper + np.triu(upper, 1).T)[np.ix_(back, back)]
        dq, dv, dtau = result
        dtau = np.triu(dtau) + np.triu(dtau, 1).T
        return np.concatenate([x[np.ix_(back, back)] for x in (dq, dv, dtau)], axis=-1)


def pinocchio_of(model: Model, frame: str | None = None) -> Pinocchio:
    """The same bodies, joints and gravity in Pinocchio; `frame` becomes its last frame."""
    if len(model.bodies) > MOST_LINKS:
        raise PhistarError(f"Pinocchio's memory grows as n³; {len(model.bodies)} links are left out.")
    pin = import_module("pinocchio")
    peer = pin.Model()
    peer.gravity = pin.Motion(np.concatenate([model.gravity, np.zeros(3)]))
    for body in model.bodies:
        place = pin.SE3(np.array(body.placement.rotation), np.array(body.placement.translation))
        number = peer.addJoint(body.parent + 1, _joint(pin, body.joint.kind), place, body.joint.name)
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.tensor))
        peer.appendBodyToJoint(number, inertia, pin.SE3.Identity())
    order = _order(model)
    peer.armature = np.array(model.armature[order])
    if frame is not None:
        found = model.frame(frame)
        place = pin.SE3(np.array(found.placement.rotation), np.array(found.placement.translation))
        peer.addFrame(pin.Frame(frame, found.body + 1, 0, place, pin.FrameType.OP_FRAME))
    return Pinocchio(peer, peer.createData(), pin, order)


def _joint(pin: Any, kind: Any) -> Any:
    """Pinocchio's joint of a kind; the cheaper one about a coordinate axis where the axis is one."""
    if isinstance(kind, Free):
        return pin.JointModelFreeFlyer()
    if not isinstance(kind, Revolute | Prismatic):
        raise PhistarError(f"The comparison with Pinocchio has no {type(kind).__name__} joints.")
    letter = "R" if isinstance(kind, Revolute) else "P"
    for name, axis in zip("XYZ", np.eye(3)):
        if np.array_equal(kind.axis, axis):
            return getattr(pin, f"JointModel{letter}{name}")()
    return getattr(pin, f"JointModel{type(kind).__name__}Unaligned")(np.array(kind.axis))


def _order(model: Model) -> np.ndarray:
    parts: Iterable[np.ndarray] = (
        np.roll(np.arange(model.nv)[joint.v_slice], 3 if isinstance(joint.kind, Free) else 0) for joint in model.joints
    )
    return np.concatenate(list(parts))
