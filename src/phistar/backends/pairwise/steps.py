"""One link's work in one common frame, traced once per kind of link: what tables of a long mechanism repeat.

All frames lie on the world's axes, so that φ = 1 between links. The statements are those of `linearized.py`: an outward
sweep places the link and gives H*, Ψ̇, Ψ′, Ψ̈, M, 𝓑 and the force Mα + 𝓑V; an inward sweep adds up composites r = φM,
rᶜ = φ𝓑 and F. For ℳ⁻¹X it eliminates instead (RJK91 lemma 1): with P = M + ψPψ*, D = HPH* + A, G = PH*D⁻¹ and, for what
depends on velocities, 𝒴 = 𝓑 + ψ𝒴φ*,

    ψMφ* = P + ψ̃P + Pφ̃*,    ψ𝓑φ* = 𝒴 + ψ̃𝒴 + 𝒴φ̃*,

joint rate by joint rate, the last one of a joint first. `loops.py` makes the tables of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phistar.backends.links import moves
from phistar.backends.links.brackets import bracket, coriolis_block, force_bracket, own_bracket
from phistar.backends.links.common_frame import inertia_parameters, moved_moments, moved_subspace
from phistar.backends.links.link_frames import ROOT
from phistar.backends.links.turned import turned
from phistar.backends.links.values import Links, mirrored
from phistar.backends.rolled.memory import Stage
from phistar.backends.rolled.steps import ARMATURE, Kind, Place, Recorder, Step, remembered, symbolic_link
from phistar.sweeps.ir import INWARD, OUTWARD

UPPER = np.triu_indices(6)


class LinkTracer:
    """A symbolic link of one kind: what it has kept, what its parent passes on, what its children have sent.

    `alone`: it is the only one on the world, and the common origin is its own. `armature`: any joint has one.
    """

    def __init__(self, kind: Kind, alone: bool, armature: bool) -> None:
        self.kind, self.nv, self.is_root = kind, kind.model.nv, kind.role == ROOT
        self.alone, self.armature = alone, armature
        self.turns: dict[Any, int] = {}
        self.earlier: dict[str, np.ndarray | None] = {}

    def trace(self, work: Callable[[LinkTracer], None]) -> Step:
        """What the link does in one sweep."""
        self.record = Recorder(self.turns)
        self.made: dict[str, np.ndarray] = {}
        self.given_away: list[tuple[Place, Any]] = []
        work(self)
        stores = [(("own", name, i), x) for name, value in self.made.items() for i, x in enumerate(value.reshape(-1))]
        self.earlier |= {name: remembered(value) for name, value in self.made.items()}
        return self.record.finished([*stores, *self.given_away])

    def keep(self, **fields: np.ndarray) -> None:
        self.made.update(fields)

    def field(self, name: str) -> np.ndarray:
        """What the link has kept, in this sweep or an earlier one."""
        if name in self.made:
            return self.made[name]
        known = self.earlier[name]
        assert known is not None, name
        result = np.empty(known.shape, dtype=object)
        for index in np.ndindex(*known.shape):
            number: Any = known[index]
            result[index] = number if isinstance(number, float) else self.record.load("own", name, number)
        return result

    def given(self, name: str) -> np.ndarray:
        """An input, (r, 1)."""
        return self.record.array("own", name, (self.nv, 1))

    def passed(self, name: str, size: int) -> np.ndarray:
        """What the parent passes on, (size, 1)."""
        return self.record.array("passed", name, (size, 1))

    def passes(self, name: str, value: np.ndarray) -> None:
        self.given_away += [(("passing", name, i), x) for i, x in enumerate(value.reshape(-1))]

    def sum_of_children(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return self.record.array("children", name, shape)

    def sends(self, name: str, value: np.ndarray) -> None:
        if not self.is_root:
            self.given_away += [(("siblings", name, i), x) for i, x in enumerate(value.reshape(-1))]

    def armature_of(self, rate: int) -> Any:
        return self.record.load("constant", "", ARMATURE + rate) if self.armature else 0.0


def stages(kinds: list[Kind], names: tuple[str, ...], alone: bool, armature: bool) -> list[Stage]:
    """The named sweeps, for all kinds of links."""
    links = [LinkTracer(kind, alone, armature) for kind in kinds]
    return [Stage(SWEEPS[name][0], [link.trace(SWEEPS[name][1]) for link in links], name) for name in names]


def _moved(t: LinkTracer, accelerated: bool) -> None:
    """The link in the common frame: h = H*, `parameters` of M, 𝓑's left half, Ψ̇'s angular part, Ψ′, and at θ̈ = a, or
    else at rest, Ψ̈ and the force Mα + 𝓑V."""
    path, links = symbolic_link(t.record, t.kind)
    rotation, origin = _place(t, path)
    t.passes("place", np.concatenate([rotation.reshape(-1), origin]))
    h = moved_subspace(rotation, origin, links.subspace[0])
    mass, moment, second = links.mass_parts(0)  # the table of constants has second moments where a tensor would be
    moment, second = moved_moments(origin, mass, np.matmul(rotation, moment), mirrored(turned(rotation, second)))
    rates = t.given("v")
    own = np.matmul(h, rates)
    above = np.zeros((6, 1)) if t.is_root else t.passed("V", 6)
    velocity = above + own
    psi_dot = np.matmul(bracket(above), h)
    parameters = inertia_parameters(mass, moment, second)
    coriolis = coriolis_block(mass, moment, second, velocity)
    lift = t.record.array("flat", "a_g", (6, 1)) if t.is_root else t.passed("alpha", 6)
    alpha = lift + np.matmul(psi_dot, rates) + (np.matmul(h, t.given("a")) if accelerated else 0.0)
    t.passes("V", velocity)
    t.passes("alpha", alpha)
    t.keep(h=h, parameters=parameters, coriolis=coriolis[:, :3], psi_dot=psi_dot[:3])
    t.keep(psi_prime=psi_dot + psi_dot + own_bracket(own, h))
    t.keep(psi_ddot=np.matmul(bracket(lift), h) + np.matmul(bracket(above), psi_dot))
    t.keep(force=np.matmul(_mass(t, parameters), alpha) + np.matmul(coriolis[:, :3], velocity[:3]))


def _place(t: LinkTracer, path: tuple[moves.Move, ...]) -> moves.Move:
    """The link as the world's axes see it, from the first link's origin if that alone is on the world."""
    if not t.is_root:
        above = t.passed("place", 12)[:, 0]
        return moves.placed(path, above[:9].reshape(3, 3), above[9:])
    rotation, origin = moves.placed(path, np.eye(3), np.zeros(3))
    return rotation, np.zeros(3) if t.alone else origin


def _mass(t: LinkTracer, parameters: np.ndarray) -> np.ndarray:
    """M, (6, 6), of ten parameters."""
    return Links(t.kind.model, None, (), (), (), inertias=parameters[None]).mass(0)


def _composite(t: LinkTracer) -> None:
    """r, rᶜ and F, and of them what columns and rows of ∂τ are: rH*, 2rᶜ*H*, rΨ′ + 2rᶜH*, rΨ̈ + 2rᶜΨ̇ + F^H*."""
    h, psi_dot = t.field("h"), t.field("psi_dot")
    parameters = t.field("parameters") + t.sum_of_children("r", (10,))
    coriolis = t.field("coriolis") + t.sum_of_children("coriolis", (6, 3))
    force = t.field("force") + t.sum_of_children("force", (6, 1))
    for name, value in (("r", parameters), ("coriolis", coriolis), ("force", force)):
        t.sends(name, value)
    r = _mass(t, parameters)
    t.keep(r_h=np.matmul(r, h), against=np.matmul(np.swapaxes(coriolis, 0, 1), h + h))
    t.keep(by_v=np.matmul(r, t.field("psi_prime")) + np.matmul(coriolis, h[:3] + h[:3]))
    by_q = np.matmul(r, t.field("psi_ddot")) + np.matmul(coriolis, psi_dot + psi_dot)
    t.keep(by_q=by_q + np.matmul(force_bracket(force), h))


def _eliminated(t: LinkTracer) -> None:
    """P, 𝒴 and the force at rest, then rate by rate 1/D, G, 2H𝒴/D and what θ̈ is but for the parent's acceleration."""
    h, tau = t.field("h"), t.given("tau")
    p, y = np.full((6, 6), 0.0, dtype=object), t.field("coriolis") + t.sum_of_children("Y", (6, 3))
    p[UPPER] = _mass(t, t.field("parameters"))[UPPER] + t.sum_of_children("P", (21,))
    p, force = mirrored(p), t.field("force") + t.sum_of_children("force", (6, 1))
    twice = h[:3] + h[:3]
    t.keep(P=p, Y=y, start_v=np.matmul(p, t.field("psi_prime")) + np.matmul(y, twice))
    gains, scales, slopes, first = [], [], [], []
    for i in reversed(range(t.nv)):
        axis = h[:, i : i + 1]
        p_h = np.matmul(p, axis)
        scale = 1.0 / (np.matmul(axis.T, p_h)[0, 0] + t.armature_of(i))
        gain, h_y = p_h * scale, np.matmul(axis.T, y)
        excess = tau[i, 0] - np.matmul(axis.T, force)[0, 0]
        p, y, force = mirrored(p - gain * p_h.T), y - gain * h_y, force + gain * excess
        gains.append(gain)
        scales.append(scale)
        slopes.append((h_y + h_y).T * scale)
        first.append(excess * scale)
    t.keep(G=np.concatenate(gains[::-1], axis=1), scale=np.array(scales[::-1], dtype=object))
    t.keep(slope=np.concatenate(slopes[::-1], axis=1), first=np.array(first[::-1], dtype=object))
    for name, value in (("P", p[UPPER]), ("Y", y), ("force", force)):
        t.sends(name, value)


