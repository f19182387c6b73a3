"""Motion of free bodies and trees in a step, linearized: their equations of motion and their moves.

A node's residual is r = ℳ(v⁺ − v) + hBv⁺ + h²Kv⁺ + hK(q − r₀) + h(𝒞 + 𝒢 − T) − J*λ; positions then follow v⁺, and what
floats takes the rates that its momentum asks for. Orientations of free bodies change by δθ in world axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from phistar.constraints import columns as c
from phistar.derivatives import inverse_dynamics_derivatives
from phistar.plant.ball_springs import has_ball_spring
from phistar.plant.free_bodies import CENTER, INVERSE, MASS, TENSOR
from phistar.plant.world_screws import across, ad, skew

MOST_TERMS = 200  # of a series


class FreeState(NamedTuple):
    """A free body: rotation, centre, J in body axes, J⁻¹, mass, its centre in body axes, rates [ω; v]."""

    turn: np.ndarray
    center: np.ndarray
    tensor: np.ndarray
    inverse: np.ndarray
    mass: float
    arm: np.ndarray
    rates: np.ndarray

    @property
    def inertia(self) -> np.ndarray:
        """RJR*."""
        return self.turn @ self.tensor @ self.turn.T

    @property
    def inertia_inverse(self) -> np.ndarray:
        return self.turn @ self.inverse @ self.turn.T

    def spun(self, x: np.ndarray) -> np.ndarray:
        """∂(RJR*x)/∂δθ."""
        return self.inertia @ skew(x) - skew(self.inertia @ x)

    @property
    def frame(self) -> np.ndarray:
        """T (6, 6): rates of the centre, world axes, from those of the body's frame, [Rω; R(v + ω × c)]."""
        made = np.zeros((6, 6))
        made[:3, :3] = made[3:, 3:] = self.turn
        made[3:, :3] = -self.turn @ skew(self.arm)
        return made

    @property
    def turning(self) -> np.ndarray:
        """∂(Tv)/∂δ at fixed v, (6, 6): −[ω̃; ṽ] δθ."""
        made = np.zeros((6, 6))
        made[:3, :3], made[3:, :3] = -skew(self.rates[:3]), -skew(self.rates[3:])
        return made


def free_state(table: dict[str, np.ndarray], f: int) -> FreeState:
    row = table["inertia"][f]
    turn = table["rotation"][f].reshape(3, 3).copy()
    tensor, inverse = row[TENSOR : TENSOR + 9].reshape(3, 3), row[INVERSE : INVERSE + 9].reshape(3, 3)
    arm, rates = row[CENTER : CENTER + 3], table["before"][6 * f : 6 * f + 6].copy()
    return FreeState(turn, table["center"][f].copy(), tensor, inverse, float(row[MASS]), arm, rates)


