"""Second derivatives link by link: what the written-out instructions give, on every joint kind, tree and rotor."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.second_order import compile_hessian_product, weighted_forces
from tests.trees import KINDS, mechanism, relative

TOLERANCE = 1e-10
TREES = {
    **{kind: mechanism(70, kind=kind, bodies=3, frames=1) for kind in KINDS},
    "branching with armature": mechanism(71, serial=False, floating=False, frames=2, armature=True, bodies=7),
    "floating with rotors": mechanism(72, serial=False, floating=True, frames=2, armature=True, rotors=True, bodies=6),
}


def arguments(model, batch, seed=0):
    rng = np.random.default_rng(seed)
    return model.random(rng, shape=(batch,)), *rng.normal(size=(6, batch, model.nv))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", TREES.values(), ids=TREES)
def test_products_link_by_link_are_those_written_out(case):
    q, *vectors = arguments(case.model, 5)
    found = compile_hessian_product(case.model).function(q, *vectors)
    for name, made in zip(("dq", "dv", "da"), found, strict=True):
        expected = getattr(ps.inverse_dynamics_hessian_product(case.model, q, *vectors), name)
        assert relative(made, expected) < TOLERANCE


@pytest.mark.parametrize("case", ["branching with armature", "floating with rotors"])
def test_the_number_differentiated_is_the_weighted_joint_forces(case):
    made = TREES[case]
    bound, rng = ps.algebra(made.model), np.random.default_rng(1)
    v, a, w = rng.normal(size=(3, made.model.nv))
    number = bound.expression(weighted_forces(bound.symbols)).dense(made.q, v=v, qdd=a, v_ref=w)
    assert relative(number, np.array([w @ ps.inverse_dynamics(made.model, made.q, v, a)])) < TOLERANCE


def test_the_hessian_of_a_long_chain_is_symmetric_and_is_how_its_derivatives_change():
    model = ps.chain(60)
    q, v, a, w, *first = arguments(model, 3)
    second = arguments(model, 3, seed=1)[4:]
    once, again = (ps.inverse_dynamics_hessian_product(model, q, v, a, w, *way) for way in (first, second))
    mixed = [
        sum(np.sum(x * y, axis=-1) for x, y in zip(*pair, strict=True)) for pair in ((once, second), (again, first))
    ]
    np.testing.assert_allclose(*mixed, rtol=1e-9)
    step = 1e-5
    ahead, back = (
        ps.inverse_dynamics_derivatives(model, q + h * first[0], v + h * first[1], a + h * first[2])
        for h in (step, -step)
    )
    for found, plus, minus in zip(once, ahead, back, strict=True):
        expected = np.einsum("bij,bi->bj", plus - minus, w) / (2 * step)
        assert relative(found, expected) < 1e-6


def test_one_state_and_none_are_taken_and_wrong_shapes_are_refused():
    model = ps.chain(45)
    q, *vectors = arguments(model, 2)
    whole = ps.inverse_dynamics_hessian_product(model, q, *vectors)
    one = ps.inverse_dynamics_hessian_product(model, q[0], *(x[0] for x in vectors))
    np.testing.assert_array_equal(one.dq, whole.dq[0])
    nothing = ps.inverse_dynamics_hessian_product(model, q[:0], *(x[:0] for x in vectors))
    assert nothing.da.shape == (0, model.nv)
    with pytest.raises(ps.ShapeError):
        ps.inverse_dynamics_hessian_product(model, q[..., 1:], *vectors)
