"""A model in a notebook: a sketch of its links at the neutral configuration, and a table of its joints."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from phistar.model.model import Model

MOST_ROWS = 12
VIEW = np.array([[0.87, -0.5, 0.0], [-0.29, -0.5, 0.82]])  # x to the right, y into the page, z up
WIDTH, HEIGHT, EDGE = 220.0, 180.0, 14.0


def model_html(model: Model) -> str:
    """The sketch beside the table."""
    rows = [
        f"<tr><td>{escape(joint.name)}</td><td>{type(joint.kind).__name__}</td>"
        f"<td>{escape(body.name)}</td><td>{body.inertia.mass:.4g} kg</td></tr>"
        for joint, body in list(zip(model.joints, model.bodies, strict=True))[:MOST_ROWS]
    ]
    left = len(model.bodies) - MOST_ROWS
    rows += [f"<tr><td colspan='4'>… and {left} more</td></tr>"] if left > 0 else []
    head = "<tr><th>joint</th><th>kind</th><th>body</th><th>mass</th></tr>"
    title = escape(repr(model).strip("<>"))
    table = f"<table>{head}{''.join(rows)}</table>"
    return f"<div><b>{title}</b><div style='display:flex;gap:1em'>{sketch(model)}{table}</div></div>"


def sketch(model: Model) -> str:
    """Lines between the bodies' origins, as an SVG."""
    places: list[np.ndarray] = []
    poses: list[tuple[np.ndarray, np.ndarray]] = []
    lines: list[tuple[int, int]] = []
    for body in model.bodies:
        turn, start = poses[body.parent] if body.parent >= 0 else (np.eye(3), np.zeros(3))
        poses.append((turn @ body.placement.rotation, start + turn @ body.placement.translation))
        places += [start, poses[-1][1]]
        lines.append((len(places) - 2, len(places) - 1))
    for frame in model.frame_list:
        if frame.body >= 0 and model.frame_list[-1] is frame:  # the last frame: of an arm, its tool
            turn, start = poses[frame.body]
            places += [start, start + turn @ frame.placement.translation]
            lines.append((len(places) - 2, len(places) - 1))
    if not places:
        return ""
    flat = np.array(places) @ VIEW.T
    low, size = flat.min(axis=0), max(float(np.ptp(flat, axis=0).max()), 1e-9)
    drawn = EDGE + (flat - low) * (min(WIDTH, HEIGHT) - 2 * EDGE) / size
    drawn[:, 1] = HEIGHT - drawn[:, 1]
    strokes = "".join(
        f"<line x1='{drawn[i][0]:.1f}' y1='{drawn[i][1]:.1f}' x2='{drawn[j][0]:.1f}' y2='{drawn[j][1]:.1f}'/>"
        for i, j in lines
    )
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5'/>" for x, y in drawn)
    style = "stroke='#3572b0' stroke-width='4' stroke-linecap='round' fill='#e08d3c'"
    return f"<svg width='{WIDTH:.0f}' height='{HEIGHT:.0f}' role='img'><g {style}>{strokes}{dots}</g></svg>"
