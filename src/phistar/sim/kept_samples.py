"""Rows of a run that the compiled loop went through by itself: what its tables kept of each sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.plant import course_columns as k
from phistar.plant.session import Session
from phistar.sim.world import World


def take_samples(world: World, session: Session) -> list[dict[str, Any]]:
    """Rows of the samples in a session's tables, which are emptied: q, v, contacts and how well forces settled."""
    tables, wholes, model = session.engine.tables, session.engine.tables["course_wholes"], session.model
    count = int(wholes[k.SAMPLES])
    width = k.SAMPLE_FLOATS + model.nq + model.nv
    table = tables["samples"][: count * width].reshape(count, width).copy()
    counts = tables["sample_counts"][:count].tolist()
    pushed, met = (int(wholes[column]) for column in (k.KEPT_PUSHING, k.KEPT_MET))
    number, sign = world.pair_numbers
    a, b = tables["kept_shapes"][:pushed].T
    places, given = tables["kept_pushing"][:pushed].copy(), tables["kept_met"][:met].copy()
    often = np.repeat(1.0 / table[:, k.SAMPLE_PART], tables["sample_counts"][:count, 0])
    axes = places[:, 3:12].reshape(-1, 3, 3)[:, [1, 2, 0]]
    force = np.einsum("nk,nki->ni", places[:, 12:], axes) * (often * sign[a, b])[:, None]
    normal, pushing_pair, moment = places[:, 14] * often, number[a, b], np.zeros((pushed, 3))
    met_pair = number[tuple(tables["kept_met_shapes"][:met].T)]
    rows, pushed, met = [], 0, 0
    for sample, (pushing, meeting) in zip(table, counts, strict=True):
        own, pairs = slice(pushed, pushed + pushing), slice(met, met + meeting)
        pushed, met = own.stop, pairs.stop
        rows.append(
            {
                "q": sample[k.SAMPLE_FLOATS : k.SAMPLE_FLOATS + model.nq],
                "v": sample[k.SAMPLE_FLOATS + model.nq :],
                "met_pair": pushing_pair[own],
                "met_normal": normal[own],
                "contact_pair": pushing_pair[own],
                "contact_point": places[own, :3],
                "contact_vector": force[own],
                "contact_moment": moment[own],
                "given_pair": met_pair[pairs],
                "given": given[pairs],
                "residual": float(sample[k.SAMPLE_RESIDUAL]),
                "error": float(sample[k.SAMPLE_ERROR]),
                "steps": int(sample[k.SAMPLE_STEPS]),
                "unsettled": bool(sample[k.SAMPLE_UNSETTLED]),
            }
        )
    wholes[[k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET]] = 0
    return rows
