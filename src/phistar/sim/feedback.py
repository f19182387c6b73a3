"""Gains that vary in time, inside a rollout's kernel: u = u_k − K_k [q ⊖ q_k; v − v_k]."""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.code.timeloop import Memory, Phase, record
from phistar.backends.traces.arrays import traced
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.model.manifold import between


def feedback_rows(model: Model, feedback: Any, around: Any, steps: int | None) -> np.ndarray:
    """Inputs of each step, (…, steps, r): u_k, q_k, v_k and K_k, concatenated."""
    nv = model.nv
    if around is None or not isinstance(around, tuple | list) or len(around) != 3:
        raise PhistarError("feedback acts around a motion: give around=(q, v, u) with a row for each step.")
    gains = np.asarray(feedback, dtype=float)
    if gains.ndim < 3 or gains.shape[-2:] != (nv, 2 * nv) or steps not in (None, gains.shape[-3]):
        wanted = "steps" if steps is None else steps
        raise ShapeError(f"feedback has shape {gains.shape}; {model.name} needs (…, {wanted}, {nv}, {2 * nv}).")
    count, (q, v, u) = gains.shape[-3], around
    parts = [model.checked(u, nv, "around's u"), model.checked_q(q, "around's q"), model.checked(v, nv, "around's v")]
    for name, part in zip("uqv", parts, strict=True):
        if part.ndim < 2 or part.shape[-2] not in ((count,) if name == "u" else (count, count + 1)):
            raise ShapeError(f"around's {name} has shape {part.shape}; it needs a row for each of {count} steps.")
    columns = [*(part[..., :count, :] for part in parts), gains.reshape(*gains.shape[:-2], -1)]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in columns))
    except ValueError:
        raise ShapeError("The leading axes of feedback and around do not broadcast; make them equal, or 1.") from None
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in columns], axis=-1)


def feedback_forces(model: Model, rows: Any, q: Any, v: Any) -> Any:
    """The joint forces (…, nv) at states (…, nq), (…, nv), of rows (…, r); floats or traced numbers."""
    nv, nq = model.nv, model.nq
    u, place, rates, gains = (
        rows[..., a:b] for a, b in ((0, nv), (nv, nv + nq), (nv + nq, 2 * nv + nq), (2 * nv + nq, None))
    )
    away = np.concatenate([between(model, place, q), v - rates], axis=-1)
    return u - np.matmul(gains.reshape(*gains.shape[:-1], nv, 2 * nv), away[..., None])[..., 0]


def feedback_phase(model: Model, memory: Memory) -> Phase:
    """The forces of a step, recorded."""

    def control(x: Any, row: Any) -> dict[str, Any]:
        return {"u": feedback_forces(model, traced(row), traced(x[: model.nq]), traced(x[model.nq :]))}

    return record(memory, control, ("x", "row"))
