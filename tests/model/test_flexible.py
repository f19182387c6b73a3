"""Bodies that bend: beams have the frequencies of the books, and impossible ones are refused with their numbers."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

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


def slowest(root, joint, modes=4, shear=None):
    """ω of the first three modes of a beam with EI = ρA = L = 1 in one plane, on a joint."""
    b = ps.ModelBuilder(root, gravity=(0, 0, 0))
    inertia = ps.beam(1.0, (1.0, 1e9), 1.0, modes, root=root, axial_inertia=0.01, shear_stiffness=shear)
    b.body("beam", joint=joint, inertia=inertia)
    model = b.build()
    return ps.modes(model, model.neutral()).frequencies[joint.nv : joint.nv + 3]


ROOTS = [("pinned", ps.Revolute(axis=(0, 0, 1))), ("free", ps.Free())]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("root", "joint"), ROOTS)
def test_modes_of_a_pinned_or_free_root_are_exact_on_a_hinge_or_a_free_base(root, joint):
    """βL of tan = tanh and cos cosh = 1."""
    exact = np.square(BETA[{"pinned": "pinned", "free": "clamped"}[root]])
    np.testing.assert_allclose(slowest(root, joint), exact, rtol=1e-8)
    np.testing.assert_allclose(slowest("clamped", joint, 5), exact, rtol=2e-3)  # βL to 1e-3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("root", "joint"), ROOTS)
def test_so_are_timoshenkos(root, joint):
    """w⁗ + sω²w″ − ω²w = 0 with ψ′ = w″ + sω²w: moment ψ′ and shear ψ″ vanish at free ends (s = EI/kGA)."""
    soft = 1.0 / 40.0

    def held(omega):
        size = np.sqrt(soft**2 * omega**4 + 4.0 * omega**2)
        roots = np.sqrt(np.array([size - soft * omega**2, -size - soft * omega**2], dtype=complex) / 2.0)
        powers = np.array([roots[0], -roots[0], roots[1], -roots[1]])
        bent = powers**2 + soft * omega**2
        near = [powers**0, bent] if root == "pinned" else [bent, powers * bent]
        table = np.array([*near, bent * np.exp(powers), powers * bent * np.exp(powers)])
        return np.linalg.det(table).imag  # two columns are conjugate: it has no real part

    for omega in slowest(root, joint, shear=1.0 / soft)[[0, 2]]:  # between them the stiff plane shears
        assert held(omega * (1.0 - 1e-8)) * held(omega * (1.0 + 1e-8)) < 0.0


def rotating_beta(speed, lag):
    """ω of EIw⁗ − ½ρAΩ²((L² − x²)w′)′ − ρA(ω² + Ω²)w = 0 (without Ω² where it flaps), clamped to a hub of no radius,
    EI = ρA = L = 1: the zeros of the far end's moment and shear of the two solutions by power series in x."""

    def held(omega):
        rows = []
        for start in (2, 3):
            c = np.zeros(90)
            c[start] = 1.0
            for k in range(len(c) - 4):  # c_{k+4} from x^k: ½Ω²(c_{k+2}(k+2)(k+1) − c_k k(k+1)) + (ω² + Ω²) c_k
                pull = 0.5 * speed**2 * (c[k + 2] * (k + 2) * (k + 1) - c[k] * k * (k + 1))
                c[k + 4] = (pull + (omega**2 + lag * speed**2) * c[k]) / ((k + 4) * (k + 3) * (k + 2) * (k + 1))
            k = np.arange(len(c))
            rows.append([c @ (k * (k - 1)), c @ (k * (k - 1) * (k - 2))])
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]

    grid = np.linspace(0.5, 80.0, 400)
    sides = np.sign([held(x) for x in grid])
    return np.array([brentq(held, *grid[i : i + 2], xtol=1e-13) for i in np.flatnonzero(sides[1:] != sides[:-1])])


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("modes", "spin", "error"), [(3, 4.0, 1e-8), (5, 0.0, 1e-3)])
@pytest.mark.parametrize("plane", ["lag", "flap"])
def test_a_rotating_beam_has_the_frequencies_of_the_power_series(plane, modes, spin, error):
    """With modes of a beam at that spin, and with five of one at rest."""
    speed, stiff = 4.0, (1.0, 1e9) if plane == "lag" else (1e9, 1.0)
    b = ps.ModelBuilder("rotor", gravity=(0, 0, 0))
    b.body("blade", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.beam(1.0, stiff, 1.0, modes, spin=spin))
    model = b.build()
    q, v, a = model.neutral(), np.array([speed, *np.zeros(modes)]), np.zeros(modes + 1)
    stiffness = ps.inverse_dynamics_derivatives(model, q, v, a).dq[1:, 1:] + model.bodies[0].flexible.modal_stiffness
    squares = eigh(stiffness, ps.mass_matrix(model, q)[1:, 1:], eigvals_only=True)
    expected = rotating_beta(speed, plane == "lag")[:3]
    assert expected[0] > {"lag": 3.8, "flap": 5.0}[plane]  # at rest 3.516
    np.testing.assert_allclose(np.sqrt(squares[:3]), expected, rtol=error)


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
    "stiffnesses of other units": (lambda: plate(stiffness=[1.0, 1e22]), r"from 1 to 1e\+22, further apart"),
    "stiffnesses that no body has": (lambda: plate(stiffness=[1e22, 1e22]), "which no body does"),
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
    q = model.neutral()
    with pytest.raises(ps.PhistarError, match="bend"):
        model.rerooted("boom")
    with pytest.raises(ps.PhistarError, match="bend"):
        ps.freeflying.mass_matrix(model, q)


