"""How a mechanism answers forces at its bodies, as statements; and the compiled solver of contact forces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from phistar.backends.arrays import traced
from phistar.backends.kernel import compile_trace
from phistar.backends.trace import Scalar, Tape, finish
from phistar.contact.forces import Forces, Held, contact_forces
from phistar.contact.surface import Parameters
from phistar.model import Model
from phistar.spatial import skew
from phistar.stated import states

LARGEST_WRITTEN = 12  # contacts; more are solved in NumPy


@states(lambda s: s.J @ s.v)
def motions(model: Model, q: Any, v: Any, frames: tuple[str, ...]) -> np.ndarray:
    """Jθ̇, (…, 6m): the motions of frames, world axes."""
    return motions.evaluate(model, q, {"v": v}, frames=frames)


@states(lambda s: s.J @ s.mass.inv @ s.J.T, matrix=True)
def mobility(model: Model, q: Any, frames: tuple[str, ...]) -> np.ndarray:
    """Ω = Jℳ⁻¹J*, (…, 6m, 6m) (RJK91 eq. 19)."""
    return mobility.evaluate(model, q, frames=frames)


@states(lambda s: s.mass.inv @ s.J.T @ s.f)
def response(model: Model, q: Any, frames: tuple[str, ...], force: Any) -> np.ndarray:
    """ℳ⁻¹J*f, (…, nv): the accelerations that forces at frames add (RJK91 eq. 18, with the sign of what acts)."""
    return response.evaluate(model, q, {"f": force}, frames=frames)


def contact_map(point: np.ndarray, bases: np.ndarray, origins: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """C, (n, 4, 6m): velocities of a against b along the columns of each basis, and of turning about the last, from the
    motions of m bodies at their origins.

    `sides` (n, 2) numbers the bodies of a and b among the m; −1 is the world, which does not move.
    """
    result = np.zeros((len(sides), 4, len(origins), 6))
    across = np.swapaxes(bases, -1, -2)
    for column, way in ((0, 1.0), (1, -1.0)):
        moving = np.nonzero(sides[:, column] >= 0)[0]
        body = sides[moving, column]
        lever = skew(point[moving] - origins[body])
        result[moving, :3, body, :3] -= way * (across[moving] @ lever)
        result[moving, :3, body, 3:] += way * across[moving]
        result[moving, 3, body, :3] += way * bases[moving, :, 2]
    return result.reshape(len(sides), 4, -1)


def bases_of(normal: np.ndarray) -> np.ndarray:
    """(n, 3, 3): two tangents and the normal as columns."""
    x, y, z = normal.T
    side = np.where(z >= 0.0, 1.0, -1.0)  # Duff et al. 2017: no direction is special
    a = -1.0 / (side + z)
    b = x * y * a
    first = np.stack([1.0 + side * x * x * a, side * b, -side * x], axis=-1)
    second = np.stack([b, side + y * y * a, -y], axis=-1)
    return np.stack([first, second, normal], axis=-1)


def solve_contacts(p: Parameters, gap: Any, u: Any, g: Any, held: Held, step: float) -> Forces:
    """`contact_forces`, compiled for as many contacts as there are."""
    count = len(gap)
    if count > LARGEST_WRITTEN:
        return contact_forces(p, gap, u, g.reshape(count, 4, count, 4), held, step)
    numbers = np.concatenate([np.ravel(x) for x in (*p, gap, u, g, *held, [step])])
    with np.errstate(invalid="ignore"):  # a controller's NaN is found by the step it spoils
        made = _solver(count)(numbers)
    ends = np.cumsum([4 * count, count, 2 * count, count, count])
    force, left, bristle, twist, touch, missed = np.split(made, ends)
    return Forces(force.reshape(count, 4), left, Held(bristle.reshape(count, 2), twist, touch), missed)


@cache
def _solver(count: int) -> Any:
    """The solver for this many contacts, whatever their bodies, as machine code."""
    tape, n = Tape(), count
    inputs = traced(tape.inputs((9 * n + n + 4 * n + 16 * n * n + 4 * n + 1,)))
    sizes = [9 * n, n, 4 * n, 16 * n * n, 2 * n, n, n, 1]
    p, gap, u, g, bristle, twist, touch, step = np.split(inputs, np.cumsum(sizes)[:-1])
    parameters = Parameters(*p.reshape(9, n))
    held = Held(bristle.reshape(n, 2), twist, touch)
    found = contact_forces(parameters, gap, u.reshape(n, 4), g.reshape(n, 4, n, 4), held, step[0])
    arrays = [found.force, found.gap, *found.held, found.missed]
    values = [x for array in arrays for x in np.asarray(array).reshape(-1)]
    trace = finish(tape, [x if isinstance(x, Scalar) else float(x) for x in values])
    return compile_trace(trace, [len(inputs)], [(len(values),)], f"{count} contacts", ("forces",)).function
