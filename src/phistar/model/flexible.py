"""FlexibleInertia: the mass and stiffness of a body that bends, by nodes and mode shapes in a floating frame.

The body's frame stands at its inboard joint, where the modes vanish (a tangent frame). At modal coordinates η node j is
at x = r + Γη + ½ηᵀQη, turned by R = exp(Λη); it carries a rigid inertia of its own in its axes. Sums over the nodes are
exact for what the nodes say: energy and momentum close.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from phistar.array_types import Array, BoolArray
from phistar.errors import ModelError
from phistar.spatial import Inertia, Pose, force_transform, skew, times
from phistar.spatial.value import Value, checked_numbers, readonly

INDEPENDENT = 1e-10  # of the largest modal mass: below it, modes are combinations of each other
HELD = 1e-12  # of the largest eigenvalue: below it, nothing holds a mode
DEPENDENT = 1e-8  # of the largest column: what is left of one by which moments, its square, change in no digit
ROUNDOFF = 1e-16
OWN = "A flexible body"
RIGID = "Rigid motions are joints' business: leave them out of the modes."
SLOWEST, FASTEST = 1e-6, 1e9  # Hz: what no body in m, kg and N does


@final
@dataclass(frozen=True, eq=False, repr=False)
class FlexibleInertia(Value):
    """A body that bends: nodes with inertias, mode shapes at them, and the modes' stiffness and damping.

    Parameters
    ----------
    nodes
        (n, 3), where the nodes are when nothing is bent, in the body's frame, m.
    modes
        (n, 3, m), displacements of the nodes per unit of each modal coordinate.
    modal_mass
        (m, m), or (m,) of a diagonal; checked against the nodes' own. None: what the nodes give.
    modal_stiffness
        (m, m) or (m,), symmetric and positive: a mode that nothing holds is a joint's business.
    masses
        (n,) in kg, or inertias: one `Inertia` a node, in the node's axes; or (n, n), the consistent mass matrix of a
        field that is interpolated between the nodes, each along x, y and z alike.
    rotations
        (n, 3, m), turns of the nodes per unit of each modal coordinate; zero by default.
    second_order
        (n, 3, m, m), symmetric: Q of ½ηᵀQη, what bending takes from a length. It stiffens a body that spins.
    damping
        (m,) ratios to critical damping of the modes, or one for all.
    ends
        {name: node}: frames at nodes; joints and frames of others are put there.

    Examples
    --------
    >>> shapes = np.zeros((2, 3, 1))
    >>> shapes[1, 1, 0] = 1.0  # the far node moves along y
    >>> blade = ps.FlexibleInertia([[0, 0, 0], [1, 0, 0]], shapes, None, [8.0], masses=[1.0, 2.0], ends={"tip": 1})
    >>> blade.frequencies
    array([2.])
    """

    nodes: Any
    modes: Any
    modal_mass: Any
    modal_stiffness: Any
    masses: Any
    rotations: Any = None
    second_order: Any = None
    damping: Any = 0.0
    ends: Mapping[str, int] | tuple[tuple[str, int], ...] = ()
    shared_mass: Any = None  # (n, n): what `masses` of that shape become, beside those at nodes

    def __post_init__(self) -> None:
        shapes = _real(self.modes, "modes")
        if shapes.ndim != 3 or shapes.shape[1] != 3 or 0 in shapes.shape:
            raise ModelError(f"{OWN} needs modes in shape (nodes, 3, modes); it was given shape {shapes.shape}.")
        n, _, m = shapes.shape
        self._keep("nodes", checked_numbers(self.nodes, (n, 3), OWN, "nodes"))
        self._keep("modes", checked_numbers(shapes, (n, 3, m), OWN, "modes"))
        turns = np.zeros((n, 3, m)) if self.rotations is None else self.rotations
        self._keep("rotations", checked_numbers(turns, (n, 3, m), OWN, "rotations"))
        bends = np.zeros((n, 3, m, m)) if self.second_order is None else self.second_order
        bends = checked_numbers(bends, (n, 3, m, m), OWN, "second-order displacements")
        self._keep("second_order", 0.5 * (bends + np.swapaxes(bends, -1, -2)))
        if self.shared_mass is None and np.shape(self.masses) == (n, n) and n > 1:
            self._keep("shared_mass", _consistent_mass(self.masses, n))
            object.__setattr__(self, "masses", np.zeros((n, 6, 6)))
        self._keep("masses", _node_inertias(self.masses, n))
        self._keep("modal_mass", self._checked_mass(m))
        self._keep("modal_stiffness", _positive(self.modal_stiffness, m, "modal stiffness", RIGID))
        _refuse_absurd(self.frequencies)
        ratios = _real(self.damping, "damping ratios")
        if ratios.shape not in ((), (1,), (m,)):
            raise ModelError(
                f"{OWN} of {m} modes needs a damping ratio for each, or one; it was given {ratios.tolist()}."
            )
        ratios = np.broadcast_to(ratios, (m,))
        if not (np.isfinite(ratios).all() and (ratios >= 0.0).all()):
            raise ModelError(f"{OWN} needs damping ratios that are not negative; it was given {ratios.tolist()}.")
        self._keep("damping", ratios)
        object.__setattr__(self, "ends", self._checked_ends(n))

    def _keep(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, readonly(value))

    def _checked_mass(self, m: int) -> Array:
        """The modal mass of the nodes; given, it must be theirs."""
        own = np.einsum("jki,jkl,jlh->ih", self._motions, self.masses, self._motions)
        if self.shared_mass is not None:
            own = own + np.einsum("jki,jl,lkh->ih", self.modes, self.shared_mass, self.modes)
        values = np.linalg.eigvalsh(own)
        if not values[0] > INDEPENDENT * values[-1]:
            raise ModelError(
                f"The {m} modes are not independent: of their modal mass the smallest eigenvalue is {values[0]:.3g}, "
                f"the largest {values[-1]:.3g}. Leave out modes that are combinations of others, or that move no mass."
            )
        if self.modal_mass is not None:
            given = _positive(self.modal_mass, m, "modal mass", "Motion has positive energy: check signs and order.")
            off = np.abs(given - own).max()
            if off > 1e-6 * np.abs(own).max():
                raise ModelError(
                    f"The modal mass differs by {off:.3g} from what nodes and modes give ({np.abs(own).max():.3g}). "
                    "Check units, or give None to take the nodes'."
                )
        return own

    def _checked_ends(self, n: int) -> tuple[tuple[str, int], ...]:
        try:
            pairs = tuple(dict(self.ends).items())
        except (TypeError, ValueError):
            raise ModelError(f"{OWN} has its ends as {{name: node}}; it was given {self.ends!r:.100}.") from None
        for name, node in pairs:
            whole = isinstance(node, (int, np.integer)) and not isinstance(node, bool)
            if not isinstance(name, str) or not name or not whole or not 0 <= node < n:
                raise ModelError(f"{OWN} has {n} nodes; the end {name!r:.100} is at node {node!r:.100}, which is none.")
        return tuple((name, int(node)) for name, node in pairs)

    @cached_property
    def _motions(self) -> Array:
        """[Λ; Γ], (n, 6, m): the nodes' motions at η = 0."""
        return np.concatenate([self.rotations, self.modes], axis=1)

    @property
    def count(self) -> int:
        """Number of modes."""
        return self.modes.shape[-1]

    @cached_property
    def stiffness(self) -> Array:
        """K_f, (m, m)."""
        return self.modal_stiffness

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies with the frame held, rad/s, (m,)."""
        return self._natural[0]

    @cached_property
    def damping_matrix(self) -> Array:
        """C_f, (m, m), with the ratios ζ: M S diag(2ζω) S⁻¹ for the natural modes S."""
        frequencies, shapes = self._natural
        inside = shapes * (2.0 * self.damping * frequencies) @ shapes.T
        return readonly(self.modal_mass @ inside @ self.modal_mass)

    @cached_property
    def _natural(self) -> tuple[Array, Array]:
        lower = np.linalg.cholesky(self.modal_mass)
        half = np.linalg.solve(lower, self.modal_stiffness)
        values, turned = np.linalg.eigh(np.linalg.solve(lower, half.T))
        return np.sqrt(values), np.linalg.solve(lower.T, turned)

    @cached_property
    def is_point(self) -> BoolArray:
        """(n,) of bool: the nodes that are mass points, whose rotations do not matter."""
        points = self.masses[:, 3, 3, None, None] * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        return np.asarray((self.masses == points).all(axis=(1, 2)))

    @cached_property
    def monomials(self) -> tuple[tuple[int, ...], ...]:
        """The products of modal coordinates that places of nodes are made of: 1, η_i, and η_iη_k where Q has any."""
        m = self.count
        pairs = [(i, k) for i in range(m) for k in range(i, m) if self.second_order[:, :, i, k].any()]
        return ((), *((i,) for i in range(m)), *pairs)

    @cached_property
    def places(self) -> Array:
        """Φ with x = Φu for the monomials u, (n, 3, p)."""
        squares = [(0.5 if p[0] == p[1] else 1.0) * self.second_order[:, :, p[0], p[1]] for p in self._pairs]
        return np.stack([self.nodes, *np.moveaxis(self.modes, -1, 0), *squares], axis=-1)

    @property
    def _pairs(self) -> list[tuple[int, ...]]:
        return [monomial for monomial in self.monomials if len(monomial) == 2]

    @cached_property
    def point_moments(self) -> tuple[Array, Array]:
        """ΣmΦ (3, p) and ΣmΦ⊗Φ (3, p, 3, p) of the points of mass: the shape integrals."""
        mass = np.where(self.is_point, self.masses[:, 3, 3], 0.0)
        if self.shared_mass is not None:
            mass = np.diag(mass) + self.shared_mass
            first = np.einsum("ij,jap->ap", mass, self.places)
            return first, _without_roundoff(np.einsum("ij,iap,jbq->apbq", mass, self.places, self.places))
        first = np.einsum("j,jap->ap", mass, self.places)
        return first, _without_roundoff(np.einsum("j,jap,jbq->apbq", mass, self.places, self.places))

    @property
    def has_quadratic_places(self) -> bool:
        """Whether second-order displacements make places quadratic in η."""
        return len(self.monomials) > 1 + self.count

    @cached_property
    def equivalent_points(self) -> Array:
        """R with R*R = ΣmΦ⊗Φ, (3, points, p): Φ of fewer points, each of unit mass, with the same shape integrals."""
        weight = np.diag(np.where(self.is_point, self.masses[:, 3, 3], 0.0))
        if self.shared_mass is not None:
            weight = weight + self.shared_mass
        size, turn = np.linalg.eigh(weight)
        found = np.sqrt(np.maximum(size, 0.0))[:, None] * (turn.T @ self.places.reshape(len(self.nodes), -1))
        rows, p = _echelon(found), len(self.monomials)
        return np.moveaxis(rows.reshape(-1, 3, p), 1, 0)

    @cached_property
    def point_mass(self) -> float:
        """Total mass of the mass points, kg."""
        shared = 0.0 if self.shared_mass is None else float(self.shared_mass.sum())
        return float(self.masses[self.is_point, 3, 3].sum()) + shared

    @cached_property
    def rigid(self) -> Inertia:
        """Inertia of the undeformed body."""
        whole = np.zeros((6, 6))
        for place, inertia in zip(self.nodes, self.masses, strict=True):
            across = force_transform(np.eye(3), place)
            whole = whole + across @ inertia @ across.T
        if self.shared_mass is not None:
            total, moment = self.shared_mass.sum(), self.shared_mass.sum(axis=0) @ self.nodes
            second = self.nodes.T @ self.shared_mass @ self.nodes
            lever = skew(moment)
            rows = [[np.trace(second) * np.eye(3) - second, lever], [-lever, total * np.eye(3)]]
            whole = whole + np.block(rows)
        return _inertia(whole)

    @cached_property
    def node_inertias(self) -> tuple[Inertia, ...]:
        """Inertia of each node in its own axes; a shared mass matrix is none of theirs."""
        return tuple(_inertia(matrix) for matrix in self.masses)

    @cached_property
    def unbent_mass(self) -> Array:
        """M at η = 0, (m + 6, m + 6), of [η̇; V]."""
        across = np.zeros((6, self.count))
        for place, inertia, motion in zip(self.nodes, self.masses, self._motions, strict=True):
            across = across + force_transform(np.eye(3), place) @ inertia @ motion
        if self.shared_mass is not None:
            pulled = np.einsum("ij,jam->iam", self.shared_mass, self.modes)
            turned = np.cross(self.nodes[:, :, None], pulled, axis=1)
            across = across + np.concatenate([turned.sum(axis=0), pulled.sum(axis=0)])
        return np.block([[self.modal_mass, across.T], [across, self.rigid.matrix]])

    def elastic_force(self, eta: Any, rate: Any) -> Array:
        """−(K_fη + C_fη̇), (…, m)."""
        return -(times(self.stiffness, np.asarray(eta)) + times(self.damping_matrix, np.asarray(rate)))

    @property
    def reach(self) -> float:
        """Largest motion of a node per unit of a modal coordinate, m."""
        return float(np.abs(self.modes).max())

    def with_payload(self, node: int, inertia: Inertia, pose: Pose) -> FlexibleInertia:
        """The same body with a rigid one fixed to a node, at a pose in the node's axes."""
        masses = np.array(self.masses)
        masses[node] = masses[node] + inertia.transformed(pose).matrix
        return replace(self, masses=masses, modal_mass=None)


