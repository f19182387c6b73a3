"""Single-state calls, as a control loop makes them: every public function against Pinocchio's Python calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import phistar as ps
from phistar.cli.benchmark.benchmark_tasks import TASK_DIMENSIONS, States, frame_of
from phistar.cli.benchmark.peer_calls import PeerCalls
from phistar.cli.benchmark.peer_pinocchio import Pinocchio
from phistar.cli.benchmark.timing import calls_for, calls_in_turn, contest, rows_of
from phistar.model import Model

Facts = dict[str, Any]
FORCE = (0.1, -0.2, 0.3, 1.0, -2.0, 3.0)
LARGEST_TENSOR = 12  # rates of robots whose second derivatives are timed


def single_calls(model: Model, pin: Pinocchio | None, states: States, seconds: float) -> list[Facts]:
    """Each function: nanoseconds a call of ours and of Pinocchio's, their ratio, and how far the results differ. With
    loops, Pinocchio's calls are those of the spanning tree, and nothing is compared but time."""
    peers = None if pin is None else PeerCalls(pin)
    given = _arrays(model, states)
    return [_time_call(name, model, peers, given, seconds) for name in _calls(model, "")]


def _arrays(model: Model, states: States) -> dict[str, np.ndarray]:
    """Arguments of the functions by name: one row per state."""
    force = np.tile(FORCE, (states.count, 1))
    other = np.roll(states.q, 1, axis=0)
    return {"q": states.q, "v": states.v, "a": states.tau[::-1], "tau": states.tau, "f": force, "other": other}


def _time_call(name: str, model: Model, peers: PeerCalls | None, given: dict[str, np.ndarray], seconds: float) -> Facts:
    count, (taken, ours) = calls_for(model.nv), _calls(model, frame_of(model))[name]
    arrays = tuple(given[x] for x in taken)
    rows = rows_of(arrays, count) if arrays else [()] * count
    run, differs = {"ours": calls_in_turn(ours, rows)}, None
    theirs = None if peers is None else peers.of(name)
    if peers is not None and theirs is not None:
        call, read = theirs
        peer_rows = [_as_peer(peers, name, taken, row) for row in rows]
        if not _answers(call, peer_rows):
            return _time_call(name, model, None, given, seconds)
        run["pin"] = calls_in_turn(call, peer_rows)
        if read is not None and not model.loops:
            found, wanted = np.asarray(ours(*rows[0])), read(call(*peer_rows[0]))
            differs = float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1.0))
    best = {who: timing.best for who, timing in contest(run, seconds).items()}
    ratio = best["pin"] / best["ours"] if "pin" in best else None
    return {"function": name, "ours_ns": best["ours"], "pin_ns": best.get("pin"), "ratio": ratio, "differs": differs}


def _answers(call: Callable[..., Any], rows: list[tuple[Any, ...]]) -> bool:
    """Whether a peer's call exists at all states: NumPy inverts no singular matrix, which some tasks have."""
    try:
        for row in rows:
            call(*row)
    except np.linalg.LinAlgError:
        return False
    return True


def _as_peer(peers: PeerCalls, name: str, taken: tuple[str, ...], row: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    """Our arguments in Pinocchio's order of velocities, a force as it takes one."""
    order = peers.pin.order
    made: list[Any] = [x if kind in ("q", "other", "f") else x[order] for kind, x in zip(taken, row, strict=True)]
    if name.endswith("f_ext"):
        made[-1] = peers.forces(row[0], row[-1])
    return tuple(made)


def _calls(model: Model, frame: str) -> dict[str, tuple[tuple[str, ...], Callable[..., Any]]]:
    """Every public function of one state: what it takes, and the call as a user writes it."""
    q, v, tau, a, f = ("q",), ("q", "v"), ("q", "v", "tau"), ("q", "v", "a"), ("q", "f")
    plain = {
        **dict.fromkeys(("gravity_load", "mass_matrix", "mass_matrix_inverse", "center_of_mass"), q),
        **dict.fromkeys(("center_of_mass_jacobian", "centroidal_map", "composite_inertia", "potential_energy"), q),
        **dict.fromkeys(("bias", "coriolis_matrix", "kinetic_energy", "momentum", "joint_friction"), v),
        **dict.fromkeys(("forward_dynamics", "forward_dynamics_derivatives", "linearize"), tau),
        **dict.fromkeys(("inverse_dynamics", "inverse_dynamics_derivatives", "regressor"), a),
        "force_response": ("q", "tau"),
        **({} if model.loops else {"innovations": q, "forward_dynamics_two_step": tau}),
        **({"inverse_dynamics_second_derivatives": a} if model.nv <= LARGEST_TENSOR else {}),
    }
    framed = {
        **dict.fromkeys(("jacobian", "forward_kinematics", "mobility"), q),
        **dict.fromkeys(("frame_velocity", "jacobian_dot_v", "task_mobility"), v),
        **({"operational_space": v} if model.nv >= TASK_DIMENSIONS else {}),
        "frame_acceleration": a,
    }
    made = {name: (given, partial(getattr(ps, name), model)) for name, given in plain.items()}
    made |= {name: (given, _at(getattr(ps, name), model, frame, len(given))) for name, given in framed.items()}
    rng, methods = np.random.default_rng(0), {"integrate": v, "difference": ("q", "other"), "normalized": q}
    return {
        **made,
        "tip_acceleration_change": (f, lambda q, f: ps.tip_acceleration_change(model, q, frame, f)),
        "forward_dynamics, f_ext": ((*tau, "f"), lambda q, v, t, f: ps.forward_dynamics(model, q, v, t, {frame: f})),
        "inverse_dynamics, f_ext": ((*a, "f"), lambda q, v, a, f: ps.inverse_dynamics(model, q, v, a, {frame: f})),
        **{name: (given, getattr(model, name)) for name, given in methods.items()},
        "neutral": ((), model.neutral),
        "random": ((), partial(model.random, rng)),
    }


def _at(function: Callable[..., Any], model: Model, frame: str, arrays: int) -> Callable[..., Any]:
    """The call at a frame, written out: to pass on any number of arguments would take as long as some functions do."""
    match arrays:
        case 1:
            return lambda q: function(model, q, frame)
        case 2:
            return lambda q, v: function(model, q, v, frame)
    return lambda q, v, a: function(model, q, v, a, frame)
