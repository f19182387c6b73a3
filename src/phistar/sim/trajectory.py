"""A motion over time: what `ps.simulate`, `ps.rollout` and `Scene.run` give, and viewer, report and files take.

run = ps.simulate(model, q0, v0, 2.0)
run.t, run.q, run.v, run.tau              # samples
run.signals["energy"], run.energy         # what was measured beside them, by name
run["ur5"]                                # that robot's own motion, with its own model
run.save("run.h5"); ps.Trajectory.load("run.h5")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from phistar.array_types import Array, IntArray
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.names import unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from phistar.io.packages import FolderList


class Event(NamedTuple):
    """Event and its time: "touch", "release", "slip" or "stick" of a pair; "limit" or "release" of a joint."""

    time: float
    what: str
    where: str


class Phase(NamedTuple):
    """A phase of a controller, from `start` to `end`; `reason` says why it began."""

    name: str
    start: float
    end: float
    reason: str


@dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts of a motion over its T samples.

    `pairs` are the names of the k pairs of shapes that touched, "first / second"; a half-space is always the second of
    its pair, else the one added later. `normal` (T, k) is the force along the normals of each pair, N, below 0 where a
    surface pulls. Of the contacts that act, at most m in a sample, `pair` (T, m) is the number among the pairs (−1
    fills up) and `point` (T, m, 3) where it is, m; `force` (T, m, 3), N, and `moment` (T, m, 3), N m, are what it does
    to the first shape of its pair at that point, all in world axes. A moment is that of a soft patch about its normal.
    `bodies` (k, 2) are the numbers of the pairs' bodies in the model, −1 for the world, and `nodes` (k, 2) those of the
    nodes of bodies that bend, else −1; None in files of earlier releases.
    """

    pairs: tuple[str, ...]
    normal: Array
    pair: IntArray
    point: Array
    force: Array
    moment: Array = None  # type: ignore[assignment]  # zeros, made below
    bodies: IntArray | None = None
    nodes: IntArray | None = None

    def __post_init__(self) -> None:
        if self.moment is None:
            object.__setattr__(self, "moment", np.zeros(np.shape(self.force)))

    @staticmethod
    def none(count: int) -> Contacts:
        """Nothing touches, in T samples."""
        spots, nobody = np.zeros((count, 0, 3)), np.zeros((0, 2), int)
        return Contacts((), np.zeros((count, 0)), np.zeros((count, 0), int), spots, spots, spots, nobody, nobody)

    def chosen(self, samples: Any) -> Contacts:
        """Contacts at some of the samples."""
        names = ("normal", "pair", "point", "force", "moment")
        return replace(self, **{name: getattr(self, name)[samples] for name in names})


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a whole: its own model, and where its q and v stand in the whole's."""

    model: Model
    places: IntArray
    rates: IntArray


