"""Second derivatives of the dynamics, in tangent spaces: the entries that can be nonzero, symmetric ones once.

∂²τ of τ = ℳθ̈ + 𝒞 + 𝒢 is how its first derivatives change, which the algebra makes pair by pair of joints
(`derivatives.py`): an entry is there for three joints on one way from the base (Singh and Wensing, Transactions on
Robotics 2024). That of forward dynamics follows by θ̈ = ℳ⁻¹(T − 𝒞 − 𝒢).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import Array
from phistar.backends.choice import is_tensor_written
from phistar.backends.solved_tensors import SolvedTensors
from phistar.backends.tensor_kernel import (
    TENSORS,
    TensorKernel,
    contracted_kernel,
    joints_of_rates,
    tensor_kernel,
    vanishing,
)
from phistar.derivatives import (
    RECORDED,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_hessian_product,
)
from phistar.dynamics import forward_dynamics
from phistar.errors import StatementError
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.operators.nodes import spelling
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial.batches import leading_axes


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
        result = np.zeros((*self.values.shape[:-1], *(self.size,) * 3))
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


_EXCHANGED = {"dqdq": (1, 2), "dqdv": None, "dvdv": (1, 2), "dadq": (0, 1), "dtaudq": (0, 1)}
CHUNK = 64  # states: what forward dynamics keeps of them stays in the caches


def inverse_dynamics_second_derivatives(model: Model, q: Any, v: Any, a: Any) -> InverseDynamicsSecondDerivatives:
    """How the derivatives of `inverse_dynamics` change with q and v: the second derivatives of
    τ(q ⊕ δ, v, a) at δ = 0.

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
    check_robot("inverse_dynamics_second_derivatives", (model,))
    given = model.checked_q(q), model.checked(v, model.nv, "v"), model.checked(a, model.nv, "a")
    leading_axes(dict(zip(("q", "v", "a"), given, strict=True)))
    kernel = tensors_of(model)
    values, start, made = kernel.function(*given), 0, []
    for name in TENSORS:
        places = kernel.places[name]
        own = values[..., start : start + len(places)]
        made.append(Tensor(own, places, model.nv, _EXCHANGED[name]))
        start += len(places)
    return InverseDynamicsSecondDerivatives(*made)


def forward_dynamics_second_derivatives(model: Model, q: Any, v: Any, tau: Any) -> ForwardDynamicsSecondDerivatives:
    """How the derivatives of `forward_dynamics` change with q and v: the second derivatives of θ̈(q ⊕ δ, v, τ) at δ = 0.

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
    solved = model.kept("forward tensors", lambda: SolvedTensors(model.nv, tensors_of(model).places, _falling(model)))
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


def _falling(model: Model) -> frozenset[int]:
    """Rates of joints on the world that hold nothing: six motions and no armature."""
    free = [
        joint.v_slice
        for joint, parent in zip(model.joints, model.parents, strict=True)
        if parent < 0 and joint.nv == 6 and not np.any(joint.kind.armature_diagonal)
    ]
    return frozenset(i for own in free for i in range(own.start, own.stop))


def tensors_of(model: Model) -> TensorKernel:
    """The kernel of ∂²τ: kept on the model, found on disk, or made; for long robots link by link."""
    return model.kept("inverse tensors", lambda: _written(model) if is_tensor_written(model) else _long(model))


def contracted_of(model: Model) -> Any:
    """Σᵢ wᵢ ∂²τᵢ: function(q, v, a, w) gives ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂a∂q, (…, nv, nv) each; of long robots by
    products in O(n)."""

    def made() -> Any:
        if is_tensor_written(model):
            return contracted_kernel(model, RECORDED["inverse_dynamics_derivatives"].function, _stated())
        return partial(_products, model)

    return model.kept("contracted tensors", made)


def _products(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """The weighted second derivatives, direction by direction."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, a, w)))
    q, v, a, w = (np.broadcast_to(x, (*batch, x.shape[-1]))[..., None, :] for x in (q, v, a, w))
    unit, none = np.eye(model.nv), np.zeros((model.nv, model.nv))
    by_q = inverse_dynamics_hessian_product(model, q, v, a, w, unit, none, none)
    by_v = inverse_dynamics_hessian_product(model, q, v, a, w, none, unit, none)
    twice = 0.5 * (by_q.dq + np.swapaxes(by_q.dq, -1, -2))
    return twice, np.swapaxes(by_v.dq, -1, -2), by_v.dv, np.swapaxes(by_q.da, -1, -2)


def _stated() -> list[str]:
    nodes = inverse_dynamics_derivatives.nodes(Symbols())
    return [f"{name} {spelling(node)}" for name, node in nodes.items()]


def _written(model: Model) -> TensorKernel:
    made = tensor_kernel(model, RECORDED["inverse_dynamics_derivatives"].function, _stated())
    return made if made.function is not None else TensorKernel(_nothing, made.places, 0)


def _nothing(q: np.ndarray, *vectors: np.ndarray) -> np.ndarray:
    return np.zeros((*np.broadcast_shapes(*(x.shape[:-1] for x in (q, *vectors))), 0))


def _long(model: Model) -> TensorKernel:
    """Hessians of long robots, of each joint force along each direction, in O(n) each."""
    nv, places = model.nv, _on_one_way(model)
    unit, none = np.eye(nv), np.zeros((nv, nv))

    def function(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, v, a)))
        q, v, a = (np.broadcast_to(x, (*batch, x.shape[-1]))[..., None, :] for x in (q, v, a))
        whole = {name: np.empty((*batch, nv, nv, nv)) for name in TENSORS}
        for i in range(nv):
            by_q = inverse_dynamics_hessian_product(model, q, v, a, unit[i], unit, none, none)
            by_v = inverse_dynamics_hessian_product(model, q, v, a, unit[i], none, unit, none)
            found = by_q.dq, by_v.dq, by_v.dv, by_q.da
            for name, x in zip(TENSORS, found, strict=True):  # a row for each direction
                whole[name][..., i, :, :] = np.swapaxes(x, -1, -2)
        whole["dqdq"] = (whole["dqdq"] + np.swapaxes(whole["dqdq"], -1, -2)) / 2
        made = [whole[name][..., at[:, 0], at[:, 1], at[:, 2]] for name, at in places.items()]
        return np.concatenate(made, axis=-1)

    return TensorKernel(function, places, 0)


def _on_one_way(model: Model) -> dict[str, np.ndarray]:
    """Places of three rates of which each carries, or is carried by, the others."""
    joint, carries = joints_of_rates(model)
    related = (carries | carries.T)[np.ix_(joint, joint)]
    i, j, k = np.nonzero(related[:, :, None] & related[:, None, :] & related[None, :, :])
    places = np.stack([i, j, k], axis=1)
    kept = {"dqdq": k >= j, "dqdv": k >= 0, "dvdv": k >= j, "dadq": j >= i}
    for name, gone in vanishing(model).items():
        kept[name] &= np.array([tuple(place) not in gone for place in places.tolist()])
    return {name: places[kept[name]] for name in TENSORS}
