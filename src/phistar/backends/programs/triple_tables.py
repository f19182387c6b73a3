"""Second derivatives of joint forces on numbers: the program of `sweeps/triples.py`, run in one common frame.

Where three rates meet, what the outermost one brings is one matrix between the other two, made once for it; with the
next one's vector it is a vector made once for the pair, and an entry is that vector times one of the third rate's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from phistar.backends.links.brackets import bracket, coriolis_block, force_bracket
from phistar.backends.links.common_frame import CommonFrame
from phistar.backends.programs.derivations import Nodes, derive, spell_statements
from phistar.backends.programs.interpret import run_tables
from phistar.backends.programs.triple_places import (
    INSIDE,
    OUTSIDE,
    SAME,
    Group,
    group_places,
    joints_of_rates,
    on_one_way,
    turning,
)
from phistar.errors import StatementError
from phistar.model import Model
from phistar.operators.symbols import Symbols
from phistar.sweeps.regions import Meeting, TripleProgram
from phistar.sweeps.triples import BRACKET, CARRIED, CARRIES, OWN, lower_triples

WANTED = {OWN: SAME, CARRIES: INSIDE, CARRIED: OUTSIDE}
TENSORS: tuple[str, ...] = ("dqdq", "dqdv", "dvdv", "dadq")


def triples_program(nodes: Nodes, symbols: Symbols) -> TripleProgram:
    """The program of rates of operators between joints."""
    return derive(("triples", spell_statements(nodes, symbols)), lambda: lower_triples(nodes, symbols))


EXCHANGED = {"dqdq": (1, 2), "dqdv": None, "dvdv": (1, 2), "dadq": (0, 1)}
"""The axes in which a tensor is symmetric."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """Entries of one tensor at `places`: what the groups make, (rows, columns and directions). Where the order of two
    rates may matter, `also` are made the other way round, behind the others, and the mean is taken: on a quaternion
    joint both orders differ by the bracket of its axes."""

    places: np.ndarray
    groups: tuple[Group, ...]
    also: np.ndarray

    @staticmethod
    def of(model: Model, exact: Collection[str]) -> dict[str, Wanted]:
        """All tensors of a robot; those that are `exact` are symmetric but for quaternions."""
        joints, carries = joints_of_rates(model)
        depth, turned, found = carries.sum(axis=0)[joints], turning(model), {}
        for name, places in on_one_way(model, exact).items():
            asked, also, axes = places, np.zeros(len(places), dtype=bool), EXCHANGED[name]
            if axes is None:  # ∂τ/∂v is what changes with q
                asked = places[:, [0, 2, 1]]
            else:
                order = [*axes[::-1], 2] if axes[0] == 0 else [0, *axes[::-1]]
                first, second = (places[:, axis] for axis in axes)
                if axes == (1, 2):  # the inner rate's column changes with the outer one
                    asked = np.where((depth[first] > depth[second])[:, None], places[:, order], places)
                both = turned[first, second] & (name == "dqdq") if name in exact else np.array(True)
                also = (first != second) & both
                asked = np.concatenate([asked, asked[also][:, order]])
            found[name] = Wanted(places, tuple(group_places(asked, joints, carries)), np.flatnonzero(also))
        return found

    def compute(self, triples: Triples, table: str) -> np.ndarray:
        """The entries, (…, m)."""
        count = len(self.places)
        both = triples.entries(table, self.groups, count + len(self.also))
        made = both[..., :count]
        made[..., self.also] = 0.5 * (made[..., self.also] + both[..., count:])
        return made


@dataclass(eq=False)
class Triples:
    """The fields of a program that has run at floats or traced scalars."""

    stated: TripleProgram
    frame: CommonFrame
    given: Mapping[str, Any]

    def __post_init__(self) -> None:
        columns = {name: np.asarray(x)[..., None] for name, x in self.given.items()}
        columns["a_g"] = self.frame.base_acceleration[..., None]
        self._fields = run_tables(self.stated.program, self.frame.links, columns)[1]
        self._meetings = {table.name: table.meetings for table in self.stated.tables}
        self._columns: dict[str, np.ndarray] = {}
        joints = self.frame.links.model.joints
        self._joints = np.repeat(np.arange(len(joints)), [joint.nv for joint in joints])

    def entries(self, table: str, groups: tuple[Group, ...], count: int) -> np.ndarray:
        """The entries of a table, (…, count)."""
        totals: list[np.ndarray] = []
        for group in groups:
            total: Any = 0.0
            matrices = matrices_between(self._meetings[table], group, self)
            for field, vectors in vectors_between(matrices, group, self).items():
                total = total + _products(self._column(field), vectors, group)
            totals.append(np.asarray(total))
        lift = self.frame.base_acceleration  # constant, in a recording too, where no joint turns it
        made = np.zeros((*lift.shape[:-1], count), dtype=np.result_type(lift, *totals))
        for group, total in zip(groups, totals, strict=True):
            made[..., group.at] = total
        return made

    def columns(self, field: str, rates: np.ndarray) -> np.ndarray:
        return self._column(field)[..., rates, :]

    def blocks(self, field: str, rates: np.ndarray) -> np.ndarray:
        return self._links(field)[..., self._joints[rates], :, :]

    def _links(self, field: str) -> np.ndarray:
        """A field's blocks, (…, joints, 6, 6)."""
        blocks = [np.zeros((6, 6)) if x is None else np.asarray(x) for x in self._fields[field]]
        return np.stack(np.broadcast_arrays(*blocks), axis=-3)

    def _column(self, field: str) -> np.ndarray:
        """A field's columns, (…, rates, 6)."""
        if field not in self._columns:
            sizes = [joint.nv for joint in self.frame.links.model.joints]
            blocks = zip(sizes, self._fields[field], strict=True)
            made = [np.zeros((6, n)) if x is None else np.asarray(x) for n, x in blocks]
            batch = np.broadcast_shapes(*(x.shape[:-2] for x in made))
            rows = [np.broadcast_to(_transpose_blocks(x), (*batch, x.shape[-1], 6)) for x in made]
            self._columns[field] = np.concatenate(rows, axis=-2)
        return self._columns[field]


