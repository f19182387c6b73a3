"""Constraint embedding (Jain 2012): the links of a loop as one compound link, and closed mechanisms in minimal rates.

A group 𝔊 of links whose loops leave θ̇_𝔊 = Xθ̇_i of independent rates is one link as wide as its members together (and
one more for each rate that has armature), V_C the velocities of its members, of bodies that bend [η̇; V]:

    φ_𝔊 = (I − ℰ_𝔊)⁻¹    H_C = X*H_𝔊φ_𝔊    M_C = diag M    ℰ_C(out, 𝔊) = ℰ(out, 𝔊)φ_𝔊    a_C = φ_𝔊*(a_𝔊 + H_𝔊*Ẋθ̇_i)

so that every statement about trees holds for the closed mechanism, without multipliers. The independent rates are
θ̇_i = S*θ̇_𝔊 with orthonormal columns S, the others along columns N that complete them. From the closures' own rows,
Qθ̈ + γ = 0, follow X = S − N(QN)⁻¹QS and Ẋθ̇_i = −N(QN)⁻¹γ. Columns of the identity choose joints, by pivots or by name;
S = null(Q) at a configuration is the null-space form, where X = null(Q) and Ẋν = −Q⁺γ there: it holds at dead points.
q stays that of the spanning tree, closed; v are the independent rates alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from scipy.linalg import qr

from phistar.array_types import Array
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import has_rotors
from phistar.backends.links.wide import WideLinks, tree_links
from phistar.backends.traces.solve import solve_above
from phistar.backends.traces.trace import is_traced
from phistar.errors import InfeasibleError, ModelError
from phistar.loops.assembly import assemble
from phistar.loops.compound_links import CompoundLinks
from phistar.loops.group_links import GroupLinks
from phistar.loops.regular_position import EMPTY, closure_rank, regular_rows, shaken_joints
from phistar.loops.tree_rates import (
    CLOSING_STEP,
    CLOSURE_ROWS,
    FULL_ACCELERATIONS,
    FULL_RATES,
    RATE_MAP,
    independent_forces,
    quietly,
    row_shape,
)
from phistar.model import Model
from phistar.model.compound import Group, compound_links, group_model
from phistar.spatial import times, transposed
from phistar.spatial.value import Value, readonly

LOST = 1e5  # |Q| over the least of QN: beyond it, its square, which is solved with, leaves fewer than six digits
CLOSED = 4e-15  # of positions: their last digits
ASSEMBLED = 1e-12  # rad, m: loops that are open by less are closed
CLEAR = 0.1  # of the largest pivot: from it on, a joint follows before a mode does
STEPS = 8  # of Newton's method, from where a step of an integrator ends


@final
@dataclass(frozen=True, eq=False, repr=False)
class Embedding(Value):
    """How a mechanism with loops is one with independent rates: the closed model, its links, single or compound, and
    S of each, (rates of its tree, independent ones).

    Examples
    --------
    >>> b = ps.ModelBuilder("rails")
    >>> for name in ("left", "right"):
    ...     b.body(name, joint=ps.Prismatic((1, 0, 0)), inertia=ps.Inertia(1.0))
    >>> b.loop("weld", "left", "right", ps.Fixed())
    >>> b.build().embedded().embedding.independent
    (1,)
    """

    closed: Model
    groups: tuple[Group, ...]
    choices: tuple[Array, ...]

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """The place of each rate of v among the rates of the spanning tree; −1 for a combination of several."""
        found = []
        for group, own in zip(self.groups, self.choices, strict=True):
            for column in own.T:
                (places,) = np.nonzero(column)
                found.append(group.rates[places[0]] if len(places) == 1 else -1)
        return tuple(found)

    @cached_property
    def others(self) -> tuple[Array, ...]:
        """N of each link: what completes S."""
        return tuple(readonly(_completing(own)) for own in self.choices)

    @cached_property
    def rates(self) -> tuple[slice, ...]:
        """Slice of v with each link's independent rates."""
        ends = np.cumsum([0, *(own.shape[-1] for own in self.choices)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @property
    def count(self) -> int:
        """Number of independent rates."""
        return sum(own.shape[-1] for own in self.choices)

    def is_free(self, k: int) -> bool:
        """Whether no rate of link k follows others."""
        return self.others[k].shape[-1] == 0

    def is_compound(self, k: int) -> bool:
        """Whether link k is more than a body on its joint."""
        return len(self.groups[k].bodies) > 1 or not self.is_free(k)

    def heavy(self, k: int) -> list[int]:
        """The rates of a compound link that have armature: each is a coordinate of it."""
        armature = self.closed.tree.armature
        return [i for i, rate in enumerate(self.groups[k].rates) if self.is_compound(k) and armature[rate]]

    def width(self, k: int) -> int:
        """w(k)."""
        return sum(6 + self.closed.bodies[body].modes for body in self.groups[k].bodies) + len(self.heavy(k))

    def mechanism(self, q: Any, frames: tuple[str, ...] = ()) -> CompoundLinks:
        """The links at q, floats or traced scalars."""
        return self.compound(tree_links(self.closed.tree, q, frames))

    def compound(self, tree: RigidLinks | WideLinks) -> CompoundLinks:
        """The links made of those of the spanning tree."""
        return CompoundLinks(self, tree)

    def map_of(self, k: int, own: GroupLinks) -> Array:
        """X of link k, (…, rates of its tree, independent ones)."""
        chosen = self.choices[k]
        if self.is_free(k):
            return np.broadcast_to(chosen, (*own.q.shape[:-1], *chosen.shape))
        answer = self.answered(k, own.rows, np.matmul(own.rows, chosen))
        return chosen - np.matmul(self.others[k], answer)

    def drift_of(self, k: int, own: GroupLinks, v: Array) -> Array:
        """Ẋθ̇_i of link k, (…, rates of its tree), at the rates θ̇_𝔊 of its tree."""
        if self.is_free(k):
            return np.zeros(v.shape)
        answer = self.answered(k, own.rows, own.drift(v)[..., None])
        return -np.matmul(self.others[k], answer)[..., 0]

    def reference_drift(self, k: int, own: GroupLinks, v: Array, v_r: Array) -> Array:
        """Ẋ(v)w of link k, (…, rates of its tree), at the rates Xv and Xw of its tree: how Xw changes along the motion
        while w does not. Ẋ(v)v is quadratic in v; its bilinear form lacks what the rates of quaternion joints do not
        commute by."""
        both, apart = self.drift_of(k, own, v + v_r), self.drift_of(k, own, v - v_r)
        bracket = own.bracket(v, v_r)
        kept = times(np.matmul(self.map_of(k, own), self.choices[k].T), bracket)
        return 0.25 * (both - apart) - 0.5 * (bracket - kept)

    def answered(self, k: int, rows: Array, right: Array) -> Array:
        """(QN)⁻¹Y, over however many rows there are: they agree. NaN where the map is lost, in that state alone."""
        columns = np.matmul(rows, self.others[k])
        square, side = np.matmul(transposed(columns), columns), np.matmul(transposed(columns), right)
        squares = (rows * rows).sum(axis=-1, keepdims=True).sum(axis=-2, keepdims=True)[..., 0]
        size = squares * (LOST**-2 / rows.shape[-1])
        return solve_above(square, side, np.broadcast_to(size, square.shape[:-1]))

    def check(self, q: Array) -> None:
        """Refuse configurations where the independent rates do not determine the others, by the loops' names."""
        sizes, worst = self.conditions(q), LOST
        for k, found in enumerate(sizes):
            if np.any(found > worst):
                names = ", ".join(repr(loop.name) for loop in group_model(self.closed, self.groups[k]).loops)
                raise InfeasibleError(
                    f"At this position of {self.closed.name} the independent joints do not determine the others of the "
                    f"loops {names} (condition {np.nanmax(found):.3g}): it stands at a dead point. Choose others, "
                    "model.embedded(independent=[…]), take the null-space form, model.embedded(null_space=True, q=q), "
                    "or the model with its loops, whose functions hold there."
                )

    def conditions(self, q: Array) -> list[Array]:
        """Condition |Q|/σ_min(QN) of each link, (…): how well its independent rates determine the others; 1 where
        none follow."""
        whole, found, start = quietly(CLOSURE_ROWS, self._model, q), [], 0
        for k, group in enumerate(self.groups):
            shape = row_shape(self, k)
            rows = whole[..., start : start + shape[0] * shape[1]].reshape(*whole.shape[:-1], *shape)
            start += shape[0] * shape[1]
            if self.is_free(k):
                found.append(np.ones(whole.shape[:-1]))
                continue
            finite = np.asarray(np.isfinite(rows).all(axis=(-1, -2)))
            rows = np.where(finite[..., None, None], rows, np.eye(*shape))
            sizes = np.linalg.norm(rows, axis=(-1, -2)) / len(group.rates) ** 0.5
            least = np.linalg.svd(np.matmul(rows, self.others[k]), compute_uv=False)[..., -1]
            with np.errstate(divide="ignore"):
                found.append(np.where(finite, sizes / least, 1.0))
        return found

    def armature(self, values: Array) -> Array:
        """A's diagonal over the independent rates; compound links have theirs in M."""
        parts = [
            np.zeros(own.shape[-1]) if self.is_compound(k) else values[list(group.rates)]
            for k, (group, own) in enumerate(zip(self.groups, self.choices, strict=True))
        ]
        return np.concatenate([np.zeros(0), *parts])

    def limits(self, values: Array) -> Array:
        """Limits of the independent rates, from those of the spanning tree's; a combination has none."""
        return np.array([np.inf if rate < 0 else values[rate] for rate in self.independent])

    def joint_values(self, values: Array, what: str) -> Array:
        """Values of independent joints, from those of the tree's rates; refused where other joints have some."""
        lost = np.array(values)
        lost[[rate for rate in self.independent if rate >= 0]] = 0.0
        left = [joint.name for joint in self.closed.joints if np.any(lost[joint.v_slice])]
        if left:
            raise ModelError(
                f"{what} in independent rates is that of independent joints; {', '.join(left)} follow others. Give it."
            )
        return np.array([0.0 if rate < 0 else values[rate] for rate in self.independent])

    # Maps

    def full_rates(self, q: Any, v: Any) -> Array:
        """θ̇ = Xv of the spanning tree, (…, nv of the tree)."""
        return self._check_finite(quietly(FULL_RATES, self._model, q, v), q, v)

    def rate_map(self, q: Any) -> Array:
        """X, (…, nv of the tree, nv)."""
        return self._check_finite(quietly(RATE_MAP, self._model, q), q)

    def full_accelerations(self, q: Any, v: Any, a: Any) -> Array:
        """θ̈ = Xa + Ẋv of the spanning tree."""
        return self._check_finite(quietly(FULL_ACCELERATIONS, self._model, q, v, a), q, v, a)

    def independent_rates(self, v: Any) -> Array:
        """S*θ̇: the independent ones of the tree's rates."""
        v = np.asarray(v)
        pairs = zip(self.groups, self.choices, strict=True)
        parts = [times(own.T, v[..., list(group.rates)]) for group, own in pairs]
        return np.concatenate([np.zeros((*v.shape[:-1], 0)), *parts], axis=-1)

    def independent_forces(self, q: Any, tau: Any) -> Array:
        """X*T of joint forces of the spanning tree."""
        q, tau = np.asarray(q), np.asarray(tau)
        return self._check_finite(independent_forces(self._model, q, tau), q, tau)

    def _check_finite(self, made: Array, *given: Any) -> Array:
        """Return `made`; `check` q if finite inputs gave NaN or inf."""
        if not is_traced(made, *given) and not np.isfinite(made).all() and all(np.isfinite(x).all() for x in given):
            self.check(np.asarray(given[0], dtype=float))
        return made

    @cached_property
    def _model(self) -> Model:
        return self.closed._with(loops=(), embedding=self)

    def integrated(self, q: Any, dv: Any) -> Array:
        """q ⊕ Xdv with its loops closed again, the independent rates' way being dv."""
        return self.closing(self.closed.tree.integrate(q, self.full_rates(q, dv)))

    def closing_step(self, q: Any) -> tuple[Array, Array]:
        """Newton's step towards closed loops, (…, nv of the tree), and g*g (…); on floats and traced scalars."""
        return quietly(CLOSING_STEP, self._model, q)

    def closing(self, q: Any) -> Array:
        """The configurations (…, nq) with their loops closed along N, by Newton's method: S*(q′ ⊖ q) = 0."""
        best, tree = np.inf, self.closed.tree
        for _ in range(STEPS):
            shift, gap = self.closing_step(q)
            size = np.max(gap, initial=0.0) ** 0.5
            if not size < 0.5 * best or size < CLOSED:
                break
            best, q = size, tree.integrate(q, shift)
        return q

    def random(self, rng: Any, shape: tuple[int, ...]) -> Array:
        """Closed configurations."""
        return _assemble_groups(self.closed, self.groups, self.closed.random(rng, shape))


def embed(model: Model, independent: Sequence[str] | None = None, q: Any = None, null_space: bool = False) -> Model:
    """The same mechanism in independent rates; see Model.embedded."""
    if model.embedding is not None or not model.loops:
        return model
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which constraint embedding does not take yet.")
    if null_space and independent:
        raise ModelError(
            "In the null-space form no joint is independent by itself; give `independent` or `null_space`."
        )
    groups, choices, given = compound_links(model), [], q is not None
    q = _assemble_groups(model, groups, model.checked_q(q) if given else model.neutral())
    wanted = {rate for name in independent or () for rate in _rates(model, name)}
    shaken = shaken_joints(model.tree, q, np.random.default_rng(0))
    links, others = tree_links(model.tree, q), tree_links(model.tree, shaken)
    for group in groups:
        own = GroupLinks(model, group, links)
        rows = regular_rows(own, GroupLinks(model, group, others), wanted, given) if own.model.loops else own.rows
        choices.append(readonly(_null_space(own, rows) if null_space else _choose_rates(own, rows, wanted)))
    return model._with(loops=(), embedding=Embedding(model, groups, tuple(choices)))


def _assemble_groups(model: Model, groups: tuple[Group, ...], q: Array) -> Array:
    """The configurations (…, nq) near those given that close every loop, each group by itself."""
    links, result = tree_links(model.tree, q), np.array(q)
    for group in groups:
        own = GroupLinks(model, group, links)
        if own.model.loops and np.max(np.abs(own.at_rest.residual)) > ASSEMBLED:
            result[..., list(group.coordinates)] = assemble(own.model, own.q)
    return result


def _rates(model: Model, name: str) -> range:
    joint = model.joint(name)
    return range(joint.v_slice.start, joint.v_slice.stop)


def _null_space(own: GroupLinks, rows: Array) -> Array:
    """Orthonormal rates that keep the group's loops closed; of a group without loops, all."""
    if not own.model.loops:
        return np.eye(len(own.group.rates))
    _, _, directions = np.linalg.svd(rows)
    return directions[closure_rank(rows) :].T


def _choose_rates(own: GroupLinks, rows: Array, wanted: set[int]) -> Array:
    """The rates of a group that are free to choose, as columns: what pivots leave over, those wanted among them."""
    rates = own.group.rates
    if not own.model.loops:
        return np.eye(len(rates))
    size = closure_rank(rows)
    others = [i for i, rate in enumerate(rates) if rate not in wanted]
    follow = _following(rows, others, [i for i in others if i not in _modes(own)], size)
    if len(follow) < size:
        names = ", ".join(repr(loop.name) for loop in own.model.loops)
        raise InfeasibleError(
            f"The joints chosen do not determine the others of {own.closed.name} over {names}; leave one out."
        )
    return np.eye(len(rates))[:, [i for i in range(len(rates)) if i not in follow]]


def _modes(own: GroupLinks) -> set[int]:
    """Rates of a group that are those of modes."""
    return {i for body in own.model.bodies for i in range(body.mode_slice.start, body.mode_slice.stop)}


def _following(rows: Array, others: list[int], joints: list[int], size: int) -> list[int]:
    """Rates that the rest determine, by pivots, at most as many as there are independent closures: joints as far as
    they are clearly determined, then whatever is, modes among them."""
    follow: list[int] = []
    left, largest = rows, 1e-300
    for chosen, least in ((joints, CLEAR), (others, EMPTY)):
        rest = [i for i in chosen if i not in follow]
        _, upper, order = qr(left[:, rest], mode="economic", pivoting=True)  # type: ignore[misc]
        pivots = np.abs(np.diag(upper))
        largest = max(largest, pivots.max(initial=0.0))
        follow += [rest[i] for i, pivot in zip(order, pivots) if pivot > least * largest][: size - len(follow)]
        basis = np.linalg.qr(rows[:, follow])[0]
        left = rows - basis @ (basis.T @ rows)
    return follow


def _completing(chosen: Array) -> Array:
    """Orthonormal columns across those given; of columns of the identity, the others of it."""
    size, count = chosen.shape
    if np.array_equal(chosen, chosen.astype(bool)):
        return np.eye(size)[:, ~chosen.any(axis=1)]
    directions, _, _ = np.linalg.svd(chosen)
    return directions[:, count:]
