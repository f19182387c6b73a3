"""The same mechanism in fewer numbers: link origins moved along the joints' axes, masses moved between links.

What lies on the axis of a joint moves alike with both of its links and may be counted to either. Given to the inner
link, it leaves zeros: a link on a revolute joint then has no mass at all (Gautier and Khalil, IEEE Transactions on
Robotics and Automation 1990). In operators: for memoryless L with HL = 0, M + E_φLE_φ* − L has the mass matrix of M,
because φE_φ = φ − I; its P and r are smaller by L, while D, G, K and ψ stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from phistar.model import Helical, Model, Prismatic, Revolute, Spherical, require_rigid
from phistar.model.parts import Body, Frame
from phistar.operators.linearized import PARTIALS
from phistar.operators.nodes import Adjoint, Inverse, Node, Product, Sum, Symbol
from phistar.operators.spaces import RANKS
from phistar.operators.symbols import MASS, Symbols
from phistar.spatial import Pose

_EVERYWHERE = {"joints", "inner", "task", "scalars", "base", "closures", *RANKS}  # spaces that know no link frames
_PLAIN = {"mass", "C", "g", "J", "Jdot_v", "V", "H", "phi", "E_phi", "E", "A", "U", "B", "U_task", "Q", "Gamma"}
_PLAIN |= {"M_i", "N"}
_VECTORS = {"v", "qdd", "T", "a_g", "f", "u", "a0_delayed", "v_i"}
_QUANTITIES = {"mass", "C", "g", "A", "U", *_VECTORS}
_AT_ORIGINS = {"a", "a0", "b", "a_ref", "b_ref", "n_ref"}  # accelerations of link origins and what they leave of forces
_RICCATI = {"D", "G", "K", "psi", "E_psi", "Omega", "W"}
_ROUNDOFF = 1e-15  # of the largest moment of a link
_HEAVIEST = 1e6  # of what is given to a link, in masses of its own: beyond, its own would lose digits beside it
_SHIFT_COSTS = (0.0, 1.0, 1.6, 2.1)  # by how many entries of an offset are not zero


def is_about_motion(nodes: Iterable[Node], symbols: Symbols) -> bool:
    """Whether statements only tell what the mechanism does, not how its mass is shared among links in which frames."""
    own = symbols.M is MASS and symbols.armature_symbol is None
    return own and all(_spaces_are_free(node) and all(_is_free(x, symbols) for x in _symbols(node)) for node in nodes)


def is_told_by_quantities(node: Node, symbols: Symbols) -> bool:
    """Whether a statement names quantities of the whole mechanism alone, ℳ, 𝒞, 𝒢 and what changes them: it is the same
    whether a joint of several axes is told whole or axis by axis, with massless links between."""
    moved = symbols.acceleration.factors if isinstance(symbols.acceleration, Product) else (symbols.acceleration,)
    match node:
        case Symbol(name=name, of=of) if name in PARTIALS:
            return all(is_told_by_quantities(x, symbols) for x in of)
        case Symbol(name=name):
            return name in _QUANTITIES
        case Adjoint(of=inner) | Inverse(of=inner):
            return is_told_by_quantities(inner, symbols)
        case Product(factors=parts):
            others = parts[: -len(moved)] if parts[-len(moved) :] == moved else parts
            return all(is_told_by_quantities(x, symbols) for x in others)
        case Sum(terms=terms):
            return all(is_told_by_quantities(x, symbols) for _, x in terms)
    return True


def is_about_origins(nodes: Iterable[Node]) -> bool:
    """Whether statements name quantities that depend on the links' origins, though their sums need not."""
    return any(x.name in _AT_ORIGINS for node in nodes for x in _symbols(node))


def _spaces_are_free(node: Node) -> bool:
    return all(space is not None and space.over in _EVERYWHERE for space in (node.domain, node.codomain))


def _is_free(symbol: Symbol, symbols: Symbols) -> bool:
    if symbol.name in _RICCATI:  # with rotors there is a third operand, for which this is not shown
        return symbol.of == symbols.pair and len(symbol.of) == 2
    return symbol.name in _PLAIN | _VECTORS and symbol.of in ((), symbols.pair)


def _symbols(node: Node) -> Iterator[Symbol]:
    match node:
        case Symbol():
            yield node
        case Adjoint(of=inner) | Inverse(of=inner):
            yield from _symbols(inner)
        case Product(factors=parts):
            for part in parts:
                yield from _symbols(part)
        case Sum(terms=terms):
            for _, part in terms:
                yield from _symbols(part)


def moved_origins(model: Model) -> Model:
    """The model with each link's origin where it makes the offsets of its own joint and of its children simplest."""
    shifts = [np.zeros(3) for _ in model.bodies]
    for k in range(len(shifts)):
        shifts[k] = min(_candidates(model, shifts, k), key=lambda shift: _cost(model, shifts, k, shift))
    if not any(shift.any() for shift in shifts):
        return model
    bodies = tuple(_moved_body(model, body, shifts, k) for k, body in enumerate(model.bodies))
    return replace(model, bodies=bodies, frame_list=tuple(_moved_frame(frame, shifts) for frame in model.frame_list))


def _candidates(model: Model, shifts: list[np.ndarray], k: int) -> Iterator[np.ndarray]:
    """Moves along the axis: to the foot of the parent's origin, of a child's joint, or none."""
    kind = model.joints[k].kind
    if isinstance(kind, Revolute | Prismatic | Helical):
        here = model.bodies[k].placement.rotation.T @ _offset(model, shifts, k)
        yield -(kind.axis @ here) * kind.axis
        for child in model.children[k]:
            yield (kind.axis @ model.bodies[child].placement.translation) * kind.axis
    yield np.zeros(3)