def _without_roundoff(second: Array) -> Array:
    """ΣmΦ⊗Φ with zeros where an entry is rounding beside the bound that Cauchy and Schwarz give it."""
    size = np.sqrt(np.einsum("apap->ap", second))
    return np.where(np.abs(second) > 1e-15 * size[:, :, None, None] * size, second, 0.0)


def _echelon(matrix: Array) -> Array:
    """R in row echelon form with R*R = X*X, as many rows as X has independent columns: X = QR, column by column."""
    rows, largest = np.zeros((len(matrix), 0)), np.linalg.norm(matrix, axis=0).max(initial=0.0)
    for column in matrix.T:
        left = column - rows @ (rows.T @ column)
        left = left - rows @ (rows.T @ left)
        if np.linalg.norm(left) > DEPENDENT * largest:
            rows = np.concatenate([rows, (left / np.linalg.norm(left))[:, None]], axis=1)
    found = rows.T @ matrix
    return np.where(np.abs(found) > ROUNDOFF * largest, found, 0.0)


def _inertia(matrix: Array) -> Inertia:
    """Inertia from M = [[J, m p̃], [−m p̃, m]]."""
    mass = matrix[3, 3]
    moment = np.array([matrix[2, 4], matrix[0, 5], matrix[1, 3]])
    com = moment / mass if mass else np.zeros(3)
    tensor = matrix[:3, :3] - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Inertia.unchecked(mass, com, 0.5 * (tensor + tensor.T))


