"""Steps of a closed mechanism's motion along its tree, each for one link or one loop, on numbers that are traced.

S = Aℳ⁻¹A* is full, but λ of a loop is felt only between its frames and their nearest common ancestor. The articulated
inertia is therefore carried inward together with the forces of loops still open (Brandl, Johanni and Otter 1987). At
link k with the acceleration α, where loops with the forces λ are open, the joint has to give, and closures are open by

    force    Pα + z + Cλ               closures   C*α + g − Sλ
    a joint  D = HPH* + A, e = HC + C_θ, ε = T − Hz:
             P − PH*D⁻¹HP    z + PH*D⁻¹ε    C − PH*D⁻¹e    g + e*D⁻¹ε    S + e*D⁻¹e
    a loop   λ = S⁻¹(g + C*α − S_o λ_o):
             P + CS⁻¹C*      z + CS⁻¹g      C_o − CS⁻¹S_o  g_o − S_o*S⁻¹g   S_oo − S_o*S⁻¹S_o

and outward θ̈ = D⁻¹(ε − HPα − eλ), α and λ follow. World axes, each link about its own origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.links.values import bias_force, lever_terms, mirror_upper
from phistar.backends.rolled.block_calls import split_row
from phistar.backends.traces.arrays import traced
from phistar.loops.closure import relative_rows
from phistar.loops.effective import eliminated_rows
from phistar.spatial import cross, skew, times

ELSEWHERE = 1e-9  # of what a row would give if no moment cancelled another: below it, it gives nothing
PLACED = ((3, 3), (3,), (6,), (6,))  # rotation, origin, V and bias acceleration of a link
ANYWHERE = (np.eye(3), np.zeros(3), np.zeros(6), np.zeros(6))  # the world's


def link_motion(joint: Any, above_link: np.ndarray, q: np.ndarray, v: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
    """Rotation, origin, V and a of a link, from its parent's, its coordinates and rates, and where its joint stands."""
    turn, origin, motion, _ = split_row(above_link, *PLACED)
    before, shift = split_row(own, (3, 3), (3,))
    moved, slide = joint.pose(traced(q))
    middle = np.matmul(turn, before)
    lever = times(turn, shift) + times(middle, np.asarray(slide))
    turned = np.matmul(middle, np.asarray(moved))
    relative = times(_screws(joint, turned, q), v)
    spin, slip, omega = relative[:3], relative[3:], motion[:3]
    whole = omega + spin
    swing = cross(omega, lever)
    angular = cross(omega, spin)
    linear = cross(omega, swing + slip) + cross(whole, slip)
    rate = joint.subspace_rate(traced(q), traced(v))
    if rate is not None:
        more = times(np.asarray(rate), v)
        angular, linear = angular + times(turned, more[:3]), linear + times(turned, more[3:])
    own_motion = np.concatenate([whole, motion[3:] + swing + slip])
    return [_row(turned, origin + lever, own_motion, angular, linear)]


def _screws(joint: Any, turn: np.ndarray, q: np.ndarray) -> np.ndarray:
    """H* in world axes, (6, r)."""
    own = np.asarray(joint.subspace(traced(q)))
    return np.concatenate([np.matmul(turn, own[:3]), np.matmul(turn, own[3:])])


def _row(*parts: Any) -> np.ndarray:
    return np.concatenate([np.asarray(x, dtype=object).reshape(-1) for x in parts])


class CutRows(NamedTuple):
    """A kind of cut joint with so many rows; `vector`: which of them are along frame_a's own axes."""

    joint: Any
    rows: int
    vector: slice | None


