"""The normal law of WD89 §2.5, its clamped and printed forms, and the restitution it is calibrated to."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phistar as ps
from phistar.contact.surface import Parameters, Surface, normal_force, push_slope

GRAPPLE = Surface(margin=2e-3, strength=15.0, damping=200.0)


def force(surface, gap, rate, touch=1.0):
    return normal_force(Parameters.of([surface]), np.array([gap]), np.array([rate]), np.array([touch]))[0]


def test_the_elastic_force_is_that_of_the_paper_and_grows_without_bound():
    assert force(GRAPPLE, 1e-3, 0.0) == pytest.approx(15.0 * 1e-3 / 1e-3)
    assert force(GRAPPLE, 1e-9, 0.0) > 1e7
    assert force(GRAPPLE, 2.1e-3, -1.0) == 0.0


def test_the_printed_law_pulls_on_release_and_the_clamped_one_does_not():
    printed = Surface(margin=2e-3, strength=15.0, damping=200.0, pulls=True)
    assert force(printed, 1.8e-3, 0.01) == pytest.approx(15.0 * 0.2 / 1.8 - 2.0)  # −0.33 N
    assert force(printed, 1.8e-3, 0.05) < -8.0 and force(GRAPPLE, 1.8e-3, 0.05) == 0.0


@pytest.mark.parametrize("e", [0.05, 0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("speed", [0.01, 2.0])
def test_a_body_leaves_with_the_restitution_asked_for_at_any_speed(e, speed):
    surface = Surface(restitution=e, strength=40.0)

    def motion(_, y):
        return [y[1], force(surface, y[0], y[1], speed) / 0.5]

    def out(_, y):
        return y[0] - surface.margin

    out.terminal, out.direction = True, 1.0
    run = solve_ivp(motion, [0.0, 10.0], [surface.margin * (1 - 1e-12), -speed], events=out, rtol=1e-10, atol=1e-13)
    assert run.y_events[0][0][1] == pytest.approx(e * speed, rel=1e-6)


@pytest.mark.parametrize(
    "surface", [GRAPPLE, Surface(restitution=0.5), Surface(pulls=True)], ids=["K_d", "e", "printed"]
)
def test_the_stiffness_is_the_slope_of_an_implicit_step(surface):
    p, gap, step, touch = Parameters.of([surface]), np.array([1.1e-3]), 1e-3, np.array([0.7])

    def at(y):
        return normal_force(p, y, (y - gap) / step, touch)

    for y in (np.array([0.8e-3]), np.array([1.0e-3])):
        slope = (at(y + 1e-9) - at(y - 1e-9)) / 2e-9
        stiffness = push_slope(np.stack(p, axis=-1), 0, y[0], (y[0] - gap[0]) / step, touch[0], step)
        assert stiffness == pytest.approx(-slope[0], rel=1e-5)


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"margin": 0.0}, "margin greater than 0; it was given 0.0"),
        ({"friction": -1.0}, "friction 0 or more"),
        ({"restitution": 1.5}, "restitution above 0 and at most 1"),
        ({"damping": np.nan}, "damping 0 or more"),
        ({"strength": "hard"}, "strength greater than 0; it was given 'hard'"),
        ({"restitution": 0.5, "pulls": True}, "it was given both"),
    ],
)
def test_impossible_surfaces_are_refused_in_a_sentence(given, sentence):
    with pytest.raises(ps.ModelError, match=sentence):
        Surface(**given)