def _node_inertias(masses: Any, n: int) -> Array:
    """(n, 6, 6) from masses (n,), from Inertias, or as they are."""
    if isinstance(masses, np.ndarray) and masses.shape == (n, 6, 6):
        return checked_numbers(masses, (n, 6, 6), OWN, "inertias of its nodes")
    if isinstance(masses, (list, tuple)) and masses and isinstance(masses[0], Inertia):
        if len(masses) != n:
            raise ModelError(f"{OWN} needs an inertia for each of its {n} nodes; it was given {len(masses)}.")
        return np.stack([each.matrix for each in masses])
    numbers = checked_numbers(masses, (n,), OWN, "masses of its nodes")
    if (numbers < 0.0).any() or not numbers.any():
        raise ModelError(
            f"{OWN} needs masses that are not negative, and not all zero; those of its nodes go from "
            f"{numbers.min():.3g} to {numbers.max():.3g} kg."
        )
    return numbers[:, None, None] * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])


def _consistent_mass(value: Any, n: int) -> Array:
    """A consistent mass matrix (n, n): symmetric, and of no negative energy; nodes may have none."""
    matrix = checked_numbers(np.asarray(value, dtype=float), (n, n), OWN, "mass matrix of its nodes")
    lowest, highest = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[[0, -1]]
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max() or not (highest > 0 and lowest > -1e-12 * highest):
        raise ModelError(
            f"{OWN} needs a mass matrix of its nodes that is symmetric and not negative; its eigenvalues go from "
            f"{lowest:.3g} to {highest:.3g} kg."
        )
    return 0.5 * (matrix + matrix.T)


