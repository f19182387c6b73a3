"""The closures of a mechanism along its tree: where each opens and is closed.

A closure is open at a link when one of its frames or joints is on it or beyond, and closes where all are; at each link
those that close there come first. In an order of links that ends one branch before it begins the next, few are open at
a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phistar.model import Model
from phistar.model.parts import CoupledJoints


@dataclass(frozen=True, eq=False)
class ClosingLayout:
    """Links in an order with children before their parents; for each loop the links that it is opened at and the one
    where it closes, the world being their number; and the loops that are open at each link and, last, at the world."""

    order: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]
    closes: tuple[int, ...]
    opened: tuple[tuple[int, ...], ...]


def closing_layout(model: Model) -> ClosingLayout:
    """The layout of a model, kept on it."""
    return model.kept("closing_layout", lambda: _layout(model))


def _layout(model: Model) -> ClosingLayout:
    places, order = [_places(model, loop) for loop in model.loops], _depth_first(model)
    closes = [_common(model, loop, where) for loop, where in zip(model.loops, places, strict=True)]
    opened = _open_loops(model, order, places, closes)
    return ClosingLayout(tuple(order), tuple(map(tuple, places)), tuple(closes), tuple(map(tuple, opened)))


def _places(model: Model, loop: Any) -> list[int]:
    """The links from which a loop is open, and the world as their number: of a coupling, those its joints carry."""
    n = len(model.bodies)
    if isinstance(loop, CoupledJoints):
        return [model.joint(name).body for name in (loop.joint_a, loop.joint_b) if name is not None]
    bodies = (model.frame(name).body for name in (loop.frame_a, loop.frame_b))
    return [body if body >= 0 else n for body in bodies]


def _common(model: Model, loop: Any, where: list[int]) -> int:
    """The link where a loop closes: the nearest that carries all it joins, or the world."""
    n, ways = len(model.bodies), []
    for body in where:
        if isinstance(loop, CoupledJoints):
            body = model.parents[body]
        way = []
        while 0 <= body < n:
            way.append(body)
            body = model.parents[body]
        ways.append(way)
    first, *others = ways
    return next((body for body in first if all(body in way for way in others)), n)


def _depth_first(model: Model) -> list[int]:
    """Links, children before their parents, branch after branch and the largest first: what is open in the others is
    opened late."""
    n = len(model.bodies)
    sizes, children = [1] * n, list[list[int]]([] for _ in range(n + 1))
    for k in range(n - 1, -1, -1):
        parent = model.parents[k]
        children[parent if parent >= 0 else n].append(k)
        if parent >= 0:
            sizes[parent] += sizes[k]
    found, waiting = [], sorted(children[n], key=sizes.__getitem__, reverse=True)
    while waiting:  # parents first and the smallest branch first, which is then turned round
        found.append(waiting.pop())
        waiting += sorted(children[found[-1]], key=sizes.__getitem__, reverse=True)
    return found[::-1]


def _open_loops(model: Model, order: list[int], places: list[list[int]], closes: list[int]) -> list[list[int]]:
    """The loops that are open at each link and at the world, those that close there first."""
    n = len(model.bodies)
    opened: list[set[int]] = [set() for _ in range(n + 1)]
    for loop, where in enumerate(places):
        for body in where:
            opened[body].add(loop)
    for k in order:
        above = model.parents[k]
        opened[above if above >= 0 else n] |= {loop for loop in opened[k] if closes[loop] != k}
    return [sorted(own, key=lambda loop: (closes[loop] != k, loop)) for k, own in enumerate(opened)]
