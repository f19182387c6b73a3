"""The links of a robot in an order in which what one carries follows it, and where the columns of each stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phistar.model import Model

GROUP = 4  # columns abreast
STEP = ("case", "first", "stop", "end", "clear", "source", "target", "rows")
"""Numbers of a link in the table of links: which case of rates; where its columns begin and stop, and where those of
what it carries end; where columns of branches begin that were left before it; the layers of what outward regions hand
on that it takes over and works on; where its blocks begin."""


@dataclass(frozen=True, eq=False)
class Walk:
    """`order`: numbers of the links; `steps` (links, STEP) but for blocks; `place`: the joint rate of each column, −1
    where none stands; how many layers are needed."""

    order: tuple[int, ...]
    steps: np.ndarray
    place: np.ndarray
    layers: int

    def runs(self) -> np.ndarray:
        """Stretches where columns follow the robot's order: from where, how far, and what is first."""
        found: list[list[int]] = []
        for position, rate in enumerate(self.place.tolist()):
            if found and rate >= 0 and position == sum(found[-1][:2]) and rate == found[-1][1] + found[-1][2]:
                found[-1][1] += 1
            elif rate >= 0:
                found.append([position, 1, rate])
        return np.array(found, dtype=np.int64).reshape(-1, 3)


def walk_tree(model: Model) -> Walk:
    """Walk the tree, children in order; the last child goes on with its parent's layer, others with copies. A limb
    begins at a whole group, so that groups of what a link carries hold nothing else."""
    steps: list[list[int]] = []
    order: list[int] = []
    place: list[int] = []
    free: list[int] = []
    rates = sorted({joint.nv for joint in model.joints})
    number: dict[int, int] = {}
    stop, layer_of, layers = {-1: 0}, {-1: -1}, 0
    waiting = [(k, False) for k, parent in reversed(list(enumerate(model.parents))) if parent < 0]
    while waiting:
        k, is_over = waiting.pop()
        if is_over:
            steps[number[k]][3] = -(-len(place) // GROUP) * GROUP
            continue
        parent, joint = model.parents[k], model.joints[k]
        siblings = model.children[parent] if parent >= 0 else ()
        if len(siblings) != 1:
            place += [-1] * (-len(place) % GROUP)
        target = layer_of[parent]
        if not siblings or siblings[-1] != k:
            target, layers = (free.pop(), layers) if free else (layers, layers + 1)
        first = len(place)
        place += range(joint.v_slice.start, joint.v_slice.stop)
        number[k], stop[k], layer_of[k] = len(steps), len(place), target
        steps.append([rates.index(joint.nv), first, len(place), 0, stop[parent], layer_of[parent], target, 0])
        order.append(k)
        if not model.children[k]:
            free.append(target)
        waiting += [(k, True), *((child, False) for child in reversed(model.children[k]))]
    place += [-1] * (-len(place) % GROUP)
    return Walk(tuple(order), np.array(steps, dtype=np.int64), np.array(place, dtype=np.int64), layers)
