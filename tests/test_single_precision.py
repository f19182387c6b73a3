"""dtype=float32: what is lost stays within the bound that is stated, and what would lose more than asked is refused."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.packed import module_text
from phistar.backends.machine.call_doors import layout_is_known
from phistar.backends.machine.jit import Signature, Target, compile_object, gufunc, host, load_object
from phistar.backends.traces.roundoff import UNIT, rounding_bound
from phistar.backends.traces.trace import Tape, finish
from phistar.errors import ShapeError, StatementError
from phistar.recording import record

ARM = ps.load("puma560")
FUNCTIONS = [ps.inverse_dynamics, ps.forward_dynamics, ps.mass_matrix, ps.forward_dynamics_derivatives]
AVX2 = "+avx,+avx2,+fma"


def states(model, count, arguments, dtype=np.float32):
    rng = np.random.default_rng(3)
    q = model.random(rng, (count,))
    return [x.astype(dtype) for x in (q, *rng.normal(size=(arguments, count, model.nv)))]


def lost(found, exact):
    """What is lost of an array at each state, relative to its largest entry."""
    axes = tuple(range(1, exact.ndim))
    return np.abs(found - exact).max(axes) / np.abs(exact).max(axes)


@pytest.mark.parametrize("robot", ["puma560", "rj2w_tree", "freeflyer", "planar3"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda x: x.__name__)
def test_no_more_is_lost_than_the_bound_says_at_each_state(robot, function):
    model = ps.load(robot)
    short = ps.compile(function, model, dtype=np.float32)
    arrays = states(model, 20, len(short.inputs) - 1)
    made, exact = short(*arrays), function(model, *(x.astype(float) for x in arrays))
    made, exact = ((made,), (exact,)) if isinstance(exact, np.ndarray) else (made, exact)
    assert all(x.dtype == np.float32 for x in made)
    worst = np.max([lost(x, y) for x, y in zip(made, exact, strict=True)], axis=0)
    shapes = [x.shape[1:] for x in exact]
    rows = np.concatenate(arrays, axis=1, dtype=float)
    bounds = [rounding_bound(short.recording.trace, row[None], shapes) for row in rows]
    assert (worst <= bounds).all() and worst.max() > UNIT / 10
    assert short.error < 1e-3 and np.median(bounds) < 100 * np.median(worst)


def test_the_bound_adds_the_roundings_of_arguments_constants_and_steps():
    tape = Tape()
    x, y = tape.inputs((2,))
    trace = finish(tape, [(x + y) * 3.0])
    # Of 6: each argument 3u, the sum 6u, the product 6u; 3 is exact, and 0.1 is not.
    assert rounding_bound(trace, np.array([[1.0, 1.0]]), [(1,)]) == pytest.approx(3 * UNIT)
    tape = Tape()
    (x,) = tape.inputs((1,))
    assert rounding_bound(finish(tape, [x * 0.1]), np.array([[1.0]]), [(1,)]) == pytest.approx(3 * UNIT)
    tape = Tape()
    x, y = tape.inputs((2,))  # what cancels
    assert rounding_bound(finish(tape, [x - y]), np.array([[1.0, 0.999]]), [(1,)]) == pytest.approx(
        2000 * UNIT, rel=0.01
    )


def heavy_tip(ratio):
    builder, parent = ps.ModelBuilder("heavy tip"), "world"
    for k in range(9):
        mass = ratio if k == 8 else 1.0
        place = ps.Pose(xyz=(0.3, 0.1, 0.2)) if k else ps.Pose()
        inertia = ps.Inertia(mass, (0.1, 0.05, -0.02), 0.01 * mass * np.diag([1.0, 1.5, 2.0]))
        builder.body(f"link{k}", parent, ps.Revolute(axis=np.eye(3)[k % 3]), place, inertia)
        parent = f"link{k}"
    return builder.build()


def test_light_links_that_carry_heavy_ones_lose_more_and_are_refused():
    model = heavy_tip(1e4)
    with pytest.raises(StatementError, match=r"may lose .* is asked for.*use float64"):
        ps.compile(ps.forward_dynamics, model, dtype=np.float32)
    lossy = ps.compile(ps.forward_dynamics, model, dtype=np.float32, accuracy=0.9)
    arrays = states(model, 200, 2)
    worst = lost(lossy(*arrays), ps.forward_dynamics(model, *(x.astype(float) for x in arrays))).max()
    light = ps.compile(ps.forward_dynamics, heavy_tip(1.0), dtype=np.float32)
    assert 1e-4 < worst < 1.0 and lossy.error > 1e-3 > light.error


def test_statements_matrices_frames_and_functions_of_ones_own():
    arrays = states(ARM, 30, 2)
    wide = [x.astype(float) for x in arrays]
    mass = ps.compile(ps.algebra(ARM).mass, dtype=np.float32)
    np.testing.assert_allclose(mass(*arrays[:2]), ps.compile(ps.algebra(ARM).mass)(*wide[:2]), rtol=1e-4, atol=1e-5)
    whole = ps.compile(ps.algebra(ARM).mass, matrix=True, dtype="float32")
    np.testing.assert_allclose(whole(arrays[0]), ps.mass_matrix(ARM, wide[0]), rtol=1e-4, atol=1e-5)
    jacobian = ps.compile(ps.jacobian, ARM, frame="link6", dtype=np.float32)
    np.testing.assert_allclose(jacobian(arrays[0]), ps.jacobian(ARM, wide[0], "link6"), rtol=1e-5, atol=1e-5)
    law = ps.compile(lambda t, q, v: ps.bias(ARM, q, v) - 2.0 * v * np.sin(t), ARM, dtype=np.float32)
    expected = ps.bias(ARM, wide[0], wide[1]) - 2.0 * wide[1] * np.sin(0.3)
    np.testing.assert_allclose(law(np.full(30, 0.3), *arrays[:2]), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(law(0.3, arrays[0][0], arrays[1][0]), expected[0], rtol=1e-4, atol=1e-4)


def test_arrays_of_any_layout_and_count_give_the_same():
    short = ps.compile(ps.forward_dynamics, ARM, dtype=np.float32)
    q, v, tau = states(ARM, 7000, 2)
    made = short(q, v, tau)
    assert np.array_equal(short(q.astype(float), v, tau.tolist()), made)  # the same numbers, rounded on the way
    assert np.array_equal(short(q[::2], v[::2], tau[::2]), made[::2])
    assert np.array_equal(short(np.asfortranarray(q), v, tau), made)
    assert np.array_equal(short(q[5], v[5], tau[5]), made[5]) and short(q[5], v[5], tau[5]).dtype == np.float32
    assert np.array_equal(short(q[:3], v[0], tau[0])[0], made[0])
    room = np.empty_like(made)
    assert short(q, v, tau, out=room) is room and np.array_equal(room, made)
    both = ps.compile(ps.forward_dynamics_derivatives, ARM, dtype=np.float32)
    for some, one in zip(both(q, v, tau), both(q[9], v[9], tau[9]), strict=True):
        assert some.dtype == np.float32 and np.array_equal(some[9], one)


@pytest.mark.skipif(not layout_is_known(), reason="this Python holds arrays in another way")
def test_single_states_and_batches_of_float32_go_past_numpys_call():
    kernel = ps.compile(ps.forward_dynamics, ARM, dtype=np.float32).kernel
    q, v, tau = states(ARM, 64, 2)
    found = kernel.single(q[0], v[0], tau[0])
    assert found.dtype == np.float32 and np.array_equal(found, kernel.function(q, v, tau)[0])
    assert np.array_equal(kernel.single(q, v, tau), kernel.function(q, v, tau))
    assert kernel.single(q[0].astype(float), v[0], tau[0]) is NotImplemented
    room = np.empty(6, np.float32)
    assert kernel.into(q[0], v[0], tau[0], room) is room and np.array_equal(room, found)
    assert kernel.into(q[0], v[0], tau[0], np.empty(6)) is NotImplemented


@pytest.mark.parametrize("features", ["", AVX2], ids=["x86-64 without AVX and FMA", "eight lanes on AVX2"])
def test_other_processors_give_the_same_to_rounding(features):
    if not host().triple.startswith("x86_64") or (features and "+avx2" not in host().features):
        pytest.skip("this machine does not run the code")
    target = Target(host().triple, "haswell" if features else "x86-64", features)
    assert target.lanes_of("f32") == (8 if features else 4)
    found = record(ps.forward_dynamics, ARM)
    signature = Signature((6, 6, 6), ((6,),), kind="f32")
    text = module_text(found.trace, signature, target.lanes_of("f32"), target.fma)
    function = gufunc(load_object(compile_object(text, target)), signature, "f", "")
    arrays = states(ARM, 41, 2)
    exact = ps.forward_dynamics(ARM, *(x.astype(float) for x in arrays))
    assert lost(function(*arrays), exact).max() < ps.compile(ps.forward_dynamics, ARM, dtype=np.float32).error


@pytest.mark.parametrize("features", ["", AVX2], ids=["x86-64 without AVX and FMA", "eight lanes on AVX2"])
def test_sines_of_floats_of_32_bits_are_within_two_units_of_the_last_place(features):
    if not host().triple.startswith("x86_64") or (features and "+avx2" not in host().features):
        pytest.skip("this machine does not run the code")
    target, tape = Target(host().triple, "haswell" if features else "x86-64", features), Tape()
    (x,) = tape.inputs((1,))
    signature = Signature((1,), ((1,), (1,)), kind="f32")
    text = module_text(finish(tape, [x.sin(), x.cos()]), signature, target.lanes_of("f32"), target.fma)
    function = gufunc(load_object(compile_object(text, target)), signature, "sincos", "")
    rng = np.random.default_rng(0)
    scales = [rng.uniform(-1, 1, 20000) * scale for scale in (1e-6, 1.0, 10.0, 4095.9)]
    quarters = np.arange(2600) * (np.pi / 2)
    angles = np.concatenate([*scales, quarters, np.nextafter(quarters, 9.0, dtype=np.float32)]).astype(np.float32)
    for made, true in zip(function(angles[:, None]), (np.sin, np.cos), strict=True):
        exact = true(angles.astype(float))
        assert (np.abs(made[:, 0] - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() <= 2.0
    far = np.array([0.5, 4096.0, 1e5, -3e9, 1e30, 2.5], np.float32)
    with np.errstate(invalid="ignore"):
        for made, true in zip(function(far[:, None]), (np.sin, np.cos), strict=True):
            np.testing.assert_allclose(made[:, 0], true(far.astype(float)), rtol=0, atol=2e-7)
        assert np.isnan(function(np.array([[np.inf], [np.nan]], np.float32))[0]).all()


def test_what_is_not_meant_is_refused_with_a_sentence():
    short = ps.compile(ps.gravity_load, ARM, dtype=np.float32)
    with pytest.raises(ShapeError, match="gravity_load takes q"):
        short(np.zeros(6, complex))
    with pytest.raises(ShapeError, match="gravity_load takes q"):
        short(np.zeros(5, np.float32))
    for dtype in (np.float16, int, "complex64", "no such type", 3):
        with pytest.raises(StatementError, match="float64 or float32"):
            ps.compile(ps.gravity_load, ARM, dtype=dtype)
    with pytest.raises(StatementError, match=r"dtype=np\.float32"):
        ps.compile(ps.gravity_load, ARM, accuracy=1e-4)
    for accuracy in (0.0, -1.0, 2.0, np.nan):
        with pytest.raises(StatementError, match="between 0 and 1"):
            ps.compile(ps.gravity_load, ARM, dtype=np.float32, accuracy=accuracy)
    with pytest.raises(StatementError, match="may lose"):
        ps.compile(ps.gravity_load, ARM, dtype=np.float32, accuracy=1e-8)
    with pytest.raises(StatementError, match="schedule"):
        ps.compile(ps.algebra(ARM).mass, dtype=np.float32, schedule="link by link")
    with pytest.raises(StatementError, match="one robot"):
        ps.compile(ps.algebra().mass, dtype=np.float32)


def test_long_robots_are_written_out_within_the_budget_or_refused(monkeypatch):
    model = ps.chain(60)
    arrays = states(model, 5, 2)
    short = ps.compile(ps.inverse_dynamics, model, dtype=np.float32)
    exact = ps.inverse_dynamics(model, *(x.astype(float) for x in arrays))
    assert lost(short(*arrays), exact).max() < short.error
    monkeypatch.setenv("PHISTAR_COMPILE_SECONDS", "0.01")
    with pytest.raises(StatementError, match=r"loops over the links.*PHISTAR_COMPILE_SECONDS"):
        ps.compile(ps.inverse_dynamics, model, dtype=np.float32)
