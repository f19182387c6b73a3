"""Analytic Jacobians by coordinates against differences; JAX and PyTorch give them as gradients."""

import numpy as np
import pytest

import phistar as ps
from phistar.autodiff import FUNCTIONS

BODY = ps.Inertia(2.0, (0.1, 0.2, -0.1), np.diag([0.3, 0.4, 0.5]))


def walker():
    """Free base, ball joint, planar joint and hinge: every kind of coordinate."""
    b = ps.ModelBuilder("walker")
    b.body("base", "world", ps.Free(), ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)), BODY)
    b.body("ball", "base", ps.Spherical(), ps.Pose(xyz=(0.2, 0, 0.1)), BODY)
    b.body("slide", "ball", ps.Planar(), ps.Pose(xyz=(0.2, 0, 0.1)), BODY)
    b.body("hinge", "slide", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0.2, 0, 0.1)), BODY)
    return b.build()


WALKER = walker()


def arguments(name, count=None, seed=5):
    rng = np.random.default_rng(seed)
    lead = () if count is None else (count,)
    q = np.stack([WALKER.random(rng) for _ in range(count or 1)]).reshape(*lead, WALKER.nq)
    rates = [rng.standard_normal((*lead, WALKER.nv)) for _ in FUNCTIONS[name].arrays[1:]]
    return [q, *rates], (("hinge",) if FUNCTIONS[name].frame else ())


