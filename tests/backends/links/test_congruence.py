"""RXR* where R turns about one axis by its structure: the same numbers in fewer operations."""

import numpy as np
import pytest

from phistar.backends.links.values import lever_terms, rotate_symmetric, turns_in_a_row
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import Tape, finish
from phistar.spatial import skew

QUARTERS = [np.eye(3)[list(order)] * np.array(signs) for order, signs in (
    ((0, 1, 2), (1.0, 1.0, 1.0)),
    ((1, 2, 0), (1.0, 1.0, 1.0)),
    ((0, 2, 1), (1.0, -1.0, 1.0)),
    ((2, 1, 0), (-1.0, -1.0, -1.0)),
    ((1, 0, 2), (-1.0, -1.0, -1.0)),
)]  # fmt: skip


def about(axis, cosine, sine):
    """A rotation about a coordinate axis; zeros and the one are plain numbers."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    result = np.full((3, 3), 0.0, dtype=object)
    result[axis, axis], result[i, i], result[j, j] = 1.0, cosine, cosine
    result[i, j], result[j, i] = -sine, sine
    return result


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("quarter", range(len(QUARTERS)))
def test_a_turn_about_an_axis_after_quarter_turns_is_the_product_of_matrices(axis, quarter):
    rng = np.random.default_rng(axis)
    angle, x, left = rng.uniform(-3, 3), rng.normal(size=(3, 3)), QUARTERS[quarter]
    assert round(np.linalg.det(left)) == 1
    tape = Tape()
    block, (q,) = tape.inputs((3, 3)), tape.inputs((1,))
    trace = finish(tape, list(rotate_symmetric(np.matmul(left, about(axis, q.cos(), q.sin())), block).reshape(-1)))
    rotation = np.array(left @ about(axis, np.cos(angle), np.sin(angle)), dtype=float)
    found = np.reshape(replay(trace, [*x.reshape(-1), angle]), (3, 3)).astype(float)
    assert np.allclose(found, rotation @ x @ rotation.T, rtol=0, atol=1e-14)
    assert trace.operations <= 30  # multiplied out, 75


def test_any_other_rotation_is_multiplied_out():
    rng = np.random.default_rng(3)
    rotation, x = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=(2, 3, 3))
    assert np.allclose(rotate_symmetric(rotation, x), rotation @ x @ rotation.T, rtol=0, atol=1e-14)
    assert np.allclose(
        np.array(rotate_symmetric(rotation.astype(object), x[0]), dtype=float), rotation @ x[0] @ rotation.T
    )


@pytest.mark.parametrize(("offset", "most"), [((0.3, -0.5, 0.7), 15), ((0.0, 0.0, 0.7), 5)])
def test_what_a_shift_adds_takes_few_products(offset, most):
    """YL + (XL)* of a shifted inertia: Y = X + LC, C symmetric."""
    rng, tape = np.random.default_rng(4), Tape()
    x, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    lever = skew(np.array(offset))
    y = x + lever @ (c + c.T)
    traced, length = tape.inputs((2, 3, 3)), tape.inputs((3,))
    arm = np.array([number if value else 0.0 for number, value in zip(length, offset, strict=True)], dtype=object)
    trace = finish(tape, list(lever_terms(traced[0], traced[1], skew(arm)).reshape(-1)))
    found = np.reshape(replay(trace, [*x.reshape(-1), *y.reshape(-1), *offset]), (3, 3)).astype(float)
    assert np.allclose(found, y @ lever + (x @ lever).T, rtol=0, atol=1e-14)
    assert np.allclose(lever_terms(x, y, lever), found, rtol=0, atol=1e-14)
    assert trace.counts()["mul"] <= most


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("placing", ["about a coordinate axis", "quarter", "general"])
def test_a_placed_joint_turns_about_one_axis_after_the_other(axis, placing):
    """The factors' product is R₀T, each is about one axis, and a general R₀ takes two more than the joint."""
    rng = np.random.default_rng(3)
    tilt = about((axis + 1) % 3, np.cos(0.3), np.sin(0.3)).astype(float)
    general = tilt @ about(axis, np.cos(1.1), np.sin(1.1)).astype(float) @ QUARTERS[1] @ tilt
    first = {"about a coordinate axis": tilt, "quarter": QUARTERS[2], "general": general}[placing]
    tape, angle, x = Tape(), 0.7, rng.normal(size=(3, 3))
    block, (q,) = tape.inputs((3, 3)), tape.inputs((1,))
    factors = turns_in_a_row(first, about(axis, q.cos(), q.sin()))
    assert len(factors) == {"about a coordinate axis": 2, "quarter": 1, "general": 3}[placing]
    for factor in reversed(factors):
        assert sum(type(entry) is float and abs(entry) == 1.0 for entry in factor.reshape(-1)) == 1
        block = rotate_symmetric(factor, block)
    found = np.reshape(replay(finish(tape, list(block.reshape(-1))), [*x.reshape(-1), angle]), (3, 3)).astype(float)
    rotation = first @ about(axis, np.cos(angle), np.sin(angle)).astype(float)
    assert np.allclose(found, rotation @ x @ rotation.T, rtol=0, atol=1e-14)
