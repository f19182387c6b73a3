"""Synthetic chains: any length, deterministic, nowhere degenerate."""

import sys

import numpy as np
import pytest

import phistar as ps
from phistar.spatial import force_transform


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("make", [ps.chain, ps.planar_chain])
def test_chains_are_serial_and_end_in_a_tip(make, n):
    model = make(n)
    assert model.is_serial and model.nq == model.nv == len(model.bodies) == n
    assert list(model.frames)[-1] == "tip" and model.frame("tip").body == n - 1
    assert make(n) == model and model.total_mass == pytest.approx(n)


def test_planar_chains_lie_in_their_plane(frame_pose):
    model = ps.planar_chain(4, length=0.5)
    q = np.array([0.3, -0.2, 1.0, 0.4])
    absolute = np.cumsum(q)
    tip = 0.5 * np.array([np.cos(absolute).sum(), np.sin(absolute).sum(), 0.0])
    np.testing.assert_allclose(frame_pose(model, q, "tip").translation, tip, rtol=0, atol=1e-15)
    np.testing.assert_allclose(model.bodies[0].inertia.com, [0.25, 0, 0])


def test_axes_cycle_through_z_y_x():
    axes = [joint.axis.tolist() for joint in ps.chain(6).joints]
    assert axes == [[0, 0, 1], [0, 1, 0], [1, 0, 0]] * 2


def test_options_are_the_links():
    model = ps.chain(3, length=0.5, mass=2.0, radius=0.1, gravity=(0, 0, 0))
    assert model.total_mass == 6.0 and not model.gravity.any()
    np.testing.assert_allclose(model.bodies[2].inertia.tensor, np.diag([0.01, 0.005 + 0.5 / 12, 0.005 + 0.5 / 12]))


def articulated_diagonal(model, q):
    """D(k) of every joint, straight from RJK91's recursion."""
    inertia = [body.inertia.matrix.copy() for body in model.bodies]
    diagonal = np.empty(len(inertia))
    for k in range(len(inertia) - 1, -1, -1):
        kind, place = model.joints[k].kind, model.bodies[k].placement
        rotation, _ = kind.pose(q[k : k + 1])
        phi = force_transform(place.rotation @ rotation, place.translation)
        h = kind.subspace(q[k : k + 1])[:, 0]
        diagonal[k] = h @ inertia[k] @ h
        gain = inertia[k] @ h
        if k:
            inertia[k - 1] += phi @ (inertia[k] - np.outer(gain, gain) / diagonal[k]) @ phi.T
    return diagonal


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_long_chains_stay_well_conditioned(seed):
    model = ps.chain(2000)
    diagonal = articulated_diagonal(model, model.neutral() if seed is None else model.random(seed))
    assert diagonal.min() > 1e-3 and diagonal.max() < 10.0


def calls_to_build(n):
    """Python and C function calls made while building."""
    count = 0

    def step(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(step)
    try:
        ps.chain(n)
    finally:
        sys.setprofile(before)
    return count


def test_building_is_linear_in_the_links():
    calls_to_build(2)
    small, middle, large = (calls_to_build(n) for n in (50, 100, 200))
    assert large - middle == pytest.approx(2 * (middle - small), rel=0.02)


def test_a_chain_has_links():
    with pytest.raises(ps.ModelError, match="at least one link"):
        ps.chain(0)
