"""Writes docs/pictures: robots as the library draws them, for the index, the gallery and the pages.

Run by the docs build before Sphinx: `python docs/generate_pictures.py [FOLDER]`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import phistar as ps
from phistar.view.report_picture import camera_around, image, png, solids


def robots() -> dict[str, tuple[Any, Any, tuple[float, float, float]]]:
    """Name → model, configuration, from where it is seen."""
    puma = ps.load("puma560")
    flyer = ps.load("freeflyer")
    flying = flyer.neutral()
    flying[7:] = np.tile([0.3, -0.6, 0.4, 0.2, 0.7, 0.0], 2)
    scene = ps.Scene.load("grapple").setting(0)
    snake = _snake()
    return {
        "puma560": (puma, np.array([0.4, -0.7, 0.3, 0.4, 0.9, 0.1]), (1.5, -1.3, 0.8)),
        "freeflyer": (flyer, flying, (1.4, -1.2, 0.9)),
        "grapple": (scene.model, scene.start[0], (1.7, -0.8, 0.9)),
        "snake": (snake, 0.55 * np.sin(0.3 * np.arange(snake.nq) + 0.6), (0.6, -1.6, 1.0)),
    }


def _snake() -> ps.Model:
    """Twenty links that bend in turns."""
    builder = ps.ModelBuilder("snake")
    link = ps.Inertia(0.2, (0.05, 0, 0), 1e-4 * np.eye(3))
    look = ps.Geometry(ps.Capsule(0.025, 0.08), ps.Pose(xyz=(0.05, 0, 0), rpy=(0, np.pi / 2, 0)))
    parent, place = "world", ps.Pose()
    for k in range(20):
        axis = (0, 0, 1) if k % 2 else (0, 1, 0)
        builder.body(f"link{k}", parent, ps.Revolute(axis=axis), place, link, [look])
        parent, place = f"link{k}", ps.Pose(xyz=(0.1, 0, 0))
    return builder.build()


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, (model, q, direction) in robots().items():
        size = (760, 400) if name == "grapple" else (640, 440)
        solid, ground = solids(model, q)
        camera = camera_around([solid.corners], size, direction=direction)
        made.append(folder / f"{name}.png")
        made[-1].write_bytes(png(image(solid, ground, camera, size)))
    return made


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pictures")
