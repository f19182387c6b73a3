"""Poses and subspaces also run on opaque scalars, as a tracer hands them in: only arithmetic, sin, cos."""

import numpy as np
import pytest

import phistar as ps
from phistar.spatial import cross, force_transform, from_quaternion, from_rpy, skew


class Opaque:
    """A number that can be computed with but not looked at: no float(), bool(), comparison, length or array."""

    __slots__ = ("_hidden",)
    __hash__ = None
    __array_ufunc__ = None

    def __init__(self, hidden):
        self._hidden = hidden

    def _value(self, other):
        if isinstance(other, Opaque):
            return other._hidden
        assert isinstance(other, int | float), f"mixed with {type(other)}"
        return other

    def __add__(self, other):
        return Opaque(self._hidden + self._value(other))

    def __mul__(self, other):
        return Opaque(self._hidden * self._value(other))

    def __sub__(self, other):
        return Opaque(self._hidden - self._value(other))

    def __rsub__(self, other):
        return Opaque(self._value(other) - self._hidden)

    def __truediv__(self, other):
        return Opaque(self._hidden / self._value(other))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Opaque(-self._hidden)

    def sin(self):
        return Opaque(np.sin(self._hidden))

    def cos(self):
        return Opaque(np.cos(self._hidden))

    def _refuse(self, *_):
        raise AssertionError("a traced scalar was looked at")

    __bool__ = __float__ = __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __abs__ = _refuse


def hide(array):
    hidden = np.empty(np.shape(array), dtype=object)
    for index, value in np.ndenumerate(array):
        hidden[index] = Opaque(float(value))
    return hidden


def reveal(array):
    seen = [item._hidden if isinstance(item, Opaque) else float(item) for item in np.asarray(array, dtype=object).flat]
    return np.array(seen).reshape(np.shape(array))


KINDS = [
    ps.Revolute(axis=(0.3, -1.2, 0.7)),
    ps.Prismatic(axis=(0.3, -1.2, 0.7)),
    ps.Helical(axis=(0.3, -1.2, 0.7), pitch=0.4),
    ps.Universal(axis1=(1, 0.2, 0.1), axis2=(0.4, 1, 0.6)),
    ps.Spherical(),
    ps.Planar(normal=(0.3, -1.2, 0.7)),
    ps.Free(),
    ps.Fixed(),
]


@pytest.mark.parametrize("shape", [(), (2,)], ids=["one", "batch"])
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_traced_scalars_give_the_same_poses_and_subspaces(kind, shape):
    rng = np.random.default_rng(0)
    q, v = kind.random(rng, shape), rng.normal(size=(*shape, kind.nv))
    for traced, plain in zip(kind.pose(hide(q)), kind.pose(q), strict=True):
        assert traced.shape == plain.shape
        np.testing.assert_allclose(reveal(traced), plain, rtol=0, atol=1e-14)
    np.testing.assert_allclose(reveal(kind.subspace(hide(q))), kind.subspace(q), rtol=0, atol=1e-14)
    rate = kind.subspace_rate(hide(q), hide(v))
    if kind.subspace_rate(q, v) is None:
        assert rate is None
    else:
        np.testing.assert_allclose(reveal(rate), kind.subspace_rate(q, v), rtol=0, atol=1e-14)


@pytest.mark.parametrize("shape", [(), (2,)], ids=["one", "batch"])
def test_spatial_functions_take_traced_scalars(shape):
    rng = np.random.default_rng(1)
    a, b, quaternion = rng.normal(size=(*shape, 3)), rng.normal(size=(*shape, 3)), rng.normal(size=(*shape, 4))
    for function, arguments in [
        (skew, (a,)),
        (cross, (a, b)),
        (from_rpy, (a,)),
        (from_quaternion, (quaternion,)),
        (force_transform, (from_rpy(a), b)),
    ]:
        traced = function(*(hide(argument) for argument in arguments))
        np.testing.assert_allclose(reveal(traced), function(*arguments), rtol=0, atol=1e-14)


def test_zeros_of_a_coordinate_axis_are_plain_zeros_of_the_subspace():
    assert ps.Revolute(axis=(0, 0, 1)).subspace(hide([0.3])).dtype == np.float64
