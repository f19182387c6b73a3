"""How exact the public functions are: each on ten robots against the same formula in 50 digits.

python benchmarks/accuracy.py [--states N] [--keep] [ROBOT ...]

A function's instructions for a robot are recorded and replayed on mpmath's numbers. Inertias, gravity and the places of
links are inputs of the recording where the function is one statement, so that nothing is folded in double precision.
The error of a result is the largest error of its entries over its largest entry, in units of 2⁻⁵² = 2.2e-16: the worst
of some random states. Pinocchio's errors, where it is installed and has the function, are taken in the same way.
With `--keep`
results go to benchmarks/accuracy.json, from which docs/generate_accuracy.py makes the page "Accuracy".
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from multibody.digits import Digits

import phistar as ps
from phistar.backends.traces.symbolic import replay
from phistar.cli.benchmark import peer_pinocchio, robots
from phistar.cli.benchmark.benchmark_tasks import States
from phistar.recording import WRITTEN_OUT, Recording, record
from phistar.stated import Stated, StatedFunction

RESULTS = Path(__file__).with_name("accuracy.json")
DIGITS, UNIT = 50, 2.0**-52
ROBOTS: dict[str, Callable[[], ps.Model]] = {
    "PUMA 560": lambda: ps.load("puma560"),
    "UR5": lambda: robots.build("ur5"),
    "Panda": lambda: robots.build("panda"),
    "Baxter": lambda: robots.build("baxter"),
    "ANYmal": lambda: robots.build("anymal"),
    "Talos": lambda: robots.build("talos"),
    "planar 3": lambda: ps.load("planar3"),
    "chain 10": lambda: ps.chain(10),
    "chain 30": lambda: ps.chain(30),
    "heavy tip": lambda: heavy_tip(7, 1e4),
}
BESIDES = ("forward_kinematics", "center_of_mass", "potential_energy", "inverse_dynamics_hessian_product")


def heavy_tip(links: int, ratio: float) -> ps.Model:
    """Return a chain whose last link has many times the mass of each other: where digits are lost."""
    model = ps.chain(links)
    last = model.bodies[-1]
    heavy = ps.Inertia(ratio * last.inertia.mass, last.inertia.com, ratio * np.asarray(last.inertia.tensor))
    return model.replace(inertias={last.name: heavy})


def functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name: all that are made from statements, and kinematics beside them."""
    stated = {name: x for name in dir(ps) if isinstance(x := getattr(ps, name), StatedFunction)}
    beside = {name: getattr(ps, name) for name in BESIDES}
    second = {
        "inverse_dynamics_second_derivatives": inverse_seconds,
        "forward_dynamics_second_derivatives": forward_seconds,
    }
    return stated | beside | second


def inverse_seconds(model: ps.Model, q: Any, v: Any, a: Any) -> tuple[Any, ...]:
    """Return the entries of ∂²τ that can be nonzero."""
    return tuple(x.values for x in ps.inverse_dynamics_second_derivatives(model, q, v, a))


def forward_seconds(model: ps.Model, q: Any, v: Any, tau: Any) -> tuple[Any, ...]:
    """Return the entries of ∂²θ̈ that can be nonzero."""
    return tuple(x.values for x in ps.forward_dynamics_second_derivatives(model, q, v, tau))


