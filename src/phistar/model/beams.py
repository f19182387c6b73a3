"""Beams as flexible bodies: bending modes by Ritz's method with polynomials, exact to rounding for the lower modes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Legendre, legendre

from phistar.errors import ModelError
from phistar.model.flexible import FlexibleInertia

ENDS = {"free": 0, "pinned": 1, "clamped": 2}  # how many of deflection and slope are held
MORE = 10  # polynomials beyond those of the modes: each takes two digits of error from the lower modes
NEAR = 0.01  # of the length: where a shape's sign is taken, before it has turned back


class _Bending(NamedTuple):
    """A mode in one plane: ω², the plane (1: y, 2: z), deflection and turn of the section over 0 ≤ ξ ≤ 1; its number in
    the plane, and what it shares of elastic energy with each of the plane's."""

    square: float
    plane: int
    shape: Legendre
    turn: Legendre
    number: int
    elastic: np.ndarray


def beam(
    length: float,
    EI: Any,
    mass_per_length: float,
    modes: int = 4,
    *,
    root: str = "clamped",
    tip: str = "free",
    tip_mass: float = 0.0,
    shear_stiffness: float | None = None,
    axial_inertia: float = 0.0,
    damping: float = 0.0,
    stiffening: bool = True,
    spin: float = 0.0,
) -> FlexibleInertia:
    """A uniform beam along x from the body's frame, by its lowest bending modes in both planes together.

    The frame stays tangent to the beam's root, whatever the modes are of: those of a root that is pinned or free are
    seen from it, w(ξ) − w(0) − w′(0)ξ, and are exact on a hinge or a free base, as clamped ones are on a drive that
    holds. Euler and Bernoulli's beam, or with `shear_stiffness` Timoshenko's. With `stiffening`, bending shortens it:
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
    root
        How the modes are held at the near end: "clamped", "pinned" (of a beam on a hinge) or "free" (on a free base).
    tip
        How they are held at the far end: "free", "pinned" or "clamped".
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
    spin
        Rate about a transverse axis through the root, rad/s, whose pull shapes the modes: those of a rotor blade. The
        pull itself comes from the motion (`stiffening`), at any rate.

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
    length, rho, EI = _beam_arguments(length, EI, mass_per_length, modes, {"root": root, "tip": tip})
    stiff = None if shear_stiffness is None else _number(shear_stiffness, "shear stiffness", above=0.0)
    ratio = _number(tip_mass, "tip mass") / (rho * length)
    softness = [0.0 if stiff is None else each / (stiff * length**2) for each in EI]
    units = [each / (rho * length**4) for each in EI]  # of ω²
    pulls = [_number(spin, "spin") ** 2 / each for each in units]
    found = [
        mode._replace(square=mode.square * unit, elastic=mode.elastic * unit)
        for plane, unit, soft, pull in zip((1, 2), units, softness, pulls, strict=True)
        for mode in _modes(plane, modes, (root, tip), ratio, soft, pull)
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
    stiffness = [[one.elastic[other.number] * (one.plane == other.plane) for other in chosen] for one in chosen]
    ends = {"root": len(xi) - 2, "tip": len(xi) - 1}
    return FlexibleInertia(places, shapes, None, np.array(stiffness), masses, turns, bends, damping, ends)


def _modes(plane: int, count: int, held: tuple[str, str], ratio: float, softness: float, pull: float) -> list[_Bending]:
    """The lowest modes with EI = ρA = L = 1, mass-normalized; softness is EI/(kGA L²), pull the spin's square."""
    (root, tip), degree = held, 2 * count + MORE
    xi = Legendre.basis(1, domain=[0, 1]) * 0.5 + 0.5
    rigid, most = max(0, 2 - ENDS[root] - ENDS[tip]), 1 if softness else 2
    basis = _polynomials(xi, min(ENDS[root], most), min(ENDS[tip], most), degree)
    mass = _table(basis, basis) + ratio * np.outer([b(1.0) for b in basis], [b(1.0) for b in basis])
    slopes, which = [b.deriv() for b in basis], range(rigid, rigid + count)
    tension = pull * (_table([b * (0.5 - 0.5 * xi * xi) for b in slopes], slopes) + ratio * _table(slopes, slopes))
    if not softness:
        bent = [b.deriv(2) for b in basis]
        return _bending_modes(plane, which, basis, slopes, mass, _table(bent, bent), tension)
    turns = _polynomials(xi, int(root == "clamped"), int(tip == "clamped"), degree)
    bends = [each.deriv() for each in turns]
    across = _table(turns, slopes) / softness
    own = _table(bends, bends) + _table(turns, turns) / softness
    answer = np.linalg.solve(own, across)  # turns of the sections have no mass: they follow the deflection
    stiffness = _table(slopes, slopes) / softness - across.T @ answer
    followed = [sum((c * each for c, each in zip(column, turns, strict=True)), 0.0 * xi) for column in answer.T]
    return _bending_modes(plane, which, basis, followed, mass, stiffness, tension)


def _polynomials(xi: Legendre, near: int, far: int, degree: int) -> list[Legendre]:
    """Polynomials with a zero of these orders at each end."""
    bound = xi**near * (1.0 - xi) ** far
    return [bound * Legendre.basis(k, domain=[0, 1]) for k in range(degree)]


def _bending_modes(
    plane: int,
    which: range,
    basis: list[Legendre],
    turns: list[Legendre],
    mass: np.ndarray,
    stiffness: np.ndarray,
    tension: np.ndarray,
) -> list[_Bending]:
    """Modes, slowest first, as a frame sees them that is tangent to the root."""
    lower = np.linalg.cholesky(mass)
    pulled = 0.5 * (stiffness + stiffness.T) + 0.5 * (tension + tension.T)
    values, vectors = np.linalg.eigh(np.linalg.solve(lower, np.linalg.solve(lower, pulled).T))
    weights = np.linalg.solve(lower.T, vectors[:, which.start : which.stop])
    elastic = np.diag(values[which.start : which.stop]) - weights.T @ tension @ weights
    xi = Legendre.basis(1, domain=[0, 1]) * 0.5 + 0.5
    made = []
    for own in weights.T:
        shape = sum((c * b for c, b in zip(own, basis, strict=True)), 0.0 * basis[0])
        turn = sum((c * t for c, t in zip(own, turns, strict=True)), 0.0 * turns[0])
        made.append((shape - shape(0.0) - turn(0.0) * xi, turn - turn(0.0)))
    signs = np.array([1.0 if shape(NEAR) >= 0.0 else -1.0 for shape, _ in made])  # they leave the root upward
    elastic = 0.5 * (elastic + elastic.T) * np.outer(signs, signs)
    return [
        _Bending(float(values[i]), plane, sign * shape, sign * turn, n, elastic[n])
        for n, (i, sign, (shape, turn)) in enumerate(zip(which, signs, made, strict=True))
    ]


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


def _beam_arguments(
    length: Any, EI: Any, rho: Any, modes: Any, held: dict[str, str]
) -> tuple[float, float, tuple[float, float]]:
    if not isinstance(modes, (int, np.integer)) or not 1 <= modes <= 20:
        raise ModelError(f"A beam needs from 1 to 20 modes; it was asked for {modes!r:.100}.")
    for end, how in held.items():
        if how not in ENDS:
            raise ModelError(f"A beam's {end} is {', '.join(ENDS)}; it was given {how!r:.100}.")
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
        least = "above zero" if above is not None else "zero or more"
        raise ModelError(f"A beam's {what} must be {least} and finite; it was given {value!r:.100}.")
    return number
