"""The robot as a state space model, for filters that know nothing of mechanics (R87 §IX).

    x(k) = φ(k,k−1) x(k−1) + w(k),  w(k) ~ (b(k), M(k)),    τ(k) = H(k) x(k) + noise of variance A(k)    (52), (53)

"Time" runs from the tips to the base. The smoothed measurement errors, scaled by their variance, are the joint
accelerations. R87 sets n = 0; a moving arm's bias accelerations enter as the forces Mφ*n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.links.link_sizes import link_rows
from phistar.backends.links.mechanism import Mechanism
from phistar.backends.links.values import has_rotors
from phistar.backends.links.wide import mechanism_at
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.errors import ModelError, ShapeError
from phistar.estimation.link_arrays import over_links, require_joints
from phistar.estimation.square_root import mass_factor
from phistar.identities import smoothing
from phistar.model import Model, require_tree
from phistar.model.check import check_robot
from phistar.operators.nodes import Node
from phistar.operators.symbols import Symbols
from phistar.short_repr import short_repr
from phistar.spatial import times
from phistar.stated import states


@short_repr
@dataclass(frozen=True)
class StateSpace:
    """A robot as a state-space model over its joints, for filters of other packages.

    A step for every joint rate, tips first; the state has six entries for each branch that is open at once, one on a
    chain: where branches meet, their forces are added and room is free again. Where bodies bend, 6 is the width 6 + m
    of the widest link, [forces on its modes; moment; force], and a step measures each mode too. In independent rates a
    compound link is as wide as its members together, and a step measures each of its rates.

    Attributes
    ----------
    transition : (nv, 6w, 6w)
        φ(k,k−1) into a link, I between the rates of one joint; the first is I.
    design : (nv, 1, 6w)
        H.
    state_covariance : (nv, 6w, 6w)
        M, where a link is entered.
    state_input : (nv, 6w)
        b, where a link is entered.
    noise : (nv,)
        A, the armature as measurement noise.
    rates : (nv,)
        The rate that each step measures: `tau[rates]` is the series.
    places : (nv,)
        Where in the state the force on that joint's link stands: entries from `places[i]` to `places[i] + 6`, or the
        link's 6 + m.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.state_space(arm, q, v).transition.shape
    (6, 6, 6)
    """

    transition: Array
    design: Array
    state_covariance: Array
    state_input: Array
    noise: Array
    rates: Array
    places: Array


@states(lambda s: smoothing.known_forces(s) + s.M @ s.phi.T @ s.a, form=AS_WRITTEN)
def link_forces(model: Model, q: Any, v: Any) -> Array:
    """b + Mφ*n, (…, n, 6): the forces that moving with θ̈ = 0 takes, link by link (R87 eqs. 7, 24)."""
    return over_links(model, link_forces.evaluate(model, q, {"v": v}), columns=False)


def state_space(model: Model, q: Any, v: Any) -> StateSpace:
    """State-space model of a robot over its joints, as R87's filter sees it.

    Parameters
    ----------
    model : Model
        A tree, or a mechanism in independent rates, without gyroscopic rotors; joints of any dof.
    q, v : (nq,), (nv,)
        One state.

    Returns
    -------
    StateSpace

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.state_space(arm, q, v).design.shape
    (6, 1, 6)
    """
    require_tree(model, "state_space")
    require_joints(model)
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, whose noise would be correlated from link to link.")
    q, v = model.checked_q(q), model.checked(v, model.nv, "v")
    if q.ndim != 1 or v.ndim != 1:
        raise ShapeError(f"A state space model is of one state; q has shape {q.shape}, v {v.shape}.")
    links, forces = mechanism_at(model, q), link_forces(model, q, v)
    children, widths = _children(links.parents), link_rows(model, "links")
    slots = [max(widths) * slot for slot in _slots(children)]
    wide = max(slots) + max(widths)
    entered, covariance, given = np.eye(wide), np.zeros((wide, wide)), np.zeros(wide)
    steps: list[tuple[Any, ...]] = []
    for k in range(len(widths) - 1, -1, -1):
        here = slice(slots[k], slots[k] + widths[k])
        move = _into_link(links, children[k], slots, k, wide)
        entered, covariance, given = move @ entered, move @ covariance @ move.T, move @ given
        covariance[here, here] += links.mass(k)
        given[here] += forces[k, : widths[k]]
        for i, axis in enumerate(links.subspace(k).T):
            design, rate = np.zeros((1, wide)), links.rates[k].start + i
            design[0, here] = axis
            steps.append((entered, design, covariance, given, model.armature[rate], rate, here.start))
            entered, covariance, given = np.eye(wide), np.zeros((wide, wide)), np.zeros(wide)
    return StateSpace(*(np.array(column) for column in zip(*steps, strict=True)))


def _children(parents: tuple[int, ...]) -> list[list[int]]:
    """The links that hang on each link."""
    return [[child for child, parent in enumerate(parents) if parent == k] for k in range(len(parents))]


def _slots(children: list[list[int]]) -> list[int]:
    """The place in the state of each link's force: that of its first child, or one that is free."""
    slots, free, most = [0] * len(children), [], 0
    for k in range(len(children) - 1, -1, -1):
        own = children[k]
        if own:
            slots[k] = slots[own[0]]
            free += [slots[child] for child in own[1:]]
        elif free:
            slots[k] = free.pop()
        else:
            slots[k], most = most, most + 1
    return slots


