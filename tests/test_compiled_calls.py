"""Functions around long robots: what is too long to write out is called by its own kernel, not flattened."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.executor import executor
from phistar.recording import record
from tests.loops.test_many_loops import cells, closed_states
from tests.trees import relative

CHAIN = ps.chain(60)


def states(batch=(5,)):
    return np.random.default_rng(0).standard_normal((4, *batch, CHAIN.nv))


def falling(q, v, tau):
    return 2.0 * ps.forward_dynamics(CHAIN, q, v, tau) + v


def damped(t, q, v, tau):
    """Calls of calls: arguments that are computed, an operator, and several results."""
    a = ps.forward_dynamics(CHAIN, q, v, tau - 0.1 * v)
    return {"first": ps.mass_matrix(CHAIN, q)[0] * a[0] + t, "again": ps.forward_dynamics(CHAIN, q, a, 0.0 * tau)}


def test_a_law_around_forward_dynamics_adds_its_own_operations_alone():
    made = ps.compile(falling, CHAIN)
    alone = executor(ps.forward_dynamics.statements_for(CHAIN, ())[0])
    assert made.operations == alone.operations + 2 * CHAIN.nv
    q, v, tau, _ = states()
    assert np.array_equal(made(q, v, tau), falling(q, v, tau))


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_calls_take_what_is_computed_and_give_what_is_computed_with(batch):
    q, v, tau, _ = states(batch)
    made = ps.compile(damped, CHAIN)(0.5, q, v, tau)
    a = ps.forward_dynamics(CHAIN, q, v, tau - 0.1 * v)
    assert relative(made["first"], ps.mass_matrix(CHAIN, q)[..., 0, :] * a[..., :1] + 0.5) < 1e-13
    assert relative(made["again"], ps.forward_dynamics(CHAIN, q, a, 0.0 * tau)) < 1e-9


def twice(q, v, tau):
    return ps.forward_dynamics(CHAIN, q, v, ps.forward_dynamics(CHAIN, q, v, tau - v)) + v


@pytest.mark.parametrize("function", [falling, twice])
def test_one_state_is_what_it_is_in_a_batch(function):
    q, v, tau, _ = states((2,))
    made = ps.compile(function, CHAIN)
    door = made.kernel.single if function is falling else made.kernel.function.single
    assert door(q[1], v[1], tau[1]) is not NotImplemented
    assert relative(made(q[1], v[1], tau[1]), made(q, v, tau)[1]) < 1e-13
    whole = np.ones(CHAIN.nv, dtype=int)
    assert relative(made(list(q[1]), whole, v[1]), function(q[1], np.ones(CHAIN.nv), v[1])) < 1e-13
    assert relative(made(q[1], v[::-1][0], tau[1][::-1]), function(q[1], v[1], tau[1][::-1])) < 1e-13


@pytest.mark.sampled(2)
@pytest.mark.parametrize("count", [1, 3, 17, 40])
def test_what_surrounds_one_call_is_one_kernel_with_it(count):
    """Numbers of which the call reads none, all and some, before and behind it; those that the call is given as they
    are, in another order or twice; no result as the call gives it, one and several."""
    tree = ps.ModelBuilder("mast", gravity=(0, 0, -9.81))
    tree.attach(CHAIN, "world", ps.Pose(xyz=(0, 0, 1)), "a_")
    tree.attach(ps.chain(7), "world", ps.Pose(xyz=(1, 0, 0)), "b_")
    model = tree.build()
    q, v, tau, x = np.random.default_rng(1).standard_normal((4, count, model.nv))

    def turned(q, v, tau, x):
        a = ps.forward_dynamics(model, q, v, 0.1 * x[::-1] - tau)
        return {"a": a * x + q, "sum": (a @ v)[None], "pair": np.stack([a, tau])}

    for law in (
        turned,
        lambda q, v, tau, x: ps.forward_dynamics(model, q, v, tau + x),
        lambda q, v, tau, x: ps.forward_dynamics(model, q, x, x) + tau,
        lambda q, v, tau, x: q * ps.gravity_load(model, q) + x,
    ):
        made = ps.compile(law, model, rows={"x": model.nv})
        assert isinstance(made.kernel.function, np.ufunc) or law not in (turned,)
        found = made(q, v, tau, x)
        for row in range(count):
            want = law(q[row], v[row], tau[row], x[row])
            for name in want if isinstance(want, dict) else [None]:
                got, right = (y if name is None else y[name] for y in (found, want))
                assert relative(got[row], right) < 1e-12


def test_arguments_broadcast_and_a_wrong_shape_is_told():
    q, v, tau, _ = states((4,))
    made = ps.compile(falling, CHAIN)
    assert np.array_equal(made(q[0], v, tau[0]), falling(q[0], v, tau[0]))
    room = np.empty((4, CHAIN.nv))
    assert made(q, v, tau, out=room) is room and np.array_equal(room, falling(q, v, tau))
    with pytest.raises(ps.ShapeError, match="falling takes q"):
        made(q[:, :5], v, tau)


def test_results_that_need_no_call_of_all_arguments_have_the_batch_of_all():
    made = ps.compile(lambda q, v, tau: ps.forward_dynamics(CHAIN, q, 0.0 * v, 0.0 * tau), CHAIN)
    q, v, tau, _ = states((4,))
    found = made(q[0], v, tau)
    assert found.shape == (4, CHAIN.nv)
    assert relative(found[3], ps.forward_dynamics(CHAIN, q[0], 0.0 * v[0], 0.0 * tau[0])) < 1e-12


def test_derivatives_and_runtime_parameters_are_called_too():
    q, v, tau, _ = states((2,))
    made = ps.compile(lambda q, v, tau: ps.forward_dynamics_derivatives(CHAIN, q, v, tau).dq @ v, CHAIN)
    want = np.matmul(ps.forward_dynamics_derivatives(CHAIN, q, v, tau).dq, v[..., None])[..., 0]
    assert relative(made(q, v, tau), want) < 1e-10
    loaded = ps.compile(ps.gravity_load, CHAIN, parameters=("gravity",))
    assert relative(loaded(q, np.array([0.0, 0.0, -9.81])), ps.gravity_load(CHAIN, q)) < 1e-12


def test_many_loops_are_called():
    model = cells(20)
    q, v, tau = closed_states(model, 3)
    made = ps.compile(lambda q, v, tau: 3.0 * ps.forward_dynamics(model, q, v, tau), model)
    assert np.array_equal(made(q, v, tau), 3.0 * ps.forward_dynamics(model, q, v, tau))


def test_what_is_exported_is_written_out():
    assert not record(falling, CHAIN).steps and record(falling, CHAIN, calls=True).steps
    short = ps.chain(6)
    assert not record(lambda q, v, tau: ps.forward_dynamics(short, q, v, tau), short, calls=True).steps
