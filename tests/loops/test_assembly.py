"""Assembly: closed from rough guesses, alternatives, locked joints; and a sentence where it cannot be."""

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import CUTS, four_bar, two_arms

CRANK_ROCKER = (0.5, 1.2, 1.0, 1.1)


@pytest.mark.parametrize(
    "joint", [CUTS[3], *(pytest.param(x, marks=pytest.mark.slow) for x in (*CUTS[:3], *CUTS[4:]))], ids=repr
)
def test_any_guess_is_closed_by_every_kind_of_cut_joint(joint):
    model = two_arms(joint, seed=4, links=3, couplings=True)
    q = ps.assemble(model, model.random(3))
    gap = ps.loop_residual(model, q)
    assert np.abs(gap).max() < 1e-11
    v = ps.loops.assemble_velocity(model, q, np.random.default_rng(0).standard_normal(model.nv))
    assert np.abs(ps.loop_residual(model, q, v)[1]).max() < 1e-11


def test_locked_joints_stay_and_the_two_ways_to_close_a_four_bar_are_found():
    model = four_bar(CRANK_ROCKER)
    found = ps.loops.assemblies(model, [0.4, 0.5, 1.0], locked=["crank"])
    assert len(found) == 2
    for q in found:
        assert q[0] == 0.4 and np.abs(ps.loop_residual(model, q)).max() < 1e-12
    ends = [ps.forward_kinematics(model, q, "rocker_end")[:3, 3] for q in found]
    hinge, ground = 0.5 * np.array([np.cos(0.4), np.sin(0.4), 0.0]), np.array([1.1, 0.0, 0.0])
    sides = [np.cross(end - hinge, ground - hinge)[2] for end in ends]
    assert sides[0] * sides[1] < 0.0  # one on either side of the line from the crank's end to the ground's joint


def test_batches_of_guesses_are_assembled():
    model = four_bar(CRANK_ROCKER)
    guess = np.stack([np.linspace(0, 6, 5), np.full(5, 0.5), np.ones(5)], axis=-1)
    q = ps.assemble(model, guess, locked=["crank"])
    assert q.shape == (5, 3) and np.abs(ps.loop_residual(model, q)).max() < 1e-12
    np.testing.assert_array_equal(q[:, 0], guess[:, 0])
    v = ps.loops.assemble_velocity(model, q, [1.0, 0.0, 0.0], locked=["crank"])
    np.testing.assert_array_equal(v[:, 0], 1.0)
    assert np.abs(ps.loop_residual(model, q, v)[1]).max() < 1e-12


def test_a_model_without_loops_is_assembled_as_it_is():
    chain = ps.chain(3)
    np.testing.assert_array_equal(ps.assemble(chain, [1.0, 2.0, 3.0]), [1.0, 2.0, 3.0])
    assert ps.loop_residual(chain, np.zeros((2, 3))).shape == (2, 0)
    assert ps.constraint_forces(chain, np.zeros(3), np.zeros(3), np.zeros(3)) == {}


def test_a_closure_that_cannot_be_met_is_named_with_its_gap():
    model = four_bar((0.5, 0.3, 0.2, 1.1))  # a tenth of a metre too short
    with pytest.raises(ps.ModelError, match=r"'closure' \(Revolute, 'coupler_end' to 'rocker_end'\).* 0\.1 m at best"):
        ps.assemble(model, [0.1, 0.1, 3.0])
    with pytest.raises(ps.ModelError, match=r"'crank' locked: the loop 'closure'.* 1 m"):
        ps.assemble(four_bar((1.0, 0.5, 0.5, 1.0)), [np.pi, 0.1, 3.0], locked=["crank"])


def test_the_gap_that_is_told_is_the_least_there_is():
    """Three bars of 1 m over a ground of 5 m, stretched: a minimum to which Gauss-Newton steps creep."""
    with pytest.raises(ps.ModelError, match=r"stays open by 0 rad and 2 m at best"):
        ps.assemble(four_bar((1.0, 1.0, 1.0, 5.0)), [0.0, 0.0, 0.0])


def test_closures_that_contradict_each_other_are_named():
    b = ps.ModelBuilder("torn")
    b.body("wheel", joint=ps.Revolute(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    b.loop("here", "wheel", None, joint=ps.Coupling((0.2,)))
    b.loop("there", "wheel", None, joint=ps.Coupling((0.4,)))
    with pytest.raises(
        ps.ModelError, match=r"torn cannot be assembled: the loop '(here|there)' \(the coupling of 'wheel'\)"
    ):
        ps.assemble(b.build(), [0.0])


def test_rates_that_a_locked_mechanism_cannot_have_are_refused():
    model = four_bar(CRANK_ROCKER)
    q = ps.assemble(model, [0.4, 0.5, 1.0], locked=["crank"])
    with pytest.raises(ps.ModelError, match="'closure' would open at"):
        ps.loops.assemble_velocity(model, q, [1.0, 0.0, 0.0], locked=["crank", "rocker"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda model: ps.assemble(model, [0, 0, 0], locked="crank"), "list of joint names"),
        (lambda model: ps.assemble(model, [0, 0, 0], locked=["crnk"]), "did you mean 'crank'"),
        (lambda model: ps.assemble(model, [0, np.nan, 0]), "finite"),
        (lambda model: ps.assemble(model, [0, 0]), r"\(…, 3\)"),
        (lambda model: ps.loops.assemblies(model, np.zeros((2, 3))), "one guess"),
        (lambda model: ps.loop_residual(model, [0, 0]), r"\(…, 3\)"),
        (lambda model: ps.loop_residual(model, np.zeros(3), np.zeros(2)), r"\(…, 3\)"),
        (lambda model: ps.forward_dynamics(model, np.zeros(3), np.zeros(2), np.zeros(3)), r"\(…, 3\)"),
        (lambda model: ps.forward_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3), {"tip": np.zeros(6)}), "tip"),
        (lambda model: ps.constraint_forces(model, np.zeros(3), np.zeros(3), np.zeros(4)), r"\(…, 3\)"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ps.PhistarError, match=words):
        call(four_bar(CRANK_ROCKER))
