"""Limits and dry friction that a simulator leaves out of a model are told once for each model that has them."""

from logging import WARNING

import numpy as np
import pytest

import phistar as ps

BODY = ps.Inertia(1.0, (0.1, 0, 0), np.eye(3) * 0.1)


def wheel(name, **joint):
    builder = ps.ModelBuilder(name, gravity=(0, 0, 0))
    builder.body("wheel", "world", ps.Revolute(axis=(0, 0, 1), **joint), inertia=BODY)
    return builder.build()


def told(caplog):
    """The warnings alone: other packages in the same process may have asked for debug messages."""
    found = [record.getMessage() for record in caplog.records if record.name == "phistar" and record.levelno >= WARNING]
    caplog.clear()
    return found


def test_rollout_tells_once_that_it_leaves_out_limits_and_lets_friction_creep(caplog):
    """Of joints that it does not drive by force alone."""
    both = wheel("both in rollout", limits=(-0.5, 0.5), friction=0.1)
    ps.rollout(both, [0], [1], dt=1e-3, steps=3, passive=["wheel"])
    (sentence,) = told(caplog)
    assert "leaves out the limits of joints (wheel)" in sentence and "lets dry friction creep (wheel)" in sentence
    ps.rollout(both, [0], [1], dt=1e-3, steps=3, passive=["wheel"])
    ps.rollout(both, [0], [1], dt=1e-3, steps=3)
    ps.rollout(wheel("plain in rollout"), [0], [1], dt=1e-3, steps=3)
    assert told(caplog) == []


def test_rollout_tells_of_motions_that_diverge_and_of_them_alone(caplog):
    stiff = wheel("stiff", damping=500.0)
    made = ps.rollout(stiff, np.zeros((3, 1)), [[0.0], [1.0], [np.nan]], dt=2e-2, steps=50)
    (sentence,) = told(caplog)
    assert "1 of 3 motions diverge" in sentence and not np.abs(made.v[1, -1, 0]) < 1e6 and made.v[0, -1, 0] == 0.0
    ps.rollout(stiff, [0], [1.0], dt=1e-5, steps=50)
    assert told(caplog) == []


def test_what_is_known_to_be_left_out_is_not_told(caplog):
    both = wheel("known", limits=(-0.5, 0.5), friction=0.1)
    ps.rollout(both, [0], [1], dt=1e-3, steps=3, limits="ignore")
    ps.simulate(both, [0], [1], 0.01, limits="ignore")
    assert told(caplog) == []
    with pytest.raises(ps.PhistarError, match="takes limits='stop' or 'ignore'; it was given 'tell'"):
        ps.rollout(both, [0], [1], dt=1e-3, steps=3, limits="tell")
