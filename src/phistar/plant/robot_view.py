"""One robot of a plant: its own model, and its own coordinates, rates and forces out of the plant's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.model import Model
from phistar.sim.trajectory import Part

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


@dataclass(frozen=True, eq=False)
class RobotView:
    """`plant["ur5"]`: the model as it was added, and where its q and v stand in the plant's."""

    name: str
    model: Model
    places: np.ndarray
    rates: np.ndarray

    def q(self, state: Any) -> np.ndarray:
        """Coordinates (…, nq) of the robot in a plant's state, or in an array of plant coordinates."""
        return np.asarray(getattr(state, "q", state))[..., self.places]

    def v(self, state: Any) -> np.ndarray:
        """Rates (…, nv) of the robot in a plant's state, or in an array of plant rates."""
        return np.asarray(getattr(state, "v", state))[..., self.rates]

    def tau(self, forces: Any) -> np.ndarray:
        """Joint forces (…, nv) of the robot out of a plant's."""
        return np.asarray(getattr(forces, "tau", forces))[..., self.rates]

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: nq={self.places.size}, nv={self.rates.size}>"


def motions_of(plant: Plant) -> dict[str, Part]:
    """The robots and free bodies of a plant as parts of its motions: their models, and where their q and v stand."""

    def make_parts() -> dict[str, Part]:
        moving = [name for name, robot in plant.robots.items() if robot.model.nv or not robot.bare]
        views = {name: plant[name] for name in moving}
        return {name: Part(view.model, view.places, view.rates) for name, view in views.items()}

    return plant.model.kept("parts of a plant", make_parts)