def smallest_scaled(matrix: Array) -> float:
    """The smallest eigenvalue of a symmetric matrix scaled to a diagonal of ones, which no units change; of one that
    has an entry on its diagonal that is not positive, 0."""
    diagonal = np.diag(matrix)
    if not (diagonal > 0.0).all():
        return 0.0
    root = np.sqrt(diagonal)
    return float(np.linalg.eigvalsh(matrix / root / root[:, None])[0])


def _refuse_absurd(frequencies: Array) -> None:
    slow, fast = frequencies.min() / (2.0 * np.pi), frequencies.max() / (2.0 * np.pi)
    if slow < SLOWEST or fast > FASTEST:
        raise ModelError(
            f"{OWN} would swing at {slow:.3g} to {fast:.3g} Hz, which no body does: are nodes in m, masses in kg and "
            "stiffness in N/m? A stiffness in N/mm, or nodes in mm, is a thousand off."
        )


def _real(value: Any, what: str) -> Array:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{OWN} needs {what} that are numbers; it was given {value!r:.100}.") from None


def _positive(value: Any, m: int, what: str, advice: str) -> Array:
    array = np.asarray(value, dtype=float)
    matrix = checked_numbers(np.diag(array) if array.ndim == 1 else array, (m, m), OWN, what)
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ModelError(f"{OWN} needs a symmetric {what}; it was given {matrix.tolist()!r:.300}.")
    lowest, highest = np.linalg.eigvalsh(matrix)[[0, -1]]
    if not smallest_scaled(matrix) > HELD:
        raise ModelError(
            f"{OWN} needs a positive {what}; its eigenvalues go from {lowest:.3g} to {highest:.3g}. {advice}"
        )
    if not lowest > HELD * highest:
        raise ModelError(
            f"{OWN} has a {what} from {lowest:.3g} to {highest:.3g}, further apart than the digits of its numbers "
            "carry. Check the units of each; leave out modes so stiff that they do not bend, and those that only "
            "rounding holds, which are rigid motions."
        )
    return 0.5 * (matrix + matrix.T)
