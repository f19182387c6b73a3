"""How a step's result changes with the state and the command it starts from, by the implicit function theorem.

r(v⁺, δ, v, u) = 0 is what the step solves: N ∂v⁺ = −∂r, N = ∂r/∂v⁺ = A − ∂(J*λ)/∂v⁺, unsymmetric where contacts slide.
Bristles and whatever else a state remembers are held as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phistar.backends.native_door import bound
from phistar.constraints import columns as c
from phistar.errors import PhistarError
from phistar.geometry.place_changes import PLACE_CHANGE, VARYING, place_change_loops
from phistar.plant.actuators import TOLD
from phistar.plant.batch_loop import MODE, PART_ONLY
from phistar.plant.commands import command_of
from phistar.plant.contact_partials import ContactPart, Places, contact_free, contact_part
from phistar.plant.motion_partials import (
    Bodies,
    Floating,
    FreeState,
    free_move,
    free_residual,
    free_state,
    joint_flow,
    tree_bodies,
    tree_residual,
)
from phistar.plant.row_partials import add_rows, command_partials
from phistar.plant.session import PlantState, Session
from phistar.plant.tree_columns import TREE_NQ, TREE_Q
from phistar.plant.world_screws import RateOrder, screws_of

if TYPE_CHECKING:
    from phistar.plant.plant import Plant


class StepDerivatives(NamedTuple):
    """The state after a step, and its change with x = (δq, v): `state` (2nv, 2nv) = ∂x⁺/∂x and `command` (2nv, nu) =
    ∂x⁺/∂u, in tangent coordinates, q ⊕ δq (`model.integrate`)."""

    after: PlantState
    state: np.ndarray
    command: np.ndarray


class _Tree(NamedTuple):
    """A tree where a step starts: its model and coordinates, its springs, whether it floats, and its bodies."""

    model: Any
    q: np.ndarray
    elastic: np.ndarray
    floats: bool
    bodies: Bodies
    node: int


class _Start(NamedTuple):
    """Table entries as they are between a step's solve and its moves."""

    v: np.ndarray
    before: np.ndarray
    mass: list[np.ndarray]
    places: Places
    screws: np.ndarray
    bodies: list[FreeState]
    touched: np.ndarray
    trees: list[_Tree]


def step_derivatives(plant: Plant, state: PlantState, command: Any = None, h: float = 0.002) -> StepDerivatives:
    """Differentiate a step of the plant: exact, by the implicit function theorem.

    Contact is included, with the change of gaps, normals and points of contact; where one slides, friction's bound
    follows the normal force. What contacts remember (bristles) is held fixed.

    Parameters
    ----------
    state : PlantState
        Where the step starts.
    command : (nu,), optional
        As for `plant.step`.
    h : float
        In s.

    Returns
    -------
    StepDerivatives
        `after`, the state that `plant.step` gives; `state` (2nv, 2nv) and `command` (2nv, nu), the change of
        (δq, v) after the step with (δq, v) before it and with the command.

    Raises
    ------
    PhistarError
        Where the step has impacts or is taken in several parts, and for plants with loops, tendons, bodies that bend or
        delayed actuators.

    Examples
    --------
    >>> import phistar as ps
    >>> plant = ps.Plant()
    >>> plant.add(ps.load("planar2"), "arm")
    >>> plant.step_derivatives(plant.state([0.3, 0.2]), h=0.01).state.shape
    (4, 4)
    """
    if plant.closures:
        raise PhistarError("Steps of plants with loops are not differentiated yet; take differences of plant.step.")
    if plant.model.is_flexible:
        raise PhistarError("Steps of bodies that bend are not differentiated; take differences of plant.step.")
    if plant.tendons:
        raise PhistarError("Steps of plants with tendons are not differentiated; take differences of plant.step.")
    if plant.fields or plant.session.drag.any():
        told = "fields" if plant.fields else "free bodies with damping"
        raise PhistarError(f"Steps of plants with {told} are not differentiated; take differences of plant.step.")
    if any(actuator.kind in TOLD for actuator in plant.actuators):
        raise PhistarError("Steps with prescribed or locked joints are not differentiated; take differences of steps.")
    if any(actuator.delay > 0.0 for actuator in plant.actuators):
        raise PhistarError(
            "A step with delayed actuators depends on earlier commands; set delay=0 to differentiate it."
        )
    session = plant.session
    start, order, contacts, rows, drives = _solved(plant, session, state, command, h)
    after = plant.step(state, command, h)
    counts = session.engine.counts
    if counts[c.IMPACTS] or counts[c.SUBSTEPS] != 1:
        raise PhistarError(
            f"The step at this state has {int(counts[c.IMPACTS])} impacts and {int(counts[c.SUBSTEPS])} parts; its "
            "derivative is that of one part without impacts: take a shorter step."
        )
    by_place, by_rates, by_force = _answers(start, contacts, rows, drives, h)
    made = _moved(session, start, order, contacts, (by_place, by_rates, by_force), h)
    return StepDerivatives(after, *_in_model(plant, session, start, order, made))


