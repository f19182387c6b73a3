"""Programs of statements, made once for each statement and setting, and run on a robot's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from phistar.backends.links.concise import without_roundoff
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.rigid import RigidLinks
from phistar.backends.links.values import links_at
from phistar.backends.links.wide import mechanism_at
from phistar.backends.programs.derivations import ARTICULATED, Nodes, Taken, derive, spell_statements
from phistar.backends.programs.interpret import poses, run
from phistar.backends.traces.arrays import traced as traced_array
from phistar.backends.traces.trace import is_traced
from phistar.errors import ShapeError
from phistar.identities.law import Setting
from phistar.model import Model
from phistar.operators.nodes import Node
from phistar.operators.spaces import RANKS
from phistar.operators.symbols import Symbols
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import GIVEN, lower_poses
from phistar.sweeps.rate_coordinates import has_rate_coordinates

BLOCKS: Literal["blocks"] = "blocks"
Wanted = bool | Literal["blocks"]
"""An operator's action on a vector, its matrix, or (if it is memoryless) its blocks, one under the other."""


def program_of(
    nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool, form: str = ARTICULATED, taken: Taken = ()
) -> Program:
    """The program of some statements, in the form that is taken unless they are to be as written."""

    def make() -> Program:
        from phistar.backends.programs.derived_programs import derived_program  # and with it all laws

        return derived_program(nodes, symbols, setting, matrix, form, taken)

    return derive(("program", spell_statements(nodes, symbols), setting, matrix, form, taken), make)


def equal_forms(nodes: Nodes, symbols: Symbols, setting: Setting, matrix: bool) -> tuple[tuple[str, Taken], ...]:
    """Forms of statements that are worth counting on a robot, the cheapest on a chain first."""

    def make() -> tuple[tuple[str, Taken], ...]:
        from phistar.backends.programs.derived_programs import forms_offered

        return forms_offered(nodes, symbols, setting, matrix)

    return derive(("forms", spell_statements(nodes, symbols), setting, matrix), make)


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
        links = mechanism_at(model, q, self.frames, has_rate_coordinates(self.program))
        outputs = run(self.program, links, arrays, self.operators)
        whole = {name: np.broadcast_to(x, (*batch, *x.shape[-2:])) for name, x in outputs.items()}
        names = self.program.result_names
        return {public: np.array(self._in_public_shape(public, whole[name])) for public, name in names.items()}

    def _in_public_shape(self, public: str, x: np.ndarray) -> np.ndarray:
        if public in self.program.matrices:
            return x
        if self.program.is_scalar(public):
            return x[..., 0, 0]
        return x[..., 0] if x.shape[-1] else np.zeros(x.shape[:-1])  # over no joints there are no columns either

    def _input(self, name: str, space: str, given: Mapping[str, Any]) -> np.ndarray:
        size = space_sizes(self.model, self.frames) | {"closures": len((self.operators or {}).get("Q", ())), **RANKS}
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
