"""Bodies that bend: beams have the frequencies of the books, and impossible ones are refused with their numbers."""

import numpy as np
import pytest

import phistar as ps

BETA = {
    "free": [1.8751040687, 4.6940911330, 7.8547574382],
    "pinned": [3.9266023120, 7.0685827456, 10.2101761228],
    "clamped": [4.7300407449, 7.8532046241, 10.9956078380],
}


@pytest.mark.parametrize("tip", BETA)
def test_a_beam_has_the_frequencies_of_euler_and_bernoulli(tip):
    """βL of cos cosh = −1, tan = tanh and cos cosh = 1; only bending along y is soft enough to be among the first."""
    found = ps.beam(2.0, (3.0, 3e9), 1.5, modes=3, tip=tip).frequencies
    np.testing.assert_allclose(found, np.square(BETA[tip]) * np.sqrt(3.0 / (1.5 * 2.0**4)), rtol=1e-8)


def test_of_two_equal_planes_the_modes_come_in_pairs_y_first():
    beam = ps.beam(1.0, 1.0, 1.0, modes=4)
    np.testing.assert_allclose(beam.frequencies[[0, 2]], beam.frequencies[[1, 3]], rtol=1e-10)
    tip = beam.modes[dict(beam.ends)["tip"]]
    assert tip[1, 0] > 1.0 and tip[2, 1] > 1.0 and tip[2, 0] == 0.0
    np.testing.assert_allclose(beam.modal_mass, np.eye(4), atol=1e-12)


def test_a_tip_mass_slows_the_first_mode_as_the_characteristic_equation_says():
    """1 + cos β cosh β + r β (cos β sinh β − sin β cosh β) = 0 for a tip mass of r times the beam's."""
    beta = np.sqrt(ps.beam(1.0, (1.0, 1e9), 1.0, modes=2, tip_mass=0.5).frequencies)
    c, s, C, S = np.cos(beta), np.sin(beta), np.cosh(beta), np.sinh(beta)
    np.testing.assert_allclose((1 + c * C) / (c * C), -0.5 * beta * (c * S - s * C) / (c * C), atol=1e-8)


def test_shear_makes_timoshenkos_beam_softer_and_none_makes_it_eulers():
    stiff, soft = (ps.beam(1.0, 1.0, 1.0, modes=1, shear_stiffness=k).frequencies[0] for k in (1e6, 10.0))
    euler = ps.beam(1.0, 1.0, 1.0, modes=1).frequencies[0]
    assert soft < 0.95 * stiff and stiff == pytest.approx(euler, rel=1e-5)


def test_the_unbent_beam_is_a_rod():
    rigid = ps.beam(2.0, 1.0, 1.5, modes=2, tip_mass=0.5, axial_inertia=0.1).rigid
    assert rigid.mass == pytest.approx(3.5)
    np.testing.assert_allclose(rigid.com, [(3.0 * 1.0 + 0.5 * 2.0) / 3.5, 0, 0])
    about = rigid.about_origin
    np.testing.assert_allclose(np.diag(about), [0.2, 3.0 * 4 / 3 + 0.5 * 4, 3.0 * 4 / 3 + 0.5 * 4])


def test_modes_stand_after_their_joint_and_ends_are_frames():
    b = ps.ModelBuilder("arm")
    b.body("upper", joint=ps.Spherical(), inertia=ps.beam(1.0, 10.0, 1.0, modes=3, axial_inertia=0.1))
    b.body("fore", "upper.tip", ps.Revolute(axis=(0, 1, 0)), inertia=ps.beam(1.0, 10.0, 1.0, modes=2))
    b.body("hand", "fore.tip", inertia=ps.Inertia(1.0, (0.1, 0, 0), 0.01 * np.eye(3)))
    model = b.build()
    assert (model.nq, model.nv) == (4 + 3 + 1 + 2, 3 + 3 + 1 + 2)
    assert model.bodies[0].mode_slice == slice(3, 6) and model.bodies[1].mode_slice == slice(7, 9)
    assert model.total_mass == pytest.approx(3.0)  # the hand is part of the forearm's tip
    assert {"upper.root", "upper.tip", "fore.tip", "hand"} <= set(model.frames)
    q = model.random(0)
    np.testing.assert_allclose(model.difference(q, model.integrate(q, np.full(9, 0.1))), 0.1, atol=1e-12)
    again = ps.ModelBuilder("arm")
    again.attach(model)
    assert again.build() == model
    assert model.replace(inertias={"fore": ps.Inertia(1.0)}).nv == 7


BAD = {
    "no length": (lambda: ps.beam(0.0, 1.0, 1.0), "length"),
    "no modes": (lambda: ps.beam(1.0, 1.0, 1.0, modes=0), "modes"),
    "a negative EI": (lambda: ps.beam(1.0, -1.0, 1.0), "EI"),
    "an unknown tip": (lambda: ps.beam(1.0, 1.0, 1.0, tip="loose"), "tip"),
    "modes that are not independent": (lambda: plate(np.ones((2, 3, 2))), "not independent"),
    "a stiffness that holds nothing": (lambda: plate(stiffness=[0.0, 1.0]), "positive"),
    "a modal mass that is not the nodes'": (lambda: plate(mass=[3.0, 1.0]), "differs"),
    "a node that is none": (lambda: plate(ends={"tip": 7}), "node"),
    "shapes of another size": (lambda: plate(np.ones((3, 2))), "shape"),
    "negative damping": (lambda: plate(damping=-0.1), "damping"),
}


def plate(modes=None, stiffness=(1.0, 2.0), mass=None, **more):
    shapes = np.zeros((2, 3, 2))
    shapes[1, 1, 0] = shapes[1, 2, 1] = 1.0
    nodes = [[0, 0, 0], [1, 0, 0]]
    return ps.FlexibleInertia(nodes, shapes if modes is None else modes, mass, stiffness, masses=[1.0, 1.0], **more)


@pytest.mark.parametrize("case", BAD)
def test_a_body_that_cannot_bend_so_is_refused_in_a_sentence(case):
    make, words = BAD[case]
    with pytest.raises(ps.ModelError, match=words):
        make()


def test_damping_ratios_are_those_of_the_natural_modes():
    body = plate(damping=0.05)
    values = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-body.stiffness, -body.damping_matrix]]))
    np.testing.assert_allclose(-values.real / np.abs(values), 0.05, rtol=1e-9)


def test_what_is_not_there_for_bodies_that_bend_is_refused():
    b = ps.ModelBuilder("arm")
    b.body("base", joint=ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    b.body("boom", "base", ps.Revolute(), inertia=ps.beam(1.0, 10.0, 1.0, modes=1))
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    with pytest.raises(ps.PhistarError, match="bend"):
        ps.regressor(model, q, v, v)
    with pytest.raises(ps.PhistarError, match="bend"):
        model.rerooted("boom")
    with pytest.raises(ps.PhistarError, match="bend"):
        ps.freeflying.mass_matrix(model, q)
