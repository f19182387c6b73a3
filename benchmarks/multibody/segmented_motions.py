"""Four motions of a beam in the plane x, y, and the same of `ps.beam` with a few modes: what `segments.py` compares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import phistar as ps

Told = tuple[np.ndarray, np.ndarray, np.ndarray]
PIN = ps.Revolute(axis=(0, 0, 1))
STIFF = 1e5  # times as stiff out of the plane, in which nothing happens


@dataclass(frozen=True)
class Motion:
    """A beam whose root's place and turn are told (a hinge's turn is not), and what is looked at at some times.

    `told` gives (x, y, turn), rates and accelerations at t; `seen` what is compared, of the places of hinges and tip;
    `across` the direction that the far pin cannot take, None where it is free; `bent` the same of a beam of modes.
    """

    length: float
    EI: float
    mass_per_length: float
    step: float
    times: tuple[float, ...]
    told: Callable[[float], Told]
    seen: Callable[[np.ndarray, float], np.ndarray]
    bent: Callable[[int], np.ndarray]
    across: Callable[[np.ndarray], np.ndarray | None] = lambda tip: None
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)
    clamped: bool = False
    gravity: float = 0.0
    tip_mass: float = 0.0


def _still(t: float) -> Told:
    return np.zeros(3), np.zeros(3), np.zeros(3)


# A pendulum that falls from the horizontal ------------------------------------------------------------------------

FALLS = (0.2, 0.4, 0.6)


def _fallen(modes: int) -> np.ndarray:
    b = ps.ModelBuilder("pendulum", gravity=(0, -9.81, 0))
    b.body("rod", joint=PIN, inertia=ps.beam(1.0, (20.0, 20.0 * STIFF), 1.0, modes=modes))
    model = b.build()
    run = ps.simulate(model, model.neutral(), np.zeros(model.nv), FALLS[-1], rtol=1e-10, t_eval=(0.0, *FALLS))
    return ps.forward_kinematics(model, run.q[-len(FALLS) :], "rod.tip")[:, :2, 3]


PENDULUM = Motion(1.0, 20.0, 1.0, 5e-4, FALLS, _still, lambda found, t: found[-1], _fallen, gravity=9.81)

# Kane's beam on a hub that reaches 6 rad/s in 15 s ----------------------------------------------------------------

SPEED, RISE = 6.0, 15.0
SPINS = (5.0, 7.5, 10.0)


def _hub(t: float) -> Told:
    w, k = 2.0 * math.pi / RISE, SPEED / RISE
    turn = k * (0.5 * t**2 + (math.cos(w * t) - 1.0) / w**2)
    return tuple(np.array([0.0, 0.0, x]) for x in (turn, k * (t - math.sin(w * t) / w), k * (1.0 - math.cos(w * t))))  # type: ignore[return-value]


def _beside_the_hub(found: np.ndarray, t: float) -> np.ndarray:
    turn = _hub(t)[0][2]
    return found[-1:] @ np.array([-math.sin(turn), math.cos(turn)])


def _spun(modes: int) -> np.ndarray:
    b = ps.ModelBuilder("wing", gravity=(0, 0, 0))
    b.body("beam", joint=PIN, inertia=ps.beam(10.0, (1.4e4, 1.4e4 * STIFF), 1.2, modes=modes))
    model = b.build()
    rest = np.zeros(model.nv)
    control = lambda t, q, v: np.concatenate([_hub(t)[2][2:], rest[1:]])  # noqa: E731
    run = ps.simulate(
        model, rest, rest, SPINS[-1], control, rtol=1e-9, t_eval=(0.0, *SPINS), prescribed=["beam"]
    )  # fmt: skip
    tip = ps.forward_kinematics(model, run.q[-len(SPINS) :], "beam.tip")[:, :2, 3]
    return np.stack([_beside_the_hub(each[None], t) for each, t in zip(tip, SPINS, strict=True)])


SPIN_UP = Motion(10.0, 1.4e4, 1.2, 2.5e-3, SPINS, _hub, _beside_the_hub, _spun, clamped=True)

# A rod between a crank that reaches 100 rad/s in 20 ms and a slider, or a rocker with its mass at its end -----------

CRANK, ROD, ROCKER, LOAD, EI, RHO = 0.15, 0.3, 0.25, 0.05, 4.0, 0.2
FAST, SOON, BEGIN = 100.0, 0.02, 0.5
TURNS = (0.02, 0.03, 0.04, 0.05, 0.06)


def _crank(t: float) -> tuple[float, float, float]:
    """The crank's angle, rate and acceleration: its rate rises by 3τ² − 2τ³."""
    tau = min(t / SOON, 1.0)
    angle = BEGIN + FAST * (SOON * (tau**3 - 0.5 * tau**4) + max(t - SOON, 0.0))
    return angle, FAST * (3.0 * tau**2 - 2.0 * tau**3), FAST / SOON * 6.0 * (tau - tau * tau)


