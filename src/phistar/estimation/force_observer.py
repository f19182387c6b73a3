"""External forces from what a robot knows of itself: the momentum observer.

p = ℳθ̇ changes by ṗ = T + C*θ̇ − 𝒢 + T_e, with C*θ̇ = ℳ̇θ̇ − 𝒞 by two sweeps; the observer's r follows T_e through a
filter of first order, ṙ = K(T_e − r), and needs neither accelerations nor ℳ⁻¹ (De Luca and Mattone 2003).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import has_wide_links
from phistar.dynamics import coriolis_matrix, gravity_load, jacobian
from phistar.errors import PhistarError, ShapeError
from phistar.export import export_c
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.operators.rate_letters import rate
from phistar.short_repr import short_repr
from phistar.spatial import times, transposed
from phistar.spatial.vectors import require_finite
from phistar.stated import states


@states(lambda s: s.mass @ s.v)
def generalized_momentum(model: Model, q: Any, v: Any) -> Array:
    """Momentum of the joints, p = ℳθ̇, in O(n).

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> ps.estimation.generalized_momentum(ps.planar_chain(2), [0, 0], [1, 0]).round(3)
    array([2.668, 0.834])
    """
    return generalized_momentum.evaluate(model, q, {"v": v})


@states(lambda s: rate(s.mass, s.v) @ s.v - s.C - s.g)
def momentum_forces(model: Model, q: Any, v: Any) -> Array:
    """Rate of the joints' momentum where no joint force acts, C*θ̇ − 𝒢 = ℳ̇θ̇ − 𝒞 − 𝒢, in O(n).

    ṗ = T + C*θ̇ − 𝒢 with C the Coriolis matrix of ℳ̇ = C + C* (`ps.coriolis_matrix`), which is formed, in O(n²), only
    of robots with bodies that bend and of mechanisms in independent rates.

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> ps.estimation.momentum_forces(ps.planar_chain(2, gravity=(0, -9.81, 0)), [0, 0], [0, 0]).round(2)
    array([-19.62,  -4.9 ])
    """
    require_tree(model, "momentum_forces")
    if has_wide_links(model):
        return times(transposed(coriolis_matrix(model, q, v)), np.asanyarray(v)) - gravity_load(model, q)
    return momentum_forces.evaluate(model, q, {"v": v})


@short_repr
class Observed(NamedTuple):
    """The observer's memory: its estimate `force` (nv,), and momentum and momentum's forces at the last sample."""

    force: Array
    momentum: Array
    change: Array


@dataclass(frozen=True, eq=False)
class ForceObserver:
    """Estimates the external joint forces on a robot from its motion and its motors' forces.

    Sampled: r ← (r + K(p − p_before − h(T + change)))/(1 + Kh), T held over the step and the momentum's own change
    taken in its mean; an implicit step of ṙ = K(T_e − r), stable for every K and h.

    Parameters
    ----------
    model : Model
        A tree.
    gain : float or (nv,)
        K, 1/s: 1/K is the time in which a force is found.
    period : float
        h, s.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> observer = ps.estimation.ForceObserver(arm, gain=100.0, period=1e-3)
    >>> memory = observer.start([0.0, 0.5], [0.0, 0.0])
    >>> memory = observer.update(memory, [0.0, 0.5], [0.0, 0.0], ps.gravity_load(arm, [0.0, 0.5]) - [1.0, 0.0])
    >>> memory.force.round(4).tolist()
    [0.0909, 0.0]
    """

    model: Model
    gain: Any = 50.0
    period: float = 1e-3

    def __post_init__(self) -> None:
        check_robot("ForceObserver", (self.model,))
        require_tree(self.model, "ForceObserver")
        gain = np.asarray(self.gain, dtype=float)
        if gain.shape not in ((), (self.model.nv,)) or not ((gain > 0.0) & np.isfinite(gain)).all():
            raise ShapeError(f"The observer's gain must be positive: one number, or {self.model.nv} of them.")
        if not 0.0 < self.period < np.inf:
            raise ShapeError(f"The observer's period must be positive; it is {self.period!r:.50}.")

    def start(self, q: Any, v: Any) -> Observed:
        """The memory at the first sample: no force."""
        momentum = generalized_momentum(self.model, q, v)
        return _require_finite(Observed(np.zeros_like(momentum), momentum, momentum_forces(self.model, q, v)))

    def update(self, memory: Observed, q: Any, v: Any, tau: Any) -> Observed:
        """The memory a period later, at q and v, the motors' forces tau (nv,) having been held in between; friction of
        joints that is known belongs to tau."""
        momentum, change = generalized_momentum(self.model, q, v), momentum_forces(self.model, q, v)
        force = self._step(memory.force, momentum - memory.momentum, 0.5 * (change + memory.change), tau)
        return _require_finite(Observed(force, momentum, change))

    def _step(self, force: np.ndarray, gained: np.ndarray, change: np.ndarray, tau: Any) -> np.ndarray:
        pull = gained - self.period * (np.asarray(tau) + change)
        return (force + self.gain * pull) / (1.0 + self.gain * self.period)

    def run(self, q: Any, v: Any, tau: Any) -> Array:
        """The estimates (…, T, nv) along a log q (…, T, nq), v, tau (…, T, nv), each tau held until the next sample."""
        held = self.model.checked(tau, self.model.nv, "tau")
        for name, log in (("q", q), ("v", v), ("tau", held)):
            require_finite(log, name)
        momentum, change = generalized_momentum(self.model, q, v), momentum_forces(self.model, q, v)
        made = np.zeros(momentum.shape)
        for k in range(1, momentum.shape[-2]):
            gained, mean = momentum[..., k, :] - momentum[..., k - 1, :], change[..., k, :] + change[..., k - 1, :]
            made[..., k, :] = self._step(made[..., k - 1, :], gained, 0.5 * mean, held[..., k - 1, :])
        return made

    def export_c(self, directory: str | os.PathLike[str], name: str = "force_observer") -> tuple[Path, ...]:
        """Write one update as C99 without dependencies, for a controller at the robot.

        `void NAME(const double *q, const double *v, const double *tau, const double *memory, double *out)` with
        memory and out [force; momentum; change], (3nv,); the first memory is [0; p; change] of `start`.

        Parameters
        ----------
        directory : path
        name : str

        Returns
        -------
        tuple of Path
            What was written.
        """
        nv = self.model.nv

        def update(q: Any, v: Any, tau: Any, memory: Any) -> Any:
            momentum, change = generalized_momentum(self.model, q, v), momentum_forces(self.model, q, v)
            mean = 0.5 * (change + memory[2 * nv :])
            force = self._step(memory[:nv], momentum - memory[nv : 2 * nv], mean, tau)
            return np.concatenate([force, momentum, change])

        return export_c(update, self.model, directory, name=name, rows={"memory": 3 * nv})

    def wrench(self, q: Any, force: Any, frame: str) -> Array:
        """The force [moment; force] (…, 6) at a frame, world axes, that is nearest to joint forces (…, nv): J*f = r."""
        J = jacobian(self.model, q, frame)
        return np.matmul(np.linalg.pinv(np.swapaxes(J, -1, -2)), np.asarray(force)[..., None])[..., 0]


def _require_finite(memory: Observed) -> Observed:
    """The memory, which a sample that is not finite would spoil for all that follow."""
    if not all(np.isfinite(part).all() for part in memory):
        raise PhistarError("q, v or tau of this sample is not finite; leave it out.")
    return memory