def _accelerated(t: LinkTracer) -> None:
    """θ̈ and what the acceleration δ beyond rest adds to Ψ̈ and to the force; the columns PΨ̈ + 2𝒴Ψ̇."""
    h, gain, first, psi_dot = t.field("h"), t.field("G"), t.field("first"), t.field("psi_dot")
    above = np.zeros((6, 1)) if t.is_root else t.passed("delta", 6)
    delta = above
    for i in range(t.nv):
        rate = first[i] - np.matmul(gain[:, i], delta[:, 0])
        delta = delta + h[:, i : i + 1] * rate
    t.passes("delta", delta)
    psi_ddot = t.field("psi_ddot") + np.matmul(bracket(above), h)
    t.keep(curve=psi_ddot, start_q=np.matmul(t.field("P"), psi_ddot) + np.matmul(t.field("Y"), psi_dot + psi_dot))
    t.keep(whole_force=t.field("force") + np.matmul(_mass(t, t.field("parameters")), delta))


def _turned(t: LinkTracer) -> None:
    """F^H* of the forces at θ̈."""
    force = t.field("whole_force") + t.sum_of_children("whole", (6, 1))
    t.sends("whole", force)
    t.keep(turned=np.matmul(force_bracket(force), t.field("h")))


SWEEPS: dict[str, tuple[str, Callable[[LinkTracer], None]]] = {
    "moved": (OUTWARD, lambda t: _moved(t, True)),
    "at rest": (OUTWARD, lambda t: _moved(t, False)),
    "composite": (INWARD, _composite),
    "eliminated": (INWARD, _eliminated),
    "accelerated": (OUTWARD, _accelerated),
    "turned": (INWARD, _turned),
}
