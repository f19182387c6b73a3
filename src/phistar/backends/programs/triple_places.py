"""Which entries of second derivatives can be nonzero: three rates of which each carries, or is carried by, the others;
and how they stand to one another, which decides how an entry is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from phistar.backends.links.common_frame import single_axes
from phistar.backends.links.link_sizes import has_wide_links, link_parents, link_size, links_of
from phistar.model import Model

SAME, INSIDE, OUTSIDE = 0, -1, 1
_AXES = ((1, 0, 2), (2, 0, 1), (0, 1, 2), (0, 2, 1))
Triple = tuple[int, int, int]
Masks = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Group:
    """Entries of a table whose joints stand alike, of n rates. `axes` are the axes of an entry by what is done with
    them: the one whose vector comes last, that of the outermost rate, and the one between; `sides` where the last
    rate's joint is to the outermost one's, the one between to it, and the last to the one between.

    `outer` are the outermost rates, `pairs` (2, p) numbers of these and the rates between; an entry `at` a place of the
    table is `last`, a rate, and `pair`, a number."""

    axes: Triple
    sides: Triple
    at: np.ndarray
    outer: np.ndarray
    pairs: np.ndarray
    last: np.ndarray
    pair: np.ndarray

    def side(self, axis: int, other: int) -> int:
        """Relation of the joint of one axis to that of another."""
        last, outer, between = self.axes
        known = {(last, outer): self.sides[0], (between, outer): self.sides[1], (last, between): self.sides[2]}
        return SAME if axis == other else known[axis, other] if (axis, other) in known else -known[other, axis]


def group_places(places: np.ndarray, joints: np.ndarray, carries: np.ndarray) -> Iterator[Group]:
    """Rows, columns and directions (m, 3) of a table, by how they stand."""
    if not len(places):
        return
    theirs = joints[places]
    row, column, along = carries.sum(axis=0)[theirs].T  # how deep they are
    first = np.where(column <= along, 0, 1), np.where(column > along, 2, 3)  # of a row outside of both: the innermost
    order = np.where(row > np.maximum(column, along), *first)
    last, outer, between = np.take_along_axis(theirs, np.array(_AXES)[order], axis=1).T
    code = order
    for a, b in ((last, outer), (between, outer), (last, between)):
        code = 3 * code + np.where(a == b, SAME, np.where(carries[a, b], INSIDE, OUTSIDE)) % 3
    for number in np.unique(code).tolist():
        axes = _AXES[number // 27]
        sides = tuple((number // n % 3 + 1) % 3 - 1 for n in (9, 3, 1))
        at = np.flatnonzero(code == number)
        rates = places[at]
        ends, which = np.unique(rates[:, axes[1]], return_inverse=True)
        pairs, pair = np.unique(which * len(joints) + rates[:, axes[2]], return_inverse=True)
        both = np.stack(np.divmod(pairs, len(joints)))
        yield Group(axes, (sides[0], sides[1], sides[2]), at, ends, both, rates[:, axes[0]], pair)


def joints_of_rates(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The joint of each rate, with constant axes, or the link that bends by it or is of several bodies; which of them
    carry which, each of them itself."""
    single = model if has_wide_links(model) else single_axes(model)
    parents = link_parents(single)
    carries = np.eye(len(parents), dtype=bool)
    for link, parent in enumerate(parents):
        if parent >= 0:
            carries[:, link] |= carries[:, parent]
    return np.repeat(np.arange(len(parents)), [link_size(single, k)[1] for k in range(len(parents))]), carries


def on_one_way(model: Model, exact: Collection[str]) -> dict[str, np.ndarray]:
    """Places (m, 3) of the second derivatives of joint forces, symmetric ones once; of those that are `exact` without
    what vanishes."""
    joint, carries = joints_of_rates(model)
    related = (carries | carries.T)[np.ix_(joint, joint)]
    i, j, k = np.nonzero(related[:, :, None] & related[:, None, :] & related[None, :, :])
    places = np.stack([i, j, k], axis=1)
    kept = {"dqdq": k >= j, "dqdv": k >= 0, "dvdv": k >= j, "dadq": j >= i}
    gone = _vanishing(i, j, k, carries[np.ix_(joint, joint)], np.bincount(joint)[joint] == 1)
    return {name: places[own & ~gone[name] if name in exact else own] for name, own in kept.items()}


def _vanishing(i: np.ndarray, j: np.ndarray, k: np.ndarray, carries: np.ndarray, alone: np.ndarray) -> Masks:
    """Places whose terms cancel. ℳ_ij does not change with a joint k that carries both: it moves all that either feels
    of the other. So a joint of one rate i feels no v_i v_k with such a k, by Christoffel's symbols
    ∂ℳ_ii/∂q_k + ∂ℳ_ik/∂q_i − ∂ℳ_ik/∂q_i, nor does ∂τ_i/∂v_i change with q_k."""
    return {
        "dqdq": np.zeros(i.shape, dtype=bool),
        "dqdv": alone[i] & (i == k) & carries[j, i],
        "dvdv": alone[i] & ((carries[k, i] & (i == j)) | (carries[j, i] & (i == k))),
        "dadq": carries[k, i] & carries[k, j],
    }


def turning(model: Model) -> np.ndarray:
    """Whether two rates are of one link that a quaternion joint moves, (nv, nv)."""
    found, start = np.zeros((model.nv, model.nv), dtype=bool), 0
    for k, bodies in enumerate(links_of(model)):
        rates = slice(start, start := start + link_size(model, k)[1])
        found[rates, rates] = any(not model.joints[body].kind.flat for body in bodies)
    return found
