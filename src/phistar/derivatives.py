"""Derivatives of the dynamics in tangent spaces: by δ of q ⊕ δ (`model.integrate`), for every kind of joint.

Each function stands below its statements: `ps.forward_dynamics_derivatives.statements` shows them, with `.derivation()`
and `.algorithm()`. They are differentiated by the laws (`identities/vector_derivatives.py`) and compiled pair by pair
of joints (`programs/derivative_program.py`); forward dynamics as −ℳ⁻¹∂τ at the acceleration that the forces give. With
geared rotors (`gyroscopic`), and for second derivatives, the recorded statement is differentiated instruction by
instruction. With loops, forward dynamics and what is made of it keep them closed (`phistar.loops.loop_derivatives`);
all else is the spanning tree's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends import second_order
from phistar.backends.choice import compilable
from phistar.backends.code.unsolved import Block, Unsolved
from phistar.backends.kernel import Kernel
from phistar.backends.links.common_frame import CommonFrame, common_frame, single_axes
from phistar.backends.links.concise import without_roundoff
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.links.values import has_rotors
from phistar.backends.machine.threads import spread
from phistar.backends.pairwise.programs import symbols_under_forces
from phistar.backends.programs import derivative_program
from phistar.backends.recorded import Recorded
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import is_traced
from phistar.dynamics import forward_dynamics
from phistar.errors import StatementError
from phistar.identities.derivative_laws import forward_derivatives, inverse_derivatives
from phistar.identities.polynomial import expand, ratio
from phistar.instruction_derivatives import (
    by_instructions,
    hessian_product_at,
    on_tape,
    rows_of_gradients,
    solved_gradients,
)
from phistar.linear_motion import drift, fill_upper_halves, side_by_side
from phistar.loops.loop_derivatives import closed_derivatives
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.operators.symbols import Symbols
from phistar.passive_forces import has_springs_or_damping, spring_and_damper_forces, with_passive
from phistar.short_repr import short_repr
from phistar.stated import states
from phistar.stated_arguments import broadcast_state
from phistar.stated_tables import StatedTables, states_tables
from phistar.sweeps.lower import GIVEN


@short_repr
class InverseDynamicsDerivatives(NamedTuple):
    """∂τ/∂q (tangent), ∂τ/∂v and ∂τ/∂a = ℳ; each (…, nv, nv), a row per joint force."""

    dq: Array
    dv: Array
    da: Array


@short_repr
class ForwardDynamicsDerivatives(NamedTuple):
    """∂a/∂q (tangent), ∂a/∂v and ∂a/∂τ = ℳ⁻¹; each (…, nv, nv), a row per joint acceleration."""

    dq: Array
    dv: Array
    dtau: Array


@short_repr
class Linearization(NamedTuple):
    """d/dt (δq, δv) = A (δq, δv) + B δτ: A (…, 2nv, 2nv), B (…, 2nv, nv)."""

    A: Array
    B: Array


@short_repr
class HessianProduct(NamedTuple):
    """Derivatives of ∂(w*τ)/∂q (tangent), ∂(w*τ)/∂v and ∂(w*τ)/∂a along a direction; each (…, nv)."""

    dq: Array
    dv: Array
    da: Array


@states_tables(inverse_derivatives)
def inverse_dynamics_derivatives(model: Model, q: Any, v: Any, a: Any) -> InverseDynamicsDerivatives:
    """Derivatives of the joint forces of `inverse_dynamics` by q, v and a.

    ∂τ/∂q, ∂τ/∂v and ∂τ/∂a = ℳ of τ = ℳθ̈ + 𝒞 + 𝒢, derived by the product rule and the laws of the algebra (SRW22).

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.

    Returns
    -------
    InverseDynamicsDerivatives
        `dq` (by the tangent δ of q ⊕ δ), `dv` and `da`, each (…, nv, nv), a row per joint force.

    Examples
    --------
    >>> ps.inverse_dynamics_derivatives(ps.planar_chain(2), [0, 1], [1, 0], [0, 0]).dv.round(3)
    array([[ 0.   , -0.841],
           [ 0.841,  0.   ]])
    """
    return InverseDynamicsDerivatives(*_inverse(model, q, v, a))


@states_tables(forward_derivatives)
def forward_dynamics_derivatives(model: Model, q: Any, v: Any, tau: Any) -> ForwardDynamicsDerivatives:
    """Derivatives of the joint accelerations of `forward_dynamics` by q, v and tau.

    −ℳ⁻¹∂τ/∂q, −ℳ⁻¹∂τ/∂v and ℳ⁻¹. With loops, how the accelerations that keep them closed change.

    Parameters
    ----------
    model : Model
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.

    Returns
    -------
    ForwardDynamicsDerivatives
        `dq` (by the tangent δ of q ⊕ δ), `dv` and `dtau`, each (…, nv, nv), a row per joint acceleration.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> found = ps.forward_dynamics_derivatives(arm, [0, 1], [0, 0], [0, 0])
    >>> np.allclose(found.dtau, ps.mass_matrix_inverse(arm, [0, 1]))
    True
    """
    if model.loops:
        return ForwardDynamicsDerivatives(*closed_derivatives(model, q, v, tau, _inverse))
    return ForwardDynamicsDerivatives(*_forward(model, q, v, tau))


@states_tables(forward_derivatives)
def linearize(model: Model, q: Any, v: Any, tau: Any, *, passive: bool = True) -> Linearization:
    """Linear motion of small deviations from q, v under joint forces tau, joint springs and damping included.

    A = [[−v~, 1], [∂a/∂q, ∂a/∂v]], B = [[0], [ℳ⁻¹]] of θ̈ = ℳ⁻¹(T + T_p − 𝒞 − 𝒢), T_p = −(d θ̇ + k (q ⊖ rest)). δq is
    the tangent of q ⊕ δq. On a quaternion joint it is seen from the moving link, which adds −v~: −ω×δ for a spherical
    joint, −[ω×δ₁; ω×δ₂ + v×δ₁] for a free one. With loops, a deviation that keeps them closed. Dry friction is left
    out: it has no derivative where a joint sticks.

    Parameters
    ----------
    model
        The robot.
    q, v, tau
        (…, nq), (…, nv), (…, nv): where it is linearized, and the joint forces there besides springs and damping.
    passive
        Whether the joints' springs and damping act; without them, of `forward_dynamics` alone.

    Returns
    -------
    Linearization
        A (…, 2nv, 2nv) and B (…, 2nv, nv).

    Examples
    --------
    >>> import numpy as np
    >>> import phistar as ps
    >>> b = ps.ModelBuilder("sprung", gravity=(0, 0, 0))
    >>> hinge = ps.Revolute(axis=(0, 0, 1), stiffness=8.0, damping=0.4)
    >>> b.body("wheel", joint=hinge, inertia=ps.Inertia(1.0, (0, 0, 0), 2.0 * np.eye(3)))
    >>> ps.linearize(b.build(), [0.0], [0.0], [0.0]).A.tolist()
    [[0.0, 1.0], [-4.0, -0.2]]
    """
    check_robot("linearize", (model,))
    acts = passive and has_springs_or_damping(model)
    if acts:
        q, v = broadcast_state(model, q, v)
        tau = model.checked(tau, model.nv, "tau") + spring_and_damper_forces(model, q, v)
    A, B = _linearization(model, q, v, tau)
    return Linearization(with_passive(model, q, v, A, B) if acts else A, B)


@states(lambda s: s.H @ s.phi @ s.Y_pi, matrix=True)
def regressor(model: Model, q: Any, v: Any, a: Any) -> Array:
    """Joint forces as a linear function of the bodies' inertial parameters.

    `inverse_dynamics` = Yπ + Aθ̈, with π stacking each body's mass, mass·com (3) and Ixx Ixy Iyy Ixz Iyz Izz about its
    origin (`Inertia.parameters`). A body that bends has one parameter in place of ten, the scale of its mass at all
    nodes, which is 1 as modelled; its stiffness is in `joint_friction`, not here. Models in independent rates have the
    parameters of their bodies link after link, and for A what X*AX leaves of the tree's.

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.

    Returns
    -------
    (…, nv, 10·rigid bodies + bending bodies)
        Y.

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> parameters = np.concatenate([body.inertia.parameters for body in arm.bodies])
    >>> (ps.regressor(arm, [0, 0], [0, 0], [1, 0]) @ parameters).round(3)
    array([2.668, 0.834])
    """
    return regressor.evaluate(model, q, {"v": v, "qdd": a})


def inverse_dynamics_hessian_product(
    model: Model, q: Any, v: Any, a: Any, w: Any, dq: Any, dv: Any, da: Any
) -> HessianProduct:
    """Second derivatives of inverse dynamics along a direction, weighted by `w`.

    ∇²(w*τ)·(dq, dv, da): d/dε of (∂τ*/∂q w, ∂τ*/∂v w, ∂τ*/∂a w) at (q ⊕ ε dq, v + ε dv, a + ε da). Tangent gradients
    are compared as they stand, each in its own tangent space.

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.
    w : (…, nv)
        Weights of the joint forces.
    dq, dv, da : (…, nv)
        The direction.

    Returns
    -------
    HessianProduct
        `dq`, `dv` and `da`, each (…, nv).

    Examples
    --------
    >>> arm, zero, one = ps.planar_chain(2), np.zeros(2), np.ones(2)
    >>> ps.inverse_dynamics_hessian_product(arm, [0, 1], one, zero, one, zero, one, zero).dv.shape
    (2,)
    """
    return HessianProduct(*_hessian_product(model, q, v, a, w, dq, dv, da))


# What is recorded for a robot, or, for long mechanisms, run on arrays as it is.


def _factors(tables: StatedTables[Any, Any], moved: bool = False) -> tuple[float, ...]:
    """Factors of statements that are multiples of the derivatives."""
    symbols = derivative_program.symbols_under_forces(Symbols()) if moved else Symbols()
    known = (forward_derivatives if moved else inverse_derivatives)(symbols)
    found = [ratio(expand(x), expand(known[name])) for name, x in tables.nodes(symbols).items()]
    if None in found:
        raise StatementError("With geared rotors, only multiples of the dynamics' own derivatives are had.")
    return tuple(float(x) for x in found if x is not None)


def _in_common_frame(model: Model, q: np.ndarray) -> CommonFrame:
    return common_frame(single_axes(without_roundoff(model)), q)


def _inverse_at(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...] | Unsolved:
    if has_rotors(model) or has_wide_links(model):
        made = by_instructions(model, q, v, a)
        return tuple(c * x for c, x in zip(_factors(inverse_dynamics_derivatives), made, strict=True))
    program = derivative_program.tables_program(*_statements_of(inverse_dynamics_derivatives)())
    return derivative_program.evaluate(program, _in_common_frame(model, q), {GIVEN["v"]: v, GIVEN["qdd"]: a})


def inverse_derivatives_kernel(model: Model) -> Kernel:
    """The kernel of `inverse_dynamics_derivatives` of a tree, to be called by compiled loops."""
    return _inverse.kernel(model)


def _statements_of(
    tables: StatedTables[Any, Any], moved: Callable[[Symbols], Symbols] = lambda s: s
) -> Callable[[], tuple[Any, Symbols]]:
    """Function giving the statements of tables and their symbols, with θ̈ as `moved` has it."""

    def statements_and_symbols() -> tuple[Any, Symbols]:
        symbols = moved(Symbols())
        return tuple(tables.nodes(symbols).items()), symbols

    return statements_and_symbols


def _tables_at(tables: StatedTables[Any, Any], model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Unsolved:
    if not (has_rotors(model) or has_wide_links(model)):
        program = derivative_program.tables_program(*_statements_of(tables, derivative_program.symbols_under_forces)())
        return derivative_program.evaluate(program, _in_common_frame(model, q), {GIVEN["v"]: v, GIVEN["T"]: tau})
    a = np.array(replay(*on_tape(model, forward_dynamics, q, v=v, T=tau)), dtype=object)
    by_q, by_v, mass = by_instructions(model, q, v, a)
    c_q, c_v, c_tau = _factors(tables, moved=True)
    return derivative_program.derivatives_to_solve(mass, -c_q * by_q, -c_v * by_v, factor=c_tau)


def _linearization_tables(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Unsolved:
    forward, nv = _tables_at(linearize, model, q, v, tau), model.nv
    (by_q, by_v, inverse), unit, turn = forward.tables, np.eye(nv), drift(model, q, v)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (by_q, by_v, turn)))
    rows = [[turn, unit, np.zeros(unit.shape)], [by_q, by_v, inverse]]
    whole = [[np.broadcast_to(x, (*batch, *unit.shape)) for x in row] for row in rows]
    table = np.concatenate([np.concatenate(row, axis=-1) for row in whole], axis=-2)
    blocks = Block(0, nv), Block(1, nv, symmetric=True)
    return forward.rearrange((table[..., : 2 * nv], table[..., 2 * nv :]), blocks)


def _linearization(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, np.ndarray]:
    """A and B; of long robots the tables of the statements are written to where they stand in these."""
    if model.loops:
        return side_by_side(model, q, v, closed_derivatives(model, q, v, tau, _inverse))
    if not _tables.is_long(model):
        return _linearized(model, q, v, tau)
    q, v = broadcast_state(model, q, v)
    tau = model.checked(tau, model.nv, "tau")
    if is_traced(q, v, tau) or has_rotors(model):
        return side_by_side(model, q, v, _tables(model, q, v, tau))
    if _tables.is_chosen_written(model):
        return _linearized(model, q, v, tau)
    kernel = _in_place.kernel(model)
    return fill_upper_halves(model, q, v, *spread(kernel.function, (q, v, tau), list(kernel.shapes)))


def _systems(model: Model) -> tuple[tuple[int, ...], ...]:
    return (2 * model.nv, 2 * model.nv), (2 * model.nv, model.nv)


def _square(model: Model) -> tuple[tuple[int, ...], ...]:
    return ((model.nv, model.nv),) * 3


_inverse = Recorded(
    "inverse_dynamics_derivatives",
    ("q", "v", "a"),
    ("dq", "dv", "da"),
    _inverse_at,
    _square,
    long=lambda model: rows_of_gradients(model, _factors(inverse_dynamics_derivatives)),
    tables=_statements_of(inverse_dynamics_derivatives),
    slot=inverse_dynamics_derivatives.slot,
)
_forward = Recorded(
    "forward_dynamics_derivatives",
    ("q", "v", "tau"),
    ("dq", "dv", "dtau"),
    partial(_tables_at, forward_dynamics_derivatives),
    _square,
    long=lambda model: solved_gradients(model, _factors(forward_dynamics_derivatives, moved=True)),
    tables=_statements_of(forward_dynamics_derivatives, symbols_under_forces),
    slot=forward_dynamics_derivatives.slot,
)
_tables = Recorded(
    "linearize",
    ("q", "v", "tau"),
    ("dq", "dv", "dtau"),
    partial(_tables_at, linearize),
    _square,
    long=lambda model: solved_gradients(model, _factors(linearize, moved=True)),
    tables=_statements_of(linearize, symbols_under_forces),
    slot=lambda: f"{linearize.slot()} tables",
)
_in_place = replace(
    _tables,
    outputs=("A", "B"),
    shapes=_systems,
    slot=lambda: f"{linearize.slot()} in place",
    places=((0, 1, 0), (0, 1, 1), (1, 1, 0)),
)
_linearized = Recorded(
    *("linearize", ("q", "v", "tau"), ("A", "B"), _linearization_tables, _systems),
    fits=lambda model: compilable(model) or _tables.is_chosen_written(model),
    slot=linearize.slot,
)
inverse_dynamics_derivatives.use_kernel(_inverse.known_kernel)
forward_dynamics_derivatives.use_kernel(lambda model: None if model.loops else _forward.known_kernel(model))
linearize.use_kernel(
    lambda model: None if model.loops or has_springs_or_damping(model) else _linearized.known_kernel(model)
)
_hessian_product = Recorded(
    "inverse_dynamics_hessian_product",
    ("q", "v", "a", "w", "dq", "dv", "da"),
    ("dq", "dv", "da"),
    hessian_product_at,
    lambda model: ((model.nv,),) * 3,
    long=second_order.compile_hessian_product,
)

RECORDED = {each.name: each for each in (_inverse, _forward, _linearized, _hessian_product)}
"""Recordings for a robot, by the name of the function."""