def _offset(model: Model, shifts: list[np.ndarray], k: int) -> np.ndarray:
    """Vector from the parent's origin to the link's, in the parent's axes."""
    body = model.bodies[k]
    start = shifts[body.parent] if body.parent >= 0 else 0.0
    return _clean(body.placement.translation + body.placement.rotation @ shifts[k] - start)


def _cost(model: Model, shifts: list[np.ndarray], k: int, shift: np.ndarray) -> float:
    """Cost of the offsets that moving origin k changes; free on the world."""
    tried = [*shifts[:k], shift, *shifts[k + 1 :]]
    offsets = [_offset(model, tried, c) for c in model.children[k]]
    offsets += [_offset(model, tried, k)] if model.parents[k] >= 0 else []
    return sum(_SHIFT_COSTS[np.count_nonzero(offset)] for offset in offsets)


def _moved_body(model: Model, body: Body, shifts: list[np.ndarray], k: int) -> Body:
    placement = Pose(xyz=_offset(model, shifts, k), rotation=body.placement.rotation)
    return replace(body, placement=placement, inertia=body.inertia.transformed(Pose(xyz=-shifts[k])))


def _moved_frame(frame: Frame, shifts: list[np.ndarray]) -> Frame:
    return frame if frame.body < 0 else replace(frame, placement=Pose(xyz=-shifts[frame.body]) @ frame.placement)


def grouped_inertias(model: Model) -> np.ndarray:
    """(bodies, 10): mass, mass·com and tensor about the origin, from the grouped moments."""
    return np.stack([_parameters(moments) for moments in grouped_moments(model)])


def grouped_moments(model: Model) -> list[np.ndarray]:
    """Each link's ∫ [x; 1][x; 1]* dm = [[Σ, h], [h*, m]], (4, 4), with mass on a joint's axis given to the inner link.
    Links that hang on the world keep theirs, so the load on the base is unchanged; so does a link that is far heavier
    than its parent."""
    moments = [_moments(body.inertia.parameters) for body in model.bodies]
    sizes = [np.abs(x) for x in moments]
    for k in range(len(moments) - 1, -1, -1):
        body = model.bodies[k]
        if body.parent >= 0 and not _outweighs(moments[k][3, 3], model.bodies[body.parent]):
            given = _on_axis(body, moments[k])
            place = body.placement.matrix
            moments[k] = moments[k] - given
            moments[body.parent] = moments[body.parent] + place @ given @ place.T
            sizes[body.parent] = sizes[body.parent] + np.abs(place) @ np.abs(given) @ np.abs(place.T)
    return [np.where(np.abs(x) < _ROUNDOFF * size, 0.0, x) for x, size in zip(moments, sizes, strict=True)]


def is_tip_heavy(model: Model) -> bool:
    """Whether some link is so much heavier than its parent that digits of the parent's motion are at stake."""
    return any(body.parent >= 0 and _outweighs(body.inertia.mass, model.bodies[body.parent]) for body in model.bodies)


def _outweighs(mass: float, parent: Body) -> bool:
    return bool(mass > _HEAVIEST * parent.inertia.mass > 0.0)


def _on_axis(body: Body, moments: np.ndarray) -> np.ndarray:
    """The part of a link's moments, (4, 4), that moves alike with its parent: what is on a revolute joint's axis, in a
    spherical joint's centre; on a prismatic joint, what only turns."""
    kind, part = body.joint.kind, np.zeros((4, 4))
    if isinstance(kind, Revolute):
        line = np.zeros((4, 2))
        line[:3, 0], line[3, 1] = kind.axis, 1.0
        part = line @ (line.T @ moments @ line) @ line.T
    elif isinstance(kind, Spherical):
        part[3, 3] = moments[3, 3]
    elif isinstance(kind, Prismatic):
        part[:3, :3] = moments[:3, :3]
    return part


def _moments(parameters: np.ndarray) -> np.ndarray:
    """Moments of ten parameters; Σ = tr(J)/2 − J."""
    mass, moment, (xx, xy, yy, xz, yz, zz) = parameters[0], parameters[1:4], parameters[4:]
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    return np.block([[second, moment[:, None]], [moment[None, :], np.array([[mass]])]])


def _parameters(moments: np.ndarray) -> np.ndarray:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moments[:3, :3]
    return np.array([moments[3, 3], *moments[:3, 3], yy + zz, -xy, xx + zz, -xz, -yz, xx + yy])


def _clean(offset: np.ndarray) -> np.ndarray:
    return np.where(np.abs(offset) < _ROUNDOFF * max(1.0, np.abs(offset).max()), 0.0, offset)


def without_roundoff(model: Model) -> Model:
    """The same model where quarter turns of placements are exact: cos(π/2) is 6e-17 in a file's rotation, zero here.

    What is below the rounding of the numbers themselves is not information; as zeros it saves a third of the work.
    """
    require_rigid(model, "what was asked")
    bodies = tuple(replace(body, placement=_round_pose(body.placement)) for body in model.bodies)
    return replace(model, bodies=bodies)


def _round_pose(pose: Pose) -> Pose:
    rotation = pose.rotation
    whole = np.round(rotation)
    return Pose(xyz=pose.translation, rotation=np.where(np.abs(rotation - whole) < 4e-16, whole, rotation))
