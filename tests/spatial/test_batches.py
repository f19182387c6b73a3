"""Leading axes of arrays by name."""

import numpy as np
import pytest

from phistar.errors import ShapeError
from phistar.spatial.vectors import leading_axes


def test_leading_axes_broadcast_as_in_numpy():
    assert leading_axes({"q": np.zeros((4, 1, 3)), "v": np.zeros((5, 2)), "a": np.zeros(7)}) == (4, 5)
    assert leading_axes({"R": np.zeros((4, 3, 3)), "S": np.zeros((2, 1, 3, 3))}, core=2) == (2, 4)


def test_axes_that_do_not_are_told_by_the_names_of_the_arrays():
    with pytest.raises(ShapeError, match=r"q \(4, 3\), v \(5, 2\) do not broadcast; make them equal, or 1"):
        leading_axes({"q": np.zeros((4, 3)), "v": np.zeros((5, 2))})
