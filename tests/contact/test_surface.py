"""The normal law of WD89 §2.5, its clamped and printed forms, and the energy that it keeps."""

import numpy as np
import pytest
from scipy.integrate import quad

import phistar as ps
from phistar.contact.surface import Surface, normal_energy, normal_force

GRAPPLE = Surface(margin=2e-3, strength=15.0, damping=200.0)


def force(surface, gap, rate):
    return float(normal_force(surface, gap, rate))


def test_the_elastic_force_is_that_of_the_paper_and_grows_without_bound():
    assert force(GRAPPLE, 1e-3, 0.0) == pytest.approx(15.0 * 1e-3 / 1e-3)
    assert force(GRAPPLE, 1e-9, 0.0) > 1e7
    assert force(GRAPPLE, 2.1e-3, -1.0) == 0.0


def test_the_printed_law_pulls_on_release_and_the_clamped_one_does_not():
    printed = Surface(margin=2e-3, strength=15.0, damping=200.0, pulls=True)
    assert force(printed, 1.8e-3, 0.01) == pytest.approx(15.0 * 0.2 / 1.8 - 2.0)  # −0.33 N
    assert force(printed, 1.8e-3, 0.05) < -8.0 and force(GRAPPLE, 1.8e-3, 0.05) == 0.0


def test_the_energy_of_a_gap_is_the_work_against_its_elastic_force():
    for gap in (1.9e-3, 1e-3, 1e-5):
        work, _ = quad(lambda x: force(GRAPPLE, x, 0.0), gap, GRAPPLE.margin, epsabs=1e-14)
        assert normal_energy(GRAPPLE.margin, GRAPPLE.strength, gap) == pytest.approx(work, rel=1e-8)
    assert normal_energy(GRAPPLE.margin, GRAPPLE.strength, 3e-3) == 0.0


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"margin": 0.0}, "margin greater than 0; it was given 0.0"),
        ({"friction": -1.0}, "friction 0 or more"),
        ({"restitution": 1.5}, "restitution between 0 and 1"),
        ({"damping": np.nan}, "damping 0 or more"),
        ({"strength": "hard"}, "strength greater than 0; it was given 'hard'"),
        ({"restitution": 0.5, "pulls": True}, "it was given both"),
    ],
)
def test_impossible_surfaces_are_refused_in_a_sentence(given, sentence):
    with pytest.raises(ps.ModelError, match=sentence):
        Surface(**given)
