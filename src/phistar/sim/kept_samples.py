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
    number, sign = world.pair_numbers
    rows, pushed, met = [], 0, 0
    for sample, (pushing, meeting) in zip(table, counts, strict=True):
        own, pairs = slice(pushed, pushed + pushing), slice(met, met + meeting)
        pushed, met = own.stop, pairs.stop
        a, b = tables["kept_shapes"][own].T
        places = tables["kept_pushing"][own]
        often = 1.0 / sample[k.SAMPLE_PART]
        axes = places[:, 3:12].reshape(-1, 3, 3)[:, [1, 2, 0]]
        force = np.einsum("nk,nki->ni", places[:, 12:], axes) * (often * sign[a, b])[:, None]
        first, second = tables["kept_met_shapes"][pairs].T
        rows.append(
            {
                "q": sample[k.SAMPLE_FLOATS : k.SAMPLE_FLOATS + model.nq],
                "v": sample[k.SAMPLE_FLOATS + model.nq :],
                "met_pair": number[a, b],
                "met_normal": places[:, 14] * often,
                "contact_pair": number[a, b],
                "contact_point": places[:, :3].copy(),
                "contact_vector": force,
                "contact_moment": np.zeros((pushing, 3)),
                "given_pair": number[first, second],
                "given": tables["kept_met"][pairs].copy(),
                "residual": float(sample[k.SAMPLE_RESIDUAL]),
                "error": float(sample[k.SAMPLE_ERROR]),
                "steps": int(sample[k.SAMPLE_STEPS]),
                "unsettled": bool(sample[k.SAMPLE_UNSETTLED]),
            }
        )
    wholes[[k.SAMPLES, k.KEPT_PUSHING, k.KEPT_MET]] = 0
    return rows
