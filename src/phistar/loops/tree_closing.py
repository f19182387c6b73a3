"""Forward dynamics of long mechanisms with many loops, in O(n): free motion by its statement, closed along the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from phistar.backends.links.values import has_rotors
from phistar.backends.machine.threads import spread
from phistar.backends.native_door import bound
from phistar.loops.closing_kinds import SIDES, CutKinds, JointKinds
from phistar.loops.closing_layout import ClosingLayout, carried_rates, closing_layout
from phistar.loops.closing_sweeps import CLOSE, PLACE
from phistar.loops.closure import loop_slices, row_count
from phistar.loops.equations import free_acceleration
from phistar.model import Model
from phistar.model.parts import CoupledJoints
from phistar.spatial import times, transposed
from phistar.stated import batched, states
from phistar.sweeps.lower import GIVEN

CHUNK = 64  # states whose free motion is found at once
BLOCK = 8  # states that are worked on in turn: what is prepared for them stays in the caches


@states(
    lambda s: {
        "acceleration": free_acceleration(s),
        "motion": s.phi.T @ s.H.T @ s.v,
        "rate": s.phi.T @ (s.H.T @ free_acceleration(s) + s.a),
    }
)
def link_motion(model: Model, q: Any, v: Any, tau: Any) -> dict[str, np.ndarray]:
    """θ̈_f (…, nv) of the tree without its closures, and V and α of its links (…, 6n), in body axes."""
    return link_motion.evaluate_all(model, q, {"v": v, "T": tau})


def fits_along_tree(model: Model) -> bool:
    """Whether the links of a mechanism are rigid bodies without spinning rotors."""
    return bool(model.nv) and not model.is_flexible and not has_rotors(model)


def accelerated_along_tree(model: Model, q: Any, v: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ̈ (…, nv) that keeps every loop closed, the rank of the closures and the doubts about it (…)."""
    batch, (q, v, tau) = _states(model, q, v, tau)
    rows = [np.empty((len(q), model.nv)), np.empty(len(q)), np.empty(len(q))]
    for own, made in _tree_closing(model).blocks(q, v, tau, ("right",)):
        rows[0][own], rows[1][own], rows[2][own] = made.free - made.responses["right"], made.rank, made.doubt
    return rows[0].reshape(*batch, -1), rows[1].reshape(batch), rows[2].reshape(batch)


def forces_along_tree(model: Model, q: Any, v: Any, tau: Any) -> dict[str, np.ndarray] | None:
    """Closing forces of each loop, as `constraint_forces` has them, if unique at all states; else None."""
    batch, (q, v, tau) = _states(model, q, v, tau)
    m = row_count(model)
    forces, pull = np.empty((len(q), m)), np.empty((len(q), m, 6))
    for own, made in _tree_closing(model).blocks(q, v, tau, ("right",)):
        if np.any(made.rank != m) or np.any(made.doubt):
            return None
        forces[own], pull[own] = -made.forces, made.pull[..., :6]
    found = {}
    for loop, own in zip(model.loops, loop_slices(model).values(), strict=True):
        given = forces[:, own] if isinstance(loop, CoupledJoints) else times(transposed(pull[:, own]), forces[:, own])
        found[loop.name] = given.reshape(*batch, -1)
    return found


def corrected_along_tree(model: Model, q: Any, v: Any) -> tuple[np.ndarray, ...]:
    """g and ġ (…, m), ℳ⁻¹A*S⁻¹g and ℳ⁻¹A*S⁻¹ġ (…, nv), and the doubts about the rank of S (…)."""
    batch, (q, v, tau) = _states(model, q, v, np.zeros(model.nv))
    m = row_count(model)
    rows = [np.empty((len(q), width)) for width in (m, m, model.nv, model.nv)] + [np.empty(len(q))]
    for own, made in _tree_closing(model).blocks(q, v, tau, ("residual", "rate")):
        found = *made.sides.values(), *made.responses.values(), made.doubt
        for row, x in zip(rows, found, strict=True):
            row[own] = x
    return *(row.reshape(*batch, -1) for row in rows[:4]), rows[4].reshape(batch)


