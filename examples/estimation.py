"""Dynamics as estimation: a Kalman filter that is a robot's forward dynamics, checked by someone else's filter."""

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import phistar as ps
from phistar import estimation

SAMPLES = 100_000


def outside_smoother(space: estimation.StateSpace, tau: np.ndarray) -> Any:
    """statsmodels' Kalman smoother, told only matrices: a time series of joint forces, tip first."""
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

    def later(x: np.ndarray) -> np.ndarray:
        """statsmodels keeps with sample k what leads to sample k + 1."""
        return np.moveaxis(np.concatenate([x[1:], np.zeros_like(x[:1])]), 0, -1)

    start = {"initial_state": space.state_input[0], "initial_state_cov": space.state_covariance[0]}
    smoother = KalmanSmoother(k_endog=1, k_states=6, initialization="known", tolerance=0, **start)
    smoother.bind(np.ascontiguousarray(tau[:, None]))
    smoother["design"] = np.moveaxis(space.design, 0, -1)
    smoother["obs_cov"] = space.noise.reshape(1, 1, -1)
    smoother["transition"] = later(space.transition)
    smoother["state_cov"] = later(space.state_covariance)
    smoother["state_intercept"] = later(space.state_input)
    smoother["selection"] = np.eye(6)
    return smoother.smooth()


def arm() -> tuple[ps.Model, np.ndarray, np.ndarray, np.ndarray]:
    """The PUMA 560 in motion."""
    q, v, tau = np.random.default_rng(4).uniform(-1, 1, size=(3, 6))
    return ps.load("puma560"), q, 2 * v, 20 * tau


def filtered(console: Console) -> None:
    """One inward and one outward pass, and everything they find."""
    model, q, v, tau = arm()
    found = estimation.forward_dynamics(model, q, v, tau, keep="all")
    table = Table(
        title="1. the filter and the smoother of the PUMA 560", title_justify="left", show_edge=False, box=None
    )
    for name in ("joint", "force", "innovation", "inertia D", "residual", "acceleration", "ps.forward_dynamics"):
        table.add_column(name, justify="right")
    columns = (tau, found.innovations, found.joint_inertias[:, 0, 0], found.residuals, found.accelerations)
    for k, row in enumerate(zip(*columns, ps.forward_dynamics(model, q, v, tau), strict=True)):
        table.add_row(str(k + 1), *(f"{x:.4f}" for x in row))
    console.print(table)
    console.print(
        "   The residual is the acceleration with all joints nearer the base locked; the smoother unlocks them.\n"
    )


def judged(console: Console) -> None:
    """The same accelerations from a program that has never heard of robots."""
    model, q, v, tau = arm()
    try:
        outside = outside_smoother(estimation.state_space(model, q, v), tau[::-1])
    except ImportError:
        console.print("2. (statsmodels is not installed: no outside filter to ask)\n")
        return
    error = np.abs(outside.smoothing_error[0, ::-1] - ps.forward_dynamics(model, q, v, tau)).max()
    console.print(f"2. statsmodels' smoother, given φ, H, M and b: its smoothing errors are θ̈ to {error:.0e}\n")


def sampled(console: Console) -> None:
    """White noise on the links is a random vector of joint forces with the mass matrix as its covariance."""
    model, q, *_ = arm()
    mass, rng = ps.mass_matrix(model, q), np.random.default_rng(0)
    console.print("3. the sample covariance of white noise against the mass matrix")
    for count in (100, 10_000, SAMPLES):
        drawn = estimation.sample_joint_forces(model, q, count, rng)
        error = np.linalg.norm(drawn.T @ drawn / count - mass) / np.linalg.norm(mass)
        console.print(f"   {count:>7,} samples: off by {error:.2%}")
    own = estimation.covariances(model, q).accelerations[:, 0, 0]
    error = np.abs(own - np.diagonal(np.linalg.inv(mass))).max()
    console.print(f"   and the variances of the costates give the inverse's diagonal in one pass, to {error:.0e}\n")


def exact(console: Console) -> None:
    """Accuracy that each method loses on a chain of fifty links whose tip is 1e10 times as heavy as its base."""
    model = estimation.graded_chain(50, ratio=1e10)
    q, tau = np.random.default_rng(1).uniform(-1, 1, size=(2, 50))
    console.print("4. errors against fifty digits, tip 1e10 times as heavy as the base, fifty links")
    try:
        errors = estimation.forward_errors(model, q, tau, ("conventional", "joseph", "square_root", "cholesky"))
    except ps.PhistarError as missing:
        console.print(f"   ({missing})")
        return
    console.print("   " + ", ".join(f"{name} {error:.0e}" for name, error in errors.items()))


def main() -> None:
    console = Console()
    for part in (filtered, judged, sampled, exact):
        part(console)


if __name__ == "__main__":
    main()
