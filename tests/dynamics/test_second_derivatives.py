"""Second derivatives of the dynamics: how the first ones change, on every joint kind, tree and rotor."""

import numpy as np
import pytest

import phistar as ps
from phistar.second_derivatives import Tensor
from tests.trees import KINDS, mechanism, relative


def bending(links):
    """A chain of beams with two modes each."""
    b, parent = ps.ModelBuilder("beams"), "world"
    for i in range(links):
        place = ps.Pose(xyz=(1.0 if i else 0.0, 0.0, 0.0))
        beam = ps.beam(1.0, 50.0, 1.0, modes=2)
        b.body(f"link{i}", parent=parent, joint=ps.Revolute(axis=(0, 1, 0)), placement=place, inertia=beam)
        parent = f"link{i}"
    return b.build()


def four_bars(count):
    """Four-bar linkages, each on the rocker of the one before, and a link on a ball joint."""
    b, parent, hinge = ps.ModelBuilder("linkages", gravity=(0, -9.81, 0)), "world", ps.Revolute(axis=(0, 0, 1))
    bar = ps.Inertia(1.0, (0.2, 0.0, 0.0), 0.05 * np.eye(3))
    for i in range(count):
        for name, on, x in ((f"crank{i}", parent, 0.3), (f"bar{i}", f"crank{i}", 0.4), (f"rocker{i}", parent, 0.8)):
            b.body(name, parent=on, joint=hinge, placement=ps.Pose(xyz=(x, 0.0, 0.0)), inertia=bar)
        b.frame(f"end{i}", body=f"bar{i}", placement=ps.Pose(xyz=(0.5, 0.0, 0.0)))
        b.frame(f"pin{i}", body=f"rocker{i}", placement=ps.Pose(xyz=(0.45, 0.0, 0.0)))
        b.loop(f"loop{i}", f"end{i}", f"pin{i}", joint=hinge)
        parent = f"rocker{i}"
    b.body("ball", parent=parent, joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0.2, 0.1, 0.0), 0.05 * np.eye(3)))
    return b.build()


TREES = {
    **{kind: mechanism(80, kind=kind, bodies=3, frames=1).model for kind in KINDS},
    "branching with armature": mechanism(81, serial=False, floating=False, frames=2, armature=True, bodies=7).model,
    "floating": mechanism(82, serial=False, floating=True, frames=2, bodies=5).model,
    "with rotors": mechanism(83, serial=False, floating=False, armature=True, rotors=True, bodies=4, frames=1).model,
    "long": ps.chain(24),
    "bending": bending(2),
    "long and bending": bending(10),
    "in independent rates": four_bars(2).embedded(),
}


def state(model, seed=0, batch=()):
    rng = np.random.default_rng(seed)
    return model.random(rng, shape=batch), *rng.normal(size=(2, *batch, model.nv))


