"""MuJoCo: the same robot in it, without contacts and constraints; mj_forward, mj_inverse and mujoco.rollout.

mj_forward and mj_inverse are called from Python on a state that is already in place, so that copying states is not
counted against MuJoCo; they compute more than accelerations or forces (positions of everything, energy stages).
mujoco.rollout is a C++ loop over states and steps, here on one thread, with its semi-implicit Euler method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from phistar.cli.benchmark.benchmark_tasks import FORWARD, INVERSE, ROLLOUT, STEP, States
from phistar.cli.benchmark.timing import Contestant, calls_for, calls_in_turn
from phistar.errors import PhistarError
from phistar.model import Free, Model, Prismatic, Revolute
from phistar.spatial import from_quaternion

MOST_LINKS = 200  # its mass matrix has an entry for every link and ancestor: 0.1 s a call at n = 1000


def is_installed() -> bool:
    return find_spec("mujoco") is not None and find_spec("mujoco.rollout") is not None


@dataclass(frozen=True, eq=False)
class Mujoco:
    """A robot in MuJoCo, with one set of its working data."""

    ours: Model
    model: Any
    data: Any
    library: Any

    def single(self, function: str, states: States) -> Contestant | None:
        """MuJoCo's function called on one state again and again; None where it has none."""
        call = {FORWARD: self.library.mj_forward, INVERSE: self.library.mj_inverse}.get(function)
        if call is None:
            return None
        model, data = self.model, self.library.MjData(self.model)
        self._place(data, states[:1], function)
        return calls_in_turn(partial(call, model, data), [()] * calls_for(self.ours.nv))

    def value(self, function: str, states: States) -> np.ndarray | None:
        """MuJoCo's results for all states of a robot with a fixed base, else None: a free joint's rates differ."""
        if any(isinstance(joint.kind, Free) for joint in self.ours.joints):
            return None
        if function == ROLLOUT:
            return self.rollout(states)()[0][:, -1, 1:]
        results = []
        for row in range(states.count):
            self._place(self.data, states[row : row + 1], function)
            if function == FORWARD:
                self.library.mj_forward(self.model, self.data)
                results.append(self.data.qacc.copy())
            elif function == INVERSE:
                self.library.mj_inverse(self.model, self.data)
                results.append(self.data.qfrc_inverse.copy())
        return np.stack(results) if results else None

    def rollout(self, states: States) -> Callable[[], Any]:
        """All steps of every state under given joint forces; results written in place."""
        assert states.controls is not None
        rollout = import_module("mujoco.rollout").rollout
        q, v = self._coordinates(states)
        initial = np.concatenate([np.zeros((states.count, 1)), q, v], axis=-1)
        controls = np.ascontiguousarray(states.controls)
        kind = int(self.library.mjtState.mjSTATE_QFRC_APPLIED)
        out = np.zeros((states.count, controls.shape[1], initial.shape[-1]))
        model, data = self.model, [self.data]
        return lambda: rollout(model, data, initial, controls, control_spec=kind, state=out)

    def _place(self, data: Any, states: States, function: str) -> None:
        q, v = self._coordinates(states)
        data.qpos[:], data.qvel[:] = q[0], v[0]
        (data.qfrc_applied if function == FORWARD else data.qacc)[:] = states.tau[0]

    def _coordinates(self, states: States) -> tuple[np.ndarray, np.ndarray]:
        """MuJoCo's coordinates: quaternions with the real part first, a free joint's rates [ẋ; ω], ẋ in the world."""
        q, v = states.q.copy(), states.v.copy()
        for joint in self.ours.joints:
            if isinstance(joint.kind, Free):
                own, rate = states.q[:, joint.q_slice], states.v[:, joint.v_slice]
                q[:, joint.q_slice] = np.concatenate([own[:, :3], own[:, 6:], own[:, 3:6]], axis=-1)
                world = np.matmul(from_quaternion(own[:, 3:]), rate[:, 3:, None])[..., 0]
                v[:, joint.v_slice] = np.concatenate([world, rate[:, :3]], axis=-1)
        return q, v


def mujoco_of(model: Model) -> Mujoco:
    """The same bodies, joints and gravity in MuJoCo."""
    if len(model.bodies) > MOST_LINKS:
        raise PhistarError(f"MuJoCo's mass matrix grows as n²; {len(model.bodies)} links are left out.")
    library = import_module("mujoco")
    spec = library.MjSpec()
    spec.option.timestep, spec.option.gravity = STEP, np.array(model.gravity)
    off = library.mjtDisableBit
    spec.option.disableflags = int(off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT | off.mjDSBL_SENSOR)
    bodies: list[Any] = []
    for body in model.bodies:
        parent = spec.worldbody if body.parent < 0 else bodies[body.parent]
        made = parent.add_body(name=body.name, pos=body.placement.translation, quat=_quaternion(library, body))
        made.explicitinertial, made.mass, made.ipos = True, body.inertia.mass, body.inertia.com
        tensor = body.inertia.tensor
        made.fullinertia = [*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
        made.add_joint(name=body.joint.name, armature=_armature(body), **_joint(library, body.joint.kind))
        bodies.append(made)
    try:
        compiled = spec.compile()
    except ValueError as error:
        raise PhistarError(f"MuJoCo does not take {model.name}: {' '.join(str(error).split())}") from None
    return Mujoco(model, compiled, library.MjData(compiled), library)


def _armature(body: Any) -> float:
    values = np.unique(body.joint.kind.armature_diagonal)
    return float(values[0])


def _quaternion(library: Any, body: Any) -> np.ndarray:
    found = np.zeros(4)
    library.mju_mat2Quat(found, np.array(body.placement.rotation).reshape(9))
    return found


def _joint(library: Any, kind: Any) -> dict[str, Any]:
    kinds = library.mjtJoint
    if isinstance(kind, Free):
        return {"type": kinds.mjJNT_FREE}
    if isinstance(kind, Revolute | Prismatic):
        made = kinds.mjJNT_HINGE if isinstance(kind, Revolute) else kinds.mjJNT_SLIDE
        return {"type": made, "axis": np.array(kind.axis)}
    raise PhistarError(f"The comparison with MuJoCo has no {type(kind).__name__} joints.")
