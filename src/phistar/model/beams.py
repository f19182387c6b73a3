"""Beams as flexible bodies: bending modes by Ritz's method with polynomials, exact to rounding for the lower modes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Legendre, legendre

from phistar.errors import ModelError
from phistar.model.flexible import FlexibleInertia

TIPS = ("free", "pinned", "clamped")
MORE = 10  # polynomials beyond those of the modes: each takes two digits of error from the lower modes


class _Bending(NamedTuple):
    """A mode in one plane: ω², the plane (1: y, 2: z), deflection and turn of the section over 0 ≤ ξ ≤ 1."""

    square: float
    plane: int
    shape: Legendre
    turn: Legendre


def beam(
    length: float,
    EI: Any,
    mass_per_length: float,
    modes: int = 4,
    *,
    tip: str = "free",
    tip_mass: float = 0.0,
    shear_stiffness: float | None = None,
    axial_inertia: float = 0.0,
    damping: float = 0.0,
    stiffening: bool = True,
) -> FlexibleInertia:
    """A uniform beam along x, clamped to the body's frame, by its lowest bending modes in both planes together.

    Euler and Bernoulli's beam, or with `shear_stiffness` Timoshenko's. With `stiffening`, bending shortens it:
    x(ξ) is less by ½∫(v′² + w′²), so that a beam that spins up stiffens.

    Parameters
    ----------
    length
        m.
    EI
        Bending stiffness in N m²; one, or two: for bending along y and along z.
    mass_per_length
        ρA in kg/m.
    modes
        How many, slowest first; of equal ones in two planes, y first.
    tip
        What modes do at the far end: "free", "pinned" or "clamped".
    tip_mass
        kg at the far end, which the modes know of.
    shear_stiffness
        kGA in N, for Timoshenko's beam.
    axial_inertia
        kg m about the beam's axis, per length: a line has none.
    damping
        Ratio to critical damping of every mode.
    stiffening
        Whether bending shortens the beam, to second order.

    Returns
    -------
    FlexibleInertia
        With the ends "root" and "tip".

    Examples
    --------
    >>> import phistar as ps
    >>> (ps.beam(1.0, 1.0, 1.0, modes=3).frequencies**0.5).round(6)  # βL of a clamped beam, two planes
    array([1.875104, 1.875104, 4.694091])
    """
    length, rho, EI = _checked(length, EI, mass_per_length, modes, tip)
    stiff = None if shear_stiffness is None else _number(shear_stiffness, "shear stiffness", above=0.0)
    ratio = _number(tip_mass, "tip mass") / (rho * length)
    softness = [0.0 if stiff is None else each / (stiff * length**2) for each in EI]
    found = [
        mode._replace(square=mode.square * EI[mode.plane - 1] / (rho * length**4))
        for plane in (1, 2)
        for mode in _modes(plane, modes, tip, ratio, softness[plane - 1])
    ]
    chosen = sorted(found, key=lambda mode: (round(mode.square, 12 - int(np.log10(mode.square))), mode.plane))[:modes]
    points, weights = legendre.leggauss(max(mode.shape.degree() for mode in chosen) + 2)
    xi = np.concatenate([0.5 * (points + 1.0), [0.0, 1.0]])
    lumps = np.concatenate([0.5 * rho * length * weights, [0.0, tip_mass]])
    masses = lumps[:, None, None] * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    masses[-2:, 0, 0] += 0.5 * _number(axial_inertia, "axial inertia") * length  # half of it at each end
    scale = 1.0 / np.sqrt(rho * length)  # modal mass 1
    places = np.stack([length * xi, 0.0 * xi, 0.0 * xi], axis=-1)
    shapes, turns = _shapes(chosen, xi, scale, length)
    bends = _shortening(chosen, xi, scale, length) if stiffening else None
    squares = np.array([mode.square for mode in chosen])
    ends = {"root": len(xi) - 2, "tip": len(xi) - 1}
    return FlexibleInertia(places, shapes, None, np.diag(squares), masses, turns, bends, damping, ends)


def _modes(plane: int, count: int, tip: str, ratio: float, softness: float) -> list[_Bending]:
    """The lowest modes with EI = ρA = L = 1, mass-normalized; softness is EI/(kGA L²)."""
    degree = 2 * count + MORE
    xi = Legendre.basis(1, domain=[0, 1]) * 0.5 + 0.5
    bound = {"free": 1.0 + 0.0 * xi, "pinned": 1.0 - xi, "clamped": (1.0 - xi) ** (1 if softness else 2)}[tip]
    first = xi if softness else xi**2
    basis = [first * bound * Legendre.basis(k, domain=[0, 1]) for k in range(degree)]
    mass = _table(basis, basis) + ratio * np.outer([b(1.0) for b in basis], [b(1.0) for b in basis])
    slopes = [b.deriv() for b in basis]
    if not softness:
        bent = [b.deriv(2) for b in basis]
        return _solved(plane, count, basis, slopes, mass, _table(bent, bent))
    held = (1.0 - xi) if tip == "clamped" else 1.0 + 0.0 * xi
    turns = [xi * held * Legendre.basis(k, domain=[0, 1]) for k in range(degree)]
    bends = [each.deriv() for each in turns]
    across = _table(turns, slopes) / softness
    own = _table(bends, bends) + _table(turns, turns) / softness
    answer = np.linalg.solve(own, across)  # turns of the sections have no mass: they follow the deflection
    stiffness = _table(slopes, slopes) / softness - across.T @ answer
    followed = [sum((c * each for c, each in zip(column, turns, strict=True)), 0.0 * xi) for column in answer.T]
    return _solved(plane, count, basis, followed, mass, stiffness)


def _solved(
    plane: int, count: int, basis: list[Legendre], turns: list[Legendre], mass: np.ndarray, stiffness: np.ndarray
) -> list[_Bending]:
    lower = np.linalg.cholesky(mass)
    half = np.linalg.solve(lower, 0.5 * (stiffness + stiffness.T))
    values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.T))
    found = []
    for i in range(count):
        weights = np.linalg.solve(lower.T, vectors[:, i])
        shape = sum((c * b for c, b in zip(weights, basis, strict=True)), 0.0 * basis[0])
        turn = sum((c * t for c, t in zip(weights, turns, strict=True)), 0.0 * turns[0])
        sign = 1.0 if shape.deriv(2)(0.0) >= 0.0 else -1.0  # it leaves the root upward
        found.append(_Bending(float(values[i]), plane, sign * shape, sign * turn))
    return found


def _table(left: list[Legendre], right: list[Legendre]) -> np.ndarray:
    """∫₀¹ l r dξ of all pairs, exactly."""
    points, weights = legendre.leggauss(max(each.degree() for each in (*left, *right)) + 1)
    xi = 0.5 * (points + 1.0)
    a, b = (np.stack([each(xi) for each in side]) for side in (left, right))
    return a * (0.5 * weights) @ b.T


def _shapes(modes: list[_Bending], xi: np.ndarray, scale: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Γ and Λ, (nodes, 3, modes): along y a beam turns about z, along z about −y."""
    shapes, turns = np.zeros((2, len(xi), 3, len(modes)))
    for i, mode in enumerate(modes):
        shapes[:, mode.plane, i] = scale * mode.shape(xi)
        turns[:, 3 - mode.plane, i] = (scale / length) * mode.turn(xi) * (1.0 if mode.plane == 1 else -1.0)
    return shapes, turns


