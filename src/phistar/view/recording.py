"""A motion to be looked at: states over time, with what was measured beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistar.dynamics import kinetic_energy, potential_energy
from phistar.errors import FileError, PhistarError, ShapeError
from phistar.model import Model

TRAJECTORY, SUMMARY = "trajectory.h5", "summary.json"


@dataclass(frozen=True)
class Phase:
    """A stretch of a run that has a name."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Recording:
    """t (n,), q (n, nq), v (n, nv) of a model; `arrays` over the same samples by name; `phases` in order."""

    title: str
    model: Model
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    pair_names: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.t)
        if count == 0 or np.shape(self.q) != (count, self.model.nq) or np.shape(self.v) != (count, self.model.nv):
            raise ShapeError(
                f"A recording of {self.model.name} needs t (n,), q (n, {self.model.nq}) and v (n, {self.model.nv}) "
                f"with n ≥ 1; it was given {np.shape(self.t)}, {np.shape(self.q)} and {np.shape(self.v)}."
            )

    @property
    def duration(self) -> float:
        """From the first sample to the last, s."""
        return float(self.t[-1] - self.t[0])

    def index(self, time: float) -> int:
        """The sample at a time, or the last before it."""
        return int(np.clip(np.searchsorted(self.t, time, side="right") - 1, 0, len(self.t) - 1))

    def thinned(self, rate: float) -> Recording:
        """At most `rate` samples a second, the last one kept."""
        count = max(2, round(self.duration * rate) + 1)
        if len(self.t) <= count:
            return self
        keep = np.unique([self.index(time) for time in np.linspace(self.t[0], self.t[-1], count)])
        arrays = {name: array[keep] for name, array in self.arrays.items() if len(array) == len(self.t)}
        return Recording(
            self.title, self.model, self.t[keep], self.q[keep], self.v[keep], arrays, self.pair_names, self.phases
        )

    @staticmethod
    def of_motion(model: Model, t: Any, q: Any, v: Any, title: str = "") -> Recording:
        """Of states over time, such as those of `ps.simulate`, with their energy."""
        q, v = model.checked(q, model.nq, "q"), model.checked(v, model.nv, "v")
        energy = kinetic_energy(model.tree, q, v) + potential_energy(model.tree, q)
        return Recording(title or model.name, model, np.asarray(t, dtype=float), q, v, {"energy": energy})

    @staticmethod
    def of_result(result: Any) -> Recording:
        """Of what `Scene.run` gives."""
        arrays = {name: np.asarray(array) for name, array in result.arrays.items()}
        return _made(result.scene, result.model, arrays, tuple(result.pair_names), result.summary)

    @staticmethod
    def of_folder(folder: str | Path) -> Recording:
        """Of a folder that `phistar run --out` wrote. The scene's file must still be where it was."""
        place = Path(folder)
        arrays, attributes = _read(place / TRAJECTORY)
        summary = _summary(place / SUMMARY)
        model = _model(place, attributes)
        names = [joint.name for joint in model.joints]
        if names != [str(name) for name in attributes.get("joint_names", ())]:
            raise FileError(
                f"{place / TRAJECTORY} has other joints than its scene {attributes.get('scene')!r} has now; "
                "run the scene anew."
            )
        pairs = tuple(str(name) for name in attributes.get("pair_names", ()))
        return _made(str(attributes.get("scene")), model, arrays, pairs, summary)


def _made(
    title: str, model: Model, arrays: dict[str, np.ndarray], pairs: tuple[str, ...], summary: Mapping[str, Any]
) -> Recording:
    missing = [name for name in ("t", "q", "v") if name not in arrays]
    if missing:
        raise FileError(f"The run of {title} has no {', '.join(missing)}; there is nothing to show.")
    phases = tuple(
        Phase(str(each["name"]), float(each["start"]), float(each["end"])) for each in summary.get("phases") or ()
    )
    rest = {name: array for name, array in arrays.items() if name not in ("t", "q", "v")}
    return Recording(title, model, arrays["t"], arrays["q"], arrays["v"], rest, pairs, phases)


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        import h5py
    except ImportError:
        raise PhistarError("Reading a run needs the package h5py: pip install 'phistar[sim]'.") from None
    if not path.is_file():
        raise FileError(f"{path} is not there; a run to look at is a folder that `phistar run SCENE --out DIR` wrote.")
    try:
        with h5py.File(path, "r") as file:
            numbers = {name: node for name, node in file.items() if isinstance(node, h5py.Dataset) and name != "events"}
            return {name: np.asarray(node[()]) for name, node in numbers.items()}, dict(file.attrs)
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"{path} cannot be read as a trajectory: {error}.") from None


def _summary(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise FileError(f"{path} is not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise FileError(f"{path} is not the summary of a run.")
    return content


def _model(place: Path, attributes: Mapping[str, Any]) -> Model:
    """The model of the run's scene, drawn with the run's seed; bodies are the same for every seed but in size."""
    from phistar.sim.scenes.scene import Scene

    source, seed = attributes.get("source", attributes.get("scene")), int(attributes.get("seed", 0))
    try:
        return Scene.load(str(source)).setting(seed).model
    except FileError as error:
        raise FileError(f"The scene that {place} was run from cannot be loaded. {error}") from None
