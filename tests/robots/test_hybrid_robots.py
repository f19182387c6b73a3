"""Hybrid dynamics of real robots is the dense partition of Pinocchio's mass matrix and bias forces."""

import numpy as np
import pytest

import phistar as ps
from tests.robots.test_urdf_robots import LOADABLE, cases, peer_configuration, peer_of

pin = pytest.importorskip("pinocchio", reason="pin is not installed")


def in_our_order(model, peer) -> np.ndarray:
    """Of each of our rates its place among Pinocchio's."""
    places = [peer.joints[peer.getJointId(joint.name)].idx_v + i for joint in model.joints for i in range(joint.nv)]
    return np.array(places, dtype=int)


@pytest.mark.parametrize(("path", "base"), [*cases(LOADABLE, bases=("fixed",))])
def test_hybrid_dynamics_is_the_dense_partition(path, base):
    model, peer, rng = ps.load(path).tree, peer_of(path, base), np.random.default_rng(2)
    if model.nv < 2:
        pytest.skip("there is nothing to part")
    q, at = model.random(rng), in_our_order(model, peer)
    v, tau, told = rng.standard_normal((3, model.nv))
    theirs, rates, data = peer_configuration(model, peer, q), np.zeros(peer.nv), peer.createData()
    rates[at] = v
    mass = np.array(pin.crba(peer, data, theirs))
    mass = (np.triu(mass) + np.triu(mass, 1).T)[np.ix_(at, at)] + np.diag(model.armature)
    left = pin.rnea(peer, data, theirs, rates, np.zeros(peer.nv))[at]
    p = np.zeros(model.nv, dtype=bool)
    names = [joint.name for joint in model.joints[::2]]
    for name in names:
        p[model.joint(name).v_slice] = True
    f = ~p
    if not f.any():
        pytest.skip("there is nothing to part")
    if np.linalg.cond(mass[np.ix_(f, f)]) > 1e15:
        pytest.skip("joints with nothing behind them: the dense partition is singular")
    a = np.where(p, told, 0.0)
    a[f] = np.linalg.solve(mass[np.ix_(f, f)], tau[f] - left[f] - mass[np.ix_(f, p)] @ told[p])
    found = ps.hybrid_dynamics(model, q, v, tau, {name: told[model.joint(name).v_slice] for name in names})
    forces = mass @ a + left
    scale = np.linalg.cond(mass[np.ix_(f, f)]) * np.finfo(float).eps  # what a dense solve can give
    assert np.abs(found.accelerations - a).max() <= max(1e-11, 10 * scale) * max(1.0, np.abs(a).max())
    assert np.abs(found.forces - forces)[p].max() <= max(1e-11, 10 * scale) * max(
        1.0, np.abs(mass).max() * np.abs(a).max()
    )
