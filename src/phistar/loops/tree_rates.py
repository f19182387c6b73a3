"""Maps between independent rates and those of the spanning tree of an embedded mechanism, recorded and compiled.

X, Xv, Xa + Ẋv, Newton's step −N(QN)⁻¹g towards closed loops, and the rows Q themselves, each a function of a model in
independent rates on floats (…, n) and traced scalars (n,).
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from phistar.backends.choice import is_wide_written
from phistar.backends.link_map_kernel import LinkMap
from phistar.backends.recorded import Recorded
from phistar.backends.traces.trace import is_traced
from phistar.loops.closure import row_count
from phistar.model import Model
from phistar.model.compound import group_model
from phistar.spatial import times, transposed


def quietly(recorded: Recorded, *arguments: Any) -> Any:
    """Call a recorded function without warnings about NaN."""
    with np.errstate(invalid="ignore"):
        return recorded(*arguments)


# Of one link, `links` being the mechanism at a configuration.


def _rates(links: Any, k: int, v: np.ndarray) -> tuple[np.ndarray]:
    """Xv."""
    return (times(links.map(k), v),)


def _accelerations(links: Any, k: int, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray]:
    """Xa + Ẋv."""
    drift = links.embedding.drift_of(k, links.members[k], times(links.map(k), v))
    return (times(links.map(k), a) + drift,)


def _map(links: Any, k: int) -> tuple[np.ndarray]:
    """X."""
    return (links.map(k),)


def _rows(links: Any, k: int) -> tuple[np.ndarray]:
    """Q, row after row."""
    own, shape = links.members[k], row_shape(links.embedding, k)
    if not shape[0]:
        return (np.zeros((*own.q.shape[:-1], 0)),)
    return (np.broadcast_to(own.rows, (*own.q.shape[:-1], *shape)).reshape(*own.q.shape[:-1], -1),)


def link_closing(links: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Newton's step −N(QN)⁻¹g towards closed loops, and g*g."""
    own = links.members[k]
    if links.embedding.is_free(k):
        return np.zeros((*own.q.shape[:-1], len(own.group.rates))), np.zeros(own.q.shape[:-1])
    gap = own.at_rest.residual
    answer = links.embedding.answered(k, own.rows, gap[..., None])
    return -np.matmul(links.embedding.others[k], answer)[..., 0], np.sum(gap * gap, axis=-1)


def _forces(links: Any, k: int, tau: np.ndarray) -> tuple[np.ndarray]:
    """X*T."""
    return (times(transposed(links.map(k)), tau),)


def row_shape(embedding: Any, k: int) -> tuple[int, int]:
    group = embedding.groups[k]
    return row_count(group_model(embedding.closed, group)), len(group.rates)


# Of all links


def _independent(model: Model, k: int) -> range:
    own = model.embedding.rates[k]
    return range(own.start, own.stop)


def _of_tree(model: Model, k: int) -> tuple[int, ...]:
    return model.embedding.groups[k].rates


def _of_map(model: Model, k: int) -> list[int]:
    return [i * model.nv + j for i in _of_tree(model, k) for j in _independent(model, k)]


def _of_rows(model: Model, k: int) -> range:
    def count_rows() -> np.ndarray:
        return np.cumsum([0, *(prod(row_shape(model.embedding, i)) for i in _all(model))])

    ends = model.kept("ends of closure rows", count_rows)
    return range(int(ends[k]), int(ends[k + 1]))


def _all(model: Model) -> range:
    return range(len(model.embedding.groups))


def _whole(model: Model) -> tuple[int]:
    return (model.embedding.closed.nv,)


def _rates_each(model: Model, count: int) -> tuple[int, ...]:
    return (model.nv,) * count


MAPS = {
    "rates of the tree": LinkMap(
        "rates of the tree",
        _rates,
        {"v": _independent},
        {"rates": _of_tree},
        partial(_rates_each, count=1),
        lambda model: (_whole(model),),
    ),
    "accelerations of the tree": LinkMap(
        "accelerations of the tree",
        _accelerations,
        {"v": _independent, "a": _independent},
        {"accelerations": _of_tree},
        partial(_rates_each, count=2),
        lambda model: (_whole(model),),
    ),
    "rate map": LinkMap(
        "rate map", _map, {}, {"map": _of_map}, lambda _: (), lambda model: ((*_whole(model), model.nv),)
    ),
    "closure rows": LinkMap(
        "closure rows",
        _rows,
        {},
        {"rows": _of_rows},
        lambda _: (),
        lambda model: ((_of_rows(model, len(_all(model)) - 1).stop,),),
    ),
    "closing step": LinkMap(
        "closing step",
        link_closing,
        {},
        {"shift": _of_tree, "gap": lambda model, k: (0,)},
        lambda _: (),
        lambda model: (_whole(model), ()),
        ("gap",),
    ),
}
FORCES = LinkMap(
    "forces of independent rates",
    _forces,
    {"tau": _of_tree},
    {"forces": _independent},
    _whole,
    partial(lambda m: ((m.nv,),)),
)


def independent_forces(model: Model, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """X*T, (…, nv), on floats (…, n) and traced scalars (n,)."""
    if is_traced(q, tau) or is_wide_written(model) or not model.nv:
        return times(transposed(quietly(RATE_MAP, model, q)), tau)
    kernel = model.kept(FORCES.name, lambda: FORCES.kernel(model))
    with np.errstate(invalid="ignore"):
        return kernel(q, {"tau": tau})["forces"]


def _record_links(name: str) -> Recorded:
    """The map of all links: written out where they are few, else link by link."""
    own = MAPS[name]

    def all_links(model: Model, q: np.ndarray, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
        links = model.embedding.mechanism(q)
        given = [
            [x[..., list(mine(model, k))] for k in _all(model)]
            for mine, x in zip(own.inputs.values(), vectors, strict=True)
        ]
        made = [own.function(links, k, *(x[k] for x in given)) for k in _all(model)]
        return tuple(_put_together(model, own, i, q, [x[i] for x in made]) for i in range(len(own.outputs)))

    return Recorded(name, ("q", *own.inputs), tuple(own.outputs), all_links, own.shapes, is_wide_written, own.kernel)


def _put_together(model: Model, own: LinkMap, output: int, q: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    """A result of all links, from what each makes."""
    (name, entries), shape = list(own.outputs.items())[output], own.shapes(model)[output]
    if name in own.summed:
        return sum(parts, np.zeros(q.shape[:-1]))
    core = len(shape)
    leading = [x.shape[: x.ndim - core] for x in parts]
    batch = np.broadcast_shapes(q.shape[:-1], *leading)
    whole = np.zeros((*batch, prod(shape)), dtype=np.result_type(float, *parts))
    for k, part in enumerate(parts):
        flat = np.broadcast_to(part, (*batch, *part.shape[part.ndim - core :])).reshape(*batch, -1)
        whole[..., list(entries(model, k))] = flat
    return whole.reshape(*batch, *shape)


FULL_RATES, FULL_ACCELERATIONS = _record_links("rates of the tree"), _record_links("accelerations of the tree")
RATE_MAP, CLOSURE_ROWS, CLOSING_STEP = (_record_links(name) for name in ("rate map", "closure rows", "closing step"))
