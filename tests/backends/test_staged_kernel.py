"""Functions that call compiled ones: the same numbers for one state, batches and given room, whatever is used."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.staged_kernel import Staged

CHAIN = ps.chain(60)


def used_again(q, v, tau):
    pushed = tau - 0.5 * v
    return ps.forward_dynamics(CHAIN, q, v, pushed) + pushed


LAWS = {
    "made before, used behind": used_again,
    "last is the call": lambda q, v, tau: ps.forward_dynamics(CHAIN, q, v, tau - 0.5 * v),
    "last is a trace": lambda q, v, tau: 2.0 * ps.forward_dynamics(CHAIN, q, v, tau),
    "nothing but the call": lambda q, v, tau: ps.forward_dynamics(CHAIN, q, v, tau),
    "an argument is not used": lambda q, v, tau: ps.forward_dynamics(CHAIN, q, v, v),
    "two calls": lambda q, v, tau: ps.forward_dynamics(CHAIN, q, v, ps.forward_dynamics(CHAIN, q, v, tau) - 0.5 * v),
    "an operator": lambda q, v, tau: ps.mass_matrix(CHAIN, q) @ v + tau,
}
STEPS = {
    "an argument is not used": 0,
    "two calls": 2,
    "an operator": 1,
}  # others are one kernel with their call


@pytest.mark.parametrize("name", LAWS)
def test_a_law_around_a_call_gives_what_its_parts_give(name):
    rng = np.random.default_rng(4)
    law, made = LAWS[name], ps.compile(LAWS[name], CHAIN)
    assert isinstance(made.kernel.function, Staged) == (name in STEPS)
    if name in STEPS:
        assert len(made.kernel.function.steps) == STEPS[name]  # what only hands results on is no step
    q, v, tau = CHAIN.random(rng, (3,)), *rng.normal(size=(2, 3, CHAIN.nv))
    batch = made(q, v, tau)
    np.testing.assert_allclose(batch, np.array([law(*x) for x in zip(q, v, tau, strict=True)]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([made(*x) for x in zip(q, v, tau, strict=True)], batch, rtol=1e-12, atol=1e-12)
    room = np.empty_like(batch)
    assert made(q, v, tau, out=room) is room
    np.testing.assert_array_equal(room, batch)
    assert made(q[0], v[0], tau).shape == (3, CHAIN.nv)


def test_arguments_that_do_not_fit_are_told_in_a_sentence():
    made = ps.compile(LAWS["last is the call"], CHAIN)
    q, v = CHAIN.neutral(), np.zeros(CHAIN.nv)
    for arrays in ((q, v), (q, v, v[1:]), (q, v, "tau")):
        with pytest.raises(ps.ShapeError):
            made(*arrays)
