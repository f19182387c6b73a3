"""Models are their content: they compare, hash, pickle, copy and key by it, and cannot be changed."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import phistar as ps

LUMP = ps.Inertia(1.0, (0.1, 0.2, -0.1), np.diag([0.03, 0.02, 0.025]))


def built(color=None, mass=1.0, note="", length=0.2) -> ps.Model:
    b = ps.ModelBuilder("arm")
    b.body("upper", joint=ps.Revolute(limits=(-1, 1)), inertia=ps.Inertia(mass, LUMP.com, LUMP.tensor))
    looks = [ps.Geometry(ps.Mesh("arm.stl", 0.001), color=color)]
    b.body("lower", "upper", ps.Spherical(), ps.Pose(xyz=(length, 0, 0)), LUMP, geometry=looks)
    b.frame("tip", "lower", ps.Pose(xyz=(length, 0, 0)))
    b.loop("closure", "tip", "world", joint=ps.Distance(0.5))
    if note:
        b.warn(note)
    return b.build()


def test_models_told_alike_are_equal():
    assert built() == built() and hash(built()) == hash(built()) and built().key == built().key
    assert len({built(), built()}) == 1


@pytest.mark.parametrize("change", [{"mass": 1.1}, {"length": 0.3}, {"color": (1, 0, 0, 1)}, {"note": "Odd."}])
def test_any_difference_makes_them_differ(change):
    assert built(**change) != built()


def test_the_key_is_of_the_mechanism_alone():
    assert built(color=(1, 0, 0, 1)).key == built(note="Odd.").key == built().key
    assert built(mass=1.1).key != built().key != built(length=0.3).key
    assert built().replace(gravity=(0, 0, 0)).key != built().key


def test_models_are_not_equal_to_other_things():
    assert built() != "arm" and built() is not None and ps.Pose() != ps.Inertia.zero()


def test_pickles_and_copies_are_equal():
    model = built(color=(1, 0, 0, 1), note="Odd.")
    hash(model)  # a cached digest must not travel
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(model, protocol))
        assert again == model and hash(again) == hash(model) and again.key == model.key
        assert list(again.frames) == list(model.frames)
    assert copy.copy(model) == copy.deepcopy(model) == model


def test_pickles_of_long_chains_do_not_recurse():
    model = ps.chain(3000)
    assert pickle.loads(pickle.dumps(model)) == model


def test_nothing_in_a_model_can_be_written_to():
    model = pickle.loads(pickle.dumps(built()))
    arrays = [
        model.gravity,
        model.lower_limits,
        model.bodies[0].inertia.tensor,
        model.bodies[0].inertia.matrix,
        model.bodies[1].placement.rotation,
        model.joints[0].limits,
        model.joints[0].axis,
    ]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
    with pytest.raises(AttributeError):
        model.name = "other"
    with pytest.raises(AttributeError):
        model.bodies[0].inertia = LUMP


def test_arrays_given_are_copied():
    gravity, com = np.array([0.0, 0.0, -1.0]), np.array([0.1, 0.2, 0.3])
    b = ps.ModelBuilder("arm", gravity=gravity)
    b.body("a", joint=ps.Free(), inertia=ps.Inertia(1.0, com, LUMP.tensor))
    model = b.build()
    gravity[:], com[:] = 5.0, 5.0
    assert model.gravity[2] == -1.0 and model.bodies[0].inertia.com[0] == 0.1


def test_the_key_is_the_same_in_every_process():
    code = "import phistar as ps; print(ps.chain(5).key.hex())"
    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert texts == [ps.chain(5).key.hex()] * 2
