"""Assembly: a configuration and velocity that close every loop, from a rough guess; or which loop cannot, by how much.

Damped Gauss-Newton on the configuration manifold: δ = −A*(AA* + μ)⁻¹g over the joints that are not locked, μ falling
as it succeeds. Where the guess leads nowhere, and for the alternatives, it starts again from scattered guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.choice import may_be_written
from phistar.dynamics import forward_kinematics, jacobian
from phistar.errors import ModelError, PhistarError
from phistar.loops.closure import closures, linear_rows, loop_frames, loop_slices, relative_rows, row_count
from phistar.loops.tree_closing import fits_along_tree, rows_along_tree
from phistar.model import Helical, Model, Revolute, Universal
from phistar.model.check import check_robot
from phistar.model.parts import CoupledJoints, Loop
from phistar.spatial.vectors import leading_axes

CLOSED = 1e-12  # of the mechanism's size, or 1: what counts as met
ITERATIONS = 60
STEP = 0.7  # the most that any joint moves at once, rad or m
STALLED = 1e-5  # a step that gains less than this part of the cost stands in a valley that stays open
SAME = 1e-6  # two configurations nearer than this are one


def assemble(model: Model, q_guess: Any, locked: Sequence[str] = (), attempts: int = 12, seed: int = 0) -> Array:
    """Find the configuration near `q_guess` that closes every loop.

    Parameters
    ----------
    model : Model
    q_guess : (…, nq)
        Where to begin [rad, m].
    locked : sequence of str
        Joints that stay as they are.
    attempts : int
        How many starts are tried, the first of them q_guess.
    seed : int
        Of the other starts.

    Returns
    -------
    (…, nq)

    Raises
    ------
    InfeasibleError
        No attempt closes the loops; the one that stays open most is named, and by how much.

    Examples
    --------
    >>> model = ps.load("wd89_fig1")
    >>> q = ps.assemble(model, model.neutral())
    >>> bool(np.abs(ps.loop_residual(model, q)).max() < 1e-10)
    True
    """
    check_robot("assemble", (model,))
    q_guess = _guess(model.checked_q(q_guess, "q_guess"), "q_guess")
    free = _free(model, locked)
    result = [_assemble(model, q, free, attempts, seed) for q in q_guess.reshape(-1, model.nq)]
    return np.reshape(result, q_guess.shape)


def assemblies(
    model: Model, q_guess: Any, locked: Sequence[str] = (), attempts: int = 12, seed: int = 0
) -> list[Array]:
    """Configurations in which the loops are closed, the nearest to a guess first.

    Sought from the guess and from scattered ones. Where the loops leave freedom beside the locked joints, the
    alternatives are samples of it.

    Parameters
    ----------
    model : Model
    q_guess : (nq,)
    locked : sequence of str
        Joints that stay as they are.
    attempts : int
        Scattered guesses.
    seed : int
        Of their random numbers.

    Returns
    -------
    list of (nq,)

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> model = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> ps.loops.assemblies(model, [0.5, 0.0], locked=["joint1"])[0].round(9)
    array([0.5, 1. ])
    """
    q_guess = _guess(model.checked_q(q_guess, "q_guess"), "q_guess")
    if q_guess.ndim != 1:
        raise PhistarError(f"assemblies takes one guess, ({model.nq},); it was given {q_guess.shape}. See ps.assemble.")
    if not model.loops:
        return [q_guess]
    free, found, ends = _free(model, locked), [], []
    for start in _starts(model, q_guess, free, attempts, seed):
        q, size = _descend(model, start, free)
        ends.append((size, q))
        known = any(np.max(np.abs(_apart(model, q, other)), initial=0.0) < SAME for other in found)
        if size <= _tolerance(model) and not known:
            found.append(q)
    if not found:
        raise _open(model, min(ends, key=lambda end: end[0])[1], free, locked)
    return sorted(found, key=lambda q: float(np.linalg.norm(_apart(model, q_guess, q))))


def assemble_velocity(model: Model, q: Any, v_guess: Any, locked: Sequence[str] = ()) -> Array:
    """Joint rates nearest to given ones with which every loop stays closed.

    Parameters
    ----------
    model : Model
    q : (…, nq)
        A configuration in which the loops are closed.
    v_guess : (…, nv)
    locked : sequence of str
        Joints that keep their rates.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("planar2")
    >>> model = arm.with_loop("gear", "joint2", "joint1", ps.Coupling((0.0, 2.0)))
    >>> ps.loops.assemble_velocity(model, [0, 0], [1.0, 0.0], locked=["joint1"])
    array([1., 2.])
    """
    q, v = _guess(model.checked_q(q), "q"), _guess(model.checked(v_guess, model.nv, "v_guess"), "v_guess")
    free = _free(model, locked)
    batch = leading_axes({"q": q, "v_guess": v})
    q, v = np.broadcast_to(q, (*batch, model.nq)), np.array(np.broadcast_to(v, (*batch, model.nv)))
    if not model.loops:
        return v
    rows = closure_rows(model, q)[1]
    for index in np.ndindex(*batch):
        own, rate = rows[index][:, free], rows[index] @ v[index]
        v[index][free] -= np.linalg.lstsq(own, rate, rcond=1e-10)[0]
        left = rows[index] @ v[index]
        if np.max(np.abs(left)) > 1e-9 * max(1.0, np.max(np.abs(v[index]))):
            name, size = _worst(model, left)
            raise ModelError(
                f"With {_quoted_list(locked)} locked, {model.name} cannot move with the rates given: the loop '{name}' "
                f"would open at {size:.3g} per second. Lock fewer joints, or give rates that agree."
            )
    return v


def closure_rows(model: Model, q: np.ndarray) -> tuple[Array, Array]:
    """g, (…, m), and A = QJ + C, (…, m, nv)."""
    if fits_along_tree(model) and not may_be_written(model, 6 + row_count(model)):
        return rows_along_tree(model, q)
    frames, tree = loop_frames(model), model.tree
    found = closures(model, q, {frame: forward_kinematics(tree, q, frame) for frame in frames})
    rows = found.on_rates
    for i, frame in enumerate(frames):
        rows = rows + np.matmul(found.on_frames[..., 6 * i : 6 * i + 6], jacobian(tree, q, frame))
    return found.residual, rows


def _assemble(model: Model, q: np.ndarray, free: np.ndarray, attempts: int, seed: int) -> np.ndarray:
    if not model.loops:
        return q
    ends = []
    for start in _starts(model, q, free, attempts, seed):
        ends.append(_descend(model, start, free))
        if ends[-1][1] <= _tolerance(model):
            return ends[-1][0]
    locked = [joint.name for joint in model.joints if not free[joint.v_slice].any()]
    raise _open(model, min(ends, key=lambda end: end[1])[0], free, locked)


def _starts(model: Model, q: np.ndarray, free: np.ndarray, attempts: int, seed: int) -> Any:
    """The guess, then guesses whose joints are scattered further and further from it."""
    yield q
    rng, moved = np.random.default_rng(seed), np.array(free)
    for body in model.bodies:
        moved[body.mode_slice] = False  # bodies are as bent as they are: modes are no angles
    for k in range(attempts):
        yield model.integrate(q, moved * rng.uniform(-1.0, 1.0, model.nv) * np.pi * (k + 1) / max(attempts, 1))


def _descend(model: Model, q: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, float]:
    """Result of the damped iteration, and the largest residual there."""
    damping, best = 1e-3, q
    found, rows = closure_rows(model, q)
    cost = float(found @ found)
    for _ in range(ITERATIONS):
        own = rows[:, free]
        square = own @ own.T
        step = np.zeros(model.nv)
        unit = damping * max(np.trace(square) / len(square), 1e-30) * np.eye(len(square))
        step[free] = -own.T @ np.linalg.lstsq(square + unit, found, rcond=1e-15)[0]
        step *= min(1.0, STEP / max(np.max(np.abs(step)), 1e-30))
        q = model.integrate(best, step)
        there, rows_there = closure_rows(model, q)
        cost_there = float(there @ there)
        if cost_there < cost:
            best, found, rows, gained, cost = q, there, rows_there, cost - cost_there, cost_there
            damping = max(0.1 * damping, 1e-14)
            if gained < STALLED * cost or cost < 1e-32:
                break
        elif damping > 1e8 or np.max(np.abs(found)) <= 0.01 * CLOSED:
            break
        else:
            damping *= 10.0
    size = float(np.max(np.abs(found), initial=0.0))
    return best, max(size, _half_turns(model, best))


def _half_turns(model: Model, q: np.ndarray) -> float:
    """Error of screws that stand half a turn from where they should, where sin(z − θ) is zero too."""
    worst = 0.0
    for loop in model.loops:
        if isinstance(loop, Loop) and isinstance(loop.joint, Helical) and loop.joint.pitch != 0.0:
            first, second = (forward_kinematics(model.tree, q, end) for end in (loop.frame_a, loop.frame_b))
            rows = relative_rows(loop.joint, first, second, np.zeros(6), np.zeros(6))[0]
            if rows.by_shift[-1] @ loop.joint.axis < 0.0:
                worst = max(worst, abs(loop.joint.pitch) * np.pi)
    return worst


def _nearest(model: Model, q: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Configuration near q at which loops that cannot be closed are open least: the minimum of ½g*g."""
    from scipy.optimize import minimize

    def cost(step: np.ndarray) -> tuple[float, np.ndarray]:
        found, rows = closure_rows(model, model.integrate(q, step))
        return 0.5 * float(found @ found), np.where(free, found @ rows, 0.0)

    start = np.zeros(model.nv)
    step = minimize(cost, start, jac=True, method="BFGS").x
    return model.integrate(q, step) if cost(step)[0] < cost(start)[0] else q


