"""Samples of a run as columns: of rows that were kept one by one, and of those that the compiled loop kept itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.plant import course_columns as k
from phistar.plant.session import Session
from phistar.sim.sampled_contacts import ContactColumns, columns_of
from phistar.sim.world import World

BOOKED = ("work", "throughput", "loss", "outside", "stored")
KEPT = {
    "residual": k.SAMPLE_RESIDUAL,
    "error": k.SAMPLE_ERROR,
    "steps": k.SAMPLE_STEPS,
    "work": k.SAMPLE_WORK,
    "throughput": k.SAMPLE_THROUGHPUT,
    "loss": k.SAMPLE_LOSS,
    "stored": k.SAMPLE_STORED,
}


class Samples(NamedTuple):
    """Columns over T samples: times, states, joint forces, what touches, how well steps did since the sample before,
    the smallest gap since then, and the books: work, throughput, loss, impulse from outside (T, 6), stored energy."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    residual: np.ndarray
    error: np.ndarray
    steps: np.ndarray
    distance: np.ndarray
    contacts: ContactColumns
    work: np.ndarray
    throughput: np.ndarray
    loss: np.ndarray
    outside: np.ndarray
    stored: np.ndarray


class Extremes(NamedTuple):
    """Extremes over all steps: the largest force at one place, N; steps that did not settle, and their residual."""

    peak: float
    unsettled: int
    missed: float


def samples_of(rows: Sequence[Mapping[str, Any]]) -> Samples:
    """Rows as columns; those of a run without books have zeros there."""
    nothing = dict.fromkeys(BOOKED, 0.0) | {"outside": np.zeros(6)}
    names = [name for name in Samples._fields if name != "contacts"]
    columns = {name: np.array([row.get(name, nothing.get(name)) for row in rows], dtype=float) for name in names}
    return Samples(**columns, contacts=columns_of(rows))


def join_samples(parts: Sequence[Samples]) -> Samples:
    """Samples one after the other."""
    if len(parts) == 1:
        return parts[0]
    found = {name: [getattr(part, name) for part in parts] for name in Samples._fields}
    contacts = ContactColumns(*(np.concatenate(own) for own in zip(*found.pop("contacts"), strict=True)))
    return Samples(**{name: np.concatenate(own) for name, own in found.items()}, contacts=contacts)


def take_samples(world: World, session: Session, times: Sequence[float]) -> tuple[Samples, Extremes]:
    """The samples in a session's tables, which are emptied; `times` are those of the next and all that follow."""
    tables, wholes, model = session.engine.tables, session.engine.tables["course_wholes"], session.model
    count = int(wholes[k.SAMPLES])
    width = k.SAMPLE_FLOATS + model.nq + model.nv
    table = tables["samples"][: count * width].reshape(count, width).copy()
    contacts = _contacts(world, session, table[:, k.SAMPLE_PART], count)
    first, last = wholes[[k.MET_FIRST, k.KEPT_MET]].tolist()
    for name in ("kept_met", "kept_met_shapes"):  # of a sample that is not reached yet
        tables[name][: last - first] = tables[name][first:last].copy()
    wholes[[k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET, k.MET_FIRST]] = 0, 0, last - first, 0
    head, states = table[:, : k.SAMPLE_FLOATS], table[:, k.SAMPLE_FLOATS :]
    lowest = np.where(head[:, k.SAMPLE_LOWEST] < 1e299, head[:, k.SAMPLE_LOWEST], np.inf)
    made = Samples(
        t=np.array(times[:count]),
        q=states[:, : model.nq],
        v=states[:, model.nq :],
        tau=np.zeros((count, model.nv)),
        distance=lowest,
        contacts=contacts,
        outside=head[:, k.SAMPLE_OUTSIDE :],
        **{name: head[:, own] for name, own in KEPT.items()},
    )
    peak, missed = (float(head[:, own].max(initial=0.0)) for own in (k.SAMPLE_HIGHEST, k.SAMPLE_MISSED))
    return made, Extremes(peak, int(head[:, k.SAMPLE_UNSETTLED].sum()), missed)


def _contacts(world: World, session: Session, part: np.ndarray, count: int) -> ContactColumns:
    """Contacts that pushed at each sample, whose last step had a part of such a length, and impulses before it."""
    tables, wholes = session.engine.tables, session.engine.tables["course_wholes"]
    pushed, met = int(wholes[k.KEPT_PUSHING]), int(wholes[k.MET_FIRST])
    counts, (number, sign) = tables["sample_counts"][:count].T.copy(), world.pair_numbers
    a, b = tables["kept_shapes"][:pushed].T
    places, pair, often = tables["kept_pushing"][:pushed].copy(), number[a, b], np.repeat(1.0 / part, counts[0])
    axes = places[:, 3:12].reshape(-1, 3, 3)[:, [1, 2, 0]]
    force = np.einsum("nk,nki->ni", places[:, 12:], axes) * (often * sign[a, b])[:, None]
    x, y = tables["kept_met_shapes"][:met].T
    pushing = counts[0], pair, places[:, :3], force, np.zeros((pushed, 3))
    meeting = counts[0], pair, places[:, 14] * often
    return ContactColumns(*pushing, *meeting, counts[1], number[x, y], tables["kept_met"][:met].copy())
