"""The upper triangle of a symmetric result from its lower one, in the rows of each state: squares are turned."""

from __future__ import annotations

from phistar.backends.kernels import F64, I64, Code, Func, Local, transpose_vectors

SIDE = 4  # of a square


def mirror_function(name: str, size: int, lanes: int) -> Func:
    """`void name(states, to, down)`: of each state the matrix of so many rows, `down` bytes from each other, that
    begins `to` bytes from where `states` says; what is right of its diagonal is made what is below."""
    code, squares = Code(name, states=F64.to.to, to=I64, down=I64), size // SIDE
    far = code["down"] * SIDE
    with code.loop(0, lanes) as n:
        matrix = code["states"].at(n).load(kind=F64.to).bytes(code["to"])
        if squares:
            _bands(code, matrix, squares, far)
        for k in range(SIDE * squares, size):
            for j in range(k):
                _entry(code, matrix, j, k).store(_entry(code, matrix, k, j).load())
    return code.function


def _entry(code: Code, matrix: Local, row: int, column: int) -> Local:
    return matrix.bytes(code["down"] * code.whole(row)).at(column)


def _bands(code: Code, matrix: Local, squares: int, far: Local) -> None:
    """Bands of rows, in each the squares left of the diagonal, then the one on it."""
    with code.loop(0, squares) as b:
        left, over = matrix.bytes(b * far), matrix.at(b * SIDE)
        with code.loop(0, b) as c:
            _square(code, left.at(c * SIDE), over.bytes(c * far))
        _square(code, left.at(b * SIDE), left.at(b * SIDE), own=True)


def _square(code: Code, source: Local, target: Local, own: bool = False) -> None:
    """A square turned from one place to another; its `own` on the diagonal keeps what is below."""
    sources, targets = [source], [target]
    for places in (sources, targets):
        while len(places) < SIDE:
            places.append(places[-1].bytes(code["down"]))
    rows = [place.load(SIDE) for place in sources]
    for i, (place, value) in enumerate(zip(targets, transpose_vectors(rows), strict=True)):
        below = [j if j <= i else SIDE + j for j in range(SIDE)]
        place.store(rows[i].shuffle(value, below) if own else value)
