"""Random mechanisms on which statements are tried: of the kind that an algebra speaks of, at random states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phistar.backends.dense.definitions import Dense
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.values import links_at
from phistar.expression.own_values import own_symbols, random_values
from phistar.identities.law import Setting
from phistar.model import Free, Helical, Model, ModelBuilder, Prismatic, Revolute, Spherical, Universal
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.spatial import Inertia, Pose

TRIES = 6


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A model at a state, with a value for every vector and operator that a statement may name."""

    model: Model
    frames: tuple[str, ...]
    q: np.ndarray
    vectors: Mapping[str, np.ndarray] = field(repr=False)
    operators: Mapping[str, Any] = field(repr=False)

    def dense(self, node: Node) -> np.ndarray:
        """The matrix of a statement here."""
        links = links_at(self.model, self.q, self.frames)
        return Dense(links, dict(self.vectors), dict(self.operators))(node)


def mechanisms(symbols: Symbols, setting: Setting, nodes: tuple[Node, ...] = ()) -> Iterator[Mechanism]:
    """Some that meet the setting, with as many task frames as the symbols name, and values for what nodes need."""
    for seed in range(TRIES):
        rng = np.random.default_rng(seed)
        model, frames = _model(rng, symbols, setting)
        yield at_random_state(model, frames, rng, nodes)


def states_of(
    model: Model, frames: tuple[str, ...], operators: Mapping[str, Any], nodes: tuple[Node, ...] = ()
) -> Iterator[Mechanism]:
    """One robot at random states."""
    for seed in range(TRIES):
        yield at_random_state(model, frames, np.random.default_rng(seed), nodes, operators)


def at_random_state(
    model: Model,
    frames: tuple[str, ...],
    rng: np.random.Generator,
    nodes: tuple[Node, ...] = (),
    operators: Mapping[str, Any] | None = None,
) -> Mechanism:
    n, sizes = len(model.bodies), space_sizes(model, frames)
    q = model.random(rng)
    over = {
        "v": model.nv,
        "qdd": model.nv,
        "T": model.nv,
        "v_ref": model.nv,
        "F": 6 * n,
        "f": 6 * len(frames),
        "a_b": 6,
    }
    over |= {"u": 6 * len(frames), "a0_delayed": 6 * len(frames), "v_i": sizes["inner"], "qdd_i": sizes["inner"]}
    over |= dict.fromkeys(("a_delayed", "b_delayed", "f_delayed"), 6 * n)
    vectors = {name: rng.normal(size=rows) for name, rows in over.items()}
    vectors["a_g"] = np.concatenate([np.zeros(3), -model.gravity])
    vectors["R"] = rng.uniform(0.1, 1.0, size=model.nv)
    vectors["L"] = (np.arange(model.nv) % 2).astype(np.float64)
    closures = {"Q": rng.normal(size=(min(3, 6 * len(frames)), 6 * len(frames)))}
    own = dict.fromkeys(symbol for node in nodes for symbol in own_symbols(node).values())
    drawn = random_values(own, model, frames, rng)
    return Mechanism(model, frames, q, vectors, {**closures, **drawn, **(operators or {})})


def _model(rng: np.random.Generator, symbols: Symbols, setting: Setting) -> tuple[Model, tuple[str, ...]]:
    """Chains of seven links, or trees that fork at once and again; six dofs where the arm is not to be redundant."""
    names = symbols.frames or ("tip",)
    few = setting.nonredundant and len(names) == 1
    count = 6 if few else 7
    parents = [k - 1 for k in range(count)]
    if not setting.serial and not few:
        parents[3:] = [1, 1, int(rng.integers(0, 4)), int(rng.integers(2, 5))]
    builder = ModelBuilder("random mechanism", gravity=5.0 * rng.normal(size=3))
    for k, parent in enumerate(parents):
        builder.body(
            f"body{k}",
            parent="world" if parent < 0 else f"body{parent}",
            joint=_joint(rng, k, symbols, setting, few),
            placement=Pose(xyz=0.5 * rng.normal(size=3), rpy=rng.uniform(-3, 3, 3)),
            inertia=_inertia(rng),
        )
    leaves = [k for k in range(count) if k not in parents]
    inside = [k for k in range(1, count) if k in parents]
    for i, name in enumerate(names):
        choice = leaves if setting.tips or few else inside if i == 0 else leaves + inside
        builder.frame(name, body=f"body{rng.choice(choice)}", placement=Pose(xyz=0.3 * rng.normal(size=3)))
    return builder.build(), tuple(names)


def _joint(rng: np.random.Generator, k: int, symbols: Symbols, setting: Setting, few: bool) -> Any:
    common: dict[str, Any] = {}
    if symbols.armature and not setting.no_armature:
        common["armature"] = rng.uniform(0.1, 1.0)
    axis = rng.normal(size=3)
    if symbols.rotors:
        common |= {"gear_ratio": rng.uniform(-5, 5), "rotor_inertia": rng.uniform(0.01, 0.05), "gyroscopic": True}
        return Revolute(axis=axis, **common)
    if few:
        return Revolute(axis=axis, **common)
    if k == 0 and len(symbols.frames or ()) + (not setting.serial) > 0:
        return Free(**common)  # so that every frame can be moved in every direction
    kinds = [Revolute, Prismatic, Helical, Spherical, *([] if setting.constant_axes else [Universal])]
    kind = kinds[int(rng.integers(len(kinds)))]
    return kind(**common) if kind in (Spherical, Universal) else kind(axis=axis, **common)


def _inertia(rng: np.random.Generator) -> Inertia:
    turn = Pose(rpy=rng.uniform(-3, 3, 3)).rotation
    tensor = turn @ np.diag(rng.uniform(1, 1.9, 3)) @ turn.T
    return Inertia(rng.uniform(0.5, 2), 0.3 * rng.normal(size=3), tensor)
