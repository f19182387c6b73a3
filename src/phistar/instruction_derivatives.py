"""Derivatives of joint forces through the instructions that make them: with geared rotors, and for second derivatives.

The recorded statement is differentiated instruction by instruction; that of a long mechanism link by link
(`backends/second_order.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from phistar.backends import second_order
from phistar.backends.kernel import Kernel, Statements
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.programs.triple_places import turning
from phistar.backends.traces.differentiate import adjoints, matrix, tangent_map, tangents, values_of
from phistar.backends.traces.trace import Tape, Trace, finish
from phistar.dynamics import forward_dynamics, inverse_dynamics, mass_matrix_inverse
from phistar.errors import StatementError
from phistar.expression import algebra
from phistar.model import Model
from phistar.recording import record
from phistar.stated import Stated
from phistar.sweeps.lower import GIVEN


def rows_of_gradients(model: Model, factors: tuple[float, ...]) -> Kernel:
    """∂τ of a long mechanism with geared rotors, a row after the other, each times
    a factor: ∇(w*τ) at unit vectors w."""
    kernel, unit, nv = second_order.compile_gradient(model), np.eye(model.nv), model.nv

    def function(q: Any, v: Any, a: Any, out: Any = None) -> tuple[np.ndarray, ...]:
        made = kernel.function(*(np.asarray(x)[..., None, :] for x in (q, v, a)), unit)
        return _put(out, tuple(c * x for c, x in zip(factors, made, strict=True)))

    return Kernel(function, ("v", "a"), ("dq", "dv", "da"), nv * kernel.operations, ((nv, nv),) * 3)


def solved_gradients(model: Model, factors: tuple[float, ...]) -> Kernel:
    """−ℳ⁻¹∂τ and ℳ⁻¹ of a long mechanism with geared rotors, at the acceleration that the forces give."""
    rows, nv = rows_of_gradients(model, (1.0,) * 3), model.nv

    def function(q: Any, v: Any, tau: Any, out: Any = None) -> tuple[np.ndarray, ...]:
        by_q, by_v, _ = rows.function(q, v, forward_dynamics(model.tree, q, v, tau))
        inverse = mass_matrix_inverse(model.tree, q)
        made = -np.matmul(inverse, by_q), -np.matmul(inverse, by_v), inverse
        return _put(out, tuple(c * x for c, x in zip(factors, made, strict=True)))

    return Kernel(function, ("v", "tau"), ("dq", "dv", "dtau"), rows.operations, ((nv, nv),) * 3)


def _put(out: Any, made: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    if out is None:
        return made
    for room, x in zip(out, made, strict=True):
        np.copyto(room, x, casting="same_kind")
    return out


def by_instructions(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """∂τ from the recorded statement, all 3nv directions at once."""
    trace, inputs = on_tape(model, inverse_dynamics, q, v=v, qdd=a)
    nv, seeds = model.nv, dict(enumerate(tangent_map(model, q)))
    seeds |= {model.nq + i: {model.nv + i: 1.0} for i in range(2 * nv)}
    found = matrix(tangents(trace, values_of(trace, inputs), seeds), 3 * nv)
    return found[:, :nv], found[:, nv : 2 * nv], found[:, 2 * nv :]


def tensors_by_instructions(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, places: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """∂²τ at places, how all that makes ∂τ changes; on a quaternion joint by the mean of both orders of q."""
    nq, nv, tape = model.nq, model.nv, Tape()
    given = [tape.inputs((n,)) for n in (nq, nv, nv)]
    trace = finish(tape, [x for table in by_instructions(model, *given) for x in table.reshape(-1)])
    seeds: dict[int, Any] = dict(enumerate(tangent_map(model, q)))
    seeds |= {nq + i: {nv + i: 1.0} for i in range(nv)}
    found = matrix(tangents(trace, values_of(trace, [*q, *v, *a]), seeds), 2 * nv).reshape(3, nv, nv, 2, nv)
    by_q, by_v, mass = found
    changes = {
        "dqdq": by_q[:, :, 0],
        "dqdv": np.swapaxes(by_v[:, :, 0], 1, 2),
        "dvdv": by_v[:, :, 1],
        "dadq": mass[:, :, 0],
    }
    turned = turning(model) & ~np.eye(nv, dtype=bool)
    mean = 0.5 * (changes["dqdq"] + np.swapaxes(changes["dqdq"], 1, 2))
    changes["dqdq"] = np.where(turned, mean, changes["dqdq"])
    return {name: changes[name][tuple(own.T)] for name, own in places.items()}


def hessian_product_at(model: Model, q: np.ndarray, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
    """The gradient backward through the recorded statement, its change forward through the recorded gradient."""
    nq, nv = model.nq, model.nv
    gradient = _recorded_gradient(model)
    *point, dq, dv, da = vectors
    moved = [{0: sum((dq[j] * x for j, x in row.items()), 0.0)} for row in tangent_map(model, q)]
    moved += [{0: x} for x in (*dv, *da)]
    values = values_of(gradient, [*q, *(x for vector in point for x in vector)])
    found = matrix(tangents(gradient, values, dict(enumerate(moved))), 1)[:, 0]
    assert len(moved) == nq + 2 * nv
    return found[:nv], found[nv : 2 * nv], found[2 * nv :]


def _recorded_gradient(model: Model) -> Trace:
    """The instructions from (q, v, a, w) to ∂(w*τ)/∂(q, v, a), tangent in q."""
    tape, nq, nv = Tape(), model.nq, model.nv
    q, v, a, w = (tape.inputs((size,)) for size in (nq, nv, nv, nv))
    trace, inputs = on_tape(model, inverse_dynamics, q, v=v, qdd=a)
    pulled = adjoints(trace, values_of(trace, inputs), [{0: x} for x in w])
    plain = [pulled.get(i, {}).get(0, 0.0) for i in range(nq + 2 * nv)]
    by_q = [0.0] * nv
    for row, slope in zip(tangent_map(model, q), plain, strict=False):
        for j, x in row.items():
            by_q[j] = by_q[j] + x * slope
    return finish(tape, [*by_q, *plain[nq:]])


def on_tape(model: Model, stated: Stated[Any, Any], q: np.ndarray, **vectors: np.ndarray) -> tuple[Trace, list[Any]]:
    """A stated function's instructions and their inputs: q, then the vectors in the order v, then the others."""
    if has_wide_links(model):
        return record(stated, model).trace, [*q, *(x for value in vectors.values() for x in value)]
    if q.dtype != object:
        raise StatementError(f"{model.name} has geared rotors and more than 40 bodies; its derivatives are not there.")
    bound = algebra(model)
    nodes = tuple(stated.nodes(bound.symbols).items())
    wanted = Statements(nodes, bound.symbols, bound.setting, False, model, {})
    trace, names, _ = wanted.cheapest()
    given = {GIVEN[name]: value for name, value in vectors.items()}
    assert names == [name for name in given if name in names], names
    return trace, [*q, *(x for value in given.values() for x in value)]
