"""The pose filter against its own promises and the bound of Cramér and Rao: tumbling bodies, drawn anew in sets.

    python benchmarks/pose_filter.py [--sets N]

Each set is 200 bodies that tumble for 20 s and are seen ten times a second with 10 mm and a degree of noise. NEES at
the end must lie in its band in 95 of 100 sets. Errors of directions are medians: by the filter after the last pose, by
`smooth` at all times, and the least that any unbiased estimate could have, of the same bodies; the last lines are of
all sets, with the 95 % interval of each median. The faster a body spins, the better its axis is known.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

import phistar as ps
from phistar.estimation.free_body import FreeBody
from phistar.estimation.pose_filter import PoseEstimate
from phistar.estimation.sigma_points import slopes, small_displacements
from phistar.spatial.rotations import exp, from_quaternion

BODIES, SAMPLES, PERIOD = 200, 201, 0.1
MOMENTS, PLACE, TURN = np.array([1.3, 1.0, 0.7]), 0.01, np.radians(1.0)
FILTER = ps.estimation.PoseFilter(PLACE, TURN, 1e-6, 1e-6, speed=0.1, spin=0.8, moment=0.3, window=250)
MEDIAN = np.sqrt(np.log(2.0))  # of the rms, of an angle whose two components are normal and alike
DIRECTIONS: dict[str, Callable[[PoseEstimate], np.ndarray]] = {
    "spin in the world": lambda x: _unit(np.matmul(x.pose[..., :3, :3], x.spin[..., None])[..., 0]),
    "spin in the body": lambda x: _unit(x.spin),
    "momentum": lambda x: _unit(np.matmul(x.pose[..., :3, :3], (x.moments * x.spin)[..., None])[..., 0]),
}


def tumbling(seed: int) -> tuple[list[PoseEstimate], np.ndarray]:
    """The bodies' motions, exactly, and their poses as they are seen, (SAMPLES, BODIES, 4, 4)."""
    rng, none = np.random.default_rng(seed), np.zeros((BODIES, 3))
    spin, speed = 0.8 * rng.normal(size=(BODIES, 3)), 0.1 * rng.normal(size=(BODIES, 3))
    builder = ps.ModelBuilder("body", gravity=(0, 0, 0))
    builder.body("body", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(MOMENTS)))
    model = builder.build()
    fine = round(PERIOD / 0.01)
    start = np.concatenate([spin, speed], axis=-1)
    run = ps.rollout(model, model.random(rng, (BODIES,)), start, dt=0.01, steps=fine * (SAMPLES - 1))
    six = np.zeros((BODIES, 6))
    six[:, [0, 2, 5]] = MOMENTS
    truth = []
    for k in range(SAMPLES):
        q, v = run.q[:, k * fine], run.v[:, k * fine]
        turn = from_quaternion(q[:, 3:7])
        drift = np.matmul(turn, v[:, 3:, None])[..., 0]
        body = FreeBody(turn, q[:, :3], drift, v[:, :3], six, none, np.broadcast_to(np.eye(3), turn.shape), none)
        truth.append(PoseEstimate(PERIOD * k, body, np.zeros((BODIES, 14, 14)), np.zeros(0)))
    seen = np.stack([x.pose for x in truth])
    seen[..., :3, 3] += PLACE * rng.normal(size=(SAMPLES, BODIES, 3))
    seen[..., :3, :3] = seen[..., :3, :3] @ exp(TURN * rng.normal(size=(SAMPLES, BODIES, 3)))
    return truth, seen


def cramer_rao(truth: list[PoseEstimate]) -> np.ndarray:
    """The least covariance (BODIES, 14, 14) at the last sighting."""
    weight, F = np.repeat(1.0 / np.square([PLACE, TURN]), 3), np.eye(14)
    ends, known = truth[0].moved(small_displacements(truth[0].covariance.shape[:-1])), np.zeros((BODIES, 14, 14))
    for k, x in enumerate(truth):
        if k:
            ends = FILTER.flow(ends, PERIOD)
            F = slopes(x.away(ends))
        known = known + np.swapaxes(F[..., :6, :], -1, -2) @ (weight[:, None] * F[..., :6, :])
    return F @ np.linalg.inv(known) @ np.swapaxes(F, -1, -2)


