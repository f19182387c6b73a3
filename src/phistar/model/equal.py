"""Models that are equal, as one: what is compiled for a model is kept on it, and serves all that are equal to it."""

from __future__ import annotations

from functools import lru_cache

from phistar.model.model import Model


@lru_cache(maxsize=16)
def first_equal(model: Model) -> Model:
    """The first model of the same mechanism that was asked for: runs of a campaign, for example, have many."""
    return model