def rows_along_tree(model: Model, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """g (…, m) and A = QJ + C (…, m, nv)."""
    batch, (q, v, tau) = _states(model, q, np.zeros(model.nv), np.zeros(model.nv))
    m = row_count(model)
    residual, rows = np.empty((len(q), m)), np.empty((len(q), m, model.nv))
    for own, made in _tree_closing(model).blocks(q, v, tau, ("residual",), with_rows=True):
        residual[own], rows[own] = made.sides["residual"], made.rows
    return residual.reshape(*batch, m), rows.reshape(*batch, m, model.nv)


def _states(model: Model, q: Any, v: Any, tau: Any) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The leading axes of some states, and the states one after the other."""
    q, v = batched(model, q, v)
    tau = model.checked(tau, model.nv, "tau")
    batch = q.shape[:-1]
    if tau.shape[:-1] != batch:
        batch = np.broadcast_shapes(batch, tau.shape[:-1])
        q, v, tau = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, tau))
    return batch, [x.reshape(-1, x.shape[-1]) for x in (q, v, tau)]


def _tree_closing(model: Model) -> TreeClosing:
    return model.kept("tree_closing", lambda: TreeClosing(model))


class Closed(NamedTuple):
    """A block of closed states: θ̈_f (b, nv), right sides γ by name (b, m), the responses ℳ⁻¹A*S⁻¹γ to them (b, nv),
    rank and doubt (b,); S⁻¹γ of the last (b, m), Q (b, m, 12) and, if asked for, A (b, m, nv)."""

    free: np.ndarray
    sides: dict[str, np.ndarray]
    responses: dict[str, np.ndarray]
    rank: np.ndarray
    doubt: np.ndarray
    forces: np.ndarray
    pull: np.ndarray
    rows: np.ndarray | None


@dataclass(frozen=True, eq=False)
class TreeClosing:
    """The tables and kernels of a mechanism, and memory for its sweeps, a piece for each thread that is in them."""

    model: Model

    @cached_property
    def layout(self) -> ClosingLayout:
        return closing_layout(self.model)

    @cached_property
    def carried(self) -> np.ndarray:
        return carried_rates(self.model)

    @cached_property
    def joints(self) -> JointKinds:
        return JointKinds(self.model)

    @cached_property
    def cuts(self) -> CutKinds:
        return CutKinds(self.model)

    @cached_property
    def _idle(self) -> list[Workspace]:
        return []

    @cached_property
    def _kernel(self) -> tuple[Any, list[int], list[int]]:
        """The kernel of the free motion; in which order it takes v and tau, and where its results stand."""
        kernel, _ = link_motion.kernel(self.model.tree, ())
        order = [{GIVEN["v"]: 0, GIVEN["T"]: 1}[name] for name in kernel.inputs]
        return kernel, order, [kernel.outputs.index(name) for name in ("acceleration", "motion", "rate")]

    def _free_motion(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """θ̈_f (b, nv), and V and α of the links beside each other (b, n, 12)."""
        kernel, order, places = self._kernel
        made = spread(kernel.function, (q, *((v, tau)[i] for i in order)), list(kernel.shapes))
        free, motion, rate = (made[i] for i in places)
        return free, np.concatenate([motion.reshape(len(q), -1, 6), rate.reshape(len(q), -1, 6)], axis=-1)

    def blocks(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, sides: tuple[str, ...], with_rows: bool = False
    ) -> Iterator[tuple[slice, Closed]]:
        """Block after block of states, solved for each of `sides`: "right" for the motion, "residual", "rate"."""
        try:
            space = self._idle.pop()
        except IndexError:
            space = Workspace(self)
        for start in range(0, len(q), CHUNK):
            many = slice(start, min(start + CHUNK, len(q)))
            free, motion = self._free_motion(q[many], v[many], tau[many])
            for first in range(start, many.stop, BLOCK):
                own = slice(first, min(first + BLOCK, many.stop))
                here = slice(own.start - start, own.stop - start)
                made = space.closed(self, q[own], v[own], free[here], motion[here], sides)
                yield own, made._replace(rows=space.rows(self, len(q[own]))) if with_rows else made
        self._idle.append(space)


class Workspace:
    """The arrays that the sweeps of a block of states work on."""

    def __init__(self, closing: TreeClosing) -> None:
        model, layout = closing.model, closing.layout
        tables = dict(layout.tables) | closing.joints.tables | closing.cuts.tables
        n, m, ends, nv = len(model.bodies), row_count(model), 2 * len(model.loops), model.nv
        entries, most = int(tables["first_open"][-1]), max(layout.closing_at)
        several = {"turn": (n + 1, 9), "origin": (n + 1, 3), "link_motion": (n + 1, 12), "joint": (n, 12)}
        several |= {"axes": (nv, 6), "screws": (nv, 6), "pose": (ends, 16), "moved": (ends, 12), "lever": (ends, 3)}
        several |= {"pull": (m, 12)}
        vectors = {"gamma": m, "forces": m, "response": nv, "slope": len(tables["coupled_at"]), "ranks": 1, "doubts": 1}
        tables |= {name: np.zeros((BLOCK * rows, width)) for name, (rows, width) in several.items()}
        tables |= {name: np.zeros(BLOCK * max(size, 1)) for name, size in vectors.items()}
        tables |= {"P": np.zeros((n + 1, 36)), "known": np.zeros((n + 1, 6)), "alpha": np.zeros((n + 1, 6))}
        tables |= {"C": np.zeros((entries, 6)), "push": np.zeros((nv, 6)), "S": np.zeros(layout.active**2)}
        once = {"g": m, "own": m, "bound": m, "force": m, "inverse": m, "scale": most, "first": 9, "second": 9}
        once |= {"size": max(layout.open_at, default=0) + 1, "compliance": nv, "bias": nv}
        once |= {"felt": int(tables["first_felt"][-1]) + 1, "kept": int(tables["first_kept"][-1]) + 1}
        tables |= {name: np.zeros(max(size, 1)) for name, size in once.items()}
        wholes = {"turns": entries, "done": most, "count": 1, "rank": 1, "doubt": 1}
        tables |= {name: np.zeros(max(size, 1), dtype=np.int64) for name, size in wholes.items()}
        tables["turn"].reshape(BLOCK, n + 1, 9)[:, n] = np.eye(3).reshape(-1)
        self.arrays = {name: x if x.size else np.zeros((1, *x.shape[1:]), x.dtype) for name, x in tables.items()}
        self._place, self._close = bound(PLACE, self.arrays, {}), bound(CLOSE, self.arrays, {})

    def closed(
        self,
        closing: TreeClosing,
        q: np.ndarray,
        v: np.ndarray,
        free: np.ndarray,
        motion: np.ndarray,
        sides: tuple[str, ...],
    ) -> Closed:
        """The closures of at most BLOCK states, solved for right sides by name."""
        arrays, count = self.arrays, len(q)
        arrays["count"][0] = count
        closing.joints.place(q, arrays["joint"].reshape(BLOCK, -1, 12), arrays["axes"].reshape(BLOCK, -1, 6))
        arrays["link_motion"].reshape(BLOCK, -1, 12)[:count, :-1] = motion
        self._place()
        ends = 2 * len(closing.model.loops)
        pose, moved = arrays["pose"].reshape(BLOCK, ends, 16)[:count], arrays["moved"].reshape(BLOCK, ends, 12)[:count]
        gamma = arrays["gamma"].reshape(BLOCK, -1)[:count]
        right = {name: np.empty(gamma.shape) for name in SIDES}
        pull = arrays["pull"].reshape(BLOCK, -1, 12)[:count]
        closing.cuts.cut(pose, moved, pull, right)
        closing.cuts.couple(q, v, free, arrays["slope"].reshape(BLOCK, -1)[:count], right)
        responses = {}
        for name in sides:
            gamma[:] = right[name]
            self._close()
            responses[name] = arrays["response"].reshape(BLOCK, -1)[:count].copy()
        rank, doubt = arrays["ranks"][:count].copy(), arrays["doubts"][:count].copy()
        forces = arrays["forces"].reshape(BLOCK, -1)[:count].copy()
        return Closed(free, {name: right[name] for name in sides}, responses, rank, doubt, forces, pull.copy(), None)

    def rows(self, closing: TreeClosing, count: int) -> np.ndarray:
        """A = QJ + C (b, m, nv) of the states that were closed last: forces and screws meet at the world's origin."""
        arrays, ends = self.arrays, 2 * len(closing.model.loops)
        tables = closing.layout.tables
        screws, pull = (arrays[name].reshape(BLOCK, -1, width)[:count] for name, width in (("screws", 6), ("pull", 12)))
        origin = arrays["origin"].reshape(BLOCK, -1, 3)[:count, tables["rate_link"]]
        linear = screws[..., 3:] + np.cross(origin, screws[..., :3])
        moving = np.swapaxes(np.concatenate([screws[..., :3], linear], axis=-1), -1, -2)
        place = arrays["pose"].reshape(BLOCK, ends, 4, 4)[:count, :, :3, 3]
        whole = np.zeros((count, row_count(closing.model), closing.model.nv))
        for side in range(2):
            at = np.flatnonzero(tables["row_end"][:, side] >= 0)
            end, force = tables["row_end"][at, side], pull[:, at, 6 * side : 6 * side + 6]
            moment = force[..., :3] + np.cross(place[:, end], force[..., 3:])
            felt = np.matmul(np.concatenate([moment, force[..., 3:]], axis=-1), moving)
            whole[:, at] += np.where(closing.carried[arrays["end_link"][end]], felt, 0.0)
        coupled = tables["coupled_rate"]
        if len(coupled):
            whole[:, coupled[:, 0], coupled[:, 1]] = arrays["slope"].reshape(BLOCK, -1)[:count]
        return whole
