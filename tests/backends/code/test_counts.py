"""Loops counted by their twins: as many operations as numbers say that count themselves."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.counts import operations
from phistar.backends.code.native import Arrays, arrays_used, tree_of
from phistar.backends.pairwise.forms import FORMS, LAYERS, ROWS, TABLE, walked, whole_numbers
from phistar.backends.pairwise.loops import ROW
from phistar.errors import StatementError
from tests.trees import mechanism

TREES = {
    "chain": ps.chain(6),
    "tree": mechanism(71, serial=False, floating=False, armature=True, rotors=False, bodies=7).model,
    "floating": mechanism(72, serial=False, floating=True, armature=True, rotors=False, bodies=6).model,
}


class Counted(float):
    """A number that tells how often one was added, subtracted, multiplied, divided or negated."""

    done = 0


def _counting(name):
    def operation(self, *others):
        Counted.done += 1
        return Counted(getattr(float, name)(self, *others))

    return operation


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg"):
    setattr(Counted, f"__{_name}__", _counting(f"__{_name}__"))


def arrays_for(form, model):
    """Room for one state, all of it numbers that count."""
    m, walk = whole_numbers(model), walked(model)
    width = len(walk.place)
    sizes = {ROWS: width, LAYERS: width * walk.layers, TABLE: width * width}
    trees = {function.__name__: tree_of(function) for function in form.loops}
    for name in arrays_used(trees[form.loops[-1].__name__], trees):
        if name == "armature" or not hasattr(m, name):
            size = sizes.get(form.scratch.get(name, ""), ROW * width if name == "rows" else width)
            size = 16 * model.nv**2 if name.startswith("out") else size
            setattr(m, name, [Counted(0.5) for _ in range(size)])
    m.strides, m.factors = np.ones(6), [Counted(x) for x in m.factors]
    m.drift = [Counted(x) if i % 4 == 2 else x for i, x in enumerate(m.drift)]
    return m


@pytest.mark.parametrize("case", TREES)
@pytest.mark.parametrize("name", FORMS)
def test_a_twin_counts_what_the_loops_compute(name, case):
    form, model = FORMS[name], TREES[case]
    m = arrays_for(form, model)
    Counted.done = 0
    form.loops[-1](m)
    assert operations(form.loops, whole_numbers(model)) == Counted.done > 0


def mean(x, start: int, stop: int) -> float:
    return (x[start] + x[stop]) / 2.0


def smoothed(m: Arrays) -> None:
    """Loops within loops, tests and functions that give floats."""
    n = int(m.sizes[0])
    last, half = n - 1, 0.5
    for row in range(n):
        for column in range(row, n):
            m.out[row * n + column] = half * mean(m.x, row, column) - m.x[min(row + 1, last)]
        if row > 1:
            m.out[row] = -m.out[row] * half


def test_whole_numbers_and_places_are_not_counted():
    assert operations([mean, smoothed], Arrays(sizes=[4.0])) == 4 * (4 + 3 + 2 + 1) + 2 * 2


def unending(m: Arrays) -> None:
    while m.x[0] > 0.0:
        m.x[0] = m.x[0] - 1.0


def test_what_depends_on_floats_is_refused():
    with pytest.raises(StatementError, match="unending"):
        operations([unending], Arrays())
