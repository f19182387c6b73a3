"""Real robots, set free: the two-way mass matrix is the Schur complement of Pinocchio's floating-base mass matrix."""

import numpy as np
import pytest

import phistar as ps
from tests.trees import relative

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

from tests.dynamics.test_robots import Peer  # noqa: E402
from tests.robots.test_urdf_robots import LOADABLE, cases  # noqa: E402

TOLERANCE = 1e-11
COMPILED = ("ur5_robot", "double_pendulum_continuous")


def schur_complement(mass: np.ndarray) -> np.ndarray:
    base, across = mass[:6, :6], mass[:6, 6:]
    return mass[6:, 6:] - across.T @ np.linalg.solve(base, across)


def loaded(path) -> ps.Model:
    model = ps.load(path, floating=True).tree
    if model.nv == 6:
        pytest.skip("no joint moves")
    return model


@pytest.mark.parametrize(("path", "base"), [*cases(LOADABLE, bases=("floating",))])
def test_the_two_way_mass_matrix_is_the_schur_complement_of_pinocchios(path, base):
    """Run as sweeps: the program that is compiled."""
    model = loaded(path)
    q, peer = model.random(np.random.default_rng(3)), Peer(model, path, base)
    ours = ps.algebra(model).M_i.apply(q, np.eye(model.nv - 6))
    assert relative(ours, schur_complement(peer.mass_matrix(q))) < TOLERANCE


@pytest.mark.parametrize(("path", "base"), [*cases([p for p in LOADABLE if p.stem in COMPILED], bases=("floating",))])
def test_compiled_too(path, base):
    model = loaded(path)
    q, peer = model.random(np.random.default_rng(4)), Peer(model, path, base)
    assert relative(ps.freeflying.mass_matrix(model, q), schur_complement(peer.mass_matrix(q))) < TOLERANCE
