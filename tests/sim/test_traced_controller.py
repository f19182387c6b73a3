"""Controllers inside the kernel: what NumPy they may be written in, their parameters, and what is refused."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.timeloop import Memory
from phistar.backends.traces.symbolic import replay
from phistar.sim.traced_controller import control_phase

TARGET = np.array([0.3, -0.5, 0.2])


def chain():
    return ps.load("planar3")


def start(shape=(5,)):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (*shape, 3)), rng.normal(size=(*shape, 3))


def pd(t, q, v):
    return 30.0 * (TARGET - q) - 4.0 * v


def held(model, controller, q0, v0, dt, steps, method):
    """The same, with the controller called from Python between rollouts of one step."""
    q, v = [np.asarray(q0)], [np.asarray(v0)]
    for k in range(steps):
        forces = np.stack([controller(dt * k, a, b) for a, b in zip(q[-1], v[-1], strict=True)])
        run = ps.rollout(model, q[-1], v[-1], forces[:, None], dt=dt, steps=1, method=method)
        q.append(run.q[:, 1])
        v.append(run.v[:, 1])
    return np.stack(q, axis=1), np.stack(v, axis=1)


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_a_controller_is_held_over_each_step(method):
    model, (q0, v0) = chain(), start()
    run = ps.rollout(model, q0, v0, dt=1e-2, steps=20, method=method, controller=pd)
    q, v = held(model, pd, q0, v0, 1e-2, 20, method)
    assert np.abs(run.q - q).max() < 1e-12
    assert np.abs(run.v - v).max() < 1e-11


def test_a_controller_reaches_its_target():
    model = chain().replace(gravity=(0, 0, 0))
    stiff = lambda t, q, v: 60.0 * (TARGET - q) - [40.0, 20.0, 5.0] * v  # noqa: E731
    run = ps.rollout(model, *start(), dt=2e-3, steps=5000, controller=stiff)
    assert np.abs(run.q[:, -1] - TARGET).max() < 1e-3


def test_parameters_are_inputs_row_by_row():
    model, (q0, v0) = chain(), start()
    gains = np.random.default_rng(1).uniform(1, 20, (5, 2))

    def controller(t, q, v, gains):
        return -gains[0] * q - gains[1] * v

    run = ps.rollout(model, q0, v0, dt=1e-2, steps=10, controller=controller, parameters=gains)
    for row, (kp, kd) in enumerate(gains):
        own = lambda t, q, v, kp=kp, kd=kd: -kp * q - kd * v  # noqa: E731
        alone = ps.rollout(model, q0[row], v0[row], dt=1e-2, steps=10, controller=own)
        assert np.abs(run.q[row] - alone.q).max() < 1e-13


def test_other_parameters_compile_nothing(monkeypatch):
    model, (q0, v0) = chain(), start()
    controller = lambda t, q, v, g: -g * q  # noqa: E731
    first = ps.rollout(
        model, q0, v0, dt=1e-2, steps=5, controller=controller, parameters=[1.0, 2.0, 3.0], limits="ignore"
    )
    monkeypatch.setattr("phistar.backends.machine.jit.compile_object", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr("phistar.backends.machine.jit.load_object", lambda *_: pytest.fail("loaded again"))
    second = ps.rollout(
        model, q0, v0, dt=1e-2, steps=9, controller=controller, parameters=[3.0, 2.0, 1.0], limits="ignore"
    )
    assert not np.allclose(first.q[:, 5], second.q[:, 5])


def test_controllers_differ_by_what_they_do():
    model, (q0, v0) = chain(), start()
    runs = [ps.rollout(model, q0, v0, dt=1e-2, steps=5, controller=lambda t, q, v, k=k: -k * q) for k in (1.0, 2.0)]
    assert not np.allclose(runs[0].q, runs[1].q)


MATRIX = np.random.default_rng(3).normal(size=(3, 3))
WRITTEN = {
    "zero": lambda t, q, v: np.zeros(3),
    "list": lambda t, q, v: [1.0, 2, np.float64(3.0)],
    "time": lambda t, q, v: np.sin(3.0 * t) * q + np.cos(t) ** 2,
    "time alone": lambda t, q, v: np.stack([t, 2.0 * t, t * t]),
    "matrix": lambda t, q, v: MATRIX @ q - v @ MATRIX,
    "dot": lambda t, q, v: np.dot(MATRIX, q) * np.dot(q, v),
    "clip": lambda t, q, v: np.clip(50.0 * q, -3.0, [1.0, 2.0, np.inf]),
    "method clip": lambda t, q, v: (50.0 * q).clip(-1e-3, 1e-3),
    "min and max": lambda t, q, v: np.minimum(q, v) - np.maximum(v, 0.1),
    "absolute": lambda t, q, v: np.abs(v) * v - abs(q),
    "sign": lambda t, q, v: np.sign(q) - np.sign(v[0]) + np.sign(0.0 * q),
    "entries": lambda t, q, v: np.stack([q[0] * v[1], np.sqrt(q[1] ** 2 + 1.0), np.tan(q[2])]),
    "array of entries": lambda t, q, v: np.array([q[0], -v[1], 2.0]),
    "list of entries": lambda t, q, v: [q[0], -v[1], 2.0],
    "unpacked": lambda t, q, v: np.stack([a / (b**2 + 1.0) for a, b in zip(q, v, strict=True)]),
    "sums": lambda t, q, v: np.sum(q) * v + q.sum() - np.linalg.multi_dot([MATRIX, MATRIX, v]),
    "slices": lambda t, q, v: np.concatenate([q[1:], v[:1]]),
    "where it folds": lambda t, q, v: np.sin(0.0 * q) + np.sqrt(4.0 + 0.0 * v),
    "plus": lambda t, q, v: +q,
    "own operations on an array": lambda t, q, v: np.einsum("ij,j->i", MATRIX, q),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_controller_in_numpy_means_the_same_traced(name):
    phase = control_phase(WRITTEN[name], Memory(3, 3))
    rng = np.random.default_rng(4)
    for _ in range(20):
        t, q, v = rng.uniform(0, 3), rng.normal(size=3), rng.normal(size=3)
        made = replay(phase.trace, [t, 0.0, *q, *v])
        assert np.abs(np.array(made, dtype=float) - WRITTEN[name](t, q, v)).max() < 1e-13


def test_clipping_a_huge_command_gives_the_limit_exactly():
    model, (q0, v0) = chain(), start()
    clipped = ps.rollout(model, q0, v0, dt=1e-2, steps=3, controller=lambda t, q, v: np.clip(1e20 * (q + 9), -1.0, 2.5))
    limit = ps.rollout(model, q0, v0, np.full((3, 3), 2.5), dt=1e-2)
    assert np.array_equal(clipped.q, limit.q)


def test_updating_an_array_in_place_is_allowed():
    def controller(t, q, v):
        tau = -2.0 * q
        tau += v
        tau[0] = 7.0
        return tau

    made = replay(control_phase(controller, Memory(3, 3)).trace, [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert made == [7.0, 1.0, 0.0]


def branches(t, q, v):
    return q if q[0] > 0 else v


REFUSED = {
    "branch": branches,
    "branch on equality": lambda t, q, v: q if q[0] == 0 else v,
    "truth": lambda t, q, v: q if q[0] else v,
    "where": lambda t, q, v: np.where(v > 0, q, -q),
    "time": lambda t, q, v: q if t < 1 else v,
    "any": lambda t, q, v: q if np.any(q) else v,
    "float": lambda t, q, v: np.full(3, float(q[0])),
    "exponential": lambda t, q, v: np.exp(q),
    "fraction": lambda t, q, v: q**0.5,
    "arguments": lambda t, q: q,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_refused_with_a_sentence(name):
    with pytest.raises(ps.PhistarError, match="The controller cannot be compiled"):
        ps.rollout(chain(), *start(), dt=1e-2, steps=2, controller=REFUSED[name])


@pytest.mark.parametrize("made", [0.0, np.zeros(2), np.zeros((1, 3))], ids=repr)
def test_a_controller_of_the_wrong_shape_is_a_shape_error(made):
    with pytest.raises(ps.ShapeError, match="The controller gives shape"):
        ps.rollout(chain(), *start(), dt=1e-2, steps=2, controller=lambda t, q, v: made)


@pytest.mark.parametrize("made", [["a", "b", "c"], [1.0, [2.0, 3.0], 4.0], [None, 1.0, 2.0]], ids=repr)
def test_a_controller_that_gives_no_numbers_is_refused(made):
    with pytest.raises(ps.PhistarError, match="must give numbers"):
        ps.rollout(chain(), *start(), dt=1e-2, steps=2, controller=lambda t, q, v: made)


def test_an_error_of_the_controllers_own_is_its_own():
    with pytest.raises(ZeroDivisionError):
        ps.rollout(chain(), *start(), dt=1e-2, steps=2, controller=lambda t, q, v: q / 0)


def test_a_controller_drives_a_long_chain_too():
    model = ps.chain(50)
    q0, v0 = np.zeros((2, 50)), np.zeros((2, 50))
    controller = lambda t, q, v, g: np.clip(g[0] * (0.1 - q), -1.0, 1.0) - g[1] * v + t  # noqa: E731
    run = ps.rollout(model, q0, v0, dt=1e-3, steps=3, controller=controller, parameters=[[5.0, 0.1], [1.0, 0.0]])
    by_hand = np.stack([controller(0.0, q0[0], v0[0], g) for g in ([5.0, 0.1], [1.0, 0.0])])
    first = ps.rollout(model, q0, v0, by_hand[:, None], dt=1e-3)
    assert run.q.shape == (2, 4, 50)
    assert np.abs(run.q[:, 1] - first.q[:, 1]).max() < 1e-13