def test_shapes_fixed_to_an_end_stand_there_and_belong_to_its_node():
    b = ps.ModelBuilder("arm")
    beam = ps.beam(2.0, 20.0, 1.0, modes=2)
    b.body("boom", joint=ps.Revolute(axis=(0, 1, 0)), inertia=beam, geometry=[ps.Geometry(ps.Sphere(0.1))])
    b.body("hand", "boom.tip", placement=ps.Pose((0.1, 0, 0)), geometry=[ps.Geometry(ps.Box((0.1, 0.1, 0.1)))])
    b.geometry("boom.tip", ps.Geometry(ps.Sphere(0.2)))
    tool = ps.ModelBuilder("tool")
    tool.body("tool", inertia=ps.Inertia(0.3, (0, 0, 0), 1e-3 * np.eye(3)), geometry=[ps.Geometry(ps.Sphere(0.3))])
    b.attach(tool.build(), "boom.tip")
    (boom,) = b.build().bodies
    tip = dict(beam.ends)["tip"]
    assert [each.node for each in boom.geometry] == [-1, tip, tip, tip]
    np.testing.assert_allclose([each.placement.translation[0] for each in boom.geometry], [0.0, 2.1, 2.0, 2.0])
    assert boom.inertia.mass == pytest.approx(2.3)


def blade(**changes):
    shapes = np.zeros((2, 3, 1))
    shapes[1, 1, 0] = 1.0
    given = {"modal_mass": None, "modal_stiffness": [8.0], "masses": [1.0, 2.0], "ends": {"tip": 1}} | changes
    return ps.FlexibleInertia([[0, 0, 0], [1, 0, 0]], shapes, **given)


def test_a_mode_that_is_its_joints_motion_is_refused_with_the_number():
    for axis in ((0, 0, 1), (0, 1, 0)):
        b = ps.ModelBuilder("blade")
        b.body("blade", joint=ps.Revolute(axis=axis), inertia=blade())
        if axis[1]:
            assert np.isfinite(ps.forward_dynamics(b.build(), [0.1, 0.2], [0, 0], [1, 0])).all()
            continue
        with pytest.raises(
            ps.ModelError, match=r"Modes of 'blade' move its mass as its joint 'blade' does.*Leave rigid"
        ):
            b.build()


def test_the_unbent_mass_is_that_of_the_link():
    for body in (ps.beam(1.3, (2.0, 3.0), 0.7, modes=3, tip_mass=0.4, axial_inertia=0.1), blade()):
        b = ps.ModelBuilder("free")
        b.body("beam", joint=ps.Free(), inertia=body)
        model = b.build(strict=False)
        mass, order = ps.mass_matrix(model, model.neutral()), [*range(6, model.nv), *range(6)]
        np.testing.assert_allclose(body.unbent_mass, mass[np.ix_(order, order)], atol=1e-13)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"damping": [0.1, 0.1]}, "of 1 modes needs a damping ratio for each, or one"),
        ({"damping": "little"}, "damping ratios that are numbers; it was given 'little'"),
        ({"ends": ["tip"]}, r"ends as \{name: node\}"),
        ({"ends": {"tip": True}}, "'tip' is at node True, which is none"),
    ],
)
def test_what_is_no_number_or_no_node_is_told(changes, sentence):
    with pytest.raises(ps.ModelError, match=sentence):
        blade(**changes)
