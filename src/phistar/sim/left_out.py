"""Warnings of model features that a simulator leaves out, logged once each to `phistar`."""

from __future__ import annotations

import logging

import numpy as np

from phistar.errors import PhistarError
from phistar.model import Model

_log = logging.getLogger("phistar")
_told: dict[tuple[str, bytes], None] = {}
MOST_TOLD = 10_000  # models remembered


def check_limits(where: str, limits: str) -> bool:
    """Whether joints stop at their limits."""
    if limits not in ("stop", "ignore"):
        raise PhistarError(f"{where} takes limits='stop' or 'ignore'; it was given {limits!r:.50}.")
    return limits == "stop"


def tell_left_out(where: str, model: Model, dry_friction: bool = False) -> None:
    """Warn of joint limits and dry friction that a model has and `where` ignores or only approximates, once."""
    key = (where, model.key)
    if key in _told:
        return
    while len(_told) >= MOST_TOLD:
        del _told[next(iter(_told))]
    _told[key] = None
    found = []
    limited = [joint.name for joint in model.joints if np.isfinite(joint.kind.limits).any()]
    dry = [joint.name for joint in model.joints if np.any(joint.kind.friction)]
    if limited:
        found.append(f"leaves out the limits of joints ({_some(limited)}), which may be passed")
    if dry_friction and dry:
        found.append(f"lets dry friction creep ({_some(dry)}): joints that it would hold move slowly")
    if found:
        told = "A ps.Plant and a ps.Scene have both; limits='ignore' says that this is meant."
        _log.warning("%s of %s %s. %s", where, model.name, ", and ".join(found), told)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")
