"""Sampled configurations against exact distributions: a rigid trimer, Fixman's correction, a pendulum in a bath."""

import numpy as np
import pytest
from scipy.stats import kstest

import phistar as ps


def trimer():
    """Three equal points on two rigid bonds of one length, free in a plane; the last coordinate bends it."""
    builder, nothing = ps.ModelBuilder("trimer", gravity=(0, 0, 0)), ps.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    builder.body("x", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=nothing)
    builder.body("y", "x", joint=ps.Prismatic(axis=(0, 1, 0)), inertia=nothing)
    two, hinge = ps.Inertia(2.0, (-0.5, 0, 0), np.diag([0.0, 0.5, 0.5])), ps.Revolute(axis=(0, 0, 1))
    builder.body("first", "y", joint=hinge, inertia=two)
    builder.body("second", "first", joint=hinge, inertia=ps.Inertia(1.0, (1.0, 0, 0), np.zeros((3, 3))))
    return builder.build()


def cumulative(density):
    """The distribution of an angle in [0, 2π) with a density known up to a factor."""
    x = np.linspace(0.0, 2.0 * np.pi, 4001)
    total = np.concatenate([[0.0], np.cumsum(0.5 * (density(x)[1:] + density(x)[:-1]))])
    return lambda angle: np.interp(angle, x, total / total[-1])


def test_a_rigid_trimer_bends_as_its_mass_matrix_has_it_and_with_fixmans_potential_evenly():
    model = trimer()
    angles = np.linspace(0.0, np.pi, 7)
    q = np.zeros((7, 4))
    q[:, 3] = angles
    det = np.linalg.det(ps.mass_matrix(model, q))
    assert np.allclose(det / det[0], (4.0 - np.cos(angles) ** 2) / 3.0)
    rigid = ps.estimation.sample_configurations(model, 4000, steps=150, seed=1)
    bent = np.mod(rigid.q[:, 3], 2.0 * np.pi)
    assert kstest(bent, cumulative(lambda x: np.sqrt(4.0 - np.cos(x) ** 2))).pvalue > 0.01
    stiff = ps.estimation.sample_configurations(model, 4000, fixman=True, steps=150, seed=2)
    assert kstest(np.mod(stiff.q[:, 3], 2.0 * np.pi), cumulative(np.ones_like)).pvalue > 0.01
    assert kstest(bent, cumulative(lambda x: (4.0 - np.cos(x) ** 2) ** 3)).pvalue < 1e-3  # the test can tell


def test_a_pendulum_in_a_bath_has_boltzmanns_law():
    model = ps.planar_chain(1, gravity=(0, -9.81, 0))
    found = ps.estimation.sample_configurations(model, 4000, temperature=3.0, steps=150, seed=3)
    x = np.linspace(0.0, 2.0 * np.pi, 4001)[:, None]
    energy = np.asarray(ps.potential_energy(model, x))
    law = cumulative(lambda angle: np.exp(-np.interp(angle, x[:, 0], energy) / 3.0))
    assert kstest(np.mod(found.q[:, 0], 2.0 * np.pi), law).pvalue > 0.01 and 0.3 < found.accepted < 1.0


def test_what_cannot_be_sampled_gets_a_sentence():
    with pytest.raises(ps.PhistarError, match="positive temperature"):
        ps.estimation.sample_configurations(trimer(), 10, temperature=0.0)
    with pytest.raises(ps.ModelError, match="all revolute or prismatic"):
        ps.estimation.sample_configurations(ps.load("freeflyer"), 10)