@final
@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A motion of a model over T samples, with everything recorded along it.

    Parameters
    ----------
    model : Model
        The mechanism that moves.
    t : (T,)
        Times, s, rising.
    q, v : (…, T, nq), (…, T, nv)
        States; the leading axes are those of a batch, as `ps.rollout` has them.
    tau : (…, T, nv) or None
        Joint forces from each sample on, N m and N; None where they were not kept.
    contacts : Contacts or None
        What touched; None stands for nothing.
    events : sequence of Event
        What happened between the samples.
    signals : mapping of str to (T, …)
        Everything else over the samples: energy, work, momentum, loop_residual, sensed/NAME, facts/NAME, …
    name : str
        What it is called: the scene's name, or the model's.
    summary : mapping
        What `summary.json` says of a run; empty for others.
    labels : mapping of str to names
        What numbers in signals stand for: phase_names.
    parts : mapping of str to Part
        The robots and free bodies of a scene, by name.
    source, text : str
        What the scene was loaded by, and its file as it was.
    checkpoints : tuple of Path
        Folders that hold checkpoints of this very run.

    Examples
    --------
    >>> import phistar as ps
    >>> run = ps.simulate(ps.load("planar2"), [0.3, 0.1], [0, 0], 0.5)
    >>> run.q.shape == (len(run.t), 2), run.energy.shape == run.t.shape
    (True, True)
    """

    model: Model
    t: Array
    q: Array
    v: Array
    tau: Array | None = None
    contacts: Contacts = None  # type: ignore[assignment]  # none, made below
    events: Sequence[Event] = ()
    signals: Mapping[str, Array] = field(default_factory=dict)
    name: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    source: str = ""
    text: str = ""
    checkpoints: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        t = np.asarray(self.t, dtype=np.float64)
        q, v = (np.asarray(array, dtype=np.float64) for array in (self.q, self.v))
        batch = q.shape[:-2]
        if t.ndim != 1 or (q.shape, v.shape) != ((*batch, len(t), self.model.nq), (*batch, len(t), self.model.nv)):
            raise ShapeError(
                f"A trajectory of {self.model.name} needs t (T,), q (…, T, {self.model.nq}) and "
                f"v (…, T, {self.model.nv}); it was given {np.shape(self.t)}, {np.shape(self.q)} and "
                f"{np.shape(self.v)}."
            )
        values = {"t": t, "q": q, "v": v, "name": self.name or self.model.name}
        if self.contacts is None:
            values["contacts"] = Contacts.none(len(t))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        """T, the number of samples."""
        return len(self.t)

    def __getitem__(self, name: str) -> Trajectory:
        """The motion of one robot or free body of a scene, with its own model, q, v and tau."""
        if not isinstance(name, str):
            raise ShapeError(
                f"A trajectory is asked for a part by its name, not for {name!r:.50}: its arrays are t, q, v and tau, "
                "some of its samples chosen(samples), one motion of a batch member(i)."
            )
        if name not in self.parts:
            raise unknown("part", name, self.parts, self.name)
        part = self.parts[name]
        tau = None if self.tau is None else self.tau[..., part.rates]
        q, v = self.q[..., part.places], self.v[..., part.rates]
        return Trajectory(part.model, self.t, q, v, tau, name=name)

    def member(self, *index: int) -> Trajectory:
        """One motion of a batch, by its index along the leading axes."""
        batch = self.q.shape[:-2]
        if len(index) != len(batch) or not all(-size <= i < size for i, size in zip(index, batch, strict=True)):
            raise ShapeError(f"{self.name} is a batch of {batch}; the index {index} is none of it.")
        own = {name: x[index] if x.shape[: len(batch)] == batch else x for name, x in self.signals.items()}
        tau = None if self.tau is None else self.tau[index]
        return replace(self, q=self.q[index], v=self.v[index], tau=tau, signals=own)

    __iter__ = None  # there is no one order of what it holds

    # What is measured beside the states, by name

    def signal(self, name: str) -> Array:
        """The signal of a name, (…, T, …)."""
        if name not in self.signals:
            raise unknown("signal", name, self.signals, self.name)
        return self.signals[name]

    @property
    def energy(self) -> Array:
        """(T,): kinetic and potential, elastic too, J."""
        return self.signal("energy")

    @property
    def work(self) -> Array:
        """(T,): done by all forces but weight and springs since the start, J."""
        return self.signal("work")

    @property
    def loop_residual(self) -> Array:
        """(T, rows): how far loops are from closed; of a model without loops (T, 0)."""
        return self.signal("loop_residual")

    @property
    def loop_rate(self) -> Array:
        """(T, rows): how fast loops open."""
        return self.signal("loop_rate")

    @property
    def loop_rank(self) -> Array:
        """(T,): how many equations of the loops are independent."""
        return self.signal("loop_rank")

    @property
    def loop_condition(self) -> Array:
        """(T,): the condition of the loops' equations."""
        return self.signal("loop_condition")

    @cached_property
    def contact_torques(self) -> Array:
        """(T, nv): joint forces that the contacts exert, N m and N.

        τ = Hφf, f the forces and moments of `contacts` on the bodies at their places: J*λ, sample by sample. At rest
        it is what joint forces and weight leave: `ps.gravity_load(model, q) = run.tau + run.contact_torques`. Of a
        free body it is [moment; force] at its origin in its axes.
        """
        from phistar.sim.contact_torques import contact_torques

        return contact_torques(self)

    # A motion to be looked at

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the controller, in order."""
        told = self.summary.get("phases") or ()
        return tuple(
            Phase(str(p["name"]), float(p["start"]), float(p["end"]), str(p.get("reason") or "")) for p in told
        )

    @property
    def duration(self) -> float:
        """Time from the first sample to the last, s."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    def index(self, time: float) -> int:
        """The sample nearest to a time."""
        return int(np.argmin(np.abs(self.t - time)))

    def chosen(self, samples: Any) -> Trajectory:
        """Some of the samples, in order; those of a motion, not of a batch."""
        self._check_one("Samples are chosen of")
        signals = {name: array[samples] for name, array in self.signals.items() if len(array) == len(self.t)}
        tau = None if self.tau is None else self.tau[samples]
        states = {"t": self.t[samples], "q": self.q[samples], "v": self.v[samples], "tau": tau}
        return replace(self, **states, contacts=self.contacts.chosen(samples), signals=signals)

    def thinned(self, rate: float) -> Trajectory:
        """The motion with at most `rate` samples a second, the last one kept."""
        count = max(2, round(self.duration * rate) + 1)
        if len(self.t) <= count:
            return self
        return self.chosen(np.unique([self.index(time) for time in np.linspace(self.t[0], self.t[-1], count)]))

    def _check_one(self, what: str) -> None:
        if self.q.ndim != 2:
            raise ShapeError(f"{what} one motion; this trajectory is a batch of {self.q.shape[:-2]}.")

    @cached_property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything over the samples by the names that files have: t, q, v, tau, contact_force, …, and the signals."""
        found = {"t": self.t, "q": self.q, "v": self.v}
        found |= {} if self.tau is None else {"tau": self.tau}
        if self.contacts.pairs:
            own = self.contacts
            found |= {"contact_force": own.normal, "contact_pair": own.pair}
            found |= {"contact_point": own.point, "contact_vector": own.force, "contact_moment": own.moment}
        return found | dict(self.signals)

    # Files, tables and pictures

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, ...]:
        """Write a file (a path that ends in .h5), or a folder with trajectory.h5, summary.json and scene.toml.

        The model is inside, as data. A folder is what `phistar run --out` writes and `phistar view` shows. The files
        written are returned.
        """
        from phistar.sim.trajectory_files import save

        return save(self, Path(path))

    @staticmethod
    def load(path: str | os.PathLike[str], packages: FolderList = ()) -> Trajectory:
        """Read what `save` wrote, a file or a folder; nothing in it is trusted.

        Meshes of its model are found in the folder of the file and in folders of `packages`; others are left out.
        """
        from phistar.sim.scenes.run_reader import load

        return load(Path(path), packages)

    def to_xarray(self) -> Dataset:
        """An `xarray.Dataset`: the arrays over `time`, joints named by coordinate and rate."""
        from phistar.sim.trajectory_views import to_xarray

        return to_xarray(self)

    def plot(self, *names: str) -> Figure:
        """A Matplotlib figure of q, v and tau over time, or of the arrays named (`"energy"`, `"contact_force"`, …)."""
        from phistar.sim.trajectory_views import plot

        return plot(self, names)

    def __repr__(self) -> str:
        from phistar.sim.trajectory_views import one_line

        return one_line(self)

    def _repr_html_(self) -> str:
        from phistar.sim.trajectory_views import as_html

        return as_html(self)


class Stopped(PhistarError):
    """A motion that could not go on; `result` is the `Trajectory` up to there."""

    def __init__(self, sentence: str, result: Trajectory) -> None:
        super().__init__(sentence)
        self.result = result
