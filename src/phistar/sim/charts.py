"""Motion in independent rates, and others where those do not determine the motion: a chart of the closed mechanism.

A model in independent rates θ̇_i = S*θ̇ moves in these, by θ̇ = Xθ̇_i. Near a dead point of them X is lost, and the motion
goes on in another choice of rates, found by pivots there; what is told and what acts is always the model's own: rates
S*θ̇, and joint forces X*ST.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.model import Model
from phistar.spatial import times

GOOD = 0.3  # one over the condition of the rates that follow: above, no other choice is looked for
BACK = 0.6  # above, a motion that left the model's own rates takes them up again


@dataclass(frozen=True, eq=False)
class Chart:
    """The independent rates that a motion is in, `model`, of those that it is told in, `own`; `level` is the goodness
    that it is left at."""

    own: Model
    model: Model
    level: float

    @staticmethod
    def at(own: Model, q: np.ndarray, needed: float = GOOD, kept: tuple[str, ...] = ()) -> Chart:
        """The model's own rates where they are as good as needed, else others, those of `kept` joints among them."""
        if own.embedding is None:
            return Chart(own, own, 0.0)
        if goodness(own, q) > needed:
            return Chart(own, own, GOOD)
        closed: Model = own.embedding.closed
        found = closed.embedded(independent=kept, q=q)
        other = own if found == own else closed.kept(("chart", found.embedding.independent), lambda: found)
        return Chart(own, other, min(GOOD, 0.25 * goodness(other, q)))

    def margin(self, q: np.ndarray) -> float:
        """Positive until another choice is wanted."""
        return goodness(self.model, q) - self.level

    def tree_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """θ̇ of the spanning tree, (…, nv of the tree)."""
        return v if self.model.embedding is None else self.model.embedding.full_rates(q, v)

    def to_model_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The model's own rates, (…, nv)."""
        return v if self.model is self.own else self.own.embedding.independent_rates(self.tree_rates(q, v))

    def to_chart_rates(self, rates: np.ndarray) -> np.ndarray:
        """The chart's rates of those of the spanning tree."""
        return rates if self.model.embedding is None else self.model.embedding.independent_rates(rates)

    def forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The chart's joint forces of the model's own: they do the same work."""
        if self.model is self.own:
            return tau
        own: Any = self.own.embedding
        whole = np.zeros(own.closed.nv)
        for group, chosen, rates in zip(own.groups, own.choices, own.rates, strict=True):
            whole[list(group.rates)] = times(chosen, tau[rates])
        return self.model.embedding.independent_forces(q, whole)


def goodness(model: Model, q: np.ndarray) -> float:
    """One over the worst condition of the rates that follow the independent ones, from 0 (lost) to 1."""
    return float(min((1.0 / np.max(each) for each in model.embedding.conditions(q)), default=1.0))
