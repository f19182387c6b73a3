"""A motion to be looked at: states over time, with what was measured beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from phistar.dynamics import kinetic_energy, potential_energy
from phistar.errors import FileError, ShapeError
from phistar.model import Model
from phistar.view.finished import model_of_run
from phistar.view.report_run import Phase, taken


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
        """The sample nearest to a time."""
        return int(np.argmin(np.abs(self.t - time)))

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
        """Of a folder that `phistar run --out` wrote."""
        run = taken(folder)
        if run.model is None:
            model_of_run(Path(folder), run.source, int(run.summary["seed"]))  # says why there is none
            raise FileError(f"{folder} was run with another scene than {run.scene!r} is now; run it anew.")
        return _made(run.scene, run.model, dict(run.arrays), run.pair_names, run.summary)


def _made(
    title: str, model: Model, arrays: dict[str, np.ndarray], pairs: tuple[str, ...], summary: Mapping[str, Any]
) -> Recording:
    missing = [name for name in ("t", "q", "v") if name not in arrays]
    if missing:
        raise FileError(f"The run of {title} has no {', '.join(missing)}; there is nothing to show.")
    phases = tuple(
        Phase(str(each["name"]), float(each["start"]), float(each["end"]), str(each.get("reason") or ""))
        for each in summary.get("phases") or ()
    )
    rest = {name: array for name, array in arrays.items() if name not in ("t", "q", "v")}
    return Recording(title, model, arrays["t"], arrays["q"], arrays["v"], rest, pairs, phases)
