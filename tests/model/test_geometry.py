"""Shapes and where they stand."""

import copy
import pickle

import numpy as np
import pytest

import phistar as ps

SHAPES = [
    ps.Box((1, 2, 3)),
    ps.Sphere(0.5),
    ps.Cylinder(0.1, 2),
    ps.Capsule(0.1, 2),
    ps.Ellipsoid((1, 2, 3)),
    ps.Plane(),
    ps.Mesh("a.stl", (1, 1, -1)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_compare_hash_pickle_and_copy_by_content(shape):
    assert pickle.loads(pickle.dumps(shape)) == shape == copy.deepcopy(shape)
    assert [other == shape for other in SHAPES].count(True) == 1
    assert len({*SHAPES, shape}) == len(SHAPES)


def test_mesh_scale_broadcasts():
    assert ps.Mesh("a.stl", 0.001) == ps.Mesh("a.stl", (0.001, 0.001, 0.001))


def test_moved_geometry_stands_where_its_frame_was_put():
    a, b = ps.Pose(xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), ps.Pose(xyz=(4, 5, 6), rpy=(0.3, 0.2, 0.1))
    geometry = ps.Geometry(ps.Sphere(1), b, name="ball", color=(1, 0, 0, 1), role="collision")
    assert geometry.transformed(a) == ps.Geometry(
        ps.Sphere(1), a @ b, name="ball", color=(1, 0, 0, 1), role="collision"
    )
    assert geometry.transformed(ps.Pose()) == geometry


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ps.Box((1, 2)), r"size in shape \(3,\)"),
        (lambda: ps.Box((1, 2, -3)), "size ≥ 0"),
        (lambda: ps.Sphere(-1), "radius ≥ 0"),
        (lambda: ps.Sphere(np.nan), "finite"),
        (lambda: ps.Cylinder(1, np.inf), "finite"),
        (lambda: ps.Capsule("a", 1), "numbers"),
        (lambda: ps.Ellipsoid(1), "shape"),
        (lambda: ps.Mesh("a.stl", (1, 2)), "scale"),
        (lambda: ps.Geometry(ps.Sphere(1), role="decor"), "'visual' or 'collision'"),
        (lambda: ps.Geometry(ps.Sphere(1), color=(1, 0, 0)), "rgba"),
        (lambda: ps.Geometry("sphere"), "needs a shape"),
    ],
)
def test_impossible_geometry_is_refused_with_a_sentence(make, words):
    with pytest.raises(ps.ModelError, match=words):
        make()
