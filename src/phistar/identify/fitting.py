"""`ps.identify.fit`: from logs of q, v, a and joint forces to a robot's parameters, with their uncertainty."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.derivatives import regressor
from phistar.errors import InfeasibleError, ShapeError
from phistar.identify.consistent import Compressed, pseudo_inertia
from phistar.identify.identifiable import BaseParameters, base_of
from phistar.identify.motion_noise import positive_deviations, without_motion_noise
from phistar.identify.parameter_columns import Columns
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr
from phistar.spatial import Inertia
from phistar.spatial.vectors import require_finite

CHUNK = 500  # samples whose regressor is in memory at once
UNSEEN = 1e-9  # of the largest: an eigenvalue of what the log tells below which it tells nothing
MISFIT = 3.0  # times what plain least squares leave: more is no matter of a few bodies at the edge of the physical
EXACT = 1e-12  # of the forces' squares: what is left of them where there is no noise
_log = logging.getLogger("phistar")


@short_repr
@dataclass(frozen=True, eq=False)
class ErrorReport:
    """Errors of predicted joint forces against a log: `rms` (nv,) and `bias` (nv,), N m or N; `relative` (nv,), of the
    forces' own spread; `samples`."""

    rms: Array
    bias: Array
    relative: Array
    samples: int


@short_repr
@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters of a robot fitted to a log.

    `model` has the fitted inertias, armature, damping and friction; `parameters` are all by name. `base` are the
    identifiable combinations, with least-squares `values` (b,), their `deviations` (b,) and `covariance` (b, b).
    `noise` (nv,) is the standard deviation of each joint's residual forces. `unexcited` names the base parameters, each
    by its first, that this log does not show, though another could.
    """

    model: Model
    parameters: Mapping[str, float]
    base: BaseParameters
    values: Array
    deviations: Array
    covariance: Array
    noise: Array
    unexcited: tuple[str, ...]
    columns: Columns

    @property
    def physical(self) -> bool:
        """Whether every body is one that can exist."""
        inertias = np.stack([body.inertia.parameters for body in self.model.bodies])
        return bool((np.linalg.eigvalsh(pseudo_inertia(inertias)) > 0.0).all())

    def predict(self, q: Any, v: Any, a: Any) -> Array:
        """Joint forces (…, nv) of a motion, friction and motors included."""
        model = self.model
        given = model.checked_q(q), model.checked(v, model.nv, "v"), model.checked(a, model.nv, "a")
        return self.columns.table(*given) @ np.array(list(self.parameters.values())) + self.columns.known_forces(
            given[2]
        )

    def error(self, q: Any, v: Any, a: Any, tau: Any) -> ErrorReport:
        """Errors of the fitted robot on a log that it was not fitted to."""
        log = _check_log(self.model, q, v, a, tau)
        rest = log[3] - self.predict(*log[:3])
        rms, spread = np.sqrt(np.mean(rest**2, axis=0)), np.std(log[3], axis=0)
        return ErrorReport(rms, rest.mean(axis=0), rms / np.maximum(spread, 1e-300), len(rest))


def fit(
    model: Model,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    *,
    terms: Sequence[str] = ("armature", "damping", "friction"),
    noise: Any = None,
    motion_noise: tuple[Any, Any, Any] | None = None,
    spread: float = 1.0,
) -> Fit:
    """A robot's inertias, armature and friction from logs of its motion and joint forces.

    τ = Yπ (`ps.regressor`, and a column for each joint's armature, damping and friction), weighted by each joint's own
    noise; of all physically consistent parameters (Wensing et al. 2018) those nearest to the log, and in directions
    that the log does not show nearest to the model given.

    Parameters
    ----------
    model : Model
        A tree: its kinematics, and what is believed of its parameters so far.
    q, v, a, tau : (T, nq), (T, nv), (T, nv), (T, nv)
        The log: joint coordinates, rates, accelerations and forces of motors.
    terms : sequence of str
        What joints have: "armature", "damping", "friction", "offset".
    noise : float or (nv,), optional
        Standard deviation of the forces' noise; by default estimated from what is left, joint by joint.
    motion_noise : three of float or (nv,), optional
        Standard deviations of the noise of q, v and a, where it is not small: total least squares. The regressor's own
        errors then make no bias: what they add to Y*Y in the mean is taken off (Söderström 2007).
    spread : float
        How far from the model's own inertias parameters are believed to be, as a standard deviation of logarithms: 1 is
        a factor e.

    Returns
    -------
    Fit

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> path = ps.identify.excitation(arm, 5.0, seed=1, candidates=20)
    >>> found = ps.identify.fit(arm, path.q, path.v, path.a, ps.inverse_dynamics(arm, path.q, path.v, path.a))
    >>> found.physical, found.unexcited
    (True, ())
    """
    check_robot("fit", (model,))
    place, rates, speeds, forces = log = _check_log(model, q, v, a, tau)
    columns = Columns(model, tuple(terms))
    base = base_of(columns)
    if not 0.0 < spread < np.inf:
        raise ShapeError(f"spread is a standard deviation, positive; it is {spread!r:.50}.")
    if len(log[0]) * model.nv < 2 * len(base):
        raise ShapeError(f"{len(log[0])} samples say too little of {len(base)} base parameters; log more.")
    grams = _grams(columns, base, (place, rates, speeds), forces - columns.known_forces(speeds))
    if motion_noise is not None:
        grams = without_motion_noise(grams, columns, base, (place, rates, speeds), motion_noise)
    weights = _weights(model, grams, base, noise, len(log[0]))
    if not forces.any():
        raise InfeasibleError(
            "All forces of the log are zero: nothing shows the robot's scale. Are they those of motors?"
        )
    gram = np.tensordot(weights, grams, axes=(0, 0))
    values, covariance, unexcited = _least_squares(gram, base)
    if unexcited:
        _log.warning(
            "ps.identify.fit of %s: the log does not show %s; ps.identify.excitation finds motions that do.",
            model.name,
            ", ".join(unexcited),
        )
    told = base.grouping.T @ gram[:-1, :-1] @ base.grouping, base.grouping.T @ gram[:-1, -1]
    made = Compressed(*told, columns.bodies, columns.is_nonnegative, columns.model_values, spread).fit()
    _warn_of_misfit(model, grams, base, values, made)
    named = dict(zip(columns.names, made.tolist(), strict=True))
    deviations = np.sqrt(np.diag(covariance))
    left = np.sqrt(1.0 / weights)
    return Fit(_model_with(columns, made), named, base, values, deviations, covariance, left, unexcited, columns)


def _check_log(model: Model, q: Any, v: Any, a: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rates, speeds = model.checked(v, model.nv, "v"), model.checked(a, model.nv, "a")
    log = model.checked_q(q), rates, speeds, model.checked(tau, model.nv, "tau")
    for name, array in zip(("q", "v", "a", "tau"), log, strict=True):
        if array.ndim != 2 or len(array) != len(log[0]):
            raise ShapeError(f"{name} has shape {array.shape}; a log has a row for each of its samples, in all four.")
        require_finite(array, name)
    return log


def _grams(
    columns: Columns, base: BaseParameters, log: tuple[np.ndarray, np.ndarray, np.ndarray], tau: np.ndarray
) -> np.ndarray:
    """[Y | τ]*[Y | τ] of each joint's forces and the base parameters' columns, (nv, b + 1, b + 1): all that least
    squares need to know of a log."""
    model, count = columns.model, 10 * columns.bodies
    depends, terms = _outboard(columns)[:, base.columns], columns.term_values(log[1], log[2])
    carried = [base.columns[own & (base.columns < count)] for own in depends]
    kinds = [((base.columns[own & (base.columns >= count)] - count) // model.nv).tolist() for own in depends]
    found = [np.zeros((1 + own.sum(),) * 2) for own in depends]
    for start in range(0, len(tau), CHUNK):
        part = slice(start, start + CHUNK)
        table = regressor(model, *(x[part] for x in log))
        for joint, gram in enumerate(found):
            own = [terms[k][part, joint, None] for k in kinds[joint]]
            rows = np.concatenate([table[:, joint][:, carried[joint]], *own, tau[part, joint, None]], axis=-1)
            gram += rows.T @ rows
    total = np.zeros((model.nv, len(base) + 1, len(base) + 1))
    for joint, gram in enumerate(found):
        places = np.append(np.flatnonzero(depends[joint]), len(base))
        total[joint][np.ix_(places, places)] = gram
    return total


def _outboard(columns: Columns) -> np.ndarray:
    """Columns on which each joint's force depends, (nv, p): those of the bodies it carries, and its own."""
    model = columns.model
    found = np.zeros((model.nv, len(columns.names)), bool)
    for k, joint in enumerate(model.joints):
        for b in range(columns.bodies):
            found[joint.v_slice, 10 * b : 10 * b + 10] = _carries(model, k, b)
    found[:, 10 * columns.bodies :] = np.tile(np.eye(model.nv, dtype=bool), len(columns.terms))
    return found


def _carries(model: Model, body: int, other: int) -> bool:
    while other > body:
        other = model.parents[other]
    return other == body


def _weights(model: Model, grams: np.ndarray, base: BaseParameters, noise: Any, samples: int) -> np.ndarray:
    """1/σ² of each joint's forces, (nv,): as given, or by the residuals of plain least squares."""
    if noise is not None:
        return 1.0 / positive_deviations(noise, model.nv, "joint rate") ** 2
    scale = np.maximum(grams[:, -1, -1], EXACT * grams[:, -1, -1].max() + 1e-100)
    weights = 1.0 / scale
    for _ in range(3):
        full = np.append(_least_squares(np.tensordot(weights, grams, axes=(0, 0)), base)[0], -1.0)
        left = np.maximum(np.einsum("i,jik,k->j", full, grams, full), EXACT * scale)
        weights = 1.0 / left
    return weights * samples


def _least_squares(gram: np.ndarray, base: BaseParameters) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Base parameters, their covariance, and names of those that are not shown; directions not shown stay at zero."""
    own = gram[:-1, :-1]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(own), 1e-300))
    values, vectors = np.linalg.eigh(own * scale[:, None] * scale)
    shown = values > UNSEEN * values[-1]
    inverse = (vectors[:, shown] / values[shown]) @ vectors[:, shown].T * scale[:, None] * scale
    blind = np.abs(vectors[:, ~shown]).max(axis=1, initial=0.0) > 0.1
    names = tuple(base.all_names[column] for column, hidden in zip(base.columns, blind, strict=True) if hidden)
    if not shown.any():
        raise InfeasibleError("The log shows no parameter at all: the robot stands still without a load.")
    return inverse @ gram[:-1, -1], inverse, names


def _warn_of_misfit(
    model: Model, grams: np.ndarray, base: BaseParameters, values: np.ndarray, made: np.ndarray
) -> None:
    """Log which joints' forces physical bodies explain much worse than plain least squares."""
    floor = EXACT * grams[:, -1, -1].max() + 1e-100
    plain, physical = (
        np.maximum(np.einsum("i,jik,k->j", full, grams, full), floor)
        for full in (np.append(x, -1.0) for x in (values, base.grouping @ made))
    )
    ratio = np.sqrt(physical / plain)
    if ratio.max() > MISFIT:
        joint = next(x.name for x in model.joints if x.v_slice.stop > int(np.argmax(ratio)))
        _log.warning(
            "ps.identify.fit of %s: physical bodies leave %.3g times what plain least squares leave of the forces "
            "of %s: check their units and signs, the robot's kinematics, and the terms of its joints.",
            model.name,
            float(ratio.max()),
            joint,
        )


def _model_with(columns: Columns, made: np.ndarray) -> Model:
    """The model with these parameters."""
    model, count = columns.model, 10 * columns.bodies
    inertias = {body.name: Inertia.from_parameters(made[10 * k : 10 * k + 10]) for k, body in enumerate(model.bodies)}
    rows = dict(zip(columns.terms, made[count:].reshape(-1, model.nv), strict=True))
    joints = {}
    for joint in model.joints:
        changed: dict[str, Any] = {name: row[joint.v_slice] for name, row in rows.items() if name != "offset"}
        if "friction" in changed:
            changed["friction"] = np.stack([changed["friction"]] * 2)
        if "armature" in changed:
            changed |= {"gear_ratio": 1.0, "rotor_inertia": 0.0}
        joints[joint.name] = replace(joint.kind, **changed)
    return model.replace(inertias=inertias, joints=joints)
