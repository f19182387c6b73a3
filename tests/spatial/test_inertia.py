"""Inertias: parallel axes, sums, the ten parameters, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from phistar import Inertia, ModelError, Pose
from phistar.spatial import from_rpy

vectors = arrays(np.float64, (3,), elements=st.floats(-3, 3))
poses = st.builds(lambda xyz, rpy: Pose(xyz=xyz, rpy=rpy), vectors, vectors)


@st.composite
def clouds(draw):
    """Point masses, whose inertia is known from the definition."""
    count = draw(st.integers(1, 6))
    masses = draw(arrays(np.float64, (count,), elements=st.floats(0.1, 5)))
    return masses, draw(arrays(np.float64, (count, 3), elements=st.floats(-2, 2)))


def about(point, masses, positions):
    r = positions - point
    return sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r, strict=True))


def of_cloud(masses, positions):
    com = masses @ positions / masses.sum()
    return Inertia(masses.sum(), com, about(com, masses, positions))


def assert_same(a: Inertia, b: Inertia):
    np.testing.assert_allclose(a.matrix, b.matrix, rtol=0, atol=1e-10)


@given(clouds())
def test_parallel_axis_theorem(cloud):
    np.testing.assert_allclose(of_cloud(*cloud).about_origin, about(np.zeros(3), *cloud), rtol=0, atol=1e-10)


@given(clouds(), vectors, vectors)
def test_kinetic_energy_is_that_of_the_points(cloud, omega, velocity):
    masses, positions = cloud
    speeds = velocity + np.cross(omega, positions)
    twist = np.concatenate([omega, velocity])
    energy = 0.5 * np.sum(masses * np.sum(speeds**2, axis=1))
    assert 0.5 * twist @ of_cloud(*cloud).matrix @ twist == pytest.approx(energy, rel=1e-10, abs=1e-9)


@given(clouds(), clouds())
def test_sum_is_the_inertia_of_both_bodies(a, b):
    together = of_cloud(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))
    assert_same(of_cloud(*a) + of_cloud(*b), together)


@given(clouds(), poses)
def test_transformed_is_the_inertia_of_the_moved_points(cloud, pose):
    masses, positions = cloud
    moved = positions @ pose.rotation.T + pose.translation
    assert_same(of_cloud(*cloud).transformed(pose), of_cloud(masses, moved))


@given(clouds())
def test_ten_parameters_round_trip(cloud):
    inertia = of_cloud(*cloud)
    assert_same(Inertia.from_parameters(inertia.parameters), inertia)


def test_parameters_are_in_the_documented_order():
    inertia = Inertia(2.0, (0, 0, 0), [[1.0, 0.1, 0.2], [0.1, 1.1, 0.3], [0.2, 0.3, 1.2]])
    np.testing.assert_array_equal(inertia.parameters, [2, 0, 0, 0, 1.0, 0.1, 1.1, 0.2, 0.3, 1.2])
    np.testing.assert_array_equal(Inertia(2.0, (1, 2, 3)).parameters[:4], [2, 2, 4, 6])


def test_matrix_has_the_papers_blocks():
    matrix = Inertia(2.0, (1, 2, 3), np.diag([0.2, 0.3, 0.4])).matrix
    moment = 2.0 * np.array([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    np.testing.assert_array_equal(matrix[:3, 3:], moment)
    np.testing.assert_array_equal(matrix[3:, :3], -moment)
    np.testing.assert_array_equal(matrix[3:, 3:], 2.0 * np.eye(3))


def test_adding_nothing_changes_no_digit():
    inertia = Inertia(0.3, (0.1, 0.7, -0.2), np.diag([0.1, 0.2, 0.25]))
    assert inertia + Inertia.zero() == inertia == Inertia.zero() + inertia
    rotor = Inertia.unchecked(0.0, (0, 0, 0), np.diag([0.0, 0.0, 0.5]))
    np.testing.assert_array_equal((inertia + rotor).com, inertia.com)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1.0,), "negative"),
        ((np.nan,), "finite"),
        ((np.inf,), "finite"),
        (("heavy",), "numbers for mass"),
        ((1.0, (0, np.nan, 0)), "finite"),
        ((1.0, (0, 0)), "shape \\(3,\\)"),
        ((1.0, (0, 0, 0), np.full((3, 3), np.inf)), "finite"),
        ((1.0, (0, 0, 0), [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        ((1.0, (0, 0, 0), np.diag([1.0, 1.0, -0.1])), "indefinite"),
        ((1.0, (0, 0, 0), [[1, 2, 0], [2, 1, 0], [0, 0, 1]]), "indefinite"),
        ((1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.1])), "triangle"),
    ],
)
def test_impossible_inertias_are_refused_with_a_sentence(arguments, words):
    with pytest.raises(ModelError, match=words):
        Inertia(*arguments)


def test_flat_bodies_and_rods_are_possible():
    turn = from_rpy((0.3, -0.8, 1.1))
    for moments in ([1.0, 1.0, 2.0], [0.0, 1.0, 1.0], [0.0, 0.0, 0.0]):
        assert Inertia(1.0, (0, 0, 0), turn @ np.diag(moments) @ turn.T).problems() == []


def test_file_data_are_kept_and_their_problems_told():
    inertia = Inertia.unchecked(1.0, (0, 0, 0), np.diag([1.0, 1.0, -0.1]))
    assert inertia.tensor[2, 2] == -0.1
    assert len(inertia.problems()) == 1 and "indefinite" in inertia.problems()[0]
    assert "triangle" in Inertia.unchecked(1.0, (0, 0, 0), np.diag([1.0, 1.0, 2.1])).problems()[0]
    for mass in (-1.0, np.nan):
        with pytest.raises(ModelError):
            Inertia.unchecked(mass)


def test_first_moment_without_mass_is_refused():
    with pytest.raises(ModelError, match="no mass"):
        Inertia.from_parameters([0, 1, 0, 0, 0, 0, 0, 0, 0, 0])


def test_inertias_compare_hash_pickle_and_copy_by_content():
    inertia = Inertia(2, (1, 2, 3), np.diag([2, 3, 4]))
    again = Inertia(2.0, [1.0, 2.0, 3.0], np.diag([2.0, 3.0, 4.0]))
    assert inertia == again and hash(inertia) == hash(again)
    assert pickle.loads(pickle.dumps(inertia)) == inertia == copy.deepcopy(inertia)
    assert inertia != Inertia(2, (1, 2, 3), np.diag([2, 3, 4.5]))
    with pytest.raises(ValueError, match="read-only"):
        pickle.loads(pickle.dumps(inertia)).com[0] = 0.0
