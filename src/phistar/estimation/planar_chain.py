"""R87's planar chain (§XII): the filter in components, its rows counted as Tables II and III count them.

The paper's axes: x along the joint axes, y from the outer joint of a link to its inner one. A state is [moment about x;
forces along y, z], P the six numbers of (86). Every row works on floats and on traced numbers alike; the tables are
counts of what the rows do to traced numbers. In the algebra the same chain is `ps.planar_chain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.trace import Tape, finish

Numbers = tuple[Any, ...]


@dataclass(frozen=True)
class PlanarLink:
    """Length l, mass m, distance p of the mass centre from the inner joint, inertia I about that joint (R87 eq. 85)."""

    length: float
    mass: float
    center: float
    inertia: float


# Rows of Table II, per link


def state_propagation(z: Numbers, length: Any) -> Numbers:
    return z[0] - length * z[2], z[1], z[2]


def inertia_propagation(P: Numbers, length: Any, mass: Any, moment: Any, inertia: Any) -> Numbers:
    """P → φPφ* + M; P(1), P(2) and P(4) arrive as zeros, since HP⁺ = 0. `moment` is mp."""
    _, _, P3, _, P5, P6 = P
    lever = length * P6
    return length * lever + inertia, -(length * P5), P3 + mass, -lever - moment, P5, P6 + mass


def gain(P: Numbers) -> Numbers:
    """g(2), g(3); g(1) = 1."""
    return P[1] / P[0], P[3] / P[0]


def innovations(tau: Any, z: Numbers) -> Any:
    return tau - z[0]


def residuals(innovation: Any, P: Numbers) -> Any:
    return innovation / P[0]


def state_update(z: Numbers, g: Numbers, innovation: Any, cosine: Any, sine: Any) -> Numbers:
    """z → z + Ge⁻, then into the axes of the next link; g(1) = 1, so that z(1) becomes τ."""
    x, y, w = z[0] + innovation, z[1] + g[0] * innovation, z[2] + g[1] * innovation
    return x, cosine * y - sine * w, sine * y + cosine * w


def inertia_update(P: Numbers, g: Numbers, cosine: Any, sine: Any) -> Numbers:
    """P → P − PH*HP/D, then into the axes of the next link: t = s²(P3 − P6) + 2scP5 moves from P3 to P6."""
    P3, P5, P6 = P[2] - g[0] * P[1], P[4] - g[1] * P[1], P[5] - g[1] * P[3]
    square, mixed = sine * sine, sine * cosine
    apart, twice = P3 - P6, P5 + P5
    moved = square * apart + mixed * twice
    return 0.0, 0.0, P3 - moved, 0.0, P5 + mixed * apart - square * twice, P6 + moved


def costate_propagation(costate: Numbers, length: Any) -> Numbers:
    return costate[0], costate[1], costate[2] - length * costate[0]


def joint_acceleration(residual: Any, costate: Numbers, g: Numbers) -> Any:
    return residual - costate[0] - g[0] * costate[1] - g[1] * costate[2]


def costate_update(costate: Numbers, acceleration: Any, cosine: Any, sine: Any) -> Numbers:
    """λ(1) → λ(1) + a; the turn into the axes of the link comes before the acceleration in time, and costs the same."""
    turned = cosine * costate[1] + sine * costate[2], cosine * costate[2] - sine * costate[1]
    return costate[0] + acceleration, *turned


# Rows of Table III


def mass_propagation(rho: Any, mass: Any) -> Any:
    return rho + mass


def center_propagation(along: Any, rho: Any, length: Any, moment: Any) -> Any:
    """ρC along the link: (C + l)ρ + mp."""
    return along + length * rho + moment


def rotational_propagation(J: Any, along: Any, rho: Any, length: Any, inertia: Any) -> Any:
    """J + I + l(2ρC + lρ)."""
    return J + inertia + length * (2.0 * along + length * rho)


def moment_propagation(x: Numbers, length: Any) -> Numbers:
    return x[0] - length * x[2], x[1], x[2]


def moment_update(x: Numbers, cosine: Any, sine: Any) -> Numbers:
    return x[0], cosine * x[1] - sine * x[2], sine * x[1] + cosine * x[2]


def center_rotation(along: Any, across: Any, cosine: Any, sine: Any) -> Numbers:
    """ρC into the axes of the next link: in the text's total 2N(N + 5), though no row of the table has it."""
    return cosine * along + sine * across, cosine * across - sine * along


# The two methods, on numbers