Matrices = dict[tuple[str, str], np.ndarray]


class Fields(Protocol):
    """Fields at joint rates: columns (…, rates, 6), and blocks of the links of their joints (…, rates, 6, 6)."""

    def columns(self, field: str, rates: np.ndarray) -> np.ndarray: ...

    def blocks(self, field: str, rates: np.ndarray) -> np.ndarray: ...


def matrices_between(meetings: tuple[Meeting, ...], group: Group, fields: Fields) -> Matrices:
    """Matrices between fields of the last rate and of the one between, for each outermost rate."""
    found: Matrices = {}
    for meeting in meetings:
        if _meets(meeting, group):
            by_axis = {leg.axis: leg for leg in meeting.legs}
            names = by_axis[group.axes[0]].right, by_axis[group.axes[2]].right
            made = float(meeting.factor) * _between(meeting, group, fields)
            found[names] = found[names] + made if names in found else made
    return found


def vectors_between(matrices: Matrices, group: Group, fields: Fields) -> dict[str, np.ndarray]:
    """What an entry multiplies the fields of its last rate with, for each pair of the others."""
    found: dict[str, np.ndarray] = {}
    number, rates = group.pairs
    for (field, other), between in matrices.items():
        made = np.matmul(between[..., number, :, :], fields.columns(other, rates)[..., None])[..., 0]
        found[field] = found[field] + made if field in found else made
    return found


def _between(meeting: Meeting, group: Group, fields: Fields) -> np.ndarray:
    """f*x~y or z*𝓑(x)y as matrices from the rate between to the last."""
    at = next(i for i, leg in enumerate(meeting.legs) if leg.axis == group.axes[1])
    vectors = fields.columns(meeting.legs[at].right, group.outer)
    rows, columns = (leg for i, leg in enumerate(meeting.legs) if i != at)
    if meeting.kind == BRACKET:
        made = (force_bracket if at == 0 else bracket)(vectors[..., None])
        made = -made if at == 2 else made
    else:
        made = _coriolis(fields.blocks(meeting.mass, group.outer), at, vectors)
    if rows.left:
        made = np.matmul(_transpose_blocks(fields.blocks(rows.left, group.outer)), made)
    if columns.left:
        made = np.matmul(made, fields.blocks(columns.left, group.outer))
    return made if rows.axis == group.axes[0] else _transpose_blocks(made)


def _meets(meeting: Meeting, group: Group) -> bool:
    """Whether three joints that stand so meet there."""
    own = [leg.axis for leg in meeting.legs if leg.where == OWN]
    if not own:
        return meeting.kind != BRACKET
    if any(group.side(leg.axis, own[0]) != WANTED[leg.where] for leg in meeting.legs):
        return False
    if group.side(own[0], group.axes[1]) != SAME and any(leg.left for leg in meeting.legs):
        raise StatementError("An operator of the link where three ways meet is wanted inside the outermost joint.")
    return True


def _products(columns: np.ndarray, vectors: np.ndarray, group: Group) -> np.ndarray:
    """Products of the last rates' columns with the pairs' vectors; of floats all at once."""
    if columns.dtype == vectors.dtype == float:
        return np.matmul(columns, _transpose_blocks(vectors))[..., group.last, group.pair]
    total: Any = 0.0
    for i in range(6):
        total = total + columns[..., group.last, i] * vectors[..., group.pair, i]
    return total


def _coriolis(masses: np.ndarray, at: int, vectors: np.ndarray) -> np.ndarray:
    """z*𝓑(x)y of rigid masses with z, x or y known."""
    inertia, eye = masses[..., :3, :3], np.eye(6)
    moment = np.stack([masses[..., 2, 4], masses[..., 0, 5], masses[..., 1, 3]], axis=-1)
    half = 0.5 * (inertia[..., 0, 0] + inertia[..., 1, 1] + inertia[..., 2, 2])
    parameters = masses[..., 3, 3], moment, half[..., None, None] * np.eye(3) - inertia
    if at == 1:
        return coriolis_block(*parameters, vectors[..., None])
    turns = [coriolis_block(*parameters, np.broadcast_to(e[:, None], (*masses.shape[:-2], 6, 1))) for e in eye]
    if at == 0:
        return np.stack([np.matmul(vectors[..., None, :], turn)[..., 0, :] for turn in turns], axis=-2)
    return np.stack([np.matmul(turn, vectors[..., None])[..., 0] for turn in turns], axis=-1)


def _transpose_blocks(blocks: np.ndarray) -> np.ndarray:
    return np.swapaxes(blocks, -1, -2)
