"""Operators as pictures: their matrices with the block structure that the algebra lives on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phistar.errors import PhistarError, StatementError
from phistar.expression import Expression
from phistar.model import Model
from phistar.operators.spaces import Space

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, RED, EMPTY = "#2166ac", "#b2182b", "#f4f5f7"
SMALL = 1e-9  # of the largest entry: rounding, drawn as nothing
MOSTLY = 0.7  # of the blocks
DECADES = 4.0  # of size, from faint to full


def operator_picture(operators: Sequence[Expression], q: Any = None, columns: int = 4) -> Figure:
    """Draw the matrices of operators of one robot side by side, as a matplotlib figure; save it with `.savefig(path)`.

    Links and joints are numbered from the tip, as in the papers, so that φ is lower triangular. Positive entries are
    blue, negative ones red, and darker where larger; a block is framed where anything in it is not zero.

    Parameters
    ----------
    operators : sequence of Expression
        Of one algebra with a robot, as `[A.phi, A.M]` of `A = ps.algebra(model)`.
    q : (nq,), optional
        The configuration; the model's neutral one by default.
    columns : int
        Pictures in a row.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> A = ps.algebra(ps.load("planar3"))
    >>> len(ps.view.operator_picture([A.phi, A.mass]).axes)
    2
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PhistarError("Pictures of operators need matplotlib: pip install 'phistar[plot]'.") from None
    if not operators or any(each.model is None for each in operators):
        raise StatementError("A picture needs operators of a robot, such as [A.phi, A.M] with A = ps.algebra(model).")
    model = operators[0].model
    assert model is not None
    q = model.neutral() if q is None else q
    columns = min(columns, len(operators))
    rows = -(-len(operators) // columns)
    figure = Figure(figsize=(2.9 * columns, 3.1 * rows), layout="constrained")
    for number, operator in enumerate(operators):
        _draw(figure.add_subplot(rows, columns, number + 1), operator, model, np.asarray(q, dtype=float))
    return figure


def _draw(axes: Any, operator: Expression, model: Model, q: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    heights, widths = (block_sizes(space, model) for space in (operator.node.codomain, operator.node.domain))
    matrix = from_the_tip(operator.dense(q), heights, widths)
    heights, widths = heights[::-1], widths[::-1]
    axes.imshow(shade(matrix), interpolation="nearest", extent=(0, sum(widths), sum(heights), 0))
    for top, height in zip(np.cumsum([0, *heights]), heights):
        for left, width in zip(np.cumsum([0, *widths]), widths):
            block = np.abs(matrix[top : top + height, left : left + width])
            if np.max(block, initial=0.0) > SMALL * np.max(np.abs(matrix)):
                axes.add_patch(Rectangle((left, top), width, height, fill=False, edgecolor="#30363d", linewidth=0.7))
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_color("#c9ced6")
    axes.set_title(operator.show(), fontsize=11)
    axes.set_xlabel(structure(matrix, heights, widths), fontsize=8.5, color="#57606a")


def block_sizes(space: Space | None, model: Model) -> list[int]:
    """Number of entries of a space's blocks, in the model's order."""
    if space is None:
        raise StatementError("The identity alone has no size; compose it with an operator to draw it.")
    if space.over == "links":
        return [6] * len(model.bodies)
    if space.over == "joints":
        return [joint.nv for joint in model.joints]
    if space.over == "task":
        return [6] * len(space.frames or ())
    if space.over in ("base", "root"):
        return [6]
    raise StatementError(f"Operators on {space} have no picture; draw ones between links, joints and task frames.")


def from_the_tip(matrix: np.ndarray, heights: Sequence[int], widths: Sequence[int]) -> np.ndarray:
    """The blocks in reverse order, each as it was."""
    rows, columns = (
        np.concatenate([np.arange(end - size, end) for size, end in zip(sizes[::-1], np.cumsum(sizes)[::-1])])
        for sizes in (list(heights), list(widths))
    )
    return matrix[np.ix_(rows, columns)]


def shade(matrix: np.ndarray) -> np.ndarray:
    """(rows, columns, 3): white for nothing, to blue or red over four decades of size."""
    from matplotlib.colors import to_rgb

    largest = np.max(np.abs(matrix), initial=0.0) or 1.0
    size = np.abs(matrix) / largest
    depth = np.where(size > SMALL, np.clip(1.0 + np.log10(np.maximum(size, 1e-300)) / DECADES, 0.12, 1.0), 0.0)
    color = np.where((matrix >= 0.0)[..., None], np.array(to_rgb(BLUE)), np.array(to_rgb(RED)))
    return np.array(to_rgb(EMPTY)) * (1.0 - depth[..., None]) + color * depth[..., None]


def structure(matrix: np.ndarray, heights: Sequence[int], widths: Sequence[int]) -> str:
    """Return the pattern of the nonzero blocks: diagonal, triangular or full."""
    filled = np.array(
        [
            [
                np.max(np.abs(block), initial=0.0) > SMALL * np.max(np.abs(matrix))
                for block in np.split(row, cuts, axis=1)
            ]
            for cuts in [np.cumsum(widths)[:-1]]
            for row in np.split(matrix, np.cumsum(heights)[:-1])
        ]
    )
    if filled.shape[0] != filled.shape[1]:
        return f"{int(filled.sum())} of {filled.size} blocks"
    if not (filled & ~np.eye(len(filled), dtype=bool)).any():
        return "block diagonal"
    if not np.triu(filled, 1).any():
        return "strictly lower triangular" if not np.diag(filled).any() else "lower triangular"
    if not np.tril(filled, -1).any():
        return "strictly upper triangular" if not np.diag(filled).any() else "upper triangular"
    count = f"{int(filled.sum())} of {filled.size} blocks"
    return "dense" if filled.all() else f"dense ({count})" if filled.mean() > MOSTLY else count
