"""A free body from sightings of pose and twist: an extended Kalman filter on the manifold that also finds inertia, mass
centre and the constant error of what is seen.

The belief of a body is its frame's place p, velocity v, attitude R and spin ω (in its axes), the inertia J up to a
factor, where the mass centre r lies in its frame, and the turn B and shift s by which sightings are wrong, in the axes
of the base A, o that they are made from. It tumbles about its mass centre, which goes straight on,

    ω̇ = J⁻¹(Jω × ω),   v̇ = −R(ω̇ × r + ω × (ω × r))

and a sighting is o + A(seen − s) = p, seen = B A*R, and v and R ω. Errors are [δp; δθ; δv; δω; δJ; δr; δB; δs], 27
numbers: R exp(δθ), exp(δB) B, the others added. Touch is one more observation: where fingers lie on a known face, its
normal and depth are known, and sightings' errors with them.

The frame's place and not the mass centre's is followed: the latter, which is not known along the spin, would turn
errors of attitude into errors of place that a linear filter takes for knowledge.

All functions take floats or traced numbers of one body, so that they compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.traces.solve import invert, solve_symmetric
from phistar.spatial import axial, cross, from_quaternion, skew, transposed

ERRORS, PACKED, BELIEF_ROWS, SIGHTING_NOISES = 27, 378, 39, 4
UPPER = np.triu_indices(ERRORS)
SQUARE = np.zeros((ERRORS, ERRORS), dtype=int)  # where each entry of a covariance stands among the packed
SQUARE[UPPER] = np.arange(PACKED)
SQUARE = np.maximum(SQUARE, SQUARE.T)
LONGEST_STEP = 0.05  # rad that one step of a forecast may turn


class Belief(NamedTuple):
    """Means: `turn` (3, 3), `place` (3,) and `velocity` (3,) of the body's frame in the world, `spin` (3,) in its own
    axes, `inertia` (6,) xx xy yy xz yz zz, `com` (3,) in its frame, `misturn` (3, 3) and `shift` (3,) of sightings."""

    turn: Any
    place: Any
    velocity: Any
    spin: Any
    inertia: Any
    com: Any
    misturn: Any
    shift: Any

    @staticmethod
    def of(row: Any) -> Belief:
        """The belief of a row (39,)."""
        turn, place, velocity, spin, inertia, com, misturn, shift = np.split(row, (9, 12, 15, 18, 24, 27, 36))
        return Belief(turn.reshape(3, 3), place, velocity, spin, inertia, com, misturn.reshape(3, 3), shift)

    @property
    def row(self) -> Any:
        return np.concatenate([np.asarray(part).reshape(-1) for part in self])

    def moved(self, e: Any) -> Belief:
        """The belief with errors (27,) added."""
        return Belief(
            np.matmul(self.turn, turned(e[3:6])),
            self.place + e[:3],
            self.velocity + e[6:9],
            self.spin + e[9:12],
            self.inertia + e[12:18],
            self.com + e[18:21],
            np.matmul(turned(e[21:24]), self.misturn),
            self.shift + e[24:27],
        )

    def later(self, h: Any) -> Belief:
        """The body h seconds later, by the midpoint rule."""
        J, r = tensor(self.inertia), self.com
        middle = self.spin + 0.5 * h * _spin_change(self.spin, J)
        turn, spin = np.matmul(self.turn, turned(h * middle)), self.spin + h * _spin_change(middle, J)
        straight = self.velocity + np.matmul(self.turn, cross(self.spin, r))  # of the mass centre
        place = self.place + h * straight + np.matmul(self.turn, r) - np.matmul(turn, r)
        velocity = straight - np.matmul(turn, cross(spin, r))
        return self._replace(turn=turn, place=place, velocity=velocity, spin=spin)


class Base(NamedTuple):
    """Axes (3, 3), origin, ω and velocity (3,) in the world of the frame that a body is seen from."""

    axes: Any
    origin: Any
    spin: Any
    velocity: Any

    @staticmethod
    def of(row: Any, ago: Any = 0.0) -> Base:
        """The base of a reading [xyz, quaternion, ω, v] (13,), as it was `ago` seconds before, going evenly."""
        axes = np.matmul(turned(-ago * row[7:10]), from_quaternion(row[3:7]))
        return Base(axes, row[:3] - ago * row[10:13], row[7:10], row[10:13])


def unpacked(packed: Any) -> Any:
    """The covariance (27, 27) of its upper triangle (378,)."""
    return packed[SQUARE]


def packed(covariance: Any) -> Any:
    """The upper triangle (378,) of a covariance (27, 27)."""
    return covariance[UPPER]


def propagated(belief: Belief, P: Any, h: Any, noise: Any) -> tuple[Belief, Any]:
    """Belief and covariance h seconds later; `noise` (2,) are the spectral densities of other accelerations, m/s² and
    rad/s² per √Hz."""
    F = _transition(belief, h)
    ahead = np.matmul(np.matmul(F, P), transposed(F))
    return belief.later(h), ahead + _accelerations(h, noise)


def _transition(belief: Belief, h: Any) -> Any:
    """I + h A: how errors grow."""
    R, w, r, J = belief.turn, belief.spin, belief.com, tensor(belief.inertia)
    inverse, change = invert(J), _spin_change(w, J)
    by_spin = np.matmul(inverse, skew(np.matmul(J, w)) - np.matmul(skew(w), J))
    by_inertia = -np.matmul(inverse, np.matmul(skew(w), times_tensor(w)) + times_tensor(change))
    sway, turning = cross(change, r) + cross(w, cross(w, r)), np.matmul(skew(w), skew(r))
    A = _blank(w, (ERRORS, ERRORS))
    A[0:3, 6:9] = np.eye(3)
    A[3:6, 3:6], A[3:6, 9:12] = -skew(w), np.eye(3)
    A[6:9, 3:6] = np.matmul(R, skew(sway))
    A[6:9, 9:12] = np.matmul(R, np.matmul(skew(r), by_spin) + skew(cross(w, r)) + turning)
    A[6:9, 12:18] = np.matmul(R, np.matmul(skew(r), by_inertia))
    A[6:9, 18:21] = -np.matmul(R, skew(change) + np.matmul(skew(w), skew(w)))
    A[9:12, 9:12], A[9:12, 12:18] = by_spin, by_inertia
    return np.eye(ERRORS) + h * A


def _accelerations(h: Any, noise: Any) -> Any:
    made = _blank(noise, (ERRORS, ERRORS))
    for k in range(6):
        place, rate, size = slice(k, k + 1), slice(k + 6, k + 7), noise[k // 3 : k // 3 + 1]
        made[place, place] = size * size * h * h * h / 3.0
        made[place, rate] = made[rate, place] = size * size * h * h / 2.0
        made[rate, rate] = size * size * h
    return made


def sighted(belief: Belief, P: Any, seen: Any, base: Base, noise: Any) -> tuple[Belief, Any, Any]:
    """Belief and covariance after a sighting [xyz, quaternion, ω, v] (13,) from the base, as it changes in its axes,
    and the sighting's NIS; `noise` (4,) are its standard deviations: m, rad, rad/s, m/s."""
    R, w, axes = belief.turn, belief.spin, base.axes
    S = np.matmul(belief.misturn, np.matmul(transposed(axes), R))
    arm = np.matmul(axes, seen[:3] - belief.shift)
    place = base.origin + arm - belief.place
    turn = small_turn(np.matmul(transposed(S), from_quaternion(seen[3:7])))
    speed = base.velocity + cross(base.spin, arm) + np.matmul(axes, seen[10:13]) - belief.velocity
    spin = np.matmul(transposed(R), base.spin + np.matmul(axes, seen[7:10])) - w
    H = _blank(w, (12, ERRORS))
    H[0:3, 0:3], H[0:3, 24:27] = np.eye(3), axes
    H[3:6, 3:6], H[3:6, 21:24] = np.eye(3), transposed(S)
    H[6:9, 6:9] = np.eye(3)
    H[9:12, 3:6], H[9:12, 9:12] = -skew(w), np.eye(3)
    sizes = np.concatenate([noise[k : k + 1] for k in (0, 0, 0, 1, 1, 1, 3, 3, 3, 2, 2, 2)])
    return corrected(belief, P, H, np.concatenate([place, turn, speed, spin]), sizes)


