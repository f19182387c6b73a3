"""Accuracy of each way to accelerations, against the same equations in arithmetic of many digits (R87 §XIV).

The program of forward dynamics runs on mpmath's numbers as it runs on floats, so the reference is the algebra's too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from phistar.array_types import Array
from phistar.backends.links.wide import mechanism_at
from phistar.backends.programs.interpret import run
from phistar.backends.programs.program import program_of
from phistar.dynamics import forward_dynamics as compiled_dynamics
from phistar.dynamics import gravity_load, mass_matrix
from phistar.errors import ModelError, PhistarError, ShapeError, UnknownNameError
from phistar.estimation.filtering import forward_dynamics
from phistar.expression import setting_of, symbols_of
from phistar.model import Model, ModelBuilder, Revolute, require_tree
from phistar.spatial import Inertia, Pose

METHODS = ("plain", "conventional", "joseph", "square_root", "cholesky", "compiled")
"""The filter as R87 prints it, every entry of P rounded for itself; the updates of `forward_dynamics`, which keep P
symmetric; Cholesky's factors of the mass matrix; and what `ps.forward_dynamics` compiles."""


def precise_forward_dynamics(model: Model, q: Any, v: Any, tau: Any, digits: int = 50) -> Array:
    """Joint accelerations to many digits.

    The arguments and the robot's numbers are taken as exact.

    Parameters
    ----------
    model : Model
    q, v, tau : (nq,), (nv,), (nv,)
        One state.
    digits : int
        Decimal digits.

    Returns
    -------
    (nv,)
        Numbers of mpmath.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> exact = ps.estimation.precise_forward_dynamics(arm, q, v, tau)
    >>> bool(np.allclose(exact.astype(float), ps.forward_dynamics(arm, q, v, tau)))
    True
    """
    require_tree(model, "precise_forward_dynamics")
    given = {"q": model.checked_q(q), "v": model.checked(v, model.nv, "v"), "tau": model.checked(tau, model.nv, "tau")}
    if any(x.ndim != 1 for x in given.values()):
        raise ShapeError("precise_forward_dynamics takes one state: q (nq,), v (nv,), tau (nv,).")
    try:
        import mpmath
    except ImportError as error:
        raise PhistarError("Arithmetic of many digits needs mpmath: pip install mpmath.") from error
    symbols, setting = symbols_of(model, ()), setting_of(model, ())
    program = program_of(tuple(compiled_dynamics.nodes(symbols).items()), symbols, setting, False)
    gravity = np.concatenate([np.zeros(3), -model.gravity])
    with mpmath.workdps(digits):
        lifted = _lifting(mpmath)
        arrays = {"θ̇": lifted(given["v"]), "T": lifted(given["tau"]), "a_g": lifted(gravity)}
        links = mechanism_at(model, lifted(given["q"]))
        return run(program, links, {name: x[:, None] for name, x in arrays.items()})["y"][:, 0]


def _lifting(mpmath: Any) -> Any:
    """Floats to mpmath's numbers, with the functions by which NumPy asks an object for its sine and cosine."""

    class Digits(mpmath.mpf):  # type: ignore[name-defined, misc]
        def sin(self) -> Any:
            return mpmath.sin(self)

        def cos(self) -> Any:
            return mpmath.cos(self)

        def sqrt(self) -> Any:
            return mpmath.sqrt(self)

    def close(operation: str, swapped: bool) -> Any:
        def apply(self: Any, *others: Any) -> Any:
            pair = (mpmath.mpf(others[0]), self) if swapped else (self, *others)
            found = getattr(mpmath.mpf, operation)(*pair)
            return found if found is NotImplemented else Digits(found)

        return apply

    for name in ("neg", "abs", "add", "sub", "mul", "truediv"):  # whose results would be mpmath's own class again
        setattr(Digits, f"__{name}__", close(f"__{name}__", False))
    for name in ("add", "sub", "mul", "truediv"):
        setattr(Digits, f"__r{name}__", close(f"__{name}__", True))

    def lift(array: np.ndarray) -> np.ndarray:
        result = np.empty(array.shape, dtype=object)
        for index, value in np.ndenumerate(array):
            result[index] = Digits(float(value))
        return result

    return lift


