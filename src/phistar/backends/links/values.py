"""Values of a robot's operators at a configuration: φ(p,k) as rotation and offset, H, M, A, frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phistar.model import Model, require_rigid
from phistar.spatial import cross, skew

Order = tuple[int, int, int]


def rotate_symmetric(rotation: np.ndarray, x: np.ndarray) -> np.ndarray:
    """RXR*, (…, 3, 3). About an axis, with k = s (X_ii − X_jj) + c (X_ij + X_ji), the block across it becomes
    [[X_ii − s k, c k − X_ji], [c k − X_ij, X_jj + s k]], because c² + s² = 1."""
    axis = _axis(rotation)
    if axis is None:
        return np.matmul(np.matmul(rotation, x), np.swapaxes(rotation, -1, -2))
    (along, i, j), (from_along, m, n), sign = axis
    cosine, sine = rotation[i, m], rotation[j, m]
    upper, lower = sign * x[m, n], sign * x[n, m]
    twist = sine * (x[m, m] - x[n, n]) + cosine * (upper + lower)
    result = np.full((3, 3), 0.0, dtype=object)
    result[along, along] = x[from_along, from_along]
    result[i, i], result[j, j] = x[m, m] - sine * twist, x[n, n] + sine * twist
    result[i, j], result[j, i] = cosine * twist - lower, cosine * twist - upper
    result[i, along], result[j, along] = _turned_pair(cosine, sine, sign * x[m, from_along], x[n, from_along])
    result[along, i], result[along, j] = _turned_pair(cosine, sine, sign * x[from_along, m], x[from_along, n])
    return result


def lever_terms(x: np.ndarray, shifted: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """YL + (XL)* where that is symmetric, (…, 3, 3), L skew. In a trace what has a factor of L in common is added up
    before it is multiplied: 15 products in place of 24, and 5 in place of 8 for a shift along an axis."""
    if lever.dtype != object or lever.ndim != 2:
        return np.matmul(shifted, lever) + np.swapaxes(np.matmul(x, lever), -1, -2)
    result = np.full((3, 3), 0.0, dtype=object)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        result[i, i] = lever[j, i] * (shifted[i, j] + x[i, j]) + lever[k, i] * (shifted[i, k] + x[i, k])
        row, column = min(i, j), max(i, j)
        across = lever[row, column] * (shifted[row, row] - x[column, column])
        entry = across + shifted[row, k] * lever[k, column] + x[column, k] * lever[k, row]
        result[row, column] = result[column, row] = entry
    return result


def turns_in_a_row(placing: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, ...]:
    """Factors of a constant rotation R₀ times a joint's traced one, each about one axis: R₀ as it is, or by Euler's
    angles about the joint's axis, the one across it, and the joint's again. Just the product where that is about one
    axis already, or the joint's is not."""
    whole, first, joint = np.matmul(placing, turn), placing.astype(object), _axis(turn)
    if joint is None or _axis(whole) is not None:
        return (whole,)
    if _axis(first) is not None:
        return first, turn
    c, i, j = joint[0]
    alpha = np.arctan2(placing[i, c], -placing[j, c])
    beta = np.arctan2(np.hypot(placing[i, c], placing[j, c]), placing[c, c])
    outer, across = _about(c, np.cos(alpha), np.sin(alpha)), _about(i, np.cos(beta), np.sin(beta))
    rest = np.matmul(np.matmul(outer, across).astype(float).T, placing)
    return outer, across, np.matmul(_about(c, rest[i, i], rest[j, i]), turn)


def _about(axis: int, cosine: Any, sine: Any) -> np.ndarray:
    """A turn about a coordinate axis, of plain numbers."""
    result, i, j = np.full((3, 3), 0.0, dtype=object), (axis + 1) % 3, (axis + 2) % 3
    result[axis, axis] = 1.0
    result[i, i] = result[j, j] = float(cosine)
    result[i, j], result[j, i] = -float(sine), float(sine)
    return result