def _open(model: Model, q: np.ndarray, free: np.ndarray, locked: Sequence[str]) -> ModelError:
    found, _ = closure_rows(model, _nearest(model, q, free))
    name, _ = _worst(model, found)
    loop = model.loop(name)
    gap = found[loop_slices(model)[name]]
    held = f" with {_quoted_list(locked)} locked" if len(locked) else ""
    return ModelError(
        f"{model.name} cannot be assembled{held}: the loop '{name}' {_ends(loop)} stays open by {_gap_text(loop, gap)} "
        f"at best. Check lengths and placements, lock fewer joints, or start from another guess."
    )


def _worst(model: Model, residual: np.ndarray) -> tuple[str, float]:
    sizes = {name: float(np.max(np.abs(residual[where]))) for name, where in loop_slices(model).items()}
    name = max(sizes, key=lambda each: sizes[each])
    return name, sizes[name]


def _ends(loop: Loop | CoupledJoints) -> str:
    if isinstance(loop, Loop):
        return f"({type(loop.joint).__name__}, '{loop.frame_a}' to '{loop.frame_b}')"
    return f"(the coupling of '{loop.joint_a}')"


def _gap_text(loop: Loop | CoupledJoints, gap: np.ndarray) -> str:
    if not isinstance(loop, Loop):
        return f"{abs(gap[0]):.3g}"
    angular = loop.rows - linear_rows(loop)
    parts = [(gap[:angular], "rad"), (gap[angular:], "m")]
    return " and ".join(f"{np.linalg.norm(own):.3g} {unit}" for own, unit in parts if len(own))


