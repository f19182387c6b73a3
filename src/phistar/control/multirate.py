"""Operational-space control at more than one rate: what may be delayed, and the sweeps that saves (KJR92 §5); and a
fast law every sample beside slow quantities every so many (KJR92 §2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.programs.program import program_of
from phistar.errors import ShapeError
from phistar.identities.kinematic_laws import rotor_bias
from phistar.identities.law import Setting
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.stated import states
from phistar.sweeps.ir import Program


def _mobility(s: Symbols) -> Node:
    return s.J @ s.mass.inv @ s.J.T


def _tip_force(s: Symbols) -> Node:
    """F_c = Λu + c + g (KJR92 eq. 4)."""
    return _mobility(s).inv @ (s.u + s.J @ s.mass.inv @ (s.C + s.g) - s.Jdot_v)


def _tip_force_delayed(s: Symbols) -> Node:
    """F_c with a, b and a(0) of the last sample; configuration and gravity are this one's."""
    bias = s.a_delayed + s.E.T @ s.a_g
    forces = s.H @ s.phi @ (s.M @ s.phi.T @ bias + s.b_delayed) + s.S.T @ s.phi_tilde.T @ bias
    drift = s.B.T @ s.phi.T @ s.a_delayed + s.a0_delayed
    return _mobility(s).inv @ (s.u + s.J @ s.mass.inv @ forces - drift)


def _for_the_next_sample(s: Symbols) -> dict[str, Node]:
    return {"a": s.a, "b": s.b + rotor_bias(s), "a0": s.a0}


@short_repr
class VelocityTerms(NamedTuple):
    """The velocity-dependent terms of one sample: a and b (…, 6·bodies) in link axes, a(0) (…, 6)."""

    a: Array
    b: Array
    a0: Array


@short_repr
class DelayedControl(NamedTuple):
    """Joint forces, the tip's commanded force F_c (…, 6) in world axes, and the terms for the next sample."""

    tau: Array
    force: Array
    terms: VelocityTerms


@states(lambda s: {"tau": s.J.T @ _tip_force(s), "force": _tip_force(s), **_for_the_next_sample(s)})
def tip_control(model: Model, q: Any, v: Any, u: Any, frame: str) -> DelayedControl:
    """T = J*F_c, F_c = Λu + c + g (KJR92 eqs. 3, 4): 4 sweeps, 3 on a serial chain."""
    found = tip_control.evaluate_all(model, q, {"v": v, "u": u}, (frame,))
    return _as_delayed_control(found)


@states(lambda s: {"tau": s.J.T @ _tip_force_delayed(s), "force": _tip_force_delayed(s), **_for_the_next_sample(s)})
def tip_control_delayed_velocities(
    model: Model, q: Any, v: Any, u: Any, delayed: VelocityTerms, frame: str
) -> DelayedControl:
    """The same with the velocity terms of the last sample: 3 sweeps (KJR92 §4.2)."""
    given = {"v": v, "u": u, **_delayed_terms(delayed)}
    return _as_delayed_control(tip_control_delayed_velocities.evaluate_all(model, q, given, (frame,)))


@states(lambda s: {"tau": s.H @ s.phi @ s.f_delayed, "force": _tip_force_delayed(s), **_for_the_next_sample(s)})
def tip_control_delayed(
    model: Model, q: Any, v: Any, u: Any, delayed: VelocityTerms, link_force: Any, frame: str
) -> DelayedControl:
    """The tip's force delayed too, given on its link (`on_link`): 2 sweeps (KJR92 §5)."""
    given = {"v": v, "u": u, "f_delayed": link_force, **_delayed_terms(delayed)}
    return _as_delayed_control(tip_control_delayed.evaluate_all(model, q, given, (frame,)))


@states(lambda s: s.B @ s.f)
def on_link(model: Model, q: Any, force: Any, frame: str) -> Array:
    """Bf, (…, 6·bodies): a force at a frame, world axes, as its link feels it in its own (KJR92 eq. 21)."""
    return on_link.evaluate(model, q, {"f": force}, frames=(frame,))


def _delayed_terms(terms: VelocityTerms) -> dict[str, Any]:
    return {f"{name}_delayed": value for name, value in terms._asdict().items()}


def _as_delayed_control(found: dict[str, np.ndarray]) -> DelayedControl:
    return DelayedControl(found["tau"], found["force"], VelocityTerms(found["a"], found["b"], found["a0"]))


def control_sweeps(serial: bool = False) -> dict[str, Program]:
    """Programs of operational-space control by what is delayed, whose sweeps KJR92 §5 counts.

    Parameters
    ----------
    serial : bool
        Whether laws that hold for chains alone may be used.

    Returns
    -------
    dict
        {what is delayed: Program}; `len(program.passes)` is the number of sweeps over the links.

    Examples
    --------

    >>> {name: len(program.passes) for name, program in ps.control.control_sweeps().items()}
    {'nothing': 4, 'velocity terms': 3, 'velocity terms and tip force': 2}
    """
    symbols, setting = Symbols(armature=False), Setting(serial=serial)
    wanted = {
        "nothing": {"tau": symbols.J.T @ _tip_force(symbols)},
        "velocity terms": tip_control_delayed_velocities.nodes(symbols),
        "velocity terms and tip force": tip_control_delayed.nodes(symbols),
    }
    return {name: program_of(tuple(nodes.items()), symbols, setting, False) for name, nodes in wanted.items()}


@short_repr
class MultirateRun(NamedTuple):
    """Samples t (n + 1), q, v; forces tau (n) held between them; `held`: the slow results, one per `every` samples."""

    t: Array
    q: Array
    v: Array
    tau: Array
    held: list[Any]


@short_repr
@dataclass(frozen=True)
class Multirate:
    """A controller at two rates: a slow part that is held between its samples, and a fast one.

    tau = fast(t, q, v, held) at every sample; held = slow(t, q, v) at every `every`-th. As in KJR92 §2: resolved
    acceleration at the sample rate; Λ, c, g and what is made of them at a slower one.

    Parameters
    ----------
    fast : callable
        (t, q, v, held) → tau (nv,).
    slow : callable
        (t, q, v) → anything.
    every : int
        Samples between two calls of `slow`.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> law = ps.control.Multirate(lambda t, q, v, held: held - v, lambda t, q, v: ps.gravity_load(arm, q), every=5)
    >>> law.every
    5
    """

    fast: Callable[[float, Array, Array, Any], Array]
    slow: Callable[[float, Array, Array], Any]
    every: int

    def __post_init__(self) -> None:
        if not isinstance(self.every, int) or self.every < 1:
            raise ShapeError(f"`every` is a number of samples, 1 or more; it was given {self.every!r}.")

    def run(
        self,
        advance: Callable[[np.ndarray, np.ndarray, np.ndarray], Sequence[np.ndarray]],
        state: tuple[Any, Any],
        dt: float,
        steps: int,
    ) -> MultirateRun:
        """Samples of a closed loop; `advance(q, v, tau)` gives q and v one sample later."""
        q, v = (np.asarray(x, dtype=float) for x in state)
        path, forces, held = [(q, v)], [], []
        for k in range(steps):
            if k % self.every == 0:
                held.append(self.slow(k * dt, q, v))
            forces.append(np.asarray(self.fast(k * dt, q, v, held[-1])))
            q, v = advance(q, v, forces[-1])
            path.append((q, v))
        places, rates = (np.stack(x) for x in zip(*path, strict=True))
        times = np.asarray(dt * np.arange(steps + 1), dtype=np.float64)
        return MultirateRun(times, places, rates, np.array(forces), held)