def touched(belief: Belief, P: Any, grips: Any, planned: Any, noise: tuple[float, float]) -> tuple[Belief, Any, Any]:
    """Belief and covariance after hands lie on faces, and NIS: `grips` (h, 4, 4) in the body's frame as it is
    believed, `planned` (h, 4, 4) where they are in it; `noise`: rad of a normal, m of a depth."""
    rows, errors, sizes = [], [], []
    for own, wanted in zip(np.asarray(grips), np.asarray(planned), strict=True):
        normal, where = wanted[:3, 2], own[:3, 3]
        across = np.linalg.svd(normal[None, :])[2][1:]  # (2, 3): a normal tells two angles
        H = np.zeros((3, ERRORS))
        H[:2, 3:6] = across
        H[2, 0:3], H[2, 3:6] = belief.turn @ normal, cross(where, normal)
        rows.append(H)
        depth = normal @ (where - wanted[:3, 3])
        errors += [*(across @ cross(normal, own[:3, 2])), depth]
        sizes += [noise[0], noise[0], noise[1]]
    return corrected(belief, P, np.concatenate(rows), np.array(errors), np.array(sizes))


def corrected(belief: Belief, P: Any, H: Any, e: Any, sizes: Any) -> tuple[Belief, Any, Any]:
    """Belief and covariance after an observation e = H δ + noise of standard deviations `sizes`, and its NIS."""
    G = np.matmul(P, transposed(H))
    D = np.matmul(H, G) + np.eye(len(e)) * (sizes * sizes)
    both = solve_symmetric(D, np.concatenate([transposed(G), e[:, None]], axis=1))
    gain, weighed = transposed(both[:, :ERRORS]), both[:, ERRORS]
    nis = np.sum(e * weighed, keepdims=True)
    return belief.moved(np.matmul(G, weighed)), P - np.matmul(gain, transposed(G)), nis


