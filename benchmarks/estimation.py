"""Regulators, filters and the collision test against other programs and their own promises.

    python benchmarks/estimation.py

Linear-quadratic regulator against SciPy's Riccati equation, Kalman's filter and smoother against statsmodels; false
alarms of the collision test over 100,000 windows of three noises, with touches found by it, by Mahalanobis distances
with the true covariance, and by whitening with a robot's mass matrix; which link of a Panda was touched.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are

import phistar as ps
from phistar.cli.benchmark.robots import build

WINDOWS, WINDOW = 100_000, 5


def regulator() -> None:
    rng, n, m = np.random.default_rng(0), 6, 3
    A, B = np.eye(n) + 0.2 * rng.normal(size=(n, n)), rng.normal(size=(n, m))
    found = ps.control.lqr(A, B, np.eye(n), np.eye(m), steps=500)
    wanted = solve_discrete_are(A, B, np.eye(n), np.eye(m))
    print(f"LQR, 500 steps, against scipy.linalg.solve_discrete_are: {np.abs(found.P[0] - wanted).max():.1e}")


def kalman() -> None:
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

    rng, T, n, m = np.random.default_rng(1), 300, 4, 2
    F, H = np.eye(n) + 0.1 * rng.normal(size=(n, n)), rng.normal(size=(m, n))
    W, V = 0.1 * np.eye(n), 0.5 * np.eye(m)
    y = rng.normal(size=(T, m)).cumsum(axis=0)
    y[rng.random(size=y.shape) < 0.1] = np.nan
    ours = ps.estimation.kalman_smoother(y, F, H, W, V, np.zeros(n), np.eye(n))
    peer = KalmanSmoother(m, n, design=H, transition=F, selection=np.eye(n), state_cov=W, obs_cov=V)
    peer.bind(y)
    peer.initialize_known(np.zeros(n), np.eye(n))
    theirs: Any = peer.smooth()
    apart = (
        np.abs(ours.filter.states - theirs.filtered_state.T).max(),
        np.abs(ours.states - theirs.smoothed_state.T).max(),
    )
    likelihood = abs(ours.filter.log_likelihood - theirs.llf) / abs(theirs.llf)
    print(f"Kalman against statsmodels: filter {apart[0]:.1e}, smoother {apart[1]:.1e}, likelihood {likelihood:.1e}")


def collisions() -> None:
    """Joint forces of a Puma as its sensors see them: each with its own noise, some of it common."""
    arm, rng = ps.load("puma560"), np.random.default_rng(2)
    mixing = np.diag([3.0, 2.0, 1.0, 0.3, 0.2, 0.1]) @ (np.eye(6) + 0.3 * rng.normal(size=(6, 6)))
    q = np.array([0.3, -0.6, 0.4, 0.5, 0.7, -0.2])
    touch = ps.jacobian(arm, q, "tool").T @ np.array([0, 0, 0, 2.0, -1.0, 1.5])
    whitening = np.linalg.inv(np.linalg.cholesky(ps.mass_matrix(arm, q)))  # D^(-1/2)(I - H psi K)
    draws = {
        "normal": lambda n: rng.normal(size=(n, 6)),
        "Laplace": lambda n: rng.laplace(size=(n, 6)) / np.sqrt(2.0),
        "uniform": lambda n: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=(n, 6)),
    }
    for name, draw in draws.items():

        def noise(windows: int, draw=draw) -> np.ndarray:
            return draw(WINDOW * windows) @ mixing.T

        test = ps.estimation.CollisionTest.calibrated(noise(WINDOWS), window=WINDOW, false_alarms=0.01)
        alarms, touched = test.check(noise(WINDOWS)).alarm.mean(), noise(20_000) + touch
        found = test.check(touched).alarm.mean()

        def detected(matrix: np.ndarray, noise=noise, touched=touched) -> float:
            """Touches that |matrix · mean|² finds at a percent of false alarms."""
            sizes = [
                np.sum((x.reshape(-1, WINDOW, 6).mean(axis=1) @ matrix.T) ** 2, axis=-1)
                for x in (noise(WINDOWS), touched)
            ]
            return float(np.mean(sizes[1] > np.quantile(sizes[0], 0.99)))

        known = detected(np.linalg.inv(mixing))
        print(
            f"{name} noise: {100 * alarms:.3f} % false alarms of a stated 1 %; touches found {100 * found:.1f} %",
            end="",
        )
        print(f", by the true covariance {100 * known:.1f} %, whitened by M {100 * detected(whitening):.1f} %")


def isolation() -> None:
    """Pushes of 50 N on every link of a Panda, anywhere within 10 cm of its frame: which link, by 1 % of error."""
    arm, rng, pushes = build("panda"), np.random.default_rng(2), 500
    nv, links = arm.nv, [body.name for body in arm.bodies]
    mixing = np.diag(np.linspace(0.5, 0.05, nv)) @ (np.eye(nv) + 0.3 * rng.normal(size=(nv, nv)))
    draws = {"normal": rng.normal, "Laplace": rng.laplace, "uniform": lambda size: rng.uniform(-1.0, 1.0, size)}
    for name, draw in draws.items():
        test = ps.estimation.CollisionTest.calibrated(draw(size=(100_000, nv)) @ mixing.T, WINDOW, 0.01)
        among, right, felt = 0, 0, 0
        for _ in range(pushes):
            q, link, force = arm.random(rng), links[rng.integers(len(links))], rng.normal(size=3)
            force *= 50.0 / np.linalg.norm(force)
            wrench = np.concatenate([np.cross(rng.uniform(-0.1, 0.1, 3), force), force])
            window = draw(size=(WINDOW, nv)) @ mixing.T + wrench @ ps.jacobian(arm, q, link)
            if test.check(window).alarm[0]:
                found = test.isolate(arm, q, window)
                felt, among, right = felt + 1, among + (link in found.possible), right + (found.link == link)
        print(
            f"{name} noise: of {felt} touches felt, the link is among those left possible in {100 * among / felt:.1f} %"
        )
        print(f"  (99 % stated), and the innermost of them in {100 * right / felt:.1f} %")


def main() -> None:
    regulator()
    kalman()
    collisions()
    isolation()


if __name__ == "__main__":
    main()
