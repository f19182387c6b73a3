"""Rollouts with gains that vary in time: the kernel against steps taken one by one, and optimal control's gains."""

import numpy as np
import pytest

import phistar as ps

ARM = ps.planar_chain(3)
N, H = 40, 0.01


def given(model, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    nv = model.nv
    q = np.stack([model.random(rng) for _ in range(N + 1)])
    return {
        "feedback": 0.5 * rng.normal(size=(*batch, N, nv, 2 * nv)),
        "around": (q, rng.normal(size=(N + 1, nv)), rng.normal(size=(N, nv))),
    }


def stepped(model, q, v, feedback, around, method):
    """The same, a rollout for each step."""
    places, rates = [q], [v]
    for k in range(N):
        away = np.concatenate([model.difference(around[0][k], q), v - around[1][k]])
        run = ps.rollout(model, q, v, (around[2][k] - feedback[k] @ away)[None], dt=H, method=method)
        q, v = run.q[-1], run.v[-1]
        places.append(q)
        rates.append(v)
    return np.stack(places), np.stack(rates)


def floating():
    builder = ps.ModelBuilder("floating")
    builder.body("base", joint=ps.Free(), inertia=ps.Inertia(2.0, (0.1, 0, 0), np.eye(3)))
    builder.body(
        "arm", parent="base", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0, 0, 0.2), np.eye(3))
    )
    return builder.build()


@pytest.mark.parametrize("method", ["rk4", "euler"])
@pytest.mark.parametrize("model", [ARM, floating()], ids=lambda model: model.name)
def test_the_kernel_is_the_law_step_by_step(model, method):
    fed, rng = given(model), np.random.default_rng(1)
    q, v = model.random(rng), rng.normal(size=model.nv)
    run = ps.rollout(model, q, v, dt=H, method=method, **fed)
    places, rates = stepped(model, q, v, **fed, method=method)
    assert np.allclose(run.q, places, atol=1e-9) and np.allclose(run.v, rates, atol=1e-9)
    away = np.concatenate([model.difference(fed["around"][0][5], run.q[5]), run.v[5] - fed["around"][1][5]])
    assert np.allclose(run.tau[5], fed["around"][2][5] - fed["feedback"][5] @ away, atol=1e-9)


def test_batches_of_states_and_of_gains():
    fed, rng = given(ARM, (4,)), np.random.default_rng(2)
    q, v = ARM.random(rng, (4,)), rng.normal(size=(4, 3))
    run = ps.rollout(ARM, q, v, dt=H, **fed)
    alone = ps.rollout(ARM, q[2], v[2], dt=H, feedback=fed["feedback"][2], around=fed["around"])
    assert run.q.shape == (4, N + 1, 3) and np.allclose(run.q[2], alone.q, atol=1e-12)


def test_long_robots_are_fed_back_too():
    chain = ps.chain(45)
    fed = given(chain)
    run = ps.rollout(
        chain,
        np.zeros(45),
        np.zeros(45),
        dt=1e-4,
        method="euler",
        feedback=0.01 * fed["feedback"],
        around=fed["around"],
    )
    assert run.q.shape == (N + 1, 45) and np.isfinite(run.q).all()


def test_the_gains_of_optimal_control_hold_its_motion():
    o = ps.optimize
    found = o.problem(
        ARM,
        [0.1, 0.2, 0.3],
        dt=0.02,
        steps=N,
        running=[o.control(1e-3), o.joint_velocity(1e-2)],
        terminal=[o.joint_position([1.0, -0.5, 0.4], 100.0), o.joint_velocity(10.0)],
    ).solve()
    pushed = np.array([0.15, 0.15, 0.35])
    settings = {"dt": 0.02, "method": "euler"}
    held = ps.rollout(ARM, pushed, np.zeros(3), feedback=found.gains, around=(found.q, found.v, found.tau), **settings)
    loose = ps.rollout(ARM, pushed, np.zeros(3), found.tau, **settings)
    assert np.abs(held.q[-1] - found.q[-1]).max() < 0.2 * np.abs(loose.q[-1] - found.q[-1]).max()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"around": None}, "give around"),
        ({"feedback": np.zeros((N, 3, 3))}, "feedback has shape"),
        ({"around": (np.zeros((7, 3)), np.zeros((N, 3)), np.zeros((N, 3)))}, "around's q has shape"),
        ({"controls": np.zeros((N, 3))}, "more than one of"),
        ({"feedback": None}, "no feedback"),
    ],
)
def test_bad_feedback_gets_a_sentence(changed, said):
    with pytest.raises(ps.PhistarError, match=said):
        ps.rollout(ARM, np.zeros(3), np.zeros(3), **(given(ARM) | changed))
