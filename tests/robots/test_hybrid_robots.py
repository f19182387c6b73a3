"""Hybrid dynamics of real robots is the dense partition of Pinocchio's mass matrix and bias forces."""

import numpy as np
import pytest

import phistar as ps
from benchmarks.multibody.exact import exact_partition
from tests.robots.test_urdf_robots import LOADABLE, cases, peer_configuration, peer_of

pin = pytest.importorskip("pinocchio", reason="pin is not installed")


def in_our_order(model, peer) -> np.ndarray:
    """Of each of our rates its place among Pinocchio's."""
    places = [peer.joints[peer.getJointId(joint.name)].idx_v + i for joint in model.joints for i in range(joint.nv)]
    return np.array(places, dtype=int)


def parted(path, base):
    """A state of a robot with every other joint prescribed, and Pinocchio's mass matrix and bias in our order."""
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
    if p.all():
        pytest.skip("there is nothing to part")
    found = ps.hybrid_dynamics(model, q, v, tau, {name: told[model.joint(name).v_slice] for name in names})
    return model, (q, v, tau, told, p), mass, left, found


@pytest.mark.parametrize(("path", "base"), [*cases(LOADABLE, bases=("fixed",))])
def test_hybrid_dynamics_is_the_dense_partition(path, base):
    _, (_, _, tau, told, p), mass, left, found = parted(path, base)
    f = ~p
    if np.linalg.cond(mass[np.ix_(f, f)]) > 1e15:
        pytest.skip("joints with nothing behind them: the dense partition is singular")
    a = np.where(p, told, 0.0)
    a[f] = np.linalg.solve(mass[np.ix_(f, f)], tau[f] - left[f] - mass[np.ix_(f, p)] @ told[p])
    forces = mass @ a + left
    assert np.abs(found.accelerations - a).max() <= 1e-11 * max(1.0, np.abs(a).max())
    assert np.abs(found.forces - forces)[p].max() <= 1e-11 * max(1.0, np.abs(mass).max() * np.abs(a).max())


@pytest.mark.parametrize("name", ["tiago_no_hand", pytest.param("alex_psyonic_hands", marks=pytest.mark.slow)])
def test_against_fifty_digits_the_worst_conditioned_robots_keep_eleven(name):
    path = next((x for x in LOADABLE if x.stem == name), None)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    model, (q, v, tau, told, p), _, _, found = parted(path, "fixed")
    a, forces = exact_partition(model, q, v, tau, told, p)
    assert np.abs(found.accelerations - a).max() <= 1e-11 * np.abs(a).max()
    assert np.abs(found.forces - forces)[p].max() <= 1e-11 * np.abs(forces).max()
