"""How trees that bend move, linearized, as a kernel of each tree: what screws and composite bodies cannot say.

A mode's screw at a node changes with the other modes there, ∂σ_i/∂η_j = [∂_jL_i; Q_ij + g_j×L_i + x×∂_jL_i] in the
axes of its body (with its exact rotation, and second-order displacements); momentum and ℳ(i,i) change with bending too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phistar.backends.links.wide import wide_links
from phistar.backends.one_state import Formula
from phistar.backends.traces.arrays import record
from phistar.backends.traces.differentiate import Sparse, matrix, tangent_map, tangents, values_of
from phistar.dynamics import mass_matrix
from phistar.plant.tree_kernels import TreeKernels
from phistar.spatial.value import digest


def bending_formula(tree: TreeKernels, weighed: bool) -> Formula:
    """(q, v) → of a floating tree of n rates its momentum by each rate and by its place (n, 12); the changes of modes'
    screws at every node by the modes there, (m, m, 6) each; where `weighed`, ∂ℳ(i,i)/∂δ (n, n)."""
    model, floats = tree.model, bool(tree.roots.bodies)
    nq, nv, counts = model.nq, model.nv, [model.bodies[body].modes for body, _ in tree.nodes]
    sizes = [6 if floats else 0, 6 * sum(counts), nv if weighed else 0]
    firsts = [model.bodies[body].mode_slice.start for body, _ in tree.nodes]

    def values(q: Any, v: Any) -> np.ndarray:
        links = wide_links(model, q)
        parts: list[Any] = [tree.roots.momenta(q, v)[0]] if floats else []
        parts += [tree.node_screws(q, links)] if tree.nodes else []
        parts += [np.diagonal(np.asarray(mass_matrix(model, q)))] if weighed else []
        return np.concatenate(parts)

    def slopes(q: Any, v: Any) -> tuple[np.ndarray, ...]:
        inner = record(values, (nq, nv))
        seeds: dict[int, Sparse] = dict(enumerate(tangent_map(model, np.asarray(q))))
        seeds |= {nq + j: {nv + j: 1.0} for j in range(nv)}
        found = matrix(tangents(inner, values_of(inner, [*np.asarray(q), *np.asarray(v)]), seeds), 2 * nv)
        momentum, screws, mass = np.split(found, np.cumsum(sizes)[:-1])
        parts = [np.concatenate([momentum[:, nv:], momentum[:, :nv]]).T] if floats else []
        bends, at = [], 0
        for first, count in zip(firsts, counts, strict=True):
            own = screws[at : at + 6 * count, first : first + count].reshape(count, 6, count)
            bends.append(np.swapaxes(own, 1, 2).reshape(-1))
            at += 6 * count
        parts += [np.concatenate(bends)] if bends else []
        return tuple(parts + ([mass[:, :nv]] if weighed else []))

    shapes = [(nv, 12)] if floats else []
    shapes += [(6 * sum(m * m for m in counts),)] if counts else []
    shapes += [(nv, nv)] if weighed else []
    return Formula("a tree that bends, linearized", digest(tree.key, weighed), [nq, nv], shapes, slopes)
