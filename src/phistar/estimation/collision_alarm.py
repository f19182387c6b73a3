"""Collisions from observed joint forces: whether something touches the robot, which link, and where, each at a stated
rate of error.

Mahalanobis distances of window means, with mean, covariance and thresholds from a run without contact: they are the
sensors' own, whatever their distribution. Whitening by the mass matrix, D^(−½)(I − HψK), would be right only for noise
whose covariance is ℳ.

A force on a link is felt by the joints that carry it and by none beyond: τ = J*f with the link's own J. Links are asked
from the base outward, and the first whose f leaves no more than noise unexplained is the one that was touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array, BoolArray
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import ShapeError
from phistar.model import Model
from phistar.short_repr import short_repr
from phistar.spatial.vectors import require_finite

MOST_KEPT = 10_000  # windows without contact, that isolation is calibrated by
EMPTY = 1e-9  # of the largest singular value: below it, a link's motion has no such direction


@short_repr
class Collision(NamedTuple):
    """For each window: the `statistic`, whether it is an `alarm`, and the outermost `joint` that feels it, −1 where no
    joint does: the link that it carries, or one beyond, was touched."""

    statistic: Array
    alarm: BoolArray
    joint: Array


@short_repr
class Touched(NamedTuple):
    """The `link` that was touched, the innermost of those `possible`; the `wrench` (6,), [moment; force] at its frame's
    origin, world axes, with its `covariance` (6, 6); a `point` (3,) of the world on the force's line of action, the one
    nearest to the link's mass centre. Wrench, covariance and point are NaN where fewer than six joints carry the link.
    `unexplained`: of every link how much of the window it leaves, over what noise does; above 1 it was not this link.
    """

    link: str
    wrench: Array
    covariance: Array
    point: Array
    unexplained: Mapping[str, float]

    @property
    def possible(self) -> tuple[str, ...]:
        """The links that explain the window: the touched one is among them but for the stated part of touches."""
        return tuple(name for name, size in self.unexplained.items() if size <= 1.0)


@short_repr
@dataclass(frozen=True, eq=False)
class CollisionTest:
    """Detects external joint forces above the sensors' noise, at a stated rate of false alarms, and the link touched.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> test = ps.estimation.CollisionTest.calibrated(0.1 * rng.normal(size=(20_000, 6)))
    >>> arm, q = ps.load("puma560"), np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2])
    >>> push = ps.jacobian(arm, q, "link3").T @ [0, 0, 0, 20.0, 5.0, -10.0]
    >>> window = 0.1 * rng.normal(size=(10, 6)) + push
    >>> bool(test.check(window).alarm[0]), test.isolate(arm, q, window).link
    (True, 'link3')
    """

    mean: Array
    inverse: Array
    window: int
    threshold: float
    thresholds: Array
    false_alarms: float
    quiet: Array  # window means without contact, less their mean

    @staticmethod
    def calibrated(forces: Any, window: int = 10, false_alarms: float = 0.01) -> CollisionTest:
        """The test for forces like these (T, nv), observed while nothing touched the robot.

        Parameters
        ----------
        forces : (T, nv)
            The observer's estimates; a thousand windows for a rate of a hundredth, at least.
        window : int
            Samples whose mean is judged.
        false_alarms : float
            The part of windows without contact that raise an alarm; and of touches whose own link is passed over for
            one further out.

        Returns
        -------
        CollisionTest
        """
        means = _windows(forces, window)
        if not 0.0 < false_alarms < 1.0 or len(means) * false_alarms < 10.0:
            raise ShapeError(
                f"{len(means)} windows cannot show a rate of false alarms of {false_alarms:g}: at least "
                f"{10.0 / max(false_alarms, 1e-12):.0f} are needed."
            )
        mean, covariance = means.mean(axis=0), np.atleast_2d(np.cov(means.T))
        try:
            inverse = np.linalg.inv(covariance)
        except np.linalg.LinAlgError:
            raise ShapeError(
                "The covariance of the forces is singular: a joint whose sensor has no noise of its own cannot be "
                "calibrated."
            ) from None
        away = means - mean
        statistic = np.einsum("wi,ij,wj->w", away, inverse, away)
        each = np.quantile(np.abs(away), 1.0 - false_alarms / away.shape[1], axis=0)
        most = float(np.quantile(statistic, 1 - false_alarms))
        return CollisionTest(mean, inverse, window, most, each, false_alarms, away[:MOST_KEPT])

    def check(self, forces: Any) -> Collision:
        """The windows of forces (T, nv), one after the other."""
        means = _windows(forces, self.window)
        if means.shape[1:] != self.mean.shape:
            raise ShapeError(f"This test was calibrated on forces (T, {len(self.mean)}); not {np.shape(forces)}.")
        away = means - self.mean
        statistic = np.einsum("wi,ij,wj->w", away, self.inverse, away)
        alarm = statistic > self.threshold
        felt = np.abs(away) > self.thresholds
        outermost = np.where(felt.any(axis=1), away.shape[1] - 1 - np.argmax(felt[:, ::-1], axis=1), -1)
        return Collision(statistic, alarm, np.where(alarm, outermost, -1))

    def isolate(self, model: Model, q: Any, forces: Any) -> Touched:
        """Find the link that was touched, and where, from a window of observed joint forces that raised an alarm.

        Of links that explain the window as well, the innermost is named: what is beyond can always explain more. So a
        link is passed over for one further out in the stated part of touches, whatever the noise; a weak touch may be
        taken for one further in.

        Parameters
        ----------
        model : Model
        q : (nq,)
            Where the robot stands.
        forces : (window, nv)
            The window that `check` found.

        Returns
        -------
        Touched
        """
        place, away = model.checked_q(q), _windows(forces, self.window)[0] - self.mean
        if place.ndim != 1 or away.shape != (model.nv,):
            given = np.shape(q), np.shape(forces)
            raise ShapeError(f"One q ({model.nq},) and a window of forces (T, {model.nv}) are isolated; not {given}.")
        root = np.linalg.cholesky(self.inverse).T  # whitens the sensors' noise
        seen, quiet = root @ away, self.quiet @ root.T
        unexplained, maps = {}, {}
        for body in model.bodies:
            J = jacobian(model, place, body.name)
            left, sizes, _ = np.linalg.svd(root @ J.T, full_matrices=True)
            rank = int(np.sum(sizes > EMPTY * max(sizes.max(initial=0.0), 1e-300)))
            if not rank:
                continue  # nothing moves it
            across = left[:, rank:]
            noise = np.quantile(np.sum((quiet @ across) ** 2, axis=1), 1.0 - self.false_alarms) if across.size else 1.0
            unexplained[body.name] = float(np.sum((seen @ across) ** 2) / noise)
            maps[body.name] = J, rank
        depth = _depths(model)
        link = min(unexplained, key=lambda name: (unexplained[name] > 1.0, depth[name], unexplained[name]))
        return Touched(link, *self._wrench(model, place, link, maps[link], away), unexplained)

    def _wrench(
        self, model: Model, q: np.ndarray, link: str, own: tuple[np.ndarray, int], away: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        J, rank = own
        if rank < 6:
            return np.full(6, np.nan), np.full((6, 6), np.nan), np.full(3, np.nan)
        covariance = np.linalg.inv(J @ self.inverse @ J.T)
        wrench = covariance @ J @ self.inverse @ away
        moment, force = wrench[:3], wrench[3:]
        size = float(force @ force)
        pose = forward_kinematics(model, q, link)
        center = pose[:3, :3] @ next(body.inertia.com for body in model.bodies if body.name == link)
        foot = np.cross(force, moment) / max(size, 1e-300)  # of the line of action, from the frame's origin
        point = foot + force * (force @ (center - foot)) / max(size, 1e-300)
        return wrench, covariance, pose[:3, 3] + point


def _depths(model: Model) -> dict[str, int]:
    """Number of moving joints that carry each body."""
    found: dict[str, int] = {}
    for body, joint, parent in zip(model.bodies, model.joints, model.parents, strict=True):
        found[body.name] = (0 if parent < 0 else found[model.bodies[parent].name]) + (joint.nv > 0)
    return found


def _windows(forces: Any, window: int) -> np.ndarray:
    """Means of windows side by side, (w, nv)."""
    array = np.asarray(forces, dtype=float)
    if array.ndim != 2 or window < 1 or len(array) < window:
        raise ShapeError(f"Forces are (T, nv), with at least one window of {window} samples; not {array.shape}.")
    require_finite(array, "The log of forces")
    count = len(array) // window
    return array[: count * window].reshape(count, window, -1).mean(axis=1)
