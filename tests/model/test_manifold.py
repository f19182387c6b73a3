"""Unit quaternions among the coordinates, and the compiled maps of the configuration manifold."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.arrays import traced
from phistar.backends.traces.trace import Tape
from phistar.model.manifold import add_displacement, between

FREE = ps.load("freeflyer").replace(gravity=(0.0, 0.0, -9.81))
CALLS = {
    "gravity_load": lambda q: ps.gravity_load(FREE, q),
    "forward_dynamics": lambda q: ps.forward_dynamics(FREE, q, np.zeros(FREE.nv), np.zeros(FREE.nv)),
    "derivatives": lambda q: ps.forward_dynamics_derivatives(FREE, q, np.zeros(FREE.nv), np.zeros(FREE.nv)).dq,
    "jacobian": lambda q: ps.jacobian(FREE, q, next(iter(FREE.frames))),
    "forward_kinematics": lambda q: ps.forward_kinematics(FREE, q, next(iter(FREE.frames))),
    "center_of_mass": lambda q: ps.center_of_mass(FREE, q),
    "integrate": lambda q: FREE.integrate(q, np.zeros(FREE.nv)),
    "difference": lambda q: FREE.difference(FREE.neutral(), q),
    "compiled function": ps.compile(lambda q: ps.gravity_load(FREE, q), FREE),
    "compiled statement": ps.compile(ps.gravity_load.statement, FREE),
}


def off(q, by):
    start = FREE.quaternions[0][1]
    q = q.copy()
    q[..., start : start + 4] *= 1.0 + by
    return q


@pytest.mark.sampled(8)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (40,), (7000,)])
def test_quaternions_off_unit_length_are_refused_again_and_again(call, batch):
    q = FREE.random(1, batch)
    for _ in range(3):
        call(q)
        call(off(q, 5e-7))
        bad = q.copy()
        bad[(-1,) * len(batch)] = off(bad[(-1,) * len(batch)], 0.01)
        with pytest.raises(ps.ShapeError, match=r"not of length one.*model\.normalized\(q1?\)"):
            call(bad)
        good = call(q)
        np.testing.assert_allclose(call(FREE.normalized(bad)), good, rtol=0, atol=1e-13 * (1 + np.abs(good).max()))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_quaternion_that_is_no_number_spoils_its_own_row_only(call, value):
    q = FREE.random(2, (5,))
    good = call(q)
    q[2, FREE.quaternions[0][1] + 1] = value
    made = call(q)
    rows = [0, 1, 3, 4]
    np.testing.assert_array_equal(made[rows], good[rows])
    assert not np.isfinite(made[2]).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "call",
    [
        lambda q: ps.simulate(FREE, q, np.zeros(FREE.nv), 1e-3).q,
        lambda q: ps.assemble(FREE, q),
        lambda q: ps.estimation.precise_forward_dynamics(FREE, q, np.zeros(FREE.nv), np.zeros(FREE.nv)),
        lambda q: ps.control.inverse_kinematics(FREE, np.eye(4), next(iter(FREE.frames)), start=q, iterations=1),
        lambda q: ps.control.PDControl(FREE, kp=1.0, kd=1.0).reference(q),
    ],
    ids=["simulate", "assemble", "precise", "inverse kinematics", "reference"],
)
def test_states_to_start_from_are_refused_too(call):
    call(q := FREE.random(1))
    with pytest.raises(ps.ShapeError, match="not of length one"):
        call(off(q, 0.01))


def test_closed_chains_refuse_quaternions_off_unit_length_again_and_again():
    builder, inertia = ps.ModelBuilder("held"), ps.Inertia(1.0, (0, 0, 0.1), np.diag([0.1, 0.2, 0.15]))
    builder.body("box", parent="world", joint=ps.Free(), inertia=inertia)
    builder.frame("corner", body="box", placement=ps.Pose(xyz=(0.1, 0.2, 0.3)))
    builder.frame("nail", body="world")
    builder.loop("string", "corner", "nail", joint=ps.Distance(0.5))
    held = builder.build()
    q, still = ps.assemble(held, held.random(1)), np.zeros(held.nv)
    long = np.concatenate([q[:3], 1.01 * q[3:]])
    for _ in range(3):
        ps.forward_dynamics(held, q, still, still)
        with pytest.raises(ps.ShapeError, match="not of length one"):
            ps.forward_dynamics(held, long, still, still)


def test_normalized_has_unit_quaternions_and_leaves_the_rest():
    q = FREE.random(3, (4,))
    long = off(q, 3.0)
    made = FREE.normalized(long)
    assert made is not long
    np.testing.assert_allclose(made, q, rtol=0, atol=1e-15)
    with pytest.raises(ps.ShapeError, match="zero, which is no rotation"):
        FREE.normalized(np.zeros(FREE.nq))
    arm = ps.chain(2)
    np.testing.assert_array_equal(arm.normalized([1.0, 2.0]), [1.0, 2.0])


@pytest.mark.parametrize("function", ["integrate", "difference"])
def test_compiled_maps_are_their_formulas(function):
    rng = np.random.default_rng(4)
    q = FREE.random(rng, (200,))
    other = 10.0 ** rng.uniform(-12, 0.5, (200, 1)) * rng.standard_normal((200, FREE.nv))
    if function == "difference":
        other = FREE.integrate(q, other)
    formula = {"integrate": add_displacement, "difference": between}[function]
    expected, call = formula(FREE, q, other), getattr(FREE, function)
    np.testing.assert_allclose(call(q, other), expected, rtol=0, atol=2e-14)
    np.testing.assert_allclose(call(q[0], other[0]), expected[0], rtol=0, atol=2e-14)
    np.testing.assert_allclose(call(q[:, None], other)[3, 5], formula(FREE, q[3], other[5]), rtol=0, atol=2e-14)
    np.testing.assert_allclose(call(q[5].tolist(), other[5].tolist()), expected[5], rtol=0, atol=2e-14)


def test_maps_take_traced_numbers():
    tape = Tape()
    q, dv = (traced(tape.inputs((n,))) for n in (FREE.nq, FREE.nv))
    assert FREE.integrate(q, dv).shape == (FREE.nq,) and FREE.difference(q, FREE.integrate(q, dv)).shape == (FREE.nv,)


@pytest.mark.parametrize(
    "given", [[None, 1.0], np.array([None, 1.0]), [["1", "2"]], np.array([1.0, "2"], dtype=object)]
)
def test_none_and_text_are_no_numbers(given):
    model = ps.chain(2)
    compiled = ps.compile(lambda q: ps.gravity_load(model, q), model)
    for call in (lambda x: ps.gravity_load(model, x), lambda x: model.integrate(x, [0, 0]), compiled):
        with pytest.raises(ps.ShapeError):
            call(given)


def test_a_time_of_none_is_refused():
    law = ps.compile(lambda t, q: t * q, ps.chain(2))
    with pytest.raises(ps.ShapeError, match="takes t"):
        law(None, np.zeros(2))


def test_a_method_that_was_held_before_the_first_call_goes_to_the_kernel_too(monkeypatch):
    model = ps.load("freeflyer")
    held, rng = (model.integrate, model.difference), np.random.default_rng(0)
    q, v = model.random(rng), rng.normal(size=model.nv)
    made = held[0](q, v)
    rates = held[1](q, made)
    monkeypatch.setattr(type(model), "checked_q", lambda *given: pytest.fail("the long way is gone"))
    for integrate, difference in (held, (model.integrate, model.difference)):
        assert np.array_equal(integrate(q, v), made) and np.array_equal(difference(q, made), rates)
