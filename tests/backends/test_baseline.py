"""A machine without AVX and FMA: every kind of kernel gives there what it gives here."""

import sys

import numpy as np
import pytest

import phistar as ps
from phistar.backends.machine import jit
from tests.trees import mechanism, relative

SMALL = {"serial": False, "floating": False, "frames": 1, "armature": True, "rotors": False}
HOST = jit.host


def drawn(model, count=3):
    rng = np.random.default_rng(0)
    return model, model.random(rng, shape=(count,)), *rng.normal(size=(2, count, model.nv))


def kinds():
    """Results by the kind of kernel that makes them; models are made anew, since they keep their kernels."""
    written, q, v, a = drawn(mechanism.__wrapped__(90, bodies=2, kind="spherical", **SMALL).model)
    yield "written out", ps.forward_dynamics(written, q, v, a)
    yield "one state", ps.forward_dynamics(written, q[0], v[0], a[0])
    yield "recorded", ps.linearize(written, q, v, a).A
    yield "second order", ps.inverse_dynamics_hessian_product(written, q, v, a, a, v, v, a).dq
    yield "a function of one's own", ps.compile(lambda q, v: ps.bias(written, q, v) * np.sign(v), written)(q, v)
    yield "time loop", ps.rollout(written, q, v, steps=3).q
    yield "time loop with a law", ps.rollout(written, q, v, steps=3, controller=lambda t, q, v: -v * np.sin(t)).v
    many, q, v, a = drawn(mechanism.__wrapped__(91, bodies=14, kind="revolute", **SMALL).model)
    yield "elimination", ps.forward_dynamics_derivatives(many, q, v, a).dq
    yield "pairs", ps.inverse_dynamics_derivatives(many, q, v, a).dq
    long, q, v, a = drawn(mechanism.__wrapped__(92, bodies=41, kind="helical", **SMALL).model)
    yield "rolled", ps.forward_dynamics(long, q, v, a)
    yield "rolled, at a frame", ps.jacobian(long, q, "frame0")
    yield "rolled, a matrix", ps.mass_matrix(long, q)
    yield "rolled, derivatives", ps.inverse_dynamics_derivatives(long, q, v, a).dq


@pytest.mark.slow
def test_every_kind_of_kernel_falls_back(monkeypatch):
    if not HOST().triple.startswith("x86_64"):
        pytest.skip(f"the baseline is an x86-64; this is {HOST().triple}")
    here = dict(kinds())
    narrow, asked = jit.Target(HOST().triple, "x86-64", ""), []
    for name, module in list(sys.modules.items()):
        if name.startswith("phistar.") and vars(module).get("host") is HOST:
            monkeypatch.setattr(module, "host", lambda: asked.append(1) or narrow)
    there = dict(kinds())
    assert asked and narrow.lanes == 2
    for name, expected in here.items():
        assert relative(there[name], expected) < 1e-10, name
    assert any(not np.array_equal(there[name], here[name]) for name in here)  # it is other code
