"""Single-state calls, as a control loop makes them: public functions against Pinocchio's Python calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import phistar as ps
from phistar.cli.benchmark.benchmark_tasks import States, frame_of
from phistar.cli.benchmark.peer_pinocchio import Pinocchio
from phistar.cli.benchmark.timing import calls_for, calls_in_turn, contest, rows_of
from phistar.model import Model

Facts = dict[str, Any]
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Pair:
    """Our call and the arrays it is given; Pinocchio's call, what that is given state by state, and its result as ours
    is."""

    ours: Callable[..., np.ndarray]
    arrays: tuple[np.ndarray, ...]
    theirs: Callable[..., Any] | None = None
    their_rows: Rows = field(default_factory=list)
    read: Callable[[Any], np.ndarray] = np.asarray


def single_calls(model: Model, pin: Pinocchio | None, states: States, seconds: float) -> list[Facts]:
    """Each function: nanoseconds a call of ours and of Pinocchio's, their ratio, and how far the results differ."""
    count, facts = calls_for(model.nv), []
    for name, pair in _pairs(model, pin, states).items():
        run = {"ours": calls_in_turn(pair.ours, rows_of(pair.arrays, count))}
        differs = None
        if pair.theirs is not None:
            turns = [pair.their_rows[i % len(pair.their_rows)] for i in range(count)]
            run["pin"] = calls_in_turn(pair.theirs, turns)
            found = pair.ours(*(x[0] for x in pair.arrays))
            theirs = pair.read(pair.theirs(*pair.their_rows[0]))
            differs = float(np.abs(found - theirs).max() / max(np.abs(theirs).max(), 1.0))
        best = {who: timing.best for who, timing in contest(run, seconds).items()}
        ratio = best["pin"] / best["ours"] if "pin" in best else None
        facts.append(
            {"function": name, "ours_ns": best["ours"], "pin_ns": best.get("pin"), "ratio": ratio, "differs": differs}
        )
    return facts


def _pairs(model: Model, pin: Pinocchio | None, states: States) -> dict[str, Pair]:
    q, v, tau, frame = states.q, states.v, states.tau, frame_of(model)
    other = np.roll(q, 1, axis=0)
    force = np.tile([0.1, -0.2, 0.3, 1.0, -2.0, 3.0], (len(q), 1))
    pairs = {
        "jacobian": Pair(lambda q: ps.jacobian(model, q, frame), (q,)),
        "forward_kinematics": Pair(lambda q: ps.forward_kinematics(model, q, frame), (q,)),
        "frame_velocity": Pair(lambda q, v: ps.frame_velocity(model, q, v, frame), (q, v)),
        "center_of_mass": Pair(lambda q: ps.center_of_mass(model, q), (q,)),
        "integrate": Pair(lambda q, v: model.integrate(q, v), (q, v)),
        "difference": Pair(lambda q, other: model.difference(q, other), (q, other)),
        "forward_dynamics, f_ext": Pair(
            lambda q, v, tau, f: ps.forward_dynamics(model, q, v, tau, {frame: f}), (q, v, tau, force)
        ),
        "joint_friction": Pair(lambda q, v: ps.joint_friction(model, q, v), (q, v)),
    }
    return pairs if pin is None else {name: _with_peer(name, pair, pin) for name, pair in pairs.items()}


def _with_peer(name: str, pair: Pair, pin: Pinocchio) -> Pair:
    """The pair with Pinocchio's equivalent call, where it has one."""
    peers = _Peers(pin)
    if not hasattr(peers, name.split(",")[0]):
        return pair
    call, read = getattr(peers, name.split(",")[0])()
    q, *others = pair.arrays
    if name == "difference":
        return Pair(pair.ours, pair.arrays, call, _rows(pair.arrays), read)
    ordered = [x[:, pin.order] if x.shape[-1] == len(pin.order) else x for x in others]
    rows = _rows((q, *ordered))
    if name.startswith("forward_dynamics"):
        rows = [(q, v, tau, peers.forces(q, f)) for q, v, tau, f in rows]
    return Pair(pair.ours, pair.arrays, call, rows, read)


def _rows(arrays: tuple[np.ndarray, ...]) -> Rows:
    return rows_of(arrays, len(arrays[0]))


@dataclass(frozen=True, eq=False)
class _Peers:
    """Pinocchio's call for each function, about its last frame, and what makes its result ours: world axes, angular
    part first, our order of velocities."""

    pin: Pinocchio

    def jacobian(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model, data, frame = self.pin.library, self.pin.model, self.pin.data, self._frame
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return (
            lambda q: pin.computeFrameJacobian(model, data, q, frame, axes),
            # of one joint Pinocchio gives a vector
            lambda made: np.roll(np.reshape(made, (6, -1)), 3, axis=0)[:, self._back],
        )

    def forward_kinematics(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model, data, frame = self.pin.library, self.pin.model, self.pin.data, self._frame

        def call(q: np.ndarray) -> Any:
            pin.forwardKinematics(model, data, q)
            return pin.updateFramePlacement(model, data, frame)

        return call, lambda made: made.homogeneous

    def frame_velocity(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model, data, frame = self.pin.library, self.pin.model, self.pin.data, self._frame
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

        def call(q: np.ndarray, v: np.ndarray) -> Any:
            pin.forwardKinematics(model, data, q, v)
            return pin.getFrameVelocity(model, data, frame, axes)

        return call, lambda made: np.roll(made.vector, 3)

    def center_of_mass(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model, data = self.pin.library, self.pin.model, self.pin.data
        return lambda q: pin.centerOfMass(model, data, q), np.asarray

    def integrate(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model = self.pin.library, self.pin.model
        return lambda q, v: pin.integrate(model, q, v), np.asarray

    def difference(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model = self.pin.library, self.pin.model
        return lambda q0, q1: pin.difference(model, q0, q1), lambda made: made[self._back]

    def forward_dynamics(self) -> tuple[Callable[..., Any], Callable[..., np.ndarray]]:
        pin, model, data = self.pin.library, self.pin.model, self.pin.data
        return lambda q, v, tau, forces: pin.aba(model, data, q, v, tau, forces), lambda made: made[self._back]

    def forces(self, q: np.ndarray, f: np.ndarray) -> Any:
        """A force at the frame as Pinocchio takes it: one for each joint, in the joint's axes. It is not timed."""
        pin, model, data = self.pin.library, self.pin.model, self.pin.data
        frame = model.frames[self._frame]
        pin.forwardKinematics(model, data, q)
        turned = data.oMi[frame.parentJoint].rotation.T
        made = pin.StdVec_Force()
        for joint in range(model.njoints):
            own = pin.SE3(np.eye(3), frame.placement.translation).act(pin.Force(turned @ f[3:], turned @ f[:3]))
            made.append(own if joint == frame.parentJoint else pin.Force.Zero())
        return made

    @property
    def _frame(self) -> int:
        return self.pin.model.nframes - 1

    @property
    def _back(self) -> np.ndarray:
        return np.argsort(self.pin.order)