def _turned_pair(cosine: Any, sine: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return cosine * x - sine * y, sine * x + cosine * y


def _axis(rotation: np.ndarray) -> tuple[Order, Order, float] | None:
    """Row and column of a traced rotation's lone ±1, each followed by the others in cyclic order, and its sign. The
    rest is [[c, −s], [s, c]], for −1 with the second column turned around."""
    if rotation.dtype != object or rotation.ndim != 2:
        return None
    for row in range(3):
        for column in range(3):
            entry = rotation[row, column]
            if type(entry) is float and abs(entry) == 1.0:
                i, j, m, n = (row + 1) % 3, (row + 2) % 3, (column + 1) % 3, (column + 2) % 3
                crossing = (rotation[row, m], rotation[row, n], rotation[i, column], rotation[j, column])
                if all(type(x) is float and x == 0.0 for x in crossing):
                    return (row, i, j), (column, m, n), entry
    return None


@dataclass(frozen=True)
class Links:
    """Per body k: `rotation[k]` (…,3,3), `offset[k]` (…,3) place it in its parent; `subspace[k]` (…,6,r) is H*(k)."""

    model: Model
    q: Any
    rotation: tuple[np.ndarray, ...]
    offset: tuple[np.ndarray, ...]
    subspace: tuple[np.ndarray, ...]
    frames: tuple[str, ...] = ()
    spins: Any = None  # (r,) in place of the model's G J_r, where one link stands for many
    paths: tuple[tuple[tuple[np.ndarray, np.ndarray], ...], ...] = ()  # rotation and offset in small moves
    inertias: Any = None  # (…, bodies, 10) in place of the model's: mass, mass·com, Ixx Ixy Iyy Ixz Iyz Izz
    second_moments: tuple[np.ndarray, ...] | None = None  # ∫xx* dm of each link, where that is known first
    still: bool = False  # whether all frames coincide, so that φ = 1
    points: np.ndarray | None = None  # (frames, 3) in place of the model's: where task frames are on their links

    @property
    def parents(self) -> tuple[int, ...]:
        return self.model.parents

    def point(self, frame: str) -> np.ndarray:
        """A task frame's origin on its link, (3,)."""
        if self.points is not None and frame in self.frames:
            return self.points[self.frames.index(frame)]
        return self.model.frame(frame).placement.translation

    def path(self, k: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The way from the parent to body k, as `moves.py` takes it for blocks."""
        return self.paths[k] if self.paths else ((self.rotation[k], self.offset[k]),)

    def way(self, k: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """The same for vectors: three turns in a row are dearer than one general rotation."""
        return self.path(k) if len(self.path(k)) < 3 else ((self.rotation[k], self.offset[k]),)

    def mass_parts(self, k: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Mass, first moment (…, 3) and inertia about the body's origin (…, 3, 3)."""
        if self.inertias is None:
            inertia = self.model.bodies[k].inertia
            return inertia.mass, inertia.mass * inertia.com, inertia.about_origin
        return _inertia_parts(self.inertias[..., k, :])

    def mass(self, k: int) -> np.ndarray:
        """M(k), (6, 6)."""
        if self.inertias is None:
            return self.model.bodies[k].inertia.matrix
        return inertia_matrix(self.inertias[..., k, :])

    def second_moment(self, k: int) -> np.ndarray:
        """∫xx* dm about the body's origin, (…, 3, 3): the tensor is tr(Σ) − Σ."""
        if self.second_moments is not None:
            return self.second_moments[k]
        tensor = self.mass_parts(k)[2]
        half = np.asarray(0.5 * np.trace(tensor, axis1=-2, axis2=-1))
        return half[..., None, None] * np.eye(3) - tensor

    def armature(self, k: int) -> np.ndarray:
        """A(k), (r, r)."""
        return np.diag(self.model.joints[k].kind.armature_diagonal)

    def rotor(self, k: int) -> np.ndarray:
        """S(k), (…, 6, r): [G J_r h; 0] of a geared rotor that spins about the joint's axis."""
        spin = self.subspace[k] * (spin_of(self.model.joints[k].kind) if self.spins is None else self.spins)
        return np.concatenate([spin[..., :3, :], np.zeros(spin[..., 3:, :].shape)], axis=-2)

    def subspace_rate(self, k: int, v: Any) -> np.ndarray | None:
        """dH*(k)/dt at the joint's rates v (…, r), (…, 6, r); None where H* is constant."""
        joint = self.model.joints[k]
        return joint.kind.subspace_rate(self.q[..., joint.q_slice], v)


def _inertia_parts(own: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Mass, first moment and tensor of ten inertial parameters (…, 10)."""
    rows = [[4, 5, 7], [5, 6, 8], [7, 8, 9]]
    tensor = np.stack([np.stack([own[..., i] for i in row], axis=-1) for row in rows], axis=-2)
    return own[..., 0], own[..., 1:4], tensor


def inertia_matrix(parameters: np.ndarray) -> np.ndarray:
    """M, (…, 6, 6), of a body with ten inertial parameters (…, 10)."""
    mass, moment, tensor = _inertia_parts(parameters)
    lever = skew(moment)
    diagonal = np.asarray(mass)[..., None, None] * np.eye(3)
    return np.concatenate(
        [np.concatenate([tensor, lever], axis=-1), np.concatenate([-lever, diagonal], axis=-1)], axis=-2
    )


def links_at(model: Model, q: Any, frames: tuple[str, ...] = ()) -> Links:
    """The links of a model of rigid bodies at q (…, nq), floats or traced scalars."""
    require_rigid(model, "what was asked")
    return joint_links(model, q, frames)


def joint_links(model: Model, q: Any, frames: tuple[str, ...] = ()) -> Links:
    """The same whatever the bodies are: what joints and placements alone say."""
    q = np.asarray(q)
    rotation, offset, subspace = [], [], []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        own = q[..., joint.q_slice]
        turn, shift = joint.kind.pose(own)
        placed = body.placement
        rotation.append(np.matmul(placed.rotation, turn))
        offset.append(placed.translation + np.matmul(placed.rotation, shift[..., None])[..., 0])
        subspace.append(joint.kind.subspace(own))
    return Links(model, q, tuple(rotation), tuple(offset), tuple(subspace), frames)


def with_translations(links: Links, translations: np.ndarray) -> Links:
    """The links with other translations between a parent's origin and a joint, (bodies, 3), in the parent's axes, and
    from a link's origin to a task frame, (frames, 3), in the link's axes; one below the other."""
    bodies = links.model.bodies
    moved = [
        own - body.placement.translation + given
        for own, body, given in zip(links.offset, bodies, translations[: len(bodies)], strict=True)
    ]
    return replace(links, offset=tuple(moved), points=translations[len(bodies) :])


def in_small_moves(links: Links) -> Links:
    """Links at traced scalars with the ways between them as turns about one axis each, where they are placed so."""
    paths = []
    for body, joint, offset in zip(links.model.bodies, links.model.joints, links.offset, strict=True):
        turn, _ = joint.kind.pose(links.q[joint.q_slice])
        first, *others = turns_in_a_row(body.placement.rotation, turn)
        paths.append(((first, offset), *((other, np.zeros(3)) for other in others)))
    return replace(links, paths=tuple(paths))


# φ(p,k) acting: columns are (…, 6, c).
def inward(rotation: np.ndarray, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
    """φx: a force at the child, in child axes, seen at the parent."""
    moment, force = np.matmul(rotation, x[..., :3, :]), np.matmul(rotation, x[..., 3:, :])
    return np.concatenate([moment + np.matmul(skew(offset), force), force], axis=-2)


def outward(rotation: np.ndarray, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
    """φ*x: a motion of the parent, in parent axes, seen at the child."""
    back = np.swapaxes(rotation, -1, -2)
    angular = x[..., :3, :]
    linear = x[..., 3:, :] - np.matmul(skew(offset), angular)
    return np.concatenate([np.matmul(back, angular), np.matmul(back, linear)], axis=-2)


def reversed_step(rotation: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The step from the child back to its parent: φ(k,p) is φ of this step."""
    back = np.swapaxes(rotation, -1, -2)
    return back, -np.matmul(back, offset[..., None])[..., 0]


def congruent_inward(rotation: np.ndarray, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
    """φXφ* for symmetric X = [[A, B], [B*, C]]: rotate the blocks, then shift them by the offset."""
    a, b, c = _corners(x)
    a, b, c = (
        mirror_upper(rotate_symmetric(rotation, a)),
        rotate_symmetric(rotation, b),
        mirror_upper(rotate_symmetric(rotation, c)),
    )
    lever = skew(offset)
    shifted = b + np.matmul(lever, c)
    return _square(a - lever_terms(b, shifted, lever), shifted, c)


def congruent_outward(rotation: np.ndarray, offset: np.ndarray, x: np.ndarray) -> np.ndarray:
    """φ*Xφ for symmetric X: shift, then rotate back."""
    a, b, c = _corners(x)
    lever, back = skew(offset), np.swapaxes(rotation, -1, -2)
    shifted = b + np.matmul(a, lever)
    corner = mirror_upper(c + lever_terms(np.swapaxes(shifted, -1, -2), np.swapaxes(b, -1, -2), lever))
    return _square(
        mirror_upper(rotate_symmetric(back, a)),
        rotate_symmetric(back, shifted),
        mirror_upper(rotate_symmetric(back, corner)),
    )


def _corners(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return x[..., :3, :3], x[..., :3, 3:], x[..., 3:, 3:]


def _square(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    upper = np.concatenate([a, b], axis=-1)
    return np.concatenate([upper, np.concatenate([np.swapaxes(b, -1, -2), c], axis=-1)], axis=-2)


def mirror_upper(block: np.ndarray) -> np.ndarray:
    """The lower triangle of a symmetric block is the upper one. In a trace, what only it needs is never computed; in
    floats, a Riccati recursion that rounds P and P* apart loses half its digits on a chain with a heavy tip."""
    result = block.copy()
    for i in range(block.shape[-1]):
        result[..., i + 1 :, i] = block[..., i, i + 1 :]
    return result


def to_world_axes(rotation: np.ndarray, point: np.ndarray, x: np.ndarray) -> np.ndarray:
    """B*x: a link's motion at `point` of the link, in world axes."""
    angular = x[..., :3, :]
    linear = x[..., 3:, :] - np.matmul(skew(point), angular)
    return np.concatenate([np.matmul(rotation, angular), np.matmul(rotation, linear)], axis=-2)


def from_world_axes(rotation: np.ndarray, point: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Bx: a force at `point`, in world axes, seen at the link."""
    back = np.swapaxes(rotation, -1, -2)
    moment, force = np.matmul(back, x[..., :3, :]), np.matmul(back, x[..., 3:, :])
    return np.concatenate([moment + np.matmul(skew(point), force), force], axis=-2)


# The memoryless nonlinear functions (KJR92 eqs. 47, 48; any joint).
def bias_acceleration(links: Links, k: int, velocity: np.ndarray, v: np.ndarray, reaching: bool = True) -> np.ndarray:
    """a(k), (…, 6, 1): the inertial acceleration of link k that neither θ̈ nor its parent's acceleration explains; not
    `reaching`, without ω × (ω × ℓ) of the way from the parent's origin."""
    relative = np.matmul(links.subspace[k], v)[..., 0]
    spin, slide = relative[..., :3], relative[..., 3:]
    omega = velocity[..., :3, 0]
    omega_parent = omega - spin
    reach = np.matmul(np.swapaxes(links.rotation[k], -1, -2), links.offset[k][..., None])[..., 0]
    angular = cross(omega_parent, spin)
    swing = cross(omega_parent, reach) if reaching else 0.0
    linear = cross(omega_parent, swing + slide) + cross(omega, slide)
    result = _six(angular, linear)
    rate = links.subspace_rate(k, v[..., 0])
    return result[..., None] if rate is None else result[..., None] + np.matmul(rate, v)


def rotor_moment(links: Links, k: int, velocity: np.ndarray, v: np.ndarray) -> np.ndarray:
    """b_r(k), (…, 6, 1): ω × Sθ̇ of the link that carries the rotor, in the axes of the link it drives."""
    omega_parent = velocity[..., :3, 0] - np.matmul(links.subspace[k], v)[..., :3, 0]
    moment = cross(omega_parent, np.matmul(links.rotor(k), v)[..., :3, 0])
    return _six(moment, np.zeros(moment.shape))[..., None]


def spin_of(kind: Any) -> np.ndarray:
    """G J_r of each dof, (r,); zero unless the gear asks for full rotor dynamics."""
    return kind.gear_ratio * kind.rotor_inertia if kind.gyroscopic else np.zeros(kind.nv)


def has_rotors(model: Model) -> bool:
    """Whether any joint's rotor spin acts on the links."""
    return model.kept("has rotors", lambda: any(np.any(spin_of(joint.kind)) for joint in model.joints))


def has_constant_axes(model: Model) -> bool:
    """Whether no joint's H* changes in its link as the joint moves."""
    kinds = (joint.kind for joint in model.joints)
    return all(kind.subspace_rate(kind.neutral(), np.zeros(kind.nv)) is None for kind in kinds)


def has_siblings(model: Model) -> bool:
    """Whether any link has several children."""
    return any(len(children) > 1 for children in model.children)


def diagonal(weights: np.ndarray) -> np.ndarray:
    """diag ρ, (…, r, r), from (…, r, 1)."""
    return weights * np.eye(weights.shape[-2])


def bias_force(mass: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """b(k) = [ω × ; ω ×] M(k) [ω; 0], (…, 6, 1): gyroscopic moment and centripetal force."""
    omega = velocity[..., :3, 0]
    momentum = np.matmul(mass[..., :, :3], velocity[..., :3, :])[..., 0]
    moment, force = cross(omega, momentum[..., :3]), cross(omega, momentum[..., 3:])
    return _six(moment, force)[..., None]


def _six(angular: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """[angular; linear], (…, 6), of parts that may have different leading axes."""
    shape = np.broadcast_shapes(angular.shape, linear.shape)
    return np.concatenate([np.broadcast_to(angular, shape), np.broadcast_to(linear, shape)], axis=-1)


def parameter_forces(velocity: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Y*, (…, 10, 6): Mα + b for each inertial parameter that is one, the others zero."""
    masses = inertia_matrix(np.eye(10))
    forces = np.matmul(masses, alpha[..., None, :, :]) + bias_force(masses, velocity[..., None, :, :])
    return forces[..., 0]
