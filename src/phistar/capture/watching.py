"""Mass properties of a free body from its observed motion: inertia up to a factor, and the mass centre.

The momentum of a body that nothing touches stays as it is, R J R*ω = L at every moment, which is linear in J and L; and
its mass centre goes straight on, p + R r = c + v t, which is linear in r, c and v. Both are least squares of which only
sums are kept; what the motion does not show (a body that spins about one axis tells little) is left as it was
believed: a ball about the frame's origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.spatial import skew

AVERAGED = 25  # sightings in one mean: noise of spins would pass for inertia
SPIN_ERROR = 5e-4  # rad/s, of a mean, with what its attitude adds
PLACE_ERROR, SPEED_ERROR = 1e-3, 1e-3  # m and m/s, of a mean
BELIEVED = 0.3  # how far moments are believed to be from those of a ball, of themselves,
OFF_CENTER = 0.1  # and the mass centre from the origin, m
ENOUGH = 8  # means from which on the inertia is used
MOST_UNLIKE = 0.95  # of the way to an inertia that no body can have


class Watched(NamedTuple):
    """Sums over sightings; data alone. `row` (19,) adds up time, rotation, position, ω and velocity until `count` is
    AVERAGED; `square` (6, 6) and `mean` (3, 6) those of the momentum's coefficients; `normal` (9, 9) and `right` (9,)
    those of [c; v; r]; `means` how many there are, `start` when the first was."""

    row: np.ndarray
    count: int
    square: np.ndarray
    mean: np.ndarray
    normal: np.ndarray
    right: np.ndarray
    means: int
    start: float

    @staticmethod
    def nothing() -> Watched:
        return Watched(
            np.zeros(19), 0, np.zeros((6, 6)), np.zeros((3, 6)), np.zeros((9, 9)), np.zeros(9), 0, 0.0
        )  # fmt: skip

    def seen(self, t: float, state: np.ndarray) -> Watched:
        """With one more sighting: rotation (9), position, ω and velocity, (18,), in axes that do not turn."""
        row, count = self.row + np.concatenate([[t], state]), self.count + 1
        if count < AVERAGED:
            return self._replace(row=row, count=count)
        return self._with_mean(row / count)._replace(row=np.zeros(19), count=0)

    def _with_mean(self, row: np.ndarray) -> Watched:
        start = row[0] if self.means == 0 else self.start
        turn, place, spin, speed = row[1:10].reshape(3, 3), row[10:13], row[13:16], row[16:19]
        momentum = turn @ _times_tensor(turn.T @ spin)
        time = row[0] - start
        none, one = np.zeros((3, 3)), np.eye(3)
        straight = np.concatenate([one, time * one, -turn], axis=1) / PLACE_ERROR
        carried = np.concatenate([none, one, -skew(spin) @ turn], axis=1) / SPEED_ERROR
        rows, seen = np.concatenate([straight, carried]), np.concatenate([place / PLACE_ERROR, speed / SPEED_ERROR])
        return self._replace(
            square=self.square + momentum.T @ momentum,
            mean=self.mean + momentum,
            normal=self.normal + rows.T @ rows,
            right=self.right + rows.T @ seen,
            means=self.means + 1,
            start=start,
        )

    @property
    def inertia(self) -> np.ndarray | None:
        """The tensor (3, 3) about the mass centre, in the body's axes, up to a factor; None while too little was
        seen."""
        if self.means < ENOUGH:
            return None
        spread = (self.square - self.mean.T @ self.mean / self.means) / SPIN_ERROR**2  # L is free
        ball = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
        belief = np.eye(6) / BELIEVED**2
        away = np.linalg.solve(spread + belief, -spread @ ball)
        return _possible(_tensor(away))

    @property
    def com(self) -> np.ndarray:
        """The mass centre (3,) in the body's frame."""
        if self.means < ENOUGH:
            return np.zeros(3)
        belief = np.diag([0.0] * 6 + [1.0 / OFF_CENTER**2] * 3)
        return np.linalg.lstsq(self.normal + belief, self.right, rcond=1e-12)[0][6:]


def _times_tensor(w: np.ndarray) -> np.ndarray:
    """J w as a matrix (3, 6) times xx xy yy xz yz zz."""
    x, y, z = w
    return np.array([[x, y, 0, z, 0, 0], [0, x, y, 0, z, 0], [0, 0, 0, x, y, z]])


def _tensor(six: np.ndarray) -> np.ndarray:
    return np.array(six)[[[0, 1, 3], [1, 2, 4], [3, 4, 5]]]


def _possible(away: np.ndarray) -> np.ndarray:
    """1 + away, or as much of it as a body can have: moments are positive, and none above the sum of the others."""
    moments = np.linalg.eigvalsh(away)
    low, middle, high = moments
    unlike = max(-low, high - low - middle, MOST_UNLIKE)
    return np.eye(3) + MOST_UNLIKE / unlike * away
