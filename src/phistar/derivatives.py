"""Derivatives of the dynamics in tangent spaces: by δ of q ⊕ δ (`model.integrate`), for every kind of joint.

Each function stands below its statements: `ps.forward_dynamics_derivatives.statements` shows them, with `.derivation()`
and `.algorithm()`. They are differentiated by the laws (`identities/differentiate.py`) and compiled pair by pair of
joints (`programs/linearized.py`); forward dynamics as −ℳ⁻¹∂τ at the acceleration that the forces give. With geared
rotors (`gyroscopic`), and for second derivatives, the recorded statement is differentiated instruction by instruction.
With loops, forward dynamics and what is made of it keep them closed (`phistar.loops.derivatives`); all else is the
spanning tree's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.backends import regressor as regression
from phistar.backends import second_order
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.common_frame import CommonFrame, common_frame, single_axes
from phistar.backends.links.values import has_rotors
from phistar.backends.programs import linearized
from phistar.backends.recorded import Recorded
from phistar.backends.traces.differentiate import adjoints, matrix, tangent_map, tangents, values_of
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, Trace, finish
from phistar.dynamics import forward_dynamics, inverse_dynamics
from phistar.errors import StatementError
from phistar.expression import algebra
from phistar.identities.linearized import forward_derivatives, inverse_derivatives
from phistar.loops.derivatives import closed_derivatives
from phistar.model import Model
from phistar.operators.symbols import Symbols
from phistar.spatial import skew
from phistar.stated import Stated, states_tables
from phistar.sweeps.lower import GIVEN


class InverseDynamicsDerivatives(NamedTuple):
    """∂τ/∂q (tangent), ∂τ/∂v and ∂τ/∂a = ℳ; each (…, nv, nv), a row per joint force."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


