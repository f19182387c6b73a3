"""Singular positions of closed mechanisms, where closures lose rank and a loop has rates that it has nowhere else."""

from __future__ import annotations

import numpy as np

from phistar.backends.links.wide import tree_links
from phistar.errors import InfeasibleError
from phistar.loops.assembly import assemble
from phistar.loops.group_links import GroupLinks
from phistar.model import Model
from phistar.model.compound import group_of

EMPTY = 1e-9  # of the largest pivot: below it, a row or a rate adds nothing
NEARBY = 0.1  # rad, m: how far other positions are looked for
TRIES = 12


def closure_rank(rows: np.ndarray) -> int:
    """Number of independent closures in Q (m, rates)."""
    return int(np.linalg.matrix_rank(rows, tol=EMPTY * max(np.abs(rows).max(initial=0.0), 1e-300)))


def regular_rows(own: GroupLinks, shaken: GroupLinks, wanted: set[int], is_given: bool) -> np.ndarray:
    """Q of a group at its position, or, where that is singular, at a closed one nearby, on a branch on which `wanted`
    rates determine the others; refused where the position was given.

    `shaken` is the group with its joints moved a little, not closed: closures that have no higher rank there have lost
    none here.
    """
    size = closure_rank(own.rows)
    if size >= closure_rank(shaken.rows):
        return own.rows
    rng, found = np.random.default_rng(1), own.rows
    follow = [i for i, rate in enumerate(own.group.rates) if rate not in wanted]
    for _ in range(TRIES):
        rows = _rows_near(own, rng)
        near = 0 if rows is None else closure_rank(rows)
        if rows is None or near <= size:
            continue
        if is_given:
            raise _singular(own, size, near)
        if closure_rank(rows[:, follow]) == near:
            return rows
        found = rows
    return found


def shaken_joints(tree: Model, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A position near another: joints moved a little, bodies as bent as they are, for modes have no common scale."""
    change = NEARBY * rng.standard_normal(tree.nv)
    for body in tree.bodies:
        change[body.mode_slice] = 0.0
    return tree.integrate(q, change)


def _rows_near(own: GroupLinks, rng: np.random.Generator) -> np.ndarray | None:
    """Q at a closed position near the group's, or None where none was found."""
    model = own.model
    alone = group_of(model, range(len(model.bodies)), -1)
    start = shaken_joints(model.tree, own.q, rng)
    try:
        return GroupLinks(model, alone, tree_links(model.tree, assemble(model, start))).rows
    except InfeasibleError:
        return None


def _singular(own: GroupLinks, here: int, near: int) -> InfeasibleError:
    names = ", ".join(repr(loop.name) for loop in own.model.loops)
    return InfeasibleError(
        f"{own.closed.name} stands at a singular position of {names}: {here} of its closures are independent there, "
        f"{near} nearby, so that it would have {near - here} more independent rates than anywhere else. Give "
        "model.embedded(q=…) another position, or none, or take the model with its loops, whose functions hold there."
    )
