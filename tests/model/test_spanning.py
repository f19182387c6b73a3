"""Loops come and go, and the mechanism under them stays what it was."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar


def test_a_loop_that_is_added_is_the_one_a_builder_closes():
    model = four_bar()
    loop = model.loop("closure")
    again = model.tree.with_loop("closure", loop.frame_a, loop.frame_b, loop.joint)
    assert again == model and again.key == model.key
    assert model.without("closure") == model.tree and not model.tree.loops


def test_of_several_loops_the_others_stay():
    model = four_bar().with_loop("gear", "rocker", "crank", ps.Coupling((0.0, 1.0)))
    assert [loop.name for loop in model.without("closure").loops] == ["gear"]
    q = np.array([0.3, 0.1, 0.3])
    assert ps.loop_residual(model.without("closure"), q).shape == (1,)


def test_what_a_cut_joint_leaves_out_is_told():
    sprung = ps.Revolute(axis=(0, 0, 1), stiffness=2.0)
    model = four_bar().tree.with_loop("pin", "coupler_end", "rocker_end", sprung)
    assert any("stiffness" in warning for warning in model.warnings)


BAD = {
    "a name that is taken": (("closure", "coupler_end", "rocker_end", ps.Fixed()), "another name"),
    "an unknown frame": (("new", "nowhere", "rocker_end", ps.Fixed()), "nowhere"),
    "one body": (("new", "coupler", "coupler_end", ps.Fixed()), "same body"),
    "no joint": (("new", "coupler_end", "rocker_end", 3), "needs a joint"),
    "no name": (("", "coupler_end", "rocker_end", ps.Fixed()), "needs a name"),
    "an unknown joint": (("new", "elbow", "crank", ps.Coupling((0.0, 1.0))), "elbow"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_loop_that_cannot_be_is_refused_in_a_sentence(case):
    arguments, words = BAD[case]
    with pytest.raises(ps.PhistarError, match=words):
        four_bar().with_loop(*arguments)


def test_a_loop_that_is_not_there_cannot_be_taken_away():
    with pytest.raises(ps.UnknownNameError, match="closure"):
        four_bar().without("closures")
    with pytest.raises(ps.ModelError, match="name of a loop"):
        four_bar().without()
