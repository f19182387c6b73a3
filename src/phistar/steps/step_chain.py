"""A linear system over time as a chain of links: what the algebra says of links, it says of steps.

    V(k) = φ*V(k−1) + H*θ̇(k)          x' = Ax + Bu          φ* ↔ A,  H* ↔ B
    ½ΣV*MV + ½θ̇*𝒜θ̇                     ½Σx*Qx + ½u*Ru       M ↔ Q,   armature 𝒜 ↔ R

Link k is the end of step k. So the mass matrix HφMφ*H* + 𝒜 is the Hessian of the cost in the controls once the states
are eliminated, and forward dynamics, ℳ⁻¹, is the linear-quadratic regulator: P is the cost to go, D⁻¹ and G the gains
(R87 eqs. 37-47). The programs that are run here are the statements' own, over links of any width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.programs.interpret import run
from phistar.backends.programs.program import program_of
from phistar.errors import ShapeError, StatementError
from phistar.expression import Expression
from phistar.sweeps.lower import GIVEN


@dataclass(frozen=True, eq=False)
class _Links(Mechanism):
    """The steps as a mechanism has links: blocks by number; nothing there moves by itself."""

    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(range(-1, len(self.A) - 1))

    @property
    def rates(self) -> tuple[slice, ...]:
        m = self.B.shape[-1]
        return tuple(slice(k * m, (k + 1) * m) for k in range(len(self.A)))

    def width(self, k: int) -> int:
        return self.A.shape[-1]

    def crossing(self, k: int) -> np.ndarray:
        return self.A[k].T

    def subspace(self, k: int) -> np.ndarray:
        return self.B[k]

    def armature(self, k: int) -> np.ndarray:
        return self.R[k]

    def mass(self, k: int) -> np.ndarray:
        return self.Q[k]

    def bias_force(self, k: int, mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return np.zeros((self.width(k), 1))

    def bias_acceleration(self, k: int, velocity: np.ndarray, above: Any, v: np.ndarray) -> np.ndarray:
        return np.zeros((self.width(k), 1))

    def pose(self, k: int, above: Any) -> Any:
        return _refuse()

    def link_of(self, frame: str) -> int:
        return _refuse()

    def frame_pose(self, frame: str, pose: Any) -> tuple[np.ndarray, np.ndarray]:
        return _refuse()

    def frame_motion(self, frame: str, pose: Any) -> np.ndarray:
        return _refuse()

    def frame_bias(self, frame: str, pose: Any, velocity: np.ndarray) -> np.ndarray:
        return _refuse()


def _refuse() -> NoReturn:
    raise StatementError(
        "Steps of time have no frames or poses; statements over H, φ, M and the armature have a meaning."
    )


@dataclass(frozen=True, eq=False)
class StepChain:
    """A linear system over time as a mechanism, on which statements of the algebra are evaluated.

    x(k+1) = A(k)x(k) + B(k)u(k) with the cost ½Σ x(k+1)*Q(k)x(k+1) + u(k)*R(k)u(k): Q(k) weighs the end of step k.

    Parameters
    ----------
    A, B : (N, n, n), (N, n, m)
        The system, step by step.
    Q, R : (N, n, n), (N, m, m)
        Weights of the state after each step, and of its control; symmetric, R positive.

    Examples
    --------
    >>> import numpy as np
    >>> import phistar as ps
    >>> steps = np.broadcast_to(np.eye(1), (3, 1, 1))
    >>> chain = ps.control.StepChain(steps, steps, steps, steps)
    >>> A = ps.algebra(armature=True)
    >>> chain.dense(A.mass)
    array([[4., 2., 1.],
           [2., 3., 1.],
           [1., 1., 2.]])
    """

    A: Any
    B: Any
    Q: Any
    R: Any

    @staticmethod
    def measured(F: Any, H: Any, W: Any, V: Any, P0: Any) -> StepChain:
        """Measurements y = Hx + v of x' = Fx + w as a chain, the first of them at its tip.

        Time is the way inward: φ ↔ F, H ↔ H, M ↔ P0 and then W, armature ↔ V. So ℳ is the covariance of all
        measurements, P that of each state before its own, D that of innovations; ψK y are the states as predicted,
        (I − HψK) y the innovations (Kalman's filter), and φMφ*H*ℳ⁻¹ y the states by all measurements (its smoother).
        Vectors go and come with the last measurement first.

        Parameters
        ----------
        F, H : (T, n, n), (T, m, n)
            Transition after each measurement, and what is measured.
        W, V : (T, n, n), (T, m, m)
            Covariances of the noise after each measurement, and in it.
        P0 : (n, n)
            That of the first state.

        Examples
        --------
        >>> one = np.ones((2, 1, 1))
        >>> chain = ps.control.StepChain.measured(one, one, 0 * one, one, [[1e6]])
        >>> A = ps.algebra(armature=True)
        >>> chain.apply(A.phi @ A.M @ A.phi.T @ A.H.T @ A.mass.inv, [2.0, 1.0]).round(3).tolist()
        [1.5, 1.5]
        """
        F, H, W, V = (np.asarray(x, dtype=float) for x in (F, H, W, V))
        M = np.concatenate([np.asarray(P0, dtype=float)[None], W[:-1]])
        return StepChain(np.swapaxes(F, -1, -2)[::-1], np.swapaxes(H, -1, -2)[::-1], M[::-1], V[::-1])

    @staticmethod
    def informed(F: Any, H: Any, W: Any, V: Any) -> StepChain:
        """The same measurements in information form, from none at all: F⁻¹ for A and B, H*V⁻¹H for Q, W⁻¹ for R.

        P(k) is the inverse covariance after a measurement. Arguments as of `measured`.
        """
        F, H, W, V = (np.asarray(x, dtype=float) for x in (F, H, W, V))
        told = np.matmul(np.swapaxes(H, -1, -2), np.linalg.solve(V, H))
        back = np.linalg.inv(F)[::-1]
        return StepChain(back, back, told[::-1], np.linalg.inv(W)[::-1])

    def __post_init__(self) -> None:
        arrays = {name: np.asarray(getattr(self, name), dtype=float) for name in "ABQR"}
        if arrays["A"].ndim != 3 or arrays["B"].ndim != 3:
            raise ShapeError(f"A and B are (N, n, n) and (N, n, m); they are {arrays['A'].shape}, {arrays['B'].shape}.")
        (N, n, _), m = arrays["A"].shape, arrays["B"].shape[-1]
        wanted = {"A": (N, n, n), "B": (N, n, m), "Q": (N, n, n), "R": (N, m, m)}
        for name, array in arrays.items():
            if array.shape != wanted[name]:
                raise ShapeError(f"{name} has shape {array.shape}; {N} steps of this system need {wanted[name]}.")
            object.__setattr__(self, name, array)

    def apply(self, statement: Expression, x: Any = None, **given: Any) -> Array:
        """The product of a statement with x (rows,), swept over the steps; vectors by name, as T for u's gradient."""
        vectors = {GIVEN.get(name, name): np.asarray(value, dtype=float)[:, None] for name, value in given.items()}
        if x is not None:
            vectors["x"] = np.asarray(x, dtype=float)[:, None]
        return self._run(statement, vectors, matrix=False)[:, 0]

    def dense(self, statement: Expression) -> Array:
        """The matrix of a statement between controls or states."""
        return self._run(statement, {}, matrix=True)

    def _run(self, statement: Expression, given: dict[str, np.ndarray], matrix: bool) -> np.ndarray:
        setting, nodes = statement.setting, (("y", statement.node),)
        if setting.no_armature:
            raise StatementError("R takes the place of armature: write the statement with ps.algebra(armature=True).")
        program = program_of(nodes, statement.symbols, setting, matrix)
        rows = {"joints": len(self.A) * self.B.shape[-1], "links": len(self.A) * self.A.shape[-1]}
        for name, space in program.inputs:
            if name in program.columns:
                given[name] = np.eye(rows[space])
            elif name not in given:
                raise ShapeError(f"{statement.show()} needs {name}, ({rows.get(space, 'n')},); it was not given.")
        made = run(program, _Links(self.A, self.B, self.Q, self.R), given)
        return made[program.result_names["y"]]