def _shortening(modes: list[_Bending], xi: np.ndarray, scale: float, length: float) -> np.ndarray:
    """Q, (nodes, 3, modes, modes): Q_x = −∫₀^ξ (v_i′v_k′ + w_i′w_k′) ds."""
    result = np.zeros((len(xi), 3, len(modes), len(modes)))
    for i, one in enumerate(modes):
        for k, other in enumerate(modes):
            if one.plane == other.plane:
                gone = (one.shape.deriv() * other.shape.deriv()).integ(lbnd=0.0)
                result[:, 0, i, k] = -(scale**2 / length) * gone(xi)
    return result


def _checked(length: Any, EI: Any, rho: Any, modes: Any, tip: str) -> tuple[float, float, tuple[float, float]]:
    if not isinstance(modes, (int, np.integer)) or not 1 <= modes <= 20:
        raise ModelError(f"A beam needs from 1 to 20 modes; it was asked for {modes!r:.100}.")
    if tip not in TIPS:
        raise ModelError(f"A beam's tip is {', '.join(TIPS)}; it was given {tip!r:.100}.")
    pair = np.asarray(EI, dtype=float)
    if pair.shape not in ((), (2,)) or not ((pair > 0.0) & np.isfinite(pair)).all():
        raise ModelError(f"A beam needs a positive EI, or two (along y, along z); it was given {EI!r:.100}.")
    two = np.broadcast_to(pair, (2,))
    length, rho = (_number(x, what, above=0.0) for x, what in ((length, "length"), (rho, "mass per length")))
    return length, rho, (float(two[0]), float(two[1]))


def _number(value: Any, what: str, above: float | None = None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0.0 or (above is not None and not number > above):
        raise ModelError(f"A beam needs a {what} that is positive and finite; it was given {value!r:.100}.")
    return number
