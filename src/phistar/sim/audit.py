"""Books kept while a scene runs: the work of all forces, what the method loses, and what pushes from outside on trees
that nothing holds.

Kinetic and potential energy change by the work of controllers, disturbances, springs and friction of joints, stops and
contacts, less what implicit steps lose of themselves; the momentum of free trees by weight, contacts with what is not
free, and forces at their roots. What is left over is the integrator's error.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.dynamics import kinetic_energy, momentum, potential_energy
from phistar.model import Free, Model
from phistar.model.submodel import submodel
from phistar.sim.state_kernels import moving, with_inertias
from phistar.sim.step_records import Step
from phistar.sim.world import World


class Books(NamedTuple):
    """Sums over time: work, its absolute value of every step, and what steps lose of it, J; the impulse on free trees
    about the world's origin, N m s and N s."""

    work: float = 0.0
    throughput: float = 0.0
    loss: float = 0.0
    impulse: np.ndarray = np.zeros(6)

    def add(self, step: Step) -> Books:
        """The books after a step."""
        throughput = self.throughput + abs(step.work)
        return Books(self.work + step.work, throughput, self.loss + step.loss, self.impulse + step.outside)


class Account(NamedTuple):
    """Kinetic and potential energy of states (…,), J; momenta (…, 6) of all bodies and of free trees, about the
    world's origin."""

    kinetic: np.ndarray
    potential: np.ndarray
    momentum: np.ndarray
    free: np.ndarray


class Audit:
    """Energies and momenta of a world's states."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._weighs = bool(np.any(world.model.gravity))

    def account(self, q: np.ndarray, v: np.ndarray) -> Account:
        """Energies and momenta of states; the inertias of rigid bodies are inputs of the compiled functions."""
        model = self.world.model
        resting = potential_energy(model, q) if self._weighs else np.zeros(q.shape[:-1])
        if model.is_flexible:
            kinetic, whole = kinetic_energy(model, q, v), momentum(model, q, v)
            return Account(kinetic, resting, whole, self._free_momentum(q, v))
        (energy, momenta), (every, free) = self._quantities, self._inertias
        return Account(energy(q, v, every), resting, momenta(q, v, every), momenta(q, v, free))

    def _free_momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(…, 6): of the trees whose roots are free, as a model of their own."""
        bodies, part = [self.world.model.bodies[i] for i in np.flatnonzero(self.floating)], self._floating_part
        if part is None:
            return np.zeros((*q.shape[:-1], 6))
        own = ([k for body in bodies for k in body.coordinates], [k for body in bodies for k in body.rates])
        return momentum(part, q[..., own[0]], v[..., own[1]])

    @cached_property
    def _floating_part(self) -> Model | None:
        chosen = np.flatnonzero(self.floating).tolist()
        return submodel(self.world.model.tree, chosen) if chosen else None

    @cached_property
    def floating(self) -> np.ndarray:
        """(bodies,): whether each is on a tree whose root is free."""
        model, found = self.world.model, list[bool]()
        for body, parent in enumerate(model.parents):
            found.append(found[parent] if parent >= 0 else isinstance(model.joints[body].kind, Free))
        return np.array(found, dtype=bool)

    @cached_property
    def _quantities(self) -> tuple[Any, Any]:
        return with_inertias(kinetic_energy, self.moving), with_inertias(momentum, self.moving)

    @cached_property
    def _inertias(self) -> tuple[np.ndarray, np.ndarray]:
        """Inertias of all bodies, and of those on free trees, (10 bodies,) each."""
        rows = np.array([body.inertia.parameters for body in self.world.model.bodies]).reshape(-1, 10)
        return rows.reshape(-1), (rows * self.floating[:, None]).reshape(-1)

    @cached_property
    def moving(self) -> Model:
        return moving(self.world.model)
