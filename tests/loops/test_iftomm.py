"""The IFToMM benchmark problems: reference motions, energy, and closed loops, as `make bench-loops` prints them."""

import pytest

from benchmarks.multibody.andrews import andrews
from benchmarks.multibody.iftomm import bricard, governor, n_four_bar, pendulum


def test_andrews_mechanism_comes_to_the_angles_of_the_test_set_for_ivp_solvers():
    _, figures = andrews().run()
    assert figures["error of the angles [rad]"] < 1e-8
    assert figures["energy drift [J]"] < 1e-9 and figures["loop residual"] < 1e-10


def test_bricards_mechanism_follows_its_reference_though_its_closure_is_redundant():
    run, figures = bricard().run()
    assert figures["error of P3 [m]"] < 1e-7
    assert figures["rank"] == 4 and run.loop_residual.shape[-1] == 5
    assert figures["energy drift [J]"] < 1e-7 and figures["loop residual"] < 1e-10


@pytest.mark.slow
def test_the_pendulum_closed_by_its_bar_returns_after_its_exact_period():
    _, figures = pendulum().run()
    assert figures["error after four periods [m]"] < 1e-8 and figures["energy drift [J]"] < 1e-7


@pytest.mark.slow
def test_the_n_four_bar_passes_its_singular_configurations_and_stays_one_pendulum():
    _, figures = n_four_bar().run()
    assert figures["singular passages"] >= 8
    assert figures["error of B0 [m]"] < 1e-5 and figures["energy drift [J]"] < 1e-5
    assert figures["loop residual"] < 1e-10


@pytest.mark.slow
def test_the_governor_keeps_energy_and_spin():
    _, figures = governor().run()
    assert figures["energy drift [J]"] < 1e-7 and figures["drift of spin [Nms]"] < 1e-7
    assert figures["loop residual"] < 1e-10
