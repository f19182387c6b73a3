"""Loops over tiles do what the products, sums and inverses of matrices are, for all sizes and vectors."""

import ctypes

import numpy as np
import pytest

from phistar.backends.blockwise.tiles import SLACK, Place, Tiles
from phistar.backends.kernels import F64, Code, Func, Module, llvm_text
from phistar.backends.machine.jit import Source, host, machine_code

SIZES = [(1, 1, 1), (6, 19, 6), (7, 5, 3), (13, 29, 20), (40, 53, 17)]


def compiled(build, arrays):
    code = Code("run", **{f"p{i}": F64.to for i in range(arrays)})
    code.inner = False
    build(code, *(code[f"p{i}"] for i in range(arrays)))
    text = llvm_text(Module((code.function, Func("loop", (), (), inner=False))))
    _, made = machine_code("tiles in tests", (text,), host(), lambda: Source("", loops=text))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arrays)(made.address_of("run"))

    def call(*given):
        function(*(x.ctypes.data for x in given))
        return made

    return call


def block(rng, rows, row):
    return rng.normal(size=rows * row + SLACK)[: rows * row].reshape(rows, row)


@pytest.fixture(params=[1, 2, 4, 8])
def lanes(request):
    if request.param > host().lanes:
        pytest.skip("this processor has shorter vectors")
    return request.param


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("lower", [False, True])
def test_a_product_is_the_matrices_and_touches_nothing_else(lanes, shape, lower):
    rows, width, inner = shape
    rng, row = np.random.default_rng(0), width + 3
    left, right, source = block(rng, inner, rows + 1), block(rng, inner, row), block(rng, rows, row)
    to = block(rng, rows, row)
    before = to.copy()

    def build(code, *p):
        places = Place(p[0], row), Place(p[1], rows + 1).transpose, Place(p[2], row)
        Tiles(code, lanes, host().fma).product(*places, shape, Place(p[3], row), minus=True, lower=lower)

    compiled(build, 4)(to, left, right, source)
    wanted = source[:, :width] - left[:, :rows].T @ right[:, :width]
    kept = np.tril(np.ones((rows, width)), 0) > 0 if lower else np.ones((rows, width)) > 0
    assert np.allclose(to[:, :width][kept], wanted[kept], rtol=1e-12, atol=1e-12)
    assert (to[:, width:] == before[:, width:]).all()


@pytest.mark.parametrize("size", [1, 5, 9, 13, 33])
def test_an_inverse_is_the_matrixs_and_says_whether_it_is_positive(lanes, size):
    rng = np.random.default_rng(1)
    root, row = rng.normal(size=(size, size)), size + 2
    matrix, inverse, said = block(rng, size, row), block(rng, size, row), np.zeros(1 + SLACK)
    matrix[:, :size] = root @ root.T + np.eye(size)

    def build(code, *p):
        good = Tiles(code, lanes, host().fma).invert(Place(p[0], row), Place(p[1], row), size)
        p[2].store(good.select(code.number(1.0), code.number(-1.0)))

    call = compiled(build, 3)
    call(inverse, matrix, said)
    assert said[0] == 1.0
    assert np.allclose(inverse[:, :size] @ matrix[:, :size], np.eye(size), atol=1e-10)
    matrix[-1, size - 1] = -1.0
    call(inverse, matrix, said)
    assert said[0] == -1.0


@pytest.mark.parametrize("size", [1, 4, 7, 13])
def test_a_mirrored_block_is_symmetric(lanes, size):
    given = block(np.random.default_rng(2), size, size + 1)
    lower = np.tril(given[:, :size])
    compiled(lambda code, p: Tiles(code, lanes, True).mirror(Place(p, size + 1), size), 1)(given)
    assert (given[:, :size] == lower + np.tril(lower, -1).T).all()
