"""The known terms of the boundary-value problem: forces b and accelerations n that neither τ nor θ̈ makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.estimation.link_arrays import over_links
from phistar.identities import smoothing
from phistar.model import Model
from phistar.stated import states


@states(
    lambda s: {"force": smoothing.known_forces(s), "motion": smoothing.known_motions(s, driven=False)}, form=AS_WRITTEN
)
def known_terms(
    model: Model, q: Any, vectors: Mapping[str, Any], frames: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """b and n, (…, n, 6) each: gyroscopic forces, gravity and loads f of frames; bias accelerations (R87 eqs. 7, 15).

    `vectors` has v (…, nv) and, with frames, f (…, 6·frames).
    """
    found = known_terms.evaluate_all(model, q, vectors, frames)
    return over_links(model, found["force"], columns=False), over_links(model, found["motion"], columns=False)
