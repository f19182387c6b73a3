"""Second derivatives of the dynamics, in tangent spaces: the entries that can be nonzero, symmetric ones once.

∂²τ of τ = ℳθ̈ + 𝒞 + 𝒢 is how its first derivatives change: statements that laws bring to products over three joints on
one way from the base (`sweeps/triples.py`; Singh and Wensing, Transactions on Robotics 2024). That of forward dynamics
follows by θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.choice import is_tensor_written
from phistar.backends.links.common_frame import common_frame, single_axes
from phistar.backends.links.concise import without_roundoff
from phistar.backends.links.link_sizes import has_wide_links
from phistar.backends.links.values import has_rotors
from phistar.backends.programs.solved_statements import solved_statements
from phistar.backends.programs.triple_tables import EXCHANGED, TENSORS, Triples, Wanted, triples_program
from phistar.backends.tensor_kernel import Entries, TensorKernel, can_change, contracted_kernel, tensor_kernel
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import is_traced
from phistar.backends.triplewise.runs import in_loop_order
from phistar.backends.triplewise.solved_rates import SolvedRates, weights_of
from phistar.backends.triplewise.triple_kernel import triple_kernel
from phistar.derivatives import forward_dynamics_derivatives, inverse_dynamics_hessian_product
from phistar.dynamics import forward_dynamics
from phistar.errors import StatementError
from phistar.identities.derivative_laws import second_forward_derivatives, second_inverse_derivatives
from phistar.instruction_derivatives import tensors_by_instructions
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.operators.nodes import spelling
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial.vectors import leading_axes
from phistar.stated_tables import states_tables
from phistar.sweeps.lower import GIVEN
from phistar.sweeps.regions import SolvedStatement, TripleProgram


@dataclass(frozen=True, eq=False)
class Tensor:
    """A third-order array (…, nv, nv, nv) by the entries that can be nonzero; symmetric ones are kept once.

    `values` (…, m) are the entries, `places` (m, 3) their indices, `exchanged` the two axes in which the array is
    symmetric, or None.

    Example
    -------
    >>> import numpy as np, phistar as ps
    >>> arm = ps.planar_chain(2)
    >>> found = ps.inverse_dynamics_second_derivatives(arm, [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]).dadq
    >>> found.places.tolist()
    [[0, 0, 1], [0, 1, 1]]
    >>> found.dense().shape
    (2, 2, 2)
    """

    values: Array
    places: np.ndarray
    size: int
    exchanged: tuple[int, int] | None = None

    def dense(self) -> Array:
        """The whole array, (…, nv, nv, nv)."""
        result = np.zeros((*self.values.shape[:-1], *(self.size,) * 3), np.asarray(self.values).dtype)
        place = list(self.places.T)
        result[..., place[0], place[1], place[2]] = self.values
        if self.exchanged is not None:
            first, second = self.exchanged
            place[first], place[second] = place[second], place[first]
            result[..., place[0], place[1], place[2]] = self.values
        return result

    def __repr__(self) -> str:
        return f"<Tensor {self.values.shape[:-1] + (self.size,) * 3}: {len(self.places)} entries that can be nonzero>"


@short_repr
class InverseDynamicsSecondDerivatives(NamedTuple):
    """∂²τ/∂q∂q, ∂²τ/∂q∂v, ∂²τ/∂v∂v and ∂²τ/∂a∂q = ∂ℳ/∂q, a `Tensor` each: [i, j, k] is of force i by the j-th of the
    first and the k-th of the second."""

    dqdq: Tensor
    dqdv: Tensor
    dvdv: Tensor
    dadq: Tensor


@short_repr
class ForwardDynamicsSecondDerivatives(NamedTuple):
    """∂²θ̈/∂q∂q, ∂²θ̈/∂q∂v, ∂²θ̈/∂v∂v and ∂²θ̈/∂τ∂q = ∂ℳ⁻¹/∂q, a `Tensor` each: [i, j, k] is of acceleration i by the
    j-th of the first and the k-th of the second."""

    dqdq: Tensor
    dqdv: Tensor
    dvdv: Tensor
    dtaudq: Tensor


_EXCHANGED = {**EXCHANGED, "dtaudq": (0, 1)}
CHUNK = 64  # states: what forward dynamics keeps of them stays in the caches
LARGEST = 1_000_000  # entries that products of arrays make at once


@states_tables(second_inverse_derivatives)
def inverse_dynamics_second_derivatives(model: Model, q: Any, v: Any, a: Any) -> InverseDynamicsSecondDerivatives:
    """Second derivatives of `inverse_dynamics` by q and v: those of τ(q ⊕ δ, v, a) at δ = 0.

    With a they change as ∂ℳ/∂q does: τ is linear in a. ∂²τ/∂v∂v depends on q alone. Joint forces are those of the
    spanning tree.

    Parameters
    ----------
    model : Model
    q, v, a : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and accelerations.

    Returns
    -------
    InverseDynamicsSecondDerivatives
        `dqdq`, `dqdv`, `dvdv` and `dadq`, each a `Tensor`: `.values` (…, m) are the entries that can be nonzero, at
        `.places` (m, 3), symmetric ones once; `.dense()` is the whole, (…, nv, nv, nv).

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> found = ps.inverse_dynamics_second_derivatives(arm, [0, 1], [1, 0], [0, 0])
    >>> found.dvdv.dense()[0].round(3)
    array([[ 0.   , -0.841],
           [-0.841, -0.841]])
    """
    given = model.checked_q(q), model.checked(v, model.nv, "v"), model.checked(a, model.nv, "a")
    leading_axes(dict(zip(("q", "v", "a"), given, strict=True)))
    if is_traced(*given):
        return InverseDynamicsSecondDerivatives(*_traced_tensors(model, *(traced(x) for x in given)))
    kernel = tensors_of(model)
    values, start, made = kernel.function(*given), 0, []
    for name in TENSORS:
        places = kernel.places[name]
        own = values[..., start : start + len(places)]
        made.append(Tensor(own, places, model.nv, _EXCHANGED[name]))
        start += len(places)
    return InverseDynamicsSecondDerivatives(*made)


@states_tables(second_forward_derivatives)
def forward_dynamics_second_derivatives(model: Model, q: Any, v: Any, tau: Any) -> ForwardDynamicsSecondDerivatives:
    """Second derivatives of `forward_dynamics` by q, v and τ: those of θ̈(q ⊕ δ, v, τ) at δ = 0.

    −ℳ⁻¹(∂²τ/∂q∂q + ∂ℳ/∂q ∂θ̈/∂q + (∂ℳ/∂q ∂θ̈/∂q)*), −ℳ⁻¹(∂²τ/∂q∂v + ∂ℳ/∂q ∂θ̈/∂v), −ℳ⁻¹∂²τ/∂v∂v and −ℳ⁻¹ ∂ℳ/∂q ℳ⁻¹. A
    free base adds nothing: however it is placed, all falls alike.

    Parameters
    ----------
    model : Model
        A tree.
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.

    Returns
    -------
    ForwardDynamicsSecondDerivatives
        `dqdq`, `dqdv`, `dvdv` and `dtaudq`, each a `Tensor`: `.values` (…, m) are the entries that can be nonzero, at
        `.places` (m, 3), symmetric ones once; `.dense()` is the whole, (…, nv, nv, nv).

    Examples
    --------
    >>> arm = ps.planar_chain(2)
    >>> found = ps.forward_dynamics_second_derivatives(arm, [0, 1], [1, 0], [0, 0])
    >>> found.dtaudq.dense()[:, :, 1].round(3)
    array([[-0.547,  2.119],
           [ 2.119, -5.877]])
    """
    check_robot("forward_dynamics_second_derivatives", (model,))
    if model.loops:
        raise StatementError(
            f"{model.name} has loops; second derivatives are of trees. Those of its tree: model.tree in its place."
        )
    given = model.checked_q(q), model.checked(v, model.nv, "v"), model.checked(tau, model.nv, "tau")
    batch = leading_axes(dict(zip(("q", "v", "tau"), given, strict=True)))
    rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in given]
    solved = solved_tensors_of(model)
    values = {name: np.empty((len(rows[0]), len(places))) for name, places in solved.outputs.items()}
    for at in range(0, len(rows[0]), CHUNK):
        q, v, tau = (x[at : at + CHUNK] for x in rows)
        entries = tensors_of(model).function(q, v, forward_dynamics(model, q, v, tau))
        part = {name: x[at : at + CHUNK] for name, x in values.items()}
        solved.fill(part, entries, *forward_dynamics_derivatives(model, q, v, tau))
    made = [
        Tensor(x.reshape(*batch, x.shape[-1]), solved.outputs[name], model.nv, _EXCHANGED[name])
        for name, x in values.items()
    ]
    return ForwardDynamicsSecondDerivatives(*made)


def _traced_tensors(model: Model, *given: np.ndarray) -> Iterator[Tensor]:
    """The same tensors inside a recording, with the entries that the kernel has."""
    wanted = _wanted_tensors(model)
    found = _entries(model, wanted)(*given)
    for name, own in wanted.items():
        written = is_tensor_written(model)  # of longer robots a kernel has zeros that it does not know of
        kept = np.array([can_change(x) or not written for x in found[name]], dtype=bool)
        yield Tensor(traced(found[name][kept]), own.places[kept], model.nv, _EXCHANGED[name])


def _falling(model: Model) -> frozenset[int]:
    """Rates of joints on the world that hold nothing: six motions and no armature."""
    free = [
        joint.v_slice
        for joint, parent in zip(model.joints, model.parents, strict=True)
        if parent < 0 and joint.nv == 6 and not np.any(joint.kind.armature_diagonal)
    ]
    return frozenset(i for own in free for i in range(own.start, own.stop))


def tensors_of(model: Model) -> TensorKernel:
    """The kernel of ∂²τ: kept on the model, found on disk, or made."""
    return model.kept(inverse_dynamics_second_derivatives.slot(), lambda: _tensors(model))


def stated_solutions() -> tuple[SolvedStatement, ...]:
    """The terms of the statements of ∂²θ̈, for any tree."""
    symbols = Symbols()
    return solved_statements(tuple(forward_dynamics_second_derivatives.nodes(symbols).items()), symbols)


def solved_tensors_of(model: Model) -> SolvedRates:
    """What makes the second derivatives of forward dynamics of those of inverse dynamics."""
    name = f"{inverse_dynamics_second_derivatives.slot()} {forward_dynamics_second_derivatives.slot()}"

    def make_solved() -> SolvedRates:
        weights = {statement.name: weights_of(statement) for statement in stated_solutions()}
        return SolvedRates(model.nv, dict(tensors_of(model).places), _falling(model), weights)

    return model.kept(name, make_solved)


def contracted_tensors(model: Model) -> Any:
    """Σᵢ wᵢ ∂²τᵢ: function(q, v, a, w) gives ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂a∂q, (…, nv, nv) each; of long robots by
    products in O(n)."""

    def make_kernel() -> Any:
        if not is_tensor_written(model):
            return partial(_products, model)
        wanted = _wanted_tensors(model)
        return contracted_kernel(model, _entries(model, wanted), _places(wanted), _statement_texts())

    return model.kept(f"{inverse_dynamics_second_derivatives.slot()} contracted", make_kernel)


def _products(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """The weighted second derivatives, direction by direction."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, a, w)))
    q, v, a, w = (np.broadcast_to(x, (*batch, x.shape[-1]))[..., None, :] for x in (q, v, a, w))
    unit, none = np.eye(model.nv), np.zeros((model.nv, model.nv))
    by_q = inverse_dynamics_hessian_product(model, q, v, a, w, unit, none, none)
    by_v = inverse_dynamics_hessian_product(model, q, v, a, w, none, unit, none)
    twice = 0.5 * (by_q.dq + np.swapaxes(by_q.dq, -1, -2))
    return twice, np.swapaxes(by_v.dq, -1, -2), by_v.dv, np.swapaxes(by_q.da, -1, -2)