def _into_link(links: Mechanism, children: list[int], slots: list[int], k: int, wide: int) -> np.ndarray:
    """The forces of all children carried to link k and added; what is open elsewhere stays, what is done is cleared."""
    move = np.eye(wide)
    if children:  # a link may be wider than the one whose room it takes
        move[slots[k] : slots[k] + max(map(links.width, range(len(slots))))] = 0.0
    for child in children:
        across = links.crossing(child)
        here, there = (slice(at, at + size) for at, size in zip((slots[k], slots[child]), across.shape, strict=True))
        move[there] = 0.0 if child != children[0] else move[there]
        move[here, there] = across
    return move


@states(lambda s: s.H @ s.phi @ s.F)
def propagate(model: Model, q: Any, w: Any) -> Array:
    """Hφw, (…, nv): the joint forces that hold link forces w, (…, 6n)."""
    return propagate.evaluate(model, q, {"F": w})


@states(lambda s: s.phi @ s.F)
def _link_forces(model: Model, q: Any, w: Any) -> Array:
    """φw, (…, 6n): the forces on the links, base held."""
    return _link_forces.evaluate(model, q, {"F": w})


def _free_base_forces(s: Symbols) -> Node:
    """φw − Rπ_f*(π_f r π_f*)⁻¹π_fφw: what is left when the base link carries no force."""
    pick, kernel = s.pi_f, s.phi @ s.M @ s.phi.T
    share = kernel @ pick.T @ (pick @ s.r @ pick.T).inv @ pick
    return s.phi @ s.F - share @ s.phi @ s.F


@states(_free_base_forces)
def _free_base_link_forces(model: Model, q: Any, w: Any) -> Array:
    """The same of a base that nothing holds."""
    return _free_base_link_forces.evaluate(model, q, {"F": w})


def sample_link_forces(model: Model, q: Any, count: int, rng: np.random.Generator, *, free_base: bool = False) -> Array:
    """Spatial forces on the links as a random process whose covariance is the kernel of the mass matrix.

    x = φw with white w of covariance M(k) has the covariance R = φMφ* (R87 eqs. 28, 52). Of a base that nothing holds,
    x is tied down at the base link as well, and has R̄ of the two-way decomposition: a Brownian bridge in six dimensions
    over the tree (RJ2W §5, eqs. 28, 38).

    Parameters
    ----------
    model : Model
        A tree without loops and without gyroscopic rotors; with `free_base`, one whose links hang on one base link.
    q : (nq,)
        One configuration.
    count : int
        How many samples.
    rng : numpy.random.Generator
    free_base : bool
        Whether the base link gives way.

    Returns
    -------
    (count, n, 6)
        Of robots that bend (count, n, w), with the widest link's w = 6 + m.

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> ps.estimation.sample_link_forces(arm, np.zeros(6), 1000, np.random.default_rng(0)).shape
    (1000, 6, 6)
    """
    white = _white_forces("sample_link_forces", model, q, count, rng)
    if free_base and model.parents.count(-1) != 1:
        raise ModelError(f"{model.name} has {model.parents.count(-1)} base links; a bridge is tied down at one.")
    return over_links(model, (_free_base_link_forces if free_base else _link_forces)(model, q, white), columns=False)


def _white_forces(name: str, model: Model, q: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """w, (count, Σw), with covariance M(k) link by link; of bodies that bend, with forces on their modes first."""
    check_robot(name, (model,))
    require_tree(model, name)
    require_joints(model)
    if has_rotors(model):
        raise ModelError(f"{model.name} has gyroscopic rotors, which no white noise is like.")
    links, rows = mechanism_at(model, model.checked_q(q)), link_rows(model, "links")
    white = np.split(rng.normal(size=(count, sum(rows))), np.cumsum(rows)[:-1], axis=-1)
    made = [times(mass_factor(links, model, k), own) for k, own in enumerate(white)]
    return np.concatenate(made, axis=-1)


def sample_joint_forces(model: Model, q: Any, count: int, rng: np.random.Generator) -> Array:
    """Joint forces of random link forces, whose covariance is the mass matrix.

    τ = Hφw + noise with white w of covariance M(k) (R87 eqs. 52, 53).

    Parameters
    ----------
    model : Model
    q : (nq,)
        One configuration.
    count : int
        How many samples.
    rng : numpy.random.Generator

    Returns
    -------
    (count, nv)

    Examples
    --------
    >>> arm = ps.load("puma560")
    >>> q, v, tau = np.zeros((3, 6))
    >>> ps.estimation.sample_joint_forces(arm, q, 1000, np.random.default_rng(0)).shape
    (1000, 6)
    """
    white = _white_forces("sample_joint_forces", model, q, count, rng)
    return propagate(model, q, white) + np.sqrt(model.armature) * rng.normal(size=(count, model.nv))