def forward_errors(
    model: Model, q: Any, tau: Any, methods: Sequence[str] = METHODS, digits: int = 50
) -> dict[str, float]:
    """Relative error of forward dynamics by each method, at rest.

    ‖θ̈ − exact‖ / ‖exact‖ against arithmetic of many digits; infinite where a method fails.

    Parameters
    ----------
    model : Model
    q, tau : (nq,), (nv,)
        One configuration and joint forces.
    methods : sequence of str
        Which of "plain", "conventional", "joseph", "square_root", "cholesky" and "compiled".
    digits : int
        Decimal digits of the exact result.

    Returns
    -------
    dict
        {method: error}; 1e-16 is exact to rounding.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> errors = ps.estimation.forward_errors(arm, q, np.ones(6), ["compiled"])
    >>> errors["compiled"] < 1e-11
    True
    """
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise UnknownNameError(f"{unknown[0]!r} is no method to compare; choose from {', '.join(METHODS)}.")
    require_tree(model, "forward_errors")
    q, tau = model.checked_q(q), model.checked(tau, model.nv, "tau")
    rest = np.zeros(model.nv)
    exact = precise_forward_dynamics(model, q, rest, tau, digits)
    scale = max(abs(x) for x in exact)
    result = {}
    for method in methods:
        found = _accelerations(model, q, rest, tau, method)
        worst = (
            max(abs(x - y) / scale for x, y in zip(exact, found, strict=True)) if np.isfinite(found).all() else np.inf
        )
        result[method] = float(worst)
    return result


def _accelerations(model: Model, q: np.ndarray, rest: np.ndarray, tau: np.ndarray, method: str) -> np.ndarray:
    if method == "compiled":
        return compiled_dynamics(model, q, rest, tau)
    if method == "plain":
        return _plain_filter(model, q, tau - gravity_load(model, q))
    if method != "cholesky":
        return forward_dynamics(model, q, rest, tau, update=method).accelerations
    try:
        return np.asarray(cho_solve(cho_factor(mass_matrix(model, q)), tau - gravity_load(model, q)))
    except LinAlgError:  # rounding has made it indefinite
        return np.full(model.nv, np.inf)


def _plain_filter(model: Model, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """(35)-(47) at rest as printed, with explicit w×w products; what a first program of the filter looks like."""
    links = mechanism_at(model, q)
    n = len(links.parents)
    moves = [links.crossing(k) for k in range(n)]
    z, P = [np.zeros(links.width(k)) for k in range(n)], [np.array(links.mass(k)) for k in range(n)]
    gains, residuals, costates = ([np.empty(0, dtype=float)] * n for _ in range(3))
    for k in range(n - 1, -1, -1):
        axis = links.subspace(k)
        D = axis.T @ P[k] @ axis + links.armature(k)
        gains[k] = np.linalg.solve(D.T, (P[k] @ axis).T).T
        innovation = tau[links.rates[k]] - axis.T @ z[k]
        residuals[k] = np.linalg.solve(D, innovation)
        parent = links.parents[k]
        if parent >= 0:
            after = P[k] - gains[k] @ axis.T @ P[k]
            P[parent] = P[parent] + moves[k] @ after @ moves[k].T
            z[parent] = z[parent] + moves[k] @ (z[k] + gains[k] @ innovation)
    result: np.ndarray = np.zeros(model.nv)
    for k in range(n):
        parent = links.parents[k]
        arriving = moves[k].T @ costates[parent] if parent >= 0 else np.zeros(links.width(k))
        result[links.rates[k]] = own = residuals[k] - gains[k].T @ arriving
        costates[k] = arriving + links.subspace(k) @ own
    return result


def graded_chain(n: int, ratio: float = 1.0, light: float = 1.0) -> Model:
    """Spatial chain whose masses grow or fall along it, to test how well methods cope with bad conditioning.

    Parameters
    ----------
    n : int
        Number of links.
    ratio : float
        Mass of the tip's link over that of the base's.
    light : float
        Every second link is this many times as heavy as its place says.

    Returns
    -------
    Model

    Examples
    --------
    >>> ps.estimation.graded_chain(4, ratio=1e3).nv
    4
    """
    if n < 1 or ratio <= 0 or light <= 0:
        raise ModelError(f"A chain needs a link and positive masses; it was asked for {n} links, {ratio=}, {light=}.")
    builder = ModelBuilder(f"graded{n}", gravity=(0, 0, 0))
    axes = ((0, 0, 1), (0, 1, 0), (1, 0, 0))
    step = Pose(xyz=(0.2, 0.02, -0.01), rpy=(0.3, 0.2, 0.5))
    for k in range(n):
        mass = ratio ** (k / max(n - 1, 1)) * (light if k % 2 else 1.0)
        inertia = Inertia(mass, (0.1, 0.0, 0.0), mass * np.diag([0.00125, 0.004, 0.004]))
        parent, placement = (f"link{k - 1}", step) if k else ("world", Pose())
        builder.body(f"link{k}", parent, Revolute(axis=axes[k % 3]), placement, inertia)
    return builder.build()
