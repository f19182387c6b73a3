"""Maps between independent rates and those of the spanning tree of an embedded mechanism, recorded and compiled.

X, Xv, Xa + Ẋv, Newton's step −N(QN)⁻¹g towards closed loops, and the rows Q themselves, each a function of a model in
independent rates on floats (…, n) and traced scalars (n,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.choice import is_wide_written
from phistar.backends.recorded import Recorded
from phistar.loops.closure import row_count
from phistar.model import Model
from phistar.model.compound import group_model
from phistar.spatial import times


def quietly(recorded: Recorded, *arguments: Any) -> Any:
    """What is recorded, where a NaN of one state is no warning."""
    with np.errstate(invalid="ignore"):
        return recorded(*arguments)


def rates_of_tree(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Xv, on floats (…, n) and traced scalars (n,)."""
    embedding = model.embedding
    links = embedding.mechanism(q)
    moved = [times(x, v[..., own]) for x, own in zip(links.maps, embedding.rates, strict=True)]
    return _over_tree(embedding, moved)


def map_of_rates(model: Model, q: np.ndarray) -> np.ndarray:
    """X, (…, nv of the tree, nv)."""
    embedding = model.embedding
    links = embedding.mechanism(q)
    whole = np.zeros((*q.shape[:-1], embedding.closed.nv, embedding.count), dtype=np.result_type(float, q))
    for x, group, own in zip(links.maps, embedding.groups, embedding.rates, strict=True):
        whole[..., list(group.rates), own] = x
    return whole


def rows_of_closures(model: Model, q: np.ndarray) -> np.ndarray:
    """Q of each link, one after the other, flat."""
    flat = [np.zeros((*q.shape[:-1], 0))]
    for k, own in enumerate(model.embedding.mechanism(q).members):
        shape = row_shape(model.embedding, k)
        if shape[0]:
            flat.append(np.broadcast_to(own.rows, (*q.shape[:-1], *shape)).reshape(*q.shape[:-1], -1))
    return np.concatenate(flat, axis=-1)


def row_shape(embedding: Any, k: int) -> tuple[int, int]:
    group = embedding.groups[k]
    return row_count(group_model(embedding.closed, group)), len(group.rates)


def accelerations_of_tree(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Xa + Ẋv."""
    embedding = model.embedding
    links, moved = embedding.mechanism(q), []
    for k, (x, own) in enumerate(zip(links.maps, embedding.rates, strict=True)):
        drift = embedding.drift_of(k, links.members[k], times(x, v[..., own]))
        moved.append(times(x, a[..., own]) + drift)
    return _over_tree(embedding, moved)


def closing_step(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step −N(QN)⁻¹g (…, nv of the tree) towards closed loops, and g*g over all of them (…)."""
    embedding = model.embedding
    links, moved, squares = embedding.mechanism(q), [], 0.0
    for k, own in enumerate(links.members):
        if embedding.is_free(k):
            moved.append(np.zeros((*q.shape[:-1], len(own.group.rates))))
            continue
        gap = own.at_rest.residual
        answer = embedding.answered(k, own.rows, gap[..., None])
        moved.append(-np.matmul(embedding.others[k], answer)[..., 0])
        squares = squares + np.sum(gap * gap, axis=-1)
    return _over_tree(embedding, moved), squares + np.zeros(q.shape[:-1])


def _over_tree(embedding: Any, parts: list[np.ndarray]) -> np.ndarray:
    """Entries group by group, (…, n) each, in the order of the spanning tree's rates."""
    batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    whole = np.zeros((*batch, embedding.closed.nv), dtype=np.result_type(float, *parts))
    for group, part in zip(embedding.groups, parts, strict=True):
        whole[..., list(group.rates)] = part
    return whole


def _tree_rates(model: Model) -> tuple[tuple[int, ...], ...]:
    return ((model.embedding.closed.nv,),)


FULL_RATES = Recorded(
    "rates of the tree", ("q", "v"), ("rates",), lambda *x: (rates_of_tree(*x),), _tree_rates, is_wide_written
)
FULL_ACCELERATIONS = Recorded(
    "accelerations of the tree",
    ("q", "v", "a"),
    ("accelerations",),
    lambda *x: (accelerations_of_tree(*x),),
    _tree_rates,
    is_wide_written,
)
RATE_MAP = Recorded(
    "rate map",
    ("q",),
    ("map",),
    lambda *x: (map_of_rates(*x),),
    lambda model: ((model.embedding.closed.nv, model.nv),),
    is_wide_written,
)
CLOSURE_ROWS = Recorded(
    "closure rows",
    ("q",),
    ("rows",),
    lambda *x: (rows_of_closures(*x),),
    lambda model: ((sum(int(np.prod(row_shape(model.embedding, k))) for k in range(len(model.embedding.groups))),),),
    is_wide_written,
)
CLOSING_STEP = Recorded(
    "closing step", ("q",), ("shift", "gap"), closing_step, lambda model: (*_tree_rates(model), ()), is_wide_written
)
