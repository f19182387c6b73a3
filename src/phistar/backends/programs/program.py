"""From a statement and a robot to numbers: the program is made once per statement and setting, then run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np

from phistar.backends.links.aligned import without_roundoff
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import links_at
from phistar.backends.links.wide import mechanism_at
from phistar.backends.machine import cache as stored
from phistar.backends.programs.interpret import poses, run
from phistar.backends.traces.arrays import is_traced
from phistar.backends.traces.arrays import traced as traced_array
from phistar.errors import ShapeError
from phistar.identities.law import Setting, laws_of_users
from phistar.model import Model
from phistar.operators.nodes import Node, spelling
from phistar.operators.symbols import Symbols
from phistar.sweeps.factored_inverses import factored_inverses, updates_apart
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN, lower_all, lower_poses
from phistar.sweeps.search import cheapest, offered
from phistar.sweeps.stored import program_from, to_data

ARTICULATED, COMPOSITE, AS_WRITTEN = "articulated bodies", "composite bodies and LDL*", "as written"
JOSEPH = "as written, with Joseph's update"
FACTORED = "articulated bodies, D in two stages"
APART = "articulated bodies, P⁺ moved part by part"
"""Forms a statement can be compiled in: simplified with or without the innovations factorization, or not at all, and
then with the update of P⁺ as a sum of positive terms too (R87 eq. 51); of links of any width, with D⁻¹ solved for, and
with φP⁺φ* as φPφ* − (φG)(φU)* too."""
BLOCKS: Literal["blocks"] = "blocks"
Wanted = bool | Literal["blocks"]
"""Of an operator: its action on a vector, its matrix, or (of a memoryless one) its blocks, one under the other."""


Nodes = tuple[tuple[str, Node], ...]
Taken = tuple[int, ...]
"""Which of the forms that are offered of each statement; empty: the one that is cheapest on a chain."""


@cache
def program_of(
    nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool, form: str = ARTICULATED, taken: Taken = ()
) -> Program:
    """The program of some statements, in the form that is taken unless they are to be as written; derivations do not
    depend on the robot, so it is kept on disk."""
    spelled = [(name, spelling(node)) for name, node in nodes]
    name = stored.key("program", spelled, symbols.spelling, setting, matrix, form, taken, laws_of_users())
    found = stored.load(name, stored.PROGRAM)
    if found is not None:
        return program_from(found[0])
    program = derived_program(nodes, symbols, setting, matrix, form, taken)
    stored.store(name, to_data(program), b"", stored.PROGRAM)
    return program


@cache
def derived_program(
    nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool, form: str, taken: Taken = ()
) -> Program:
    """The same, derived afresh: what is shown to people does not depend on the cache."""
    if form in (FACTORED, APART):
        solved = factored_inverses(derived_program(nodes, symbols, setting, matrix, ARTICULATED))
        return solved if form == FACTORED else updates_apart(solved)
    if form in (AS_WRITTEN, JOSEPH):
        return lower_all(dict(nodes), matrix, form == JOSEPH)
    if any(taken):
        forms = [offered(node, symbols, setting, matrix)[i] for (_, node), i in zip(nodes, taken, strict=True)]
        program = lower_all({name: each.node for (name, _), each in zip(nodes, forms, strict=True)}, matrix)
        return replace(program, inputs=derived_program(nodes, symbols, setting, matrix, form).inputs)
    innovations = form == ARTICULATED
    return lower_all({name: cheapest(n, symbols, setting, matrix, innovations).result for name, n in nodes}, matrix)


def is_wide(node: Node) -> bool:
    """Whether the adjoint has fewer columns: a Jacobian is made as (J*)*, six columns whatever n; maps of the bodies'
    parameters have ten a link."""
    assert node.domain is not None and node.codomain is not None
    along = ("joints", "inner", "links")
    if node.domain.over == "parameters":
        return node.codomain.over != "parameters"
    return node.domain.over in along and node.codomain.over not in along


@dataclass(frozen=True)
class Evaluation:
    """A program for one robot: called with q (…, nq) and named vectors (…, rows), all broadcast."""

    program: Program
    model: Model
    frames: tuple[str, ...] = ()
    operators: Mapping[str, Any] | None = None
    blocks: bool = False

    def __call__(self, q: Any, vectors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Each output as (…, rows), or (…, rows, columns) where the operand is the identity."""
        model = self.model
        q = model.checked_q(q)
        given = {GIVEN.get(name, name): value for name, value in vectors.items()}
        given.setdefault("a_g", np.concatenate([np.zeros(3), -model.gravity]))
        arrays = {name: self._input(name, space, given) for name, space in self.program.inputs}
        batch = _batch(
            [q.shape[:-1], *(x.shape[:-2] for name, x in arrays.items() if name not in self.program.columns)]
        )
        outputs = run(self.program, mechanism_at(model, q, self.frames), arrays, self.operators)
        whole = {name: np.broadcast_to(x, (*batch, *x.shape[-2:])) for name, x in outputs.items()}
        names = self.program.result_names
        return {public: np.array(self._shaped(public, whole[name])) for public, name in names.items()}

    def _shaped(self, public: str, x: np.ndarray) -> np.ndarray:
        if public in self.program.matrices:
            return x
        if self.program.is_scalar(public):
            return x[..., 0, 0]
        return x[..., 0] if x.shape[-1] else np.zeros(x.shape[:-1])  # over no joints there are no columns either

    def _input(self, name: str, space: str, given: Mapping[str, Any]) -> np.ndarray:
        size = space_sizes(self.model, self.frames) | {"closures": len((self.operators or {}).get("Q", ()))}
        rows = size.get(space, 1 if space == "scalars" else -1)
        if name in self.program.columns:
            return identity(self.model, space, rows, self.blocks)
        if name not in given:
            raise ShapeError(f"The statement needs {name}, (…, {rows}); it was not given.")
        array = self.model.checked(given[name], rows, name) if rows >= 0 else np.asarray(given[name], dtype=float)
        return array[..., None]


