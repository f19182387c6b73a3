"""D^½ and what it makes of the dynamics: residuals in which the energy has no couplings, innovations (RJK91 §6)."""

import numpy as np
import pytest

import phistar as ps
from phistar.model import Spherical, Universal

A = ps.algebra()


def residuals(a):
    """ν = D^½(I + HφK)*θ̇; ψ for φ is a misprint."""
    return a.D_root @ (a.I + a.H @ a.phi @ a.K).T @ a.v


def innovations(a):
    """ε = D^{-½}*(I − HψK)T."""
    return a.D_root.inv.T @ (a.I - a.H @ a.psi @ a.K) @ a.T


def ball_arm():
    builder = ps.ModelBuilder("ball arm")
    parent = "world"
    for name, joint in (("one", Spherical(armature=0.3)), ("two", Universal()), ("three", Spherical())):
        placement, inertia = ps.Pose(xyz=(0.1, 0.2, 0.3)), ps.Inertia(1.0, (0.1, 0, 0), np.diag([0.3, 0.2, 0.25]))
        builder.body(name, parent=parent, joint=joint, placement=placement, inertia=inertia)
        parent = name
    return builder.build()


@pytest.mark.parametrize("model", [ps.chain(5), ps.chain(60), ps.load("puma560"), ball_arm()], ids=lambda m: m.name)
def test_values_of_sweeps_kernels_and_matrices_are_one_and_add_up_to_the_energy(model):
    a, rng = ps.algebra(model), np.random.default_rng(0)
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    mass = ps.mass_matrix(model, q)
    for statement, given, energy in (
        (residuals(a), {"v": v}, v @ mass @ v),
        (innovations(a), {"T": tau}, tau @ np.linalg.solve(mass, tau)),
    ):
        value = statement.dense(q, **given)
        scale = np.abs(value).max()
        assert np.allclose(statement.apply(q, **given), value, rtol=0, atol=1e-11 * scale)
        assert np.allclose(ps.compile(statement)(q, *given.values()), value, rtol=0, atol=1e-11 * scale)
        assert value @ value == pytest.approx(energy, rel=1e-9)


def test_the_laws_of_the_root_are_proved():
    nu, epsilon = residuals(A), innovations(A)
    assert (nu.T @ nu).equals(A.v.T @ A.mass @ A.v).proved is True
    assert (epsilon.T @ epsilon).equals(A.T.T @ A.mass.inv @ A.T).proved is True
    assert (nu.T @ epsilon).equals(A.v.T @ A.T).proved is True  # power is what it was
    printed = A.D_root @ (A.I + A.H @ A.psi @ A.K).T @ A.v
    assert (printed.T @ printed).equals(A.v.T @ A.mass @ A.v).proved is False


def test_it_costs_a_square_root_per_joint():
    factor = (A.I + A.H @ A.phi @ A.K).T @ A.v
    assert residuals(A).cost(30).total - factor.cost(30).total < 31 * 3
    assert str(residuals(A)) == "D_root(I + HφK)* θ̇"
