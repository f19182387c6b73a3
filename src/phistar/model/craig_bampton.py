"""Craig and Bampton's reduction: a flexible body from the stiffness and mass matrices of its finite elements."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from phistar.errors import FileError, ModelError
from phistar.model.flexible import FlexibleInertia, smallest_scaled
from phistar.safe_files import MEGABYTE, read_bytes

MOST_DOFS = 6_000  # of matrices that are kept whole
LARGEST_FILE = 512 * MEGABYTE
HELD = 1e-10  # of the largest of K's: below it, nothing holds a motion
ISOTROPIC = 1e-9  # of the largest mass: what may differ between x, y and z


def craig_bampton(
    stiffness: Any,
    mass: Any,
    nodes: Any,
    fixed: Sequence[int],
    ends: Mapping[str, int | Sequence[int]] | None = None,
    modes: int = 6,
    *,
    damping: Any = 0.0,
) -> FlexibleInertia:
    """A flexible body from the matrices of its finite elements (Craig and Bampton 1968).

    With nodes b where something is joined to the body and i inside, the motions are u_i = −K_ii⁻¹K_ib u_b + Φη: how the
    body bends statically as each end is moved along x, y and z, and its lowest modes Φ with all ends held. The natural
    modes of that reduction are the body's.

    Parameters
    ----------
    stiffness, mass
        (3n, 3n), x y z of node after node, N/m and kg: arrays, SciPy's sparse matrices, or paths of Matrix Market
        files. Of the mass, each node or pair of nodes weighs the same along x, y and z, as in solids and lumped masses.
    nodes
        (n, 3), m, in the body's frame, whose origin is the joint's.
    fixed
        The nodes that do not move in the body's frame; at least three, not in one line.
    ends
        {name: node, or several}: frames where joints and other bodies are put. One node does not turn; several are a
        patch that moves by its mean, and turns as a rigid body that fits it best would.
    modes
        How many modes with all ends held, beside three static ones for each node of the ends.
    damping
        Ratio to critical damping of every mode.

    Returns
    -------
    FlexibleInertia
        With natural modes, slowest first.

    Examples
    --------
    >>> nodes = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 0]])
    >>> springs = np.diag([1.0] * 9 + [400.0, 100.0, 900.0])
    >>> body = ps.craig_bampton(springs, np.eye(12), nodes, fixed=[0, 1, 2], ends={"tip": 3}, modes=0)
    >>> body.frequencies
    array([10., 20., 30.])
    """
    places = np.asarray(nodes, dtype=float)
    if places.ndim != 2 or places.shape[1] != 3 or not np.isfinite(places).all():
        raise ModelError(f"Finite elements need nodes in shape (n, 3), in m; they were given {places.shape}.")
    n = len(places)
    K, M = _matrix(stiffness, n, "stiffness"), _matrix(mass, n, "mass")
    still, patches = (
        _node_numbers(fixed, n, "fixed"),
        {name: _node_numbers(x, n, name) for name, x in (ends or {}).items()},
    )
    joined = sorted({node for patch in patches.values() for node in patch} - set(still))
    free = _rows([node for node in range(n) if node not in set(still)])
    shapes = np.zeros((3 * n, 3 * len(joined) + modes))
    shapes[free] = _natural_modes(K[np.ix_(free, free)], M[np.ix_(free, free)], np.isin(free, _rows(joined)), modes)
    shared = _mass_per_direction(M, n)
    shapes = shapes.reshape(n, 3, -1)
    turns, numbered = np.zeros(shapes.shape), {}
    for name, patch in patches.items():
        if len(patch) == 1:
            numbered[name] = patch[0]
            continue
        moved, turned = _patch(places[patch], shapes[patch])
        numbered[name] = len(places)
        places = np.concatenate([places, places[patch].mean(axis=0)[None]])
        shapes, turns = np.concatenate([shapes, moved[None]]), np.concatenate([turns, turned[None]])
        shared = np.pad(shared, (0, 1))
    flat = shapes[:n].reshape(3 * n, -1)
    masses = shared if np.any(shared - np.diag(np.diag(shared))) else np.diag(shared)
    return FlexibleInertia(places, shapes, None, flat.T @ K @ flat, masses, turns, None, damping, numbered)


def _natural_modes(K: np.ndarray, M: np.ndarray, boundary: np.ndarray, modes: int) -> np.ndarray:
    """The natural modes of the reduction, (free dofs, boundary dofs + modes), of modal mass 1."""
    from scipy.linalg import eigh, solve

    values = np.linalg.eigvalsh(K)
    if not values[0] > HELD * values[-1]:
        if smallest_scaled(K) > HELD:
            raise ModelError(
                f"The stiffness matrix has eigenvalues from {values[0]:.3g} to {values[-1]:.3g} with the fixed nodes "
                "held, further apart than the digits of its numbers carry. Check the units of its entries, or fix the "
                "nodes that nothing moves."
            )
        loose = int(np.sum(values <= HELD * values[-1]))
        raise ModelError(
            f"With the fixed nodes held, {loose} rigid or unstable motions are left inside the body: its stiffness has "
            f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}. Fix three nodes that are not in one line, and "
            "check that all elements hang together."
        )
    b, i = np.flatnonzero(boundary), np.flatnonzero(~boundary)
    if not len(b) + modes:
        raise ModelError("The ends of the body are fixed, and no modes were asked for: nothing of it would bend.")
    if not 0 <= modes <= len(i) or not len(b) + modes:
        raise ModelError(
            f"The body has {len(i)} dofs inside; it was asked for {modes} modes of them and {len(b)} ends."
        )
    basis = np.zeros((len(K), len(b) + modes))
    basis[b, np.arange(len(b))] = 1.0
    if len(i):
        inner = K[np.ix_(i, i)]
        basis[i, : len(b)] = -solve(inner, K[np.ix_(i, b)], assume_a="pos")
        if modes:
            heavy = _positive_mass(M[np.ix_(i, i)])
            basis[i, len(b) :] = eigh(inner, heavy, subset_by_index=[0, modes - 1])[1]
    _, mixed = eigh(basis.T @ K @ basis, _positive_mass(basis.T @ M @ basis))
    return basis @ mixed


def _positive_mass(M: np.ndarray) -> np.ndarray:
    values = np.linalg.eigvalsh(M)
    if not values[0] > 1e-14 * values[-1]:
        raise ModelError(
            f"The mass matrix is not positive: its eigenvalues go from {values[0]:.3g} to {values[-1]:.3g}. Nodes "
            "without mass that are no end must be condensed first."
        )
    return M


def _mass_per_direction(M: np.ndarray, n: int) -> np.ndarray:
    """m with M = m ⊗ 1₃, (n, n)."""
    blocks = M.reshape(n, 3, n, 3)
    own = np.einsum("iaja->ij", blocks) / 3.0
    off = np.abs(blocks - own[:, None, :, None] * np.eye(3)[None, :, None, :]).max()
    if off > ISOTROPIC * np.abs(own).max():
        raise ModelError(
            f"The mass matrix differs by {off:.3g} kg between x, y and z of the same nodes. Solids and lumped masses "
            "are the same along all three; for beams take ps.beam, or lump the mass at the nodes."
        )
    return own


def _patch(places: np.ndarray, shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean displacement and the turn that fits best, (3, m) each, of a patch (k, 3) with shapes (k, 3, m)."""
    arms, moved = places - places.mean(axis=0), shapes - shapes.mean(axis=0)
    spread = np.sum(arms * arms) * np.eye(3) - arms.T @ arms
    if np.linalg.eigvalsh(spread)[0] <= 1e-9 * np.trace(spread):
        raise ModelError("The nodes of an end lie in one line, about which they do not say how it turns; give more.")
    moments = np.cross(arms[:, :, None], moved, axisa=1, axisb=1, axisc=1).sum(axis=0)
    return shapes.mean(axis=0), np.linalg.solve(spread, moments)


