"""Order of a plant's rates, whose screws in the world, [ω; v] at its origin, change with the configuration.

Moving along rate j carries screw k with it where j stands before k: ∂s_k/∂δ_j = ad(s_j) s_k. A free body's own rates
are those of its centre of mass, in world axes: moved sideways, its spins' axes go along. A mode has a screw at each
node, and moves what that node carries; modes of one body bend each other's (`bending_tangents.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.constraints import columns as c
from phistar.plant.stations import numbers_on


@dataclass(frozen=True, eq=False)
class RateOrder:
    """Order of an engine's R rates, node after node: `rates` of the model, `before` (R, R), and the rows of the screws
    by which rates move each place (places + 1, R), by the step's number, the world last; the last row moves nothing."""

    rates: np.ndarray
    before: np.ndarray
    screws: np.ndarray

    @staticmethod
    def of(engine: Any) -> RateOrder:
        system, table = engine.system, engine.tables
        model, total, still = system.model, system.model.nv, len(table["screws"]) - 1
        rates, before = np.zeros(total, int), np.zeros((total, total))
        screws = np.full((len(system.places) + 1, total), still)
        for f, body in enumerate(system.free):
            own = slice(6 * f, 6 * f + 6)
            rates[own] = np.arange(total)[model.joints[body].v_slice]
            before[6 * f + 3 : 6 * f + 6, 6 * f : 6 * f + 3] = 1.0
            screws[f, own] = np.arange(6 * f, 6 * f + 6)
        for node, tree in enumerate(system.trees, start=len(system.free)):
            at, size = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN]])
            rates[at : at + size] = table["rate_of"][at : at + size]
            for number in numbers_on(system, tree):
                own = number * int(table["counts"][c.WIDEST])
                screws[number, at : at + size] = table["screw_of"][own : own + size]
            _order_tree(model, tree, at, before)
        return RateOrder(rates, before, screws)


def _order_tree(model: Any, tree: tuple[int, ...], at: int, before: np.ndarray) -> None:
    starts, place = {}, at
    for body in tree:
        starts[body] = slice(place, place + len(model.bodies[body].rates))
        place = starts[body].stop
    for body in tree:
        own, joint = starts[body], model.joints[body]
        up = model.parents[body]
        while up >= 0:
            before[starts[up], own] = 1.0
            up = model.parents[up]
        size = joint.nv
        turned, modes = slice(own.start, own.start + size), slice(own.start + size, own.stop)
        before[turned, turned] = np.triu(np.ones((size, size)), 1) if joint.kind.flat else 1.0
        before[turned, modes] = 1.0