def errors(seed: int) -> dict[str, dict[str, np.ndarray]]:
    """Angles in degrees, by direction: of the filter at the end, of `smooth` at all times, and the medians that the
    bound allows each body; NEES and the bodies' spins with them."""
    truth, seen = tumbling(seed)
    times = [x.t for x in truth]
    found, smooth, least = FILTER.run(times, seen)[-1], FILTER.smooth(times, seen), cramer_rao(truth)
    made = {"": {"nees": found.nees(truth[-1]), "spin": np.linalg.norm(truth[0].spin, axis=-1)}}
    for name, direction in DIRECTIONS.items():
        slope = slopes(direction(truth[-1].moved(small_displacements((BODIES, 14)))))
        best = np.sqrt(np.trace(slope @ least @ np.swapaxes(slope, -1, -2), axis1=-2, axis2=-1))
        made[name] = {
            "filter": _angles(direction(found), direction(truth[-1])),
            "smooth": np.stack([_angles(direction(a), direction(b)) for a, b in zip(smooth, truth, strict=True)]).T,
            "bound": np.degrees(MEDIAN * best),
        }
    return made


def _unit(made: np.ndarray) -> np.ndarray:
    return made / np.linalg.norm(made, axis=-1, keepdims=True)


def _angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.degrees(np.arcsin(np.clip(np.linalg.norm(np.cross(one, other), axis=-1), 0.0, 1.0)))


def _nees(squares: np.ndarray) -> str:
    found = ps.estimation.consistency(squares, 14)
    return f"NEES {found.mean:.2f} (95 % band {found.low:.2f} to {found.high:.2f})"


def _interval(x: np.ndarray) -> str:
    """The median, and the order statistics between which it is in 95 of 100 cases."""
    low, high = (int(binom.ppf(p, len(x), 0.5)) for p in (0.025, 0.975))
    ordered = np.sort(x)
    return f"{np.median(x):.4f} ({ordered[low]:.4f} to {ordered[high]:.4f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="The pose filter's errors against what it says of them")
    parser.add_argument("--sets", type=int, default=5)
    sets: list[Any] = []
    for seed in range(1, 1 + parser.parse_args().sets):
        made = errors(seed)
        sets.append(made)
        own = made["spin in the world"]
        print(f"set {seed}, {BODIES} bodies: {_nees(made['']['nees'])};", end="")
        print(f" spin in the world, deg: at any time by smooth {np.median(own['smooth']):.4f},", end="")
        print(f" filter at the end {np.median(own['filter']):.4f}, bound {np.median(own['bound']):.4f}", flush=True)
    count = BODIES * len(sets)
    print(f"all {count} bodies: {_nees(np.concatenate([x['']['nees'] for x in sets]))}; medians in degrees")
    for name in DIRECTIONS:
        off = {key: np.concatenate([x[name][key] for x in sets]) for key in ("filter", "smooth", "bound")}
        over = np.median(off["smooth"], axis=1)  # of each body, over its 20 s
        print(f"  {name}: by smooth, each body's over its 20 s {_interval(over)};", end="")
        print(f" filter at the end {_interval(off['filter'])}; bound there {np.median(off['bound']):.4f}")
    spin = np.concatenate([x[""]["spin"] for x in sets])
    off = np.concatenate([x["spin in the world"]["filter"] for x in sets])
    for part in np.array_split(np.argsort(spin), 4):
        turns = np.degrees(spin[part])
        told = f"  spins of {turns.min():.0f} to {turns.max():.0f} deg/s:"
        print(f"{told} {np.median(off[part]):.4f} in the world at the end")


if __name__ == "__main__":
    main()
