"""Random mechanisms, as varied as the laws that are tested on them.

Every joint kind, serial and branching, on a fixed or a free base, with and without armature and geared rotors, with one
or several task frames, at tips or inside. A seed gives the same mechanism everywhere.
"""

from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.values import links_at
from phistar.expression import Algebra
from phistar.identities.law import Setting
from phistar.operators.symbols import Symbols

KINDS = {
    "revolute": lambda rng, **common: ps.Revolute(axis=rng.normal(size=3), **common),
    "prismatic": lambda rng, **common: ps.Prismatic(axis=rng.normal(size=3), **common),
    "helical": lambda rng, **common: ps.Helical(axis=rng.normal(size=3), pitch=rng.uniform(-0.5, 0.5), **common),
    "universal": lambda rng, **common: ps.Universal(**common),
    "spherical": lambda rng, **common: ps.Spherical(**common),
    "planar": lambda rng, **common: ps.Planar(**common),
    "free": lambda rng, **common: ps.Free(**common),
}


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A model at a configuration, with frames on it and a value for every vector a statement may name."""

    model: ps.Model
    frames: tuple[str, ...]
    q: np.ndarray
    vectors: dict[str, np.ndarray] = field(repr=False)
    operators: dict[str, np.ndarray] = field(repr=False)

    @cached_property
    def algebra(self) -> Algebra:
        return ps.algebra(self.model, self.frames, Q=self.operators["Q"])

    @property
    def setting(self) -> Setting:
        return self.algebra.setting

    @property
    def symbols(self) -> Symbols:
        return self.algebra.symbols

    @cached_property
    def dense(self) -> Dense:
        return Dense(links_at(self.model, self.q, self.frames), self.vectors, self.operators)

    def path_dofs(self, frame: str) -> int:
        """Dofs between the world and a frame."""
        body, dofs = self.model.frame(frame).body, 0
        while body >= 0:
            dofs += self.model.joints[body].nv
            body = self.model.parents[body]
        return dofs


@cache
def mechanism(
    seed: int,
    *,
    serial: bool | None = None,
    floating: bool | None = None,
    armature: bool | None = None,
    rotors: bool | None = None,
    tips: bool | None = None,
    frames: int | None = None,
    bodies: int | None = None,
    kind: str | None = None,
    varying: bool = True,
) -> Mechanism:
    """What is None is drawn; `kind` makes every joint of one kind (the base's too, unless `floating`); `varying`: axes
    may move in their link as the joint does."""
    rng = np.random.default_rng(seed)

    def drawn(wanted, chance=0.5):
        return bool(rng.random() < chance) if wanted is None else wanted

    serial, floating, armature, tips = drawn(serial), drawn(floating, 0.3), drawn(armature), drawn(tips)
    rotors = armature and drawn(rotors, 0.3)
    count = int(rng.integers(2, 7)) if bodies is None else bodies
    builder, parents = ps.ModelBuilder(f"random{seed}", gravity=rng.normal(size=3) * 5), []
    for k in range(count):
        parents.append(k - 1 if serial or k == 0 else _branch(rng, k))
        root_kind = "free" if floating and k == 0 else kind
        builder.body(
            f"body{k}",
            parent="world" if parents[k] < 0 else f"body{parents[k]}",
            joint=_joint(rng, root_kind, armature and (k == 0 or rng.random() < 0.8), rotors, varying),
            placement=_pose(rng),
            inertia=_inertia(rng),
        )
    wanted = (1 if drawn(None, 0.6) else int(rng.integers(2, 4))) if frames is None else frames
    names = _add_frames(rng, builder, parents, wanted, tips)
    return _at_random_state(rng, builder.build(), names)


def _branch(rng, k: int) -> int:
    """A parent that makes the tree branch: not always the last body, sometimes the world."""
    return int(rng.integers(-1, k)) if k > 2 else 0


def _joint(rng, kind: str | None, armature: bool, rotors: bool, varying: bool):
    name = kind or str(rng.choice([x for x in KINDS if varying or x not in ("universal", "planar")]))
    common = {"armature": rng.uniform(0.1, 1.0)} if armature else {}
    if rotors and name in ("revolute", "helical"):  # about an axis that the parent carries
        common |= {"gear_ratio": rng.uniform(-5, 5), "rotor_inertia": rng.uniform(0.01, 0.05), "gyroscopic": True}
    return KINDS[name](rng, **common)


def _pose(rng) -> ps.Pose:
    return ps.Pose(xyz=rng.normal(size=3) * 0.5, rpy=rng.uniform(-3, 3, 3))


def _inertia(rng) -> ps.Inertia:
    turn = ps.Pose(rpy=rng.uniform(-3, 3, 3)).rotation
    return ps.Inertia(rng.uniform(0.5, 2), rng.normal(size=3) * 0.3, turn @ np.diag(rng.uniform(1, 1.9, 3)) @ turn.T)


def _add_frames(rng, builder, parents: list[int], count: int, tips: bool) -> tuple[str, ...]:
    leaves = [k for k in range(len(parents)) if k not in parents]
    inside = [k for k in range(len(parents)) if k in parents]
    names = tuple(f"frame{i}" for i in range(count))
    for i, name in enumerate(names):
        choice = leaves if tips or not inside else inside if i == 0 else leaves + inside
        builder.frame(name, body=f"body{rng.choice(choice)}", placement=_pose(rng))
    return names


def _at_random_state(rng, model: ps.Model, frames: tuple[str, ...]) -> Mechanism:
    n, task = len(model.bodies), 6 * len(frames)
    vectors = {name: rng.normal(size=model.nv) for name in ("v", "qdd", "T")}
    vectors |= {"v_ref": rng.normal(size=model.nv), "F": rng.normal(size=6 * n)}
    vectors |= {"f": rng.normal(size=task), "a_g": np.concatenate([np.zeros(3), -model.gravity])}
    memoryless = np.kron(np.eye(n), np.ones((6, 6))) * rng.normal(size=(6 * n, 6 * n))
    q, closures = model.random(rng), rng.normal(size=(min(3, task), task))
    vectors["a_b"] = rng.normal(size=6)
    vectors |= {name: rng.normal(size=task) for name in ("u", "a0_delayed")}
    vectors |= {name: rng.normal(size=6 * n) for name in ("a_delayed", "b_delayed", "f_delayed")}
    inner = space_sizes(model, frames)["inner"]
    vectors |= {name: rng.normal(size=inner) for name in ("v_i", "qdd_i")}
    vectors["R"] = rng.uniform(0.1, 1.0, size=model.nv)
    vectors["L"] = np.arange(model.nv) % 2.0
    own = np.zeros((model.nv, 6 * n))
    for k, joint in enumerate(model.joints):
        own[joint.v_slice, 6 * k : 6 * k + 6] = rng.normal(size=(joint.nv, 6))
    return Mechanism(model, frames, q, vectors, {"X": memoryless, "X_joints": own, "Q": closures})


def relative(ours, theirs) -> float:
    """The largest difference, relative to the largest entry."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    difference = float(np.abs(ours - theirs).max(initial=0.0))
    scale = max(float(np.abs(ours).max(initial=0.0)), float(np.abs(theirs).max(initial=0.0)))
    return difference / scale if difference else 0.0
