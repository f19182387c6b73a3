"""The filter as an associative scan: forward dynamics of a chain in a number of steps that grows as log n.

What a stretch of links does to the estimate that reaches it is five blocks (A, b, C, η, J), and stretches combine: the
elements of Särkkä and García-Fernández (IEEE Trans. Automat. Contr. 66, 2021), in mechanics a body with two handles.
Written beside the algebra, whose sweeps go link by link. `ps.forward_dynamics` is far faster wherever it was measured;
this is for seeing what depth costs in work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import has_wide_links, link_parents, link_rows, links_of
from phistar.backends.links.values import Links, bias_acceleration, bias_force, has_rotors
from phistar.backends.links.wide import mechanism_at
from phistar.errors import ModelError
from phistar.model import Model, require_tree
from phistar.spatial import force_transform, times, transposed
from phistar.stated_arguments import broadcast_state

Elements = tuple[np.ndarray, ...]


def associative_scan(combine: Callable[[Elements, Elements], Elements], elements: Elements) -> Elements:
    """e₁, e₁∘e₂, …, e₁∘…∘eₙ along the first axis: fewer than 2n combinations, at most 2 log₂ n of them in a row.

    Pairs are combined, their scan is the odd places of the result, and one more combination each fills the even ones.
    """
    n = len(elements[0])
    if n < 2:
        return elements
    pairs = combine(tuple(x[: n - 1 : 2] for x in elements), tuple(x[1::2] for x in elements))
    odd = associative_scan(combine, pairs)
    even = tuple(x[:1] for x in elements)
    if n > 2:
        later = combine(tuple(x[: (n - 1) // 2] for x in odd), tuple(x[2::2] for x in elements))
        even = tuple(np.concatenate(both) for both in zip(even, later, strict=True))
    results = tuple(np.empty((n, *x.shape[1:])) for x in odd)
    for result, x, y in zip(results, even, odd, strict=True):
        result[::2], result[1::2] = x, y
    return results


class _Kind(Protocol):
    """Joint interface used here: pose and subspace at coordinates (…, 1)."""

    def pose(self, q: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]: ...
    def subspace(self, q: np.ndarray, /) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class _Chain:
    """A chain at q, blocks link by link, base first, of w rows with a link's own last: H (n, …, r, w), ℰφ (n, …, w, w),
    M (n, …, w, w), A (n, …, r, r), one where a link has fewer rates; `rates` (n, r) tells which, −1 of those. `biases`
    gives a and b at V and θ̇."""

    H: np.ndarray
    carry: np.ndarray
    mass: np.ndarray
    armature: np.ndarray
    rates: np.ndarray
    biases: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

    def over_rates(self, x: np.ndarray) -> np.ndarray:
        """(n, …, r, 1) of a vector over the rates, (…, nv)."""
        padded = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
        return np.moveaxis(padded[..., self.rates], -2, 0)[..., None]


@dataclass(frozen=True, eq=False)
class _Tables:
    """Constants of rigid links, base first, independent of q; `alike`: joints of one kind and where they are."""

    rotation: np.ndarray
    offset: np.ndarray
    mass: np.ndarray
    armature: np.ndarray
    alike: tuple[tuple[_Kind, np.ndarray], ...]


def scanned_forward_dynamics(model: Model, q: Any, v: Any, tau: Any) -> Array:
    """Joint accelerations by parallel scans over the links.

    θ̈ = ℳ⁻¹(τ − C): velocities, bias accelerations, filter (R87 eqs. 35-43) and smoother (44-47), each a scan of
    logarithmic depth. For serial chains of joints with one freedom, without gyroscopic rotors, each of whose links has
    inertia about its own joint. Bodies may bend: what their modes feel is measured with their joint, and blocks are as
    wide as the widest link, 6 + m. In independent rates compound links stand in a row.

    Parameters
    ----------
    model : Model
    q, v, tau : (…, nq), (…, nv), (…, nv)
        Joint coordinates, rates and forces.

    Returns
    -------
    (…, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> found = ps.estimation.scanned_forward_dynamics(arm, q, v, tau)
    >>> bool(np.allclose(found, ps.forward_dynamics(arm, q, v, tau)))
    True
    """
    require_tree(model, "scanned_forward_dynamics")
    _refuse_branches(model)
    q, v = broadcast_state(model, q, v)
    q, tau = broadcast_state(model, q, model.checked(tau, model.nv, "tau"))
    v = np.broadcast_to(v, (*q.shape[:-1], model.nv))
    chain = _wide_chain(model, q) if has_wide_links(model) else _rigid_chain(model, q)
    measured = chain.over_rates(tau)
    z, P = _filter(chain, _known_force(model, chain, chain.over_rates(v)), measured)
    found, result = _smooth(chain, z, P, measured)[..., 0], np.empty(tau.shape)
    for rates, own in zip(chain.rates, found, strict=True):
        result[..., rates[rates >= 0]] = own[..., rates >= 0]
    return result


# What the chain is


def _rigid_chain(model: Model, q: np.ndarray) -> _Chain:
    tables = model.kept("scan", lambda: _tables(model))  # to read 10,000 links takes longer than to scan them
    links, H, carry = _link_arrays(model, tables, np.moveaxis(q, -1, 0))
    mass, armature = _per_link(tables.mass, links.q), tables.armature.reshape(-1, *(1,) * (H.ndim - 1))

    def biases(velocity: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return bias_acceleration(links, 0, velocity, rates), bias_force(mass, velocity)

    rates = np.array([[joint.v_slice.start] for joint in model.joints])
    return _Chain(H, carry, np.broadcast_to(mass, carry.shape), armature, rates, biases)


def _wide_chain(model: Model, q: np.ndarray) -> _Chain:
    """Chain of links of any width, each in the last rows of blocks as wide as the widest."""
    links, n, batch = mechanism_at(model, q), len(link_parents(model)), q.shape[:-1]
    wide, most = max(link_rows(model, "links")), max(link_rows(model, "joints"))
    H, armature = np.zeros((n, *batch, most, wide)), np.zeros((n, *batch, most, most))
    carry, mass = np.zeros((2, n, *batch, wide, wide))
    rates = np.full((n, most), -1)
    for k, own in enumerate(links.rates):
        r, first = own.stop - own.start, wide - links.width(k)
        rates[k, :r] = range(own.start, own.stop)
        H[k, ..., :r, first:] = transposed(links.subspace(k))
        armature[k, ..., :r, :r], armature[k, ..., range(r, most), range(r, most)] = links.armature(k), 1.0
        crossing, mass[k, ..., first:, first:] = links.crossing(k), links.mass(k)
        carry[k, ..., wide - crossing.shape[-2] :, first:] = crossing
        _refuse_hollow(model, k, np.matmul(np.matmul(H[k], mass[k]), transposed(H[k])) + armature[k])

    def biases(velocity: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = np.zeros(velocity.shape), np.zeros(velocity.shape)
        cut = [velocity[k, ..., wide - links.width(k) :, :] for k in range(n)]
        for k, own in enumerate(cut):
            first, r = wide - own.shape[-2], links.rates[k].stop - links.rates[k].start
            a[k, ..., first:, :] = links.bias_acceleration(k, own, cut[k - 1] if k else None, moving[k, ..., :r, :])
            b[k, ..., first:, :] = links.bias_force(k, links.mass(k), own)
        return a, b

    return _Chain(H, carry, mass, armature, rates, biases)


def _refuse_branches(model: Model) -> None:
    in_a_row = link_parents(model) == tuple(range(-1, len(link_parents(model)) - 1))
    turning = model.embedding is None and any(joint.nv != 1 or joint.nq != 1 for joint in model.joints)
    if not in_a_row or turning or has_rotors(model):
        raise ModelError(
            f"{model.name} is not a serial chain of one-dof joints, or of compound links, without gyroscopic rotors, "
            "which a scan is along; use ps.forward_dynamics."
        )


def _tables(model: Model) -> _Tables:
    for k, (body, joint) in enumerate(zip(model.bodies, model.joints, strict=True)):
        axis = joint.kind.subspace(np.zeros(1))
        _refuse_hollow(model, k, axis.T @ body.inertia.matrix @ axis + joint.kind.armature_diagonal)
    places: dict[int, list[int]] = {}
    for k, joint in enumerate(model.joints):
        places.setdefault(id(joint.kind), []).append(k)
    return _Tables(
        rotation=np.stack([body.placement.rotation for body in model.bodies]),
        offset=np.stack([body.placement.translation for body in model.bodies]),
        mass=np.stack([body.inertia.matrix for body in model.bodies]),
        armature=np.array(model.armature, dtype=float),
        alike=tuple((model.joints[at[0]].kind, np.array(at)) for at in places.values()),
    )


def _refuse_hollow(model: Model, k: int, variance: np.ndarray) -> None:
    """An element divides by HMH* + A of its own link, where the sweep divides by D, of all that is outboard too."""
    if not (np.linalg.eigvalsh(variance)[..., 0] > 0.0).all():
        name = model.bodies[links_of(model)[k][0]].name
        raise ModelError(
            f"{name} of {model.name} has no inertia about its own joint, which a scan divides by; use "
            "ps.forward_dynamics."
        )


def _link_arrays(model: Model, tables: _Tables, q: np.ndarray) -> tuple[Links, np.ndarray, np.ndarray]:
    """All links as one whose leading axes are (n, …); H, (n, …, 1, 6); φ(k−1,k), (n, …, 6, 6)."""
    turn, shift = np.empty((*q.shape, 3, 3)), np.empty((*q.shape, 3))
    subspace = np.empty((*q.shape, 6, 1))
    for kind, at in tables.alike:
        turn[at], shift[at] = kind.pose(q[at][..., None])
        subspace[at] = kind.subspace(q[at][..., None])
    fixed = _per_link(tables.rotation, q)
    rotation = np.matmul(fixed, turn)
    offset = _per_link(tables.offset, q) + times(fixed, shift)
    links = Links(model, q, (rotation,), (offset,), (subspace,))
    return links, np.swapaxes(subspace, -1, -2), force_transform(rotation, offset)


def _per_link(table: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(n, a, b) as (n, 1, …, 1, a, b), which broadcasts against q's batch."""
    return table.reshape(len(table), *(1,) * (q.ndim - 1), *table.shape[1:])


# The scans


def _affine(first: Elements, second: Elements) -> Elements:
    """x → A₂(A₁x + c₁) + c₂."""
    return np.matmul(second[0], first[0]), np.matmul(second[0], first[1]) + second[1]


def _known_force(model: Model, chain: _Chain, rates: np.ndarray) -> np.ndarray:
    """b + Mφ*(a + E*a_g), (n, …, w, 1): the input that moving with θ̈ = 0 gives (R87 eqs. 7, 24)."""
    outward = transposed(chain.carry)
    moves, velocity = associative_scan(_affine, (outward, np.matmul(transposed(chain.H), rates)))
    bias, force = chain.biases(velocity, rates)
    ground = np.concatenate([np.zeros(outward.shape[-1] - 3), -np.asarray(model.gravity, dtype=float)])[:, None]
    acceleration = associative_scan(_affine, (outward, bias))[1] + np.matmul(moves, ground)
    return np.matmul(chain.mass, acceleration) + force


def _filter(chain: _Chain, force: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """z⁻ and P⁻ of every link, base first: the scan's z⁺, P⁺ of the link outboard, moved."""
    carry = chain.carry
    transition = np.concatenate([carry[1:], np.zeros_like(carry[:1])])  # link k's from k+1; nothing reaches the tip
    own = _elements(chain, transition, force, tau)
    _, after, spread, _, _ = associative_scan(_stretch, tuple(x[::-1] for x in own))
    outboard = [np.concatenate([x[::-1][1:], np.zeros_like(x[:1])]) for x in (after, spread)]
    z = np.matmul(transition, outboard[0]) + force
    P = np.matmul(np.matmul(transition, outboard[1]), transposed(transition)) + chain.mass
    return z, (P + transposed(P)) / 2


def _elements(chain: _Chain, transition: np.ndarray, force: np.ndarray, tau: np.ndarray) -> Elements:
    """(A, b, C, η, J) of one link: moved to it, M added, its joint measured (Särkkä and García-Fernández 2021)."""
    H, mass = chain.H, chain.mass
    HM = np.matmul(H, mass)
    variance = np.matmul(HM, transposed(H)) + chain.armature
    seen, new = np.matmul(H, transition), tau - np.matmul(H, force)
    gain = transposed(np.linalg.solve(variance, HM))
    told = np.linalg.solve(variance, np.concatenate([new, seen], axis=-1))
    return (
        transition - np.matmul(gain, seen),
        force + np.matmul(gain, new),
        mass - np.matmul(gain, HM),
        np.matmul(transposed(seen), told[..., :1]),
        np.matmul(transposed(seen), told[..., 1:]),
    )


def _stretch(first: Elements, second: Elements) -> Elements:
    """Two stretches as one, the first outboard (Särkkä and García-Fernández 2021)."""
    (A, b, C, eta, J), (A2, b2, C2, eta2, J2) = first, second
    w = A.shape[-1]
    right = np.concatenate([A, b + np.matmul(C, eta2), C], axis=-1)
    met = np.linalg.solve(np.eye(w) + np.matmul(C, J2), right)
    back = transposed(met[..., :w])
    moved = np.matmul(A2, met)
    spread = np.matmul(moved[..., w + 1 :], transposed(A2)) + C2
    doubt = np.matmul(back, np.matmul(J2, A)) + J
    return (
        moved[..., :w],
        moved[..., w : w + 1] + b2,
        (spread + transposed(spread)) / 2,
        np.matmul(back, eta2 - np.matmul(J2, b)) + eta,
        (doubt + transposed(doubt)) / 2,
    )


def _smooth(chain: _Chain, z: np.ndarray, P: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """θ̈ = e⁺ − G*λ⁺, with λ⁻ = (I − GH)*λ⁺ + H*e⁺ and λ⁺(k) = φ*λ⁻(k−1) scanned outward (R87 eqs. 44-47)."""
    H = chain.H
    HP = np.matmul(H, P)
    D = np.matmul(HP, transposed(H)) + chain.armature
    solved = np.linalg.solve(D, np.concatenate([tau - np.matmul(H, z), HP], axis=-1))
    residual, gain = solved[..., :1], transposed(solved[..., 1:])
    closed = transposed(np.eye(H.shape[-1]) - np.matmul(gain, H))
    outward = transposed(chain.carry)
    _, below = associative_scan(_affine, (np.matmul(closed, outward), np.matmul(transposed(H), residual)))
    arriving = np.concatenate([np.zeros_like(below[:1]), np.matmul(outward[1:], below[:-1])])
    return residual - np.matmul(transposed(gain), arriving)
