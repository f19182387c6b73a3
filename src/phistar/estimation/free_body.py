"""A free body on its manifold: state, errors, and how it tumbles on; batches of bodies, or one of traced numbers.

A body's frame is at p with velocity v, attitude R and spin ω (in its axes); J is its inertia up to a factor, and its
mass centre lies at r in its frame. It tumbles about its mass centre, which goes straight on,

    ω̇ = J⁻¹(Jω × ω),   v̇ = −R(ω̇ × r + ω × (ω × r))

Sightings of it may be wrong by a constant turn B and shift s, in the axes of the base that they are made from. Errors
are [δp; δθ; δv; δω; δJ; δr; δB; δs], 27 numbers: R exp(δθ), exp(δB) B, the others added. Jω̇ = Jω × ω is linear in J, so
that errors of J itself, and not of its logarithm or factors, bend no measurement.

The frame's place and not the mass centre's is followed: the latter, which is not known along the spin, would turn
errors of attitude into errors of place that a linear filter takes for knowledge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.traces.solve import invert
from phistar.spatial import axial, cross, exp, log_quaternion, skew, times, transposed

ERRORS, ROWS = 27, 39
EDGES = (9, 12, 15, 18, 24, 27, 36)  # of the parts of a row
TINY = 1e-6  # of 1 + trace: a turn this near a half turn has no direction


class FreeBody(NamedTuple):
    """A body: `turn` (…, 3, 3), `place` (…, 3) and `velocity` (…, 3) of its frame in the world, `spin` (…, 3) in its
    own axes, `inertia` (…, 6) xx xy yy xz yz zz, `com` (…, 3) in its frame, `misturn` (…, 3, 3) and
    `shift` (…, 3) of sightings."""

    turn: Any
    place: Any
    velocity: Any
    spin: Any
    inertia: Any
    com: Any
    misturn: Any
    shift: Any

    @staticmethod
    def of(row: Any) -> FreeBody:
        """The body of a row (…, 39)."""
        turn, place, velocity, spin, inertia, com, misturn, shift = np.split(row, EDGES, axis=-1)
        square = (*row.shape[:-1], 3, 3)
        return FreeBody(turn.reshape(square), place, velocity, spin, inertia, com, misturn.reshape(square), shift)

    @property
    def row(self) -> Any:
        parts = [np.asarray(part) for part in self]
        flat = [part.reshape(*part.shape[:-2], 9) if i in (0, 6) else part for i, part in enumerate(parts)]
        return np.concatenate(flat, axis=-1)

    def moved(self, e: Any) -> FreeBody:
        """The body with errors (…, 27) added."""
        return FreeBody(
            np.matmul(self.turn, exp(e[..., 3:6])),
            self.place + e[..., :3],
            self.velocity + e[..., 6:9],
            self.spin + e[..., 9:12],
            self.inertia + e[..., 12:18],
            self.com + e[..., 18:21],
            np.matmul(exp(e[..., 21:24]), self.misturn),
            self.shift + e[..., 24:27],
        )

    def away(self, other: FreeBody) -> Any:
        """The errors (…, 27) that take this body to another."""
        turn = rotation_vector(np.matmul(transposed(self.turn), other.turn))
        misturn = rotation_vector(np.matmul(other.misturn, transposed(self.misturn)))
        place, velocity, spin = other.place - self.place, other.velocity - self.velocity, other.spin - self.spin
        known = other.inertia - self.inertia, other.com - self.com
        parts = place, turn, velocity, spin, *known, misturn, other.shift - self.shift
        return np.concatenate(parts, axis=-1)

    def later(self, h: Any, fall: Any = 0.0) -> FreeBody:
        """The body h seconds later, its mass centre accelerated by `fall`: Runge and Kutta's method on the spin, and
        the turn by Magnus' series, ∫ω and [ω, ω'] to fourth order."""
        J, w = tensor(self.inertia), self.spin
        inverse = invert(J)
        a = _spin_change(w, J, inverse)
        b = _spin_change(w + 0.5 * h * a, J, inverse)
        c = _spin_change(w + 0.5 * h * b, J, inverse)
        d = _spin_change(w + h * c, J, inverse)
        spin = w + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        turned = h * (w + h / 6.0 * (a + b + c)) + h * h / 12.0 * cross(w, spin)
        turn, r = np.matmul(self.turn, exp(turned)), self.com
        straight = self.velocity + times(self.turn, cross(w, r))  # of the mass centre
        place = self.place + h * (straight + 0.5 * h * fall) + times(self.turn, r) - times(turn, r)
        velocity = straight + h * fall - times(turn, cross(spin, r))
        return self._replace(turn=turn, place=place, velocity=velocity, spin=spin)

    def transition(self, h: Any) -> Any:
        """I + h A, (…, 27, 27): how errors grow in a short time."""
        R, w, r, J = self.turn, self.spin, self.com, tensor(self.inertia)
        inverse = invert(J)
        change = _spin_change(w, J, inverse)
        by_spin = np.matmul(inverse, skew(times(J, w)) - np.matmul(skew(w), J))
        by_inertia = -np.matmul(inverse, np.matmul(skew(w), times_tensor(w)) + times_tensor(change))
        sway, turning = cross(change, r) + cross(w, cross(w, r)), np.matmul(skew(w), skew(r))
        A = blank(w, (ERRORS, ERRORS))
        A[..., 0:3, 6:9] = np.eye(3)
        A[..., 3:6, 3:6], A[..., 3:6, 9:12] = -skew(w), np.eye(3)
        A[..., 6:9, 3:6] = np.matmul(R, skew(sway))
        A[..., 6:9, 9:12] = np.matmul(R, np.matmul(skew(r), by_spin) + skew(cross(w, r)) + turning)
        A[..., 6:9, 12:18] = np.matmul(R, np.matmul(skew(r), by_inertia))
        A[..., 6:9, 18:21] = -np.matmul(R, skew(change) + np.matmul(skew(w), skew(w)))
        A[..., 9:12, 9:12], A[..., 9:12, 12:18] = by_spin, by_inertia
        return np.eye(ERRORS) + h * A


def tensor(six: Any) -> Any:
    """(…, 3, 3) of xx xy yy xz yz zz."""
    return six[..., np.array([[0, 1, 3], [1, 2, 4], [3, 4, 5]])]


def times_tensor(w: Any) -> Any:
    """J w as a matrix (…, 3, 6) times xx xy yy xz yz zz."""
    made = blank(w, (3, 6))
    for row, places in enumerate(((0, 1, 3), (1, 2, 4), (3, 4, 5))):
        made[..., row, places] = w
    return made


def rotation_vector(turn: Any) -> Any:
    """The rotation vector of R (…, 3, 3), of traced numbers too."""
    square = turn[..., 0, 0] + turn[..., 1, 1] + turn[..., 2, 2] + 1.0
    cosine = 0.5 * np.sqrt(np.maximum(square, TINY))[..., None]
    return log_quaternion(np.concatenate([axial(turn) / (4.0 * cosine), cosine], axis=-1))


def blank(like: Any, shape: tuple[int, ...]) -> Any:
    """Zeros that traced numbers can be written into where `like` (…, n) has them."""
    return np.full((*np.shape(like)[:-1], *shape), 0.0, dtype=np.asarray(like).dtype)


def _spin_change(w: Any, J: Any, inverse: Any) -> Any:
    return times(inverse, cross(times(J, w), w))