def differences(function, x, step=1e-4):
    """∂f/∂x by differences of fourth order, on a last axis; quaternions are divided by their lengths first."""
    columns = []
    for unit in step * np.eye(x.shape[-1]):
        values = [np.asarray(function(x + k * unit)) for k in (-2, -1, 1, 2)]
        columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_by_coordinates_are_those_of_differences(name):
    stated, (arrays, frame) = FUNCTIONS[name], arguments(name)
    found = stated.jacobians(WALKER, *arrays, *frame)
    assert len(found) == len(arrays)
    for number, jacobian in enumerate(found):

        def value(x, number=number):
            given = [x if n == number else array for n, array in enumerate(arrays)]
            return stated.value(WALKER, WALKER.normalized(given[0]), *given[1:], *frame)

        expected = differences(value, arrays[number])
        assert jacobian.shape == (*stated.shape(WALKER), arrays[number].shape[-1])
        assert np.abs(jacobian - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_of_batches_are_those_of_their_rows(name):
    arrays, frame = arguments(name, count=3)
    found = FUNCTIONS[name].jacobians(WALKER, *arrays, *frame)
    for row in range(3):
        single = FUNCTIONS[name].jacobians(WALKER, *(array[row] for array in arrays), *frame)
        for whole, one in zip(found, single, strict=True):
            assert np.allclose(whole[row], one, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jax_gives_the_jacobians_in_both_modes_compiled_and_over_batches(name, jax):
    import phistar.jax as psj

    arrays, frame = arguments(name, count=2)

    def function(*given):
        return getattr(psj, name)(WALKER, *given, *frame)

    every = tuple(range(len(arrays)))
    values = jax.jit(jax.vmap(function))(*arrays)
    assert np.allclose(values, FUNCTIONS[name].value(WALKER, *arrays, *frame), rtol=1e-12, atol=1e-12)
    for mode in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jax.vmap(mode(function, argnums=every)))(*arrays)
        for made, expected in zip(found, FUNCTIONS[name].jacobians(WALKER, *arrays, *frame), strict=True):
            assert np.allclose(made, expected, rtol=1e-12, atol=1e-12)


def test_jax_broadcasts_and_keeps_its_precision(jax):
    import phistar.jax as psj

    arm, q = ps.load("puma560"), np.linspace(0, 1, 12).reshape(2, 6)
    assert psj.forward_dynamics(arm, q, np.zeros(6), np.zeros(6)).shape == (2, 6)
    assert psj.gravity_load(arm, np.zeros(6, np.float32)).dtype == np.float32
    with pytest.raises(ps.PhistarError, match="takes the robot first"):
        psj.gravity_load(q, arm)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_torch_gives_the_gradients(name):
    torch = pytest.importorskip("torch")
    import phistar.torch as pst

    arrays, frame = arguments(name, count=2)
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    made = getattr(pst, name)(WALKER, *tensors, *frame)
    assert np.allclose(made.detach(), FUNCTIONS[name].value(WALKER, *arrays, *frame), rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(1).standard_normal(made.shape)
    made.backward(torch.tensor(weights))
    axes = tuple(range(1, weights.ndim))
    for tensor, jacobian in zip(tensors, FUNCTIONS[name].jacobians(WALKER, *arrays, *frame), strict=True):
        assert np.allclose(tensor.grad, np.sum(weights[..., None] * jacobian, axis=axes), rtol=1e-12, atol=1e-12)


def test_torch_sums_gradients_of_what_was_broadcast():
    torch = pytest.importorskip("torch")
    import phistar.torch as pst

    arm, rng = ps.load("puma560"), np.random.default_rng(2)
    q, v = torch.tensor(rng.standard_normal((3, 6))), torch.tensor(rng.standard_normal(6), requires_grad=True)
    pst.bias(arm, q, v).sum().backward()
    dv = ps.inverse_dynamics_derivatives(arm, q.numpy(), v.detach().numpy(), np.zeros(6)).dv
    assert v.grad.shape == (6,) and np.allclose(v.grad, dv.sum(axis=(0, 1)))


def pure(function, *rest, **options):
    pytest.importorskip("jax").config.update("jax_enable_x64", True)
    import phistar.jax as psj

    return psj.pure_function(function, *rest, **options)


def test_what_is_written_out_in_jax_calls_nothing_and_agrees():
    import jax

    arm, rng = ps.planar_chain(3, gravity=(0, -9.81, 0)), np.random.default_rng(2)
    function = pure(ps.forward_dynamics, arm)
    q, v, tau = rng.normal(size=(3, 5, 3))
    expected = ps.forward_dynamics(arm, q, v, tau)
    assert np.abs(function(q, v, tau) - expected).max() < 1e-12
    assert np.abs(jax.jit(jax.vmap(function))(q, v, tau) - expected).max() < 1e-12
    assert np.abs(function(q, v[0], tau[0])[0] - expected[0]).max() < 1e-12
    assert "callback" not in str(jax.make_jaxpr(function)(q, v, tau))


def test_second_derivatives_of_what_is_written_out_are_those_of_differences():
    import jax

    body = ps.planar_chain(2, gravity=(0, -9.81, 0))
    v, tau, q = np.array([0.3, -0.2]), np.array([0.1, 0.4]), np.array([0.5, -0.8])
    hessian = jax.jacfwd(jax.jacrev(pure(ps.forward_dynamics, body)))(q, v, tau)
    expected = differences(lambda x: ps.forward_dynamics_derivatives(body, x, v, tau).dq, q)
    assert np.abs(hessian - expected).max() < 1e-8 * np.abs(expected).max()


def test_several_results_single_precision_and_frames_are_written_out():
    import jax.numpy as jnp

    def law(q, v, goal):
        return ps.gravity_load(WALKER, q), ps.forward_kinematics(WALKER, q, "hinge"), goal * 2.0

    q, v = WALKER.random(np.random.default_rng(1)), np.zeros(WALKER.nv)
    weight, pose, twice = pure(law, WALKER, rows={"goal": 3})(*(jnp.asarray(x, jnp.float32) for x in (q, v, [1, 2, 3])))
    assert weight.dtype == pose.dtype == jnp.float32 and twice.tolist() == [2, 4, 6]
    assert np.abs(weight - ps.gravity_load(WALKER, q)).max() < 1e-4
    assert np.abs(pose - ps.forward_kinematics(WALKER, q, "hinge")).max() < 1e-5


def test_arrays_that_do_not_fit_what_is_written_out_are_refused():
    function = pure(ps.gravity_load, ps.planar_chain(2))
    with pytest.raises(ps.ShapeError, match="gravity_load: q has the shape"):
        function(np.zeros(3))
    with pytest.raises(ps.ShapeError, match="takes q: 2 arrays"):
        function(np.zeros(2), np.zeros(2))