def forward_dynamics(links: Sequence[PlanarLink], angles: Sequence[Any], tau: Sequence[Any]) -> list[Any]:
    """θ̈ of a chain at rest without gravity, tip first (R87 §XII)."""
    z, P = (0.0, 0.0, 0.0), (0.0,) * 6
    kept = []
    for link, angle, torque in zip(links, angles, tau, strict=True):
        z = state_propagation(z, link.length)
        P = inertia_propagation(P, link.length, link.mass, link.mass * link.center, link.inertia)
        g, innovation = gain(P), innovations(torque, z)
        kept.append((link, angle, residuals(innovation, P), g))
        cosine, sine = np.cos(angle), np.sin(angle)
        z = state_update(z, g, innovation, cosine, sine)
        P = inertia_update(P, g, cosine, sine)
    accelerations: list[Any] = []
    costate: Numbers = (0.0, 0.0, 0.0)
    for link, angle, residual, g in reversed(kept):
        costate = costate_update(costate, 0.0, np.cos(angle), np.sin(angle))
        accelerations.append(joint_acceleration(residual, costate, g))
        costate = costate_propagation((costate[0] + accelerations[-1], *costate[1:]), link.length)
    return accelerations[::-1]


def mass_matrix(links: Sequence[PlanarLink], angles: Sequence[Any]) -> Array:
    """(n, n), tip first, by composite bodies (R87 eq. 32 and Table III)."""
    n = len(links)
    result = np.zeros((n, n))
    rho, along, across, J = 0.0, 0.0, 0.0, 0.0
    for i, link in enumerate(links):
        J = rotational_propagation(J, along, rho, link.length, link.inertia)
        along = center_propagation(along, rho, link.length, link.mass * link.center)
        rho = mass_propagation(rho, link.mass)
        x: Numbers = (J, -across, -along)  # r(i)H*: the moment, and ρ times the centre's acceleration
        for k in range(i, n):
            x = moment_propagation(x, links[k].length) if k > i else x
            result[i, k] = result[k, i] = x[0]
            x = moment_update(x, np.cos(angles[k]), np.sin(angles[k]))
        c, s = np.cos(angles[i]), np.sin(angles[i])
        along, across = center_rotation(along, across, c, s)
    return result


# The tables


@dataclass(frozen=True)
class Row:
    """One line of a table: operations counted here, and as printed."""

    name: str
    counted: tuple[int, int, int]  # adds, multiplies, divides
    printed: tuple[int, int, int]


def _count(row: Callable[..., Any], *shapes: int) -> tuple[int, int, int]:
    """Additions, multiplications, divisions of a row; a shape of 0 is a scalar, 6 a P whose zeros are known."""
    tape = Tape()
    given: list[Any] = []
    for shape in shapes:
        fresh = tuple(tape.inputs((max(shape, 1),)))
        given.append(fresh if shape else fresh[0])
    result = row(*given)
    counts = finish(tape, list(result) if isinstance(result, tuple) else [result]).counts()
    return counts.get("add", 0) + counts.get("sub", 0), counts.get("mul", 0), counts.get("div", 0)


def table_2() -> list[Row]:
    """Operations per link of the filter and smoother (R87 Table II)."""
    return [
        Row("State propagation", _count(state_propagation, 3, 0), (1, 1, 0)),
        Row("Inertia propagation", _count(inertia_propagation, 6, 0, 0, 0, 0), (4, 3, 0)),
        Row("Gain", _count(gain, 6), (0, 0, 2)),
        Row("Innovations", _count(innovations, 0, 3), (1, 0, 0)),
        Row("Residuals", _count(residuals, 0, 6), (0, 0, 1)),
        Row("State update", _count(state_update, 3, 2, 0, 0, 0), (5, 6, 0)),
        Row("Inertia update", _count(inertia_update, 6, 2, 0, 0), (10, 9, 0)),
        Row("Costate propagation", _count(costate_propagation, 3, 0), (1, 1, 0)),
        Row("Joint acceleration", _count(joint_acceleration, 0, 3, 2), (3, 2, 0)),
        Row("Costate update", _count(costate_update, 3, 0, 0, 0), (3, 4, 0)),
    ]


def table_3() -> list[Row]:
    """Operations of the mass matrix (R87 Table III): the first three per link, the last two per element."""
    return [
        Row("Mass", _count(mass_propagation, 0, 0), (1, 0, 0)),
        Row("Mass center", _count(center_propagation, 0, 0, 0, 0), (2, 1, 0)),
        Row("Rotational inertia", _count(rotational_propagation, 0, 0, 0, 0, 0), (3, 3, 0)),
        Row("State propagation", _count(moment_propagation, 3, 0), (1, 1, 0)),
        Row("State update", _count(moment_update, 3, 0, 0), (2, 4, 0)),
    ]


def smoother_flops(n: Any) -> Any:
    """27N multiply-add pairs (R87, after Table II)."""
    return 27 * n


def assembly_flops(n: Any, shared: bool = False) -> Any:
    """Assembly, Cholesky and two triangular solves: N³/3 + N² + 2N(N + 5) multiply-add pairs (R87, before Fig. 4).

    The rows of Table III sum to N(2N + 7); the other 3N rotate the mass centre into the next link's axes. `shared`
    leaves them out: x(i) starts from the same vector, whose rotation the last row counts already.
    """
    return n**3 / 3 + n**2 + (n * (2 * n + 7) if shared else 2 * n * (n + 5))
