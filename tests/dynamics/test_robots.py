"""Real robots, as trees, with and without armature: the factorizations hold, and Pinocchio computes the same."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from tests.dynamics.test_hybrid import driven_accelerations, partitioned
from tests.trees import relative

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

from tests.robots.test_urdf_robots import LOADABLE, cases, peer_columns, peer_configuration, peer_of  # noqa: E402

TOLERANCE = 1e-9
ARMATURE = 0.1
# Hands whose fingers have no inertia: the mass matrix is singular, unless the joints have armature.
SINGULAR = ("romeo", "romeo_laas_small")
EVERY = pytest.mark.parametrize(("path", "base"), [*cases(LOADABLE)])
WITH_OR_WITHOUT = pytest.mark.parametrize("armature", [0.0, ARMATURE], ids=["bare", "armature"])


def loaded(path, base: str, armature: float) -> ps.Model:
    """The spanning tree; every joint but a floating base's with the armature."""
    model = ps.load(path, floating=base == "floating").tree
    if not model.nv:
        pytest.skip("nothing moves")
    if armature == 0.0 and path.stem in SINGULAR:
        assert any("no inertia behind it" in warning for warning in model.warnings)
        pytest.skip("a joint has no inertia behind it")
    kinds = {joint.name: replace(joint.kind, armature=armature) for joint in model.joints if joint.nv != 6}
    return model.replace(joints=kinds) if armature else model


def state(model: ps.Model):
    rng = np.random.default_rng(5)
    return model.random(rng), *rng.normal(size=(2, model.nv))


@EVERY
@WITH_OR_WITHOUT
def test_the_factorizations_hold(path, base, armature):
    """FD∘ID = 1, ℳℳ⁻¹ = I, ℳ = (I + HφK)D(I + HφK)*, run as sweeps."""
    model = loaded(path, base, armature)
    (q, v, a), s, identity = state(model), ps.algebra(model), np.eye(model.nv)
    tau = (s.mass @ s.qdd + s.C + s.g).apply(q, v=v, qdd=a)
    assert relative((s.mass.inv @ (s.T - s.C - s.g)).apply(q, v=v, T=tau), a) < TOLERANCE
    mass, inverse = s.mass.apply(q, identity), s.mass.inv.apply(q, identity)
    assert relative(mass @ inverse, identity) < TOLERANCE
    factor = (s.I + s.H @ s.phi @ s.K).apply(q, identity).T
    assert relative(factor @ s.D.apply(q, identity) @ factor.T, mass) < TOLERANCE


@EVERY
@WITH_OR_WITHOUT
def test_pinocchio_computes_the_same(path, base, armature):
    """rnea, crba, aba and computeMinverse, by joint names, against the statements run as sweeps."""
    model = loaded(path, base, armature)
    (q, v, a), s, theirs = state(model), ps.algebra(model), Peer(model, path, base)
    identity = np.eye(model.nv)
    assert relative((s.mass @ s.qdd + s.C + s.g).apply(q, v=v, qdd=a), theirs.inverse_dynamics(q, v, a)) < TOLERANCE
    assert relative((s.mass.inv @ (s.T - s.C - s.g)).apply(q, v=v, T=a), theirs.forward_dynamics(q, v, a)) < TOLERANCE
    assert relative(s.mass.apply(q, identity), theirs.mass_matrix(q)) < TOLERANCE
    assert relative(s.mass.inv.apply(q, identity), theirs.mass_matrix_inverse(q)) < TOLERANCE


COMPILED = ("panda", "ur5_robot", "double_pendulum_continuous", "TwoDofs")


@pytest.mark.parametrize(("path", "base"), [*cases(path for path in LOADABLE if path.stem in COMPILED)])
@WITH_OR_WITHOUT
def test_pinocchio_computes_what_the_compiled_functions_do(path, base, armature):
    model = loaded(path, base, armature)
    (q, v, a), theirs = state(model), Peer(model, path, base)
    assert relative(ps.inverse_dynamics(model, q, v, a), theirs.inverse_dynamics(q, v, a)) < TOLERANCE
    assert relative(ps.forward_dynamics(model, q, v, a), theirs.forward_dynamics(q, v, a)) < TOLERANCE
    assert relative(ps.mass_matrix(model, q), theirs.mass_matrix(q)) < TOLERANCE
    assert relative(ps.mass_matrix_inverse(model, q) @ theirs.mass_matrix(q), np.eye(model.nv)) < TOLERANCE


class Peer:
    """Pinocchio's functions in our order of joints and coordinates."""

    def __init__(self, model: ps.Model, path, base: str) -> None:
        self.model, self.peer = model, peer_of(path, base)
        self.columns = peer_columns(model, self.peer)
        self.peer.armature[self.columns] = model.armature
        self.data = self.peer.createData()

    def inverse_dynamics(self, q, v, a):
        return pin.rnea(self.peer, self.data, self._q(q), self._scattered(v), self._scattered(a))[self.columns]

    def forward_dynamics(self, q, v, tau):
        return pin.aba(self.peer, self.data, self._q(q), self._scattered(v), self._scattered(tau))[self.columns]

    def mass_matrix(self, q):
        return self._ordered(pin.crba(self.peer, self.data, self._q(q)))

    def mass_matrix_inverse(self, q):
        return self._ordered(pin.computeMinverse(self.peer, self.data, self._q(q)))

    def _q(self, q):
        return peer_configuration(self.model, self.peer, q)

    def _scattered(self, vector):
        result = np.empty_like(vector)
        result[self.columns] = vector
        return result

    def _ordered(self, upper):
        """Only the upper triangle is promised."""
        whole = np.triu(upper) + np.triu(upper, 1).T
        return whole[np.ix_(self.columns, self.columns)]


@EVERY
def test_hybrid_dynamics_is_a_partition_of_pinocchios_mass_matrix(path, base):
    """Every third joint prescribed; the statement run as sweeps, against crba and rnea by blocks."""
    model = loaded(path, base, ARMATURE)
    (q, v, tau), theirs = state(model), Peer(model, path, base)
    is_told = np.zeros(model.nv, dtype=bool)
    for joint in model.joints[::3]:
        is_told[joint.v_slice] = True
    mass, bias = theirs.mass_matrix(q), theirs.inverse_dynamics(q, v, np.zeros(model.nv))
    want, told = partitioned(mass, bias, tau, v, is_told), np.where(is_told, v, 0.0)
    nodes = driven_accelerations.nodes(ps.algebra(model).symbols)["y"]
    given = {"v": v, "qdd": told, "T": tau, "L": np.where(is_told, 0.0, 1.0), "R": np.where(is_told, 1.0, 0.0)}
    found = told + ps.algebra(model).expression(nodes).apply(q, **given)
    assert relative(found, want[0]) < 1e-11
    assert relative(theirs.inverse_dynamics(q, v, found)[is_told], want[1][is_told]) < 1e-9
