"""The forces of an implicit step, in the coordinates of the contacts: two tangents, the normal, the turn about it.

With u the relative velocities that contacts would have at the step's end without forces, and G = CΩC* their mobility,
velocities become u + h G f. Normal forces are found implicitly, on the gaps at the step's end, by Newton's method that
never lets a gap close; friction follows them, bristle by bristle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends.arrays import sign
from phistar.backends.solve import solve_symmetric
from phistar.contact.surface import Parameters, normal_force, normal_stiffness

NEWTON = (8, 4, 4)  # iterations for normal forces, with friction after each round; gaps may shrink tenfold in one
SWEEPS = 3  # over the contacts' friction in each pass
SLOWEST = 1e-4  # m/s: no touch counts as slower
TINY = 1e-30


class Held(NamedTuple):
    """What n contacts remember: bristles along the tangents (n, 2), the twist (n,) of a soft finger, and the speed of
    touching (n,), 0 where nothing touches."""

    bristle: Any
    twist: Any
    touch_speed: Any


class Forces(NamedTuple):
    """Of a step: `force` (n, 4) along the two tangents and the normal and about it, the gap (n,) that is left, what is
    held, and by how much Newton's method missed (n,), in m."""

    force: Any
    gap: Any
    held: Held
    missed: Any


def contact_forces(p: Parameters, gap: Any, u: Any, mobility: Any, held: Held, step: Any, gripping: int) -> Forces:
    """Forces over a step h: gap (n,), u (n, 4), mobility (n, 4, n, 4); floats or traced numbers. The first `gripping`
    places have friction, the others push along their normal alone."""
    touch = np.maximum((1.0 - _positive(held.touch_speed)) * -u[:, 2] + held.touch_speed, SLOWEST)
    own = step * mobility[:, 2, :, 2]
    force = np.zeros(u.shape)
    left, missed = np.maximum(gap + step * u[:, 2], 0.3 * gap), gap
    for rounds in NEWTON:
        sliding = force * np.array([1.0, 1.0, 0.0, 1.0])
        approach = u[:, 2] + step * _times(mobility, sliding)[:, 2]
        left, missed = _left(p, gap, left, approach, step * own, touch, step, rounds)
        pressing = normal_force(p, left, (left - gap) / step, touch)
        force = _gripped(p, u, mobility, sliding, pressing, held, step, gripping)
    inside = _positive(p.margin - left)
    rate = u + step * _times(mobility, force)
    kept = Held(*_bristles(p, held, rate, force[:, 2], step), touch * inside)
    return Forces(force, left, kept, missed)


def _left(p: Parameters, gap: Any, y: Any, approach: Any, own: Any, touch: Any, step: Any, rounds: int) -> Any:
    """The gaps y at the end: y = d + h u + h²G f(y), by Newton's method with (I + AΦ)⁻¹ = I − AS(I + SAS)⁻¹S; and how
    far they are from it."""
    count, free = len(p.margin), gap + step * approach
    missed = y - free
    for _ in range(rounds):
        rate = (y - gap) / step
        root = np.sqrt(normal_stiffness(p, y, rate, touch, step))
        missed = y - free - np.matmul(own, normal_force(p, y, rate, touch))
        inner = np.eye(count) + root[:, None] * own * root[None, :]
        solved = solve_symmetric(np.asarray(inner), np.asarray(root * missed)[:, None])[:, 0]
        change = np.matmul(own, root * solved) - missed
        shrink, scale = 0.9 * y / np.maximum(-change, 1e-12 * p.margin), 1.0
        for i in range(count):
            scale = np.minimum(scale, shrink[i])
        y = y + scale * change
    return y, missed


def _gripped(
    p: Parameters, u: Any, mobility: Any, sliding: Any, pressing: Any, held: Held, step: Any, gripping: int
) -> Any:
    """Normal forces and the friction they allow, (n, 4): bristles stick until μ f is reached, one after the other, each
    knowing what those before it did (projected Gauss-Seidel)."""
    count = len(p.margin)
    g = step * mobility.reshape(4 * count, 4 * count)
    turn_stiffness, turn_damping = p.patch * p.patch * p.bristle_stiffness, p.patch * p.patch * p.bristle_damping
    force = [np.concatenate([sliding[i, :2], pressing[i : i + 1], sliding[i, 3:]]) for i in range(count)]
    rate = u.reshape(4 * count) + np.matmul(g, np.concatenate(force))
    for i in [*range(gripping)] * SWEEPS:
        own, before, limit = slice(4 * i, 4 * i + 4), force[i], p.friction[i] * pressing[i]
        alone, at = g[own, own], rate[own]
        across = 0.5 * (alone[0, 0] + alone[1, 1])
        stiffness, damping = p.bristle_stiffness[i], p.bristle_damping[i]
        stuck = _stuck(stiffness, damping, held.bristle[i], at[:2] - across * before[:2], across, step)
        tangent = stuck * np.minimum(1.0, limit / np.sqrt(np.sum(stuck * stuck) + TINY))
        spin = at[3:] - alone[3, 3] * before[3:]
        turn = _stuck(turn_stiffness[i], turn_damping[i], held.twist[i : i + 1], spin, alone[3, 3], step)
        turn = np.minimum(np.maximum(turn, -limit * p.patch[i]), limit * p.patch[i])
        force[i] = np.concatenate([tangent, pressing[i : i + 1], turn])
        rate = rate + np.matmul(g[:, own], force[i] - before)
    return np.stack(force)


def _bristles(p: Parameters, held: Held, rate: Any, pressing: Any, step: Any) -> tuple[Any, Any]:
    """Bristles follow what really moves, and slip where their force would pass μ f."""
    longest = p.friction * pressing / p.bristle_stiffness
    stretch = held.bristle + step * rate[:, :2]
    size = np.sqrt(np.sum(stretch * stretch, axis=-1) + TINY)
    twist = held.twist + step * rate[:, 3]
    widest = longest / (p.patch + TINY)
    return stretch * np.minimum(1.0, longest / size)[:, None], np.clip(twist, -widest, widest)


def _stuck(stiffness: Any, damping: Any, stretch: Any, rate: Any, mobility: Any, step: Any) -> Any:
    """The force of a spring and damper at the end of the step, its own effect (hG per force) included."""
    firm = damping + step * stiffness
    return -(stiffness * stretch + firm * rate) / (1.0 + mobility * firm)


def _times(mobility: Any, force: Any) -> Any:
    """G f, (n, 4)."""
    count = len(force)
    return np.matmul(mobility.reshape(4 * count, 4 * count), force.reshape(4 * count)).reshape(count, 4)


def _positive(x: Any) -> Any:
    """1 where x > 0, 0 where x < 0 (or x = 0 and it came as a state)."""
    return 0.5 + 0.5 * sign(np.asarray(x) - TINY)
