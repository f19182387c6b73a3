"""The two-point boundary-value problem that dynamics is (R87 §VI), with the boundary conditions of its §I.

Forces x on the links run inward from the tips, accelerations λ outward from the base; one end of each is known:

    x(k) = Σ φ(k,c) x⁺(c) + M(k) λ(k) + b(k)          (16)      x⁺ = x + Sθ̈: what geared rotors pass on  (17)
    λ⁺(k) = φ*(p,k) λ(p)                              (18)      λ(k) = λ⁺(k) + H*(k) θ̈(k) + n(k)         (19)
    τ(k) = H(k) x(k) + A θ̈(k) + S* λ⁺(k)              (20)      x⁺(tip) = 0, λ⁺(base) = 0                (21)

The tip may be free, loaded, or moved as told (anchored: a closed chain); the base fixed, driven, or free (a model with
a free joint at its root, whose τ is zero: free-free).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.values import Links, inward, links_at, outward
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.dynamics import operational_space
from phistar.errors import ModelError, UnknownNameError
from phistar.estimation.link_arrays import over_links
from phistar.estimation.terms import known_terms
from phistar.identities import smoothing
from phistar.model import Free, Model
from phistar.model.check import check_robot
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial import times
from phistar.stated import Stated, states
from phistar.stated_arguments import external_forces

SINGULAR = 1e-11  # of the greatest mobility: below it, a direction is one in which the joints cannot move a frame


@short_repr
@dataclass(frozen=True)
class Solution:
    """Solution of a `BoundaryValueProblem`.

    Attributes
    ----------
    states, costates : (…, n, 6)
        x (link forces) and λ (link accelerations), each in its link's axes.
    accelerations, joint_forces : (…, nv)
        θ̈ and τ.
    tip_forces : dict
        {frame: (…, 6)}, the forces on the frames, in world axes.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> problem = ps.estimation.BoundaryValueProblem(arm, q, v)
    >>> problem.forward(tau).states.shape
    (6, 6)
    """

    states: Array
    costates: Array
    accelerations: Array
    joint_forces: Array
    tip_forces: Mapping[str, Array]


@dataclass(frozen=True)
class BoundaryValueProblem:
    """A mechanism in motion with conditions at its tips and its base (R87 §IV).

    Parameters
    ----------
    model : Model
    q, v : (…, nq), (…, nv)
        Joint coordinates and rates.
    tip_forces : dict, optional
        {frame: (…, 6)}, forces on frames, [moment; force] in world axes.
    tip_accelerations : dict, optional
        {frame: (…, 6)}, how frames are made to move, [ω̇; ẍ] in world axes, whatever force that takes; zero anchors one.
    base_acceleration : (…, 6), optional
        How the base is driven.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> problem = ps.estimation.BoundaryValueProblem(arm, q, v, tip_accelerations={"tool": np.zeros(6)})
    >>> problem.forward(tau).accelerations.round(6) + 0.0
    array([0., 0., 0., 0., 0., 0.])
    """

    model: Model
    q: Any
    v: Any
    tip_forces: Mapping[str, Any] = field(default_factory=dict)
    tip_accelerations: Mapping[str, Any] = field(default_factory=dict)
    base_acceleration: Any = None

    def __post_init__(self) -> None:
        check_robot("BoundaryValueProblem", (self.model,))
        if self.model.loops:
            raise ModelError(f"{self.model.name} has loops; take model.tree and say how the cut frames move.")
        both = set(self.tip_forces) & set(self.tip_accelerations)
        if both:
            raise UnknownNameError(f"{min(both)} is given a force and an acceleration; one follows from the other.")
        if self.base_acceleration is not None and self.base == "free":
            raise ModelError(f"The base of {self.model.name} is free: its acceleration is found, not given.")

    @property
    def tip(self) -> str:
        """free, loaded, or moved (a closed chain, where it is anchored)."""
        return "moved" if self.tip_accelerations else "loaded" if self.tip_forces else "free"

    @property
    def base(self) -> str:
        """fixed, driven, or free."""
        if any(isinstance(joint.kind, Free) and self.model.parents[joint.body] < 0 for joint in self.model.joints):
            return "free"
        return "fixed" if self.base_acceleration is None else "driven"

    def forward(self, tau: Any) -> Solution:
        """Solve from joint forces (…, nv): filter and smoother (R87 §VIII), and Λ where frames are moved."""
        loads = dict(self.tip_forces)
        if self.tip_accelerations:
            loads |= self._closing_forces(tau)
        found, forces = self._solve(_forward, {"T": tau}, loads)
        if self.tip_accelerations:
            self._refuse_impossible(found["frame_accelerations"])
        return self._solution(found, found["accelerations"], self.model.checked(tau, self.model.nv, "tau"), forces)

    def inverse(self, accelerations: Any) -> Solution:
        """Solve from joint accelerations (…, nv): outward, then inward (R87 §VII, eqs. 23-25)."""
        if self.tip_accelerations:
            raise ModelError("Where frames are moved, joint forces are not determined by accelerations; load the tip.")
        found, forces = self._solve(_inverse, {"qdd": accelerations}, dict(self.tip_forces))
        given = self.model.checked(accelerations, self.model.nv, "accelerations")
        return self._solution(found, given, found["joint_forces"], forces)

    def _closing_forces(self, tau: Any) -> dict[str, np.ndarray]:
        """Λ(β̇ − β̇₀): what moves the frames as told, β̇₀ being how they would move by themselves; of directions in which
        the joints cannot move them, the least force."""
        frames, wanted = external_forces(self.model, self.tip_accelerations)
        loaded = {**self.tip_forces, **{name: np.zeros(6) for name in frames}}
        found, _ = self._solve(_forward, {"T": tau}, loaded)
        free = found["frame_accelerations"][..., -wanted.shape[-1] :]
        inertia = operational_space(self.model, self.q, self.v, frames, truncation=SINGULAR).inertia
        force = times(inertia, wanted - free)
        return {name: force[..., 6 * i : 6 * i + 6] for i, name in enumerate(frames)}

    def _refuse_impossible(self, moved: np.ndarray) -> None:
        """A tip cannot be told to do what no joint lets it do."""
        frames, wanted = external_forces(self.model, self.tip_accelerations)
        moved = moved[..., -wanted.shape[-1] :]
        off = np.abs(moved - wanted) > 1e-6 * (1.0 + np.abs(wanted).max() + np.abs(moved))
        if np.any(off):
            direction = int(np.argwhere(off)[0][-1])
            raise ModelError(
                f"{frames[direction // 6]} of {self.model.name} cannot accelerate as told in direction {direction % 6} "
                "of [ω̇; ẍ]: the joints do not allow it there."
            )

    def _solve(self, statements: Any, given: dict[str, Any], loads: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        frames: tuple[str, ...] = ()
        given = {"v": self.v, **given}
        if loads:
            frames, given["f"] = external_forces(self.model, loads)
        if self.base_acceleration is not None:
            given["a_b"] = self.base_acceleration
        found = statements("a_b" in given, bool(frames)).evaluate_all(self.model, self.q, given, frames)
        return found, {name: np.asarray(given["f"])[..., 6 * i : 6 * i + 6] for i, name in enumerate(frames)}

    def _solution(self, found: Mapping[str, Any], accelerations: Any, joint_forces: Any, forces: Any) -> Solution:
        x, costates = (over_links(self.model, found[name], columns=False) for name in ("states", "costates"))
        return Solution(x, costates, accelerations, joint_forces, forces)

    def defects(self, solution: Solution) -> dict[str, Array]:
        """Residuals of a solution in (16), (18) with (19), and (20), link by link: (…, n, 6), (…, n, 6), (…, nv)."""
        known = dict(solution.tip_forces)
        frames, f = external_forces(self.model, known) if known else ((), None)
        vectors = {"v": self.v} | ({} if f is None else {"f": f})
        b, n = (x[..., None] for x in known_terms(self.model, self.q, vectors, frames))
        q = self.model.checked_q(self.q)
        return _defects(links_at(self.model, q), solution, b, n, self.base_acceleration)


def _defects(links: Links, solution: Solution, b: np.ndarray, n: np.ndarray, base: Any) -> dict[str, np.ndarray]:
    model, x, costates = links.model, solution.states[..., None], solution.costates[..., None]
    a = [solution.accelerations[..., joint.v_slice, None] for joint in model.joints]
    tau = [solution.joint_forces[..., joint.v_slice, None] for joint in model.joints]
    ground = np.zeros((6, 1)) if base is None else np.asarray(base, dtype=float)[..., None]
    force, motion, torque = [], [], []
    for k in range(len(model.bodies)):
        arriving = [
            inward(links.rotation[c], links.offset[c], x[..., c, :, :] + np.matmul(links.rotor(c), a[c]))
            for c in model.children[k]
        ]
        inertial = np.matmul(links.mass(k), costates[..., k, :, :])
        force.append(x[..., k, :, :] - sum(arriving) - inertial - b[..., k, :, :])
        above = costates[..., links.parents[k], :, :] if links.parents[k] >= 0 else ground
        carried = outward(links.rotation[k], links.offset[k], above)
        motion.append(costates[..., k, :, :] - carried - np.matmul(links.subspace[k], a[k]) - n[..., k, :, :])
        spin = np.matmul(np.swapaxes(links.rotor(k), -1, -2), carried)
        own = np.matmul(np.swapaxes(links.subspace[k], -1, -2), x[..., k, :, :]) + np.matmul(links.armature(k), a[k])
        torque.append(tau[k] - own - spin)
    return {
        "states": np.stack([y[..., 0] for y in force], axis=-2),
        "costates": np.stack([y[..., 0] for y in motion], axis=-2),
        "joint_forces": np.concatenate([y[..., 0] for y in torque], axis=-1),
    }


# The statements


def _forward_statements(s: Symbols, driven: bool, loaded: bool) -> dict[str, Node]:
    costates = smoothing.costates(s, driven)
    found = {
        "accelerations": smoothing.smoothed_accelerations(s, driven),
        "states": smoothing.smoothed_states(s, driven),
        "costates": costates,
    }
    return found | ({"frame_accelerations": s.B.T @ costates + s.a0} if loaded else {})


def _inverse_statements(s: Symbols, driven: bool, loaded: bool) -> dict[str, Node]:
    costates = s.phi.T @ (s.H.T @ s.qdd + smoothing.known_motions(s, driven))  # (23)
    x = s.phi @ (s.M @ costates + smoothing.known_forces(s) + s.E_phi @ s.S @ s.qdd)  # (24)
    arriving = s.E_phi.T @ costates + (s.E.T @ s.a_b if driven else 0 * costates)
    return {"states": x, "costates": costates, "joint_forces": s.H @ x + s.A @ s.qdd + s.S.T @ arriving}


@cache
def _forward(driven: bool, loaded: bool) -> Stated[..., Any]:
    return _statement_function("forward", lambda s: _forward_statements(s, driven, loaded), driven, loaded)


@cache
def _inverse(driven: bool, loaded: bool) -> Stated[..., Any]:
    return _statement_function("inverse", lambda s: _inverse_statements(s, driven, loaded), driven, loaded)


def _statement_function(name: str, statement: Any, driven: bool, loaded: bool) -> Stated[..., Any]:
    def solve(*arguments: Any) -> None:
        raise NotImplementedError("evaluated through a BoundaryValueProblem")

    solve.__name__ = f"boundary value problem, {name}, driven {driven}, loaded {loaded}"
    return states(statement, form=AS_WRITTEN)(solve)
