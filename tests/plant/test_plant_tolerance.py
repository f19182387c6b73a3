"""A plant to a tolerance: errors fall with rtol, and are told."""

import numpy as np
import pytest

import phistar as ps
from phistar.plant.course_columns import SAMPLES_ROOM
from tests.plants import plant_of


def pile(friction=0.3):
    """Three balls that fall on each other and on the floor."""
    places = [(0.0, 0.0, 0.15), (0.06, 0.0, 0.40), (-0.05, 0.03, 0.65)]
    return plant_of([ps.Sphere(0.1)] * 3, places, friction=friction)


def test_errors_fall_with_the_tolerance_and_are_told():
    plant = pile()
    runs = [ps.simulate(plant, 0.16, rtol=rtol, step=0.02) for rtol in (1e-2, 1e-6, 1e-8)]
    errors = [np.abs(run.q[-1] - runs[-1].q[-1]).max() for run in runs[:2]]
    assert errors[1] < 0.1 * errors[0] or errors[0] < 1e-9
    for run in runs:
        assert run.signals["error"].max() <= 1.0 and run.signals["steps"].sum() >= 8
    assert runs[2].signals["steps"].sum() > runs[0].signals["steps"].sum()


def test_steps_of_one_length_go_to_the_same():
    plant = pile(friction=0.0)
    known = ps.simulate(plant, 0.16, rtol=1e-6, step=0.02)
    away = [np.abs(ps.simulate(plant, 0.16, step=h).q[-1] - known.q[-1]).max() for h in (2e-4, 4e-5)]
    assert away[1] < 0.4 * away[0] < 1e-4  # at first order


def test_servos_are_held_between_samples():
    plant = ps.Plant()
    plant.add(ps.load("planar2"), "arm", at=ps.Pose(xyz=(0, 0, 2)))
    plant.actuate("arm", "position", stiffness=200.0, damping=20.0)
    asked = []

    def hold(t, q, v):
        asked.append(t)
        return [0.3, -0.2]

    run = ps.simulate(plant, 1.0, control=hold, rtol=1e-5, step=0.05)
    short = ps.simulate(plant, 1.0, control=hold, step=1e-4)
    np.testing.assert_allclose(asked[:20], 0.05 * np.arange(20))  # once a sample, forward in time
    np.testing.assert_allclose(run.q[-1], short.q[-1], atol=2e-4)


@pytest.mark.parametrize("rtol", [0.0, 2.0, np.nan])
def test_tolerances_that_are_none_are_refused(rtol):
    with pytest.raises(ps.PhistarError, match="rtol between 0 and 1"):
        ps.simulate(pile(), 0.1, rtol=rtol)


@pytest.mark.parametrize("count", [SAMPLES_ROOM - 1, SAMPLES_ROOM, 2 * SAMPLES_ROOM])
def test_runs_end_whether_or_not_their_last_sample_fills_the_tables(count):
    run = ps.simulate(pile(), 1e-4 * count, step=1e-4)
    assert len(run.t) == count + 1