def differences(function, model, q, v, third, by, step=1e-5):
    """Central differences of the first derivatives along every direction, the last axis."""
    found = []
    for e in np.eye(model.nv):
        ends = [
            function(model, model.integrate(q, h * e), v, third) if by == "q" else function(model, q, v + h * e, third)
            for h in (step, -step)
        ]
        found.append([(x - y) / (2 * step) for x, y in zip(*ends, strict=True)])
    return [np.stack(each, axis=-1) for each in zip(*found, strict=True)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("model", TREES.values(), ids=TREES)
def test_second_derivatives_are_how_the_first_change(model):
    q, v, a = state(model)
    found = ps.inverse_dynamics_second_derivatives(model, q, v, a)
    by_q = differences(ps.inverse_dynamics_derivatives, model, q, v, a, "q")
    by_v = differences(ps.inverse_dynamics_derivatives, model, q, v, a, "v")
    expected = {
        "dqdq": (by_q[0] + np.swapaxes(by_q[0], -1, -2)) / 2,
        "dqdv": np.swapaxes(by_q[1], -1, -2),
        "dvdv": by_v[1],
        "dadq": by_q[2],
    }
    for name, value in expected.items():
        scale = max(np.abs(value).max(), 1.0)
        assert np.abs(getattr(found, name).dense() - value).max() < 1e-7 * scale, name


@pytest.mark.sampled(6)
@pytest.mark.parametrize("model", TREES.values(), ids=TREES)
def test_second_derivatives_of_accelerations_are_how_the_first_change(model):
    q, v, tau = state(model)
    found = ps.forward_dynamics_second_derivatives(model, q, v, tau)
    by_q = differences(ps.forward_dynamics_derivatives, model, q, v, tau, "q")
    by_v = differences(ps.forward_dynamics_derivatives, model, q, v, tau, "v")
    expected = {
        "dqdq": (by_q[0] + np.swapaxes(by_q[0], -1, -2)) / 2,
        "dqdv": np.swapaxes(by_q[1], -1, -2),
        "dvdv": by_v[1],
        "dtaudq": by_q[2],
    }
    for name, value in expected.items():
        scale = max(np.abs(value).max(), 1.0)
        assert np.abs(getattr(found, name).dense() - value).max() < 1e-6 * scale, name


def test_every_entry_that_is_kept_can_be_nonzero_and_is_kept_once():
    model = mechanism(84, kind="revolute", floating=False, bodies=5, frames=1).model
    found = ps.inverse_dynamics_second_derivatives(model, *state(model, batch=(20,)))
    for tensor in found:
        assert isinstance(tensor, Tensor) and np.all(np.abs(tensor.values).max(axis=0) > 1e-9)
        kept = {tuple(place) for place in tensor.places.tolist()}
        first, second = tensor.exchanged or (0, 0)
        for place in kept:
            swapped = list(place)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            assert tuple(swapped) == place or tuple(swapped) not in kept


def test_a_batch_is_its_states_and_wrong_shapes_are_refused():
    model = ps.chain(4)
    q, v, a = state(model, batch=(3, 2))
    whole = ps.inverse_dynamics_second_derivatives(model, q, v, a).dqdq.dense()
    assert whole.shape == (3, 2, 4, 4, 4)
    one = ps.inverse_dynamics_second_derivatives(model, q[1, 0], v[1, 0], a[1, 0]).dqdq.dense()
    assert relative(one, whole[1, 0]) < 1e-13
    with pytest.raises(ps.ShapeError):
        ps.inverse_dynamics_second_derivatives(model, q, v[..., :3], a)


def test_a_slide_has_no_second_derivatives():
    b = ps.ModelBuilder("slide")
    b.body("block", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=ps.Inertia(1.0))
    found = ps.inverse_dynamics_second_derivatives(b.build(), [0.1], [1.0], [2.0])
    assert all(tensor.values.shape == (0,) and not tensor.dense().any() for tensor in found)


def test_functions_of_one_s_own_use_second_derivatives():
    arm, rng = ps.planar_chain(3, gravity=(0, -9.81, 0)), np.random.default_rng(3)

    def curvature(q, v, a):
        found = ps.inverse_dynamics_second_derivatives(arm, q, v, a)
        return found.dqdq.values, found.dadq.values

    given = rng.normal(size=(3, 4, 3))
    made, expected = ps.compile(curvature, arm)(*given), ps.inverse_dynamics_second_derivatives(arm, *given)
    assert np.abs(made[0] - expected.dqdq.values).max() < 1e-12
    assert np.abs(made[1] - expected.dadq.values).max() < 1e-12


def test_arms_on_a_lift_have_second_derivatives():
    """The lift does not turn gravity, which is a constant in their recording."""
    builder, tensor = ps.ModelBuilder("lift"), np.diag([0.1, 0.2, 0.25])
    builder.body("column", joint=ps.Prismatic(axis=(0, 0, 1)), inertia=ps.Inertia(2.0, (0, 0, 0.1), tensor))
    for k in range(2):
        place, inertia = ps.Pose(xyz=(0.1 * k, 0.2, 0.3)), ps.Inertia(1.0, (0.1, 0.2, 0.3), tensor)
        builder.body(f"arm{k}", "column", ps.Revolute(axis=(0, 1, 0)), placement=place, inertia=inertia)
    model, h = builder.build(), 1e-5
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    ahead, back = (
        np.stack([ps.inverse_dynamics_derivatives(model, q + s * e, v, a).dq for e in np.eye(3)], axis=-1)
        for s in (h, -h)
    )
    found = ps.inverse_dynamics_second_derivatives(model, q, v, a).dqdq.dense()
    np.testing.assert_allclose(found, (ahead - back) / (2 * h), atol=1e-9)