def free_residual(body: FreeState, after: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """∂r/∂δ and ∂r/∂v (6, 6), with no force but gravity."""
    by_place, by_rates = np.zeros((6, 6)), np.zeros((6, 6))
    by_place[:3, :3] = body.spun(after[:3] - body.rates[:3])
    by_rates[:3, :3], by_rates[3:, 3:] = -body.inertia, -body.mass * np.eye(3)
    return by_place, by_rates


def rotation_partials(spin: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(hω̃) and h∫exp(shω̃)ds: R⁺ = exp(hω̃)R has δθ⁺ = exp(hω̃) δθ + (second) δω."""
    return _flow(skew(h * spin), h)


def exponential(generator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp(G) and ∫₀¹exp(sG)ds, by their series: of small matrices, for which it is short."""
    term = np.eye(len(generator))
    whole, mean, k = term.copy(), term.copy(), 1
    while np.abs(term).max() > 1e-17 and k < MOST_TERMS:
        term = term @ generator / k
        whole += term
        mean += term / (k + 1)
        k += 1
    return whole, mean


def _flow(generator: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    whole, mean = exponential(generator)
    return whole, h * mean


def free_move(
    body: FreeState, end: FreeState, after: np.ndarray, touched: bool, h: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂(δ⁺, rates⁺) (12, 6) by δ, by the rates before and by v⁺."""
    by_place, by_before, by_after = np.zeros((12, 6)), np.zeros((12, 6)), np.zeros((12, 6))
    momentum = body.spun(after[:3])  # ∂L/∂δθ, L = RJR*ω⁺
    by_place[3:6, 3:] = np.eye(3)
    if touched:
        turn, slope = rotation_partials(after[:3], h)
        by_place[:3, :3], by_after[:3, :3] = turn, slope
        by_after[3:6, 3:] = h * np.eye(3)
    else:
        half, half_slope = rotation_partials(body.rates[:3], 0.5 * h)
        middle = body._replace(turn=half @ body.turn)
        kept = body.inertia @ after[:3]
        spin = middle.inertia_inverse @ kept
        turn, slope = rotation_partials(spin, h)
        moved = middle.inertia_inverse
        by_place[:3, :3] = turn + slope @ moved @ (momentum - middle.spun(spin) @ half)
        by_before[:3, :3] = -slope @ moved @ middle.spun(spin) @ half_slope
        by_after[:3, :3] = slope @ moved @ body.inertia
        by_before[3:6, 3:] = by_after[3:6, 3:] = 0.5 * h * np.eye(3)
    gains, spun = end.inertia_inverse, end.spun(end.rates[:3])
    for made, own in ((by_place, momentum), (by_before, np.zeros((3, 3))), (by_after, body.inertia)):
        made[6:9, :3] = gains @ (own - spun @ made[:3, :3])
    by_after[9:12, 3:] = np.eye(3)
    return by_place, by_before, by_after


class Bodies(NamedTuple):
    """The k bodies of a tree in the world: screws (n, 6), which move each body (k, n), inertias at the world's origin
    (k, 6, 6), masses and centres, and which rates stand before which (n, n)."""

    screws: np.ndarray
    moved: np.ndarray
    inertias: np.ndarray
    masses: np.ndarray
    centers: np.ndarray
    before: np.ndarray

    def momentum_map(self) -> np.ndarray:
        """(6, n): momentum about the world's origin of the rates."""
        return np.einsum("kab,kn,nb->an", self.inertias, self.moved, self.screws)

    def momentum_by_place(self, v: np.ndarray) -> np.ndarray:
        """∂(momentum)/∂δ (6, n): Σ −ad(ξ)* IV − I ad(ξ)V + I ad(s_j)(what of V comes after j)."""
        motion = np.einsum("kn,n,ni->ki", self.moved, v, self.screws)
        held = np.einsum("kab,kb->ka", self.inertias, motion)
        turn = ad(self.screws)
        tails = np.einsum("jn,kn,n,ni->kji", self.before, self.moved, v, self.screws)
        own = np.einsum("kj,jba,kb->kja", self.moved, turn, held)
        change = np.einsum("jab,kjb->kja", turn, tails) - np.einsum("kj,jab,kb->kja", self.moved, turn, motion)
        return (np.einsum("kab,kjb->kja", self.inertias, change) - own).sum(axis=0).T

    def centers_by_place(self) -> np.ndarray:
        """(k, 3, n): how the centres of mass move."""
        own = self.moved[:, :, None] * self.screws  # (k, n, 6)
        return np.swapaxes(across(own[..., :3], self.centers[:, None, :]) + own[..., 3:], 1, 2)


def tree_bodies(engine: Any, node: int, screws: np.ndarray, order: Any) -> Bodies:
    """The bodies of a tree where the tables have them now."""
    table, tree = engine.tables, engine.system.trees[node - len(engine.system.free)]
    at, size, first = (int(x) for x in table["nodes"][node, [c.OWN_AT, c.OWN, c.BODY]])
    rates = slice(at, at + size)
    inertias, masses, centers = [], [], []
    for number, body in enumerate(tree, start=first):
        own, turn = engine.system.model.bodies[body].inertia, table["pose"][number, :9].reshape(3, 3)
        center = table["pose"][number, 9:] + turn @ np.asarray(own.com)
        spatial, arm = np.zeros((6, 6)), skew(center)
        spatial[:3, :3] = turn @ np.asarray(own.tensor) @ turn.T - own.mass * arm @ arm
        spatial[:3, 3:], spatial[3:, :3], spatial[3:, 3:] = own.mass * arm, -own.mass * arm, own.mass * np.eye(3)
        inertias.append(spatial)
        masses.append(own.mass)
        centers.append(center)
    moved = order.moved[first : first + len(tree), rates]
    stacked = np.array(inertias), np.array(masses), np.array(centers)
    return Bodies(screws[rates], moved, *stacked, order.before[rates, rates])


def tree_residual(
    model: Any, q: np.ndarray, v: np.ndarray, after: np.ndarray, elastic: np.ndarray, h: float, floats: bool
) -> tuple[np.ndarray, np.ndarray]:
    """∂r/∂δ and ∂r/∂v (n, n) of a tree: h ∂ID at the acceleration (v⁺ − v)/h less what turning axes add."""
    acceleration = (after - v) / h
    turning = np.zeros((model.nv, model.nv))
    if floats:
        acceleration[3:6] -= np.cross(v[:3], v[3:6])
        turning[3:6, :3], turning[3:6, 3:6] = -skew(v[3:6]), skew(v[:3])
    found = inverse_dynamics_derivatives(model, q, v, acceleration)
    by_rates = h * np.asarray(found.dv) - np.asarray(found.da) @ (np.eye(model.nv) + h * turning)
    springs = np.diag(elastic)
    for joint in model.joints:
        if has_ball_spring(joint):
            bent = joint.kind.difference(joint.kind.rest, q[joint.q_slice])
            springs[joint.v_slice, joint.v_slice] = elastic[joint.v_slice][:, None] * _log_change(bent)
    return h * np.asarray(found.dq) + h * springs, by_rates


def _log_change(bent: np.ndarray) -> np.ndarray:
    """∂ log(exp(θ) exp(δ))/∂δ at δ = 0: 1 + ½θ̂ + (1/θ² − (1 + cos θ)/(2θ sin θ)) θ̂²."""
    angle, turn = float(np.linalg.norm(bent)), skew(bent)
    if angle < 1e-3:
        return np.eye(3) + 0.5 * turn + turn @ turn / 12.0
    factor = 1.0 / angle**2 - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
    return np.eye(3) + 0.5 * turn + factor * turn @ turn


def joint_flow(model: Any, after: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """∂(q ⊕ h v⁺) by δ and by v⁺ (n, n), joint by joint."""
    by_place, by_after = np.eye(model.nv), h * np.eye(model.nv)
    for joint in model.joints:
        if not joint.kind.flat:
            own, w = joint.v_slice, h * after[joint.v_slice]
            generator = -ad(w) if joint.nv == 6 else -skew(w)
            by_place[own, own], by_after[own, own] = _flow(generator, h)
    return by_place, by_after


class Floating(NamedTuple):
    """A tree that nothing holds, before and after a step; what contacts give it changes by `wrench_by_…` (6, …)."""

    start: Bodies
    end: Bodies
    before: np.ndarray
    after: np.ndarray
    gravity: np.ndarray
    h: float

    def owed_by_place(self, wrench: np.ndarray) -> np.ndarray:
        """∂(momentum after)/∂δ: momentum and weight where it starts, and what contacts give."""
        made = self.start.momentum_by_place(self.before) + wrench
        pulls = self.start.masses[:, None, None] * self.start.centers_by_place()
        made[:3] += self.h * np.cross(pulls.sum(axis=0), self.gravity[:, None], axis=0)
        return made

    def moved(self, flow: np.ndarray, owed: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        """δ⁺ (n, m) of a move `flow` whose root is put where the centre of mass belongs: c + h p/m; `start`: ∂δ."""
        mass = float(self.start.masses.sum())
        wanted = self.h * owed[3:] / mass
        if start is not None:
            wanted = wanted + np.einsum("k,kin->in", self.start.masses, self.start.centers_by_place()) @ start / mass
        reached = np.einsum("k,kin->in", self.end.masses, self.end.centers_by_place()) / mass
        made = flow.copy()
        made[3:6] = 0.0
        made[3:6] = np.linalg.solve(reached[:, 3:6], wanted - reached @ made)
        return made

    def rates(self, moved: np.ndarray, owed: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """The change of the rates after: joints' as given (n, m), the root's by the momentum that is owed."""
        whole, made = self.end.momentum_map(), joints.copy()
        made[:6] = 0.0
        rest = owed - self.end.momentum_by_place(self.after) @ moved - whole @ made
        made[:6] = np.linalg.solve(whole[:, :6], rest)
        return made
