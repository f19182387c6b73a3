"""Costs as machine code: their value, and with it the gradient and Gauss-Newton's Hessian in the tangent space.

Σ ½w r² with residuals r recorded once; ∂r by the tangent of q ⊕ δ, by v and by u are more instructions, and so are
l_x = Σ w r ∂r and L_xx = Σ w ∂r*∂r, so that one call makes the quadratic of every knot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from phistar.backends.kernel import compile_trace
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.differentiate import tangent_map, tangents, values_of
from phistar.backends.traces.trace import Scalar, Tape, Trace, finish
from phistar.errors import PhistarError, ShapeError
from phistar.model import Model
from phistar.optimize.costs import Cost


@dataclass(frozen=True, eq=False)
class CostKernel:
    """A sum of costs of q (…, nq), v (…, nv), u (…, nu) and parameters (…, p): each cost's target, then its weights."""

    model: Model
    controls: int
    costs: tuple[Cost, ...]

    @cached_property
    def rows(self) -> list[int]:
        targets = sum(cost.target.shape[-1] for cost in self.costs)
        return [self.model.nq, self.model.nv, self.controls, targets + sum(self.sizes)]

    @cached_property
    def _residuals(self) -> tuple[Trace, list[int]]:
        """The instructions from q, v, u and the targets to all residuals, and how many each cost has."""
        tape, model = Tape(), self.model
        q, v, u = (traced(tape.inputs((n,))) for n in (model.nq, model.nv, self.controls))
        made, sizes = [], []
        for cost in self.costs:
            target = traced(tape.inputs((cost.target.shape[-1],)))
            found = _record(cost, model, q, v, u, target)
            sizes.append(len(found))
            made += found
        return finish(tape, made), sizes

    @cached_property
    def sizes(self) -> list[int]:
        """Number of residuals of each cost."""
        for cost, size in zip(self.costs, self._residuals[1], strict=True):
            if cost.weight.shape not in ((), (size,)):
                raise ShapeError(f"The weight of {cost.name} has shape {cost.weight.shape}; it needs ({size},).")
        return self._residuals[1]

    @cached_property
    def target_places(self) -> list[slice]:
        """Slice of each cost's target among the parameters."""
        edges = np.cumsum([0, *(cost.target.shape[-1] for cost in self.costs)]).tolist()
        return [slice(a, b) for a, b in pairwise(edges)]

    @cached_property
    def weight_places(self) -> list[slice]:
        """And where its weights do."""
        edges = np.cumsum([self.rows[3] - sum(self.sizes), *self.sizes]).tolist()
        return [slice(a, b) for a, b in pairwise(edges)]

    def parameters(self, knots: int) -> np.ndarray:
        """(knots, p): targets, then weights; a fresh copy, to be changed at will."""
        if knots not in self._parameters:
            columns = [_rows(cost, cost.target, knots) for cost in self.costs]
            for cost, size in zip(self.costs, self.sizes, strict=True):
                columns.append(np.broadcast_to(cost.weight, (knots, size)))
            self._parameters[knots] = np.concatenate([np.zeros((knots, 0)), *columns], axis=-1)
        return self._parameters[knots].copy()

    @cached_property
    def _parameters(self) -> dict[int, np.ndarray]:
        """Parameters made so far, by the number of knots."""
        return {}

    def _on(self, tape: Tape) -> tuple[list[Any], list[Any], list[Any]]:
        """Values of all instructions of the residuals on a tape, its inputs, and the weights."""
        trace, count = self._residuals[0], sum(self.sizes)
        given = [tape.inputs((n,)) for n in self.rows]
        inputs = [x for row in (*given[:3], given[3][: self.rows[3] - count]) for x in row]
        return values_of(trace, inputs), inputs, list(given[3][self.rows[3] - count :])

    def _outputs(self, values: list[Any]) -> list[Any]:
        trace = self._residuals[0]
        places = zip(trace.outputs, trace.output_is_constant, strict=True)
        return [float(place) if constant else values[int(place)] for place, constant in places]

    @property
    def trace(self) -> Trace:
        """The residuals' instructions, which say what the costs are."""
        return self._residuals[0]

    def record(self, q: Any, v: Any, u: Any, parameters: Any) -> Any:
        """The cost (1,) of traced numbers, on their tape."""
        weights = self.rows[3] - sum(self.sizes)
        inputs = [x for row in (q, v, u, parameters[:weights]) for x in np.asarray(row)]
        outputs = self._outputs(values_of(self.trace, inputs)) if self.costs else []
        pairs = zip(np.asarray(parameters[weights:]), outputs, strict=True)
        return traced([_total([0.5 * w * r * r for w, r in pairs])])

    @cached_property
    def residuals(self) -> Callable[..., np.ndarray]:
        """(q, v, u) → the residuals (…, m) of costs without targets."""
        made = compile_trace(self.trace, self.rows[:3], [(sum(self.sizes),)], "residuals", ("residuals",))
        return made.function

    @cached_property
    def value(self) -> Callable[..., np.ndarray]:
        """(q, v, u, parameters) → the cost (…)."""
        tape = Tape()
        values, _, weights = self._on(tape)
        total = _total([0.5 * w * r * r for w, r in zip(weights, self._outputs(values), strict=True)])
        made = compile_trace(finish(tape, [total]), self.rows, [(1,)], "cost", ("cost",))
        return made.function

    @cached_property
    def quadratic(self) -> Callable[..., tuple[np.ndarray, ...]]:
        """(q, v, u, parameters) → cost (…, 1), gradient (…, n + m) and Hessian (…, n + m, n + m) in (δq, δv, δu)."""
        model, nv, size = self.model, self.model.nv, 2 * self.model.nv + self.controls
        tape = Tape()
        values, inputs, weights = self._on(tape)
        seeds = dict(enumerate(tangent_map(model, np.array(inputs[: model.nq], dtype=object))))
        seeds |= {model.nq + i: {nv + i: 1.0} for i in range(nv + self.controls)}
        slopes, outputs = tangents(self._residuals[0], values, seeds), self._outputs(values)
        gradient, hessian = [0.0] * size, np.full((size, size), 0.0, dtype=object)
        for w, r, slope in zip(weights, outputs, slopes, strict=True):
            for i, x in slope.items():
                weighted = w * x
                gradient[i] = gradient[i] + weighted * r
                for j, y in slope.items():
                    if j <= i:
                        hessian[i, j] = hessian[i, j] + weighted * y
        whole = [hessian[max(i, j), min(i, j)] for i in range(size) for j in range(size)]
        cost = _total([0.5 * w * r * r for w, r in zip(weights, outputs, strict=True)])
        trace = finish(tape, [cost, *gradient, *whole])
        shapes = [(1,), (size,), (size, size)]
        return compile_trace(trace, self.rows, shapes, "cost and its quadratic", ("cost", "slope", "curve")).function


def _record(cost: Cost, model: Model, q: Any, v: Any, u: Any, target: Any) -> list[Any]:
    try:
        found = np.asarray(cost.residual(model, q, v, u, target), dtype=object)
    except PhistarError as error:
        raise PhistarError(f"The cost {cost.name} does not fit {model.name}: {error}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise PhistarError(
            f"The cost {cost.name} cannot be compiled: {error}. It is run once on symbols, so it must not branch on "
            "values or turn them into floats, and its target must fit the robot."
        ) from error
    if found.ndim != 1:
        raise ShapeError(f"The cost {cost.name} gives shape {found.shape}; it must give a row of residuals, (m,).")
    return [x if isinstance(x, Scalar) else float(x) for x in found]


def _rows(cost: Cost, array: np.ndarray, knots: int) -> np.ndarray:
    if array.ndim == 2 and len(array) != knots:
        raise ShapeError(f"The target of {cost.name} has {len(array)} rows; there are {knots} knots.")
    return np.broadcast_to(array, (knots, array.shape[-1]))


def _total(terms: Sequence[Any]) -> Any:
    total: Any = 0.0
    for term in terms:
        total = total + term
    return total
