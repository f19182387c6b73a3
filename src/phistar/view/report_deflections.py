"""Bodies that bend in a report: the moment of the largest deflection, drawn as large as the reader chooses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.sim.trajectory import Trajectory
from phistar.view.bent_surfaces import exaggerate_modes, node_places
from phistar.view.page_templates import embed_image
from phistar.view.report_picture import camera_around, image, solids

SIZE = (560, 360)
FACTORS = (1, 2, 5, 10, 20)
FAR = 0.35  # of the longest body: deflections are not drawn larger


class Exaggerated(NamedTuple):
    """A picture whose deflections are drawn `factor` times as large."""

    factor: int
    source: str
    width: int
    height: int


class Deflection(NamedTuple):
    """The largest deflection (m), when it was (s), and its pictures."""

    largest: float
    time: float
    pictures: tuple[Exaggerated, ...]


def deflections(run: Trajectory) -> Deflection | None:
    """The pictures; the page chooses among them by style alone, as a report has no scripts."""
    model, q = run.model, run.arrays.get("q", np.zeros((0, 0)))
    if not model.is_flexible or not len(q):
        return None
    sizes = _largest(run)
    worst = int(np.argmax(sizes))
    longest = max(float(np.ptp(body.flexible.nodes, axis=0).max()) for body in model.bodies if body.flexible)
    factors = [factor for factor in FACTORS if factor == 1 or factor * sizes[worst] <= FAR * longest]
    drawn = [solids(model, exaggerate_modes(model, q[worst], float(factor))) for factor in factors]
    camera = camera_around([solid.corners for solid, _ in drawn], SIZE, direction=(1.5, -1.2, 0.9))
    pictures = [
        Exaggerated(factor, *embed_image(image(solid, ground, camera, SIZE)))
        for factor, (solid, ground) in zip(factors, drawn, strict=True)
    ]
    return Deflection(float(sizes[worst]), float(run.arrays["t"][worst]), tuple(pictures))


def _largest(run: Trajectory) -> np.ndarray:
    """The farthest that a node is from where it stands when nothing is bent, m, over time."""
    q, found = run.arrays["q"], np.zeros(len(run.arrays["q"]))
    for body in run.model.bodies:
        if body.flexible is not None:
            moved = [node_places(body.flexible, row)[0] - body.flexible.nodes for row in q[:, body.mode_q_slice]]
            found = np.maximum(found, np.linalg.norm(np.array(moved), axis=-1).max(axis=-1))
    return found
