"""Loops that close and open during a motion: latches and releases, with the impulses that they take.

A latch makes a loop of a cut joint between two bodies, where they are then. The rates jump by the least kinetic energy,
v⁺ = v⁻ − ℳ⁻¹A*(Aℳ⁻¹A*)⁺Av⁻: impulses act at the closures alone, so that all momentum that they do not take is kept.
A release takes the loop away; nothing jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from phistar.dynamics import frame_poses, jacobian, kinetic_energy, mass_matrix
from phistar.errors import ModelError
from phistar.loops.residual import project
from phistar.model import CutKind, Fixed, JointKind, Model
from phistar.model.parts import Frame
from phistar.sim.trajectory import Event
from phistar.spatial import Pose

When = float | Callable[[float, np.ndarray, np.ndarray], float]


@final
@dataclass(frozen=True)
class Latch:
    """A loop that closes during `ps.simulate` or `plant.simulate`: two bodies are joined as they are at that moment.

    Parameters
    ----------
    name : str
        Of the loop.
    frame_a, frame_b : str
        The cut joint stands at frame_a; it holds the body of frame_b as it is placed then.
    when : float or callable
        A time in s, or when(t, q, v), which is positive until then.
    joint : JointKind or CutKind
        What stays free; nothing by default.

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> catch = ps.Latch("catch", "joint2", "world", when=0.5)
    >>> run = ps.simulate(arm, [0.3, 0.2], [1.0, 0.0], 1.0, changes=[catch])
    >>> run.events[0].what
    'latch'
    """

    name: str
    frame_a: str
    frame_b: str
    when: When
    joint: JointKind | CutKind = Fixed()  # noqa: RUF009  # frozen


@final
@dataclass(frozen=True)
class Release:
    """A loop that opens during `ps.simulate` or `plant.simulate`.

    Parameters
    ----------
    name : str
        Of the loop: the model's own, or a latch's.
    when : float or callable
        A time in s, or when(t, q, v), which is positive until then.

    Examples
    --------
    >>> model = ps.load("wd89_fig1")
    >>> ps.Release(model.loops[0].name, when=0.2).when
    0.2
    """

    name: str
    when: When


class Change(NamedTuple):
    """Result of a latch or release: the model and state after it; the impulse (6,) on the body of frame_a there, in
    world axes, N m s and N s, and the energy lost, J."""

    model: Model
    q: np.ndarray
    v: np.ndarray
    impulse: np.ndarray
    lost: float

    def summary_entry(self, time: float, change: Latch | Release) -> dict[str, Any]:
        """Entry for the summary of a run."""
        what = "latch" if isinstance(change, Latch) else "release"
        facts = {"time": time, "what": what, "loop": change.name}
        return facts | {"impulse": self.impulse.tolist(), "energy_lost": self.lost}

    def event(self, time: float, change: Latch | Release) -> Event:
        """Event for the trajectory."""
        if isinstance(change, Release):
            return Event(time, "release", change.name)
        turn, push = (float(np.linalg.norm(part)) for part in (self.impulse[:3], self.impulse[3:]))
        sizes = f"impulse {push:.6g} N s and {turn:.6g} N m s, {self.lost:.6g} J lost"
        return Event(time, "latch", f"{change.name}: {sizes}")


def apply_change(model: Model, change: Latch | Release, q: np.ndarray, v: np.ndarray) -> Change:
    """The model and its state after a change."""
    if model.embedding is not None:
        raise ModelError(f"{model.name} is in independent rates; loops close and open on model.embedding.closed.")
    if isinstance(change, Release):
        return Change(model.without(change.name), q, v, np.zeros(6), 0.0)
    after = _latch(model, change, q)
    q, moving = project(after, q, v)
    tree = after.tree
    pushed = mass_matrix(tree, q) @ (moving - v)
    apart = jacobian(tree, q, change.frame_a) - jacobian(tree, q, _seat(change))
    impulse = np.linalg.lstsq(apart.T, pushed, rcond=1e-10)[0]
    lost = float(kinetic_energy(tree, q, v) - kinetic_energy(tree, q, moving))
    return Change(after, q, moving, impulse, lost)


def _seat(latch: Latch) -> str:
    return f"{latch.name} seat"


def _latch(model: Model, latch: Latch, q: np.ndarray) -> Model:
    """The model with the loop, a frame put on the second body where the first frame is."""
    first, second = model.frame(latch.frame_a), model.frame(latch.frame_b)
    if first.body == second.body:
        raise ModelError(f"The latch '{latch.name}' joins '{latch.frame_a}' to its own body.")
    poses = frame_poses(model.tree, q, (latch.frame_a, latch.frame_b))
    across = np.linalg.solve(poses[latch.frame_b], poses[latch.frame_a])
    placed = second.placement @ Pose.of(across[:3, :3], across[:3, 3])
    seat = Frame(_seat(latch), second.body, placed, "frame", second.node)
    if seat.name in model.frames:
        raise ModelError(f"{model.name} has a frame '{seat.name}' already; call the latch otherwise.")
    holder = model._with(frame_list=(*model.frame_list, seat))
    return holder.with_loop(latch.name, latch.frame_a, seat.name, latch.joint)
