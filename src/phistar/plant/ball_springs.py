"""Springs of ball joints in the step: their deflection is the rotation vector from rest, log(r* ⊗ q), body axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from phistar.backends.code.native import Arrays
from phistar.constraints.columns import BALLS

# `ball_wholes`: the first of its three rates, and where its quaternion begins in q
BALL_RATE, BALL_Q = range(2)
HALVINGS = 5  # of a half turn at most: to 0.05 rad, where the series of the arc sine has all digits
HALVED = 2.0 * 2.0**HALVINGS


def ball_tables(joints: Sequence[tuple[Any, int]]) -> dict[str, np.ndarray]:
    """The tables of ball joints on springs, given with the first rate of each."""
    sprung = [(joint, rate) for joint, rate in joints if has_ball_spring(joint)]
    wholes = np.array([[rate, joint.q_slice.start] for joint, rate in sprung], dtype=np.int64).reshape(-1, 2)
    rests = np.array([joint.kind.rest for joint, _ in sprung], dtype=float).reshape(-1, 4)
    none = np.zeros((1, 2), np.int64), np.zeros((1, 4))
    return dict(zip(("ball_wholes", "ball_rest"), (wholes, rests) if sprung else none, strict=True))


def has_ball_spring(joint: Any) -> bool:
    """Whether a joint turns on a quaternion alone and has a spring."""
    return not joint.kind.flat and joint.nv == 3 and bool(np.any(joint.kind.stiffness))


def deflect_balls(m: Arrays) -> None:
    """`deflection` of ball joints on springs: quaternions halved by their square roots, then the arc sine's series."""
    for k in range(m.counts[BALLS]):
        q, rate = m.ball_wholes[k, BALL_Q], m.ball_wholes[k, BALL_RATE]
        a, b, c, d = -m.ball_rest[k, 0], -m.ball_rest[k, 1], -m.ball_rest[k, 2], m.ball_rest[k, 3]
        x, y, z, w = m.q[q], m.q[q + 1], m.q[q + 2], m.q[q + 3]
        i = d * x + a * w + b * z - c * y
        j = d * y - a * z + b * w + c * x
        l = d * z + a * y - b * x + c * w
        r = d * w - a * x - b * y - c * z
        size = (1.0 if r >= 0.0 else -1.0) / sqrt(i * i + j * j + l * l + r * r)
        i, j, l, r = size * i, size * j, size * l, size * r
        for _ in range(HALVINGS):
            r = sqrt(0.5 * (1.0 + r))
            i, j, l = 0.5 * i / r, 0.5 * j / r, 0.5 * l / r
        s = i * i + j * j + l * l
        arc = 1.0 + s / 6.0 + 3.0 * s * s / 40.0 + 5.0 * s * s * s / 112.0 + 35.0 * s * s * s * s / 1152.0
        arc *= HALVED
        m.deflection[rate], m.deflection[rate + 1], m.deflection[rate + 2] = arc * i, arc * j, arc * l


BALL_SPRINGS = (deflect_balls,)
