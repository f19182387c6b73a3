"""Configurations of a chain in a bath, by Boltzmann's law: planning and polymers as statistical mechanics (RJK91 §6).

A robot of rigid links with momenta at temperature T visits q with the density

    exp(−U(q)/kT) √det ℳ(q)

since the momenta's share of phase space is that of ℳ. Fixman's potential ½kT log det ℳ takes the factor off, as for
links that are very stiff instead of rigid (Fixman 1974). log det ℳ = Σ log det D(k) and its gradient are O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.compiled import compile
from phistar.dynamics import gravity_load, potential_energy
from phistar.errors import ModelError, PhistarError
from phistar.expression.binding import algebra
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

AIM, ADAPT = 0.6, 0.05  # rate of accepted steps that the step length is led to, and how quickly


@short_repr
@dataclass(frozen=True, eq=False)
class SampledConfigurations:
    """Configurations `q` (count, nq), the part of the steps that were `accepted`, and the last `step` length, rad."""

    q: Array
    accepted: float
    step: float


def sample_configurations(
    model: Model,
    count: int,
    *,
    temperature: float = 1.0,
    fixman: bool = False,
    start: Any = None,
    steps: int = 300,
    seed: int = 0,
) -> SampledConfigurations:
    """Configurations of a robot or chain in thermal equilibrium, all chains of a batch at once.

    Langevin steps along the gradients, 𝒢 of the potential energy and ½∂log det ℳ/∂q in O(n), accepted or not by
    Metropolis' rule, so that the density is exact (Roberts and Tweedie 1996).

    Parameters
    ----------
    model : Model
        A tree of revolute and prismatic joints; angles without limits.
    count : int
        How many independent chains; each gives its last configuration.
    temperature : float
        kT, J.
    fixman : bool
        With Fixman's potential: the density is exp(−U/kT), else exp(−U/kT)√det ℳ.
    start : (nq,) or (count, nq), optional
        By default random.
    steps : int
        Steps of every chain.
    seed : int

    Returns
    -------
    SampledConfigurations

    Examples
    --------
    >>> found = ps.estimation.sample_configurations(ps.chain(3), 100, steps=50)
    >>> found.q.shape
    (100, 3)
    """
    check_robot("sample_configurations", (model,))
    require_tree(model, "sample_configurations")
    others = [joint.name for joint in model.joints if joint.nv > 1]
    if others or not model.nv:
        raise ModelError(
            f"{model.name} must have joints, all revolute or prismatic; not {', '.join(others) or 'none'}."
        )
    if count < 1 or steps < 1 or not 0.0 < temperature < np.inf:
        raise PhistarError("Sampling needs a chain, a step and a positive temperature.")
    rng, density = np.random.default_rng(seed), _Density(model, float(temperature), fixman)
    q = model.random(rng, (count,)) if start is None else model.checked_q(start, "start")
    q = np.broadcast_to(q, (count, model.nq)).copy()
    value, slope = density.at(q)
    length, taken = 0.3, 0.0
    for number in range(steps):
        noise = rng.normal(size=q.shape)
        trial = q + 0.5 * length**2 * slope + length * noise
        other, back = density.at(trial)
        forth = 0.5 * np.sum(noise**2, axis=-1)
        home = 0.5 * np.sum((q - trial - 0.5 * length**2 * back) ** 2, axis=-1) / length**2
        with np.errstate(over="ignore", invalid="ignore"):
            good = np.log(rng.random(count)) < other - value + forth - home
        q[good], value[good], slope[good] = trial[good], other[good], back[good]
        taken += float(good.mean())
        if number < steps // 2:  # then it stays, so that the density is exact
            length = float(np.clip(length * np.exp(ADAPT * (good.mean() - AIM)), 1e-6, 2.0))
    return SampledConfigurations(q, taken / steps, length)


class _Density:
    """log of the density up to a constant, and its gradient."""

    def __init__(self, model: Model, temperature: float, fixman: bool) -> None:
        self.model, self.temperature, self.pulled = model, temperature, bool(np.any(model.gravity))
        self.rigid = not fixman
        if self.rigid:
            determinant = algebra(model).mass.log_determinant()
            self.diagonal, self.gradient = compile(determinant.diagonal), compile(determinant.derivative(wrt="q"))

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = np.zeros(len(q)), np.zeros(q.shape)
        if self.pulled:
            value = value - np.asarray(potential_energy(self.model, q)) / self.temperature
            slope = slope - np.asarray(gravity_load(self.model, q)) / self.temperature
        if self.rigid:  # D is diagonal: Σ log D(k) is that of D times ones
            value = value + 0.5 * np.sum(np.log(self.diagonal(q, np.ones(self.model.nv))), axis=-1)
            slope = slope + 0.5 * self.gradient(q)
        return value, slope