def states(model: ps.Model, frame: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield all that functions and recordings take, by name, in random states."""
    rng = np.random.default_rng(7)
    places = [*(body.placement for body in model.bodies), model.frame(frame).placement]
    for _ in range(count):
        yield {
            "q": model.random(rng),
            **{name: rng.normal(size=model.nv) for name in ("v", "a", "tau", "w", "dq", "dv", "da")},
            "frame": frame,
            "force": rng.normal(size=6),
            "inertia": np.concatenate([body.inertia.parameters for body in model.bodies]),
            "gravity": np.asarray(model.gravity),
            "placement": np.concatenate([place.translation for place in places]),
        }


def recorded(function: Callable[..., Any], model: ps.Model, frame: str) -> Recording:
    """Record the instructions of one state, with the robot's numbers as inputs where that can be."""
    taken = arguments(function)
    parameters = WRITTEN_OUT if isinstance(function, Stated) else ()
    return record(function, model, frame if "frame" in taken else None, parameters, rows={"force": 6})


def arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of what a function asks for beside the model."""
    known = inspect.signature(function).parameters
    return [name for name, x in known.items() if x.default is x.empty and name != "model"]


def values(function: Callable[..., Any], model: ps.Model, given: dict[str, Any]) -> list[np.ndarray]:
    """Return the arrays of a function's result in double precision."""
    found = function(model, *(given[name] for name in arguments(function)))
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def exact(recording: Recording, given: dict[str, Any]) -> list[np.ndarray]:
    """Return the same arrays in many digits, as arrays of mpmath's numbers."""
    inputs = [
        Digits(x if isinstance(x, mpmath.mpf) else float(x))
        for name, size in recording.arguments
        for x in given[name][:size]
    ]
    flat = [Digits(x).value for x in replay(recording.trace, inputs)]
    arrays, start = [], 0
    for _, shape in recording.results:
        size = int(np.prod(shape))
        arrays.append(np.array(flat[start : start + size], dtype=object).reshape(shape))
        start += size
    return arrays


Exactly = Callable[[dict[str, Any]], list[np.ndarray]]


def recorded_exactly(function: Callable[..., Any], model: ps.Model, frame: str) -> Exactly:
    """Return a function of a state that gives the same arrays in many digits."""
    if function is forward_seconds:
        return forward_seconds_exactly(model, frame)
    recording = recorded(function, model, frame)
    return lambda given: exact(recording, given)


def forward_seconds_exactly(model: ps.Model, frame: str) -> Exactly:
    """Return ∂²θ̈ in many digits as a function of a state: ∂²τ and ∂θ̈ there, put together by the product rule."""
    parts = ps.forward_dynamics, ps.forward_dynamics_derivatives, inverse_seconds
    accelerations, first, second = (recorded(x, model, frame) for x in parts)
    start = model.neutral(), *np.zeros((2, model.nv))
    tensors = ps.inverse_dynamics_second_derivatives(model, *start)
    places = [x.places for x in ps.forward_dynamics_second_derivatives(model, *start)]

    def of_state(given: dict[str, Any]) -> list[np.ndarray]:
        (a,) = exact(accelerations, given)
        (dq, dv, inverse), entries = exact(first, given), exact(second, given | {"a": a})
        dqdq, dqdv, dvdv, dadq = (replace(x, values=y).dense() for x, y in zip(tensors, entries, strict=True))
        by_q, by_v = (np.tensordot(dadq, x, (1, 0)) for x in (dq, dv))  # [i, k, j]: ∂ℳ/∂qₖ times how θ̈ changes
        solved = [
            -np.tensordot(inverse, x, 1)
            for x in (dqdq + by_q + np.swapaxes(by_q, 1, 2), dqdv + by_v, dvdv, np.tensordot(dadq, inverse, (1, 0)))
        ]
        solved[3] = np.swapaxes(solved[3], 1, 2)
        return [x[tuple(at.T)] for x, at in zip(solved, places, strict=True)]

    return of_state


def error(found: np.ndarray, right: np.ndarray) -> float:
    """Return the largest error of an entry over the largest entry, in units of double precision."""
    scale = max((abs(x) for x in right.flat), default=0)
    worst = max((abs(mpmath.mpf(float(x)) - y) for x, y in zip(found.flat, right.flat, strict=True)), default=0)
    return float(worst / scale / UNIT) if scale else 0.0 if worst == 0 else float("inf")


def ours(model: ps.Model, frame: str, count: int) -> Iterator[tuple[str, float, list[list[np.ndarray]]]]:
    """Yield each function's name, its worst error, and the exact results of all states."""
    for name, function in functions().items():
        try:
            exactly = recorded_exactly(function, model, frame)
        except ps.InfeasibleError:  # Λ where the joints cannot move the frame in all directions
            continue
        right: list[list[np.ndarray]] = []
        worst = 0.0
        for given in states(model, frame, count):
            right.append(exactly(given))
            found = values(function, model, given)
            worst = max(worst, *(error(x, y) for x, y in zip(found, right[-1], strict=True)))
        yield name, worst, right


def pinocchios(model: ps.Model, frame: str, name: str, right: list[list[np.ndarray]]) -> float | None:
    """Return Pinocchio's worst error in the same states, or None where it has no such function."""
    if not peer_pinocchio.is_installed():
        return None
    given = list(states(model, frame, len(right)))
    third = "a" if name == "inverse_dynamics" else "tau"
    rows = States(*(np.stack([x[key] for x in given]) for key in ("q", "v", third)))
    found = peer_pinocchio.pinocchio_of(model, frame).value(name, rows)
    if found is None or name == "operational_space":  # whose inverse is NumPy's there
        return None
    return max(error(x, np.concatenate(y, axis=-1)) for x, y in zip(found, right, strict=True))


def main() -> None:
    """Measure the robots that were named, or all, and keep what was found."""
    parser = argparse.ArgumentParser(description="How exact the public functions are, against 50 digits.")
    parser.add_argument("robots", nargs="*", choices=[[], *ROBOTS], default=[], help="all, if none is named")
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="write benchmarks/accuracy.json")
    chosen = parser.parse_args()
    kept: dict[str, Any] = {"states": chosen.states, "digits": DIGITS, "robots": {}}
    with mpmath.workdps(DIGITS):
        for robot in chosen.robots or ROBOTS:
            model = ROBOTS[robot]()
            frame = [name for name in model.frames if model.frame(name).body >= 0][-1]
            print(f"{robot}: {len(model.bodies)} bodies, frame {frame}")
            rows = kept["robots"][robot] = {}
            for name, worst, right in ours(model, frame, chosen.states):
                peer = pinocchios(model, frame, name, right)
                rows[name] = {"error": float(f"{worst:.3g}"), "pinocchio": peer and float(f"{peer:.3g}")}
                print(f"  {name:34}{worst:12.3g}" + (f"   Pinocchio {peer:.3g}" if peer is not None else ""))
    if chosen.keep:
        whole = RESULTS.with_suffix(".part")
        whole.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        os.replace(whole, RESULTS)


if __name__ == "__main__":
    main()