def _free(model: Model, locked: Sequence[str]) -> np.ndarray:
    """Rates that may change, (nv,) of truth values."""
    if isinstance(locked, str):
        raise PhistarError(f"`locked` is a list of joint names; it was given the text {locked!r}: write [{locked!r}].")
    free = np.ones(model.nv, dtype=bool)
    for name in locked:
        free[model.joint(name).v_slice] = False
    return free


def _guess(numbers: np.ndarray, what: str) -> np.ndarray:
    if not np.isfinite(numbers).all():
        raise PhistarError(f"{what} must be finite to start from; it has {numbers[~np.isfinite(numbers)][0]}.")
    return numbers


def _apart(model: Model, q: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The tangent from one configuration to another, whole turns of revolute joints left out."""
    apart = model.difference(q, other)
    for joint in model.joints:
        if isinstance(joint.kind, Revolute | Universal):
            own = apart[..., joint.v_slice]
            apart[..., joint.v_slice] = own - 2.0 * np.pi * np.round(own / (2.0 * np.pi))
    return apart


def _tolerance(model: Model) -> float:
    sizes = [np.max(np.abs(frame.placement.translation), initial=0.0) for frame in model.frame_list]
    sizes += [np.max(np.abs(body.placement.translation), initial=0.0) for body in model.bodies]
    return CLOSED * max(1.0, float(np.sum(sizes)))


def _quoted_list(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "no joint"