def identity(model: Model, space: str, rows: int, blocks: bool) -> np.ndarray:
    """The operand whose image is an operator: the identity; for blocks, one identity per link under another."""
    if not blocks:
        return np.eye(rows)
    if space == "links":
        return np.tile(np.eye(6), (len(model.bodies), 1))
    result = np.zeros((rows, max((joint.nv for joint in model.joints), default=0)))
    for joint in model.joints:
        result[joint.v_slice, : joint.nv] = np.eye(joint.nv)
    return result


def frame_pose(model: Model, q: Any, frame: str) -> np.ndarray:
    """The pose of a frame, (…, 4, 4); of traced numbers, (4, 4)."""
    place = model.frame(frame)
    q = model.checked_q(q)
    turn, shift = np.eye(3), np.zeros(3)
    if place.body >= 0:
        way = way_to(model, place.body)
        links = links_at(without_roundoff(way) if q.dtype == object else way, q)
        turn, shift = poses(lower_poses(), RigidLinks(links))[-1]
    result = np.zeros((*q.shape[:-1], 4, 4), dtype=q.dtype)
    result[..., :3, :3] = np.matmul(turn, place.placement.rotation)
    result[..., :3, 3] = shift + np.matmul(turn, place.placement.translation)
    result[..., 3, 3] = 1.0
    return traced_array(result) if is_traced(result) else result


def way_to(model: Model, body: int) -> Model:
    """Model of the bodies from the world to one of them; joints keep their places in q."""
    found = []
    while body >= 0:
        found.append(model.bodies[body])
        body = model.parents[body]
    return Model(model.name, tuple(replace(part, parent=k - 1) for k, part in enumerate(reversed(found))), ())


def _batch(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(str(s) for s in shapes)
        raise ShapeError(f"The leading axes {listed} do not broadcast; make them equal, or 1.") from None