def cut(kind: CutRows, moving: bool, a: np.ndarray, b: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
    """C of both links (r, 6), what stands on the right, and Q of frame_a (r, 6), of a loop between two links: with
    `moving`, g̈ without accelerations (r, 1), else g and ġ (r, 2)."""
    *end_turns, back, offset_a, offset_b, length = split_row(own, (3, 3), (3, 3), (3, 3), (3,), (3,), (1,))
    poses, motions, levers, turns = [], [], [], []
    for link, end_turn, offset in zip((a, b), end_turns, (offset_a, offset_b), strict=True):
        turn, origin, motion, _ = split_row(link, *PLACED)
        lever = times(turn, offset)
        levers.append(lever)
        turns.append(motion[:3])
        motions.append(traced(np.concatenate([motion[:3], motion[3:] + cross(motion[:3], lever)])))
        top = np.concatenate([np.matmul(turn, end_turn), (origin + lever)[:, None]], axis=1)
        poses.append(traced(np.concatenate([top, np.array([[0.0, 0.0, 0.0, 1.0]])])))
    found, on_a, on_b, drift = relative_rows(kind.joint, *poses, *motions)
    on_a, on_b = np.asarray(on_a), np.asarray(on_b)
    pulls, sides = [], np.stack([np.asarray(found.value), times(on_a, motions[0]) + times(on_b, motions[1])], axis=-1)
    if moving:
        sides = np.asarray(drift)[:, None]
    sides = np.array(sides, dtype=object)
    for on, omega, lever in zip((on_a, on_b), turns, levers, strict=True):
        pulls.append(np.concatenate([on[:, :3] + cross(lever[None], on[:, 3:]), on[:, 3:]], axis=1))
        if moving:
            sides = sides + times(on[:, 3:], cross(omega, cross(omega, lever)))[:, None]
    if not moving:
        sides = sides - np.array([[1.0, 0.0]]) * length
    parts = [np.array(x, dtype=object) for x in (*pulls, sides, on_a)]
    if kind.vector is not None:
        for x in parts:
            x[kind.vector] = np.matmul(back, x[kind.vector])
    return [x.reshape(-1) for x in parts]


def coupling_rows(alone: bool, moving: bool, *rows: np.ndarray) -> list[np.ndarray]:
    """The slope of q_a − polynomial(q_b) by q_b, and what stands on the right as `cut` has it; `alone`: q_a has no
    driver."""
    qa, va, qb, vb, own = rows
    value, first, second = 0.0, 0.0, 0.0
    for coefficient in own[:1] if alone else own[::-1]:
        second, first, value = second * qb[0] + 2.0 * first, first * qb[0] + value, value * qb[0] + coefficient
    if alone:
        first, second = 0.0, 0.0
    sides = [-second * vb[0] * vb[0]] if moving else [qa[0] - value, va[0] - first * vb[0]]
    return [_row([-first]), _row(sides)]


@dataclass(frozen=True)
class Joining:
    """The loops that are open at a link, by their rows, those that close there first, and how many these are; the
    positions among them of those that each child hands on, that have a frame on the link, and that couple its joint;
    `columns`: right sides."""

    rows: tuple[int, ...]
    closing: int
    children: tuple[tuple[int, ...], ...]
    ends: tuple[int, ...]
    coupled: tuple[int, ...]
    columns: int

    @property
    def count(self) -> int:
        return sum(self.rows)

    @property
    def closing_rows(self) -> int:
        """Rows that close here."""
        return sum(self.rows[: self.closing])

    def own(self, position: int) -> range:
        start = sum(self.rows[:position])
        return range(start, start + self.rows[position])

    def shapes_sent(self, loops: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Shapes of what is handed on of some loops: P, z, C, S, g, the loops' compliance, rank and doubt."""
        m, w = sum(self.rows[i] for i in loops), self.columns
        return (6, 6), (6, w), (m, 6), (m, m), (m, w), (len(loops),), (2,)

    def shapes_kept(self, rates: int) -> tuple[tuple[int, ...], ...]:
        """Shapes of what is kept for the way outward: D⁻¹HP, D⁻¹e, D⁻¹ε, and λ in terms of α, 1 and others."""
        stay = self.count - self.closing_rows
        return (rates, 6), (rates, stay), (rates, self.columns), (self.closing_rows, 6 + self.columns + stay)

    @property
    def staying(self) -> tuple[int, ...]:
        return tuple(range(self.closing, len(self.rows)))


@dataclass
class Open:
    """Quantities of a link while it is worked on: P, z, C, S, g, the compliance of each loop, rank and doubt."""

    P: np.ndarray
    z: np.ndarray
    C: np.ndarray
    S: np.ndarray
    g: np.ndarray
    compliance: np.ndarray
    counts: np.ndarray

    def row(self) -> np.ndarray:
        return _row(self.P, self.z, self.C, self.S, self.g, self.compliance, self.counts)


def _gather(how: Joining, P: np.ndarray, z: np.ndarray, blocks: list[np.ndarray]) -> Open:
    """A link's own P and z with what its children hand on, its frames and the right sides of what closes there."""
    m, w, loops = how.count, how.columns, len(how.rows)
    made = Open(P, z, *(np.zeros(shape, dtype=object) for shape in ((m, 6), (m, m), (m, w), (loops,), (2,))))
    for loops_of, row in zip(how.children, blocks, strict=False):
        parts, at = split_row(row, *how.shapes_sent(loops_of)), [i for x in loops_of for i in how.own(x)]
        made.P, made.z, made.counts = made.P + parts[0], made.z + parts[1], made.counts + parts[6]
        made.C[at], made.g[at] = made.C[at] + parts[2], made.g[at] + parts[4]
        made.S[np.ix_(at, at)] = made.S[np.ix_(at, at)] + parts[3]
        made.compliance[list(loops_of)] = made.compliance[list(loops_of)] + parts[5]
    for position, row in zip(how.ends, blocks[len(how.children) :], strict=False):
        made.C[how.own(position)] = made.C[how.own(position)] + row.reshape(-1, 6)
    for position, row in enumerate(blocks[len(how.children) + len(how.ends) :][: how.closing]):
        made.g[how.own(position)] = made.g[how.own(position)] + row.reshape(-1, w)
    return made


def _eliminate_loops(how: Joining, x: Open, units: np.ndarray) -> tuple[Open, np.ndarray]:
    """Eliminate the loops that close at a link; λ of them in terms of α, 1 and the others' λ."""
    c, w = how.closing_rows, how.columns
    extra = np.concatenate([x.C[:c], x.g[:c], -x.S[:c, c:]], axis=1)
    scale = [x.compliance[i] * units[row] for i in range(how.closing) for row in how.own(i)]
    found = eliminated_rows(x.S[:c, :c], extra, scale)
    left = found.reduced
    P, z = mirror_upper(x.P + left[:6, :6]), x.z + left[:6, 6 : 6 + w]
    C, g = x.C[c:] + left[6 + w :, :6], x.g[c:] + left[6 + w :, 6 : 6 + w]
    S, counts = mirror_upper(x.S[c:, c:] - left[6 + w :, 6 + w :]), x.counts + np.array([found.rank, found.doubt])
    return Open(P, z, C, S, g, x.compliance[how.closing :], counts), found.forces


def inward(how: Joining, joint: Any, moving: bool, *rows: np.ndarray) -> list[np.ndarray]:
    """Compute the blocks that a link hands on to its parent, and those it keeps.

    Blocks: the link, its parent, q and T of its joint, its children, the C of frames on it, the right sides of loops
    that close, the slopes of couplings.
    """
    link, over, q, tau, *others, own = rows
    turn, origin, motion, bias = split_row(link, *PLACED)
    units, inertia, armature = split_row(own, (how.count,), (13,), (joint.nv,))
    mass, w = _world_inertia(turn, inertia), how.columns
    z = bias_force(mass, motion[:, None]) if moving else np.zeros((6, w), dtype=object)
    x = _gather(how, mass, z, others)
    x, forces = _eliminate_loops(how, x, units)
    slopes = others[len(how.children) + len(how.ends) + how.closing :]
    screws, kept = _screws(joint, turn, q), list[list[Any]]()
    for i in range(joint.nv):
        kept.append(
            _pass_joint(how, x, screws[:, i], armature[i], tau[i] if moving else 0.0, slopes, units[how.closing_rows :])
        )
    if moving:
        x.z, x.g = x.z + times(x.P, bias)[:, None], x.g + times(x.C, bias)[:, None]
    _shift(x, origin - split_row(over, *PLACED)[1])
    columns = [np.array([each[j] for each in kept], dtype=object) for j in range(3)]
    return [x.row(), _row(*columns, forces)]


def _world_inertia(turn: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """M about the link's origin in world axes, (6, 6), from mass, first moment and tensor in the link's."""
    lever = skew(times(turn, inertia[1:4]))
    tensor = np.matmul(np.matmul(turn, inertia[4:].reshape(3, 3)), turn.T)
    corner = np.eye(3, dtype=object) * inertia[0]
    return mirror_upper(
        np.concatenate([np.concatenate([tensor, lever], axis=1), np.concatenate([-lever, corner], axis=1)])
    )


def _pass_joint(
    how: Joining, x: Open, screw: np.ndarray, armature: Any, tau: Any, slopes: list[np.ndarray], units: np.ndarray
) -> list[Any]:
    """Let one rate of the joint give way: D⁻¹HP, D⁻¹e and D⁻¹ε of it."""
    push = times(x.P, screw)
    inverse = 1.0 / (np.sum(push * screw) + armature)
    epsilon = -np.matmul(screw[None], x.z)[0] + tau
    parts = x.C * screw
    felt, size = np.sum(parts, axis=1), np.sum(parts * parts, axis=1)
    for position, slope in zip(how.coupled, slopes, strict=True):
        row = how.own(position).start - how.closing_rows
        felt[row], size[row] = felt[row] + slope[0], size[row] + slope[0] * slope[0]
    for number, position in enumerate(how.staying):
        at = [row - how.closing_rows for row in how.own(position)]
        own = sum((felt[i] * felt[i] + ELSEWHERE * size[i]) / units[i] for i in at)
        x.compliance[number] = x.compliance[number] + inverse * own
    push_part, felt_part, epsilon_part = push * inverse, felt * inverse, epsilon * inverse
    x.P = mirror_upper(x.P - np.outer(push_part, push))
    x.z, x.g = x.z + np.outer(push, epsilon_part), x.g + np.outer(felt, epsilon_part)
    x.C, x.S = x.C - np.outer(felt_part, push), mirror_upper(x.S + np.outer(felt_part, felt))
    return [push_part, felt_part, epsilon_part]


def _shift(x: Open, offset: np.ndarray) -> None:
    """About the parent's origin: φ(p, k), which does not turn in world axes."""
    lever = skew(offset)
    b, c = x.P[:3, 3:], x.P[3:, 3:]
    shifted = b + np.matmul(lever, c)
    top = np.concatenate([x.P[:3, :3] - lever_terms(b, shifted, lever), shifted], axis=1)
    x.P = mirror_upper(np.concatenate([top, x.P[3:]]))
    x.z = np.concatenate([x.z[:3] + np.matmul(lever, x.z[3:]), x.z[3:]])
    x.C = np.concatenate([x.C[:, :3] + np.matmul(x.C[:, 3:], lever.T), x.C[:, 3:]], axis=1)


def at_world(how: Joining, *rows: np.ndarray) -> list[np.ndarray]:
    """Rank and doubt of what hangs on the world, and λ of each loop that closes there. Blocks: α of the world, which
    stands for gravity, the links on it, the C of its frames, and the right sides."""
    alpha, *blocks, units = rows
    nothing = np.zeros((6, 6), dtype=object), np.zeros((6, how.columns), dtype=object)
    x = _gather(how, *nothing, blocks)
    x.g, x.C = x.g + np.matmul(x.C, alpha.reshape(6, -1)), np.zeros(x.C.shape, dtype=object)
    x, forces = _eliminate_loops(how, x, units)
    return [x.counts, *(forces[how.own(i), 6 : 6 + how.columns].reshape(-1) for i in range(how.closing))]


def outward(how: Joining, joint: Any, moving: bool, *rows: np.ndarray) -> list[np.ndarray]:
    """θ̈ of a link's joint, its α, and λ of each loop that closes there. Blocks: the link, its parent, α of that, q,
    what was kept, λ of the loops that stay open."""
    link, over, above_alpha, q, kept, *others, _ = rows
    turn, origin, _, bias = split_row(link, *PLACED)
    push, felt, epsilon, forces = split_row(kept, *how.shapes_kept(joint.nv))
    alpha = above_alpha.reshape(6, -1)
    lever = skew(origin - split_row(over, *PLACED)[1])
    alpha = np.concatenate([alpha[:3], alpha[3:] - np.matmul(lever, alpha[:3])])
    if moving:
        alpha = alpha + bias[:, None]
    known = np.concatenate([x.reshape(-1, how.columns) for x in others]) if others else np.zeros((0, how.columns))
    rates, screws = np.zeros((joint.nv, how.columns), dtype=object), _screws(joint, turn, q)
    for i in range(joint.nv - 1, -1, -1):
        rates[i] = epsilon[i] - np.matmul(push[i], alpha) - np.matmul(felt[i], known)
        alpha = alpha + np.outer(screws[:, i], rates[i])
    w = how.columns
    own = forces[:, 6 : 6 + w] + np.matmul(forces[:, :6], alpha) + np.matmul(forces[:, 6 + w :], known)
    return [rates.reshape(-1), alpha.reshape(-1), *(own[how.own(i)].reshape(-1) for i in range(how.closing))]


def closure_force(on: np.ndarray, force: np.ndarray, _: np.ndarray) -> list[np.ndarray]:
    """−Q*λ of one frame, (6,)."""
    return [-np.matmul(force, on.reshape(-1, 6))]


def add_rows(*rows: np.ndarray) -> list[np.ndarray]:
    """Rows added up."""
    return [sum(rows[:-1], np.zeros(len(rows[0]), dtype=object))]


def felt_rows(how: Joining, joint: Any, *rows: np.ndarray) -> list[np.ndarray]:
    """A of the loops that stay open at a link, (rows, r), and their C about its parent's origin."""
    link, over, q, *others, _ = rows
    turn, origin = split_row(link, *PLACED)[:2]
    C = np.zeros((how.count, 6), dtype=object)
    for loops_of, row in zip(how.children, others, strict=False):
        at = [i for x in loops_of for i in how.own(x)]
        C[at] = C[at] + row.reshape(-1, 6)
    for position, row in zip(how.ends, others[len(how.children) :], strict=False):
        C[how.own(position)] = C[how.own(position)] + row.reshape(-1, 6)
    C = C[how.closing_rows :]
    felt = np.matmul(C, _screws(joint, turn, q))
    for position, slope in zip(how.coupled, others[len(how.children) + len(how.ends) :], strict=True):
        row = how.own(position).start - how.closing_rows
        felt[row, 0] = felt[row, 0] + slope[0]
    lever = skew(origin - split_row(over, *PLACED)[1])
    moved = np.concatenate([C[:, :3] + np.matmul(C[:, 3:], lever.T), C[:, 3:]], axis=1)
    return [felt.reshape(-1), moved.reshape(-1)]
