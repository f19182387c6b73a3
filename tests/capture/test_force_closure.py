"""Force closure by one linear program, against the convex hull of the wrenches, which is another way to know it."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from phistar.capture.force_closure import contact_wrenches, force_closure
from phistar.errors import ShapeError


def margin_by_hull(wrenches):
    """The least s over ±axes d with −s d on the hull of the wrenches; 0 where that does not surround the origin."""
    points = np.concatenate([wrenches.T, np.zeros((1, 6))])
    if np.linalg.matrix_rank(points, tol=1e-9) < 6:
        return 0.0
    facets = ConvexHull(points).equations  # a·x + b ≤ 0 inside
    if np.any(facets[:, -1] > -1e-9):
        return 0.0
    loads = np.concatenate([np.eye(6), -np.eye(6)])
    slopes = facets[:, :-1] @ loads.T
    with np.errstate(divide="ignore"):
        reach = np.where(slopes > 1e-12, -facets[:, -1:] / slopes, np.inf)
    return float(reach.min())


def random_contacts(rng):
    """Points on a ball, most of them pushing inward, some far off the normal."""
    points = rng.standard_normal((rng.integers(2, 8), 3))
    points = 0.2 * points / np.linalg.norm(points, axis=1, keepdims=True)
    normals = -points / 0.2 + 0.4 * rng.standard_normal(points.shape)
    return points, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def test_the_linear_program_agrees_with_the_convex_hull_on_random_grasps():
    rng, closed = np.random.default_rng(0), 0
    for _ in range(120):
        points, normals = random_contacts(rng)
        friction = float(rng.choice([0.0, 0.2, 0.5]))
        found = force_closure(points, normals, friction)
        wanted = margin_by_hull(contact_wrenches(points, normals, friction, 0.1))
        assert found.margin == pytest.approx(wanted, abs=1e-6)
        assert found.is_closed == (wanted > 1e-6) and (found.weakest is None) == found.is_closed
        closed += found.is_closed
    assert 20 < closed < 100


def test_what_is_known_of_simple_grasps():
    ring = 0.07 * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(3) / 3])
    below, above = (np.insert(ring, 2, z, axis=1) for z in (-0.2, 0.2))
    up, down = np.tile([0.0, 0.0, 1.0], (3, 1)), np.tile([0.0, 0.0, -1.0], (3, 1))
    both, ways = np.concatenate([below, above]), np.concatenate([up, down])
    assert force_closure(both, ways, 0.3).is_closed
    assert force_closure(both, ways, 0.5).margin > force_closure(both, ways, 0.3).margin
    assert not force_closure(both, ways, 0.0).is_closed  # WD89: six frictionless points on flat faces hold nothing
    assert not force_closure(below, up, 0.5).is_closed  # one hand that pushes
    assert force_closure([[-0.1, 0, 0], [0.1, 0, 0]], [[1, 0, 0], [-1, 0, 0]], 0.5).weakest == "moment about x"


def test_what_are_no_contacts_is_refused():
    with pytest.raises(ShapeError, match="points"):
        force_closure(np.zeros((2, 3)), np.zeros((3, 3)), 0.3)
    with pytest.raises(ShapeError, match="friction"):
        force_closure(np.zeros((2, 3)), np.ones((2, 3)), -0.3)
