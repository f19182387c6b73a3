"""Pinocchio's Python call for each public function of one state, and its result as ours is.

World axes, angular part first, our order of velocities. Where Pinocchio has no such function but the parts of it, they
are put together with NumPy, as its users do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phistar.cli.benchmark.peer_pinocchio import Pinocchio

Read = Callable[[Any], np.ndarray] | None
Call = tuple[Callable[..., Any], Read]  # without a reader: another representation of the same, not compared


@dataclass(frozen=True, eq=False)
class PeerCalls:
    """A robot in Pinocchio, its last frame the one that is asked about."""

    pin: Pinocchio

    def of(self, function: str) -> Call | None:
        """The call for a function, or None where Pinocchio has none."""
        whole = {**self._joint_space(), **self._frames(), **self._robot(), **self._configurations()}
        return whole.get(function)

    def _joint_space(self) -> dict[str, Call]:
        pin, model, data = self.pin.library, self.pin.model, self.pin.data
        return {
            "forward_dynamics": (partial(pin.aba, model, data), self._rates),
            "forward_dynamics, f_ext": (partial(pin.aba, model, data), self._rates),
            "forward_dynamics_two_step": (partial(pin.aba, model, data), self._rates),
            "inverse_dynamics": (partial(pin.rnea, model, data), self._rates),
            "inverse_dynamics, f_ext": (partial(pin.rnea, model, data), self._rates),
            "bias": (partial(pin.nonLinearEffects, model, data), self._rates),
            "gravity_load": (partial(pin.computeGeneralizedGravity, model, data), self._rates),
            "mass_matrix": (partial(pin.crba, model, data), self._symmetric),
            "mass_matrix_inverse": (partial(pin.computeMinverse, model, data), self._symmetric),
            "coriolis_matrix": (partial(pin.computeCoriolisMatrix, model, data), None),
            "inverse_dynamics_derivatives": (partial(pin.computeRNEADerivatives, model, data), None),
            "forward_dynamics_derivatives": (partial(pin.computeABADerivatives, model, data), None),
            "linearize": (partial(pin.computeABADerivatives, model, data), None),
            "regressor": (partial(pin.computeJointTorqueRegressor, model, data), None),
            "force_response": (lambda q, tau: self._inverse(q) @ tau, self._rates),
        }

    def _frames(self) -> dict[str, Call]:
        pin, model, data, frame = self.pin.library, self.pin.model, self.pin.data, self._frame
        axes, still = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, np.zeros(model.nv)

        def pose(q: np.ndarray) -> Any:
            pin.forwardKinematics(model, data, q)
            return pin.updateFramePlacement(model, data, frame)

        def velocity(q: np.ndarray, v: np.ndarray) -> Any:
            pin.forwardKinematics(model, data, q, v)
            return pin.getFrameVelocity(model, data, frame, axes)

        def acceleration(q: np.ndarray, v: np.ndarray, a: np.ndarray = still) -> Any:
            pin.forwardKinematics(model, data, q, v, a)
            return pin.getFrameClassicalAcceleration(model, data, frame, axes)

        def jacobian(q: np.ndarray) -> Any:
            return pin.computeFrameJacobian(model, data, q, frame, axes)

        def mobility(q: np.ndarray) -> np.ndarray:
            inverse, rows = self._inverse(q), jacobian(q)
            return rows @ inverse @ rows.T

        swapped = lambda made: np.roll(made, (3, 3), axis=(0, 1))  # noqa: E731
        return {
            "forward_kinematics": (pose, lambda made: made.homogeneous),
            "frame_velocity": (velocity, lambda made: np.roll(made.vector, 3)),
            "frame_acceleration": (acceleration, lambda made: np.roll(made.vector, 3)),
            "jacobian_dot_v": (acceleration, lambda made: np.roll(made.vector, 3)),
            # of one joint Pinocchio gives a vector
            "jacobian": (jacobian, lambda made: np.roll(np.reshape(made, (6, -1)), 3, axis=0)[:, self._back]),
            "mobility": (mobility, swapped),
            "task_mobility": (lambda q, v: mobility(q), None),
            "operational_space": (lambda q, v: np.linalg.inv(mobility(q)), None),
            "tip_acceleration_change": (
                lambda q, f: -self._inverse(q) @ (jacobian(q).T @ np.roll(f, 3)),
                self._rates,
            ),
        }

    def _robot(self) -> dict[str, Call]:
        pin, model, data = self.pin.library, self.pin.model, self.pin.data
        columns = lambda made: np.reshape(made, (3, -1))[:, self._back]  # noqa: E731
        return {
            "center_of_mass": (partial(pin.centerOfMass, model, data), np.asarray),
            "center_of_mass_jacobian": (partial(pin.jacobianCenterOfMass, model, data), columns),
            "centroidal_map": (
                partial(pin.computeCentroidalMap, model, data),
                lambda made: np.roll(made, 3, axis=0)[:, self._back],
            ),
            "momentum": (partial(pin.computeCentroidalMomentum, model, data), None),
            "kinetic_energy": (partial(pin.computeKineticEnergy, model, data), np.asarray),
            "potential_energy": (partial(pin.computePotentialEnergy, model, data), np.asarray),
        }

    def _configurations(self) -> dict[str, Call]:
        pin, model = self.pin.library, self.pin.model
        low, high = -np.ones(model.nq), np.ones(model.nq)
        return {
            "integrate": (partial(pin.integrate, model), np.asarray),
            "difference": (partial(pin.difference, model), self._rates),
            "neutral": (partial(pin.neutral, model), np.asarray),
            "random": (partial(pin.randomConfiguration, model, low, high), None),
            "normalized": (partial(pin.normalize, model), np.asarray),
        }

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

    def _inverse(self, q: np.ndarray) -> np.ndarray:
        """ℳ⁻¹ whole: Pinocchio fills one triangle."""
        upper = np.triu(self.pin.library.computeMinverse(self.pin.model, self.pin.data, q))
        return upper + np.triu(upper, 1).T

    def _rates(self, made: Any) -> np.ndarray:
        return np.asarray(made)[self._back]

    def _square(self, made: Any) -> np.ndarray:
        return np.asarray(made)[np.ix_(self._back, self._back)]

    def _symmetric(self, made: Any) -> np.ndarray:
        upper = np.triu(made)  # of a symmetric matrix it computes one triangle
        return self._square(upper + np.triu(upper, 1).T)

    @property
    def _frame(self) -> int:
        return self.pin.model.nframes - 1

    @property
    def _back(self) -> np.ndarray:
        return np.argsort(self.pin.order)
