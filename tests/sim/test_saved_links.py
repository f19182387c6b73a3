"""Motions of mechanisms with links of any width are saved and loaded as they were."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError
from phistar.sim.scenes.run_model import _hangs_together
from tests.loops.mechanisms import four_bar

pytest.importorskip("h5py")


def embedded():
    closed = four_bar()
    return closed.embedded(), ps.assemble(closed, closed.neutral() + 0.5)


def bending():
    b = ps.ModelBuilder("pendulum")
    b.body("rod", joint=ps.Revolute(axis=(0, 1, 0)), inertia=ps.beam(1.0, EI=20.0, mass_per_length=1.0, modes=2))
    b.body("bob", "rod.tip", ps.Revolute(axis=(0, 1, 0)), inertia=ps.Inertia(1.0, (0.1, 0, 0), np.eye(3) * 0.01))
    model = b.build()
    return model, model.neutral()


@pytest.mark.parametrize("make", [embedded, bending])
def test_a_saved_motion_is_the_one_that_was_made(make, tmp_path):
    model, q = make()
    run = ps.simulate(model, q, np.full(model.nv, 0.2), 0.05)
    run.save(tmp_path / "run.h5")
    found = ps.Trajectory.load(tmp_path / "run.h5")
    assert found.model == model
    np.testing.assert_array_equal(found.q, run.q)
    np.testing.assert_array_equal(found.v, run.v)
    again = ps.forward_dynamics(found.model, found.q[-1], found.v[-1], np.zeros(model.nv))
    np.testing.assert_array_equal(again, ps.forward_dynamics(model, run.q[-1], run.v[-1], np.zeros(model.nv)))


def test_a_choice_of_rates_that_is_none_is_refused():
    model, _ = embedded()
    own = model.embedding
    assert _hangs_together(model)
    for choices in [(), tuple(2.0 * x for x in own.choices), tuple(x[:-1] for x in own.choices)]:
        assert not _hangs_together(model._with(embedding=replace(own, choices=choices)))
    assert not _hangs_together(model._with(embedding=replace(own, groups=own.groups[:-1])))
    assert not _hangs_together(model._with(embedding=own.closed))


def test_a_class_that_is_no_part_of_a_model_is_refused():
    from phistar.sim.scenes.run_model import _check_classes

    with pytest.raises(FileError, match="holds a"):
        _check_classes({"class": "phistar.loops.embedding:embed", "named": {"class": "phistar.loops.forward:x"}})
