"""Order of a plant's rates, whose screws in the world, [ω; v] at its origin, change with the configuration.

Moving along rate j carries screw k with it where j stands before k: ∂s_k/∂δ_j = ad(s_j) s_k. A free body's own rates
are those of its centre of mass, in world axes: moved sideways, its spins' axes go along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.constraints import columns as c


@dataclass(frozen=True, eq=False)
class RateOrder:
    """Order of an engine's R rates, node after node: `rates` of the model, `before` (R, R), and the rates that move
    each body (bodies + 1, R), by the step's number, the world last."""

    rates: np.ndarray
    before: np.ndarray
    moved: np.ndarray

    @staticmethod
    def of(engine: Any) -> RateOrder:
        system, table = engine.system, engine.tables
        model, numbers = system.model, table["body_number"]
        total = model.nv
        rates, before = np.zeros(total, int), np.zeros((total, total))
        moved = np.zeros((len(model.bodies) + 1, total))
        for f, body in enumerate(system.free):
            own = slice(6 * f, 6 * f + 6)
            rates[own] = np.arange(total)[model.joints[body].v_slice]
            before[6 * f + 3 : 6 * f + 6, 6 * f : 6 * f + 3] = 1.0
            moved[f, own] = 1.0
        for node, tree in enumerate(system.trees, start=len(system.free)):
            at, size = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN]])
            rates[at : at + size] = table["rate_of"][at : at + size]
            for body in tree:
                own = numbers[body] * int(table["counts"][c.WIDEST])
                moved[numbers[body], at : at + size] = table["screw_of"][own : own + size] < total
            _order_tree(model, tree, at, before)
        return RateOrder(rates, before, moved)


def _order_tree(model: Any, tree: tuple[int, ...], at: int, before: np.ndarray) -> None:
    starts, place = {}, at
    for body in tree:
        starts[body] = slice(place, place + model.joints[body].nv)
        place += model.joints[body].nv
    for body in tree:
        own, joint = starts[body], model.joints[body]
        up = model.parents[body]
        while up >= 0:
            before[starts[up], own] = 1.0
            up = model.parents[up]
        size = joint.nv
        before[own, own] = np.triu(np.ones((size, size)), 1) if joint.kind.flat else 1.0