class ForwardDynamicsDerivatives(NamedTuple):
    """∂a/∂q (tangent), ∂a/∂v and ∂a/∂τ = ℳ⁻¹; each (…, nv, nv), a row per joint acceleration."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


class Linearization(NamedTuple):
    """d/dt (δq, δv) = A (δq, δv) + B δτ: A (…, 2nv, 2nv), B (…, 2nv, nv)."""

    A: np.ndarray
    B: np.ndarray


class HessianProduct(NamedTuple):
    """How ∂(w*τ)/∂q (tangent), ∂(w*τ)/∂v and ∂(w*τ)/∂a change along a direction; each (…, nv)."""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


@states_tables(inverse_derivatives)
def inverse_dynamics_derivatives(model: Model, q: Any, v: Any, a: Any) -> InverseDynamicsDerivatives:
    """∂τ/∂q, ∂τ/∂v, ∂τ/∂a of τ = ℳθ̈ + 𝒞 + 𝒢, each (…, nv, nv)."""
    return InverseDynamicsDerivatives(*_inverse(model, q, v, a))


@states_tables(forward_derivatives)
def forward_dynamics_derivatives(model: Model, q: Any, v: Any, tau: Any) -> ForwardDynamicsDerivatives:
    """−ℳ⁻¹∂τ/∂q, −ℳ⁻¹∂τ/∂v and ℳ⁻¹, each (…, nv, nv): how θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢) changes.

    With loops, how the θ̈ changes that keeps them closed.
    """
    if model.loops:
        return ForwardDynamicsDerivatives(*closed_derivatives(model, q, v, tau))
    return ForwardDynamicsDerivatives(*_forward(model, q, v, tau))


def linearize(model: Model, q: Any, v: Any, tau: Any) -> Linearization:
    """A = [[−v~, 1], [∂a/∂q, ∂a/∂v]], B = [[0], [ℳ⁻¹]]: the motion of a small deviation from q, v, tau.

    δq is the tangent of q ⊕ δq. On a quaternion joint it is seen from the moving link, which adds −v~: −ω×δ for a
    spherical joint, −[ω×δ₁; ω×δ₂ + v×δ₁] for a free one. With loops, a deviation that keeps them closed.
    """
    if model.loops:
        return Linearization(*_closed_linearization(model, q, v, tau))
    return Linearization(*_linearized(model, q, v, tau))


def regressor(model: Model, q: Any, v: Any, a: Any) -> np.ndarray:
    """Y with inverse_dynamics = Yπ + Aθ̈, (…, nv, 10·bodies).

    π stacks each body's mass, mass·com (3) and Ixx Ixy Iyy Ixz Iyz Izz about its origin (`Inertia.parameters`).
    """
    return _regressor(model, q, v, a)


def inverse_dynamics_hessian_product(
    model: Model, q: Any, v: Any, a: Any, w: Any, dq: Any, dv: Any, da: Any
) -> HessianProduct:
    """∇²(w*τ)·(dq, dv, da), three vectors (…, nv): d/dε of (∂τ*/∂q w, ∂τ*/∂v w, ∂τ*/∂a w) at (q ⊕ ε dq, v + ε dv, …).

    All arguments after q are (…, nv). Tangent gradients are compared as they stand, each in its own tangent space.
    """
    return HessianProduct(*_hessian_product(model, q, v, a, w, dq, dv, da))


# What is recorded for a robot, or, for long mechanisms, run on arrays as it is.


def _in_common_frame(model: Model, q: np.ndarray) -> CommonFrame:
    return common_frame(single_axes(without_roundoff(model)), q)


def _inverse_at(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...] | Unsolved:
    if has_rotors(model):
        return _by_instructions(model, q, v, a)
    program = linearized.tables_program(inverse_dynamics_derivatives.nodes, Symbols())
    return linearized.inverse_dynamics_derivatives(program, _in_common_frame(model, q), v, a)


def _forward_at(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Unsolved:
    if not has_rotors(model):
        program = linearized.tables_program(forward_dynamics_derivatives.nodes, linearized.moved_by_forces(Symbols()))
        return linearized.forward_dynamics_derivatives(program, _in_common_frame(model, q), v, tau)
    a = np.array(replay(*_on(model, forward_dynamics, q, v=v, T=tau)), dtype=object)
    by_q, by_v, mass = _by_instructions(model, q, v, a)
    return linearized.unsolved(mass, -by_q, -by_v)


def _linearized_at(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Unsolved:
    forward, nv = _forward_at(model, q, v, tau), model.nv
    (by_q, by_v, inverse), unit, drift = forward.tables, np.eye(nv), _drift(model, v)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (by_q, by_v, drift)))
    rows = [[drift, unit, np.zeros(unit.shape)], [by_q, by_v, inverse]]
    whole = [[np.broadcast_to(x, (*batch, *unit.shape)) for x in row] for row in rows]
    table = np.concatenate([np.concatenate(row, axis=-1) for row in whole], axis=-2)
    blocks = Block(0, nv), Block(1, nv, symmetric=True)
    return forward.rearranged((table[..., : 2 * nv], table[..., 2 * nv :]), blocks)


def _closed_linearization(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, np.ndarray]:
    by_q, by_v, by_tau = closed_derivatives(model, q, v, tau)
    unit, shape = np.eye(model.nv), by_q.shape
    upper = np.concatenate([np.broadcast_to(x, shape) for x in (_drift(model, v), unit)], axis=-1)
    A = np.concatenate([upper, np.concatenate([by_q, by_v], axis=-1)], axis=-2)
    return A, np.concatenate([np.zeros(shape), by_tau], axis=-2)


def _drift(model: Model, v: Any) -> np.ndarray:
    """−v~ on quaternion joints, (…, nv, nv); from g exp(δ) with ġ = g v: δ̇ = δv − v~δ."""
    v = np.asarray(v)
    result = np.full((*v.shape[:-1], model.nv, model.nv), 0.0, dtype=object if v.dtype == object else float)
    for joint in model.joints:
        if not joint.kind.flat:
            start, spin = joint.v_slice.start, -skew(v[..., joint.v_slice][..., :3])
            for i in range(0, joint.nv, 3):
                result[..., start + i : start + i + 3, start + i : start + i + 3] = spin
            if joint.nv == 6:
                slide = -skew(v[..., joint.v_slice][..., 3:])
                result[..., start + 3 : start + 6, start : start + 3] = slide
    return result


def _by_instructions(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
    """∂τ from the recorded statement, all 3nv directions at once."""
    trace, inputs = _on(model, inverse_dynamics, q, v=v, qdd=a)
    nv, seeds = model.nv, dict(enumerate(tangent_map(model, q)))
    seeds |= {model.nq + i: {model.nv + i: 1.0} for i in range(2 * nv)}
    found = matrix(tangents(trace, values_of(trace, inputs), seeds), 3 * nv)
    return found[:, :nv], found[:, nv : 2 * nv], found[:, 2 * nv :]


def _hessian_product_at(model: Model, q: np.ndarray, *vectors: np.ndarray) -> tuple[np.ndarray, ...]:
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
    trace, inputs = _on(model, inverse_dynamics, q, v=v, qdd=a)
    pulled = adjoints(trace, values_of(trace, inputs), [{0: x} for x in w])
    plain = [pulled.get(i, {}).get(0, 0.0) for i in range(nq + 2 * nv)]
    by_q = [0.0] * nv
    for row, slope in zip(tangent_map(model, q), plain, strict=False):
        for j, x in row.items():
            by_q[j] = by_q[j] + x * slope
    return finish(tape, [*by_q, *plain[nq:]])


def _on(model: Model, stated: Stated[Any, Any], q: np.ndarray, **vectors: np.ndarray) -> tuple[Trace, list[Any]]:
    """A stated function's instructions and their inputs: q, then the vectors in the order v, then the others."""
    if q.dtype != object:
        raise StatementError(f"{model.name} has geared rotors and more than 40 bodies; its derivatives are not there.")
    bound = algebra(model)
    nodes = tuple(stated.nodes(bound.symbols).items())
    wanted = Statements(nodes, bound.symbols, bound.setting, False, model, {})
    trace, names, _ = min((trace_statements(x) for x in wanted.forms()), key=lambda found: found[0].operations)
    given = {GIVEN[name]: value for name, value in vectors.items()}
    assert names == [name for name in given if name in names], names
    return trace, [*q, *(x for value in given.values() for x in value)]