def _solved(plant: Plant, session: Session, state: PlantState, command: Any, h: float) -> Any:
    """The engine's step, solved and not moved, with what it takes to differentiate it."""
    engine = session.engine
    session.load(state)
    session.drive(command, h=h)
    engine.numbers[c.LENGTH], engine.batch[MODE], engine.counts[c.WHOLE] = h, PART_ONLY, 1
    engine.serve()
    engine.check()
    while engine.counts[c.FULL]:
        engine.grow()
        session.load(state)
        engine.batch[MODE] = PART_ONLY
        engine.serve()
    engine.counts[c.WHOLE] = 0
    order, table = engine.rate_order, engine.tables
    places = _places(engine, not state.memory)
    blocks = []
    for node in range(int(engine.counts[c.NODES])):
        size, block = (int(x) for x in table["nodes"][node, [c.SIZE, c.BLOCK]])
        blocks.append(table["mass"][block : block + size * size].reshape(size, size).copy())
    screws, total, free = screws_of(engine), engine.system.model.nv, len(engine.system.free)
    start = _Start(
        table["v"][:total].copy(), table["before"][:total].copy(), blocks, places, screws,
        [free_state(table, f) for f in range(free)], table["nodes"][:, c.TOUCHED].copy(),
        [_tree(engine, free + k, screws, order) for k in range(len(engine.system.trees))],
    )  # fmt: skip
    contacts = contact_part(places, order, screws, start.v, h) if len(places.rows) else contact_free(total)
    given = command_of(command, plant.actuators, plant.model, plant.name)
    rows = add_rows(engine, h)
    drives = command_partials(engine, plant.actuators, given, order, h)
    return start, order, contacts, rows, drives


def _places(engine: Any, fresh: bool) -> Places:
    """The contacts that push, with how their places change."""
    table, count = engine.tables, int(engine.counts[c.CONTACTS])
    if not count:
        return Places(*(np.zeros((0, *shape)) for shape in ((c.CONTACT_FLOATS,), (2,), (7, 6), ())))
    changed = _place_changes(engine)
    rows = table["contacts"][:count]
    acts = (rows[:, c.IMPULSE : c.IMPULSE + 3] != 0.0).any(axis=1) | (rows[:, c.HESSIAN + 3] != 0.0)
    chosen = np.flatnonzero(acts)
    changes = np.swapaxes(changed[chosen].reshape(-1, 6, 7), 1, 2)
    held = (rows[chosen, c.OFFSET] > 0.0) & fresh
    bodies = table["contact_wholes"][chosen][:, [c.BODY_A, c.BODY_B]].copy()
    return Places(rows[chosen].copy(), bodies, changes, held)


def _place_changes(engine: Any) -> np.ndarray:
    """(contacts, 42): the narrow phase, differentiated; its code is bound anew only where the tables have grown."""
    table = engine.tables
    if engine.changing is None or engine.changing[0] is not table["contacts"]:
        doubled = {f"{name}_d": np.zeros_like(table[name]) for name in VARYING}
        extra = {"place_changes": np.zeros((len(table["contacts"]), PLACE_CHANGE)), "direction": np.zeros(1, np.int64)}
        call = bound(place_change_loops(), table | doubled | extra, {})
        engine.changing = table["contacts"], call, extra["place_changes"]
    engine.changing[1]()
    return engine.changing[2]


def _answers(start: _Start, contacts: ContactPart, rows: Any, drives: Any, h: float) -> tuple[np.ndarray, ...]:
    """∂v⁺ by δ, by v and by the command: N⁻¹ of the residual's changes."""
    total = len(start.v)
    system, by_place, by_rates = np.zeros((total, total)), np.zeros((total, total)), np.zeros((total, total))
    at = 0
    for block, (own_place, own_rates) in zip(start.mass, _residuals(start, h), strict=True):
        own = slice(at, at + len(block))
        system[own, own], by_place[own, own], by_rates[own, own] = block, -own_place, -own_rates
        at += len(block)
    system -= contacts.by_rates
    system[np.diag_indices(total)] += rows.slopes
    by_place += contacts.by_place + np.diag(rows.by_place)
    found = np.linalg.solve(system, np.concatenate([by_place, by_rates, drives], axis=1))
    return found[:, :total], found[:, total : 2 * total], found[:, 2 * total :]


