"""Bodies that bend in a report: the moment of the largest deflection, drawn as large as the reader chooses."""

from __future__ import annotations

import base64

import numpy as np

from phistar.sim.trajectory import Trajectory
from phistar.view.bent_surfaces import exaggerated, node_places
from phistar.view.report_picture import camera_around, image, png, solids

SIZE = (560, 360)
FACTORS = (1, 2, 5, 10, 20)
FAR = 0.35  # of the longest body: deflections are not drawn larger


def deflections(run: Trajectory) -> str:
    """The pictures with a choice of how large deflections are drawn, by style alone: a report has no scripts."""
    model, q = run.model, run.arrays.get("q", np.zeros((0, 0)))
    if not model.is_flexible or not len(q):
        return ""
    sizes = _largest(run)
    worst = int(np.argmax(sizes))
    longest = max(float(np.ptp(body.flexible.nodes, axis=0).max()) for body in model.bodies if body.flexible)
    factors = [factor for factor in FACTORS if factor == 1 or factor * sizes[worst] <= FAR * longest]
    drawn = [solids(model, exaggerated(model, q[worst], float(factor))) for factor in factors]
    camera = camera_around([solid.corners for solid, _ in drawn], SIZE, direction=(1.5, -1.2, 0.9))
    choices, pictures, rules = [], [], []
    for factor, (solid, ground) in zip(factors, drawn, strict=True):
        data = base64.b64encode(png(image(solid, ground, camera, SIZE))).decode("ascii")
        checked = " checked" if factor == 1 else ""
        choices.append(
            f'<input type="radio" name="bent" id="bent{factor}"{checked}><label for="bent{factor}">×{factor}</label> '
        )
        pictures.append(
            f'<img class="bent b{factor}" alt="deflections drawn {factor} times as large" width="{SIZE[0]}" '
            f'height="{SIZE[1]}" src="data:image/png;base64,{data}">'
        )
        rules.append(f"#bent{factor}:checked~img.b{factor}")
    style = f"<style>img.bent{{display:none}}{','.join(rules)}{{display:block}}</style>"
    told = f"{1e3 * sizes[worst]:.3g} mm from where it is when nothing is bent, at {run.arrays['t'][worst]:.2f} s"
    words = f"<p>Largest: {told}. Drawn larger by the factor chosen:</p>"
    return f"<h2>Deflection</h2>{style}{words}<div>{''.join(choices)}{''.join(pictures)}</div>"


def _largest(run: Trajectory) -> np.ndarray:
    """The farthest that a node is from where it stands when nothing is bent, m, over time."""
    q, found = run.arrays["q"], np.zeros(len(run.arrays["q"]))
    for body in run.model.bodies:
        if body.flexible is not None:
            moved = [node_places(body.flexible, row)[0] - body.flexible.nodes for row in q[:, body.mode_q_slice]]
            found = np.maximum(found, np.linalg.norm(np.array(moved), axis=-1).max(axis=-1))
    return found