def _square(model: Model) -> tuple[tuple[int, ...], ...]:
    return ((model.nv, model.nv),) * 3


_inverse = Recorded("inverse_dynamics_derivatives", ("q", "v", "a"), ("dq", "dv", "da"), _inverse_at, _square)
_forward = Recorded("forward_dynamics_derivatives", ("q", "v", "tau"), ("dq", "dv", "dtau"), _forward_at, _square)
_linearized = Recorded(
    "linearize",
    ("q", "v", "tau"),
    ("A", "B"),
    _linearized_at,
    lambda model: ((2 * model.nv, 2 * model.nv), (2 * model.nv, model.nv)),
)
_regressor = Recorded(
    "regressor",
    ("q", "v", "a"),
    ("regressor",),
    lambda model, q, v, a: (regression.regressor(without_roundoff(model), q, v, a),),
    lambda model: ((model.nv, 10 * len(model.bodies)),),
    long=regression.compile_regressor,
)
_hessian_product = Recorded(
    "inverse_dynamics_hessian_product",
    ("q", "v", "a", "w", "dq", "dv", "da"),
    ("dq", "dv", "da"),
    _hessian_product_at,
    lambda model: ((model.nv,),) * 3,
    long=second_order.compile_hessian_product,
)

RECORDED = {each.name: each for each in (_inverse, _forward, _linearized, _regressor, _hessian_product)}
"""What is recorded for a robot, by the name of the function."""