def _tree(engine: Any, node: int, screws: np.ndarray, order: RateOrder) -> _Tree:
    table, kernels = engine.tables, engine.moves.kernels[node - len(engine.system.free)]
    first, count = (int(x) for x in table["tree_wholes"][node - len(engine.system.free), [TREE_Q, TREE_NQ]])
    at = int(table["nodes"][node, c.OWN_AT])
    elastic, floats = table["elastic"][at : at + kernels.model.nv].copy(), table["nodes"][node, c.TREE] == 2
    q = table["tree_q"][first : first + count].copy()
    return _Tree(kernels.model, q, elastic, bool(floats), tree_bodies(engine, node, screws, order), node)


def _residuals(start: _Start, h: float) -> Any:
    """∂r/∂δ and ∂r/∂v of node after node."""
    for f, body in enumerate(start.bodies):
        yield free_residual(body, start.v[6 * f : 6 * f + 6], h)
    at = 6 * len(start.bodies)
    for tree in start.trees:
        own = slice(at, at + tree.model.nv)
        yield tree_residual(tree.model, tree.q, start.before[own], start.v[own], tree.elastic, h, tree.floats)
        at += tree.model.nv


def _moved(
    session: Session, start: _Start, order: RateOrder, contacts: ContactPart, answers: tuple[np.ndarray, ...], h: float
) -> np.ndarray:
    """∂(δ⁺, v⁺) (2R, 2R + nu) by δ, v and the command; the engine stands where the step ended."""
    engine, total = session.engine, len(start.v)
    solved = np.concatenate(answers, axis=1)
    width = solved.shape[1]
    places, before = np.eye(total, width), np.eye(total, width, total)
    made = np.zeros((2 * total, width))
    for f, body in enumerate(start.bodies):
        own = slice(6 * f, 6 * f + 6)
        parts = free_move(body, free_state(engine.tables, f), start.v[own], bool(start.touched[f]), h)
        change = parts[0] @ places[own] + parts[1] @ before[own] + parts[2] @ solved[own]
        made[own], made[total + 6 * f : total + 6 * f + 6] = change[:6], change[6:]
    at, screws = 6 * len(start.bodies), screws_of(engine)
    for tree in start.trees:
        own = slice(at, at + tree.model.nv)
        by_place, by_after = joint_flow(tree.model, start.v[own], h)
        moved, rates = by_place @ places[own] + by_after @ solved[own], solved[own]
        if tree.floats:
            end = tree_bodies(engine, tree.node, screws, order)
            ahead = engine.tables["before"][own].copy()
            gravity = np.asarray(engine.system.model.gravity)
            floating = Floating(tree.bodies, end, start.before[own], ahead, gravity, h)
            wrench = _wrench(engine, start.places, contacts, tree.node)
            owed = floating.owed_by_place(np.zeros((6, tree.model.nv))) @ places[own]
            owed = owed + tree.bodies.momentum_map() @ before[own]
            owed = owed + wrench[0] @ places + wrench[1] @ solved
            moved = floating.moved(moved, owed, places[own])
            rates = floating.rates(moved, owed, rates)
        made[own], made[total + at : total + at + tree.model.nv] = moved, rates
        at += tree.model.nv
    return made


def _wrench(engine: Any, places: Places, contacts: ContactPart, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Partials of a tree's contact wrench by δ and v⁺, (6, R) each."""
    first, last = len(engine.system.free), len(engine.system.free) + len(engine.system.trees)
    owner = np.full(len(engine.system.model.bodies) + 1, -1)
    for number in range(first, last):
        at = int(engine.tables["nodes"][number, c.BODY])
        owner[at : at + len(engine.system.trees[number - first])] = number
    signs = (owner[places.bodies.astype(int)] == node) @ np.array([1.0, -1.0])
    return tuple(np.einsum("n,nir->ir", signs, x) for x in (contacts.wrench_by_place, contacts.wrench_by_rates))


def _in_model(
    plant: Plant, session: Session, start: _Start, order: RateOrder, made: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """From the step's own rates and displacements to the model's: free bodies have theirs in their own frames."""
    total, nu = len(start.v), plant.nu
    into, out = np.eye(2 * total), np.eye(2 * total)
    for f, body in enumerate(start.bodies):
        own, rates = slice(6 * f, 6 * f + 6), slice(total + 6 * f, total + 6 * f + 6)
        into[own, own], into[rates, rates] = body.frame, body.frame
        into[rates, own] = body.turning @ body.frame
        end = free_state(session.engine.tables, f)
        back = np.linalg.inv(end.frame)
        out[own, own], out[rates, rates] = back, back
        out[rates, own] = -back @ end.turning
    whole = out @ np.concatenate([made[:, : 2 * total] @ into, made[:, 2 * total :]], axis=1)
    index = np.concatenate([order.rates, total + order.rates])
    state, command = np.zeros((2 * total, 2 * total)), np.zeros((2 * total, nu))
    state[np.ix_(index, index)] = whole[:, : 2 * total]
    command[index] = whole[:, 2 * total :]
    return state, command
