"""A law and a mechanism in one differential equation: the classical Runge-Kutta method with the law in every stage."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import phistar as ps

Law = Callable[[float, np.ndarray, np.ndarray], Any]


class Run(NamedTuple):
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def run(model, law: Law, q, v, dt=1e-3, steps=1000, force: Callable[..., dict] | None = None) -> Run:
    """From q, v (n,); `force(t, q, v)` gives external forces {frame: (6,)}. For joints with q̇ = v and no friction."""

    def rate(t, x):
        q, v = np.split(x, 2)
        f_ext = None if force is None else force(t, q, v)
        return np.concatenate([v, ps.forward_dynamics(model, q, v, law(t, q, v), f_ext)])

    x = np.concatenate([q, v])
    states = [x]
    for k in range(steps):
        t = k * dt
        k1 = rate(t, x)
        k2 = rate(t + dt / 2, x + dt / 2 * k1)
        k3 = rate(t + dt / 2, x + dt / 2 * k2)
        k4 = rate(t + dt, x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    q, v = np.split(np.array(states), 2, axis=-1)
    return Run(dt * np.arange(steps + 1), q, v)


def wave(n: int, seed: int = 0, amplitude: float = 0.5) -> Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A smooth motion (q, v, a) of n joints."""
    rng = np.random.default_rng(seed)
    size, pace, phase = amplitude * rng.uniform(0.5, 1, n), rng.uniform(1.0, 4.0, n), rng.uniform(0, 6, n)

    def motion(t):
        angle = pace * t + phase
        return size * np.sin(angle), size * pace * np.cos(angle), -size * pace**2 * np.sin(angle)

    return motion


def second_order(t: np.ndarray, error: np.ndarray, rate: np.ndarray, kp: float, kd: float) -> np.ndarray:
    """The solution of ë + kd ė + kp e = 0, (T, n), from e and ė (n,)."""
    slow, fast = np.roots([1.0, kd, kp])
    if abs(slow - fast) < 1e-6 * abs(slow):
        rest = rate - slow * error
        return np.real((error + np.outer(t, rest)) * np.exp(slow * t)[:, None])
    second = (rate - slow * error) / (fast - slow)
    return np.real(np.outer(np.exp(slow * t), error - second) + np.outer(np.exp(fast * t), second))