def forecast(belief: Belief, P: np.ndarray, seconds: float, noise: np.ndarray) -> tuple[float, float]:
    """Standard deviations of attitude (rad) and place (m) of the body's frame, each about its worst axis, so much
    later."""
    turning = float(np.linalg.norm(belief.spin)) * max(seconds, 0.0)
    count = max(1, int(np.ceil(turning / LONGEST_STEP)))
    h = np.array([max(seconds, 0.0) / count])
    for _ in range(count):
        belief, P = propagated(belief, P, h, noise)
    return float(np.linalg.eigvalsh(P[3:6, 3:6])[-1] ** 0.5), float(np.linalg.eigvalsh(P[:3, :3])[-1] ** 0.5)


def tensor(six: Any) -> Any:
    """(3, 3) of xx xy yy xz yz zz."""
    return six[np.array([[0, 1, 3], [1, 2, 4], [3, 4, 5]])]


def times_tensor(w: Any) -> Any:
    """J w as a matrix (3, 6) times xx xy yy xz yz zz."""
    made = _blank(w, (3, 6))
    for row, places in enumerate(((0, 1, 3), (1, 2, 4), (3, 4, 5))):
        for k, place in enumerate(places):
            made[row, place : place + 1] = w[k : k + 1]
    return made


def small_turn(turn: Any) -> Any:
    """2 sin(θ/2) n of a rotation that is less than a half turn: its rotation vector, where it is small."""
    square = turn[:1, 0] + turn[1:2, 1] + turn[2:, 2] + 1.0
    return axial(turn) / np.sqrt(np.maximum(square, 1e-6))


def turned(w: Any) -> Any:
    """exp(w̃) by the unit quaternion (w/2, 1)/|…|, exact to third order: steps and corrections turn little."""
    half = 0.5 * w
    length = np.sqrt(1.0 + np.sum(half * half, keepdims=True))
    return from_quaternion(np.concatenate([half / length, 1.0 / length]))


def _spin_change(w: Any, J: Any) -> Any:
    return np.matmul(invert(J), cross(np.matmul(J, w), w))


def _blank(like: Any, shape: tuple[int, ...]) -> Any:
    """Zeros that traced numbers can be written into where `like` has them."""
    return np.full(shape, 0.0, dtype=np.asarray(like).dtype)
