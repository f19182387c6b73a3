"""Regulators, filters and the collision test against other programs and their own promises.

    python benchmarks/estimation.py

Linear-quadratic regulator against SciPy's Riccati equation, Kalman's filter and smoother against statsmodels; false
alarms of the collision test over 100,000 windows of three noises, with touches found by it, by Mahalanobis distances
with the true covariance, and by whitening with a robot's mass matrix; consistency of the pose filter over 200 tumbling
bodies, and of the robot filter.
"""

from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are
from scipy.stats import chi2

import phistar as ps
from phistar.cli.benchmark.robots import build
from phistar.estimation.free_body import FreeBody
from phistar.estimation.pose_filter import PoseEstimate
from phistar.estimation.sigma_points import slopes, small_displacements
from phistar.spatial.rotations import exp, from_quaternion

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


def poses() -> None:
    """Two hundred bodies that tumble, seen ten times a second for 20 s with 10 mm and a degree of noise."""
    runs, samples, rng = 200, 201, np.random.default_rng(1)
    moments, place, turn = np.array([1.3, 1.0, 0.7]), 0.01, np.radians(1.0)
    builder = ps.ModelBuilder("body", gravity=(0, 0, 0))
    builder.body("body", joint=ps.Free(), inertia=ps.Inertia(2.0, (0, 0, 0), np.diag(moments)))
    model = builder.build()
    start = np.concatenate([0.8 * rng.normal(size=(runs, 3)), 0.1 * rng.normal(size=(runs, 3))], axis=-1)
    run = ps.rollout(model, model.random(rng, (runs,)), start, dt=0.01, steps=10 * (samples - 1))
    q, v = run.q[:, ::10], run.v[:, ::10]
    seen = np.moveaxis(ps.forward_kinematics(model, q, "body"), 1, 0).copy()
    rotation = seen[-1, :, :3, :3].copy()
    last = seen[-1, :, :3, 3].copy()
    seen[..., :3, 3] += place * rng.normal(size=(samples, runs, 3))
    seen[..., :3, :3] = seen[..., :3, :3] @ exp(turn * rng.normal(size=(samples, runs, 3)))
    six, none = np.zeros((runs, 6)), np.zeros((runs, 3))
    six[:, [0, 2, 5]] = moments
    drift = np.matmul(rotation, v[:, -1, 3:, None])[..., 0]
    unit = np.broadcast_to(np.eye(3), rotation.shape)
    true = FreeBody(rotation, last, drift, v[:, -1, :3], six, none, unit, none)
    truth = PoseEstimate(0.0, true, np.zeros(0), np.zeros(0))
    body = ps.estimation.PoseFilter(place, turn, 1e-6, 1e-6, speed=0.1, spin=0.8, moment=0.3, window=250)
    found = body.run(0.1 * np.arange(samples), seen)[-1]
    away = found.away(truth)
    nees = np.einsum("ri,rij,rj->r", away, np.linalg.inv(found.covariance), away).mean()
    low, high = (chi2.ppf(p, 14 * runs) / runs for p in (0.025, 0.975))
    print(f"pose filter: NEES {nees:.2f}, 95 % band {low:.2f} to {high:.2f}; errors of axes after 20 s, medians")
    first = true._replace(turn=from_quaternion(q[:, 0, 3:7]), spin=v[:, 0, :3])
    begun = PoseEstimate(0.0, first, np.zeros((runs, 14, 14)), np.zeros(0))
    spread = cramer_rao(body, begun, samples)
    for name, directions in (("spin in the world", _in_world), ("spin in the body", _in_body), ("momentum", _momentum)):
        off = _angles(directions(found), directions(truth))
        slope = slopes(directions(truth.moved(small_displacements((runs, 14)))))
        best = np.degrees(np.sqrt(np.trace(slope @ spread @ np.swapaxes(slope, -1, -2), axis1=-2, axis2=-1)))
        print(f"  {name}: {np.median(off):.4f} deg, rms {np.sqrt(np.mean(off**2)):.4f}", end="")
        print(f"; Cramer and Rao allow {MEDIAN * np.median(best):.4f}, rms {np.sqrt(np.mean(best**2)):.4f}")
    smooth = body.smooth(0.1 * np.arange(samples), seen)
    path = [begun]
    for _ in range(1, samples):
        path.append(body.flow(path[-1], 0.1))
    off = [_angles(_in_world(one), _in_world(two)) for one, two in zip(smooth, path, strict=True)]
    print(f"  spin in the world at any of the 20 s, from all of their poses: {np.median(off):.4f} deg", end="")
    print(f" ({np.median(off[samples // 2]):.4f} halfway)")


MEDIAN = np.sqrt(np.log(2.0))  # of the rms, of an angle whose two components are normal and alike


def cramer_rao(body: ps.estimation.PoseFilter, truth: PoseEstimate, samples: int) -> np.ndarray:
    """The least covariance (runs, 14, 14) at the last of as many sightings, ten a second, of bodies that begin so."""
    weight = np.repeat(1.0 / np.square([body.position_noise, body.rotation_noise]), 3)
    F, ends = np.eye(14), truth.moved(small_displacements(truth.covariance.shape[:-1]))
    known = np.zeros(truth.covariance.shape)
    for k in range(samples):
        if k:
            truth, ends = body.flow(truth, 0.1), body.flow(ends, 0.1)
            F = slopes(truth.away(ends))
        known = known + np.swapaxes(F[..., :6, :], -1, -2) @ (weight[:, None] * F[..., :6, :])
    return F @ np.linalg.inv(known) @ np.swapaxes(F, -1, -2)


def _unit(made: np.ndarray) -> np.ndarray:
    return made / np.linalg.norm(made, axis=-1, keepdims=True)


def _in_body(x: PoseEstimate) -> np.ndarray:
    return _unit(x.spin)


def _in_world(x: PoseEstimate) -> np.ndarray:
    return _unit(np.matmul(x.pose[..., :3, :3], x.spin[..., None])[..., 0])


def _momentum(x: PoseEstimate) -> np.ndarray:
    """Directions in the world of the angular momentum, about which a body tumbles."""
    return _unit(np.matmul(x.pose[..., :3, :3], (x.moments * x.spin)[..., None])[..., 0])


def _angles(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.degrees(np.arcsin(np.clip(np.linalg.norm(np.cross(one, other), axis=-1), 0.0, 1.0)))


def main() -> None:
    regulator()
    kalman()
    collisions()
    isolation()
    poses()


if __name__ == "__main__":
    main()
