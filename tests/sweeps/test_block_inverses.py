"""The inverse of an operator that is block diagonal is made block by block, on chains and trees, joints of any dof."""

import numpy as np
import pytest

import phistar as ps
from tests.trees import mechanism


def statements(a):
    weight = a.operator("W_l", "Motions", "Forces", structure="positive block-diagonal")
    spring = a.operator("W_j", "Rates", "Torques", structure="positive block-diagonal")
    skew = a.operator("W_n", "Rates", "Torques", structure="block-diagonal")
    return {
        "articulated and plain": (a.P + a.M).inv,
        "in parallel": (a.P.inv + a.M.inv).inv,
        "of joints": (a.D + spring).inv,
        "not symmetric": (spring + skew).inv,
        "with the unit": (a.I + a.M @ weight.inv).inv,
        "of one link": (a.H @ a.M @ a.H.T + spring).inv,
        "inside an inertia": (a.H @ a.phi @ (a.M.inv + weight.inv).inv @ a.phi.T @ a.H.T + spring).inv,
        "of another inertia": (a.mass + a.H @ a.P @ a.H.T + spring).inv,
    }


def values(model, rng):
    def blocks(sizes, positive):
        whole, at = np.zeros((sum(sizes), sum(sizes))), 0
        for n in sizes:
            x = rng.normal(size=(n, n))
            whole[at : at + n, at : at + n] = x @ x.T + np.eye(n) if positive else 0.3 * x
            at += n
        return whole

    joints = [joint.nv for joint in model.joints]
    return {"W_l": blocks([6] * len(model.bodies), True), "W_j": blocks(joints, True), "W_n": blocks(joints, False)}


@pytest.mark.parametrize("name", statements(ps.algebra()))
def test_it_is_linear_in_the_links(name):
    found = statements(ps.algebra())[name]
    counts = [found.cost(n).total for n in (30, 60, 90)]
    assert counts[2] - counts[1] == counts[1] - counts[0]


@pytest.mark.parametrize("name", statements(ps.algebra()))
@pytest.mark.parametrize("seed", [1, 2])
def test_its_value_is_that_of_matrices(name, seed):
    rng = np.random.default_rng(seed)
    model = mechanism(seed, bodies=5, serial=False, armature=False).model
    found, given = statements(ps.algebra(model))[name], values(model, rng)
    needed = {key: x for key, x in given.items() if key in str(found)}
    q = model.random(rng)
    matrix = found.dense(q, **needed)
    x = rng.normal(size=matrix.shape[-1])
    assert np.allclose(found.apply(q, x, **needed), matrix @ x, rtol=1e-8, atol=1e-8 * np.abs(matrix @ x).max())
    bound = found.given(**needed) if needed else found
    assert np.allclose(ps.compile(bound)(q, x), matrix @ x, rtol=1e-8, atol=1e-8 * np.abs(matrix @ x).max())