def _rows(nodes: Sequence[int]) -> np.ndarray:
    """The dofs of nodes."""
    return (3 * np.asarray(nodes, dtype=int)[:, None] + np.arange(3)).reshape(-1)


def _node_numbers(given: Any, n: int, what: str) -> list[int]:
    numbers = [given] if isinstance(given, (int, np.integer)) else list(given)
    for node in numbers:
        if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or not 0 <= node < n:
            raise ModelError(
                f"The body has {n} nodes, 0 to {n - 1}; {what!r} names node {node!r:.50}, which is outside."
            )
    if not numbers:
        raise ModelError(f"{what!r} names no node of the body.")
    return [int(node) for node in numbers]


def _read_matrix(path: str | os.PathLike[str], n: int, what: str) -> Any:
    """A Matrix Market file of the size expected."""
    from scipy.io import mminfo, mmread

    content = read_bytes(path, "a Matrix Market file", LARGEST_FILE)
    try:
        rows, columns = mminfo(BytesIO(content))[:2]
        if (rows, columns) != (3 * n, 3 * n):  # before room is made for what it claims
            raise ModelError(
                f"{path} has a matrix of {rows} rows and {columns} columns; the {what} matrix of {n} nodes has {3 * n}."
            )
        return mmread(BytesIO(content))
    except (ValueError, OSError, OverflowError) as problem:
        raise FileError(f"{path}: this is not a Matrix Market file: {problem}") from None


def _matrix(given: Any, n: int, what: str) -> np.ndarray:
    """A symmetric matrix (3n, 3n) of finite numbers, from an array, a sparse matrix or a Matrix Market file."""
    if isinstance(given, (str, os.PathLike)):
        given = _read_matrix(given, n, what)
    if hasattr(given, "toarray"):
        if given.shape[0] > MOST_DOFS:
            raise ModelError(f"The {what} matrix has {given.shape[0]} rows; up to {MOST_DOFS} are reduced here.")
        given = given.toarray()
    try:
        if np.iscomplexobj(given):
            raise ModelError(f"The {what} matrix has complex numbers; a real one was expected.")
        matrix = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"The {what} matrix must be of numbers, or the path of a Matrix Market file.") from None
    if matrix.shape != (3 * n, 3 * n) or not np.isfinite(matrix).all():
        raise ModelError(
            f"The {what} matrix of {n} nodes must be ({3 * n}, {3 * n}) of finite numbers, three dofs a node; it was "
            f"given {matrix.shape}."
        )
    if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
        raise ModelError(f"The {what} matrix is not symmetric, by {np.abs(matrix - matrix.T).max():.3g}.")
    return 0.5 * (matrix + matrix.T)