def _statement_texts() -> list[str]:
    return [f"{name} {spelling(x)}" for name, x in inverse_dynamics_second_derivatives.nodes(Symbols()).items()]


def stated_triples() -> TripleProgram:
    """The program of the statements of ∂²τ, for any tree."""
    symbols = Symbols()
    return triples_program(tuple(inverse_dynamics_second_derivatives.nodes(symbols).items()), symbols)


def _is_looped(model: Model) -> bool:
    """Whether the entries are made by loops over three rates."""
    return not (is_tensor_written(model) or has_rotors(model) or has_wide_links(model))


def _wanted_tensors(model: Model) -> dict[str, Wanted]:
    exact = () if has_wide_links(model) else tuple(table.name for table in stated_triples().tables if table.exact)

    def make_wanted() -> dict[str, Wanted]:
        wanted = Wanted.of(model, exact)
        return in_loop_order(single_axes(model), wanted) if _is_looped(model) else wanted

    return model.kept(("wanted tensors", exact), make_wanted)


def _places(wanted: dict[str, Wanted]) -> dict[str, np.ndarray]:
    return {name: own.places for name, own in wanted.items()}


def _entries(model: Model, wanted: dict[str, Wanted]) -> Entries:
    """The entries at numbers or traced scalars: of geared rotors, of whose moments no law says how they change, and of
    links that bend, by the instructions that make ∂τ."""
    if has_rotors(model) or has_wide_links(model):
        return partial(tensors_by_instructions, model, places=_places(wanted))
    program, plain = stated_triples(), single_axes(without_roundoff(model))

    def entries(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        triples = Triples(program, common_frame(plain, q), {GIVEN["v"]: v, GIVEN["qdd"]: a})
        return {name: own.compute(triples, name) for name, own in wanted.items()}

    return entries


def _tensors(model: Model) -> TensorKernel:
    wanted = _wanted_tensors(model)
    if is_tensor_written(model):
        return tensor_kernel(model, _entries(model, wanted), _places(wanted), _statement_texts())
    if not _is_looped(model):
        return TensorKernel(_forces_one_by_one(model, wanted), _places(wanted), 0)
    function, operations = triple_kernel(model, stated_triples(), wanted, _statement_texts())
    return TensorKernel(function, _places(wanted), operations)


def _forces_one_by_one(model: Model, wanted: dict[str, Wanted]) -> Any:
    """The entries of long robots with geared rotors or links that bend, some states at once: of each joint force the
    Hessian, in O(n) along each direction by the kernel of `inverse_dynamics_hessian_product`."""
    count = sum(len(own.places) for own in wanted.values())

    def function(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, a)))
        rows = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, a)]
        made = np.empty((len(rows[0]), count))
        step = max(1, LARGEST // count)
        for at in range(0, len(made), step):
            found = _by_forces(model, wanted, [x[at : at + step] for x in rows])
            made[at : at + step] = np.concatenate([found[name] for name in TENSORS], axis=-1)
        return made.reshape(*batch, count)

    return function


def _by_forces(model: Model, wanted: dict[str, Wanted], given: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Hessian of each joint force, in O(n) along each direction."""
    q, v, a = given
    made = [_products(model, q, v, a, w) for w in np.eye(model.nv)]
    whole = {name: np.stack([x[i] for x in made], axis=-3) for i, name in enumerate(TENSORS)}
    return {name: whole[name][..., *own.places.T] for name, own in wanted.items()}
