"""A Sphinx extension: formulas drawn by Matplotlib into the page, so that reading it asks nothing of the network."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.textpath import TextPath

SIZE = 10.0  # of the letters, in units of the drawing: one em
UNKNOWN = (("\\mathscr", "\\mathcal"), ("\\dfrac", "\\frac"), ("\\operatorname", "\\mathrm"))
BARE = re.compile(r"\\(mathcal|mathbf|mathrm|bar|tilde|hat|dot|ddot)\s+([A-Za-z])")
PENS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


@cache
def drawn(formula: str) -> str:
    """An SVG of a formula, in the colour of the text around it and on its line."""
    text = formula.strip()
    for ours, theirs in UNKNOWN:
        text = text.replace(ours, theirs)
    text = BARE.sub(r"\\\1{\2}", text)
    font = FontProperties(size=SIZE, math_fontfamily="stix")
    width, height, depth, *_ = MathTextParser("path").parse(f"${text}$", dpi=72, prop=font)
    path = TextPath((0, 0), f"${text}$", prop=font)
    parts = []
    for points, code in path.iter_segments(curves=True, simplify=False):
        if code == Path.CLOSEPOLY:
            parts.append("Z")
        else:
            numbers = " ".join(f"{x if k % 2 == 0 else -x:.2f}" for k, x in enumerate(points))
            parts.append(f"{PENS[code]}{numbers}")
    box = f"-0.3 {-(height - depth) - 0.3:.2f} {width + 0.6:.2f} {height + 0.6:.2f}"
    wide, high, low = ((value + margin) / SIZE for value, margin in ((width, 0.6), (height, 0.6), (depth, 0.3)))
    style = f"width:{wide:.3f}em;height:{high:.3f}em;vertical-align:{-low:.3f}em"
    return (
        f'<svg role="img" aria-label="{escape(formula.strip())}" viewBox="{box}" style="{style}" fill="currentColor">'
        f'<path d="{"".join(parts)}"/></svg>'
    )


def inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    lines = [line.replace("&", "") for line in node.astext().split("\\\\") if line.strip()]
    writer.body.append("".join(f'<div class="formula">{drawn(line)}</div>' for line in lines))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("drawn", inline_renderers=(inline, None), block_renderers=(block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
