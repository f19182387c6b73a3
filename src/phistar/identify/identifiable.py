"""Base parameters: what of the inertial parameters joint forces depend on at all, by the rank of the regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from phistar.array_types import Array, IntArray
from phistar.identify.parameter_columns import Columns
from phistar.model import Model
from phistar.model.check import check_robot
from phistar.short_repr import short_repr

STATES = 40  # random ones for each ten parameters: enough for the rank
RANK = 1e-10  # of the largest pivot
SEED = 20240229


@short_repr
@dataclass(frozen=True, eq=False)
class BaseParameters:
    """β = Gπ, the combinations of parameters that joint forces depend on: `names` says each in words, `grouping` is G
    (b, p), `columns` are those of the regressor that are independent, `all_names` the p parameters', `unseen` those
    that no joint force depends on."""

    names: tuple[str, ...]
    grouping: Array
    columns: IntArray
    all_names: tuple[str, ...]
    unseen: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)


def base_parameters(model: Model, terms: Any = ("armature", "damping", "friction")) -> BaseParameters:
    """The combinations of a robot's inertial parameters that its joint forces depend on.

    β = Gπ with Yπ = Y_b β for every motion: columns of the regressor at random states, made independent by a QR
    factorization with pivoting (Gautier 1991); what a column depends on is grouped with it.

    Parameters
    ----------
    model : Model
        A tree.
    terms : sequence of str
        Parameters of joints beside the bodies': "armature", "damping", "friction", "offset".

    Returns
    -------
    BaseParameters

    Examples
    --------
    >>> found = ps.identify.base_parameters(ps.planar_chain(2), terms=())
    >>> found.names[0]
    'link2.mass + 1 link1.Izz'
    """
    check_robot("base_parameters", (model,))
    return base_of(Columns(model, tuple(terms)))


def base_of(columns: Columns) -> BaseParameters:
    """The same of some columns."""
    model, rng = columns.model, np.random.default_rng(SEED)
    count = max(STATES, STATES * len(columns.names) // 10 // model.nv)
    q = model.random(rng, (count,))
    table = columns.table(q, *(rng.normal(size=(2, count, model.nv)))).reshape(-1, len(columns.names))
    scale = np.linalg.norm(table, axis=0)
    seen = np.flatnonzero(scale > RANK * scale.max())
    made: Any = qr(table[:, seen] / scale[seen], mode="r", pivoting=True)
    factor, order = np.asarray(made[0]), np.asarray(made[1])
    pivots = np.abs(np.diag(factor))
    rank = int(np.sum(pivots > RANK * pivots[0]))
    mixed = np.linalg.solve(factor[:rank, :rank], factor[:rank, rank:])
    chosen, rest = seen[order[:rank]], seen[order[rank:]]
    grouping = np.zeros((rank, len(columns.names)))
    grouping[np.arange(rank), chosen] = 1.0
    mixed = mixed / scale[chosen][:, None] * scale[rest]
    mixed[np.abs(mixed) * scale[chosen][:, None] < 1e-9 * scale[rest]] = 0.0
    grouping[:, rest] = mixed
    ascending = np.argsort(chosen)
    names = tuple(_combination_text(grouping[i], int(chosen[i]), columns.names) for i in ascending)
    unseen = tuple(name for i, name in enumerate(columns.names) if i not in set(seen.tolist()))
    return BaseParameters(names, grouping[ascending], chosen[ascending], tuple(columns.names), unseen)


def _combination_text(row: np.ndarray, own: int, names: list[str]) -> str:
    others = [f"{'−' if row[i] < 0 else '+'} {abs(row[i]):.4g} {names[i]}" for i in np.flatnonzero(row) if i != own]
    return " ".join([names[own], *others])
