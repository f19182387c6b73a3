"""Functions of long robots, called again: what is known of the robot is not found out anew at each call."""

import numpy as np
import pytest

import phistar as ps
from phistar import stated_kernels
from phistar.backends import recorded
from phistar.backends.links import concise


def test_linearization_makes_no_kernel_a_second_time(monkeypatch):
    model, rng = ps.chain(50), np.random.default_rng(0)
    q, v, tau = model.random(rng), *rng.normal(size=(2, 50))
    first = ps.linearize(model, q, v, tau)
    for module, name in ((recorded, "pair_kernel"), (concise, "without_roundoff")):
        monkeypatch.setattr(module, name, lambda *given, name=name: pytest.fail(f"{name} is asked again"))
    again = ps.linearize(model, q, v, tau)
    assert np.array_equal(first.A, again.A) and np.array_equal(first.B, again.B)


def test_the_mass_centre_of_a_long_robot_is_a_kernel():
    model = ps.chain(60)
    rng = np.random.default_rng(1)
    q = model.random(rng, (5,))
    whole = ps.composite_inertia(model, q)
    moment = np.stack([whole[:, 2, 4], whole[:, 0, 5], whole[:, 1, 3]], axis=-1)  # of m·p̃
    centre = ps.center_of_mass(model, q)
    np.testing.assert_allclose(centre, moment / whole[:, 3:4, 3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        ps.potential_energy(model, q), -whole[:, 3, 3] * (centre @ model.gravity), rtol=1e-12, atol=1e-9
    )
    kept = model.__dict__["_kernels"]
    assert {"center_of_mass", "potential_energy"} <= set(kept)


def test_several_statements_at_one_state_go_to_their_kernel_at_once(monkeypatch):
    model, rng = ps.load("puma560"), np.random.default_rng(2)
    q, v = model.random(rng), rng.normal(size=6)
    first, batch = ps.operational_space(model, q, v, "tool"), ps.operational_space(model, np.stack([q, q]), v, "tool")
    with monkeypatch.context() as patched:
        patched.setattr(stated_kernels, "checked_arguments", lambda *given: pytest.fail("the long way is gone"))
        again = ps.operational_space(model, q, v, "tool")
        for one, other, row in zip(first, again, batch, strict=False):
            assert np.array_equal(one, other) and np.array_equal(one, row[0])
        again.inertia[:] = 0.0  # the caller's own
        assert np.array_equal(ps.operational_space(model, q, v, "tool").inertia, first.inertia)
    with pytest.raises(ps.ShapeError, match=r"q has shape \(5,\)"):
        ps.operational_space(model, q[:5], v, "tool")
    with pytest.raises(ps.UnknownNameError):
        ps.operational_space(model, q, v, "nowhere")
    assert np.array_equal(ps.operational_space(model, q.tolist(), v.tolist(), "tool").coriolis, first.coriolis)
