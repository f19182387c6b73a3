"""Measures to watch while an arm works: manipulability, dynamic manipulability, and the mass felt at the tip.

Each is read off a 6×6 matrix that sweeps make: JJ* = B*ΓB, Jℳ⁻¹J* = B*ΩB, and (Jℳ⁻¹)(Jℳ⁻¹)*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.dynamics import forward_kinematics, jacobian, mass_matrix_inverse, mobility
from phistar.errors import PhistarError, ShapeError, UnknownNameError
from phistar.estimation import observability_gramian
from phistar.loops import closed_rates
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.stated import states

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Part = Literal["all", "rotation", "position"]
_ROWS = {"all": slice(0, 6), "rotation": slice(0, 3), "position": slice(3, 6)}
ELLIPSES = 8  # drawn along a path


@states(lambda s: s.J @ s.mass.inv @ s.R @ s.mass.inv @ s.J.T, matrix=True)
def acceleration_gramian(model: Model, q: Any, weights: Any, frame: str) -> Array:
    """Jℳ⁻¹Rℳ⁻¹J*, R = diag weights, (…, 6, 6): with R = diag T², accelerations under joint forces of size T; with
    loops, those that keep every loop closed."""
    if model.loops:
        spread = np.matmul(jacobian(model, q, frame), mass_matrix_inverse(model, q))
        return np.matmul(spread * np.asarray(weights)[..., None, :], np.swapaxes(spread, -1, -2))
    return acceleration_gramian.evaluate(model, q, {"R": weights}, frames=(frame,))


def manipulability(model: Model, q: Any, frame: str, part: Part = "all") -> Array:
    """Volume of the ellipsoid of velocities that joint rates of unit length give a frame.

    √det(JJ*), 0 in singular positions (Yoshikawa 1985). With loops, of the rates that keep every loop closed.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.
    part : "all", "rotation" or "position"
        Which rows of the Jacobian count.

    Returns
    -------
    (…)

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> J = ps.jacobian(arm, q, "tool")
    >>> bool(np.isclose(ps.control.manipulability(arm, q, "tool"), abs(np.linalg.det(J))))
    True
    """
    check_robot("manipulability", (model,))
    if model.loops:
        moved = np.matmul(jacobian(model, q, frame), closed_rates(model, q))
        gramian = np.matmul(moved, np.swapaxes(moved, -1, -2))
    else:
        gramian = observability_gramian(model, q, frame)
    return np.sqrt(np.maximum(np.linalg.det(_part(gramian, part)), 0.0))


@short_repr
class PrincipalAxes(NamedTuple):
    """An ellipsoid: half axes `lengths` (…, 3), longest first, along the columns of `directions` (…, 3, 3)."""

    lengths: Array
    directions: Array


def dynamic_manipulability(
    model: Model, q: Any, frame: str, forces: Any = 1.0, part: Literal["rotation", "position"] = "position"
) -> PrincipalAxes:
    """Accelerations of a frame, at rest and without gravity, under joint forces of limited size.

    The dynamic manipulability ellipsoid of forces with Σ(T/forces)² ≤ 1 (Yoshikawa 1985).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.
    forces : float or (…, nv)
        Joint forces that count as one [N m, N].
    part : "rotation" or "position"

    Returns
    -------
    PrincipalAxes
        The ellipsoid's half axes and their directions.

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> len(ps.control.dynamic_manipulability(arm, q, "tool"))
    2
    """
    check_robot("dynamic_manipulability", (model,))
    weights = np.square(_numbers(forces, model.nv, "forces") * np.ones(model.nv))
    values, vectors = np.linalg.eigh(_part(acceleration_gramian(model, q, weights, frame), part))
    return PrincipalAxes(np.sqrt(np.maximum(values[..., ::-1], 0.0)), vectors[..., ::-1])


def effective_mass(
    model: Model, q: Any, frame: str, direction: Any, part: Literal["rotation", "position"] = "position"
) -> Array:
    """Mass that a push on a frame along a direction feels.

    1/(d*Ω(0)d); infinite where the arm cannot give way (Khatib 1987).

    Parameters
    ----------
    model : Model
    q : (…, nq)
        Joint coordinates [rad, m].
    frame : str
        A name in `model.frames`.
    direction : (…, 3)
        d, in world axes; of any length but zero.
    part : "rotation" or "position"
        With "rotation", the moment of inertia about d.

    Returns
    -------
    (…)
        In kg, or kg m².

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> bool(ps.control.effective_mass(arm, q, "tool", [0, 0, 1]) > 0)
    True
    """
    d = _numbers(direction, 3, "direction") * np.ones(3)
    length = np.linalg.norm(d, axis=-1, keepdims=True)
    if np.any(length == 0.0):
        raise ShapeError("A direction is three numbers that are not all zero.")
    d = d / length
    yielding = np.einsum("...i,...ij,...j->...", d, _part(mobility(model, q, frame), part), d)
    with np.errstate(divide="ignore"):
        return 1.0 / np.maximum(yielding, 0.0)


def plot_monitors(model: Model, q: Any, frame: str, t: Any = None, forces: Any = 1.0) -> Figure:
    """Draw manipulability, effective masses and the path of a frame along a motion.

    Parameters
    ----------
    model : Model
    q : (samples, nq)
        The motion.
    frame : str
        A name in `model.frames`.
    t : (samples,), optional
        Times [s]; the samples' numbers by default.
    forces : float or (nv,)
        As in `dynamic_manipulability`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> arm = ps.load("puma560_akb")
    >>> q, v = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2]), np.zeros(6)
    >>> figure = ps.control.plot_monitors(arm, np.linspace(q, q + 0.5, 5), "tool")
    >>> type(figure).__name__
    'Figure'
    """
    check_robot("plot_monitors", (model,))
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PhistarError("Plots need matplotlib: pip install 'phistar[plot]'.") from None
    q = model.checked_q(q)
    if q.ndim != 2 or not len(q):
        raise ShapeError(f"A motion is q (samples, {model.nq}); it was given shape {q.shape}.")
    times = np.arange(len(q)) if t is None else np.asarray(t, dtype=float)
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    volume, mass, above = figure.subplots(1, 3)
    for part, rows in (("position", 3), ("rotation", 3)):
        values = manipulability(model, q, frame, part)  # type: ignore[arg-type]
        volume.plot(times, values ** (1 / rows), label=part)
    volume.set(title="Manipulability", ylabel="√det JJ*, per direction", ylim=(0, None))
    for axis, direction in zip("xyz", np.eye(3)):
        mass.plot(times, effective_mass(model, q, frame, direction), label=f"along {axis}")
    mass.set(title=f"Mass at {frame}", ylabel="kg", ylim=(0, None))
    for panel in (volume, mass):
        panel.set_xlabel("sample" if t is None else "t in s")
        panel.legend(frameon=False)
    _draw_ellipses(above, model, q, frame, forces)
    return figure


def _draw_ellipses(panel: Any, model: Model, q: np.ndarray, frame: str, forces: Any) -> None:
    """Shadows on the floor of the ellipsoids of accelerations, on the frame's path; the longest is a fifth of it."""
    path = forward_kinematics(model, q, frame)[:, :3, 3]
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=-1))])
    some = np.searchsorted(way, np.linspace(0.0, way[-1], ELLIPSES, endpoint=False))
    axes = dynamic_manipulability(model, q[some], frame, forces)
    extent = np.ptp(path[:, :2], axis=0).max() or 1.0
    scale = 0.2 * extent / axes.lengths.max()
    angles = np.linspace(0, 2 * np.pi, 61)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    for centre, lengths, directions in zip(path[some], axes.lengths, axes.directions, strict=True):
        shadow = (directions * lengths)[:2]  # of the ellipsoid: {S w, |w| ≤ 1}, so its outline is √(SS*) on a circle
        values, vectors = np.linalg.eigh(shadow @ shadow.T)
        outline = centre[:2, None] + scale * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle
        panel.fill(*outline, alpha=0.25, color="C2", linewidth=0.8)
    panel.plot(path[:, 0], path[:, 1], color="k", linewidth=1)
    panel.plot(*path[0, :2], "o", color="k", markersize=4)
    panel.set(title="Accelerations that joint forces give", xlabel="x in m", ylabel="y in m")
    panel.set_aspect("equal", adjustable="datalim")


def _part(matrix: np.ndarray, part: str) -> np.ndarray:
    if part not in _ROWS:
        raise UnknownNameError(f"A part is one of {', '.join(map(repr, _ROWS))}; {part!r} is not.")
    return matrix[..., _ROWS[part], _ROWS[part]]


def _numbers(values: Any, size: int, what: str) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"`{what}` must be numbers; it was given {values!r:.100}.") from None
    if (array.ndim and array.shape[-1] != size) or not np.isfinite(array).all():
        raise ShapeError(f"`{what}` takes finite numbers, {size} of them; it was given shape {array.shape}.")
    return array
