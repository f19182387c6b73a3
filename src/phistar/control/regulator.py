"""The linear-quadratic regulator over steps: Riccati's sweep, which along links is forward dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.errors import InfeasibleError, ShapeError
from phistar.short_repr import short_repr
from phistar.steps.sweep import RiccatiSweep


@short_repr
@dataclass(frozen=True, eq=False)
class Regulator:
    """The control u(k) = offsets(k) − gains(k) x(k) of least cost, and the cost to go ½x*Px + p*x from each step on.

    `gains` (N, m, n), `offsets` (N, m); `P` (N + 1, n, n), `p` (N + 1, n); `D` (N, m, m) is R + B*PB. `A`, `B`, `drift`
    are the system.
    """

    gains: Array
    offsets: Array
    P: Array
    p: Array
    D: Array
    A: Array
    B: Array
    drift: Array

    @property
    def log_det(self) -> float:
        """log det of the cost's Hessian in the controls, Σ log det D: of a mechanism, of its mass matrix."""
        return float(np.sum(np.linalg.slogdet(self.D)[1]))

    def follow(self, x0: Any) -> tuple[Array, Array]:
        """States (N + 1, n) and controls (N, m) from x0 (n,) on."""
        x = [np.asarray(x0, dtype=float)]
        if x[0].shape != self.A.shape[-1:]:
            raise ShapeError(f"x0 has shape {x[0].shape}; this system has {self.A.shape[-1]} states.")
        u = []
        for k, (A, B) in enumerate(zip(self.A, self.B, strict=True)):
            u.append(self.offsets[k] - self.gains[k] @ x[k])
            x.append(A @ x[k] + B @ u[k] + self.drift[k])
        return np.stack(x), np.stack(u)


def lqr(
    A: Any,
    B: Any,
    Q: Any,
    R: Any,
    terminal: Any = None,
    *,
    steps: int | None = None,
    cross: Any = None,
    drift: Any = None,
    q: Any = None,
    r: Any = None,
    bounds: tuple[Any, Any] | None = None,
) -> Regulator:
    """The linear-quadratic regulator of a discrete system over a number of steps.

    Least Σ ½x*Qx + x*Su + ½u*Ru + q*x + r*u and ½x*Tx at the end, with x' = Ax + Bu + c: P ← Q + A*PA − X*D⁻¹X with
    D = R + B*PB and X = S* + B*PA (Kalman 1960; R87 eqs. 37-43 along links). `ps.control.StepChain` has the same as
    statements of the algebra.

    Parameters
    ----------
    A, B : (n, n) or (N, n, n), (n, m) or (N, n, m)
        The system; the same at every step, or step by step.
    Q, R : (n, n) or (N, n, n), (m, m) or (N, m, m)
        Weights of states and controls; symmetric.
    terminal : (n, n), optional
        Weight of the last state; by default the last of Q.
    steps : int, optional
        How many; known where an argument has a row for each.
    cross, drift, q, r : (n, m), (n,), (n,), (m,), or with a leading N; optional
        S, c and the linear terms of the cost, by default zero.
    bounds : pair of (m,) or (N, m), optional
        Least and greatest controls at x = 0: the offsets keep them, and gains are zero where they are met.

    Returns
    -------
    Regulator
        `gains`, `offsets`, `P`, `p`, `D`, `log_det`, and `follow(x0)`.

    Examples
    --------
    >>> found = ps.control.lqr([[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]], np.eye(2), [[0.1]], steps=200)
    >>> found.gains[0].round(3)
    array([[2.585, 3.575]])
    """
    given = {"A": A, "B": B, "Q": Q, "R": R, "S": cross, "c": drift, "q": q, "r": r}
    arrays = {name: _array(name, value) for name, value in given.items() if value is not None}
    if bounds is not None:
        arrays |= _bounds(bounds)
    n, m = arrays["A"].shape[-1], arrays["B"].shape[-1]
    sweep = RiccatiSweep(_steps(arrays, steps), n, m)
    for name, array in arrays.items():
        _fill(sweep, name, array)
    if terminal is not None:
        sweep.table("Q")[-1] = _array("terminal", terminal)
    elif "Q" in arrays and arrays["Q"].ndim == 3:
        sweep.table("Q")[-1] = arrays["Q"][-1]
    failed = sweep.backward(bounded=bounds is not None)
    if failed is not None:
        raise InfeasibleError(
            f"At step {failed} R + B*PB is not positive: the cost falls without end, or does not depend on some "
            "control. Make R positive definite and Q, terminal and [[Q, S], [S*, R]] semidefinite."
        )
    table, vector = sweep.table, sweep.vector
    system = table("A"), table("B"), vector("c")
    return Regulator(table("K"), vector("d"), table("P"), vector("p"), table("D"), *system)


VECTORS = ("c", "q", "r", "low", "high")


def _array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{name} must be an array of numbers; it was given {value!r:.100}.") from None
    if not (np.isfinite(array).all() or (name == "bounds" and not np.isnan(array).any())):
        raise ShapeError(f"{name} has entries that are {'no numbers' if name == 'bounds' else 'not finite'}.")
    rank = 1 if name in VECTORS or name == "bounds" else 2
    if array.ndim not in (rank, rank + 1):
        raise ShapeError(f"{name} has shape {array.shape}; it must have {rank} axes, or {rank + 1} with one for steps.")
    return array


def _bounds(given: tuple[Any, Any]) -> dict[str, np.ndarray]:
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ShapeError(f"bounds are a pair, the least and the greatest controls; not {given!r:.60}.")
    low, high = (_array("bounds", x) for x in given)
    try:
        room = high - low
    except ValueError:
        raise ShapeError(f"The bounds have shapes {low.shape} and {high.shape}, which do not fit together.") from None
    if (room < 0.0).any():
        raise InfeasibleError(
            f"The bounds leave no control: the least is above the greatest by up to {-np.min(room):.3g}."
        )
    return {"low": low, "high": high}


def _steps(arrays: dict[str, np.ndarray], steps: int | None) -> int:
    """The number of steps that all agree on."""
    told = {name: len(x) for name, x in arrays.items() if x.ndim == (2 if name in VECTORS else 3)}
    counts = set(told.values()) | (set() if steps is None else {int(steps)})
    if len(counts) != 1 or min(counts) < 1:
        listed = ", ".join(f"{name} {count}" for name, count in told.items())
        raise ShapeError(
            f"How many steps? steps is {steps}, and of the arguments: {listed or 'none has a row a step'}."
        )
    return counts.pop()


def _fill(sweep: RiccatiSweep, name: str, array: np.ndarray) -> None:
    place = sweep.vector(name) if name in VECTORS else sweep.table(name)
    place = place[: sweep.steps]
    try:
        place[:] = array
    except ValueError:
        raise ShapeError(f"{name} has shape {array.shape}; it must be {place.shape[1:]} or {place.shape}.") from None
    if name in ("Q", "R") and not np.allclose(place, np.swapaxes(place, -1, -2), rtol=1e-9, atol=0.0):
        raise ShapeError(f"{name} must be symmetric.")
    if name == "Q":
        sweep.table("Q")[-1] = place[-1]
