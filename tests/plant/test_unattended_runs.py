"""Runs that nothing drives go through one compiled loop, and tell as much as those that are watched step by step."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c

G = 9.81
TIMES = {"fixed": {"step": 0.002}, "tolerance": {"rtol": 1e-4, "step": 0.02}}


def dropped(height=0.3, radius=0.1, mass=2.0):
    plant = ps.Plant()
    plant.add_shape(ps.Plane())
    inertia = ps.Inertia(mass, (0, 0, 0), 0.4 * mass * radius**2 * np.eye(3))
    plant.add_body("ball", ps.Sphere(radius), inertia=inertia, at=ps.Pose(xyz=(0, 0, height + radius)))
    return plant


@pytest.mark.parametrize("how", TIMES)
def test_impulses_of_all_samples_are_the_momentum_that_the_floor_gave(how):
    run = ps.simulate(dropped(), 1.0, **TIMES[how])
    gained = 2.0 * (run.v[-1, 5] + G * 1.0)
    assert run.signals["impulse"].sum() == pytest.approx(gained, rel=1e-9 if how == "fixed" else 5e-3)


@pytest.mark.parametrize("how", TIMES)
def test_the_smallest_gap_and_the_largest_force_are_told(how):
    run = ps.simulate(dropped(), 1.0, **TIMES[how])
    distance = run.signals["distance"]
    assert np.isfinite(distance[-1]) and distance[-1] > 0.0
    assert run.summary["min_distance"] == pytest.approx(distance.min()) and run.summary["min_distance"] > 0.0
    assert run.summary["peak_force"] >= run.contacts.normal.max() > 0.9 * 2.0 * G


@pytest.mark.parametrize("how", TIMES)
def test_a_ball_touches_when_it_has_fallen_and_its_events_are_words_in_order(how):
    run = ps.simulate(dropped(), 0.5, **TIMES[how])
    first = run.events[0]
    assert (first.what, first.where) == ("touch", "ball / world")
    assert first.time == pytest.approx(np.sqrt(2 * 0.3 / G), abs=1e-3)
    assert list(run.events) == sorted(run.events, key=lambda event: event.time)
    assert run.events == tuple(run.events) and len(run.events) == run.summary["events"]


@pytest.mark.parametrize("how", TIMES)
def test_the_audit_closes_the_books_of_a_run_that_nobody_watches(how):
    run = ps.simulate(dropped(), 1.0, audit=True, **TIMES[how])
    energy = run.signals["energy"]
    assert energy[0] == pytest.approx(2.0 * G * 0.4)
    assert abs(run.summary["energy_residual"] or 0.0) < 1e-9
    assert run.summary["momentum_drift"] is None or run.summary["momentum_drift"] < 1e-12


class Wind:
    blows = False

    def wrenches(self, bodies):
        if not self.blows:
            raise ps.PhistarError("The wind has no strength.")
        return np.zeros_like(bodies.twists)


def test_an_error_in_a_field_ends_the_run_and_leaves_the_plant_ready():
    plant = dropped()
    wind = Wind()
    plant.add_field(wind)
    with pytest.raises(ps.PhistarError, match="no strength"):
        ps.simulate(plant, 0.1, rtol=1e-4, step=0.02)
    assert plant.session.engine.counts[c.FULL] == 0
    wind.blows = True
    fallen = ps.simulate(plant, 0.1, rtol=1e-4, step=0.02)
    assert fallen.v[-1, 5] == pytest.approx(-G * 0.1)


class Beat:
    def wrenches(self, bodies):
        made = np.zeros_like(bodies.twists)
        made[..., 5] = np.cos(20.0 * bodies.time)
        return made


def test_a_field_is_asked_at_the_time_of_every_short_step():
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add_body("ball", ps.Sphere(0.1), inertia=ps.Inertia(2.0, (0, 0, 0), 0.01 * np.eye(3)))
    plant.add_field(Beat())
    run = ps.simulate(plant, 0.5, rtol=1e-6, step=0.1)
    assert run.v[:, 5] == pytest.approx(np.sin(20.0 * run.t) / 20.0 / 2.0, abs=1e-5)
