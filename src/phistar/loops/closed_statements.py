"""The operational space of a closed chain as statements of the algebra: Ω_c, c and g with their derivations.

With J over the task frames and the frames that loops join, and A = QJ (RJK91 eqs. 22-26 and §6),

    Ω_c   = Jℳ⁻¹J* − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹J*
    Ω_c c = Jℳ⁻¹𝒞 − J̇θ̇ − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺(Aℳ⁻¹𝒞 − Ȧθ̇),   Ȧθ̇ = QJ̇θ̇ + γ
    Ω_c g = Jℳ⁻¹𝒢 − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹𝒢

which the laws turn into sweeps, O(n) + O(l³). Q depends on the configuration, so the statements are about one; its rows
are combined to those that are independent there, which makes the generalized inverse an inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import frame_poses
from phistar.errors import ModelError, ShapeError
from phistar.expression.binding import algebra
from phistar.expression.statement import Expression
from phistar.loops.closure import closures, loop_frames
from phistar.loops.effective import weighted_eigenvectors
from phistar.loops.equations import effective, frame_acceleration, row_scale
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.model.names import names_given
from phistar.model.parts import CoupledJoints
from phistar.short_repr import short_repr
from phistar.spatial import times


@short_repr
class ClosedChain(NamedTuple):
    """The operational space of a closed chain at a state, as statements.

    Parameters
    ----------
    mobility : Expression
        Ω_c, from forces at `frames` to their accelerations.
    coriolis, gravity : Expression
        Ω_c c − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺γ and Ω_c g: what velocities (`v`) and weight take from the frames' accelerations.
    closing : Expression
        Jℳ⁻¹A*(Aℳ⁻¹A*)⁺, from accelerations of the closures to those of the frames.
    gamma : (l,)
        γ at v: what is left of the closures' accelerations without the frames', as their axes turn.
    frames : tuple of str
        The frames asked for, then those that loops join; six rows each.
    """

    mobility: Expression
    coriolis: Expression
    gravity: Expression
    closing: Expression
    gamma: Array
    frames: tuple[str, ...]


def closed_chain(model: Model, q: Any, v: Any = None, frames: str | Sequence[str] = ()) -> ClosedChain:
    """Operational space of a closed chain as statements of the algebra, with derivations and O(n) programs.

    Ω_c = Jℳ⁻¹J* − Jℳ⁻¹A*(Aℳ⁻¹A*)⁺Aℳ⁻¹J* with A = QJ (RJK91 eq. 26 and §6). `ps.mobility` and `ps.operational_space`
    give its numbers for any batch; here it can be printed, derived, counted and compiled.

    Parameters
    ----------
    model : Model
        A mechanism with loops; couplings of joints are taken by `model.embedded()`.
    q : (nq,)
        A closed configuration.
    v : (nv,), optional
        Rates that keep it closed; at rest by default.
    frames : str or sequence of str
        The task frames.

    Returns
    -------
    ClosedChain
        `mobility`, `coriolis`, `gravity` and `closing` as Expressions, `gamma`, and their `frames`.

    Raises
    ------
    ModelError
        For a model without loops, or with couplings.

    Examples
    --------
    >>> import numpy as np, phistar as ps
    >>> b = ps.ModelBuilder("pair")
    >>> rod = ps.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3))
    >>> b.body("left", joint=ps.Spherical(), inertia=rod)
    >>> b.body("right", joint=ps.Spherical(), placement=ps.Pose(xyz=(1.0, 0, 0)), inertia=rod)
    >>> b.frame("a", "left", ps.Pose(xyz=(0.5, 0.5, 0)))
    >>> b.frame("b", "right", ps.Pose(xyz=(-0.5, 0.5, 0)))
    >>> b.loop("ball", "a", "b", joint=ps.Spherical())
    >>> closed = b.build()
    >>> chain = ps.loops.closed_chain(closed, closed.neutral(), frames="a")
    >>> chain.mobility
    Jℳ⁻¹J* − Jℳ⁻¹J*Q*(QJℳ⁻¹J*Q*)⁻¹QJℳ⁻¹J*
    >>> found = chain.mobility.dense(closed.neutral())[:6, :6]
    >>> bool(np.allclose(found, ps.mobility(closed, closed.neutral(), "a")))
    True
    """
    check_robot("closed_chain", (model,))
    _refuse(model)
    q = model.checked_q(q)
    v = np.zeros(model.nv) if v is None else model.checked(v, model.nv, "v")
    if q.ndim != 1 or v.ndim != 1:
        raise ShapeError("closed_chain makes statements about one state; ps.operational_space takes batches.")
    named = names_given(frames)
    ends = loop_frames(model)
    whole = (*named, *(end for end in ends if end not in named))
    rows, drift = _independent_rows(model, q, v, ends, whole)
    s = algebra(model.tree, frames=list(whole), Q=rows)
    across = s.J @ s.mass.inv @ s.J.T
    held = across @ s.Q.T @ (s.Q @ across @ s.Q.T).inv
    turning, weight = s.J @ s.mass.inv @ s.C - s.Jdot_v, s.J @ s.mass.inv @ s.g
    mobility, coriolis, gravity = (x - held @ s.Q @ x for x in (across, turning, weight))
    return ClosedChain(mobility, coriolis, gravity, held, drift, whole)


def _refuse(model: Model) -> None:
    if model.embedding is not None or not model.loops:
        raise ModelError(f"{model.name} has no loops to close by forces; ps.algebra(model, frames=…) is its algebra.")
    coupled = [loop.name for loop in model.loops if isinstance(loop, CoupledJoints)]
    if coupled:
        raise ModelError(
            f"{model.name} couples joints ({', '.join(coupled)}), whose equations are about rates, not about frames; "
            "ps.algebra(model.embedded(), frames=…) has its statements, ps.operational_space its numbers."
        )


def _independent_rows(
    model: Model, q: np.ndarray, v: np.ndarray, ends: tuple[str, ...], whole: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Q over all frames and what is left of g̈ without β̇, each combined by the eigenvectors of S that are not lost."""
    tree = model.tree
    moved = frame_acceleration(tree, q, v, np.zeros(model.nv), ends)["motion"]
    motions = {frame: moved[6 * i : 6 * i + 6] for i, frame in enumerate(ends)}
    found = closures(model, q, frame_poses(tree, q, ends), v, motions)
    _, matrix = effective(tree, q, found, ends)
    weight, _, directions, present, _ = weighted_eigenvectors(matrix, row_scale(model, np.diag(matrix)))
    kept = directions[:, present].T * weight
    rows = np.zeros((len(kept), 6 * len(whole)))
    for i, end in enumerate(ends):
        at = 6 * whole.index(end)
        rows[:, at : at + 6] = kept @ found.on_frames[:, 6 * i : 6 * i + 6]
    return rows, times(kept, found.drift)