def _crank_pin(t: float) -> Told:
    angle, rate, more = _crank(t)
    out, beside = np.array([math.cos(angle), math.sin(angle), 0.0]), np.array([-math.sin(angle), math.cos(angle), 0.0])
    return CRANK * out, CRANK * rate * beside, CRANK * (more * beside - rate**2 * out)


def _far_pin(slides: bool) -> np.ndarray:
    """Where the rod's far end starts: on y = 0, or on the rocker's circle about (ROD, 0)."""
    x, y = CRANK * math.cos(BEGIN), CRANK * math.sin(BEGIN)
    if slides:
        return np.array([x + math.sqrt(ROD**2 - y**2), 0.0])
    away = math.hypot(ROD - x, y)
    along = (ROD**2 - ROCKER**2 + away**2) / (2.0 * away)
    across, ux, uy = math.sqrt(ROD**2 - along**2), (ROD - x) / away, -y / away
    return np.array([x + along * ux - across * uy, y + along * uy + across * ux])


def _linkage(slides: bool, modes: int) -> ps.Model:
    b = ps.ModelBuilder("linkage", gravity=(0, 0, 0))
    b.body("crank", joint=PIN, inertia=ps.Inertia(0.1, (0, 0, 0), np.eye(3)))
    b.body("rod", "crank", PIN, ps.Pose(xyz=(CRANK, 0, 0)), ps.beam(ROD, (EI, EI * STIFF), RHO, modes=modes))
    if slides:
        b.body("far", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(LOAD, (0, 0, 0), np.zeros((3, 3))))
        b.frame("pin", "far")
    else:
        load = ps.Inertia(LOAD, (ROCKER, 0, 0), np.zeros((3, 3)))
        b.body("far", joint=PIN, placement=ps.Pose(xyz=(ROD, 0, 0)), inertia=load)
        b.frame("pin", "far", ps.Pose(xyz=(ROCKER, 0, 0)))
    b.loop("closed", "rod.tip", "pin", joint=PIN)
    return b.build()


def _turned(slides: bool, modes: int) -> np.ndarray:
    model, far = _linkage(slides, modes), _far_pin(slides)
    q = model.neutral()
    along = far - _crank_pin(0.0)[0][:2]
    q[0], q[1] = BEGIN, math.atan2(along[1], along[0]) - BEGIN
    q[-1] = far[0] if slides else math.atan2(far[1], far[0] - ROD)
    rest = np.zeros(model.nv)
    control = lambda t, q, v: np.concatenate([[_crank(t)[2]], rest[1:]])  # noqa: E731
    run = ps.simulate(
        model, q, rest, TURNS[-1], control, rtol=1e-8, t_eval=(0.0, *TURNS), prescribed=["crank"]
    )  # fmt: skip
    return ps.forward_kinematics(model.tree, run.q[-len(TURNS) :], "pin")[:, :2, 3]


def _rod(slides: bool) -> Motion:
    start, far = _crank_pin(0.0)[0], _far_pin(slides)
    lean = math.atan2(far[1] - start[1], far[0] - start[0])
    return Motion(
        ROD, EI, RHO, 2e-5, TURNS, _crank_pin, lambda found, t: found[-1], lambda modes: _turned(slides, modes),
        across=lambda tip: np.array([0.0, 1.0]) if slides else tip - np.array([ROD, 0.0]),
        start=(start[0], start[1], lean), tip_mass=LOAD,
    )  # fmt: skip


MOTIONS = {"pendulum": PENDULUM, "spin-up": SPIN_UP, "slider-crank": _rod(True), "four-bar": _rod(False)}
