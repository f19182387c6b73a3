"""The parts of a report: pictures, curves, audits; plain data of a `Trajectory`, which templates/report.html shows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phistar.sim.trajectory import Trajectory
from phistar.view.page_templates import embed_image
from phistar.view.report_picture import Camera, camera_around, image, solids
from phistar.view.report_plots import Chart, chart
from phistar.view.report_run import relative_twists

FRAME_SIZE = (450, 310)
MOST_FRAMES = 6
MOST_PAIRS = 8


class Frame(NamedTuple):
    """A picture of a moment (s), and what it shows."""

    time: float
    what: str
    source: str
    width: int
    height: int


class Audit(NamedTuple):
    """A balance or a limit: its figure, and whether it holds where that can be said."""

    what: str
    figure: str
    holds: bool | None
    note: str


def frames(run: Trajectory) -> list[Frame] | None:
    """Pictures at the start, where phases change, where the contact force peaks, and at the end.

    None where the run has no samples, an empty list where nothing of the robot can be drawn.
    """
    model, t = run.model, run.arrays.get("t", np.zeros(0))
    if not len(t):
        return None
    moments = _moments(run)
    drawn = [solids(model, run.arrays["q"][k]) for k, _ in moments]
    if not any(len(solid.corners) + len(ground.corners) for solid, ground in drawn):
        return []
    corners = [solid.corners for solid, _ in drawn if len(solid.corners)]
    camera: Camera = camera_around(corners, FRAME_SIZE, direction=(1.5, -1.2, 0.9))
    return [
        Frame(float(t[k]), what, *embed_image(image(solid, ground, camera, FRAME_SIZE)))
        for (k, what), (solid, ground) in zip(moments, drawn)
    ]


def _moments(run: Trajectory) -> list[tuple[int, str]]:
    """Sample numbers and what they show, in order of time."""
    t, last = run.arrays["t"], len(run.arrays["t"]) - 1
    found = {0: "start", last: "end"}
    for phase in run.phases[1:]:
        found.setdefault(int(np.argmin(np.abs(t - phase.start))), f"{phase.name} begins")
    force = run.arrays.get("contact_force", np.zeros((1, 0)))
    if force.size and force.max() > 0.0:
        found.setdefault(int(np.argmax(force.max(axis=1))), "largest contact force")
    chosen = sorted(found)
    if len(chosen) > MOST_FRAMES:
        chosen = [chosen[round(k)] for k in np.linspace(0, len(chosen) - 1, MOST_FRAMES)]
    if len(chosen) < 4:
        chosen = sorted({*chosen, *(round(last * part) for part in (1 / 3, 2 / 3))})
    return [(k, found.get(k, "")) for k in chosen]


def plots(run: Trajectory) -> list[Chart]:
    """Joints, rates, torques, contact forces, distance, energy, momentum, relative twist: what the run has of them."""
    arrays, t = run.arrays, run.arrays.get("t", np.zeros(0))
    made = [chart(f"Joints of {part}", "rad, m", t, lines, run.phases) for part, lines in _joints(run, "q")]
    made += [chart(f"Rates of {part}", "rad/s, m/s", t, lines, run.phases) for part, lines in _joints(run, "v")]
    made += [chart(f"Joint forces of {part}", "N m, N", t, lines, run.phases) for part, lines in _joints(run, "tau")]
    made.append(chart("Contact forces", "normal, N", t, _contacts(run), run.phases))
    near = arrays.get("distance", np.zeros(0))
    if np.isfinite(near).any():
        nearest = [("smallest distance", np.where(np.isfinite(near), 1e3 * near, np.nan))]
        made.append(chart("Distance", "of the nearest pair, mm", t, nearest, run.phases))
    if "energy" in arrays:
        made.append(
            chart("Energy", "kinetic, potential and of contacts, J", t, [("energy", arrays["energy"])], run.phases)
        )
    if "momentum" in arrays:
        change = arrays["momentum"] - arrays["momentum"][:1]
        lines = list(zip(("Lx", "Ly", "Lz", "px", "py", "pz"), change.T))
        made.append(chart("Momentum", "change since the start, N m s and N s", t, lines, run.phases))
    twists = relative_twists(run)
    made.append(chart("Relative turning", "°/s", t, [(n, np.degrees(w)) for n, w, _ in twists], run.phases))
    made.append(chart("Relative velocity", "mm/s", t, [(n, 1e3 * v) for n, _, v in twists], run.phases))
    return [each for each in made if each is not None]


def _joints(run: Trajectory, name: str) -> list[tuple[str, list[tuple[str, np.ndarray]]]]:
    """Lines of the joints with one coordinate, by the part that they belong to (left/joint1: left)."""
    if name not in run.arrays:
        return []
    groups: dict[str, list[tuple[str, np.ndarray]]] = {}
    for joint in run.model.joints:
        if joint.nv != 1:
            continue
        part, _, own = joint.name.rpartition("/")
        rows = joint.q_slice if name == "q" else joint.v_slice
        groups.setdefault(part or run.name, []).append((own, run.arrays[name][:, rows.start]))
    return [(part, lines) for part, lines in groups.items() if name == "q" or any(np.any(y) for _, y in lines)]


def _contacts(run: Trajectory) -> list[tuple[str, np.ndarray]]:
    """The pairs that pushed hardest; the others summed."""
    force = run.arrays.get("contact_force", np.zeros((0, 0)))
    peaks = np.max(force, axis=0, initial=0.0)
    order = [k for k in np.argsort(-peaks) if peaks[k] > 0.0]
    lines = [(run.contacts.pairs[k], force[:, k]) for k in sorted(order[:MOST_PAIRS])]
    if len(order) > MOST_PAIRS:
        lines.append((f"{len(order) - MOST_PAIRS} more, summed", force[:, order[MOST_PAIRS:]].sum(axis=1)))
    return lines


def audits(run: Trajectory) -> list[Audit]:
    """Audits of the run: balances and limits, each with its worst violation."""
    summary, found = run.summary, []
    if summary.get("min_distance") is not None:
        least = float(summary["min_distance"])
        told = "the smallest distance of any two shapes"
        found.append(Audit("Bodies stay apart", f"{1e3 * least:.4g} mm", least > 0.0, told))
    for key, what, form, note in (
        ("peak_force", "Largest contact force", "{:.4g} N", "normal, of one contact"),
        (
            "energy_residual",
            "Energy accounted for",
            "{:.3g}",
            "what work, friction and contacts do not explain, relative",
        ),
        ("energy_change", "Energy change", "{:.3g} J", "from start to end"),
        (
            "momentum_drift",
            "Momentum accounted for",
            "{:.3g} N m s, N s",
            "what forces from outside do not explain, largest entry",
        ),
    ):
        if summary.get(key) is not None:
            found.append(Audit(what, form.format(summary[key]), None, note))
    return found + _limits(run)


def _limits(run: Trajectory) -> list[Audit]:
    """Table of how near joints came to their limits of coordinate, rate and force."""
    model, found = run.model, []
    if not len(run.arrays.get("t", ())):
        return []
    q = run.arrays["q"]
    margin = np.minimum(q - model.lower_limits, model.upper_limits - q).min(axis=0)
    names = [joint.name for joint in model.joints for _ in range(joint.nq)]
    if np.isfinite(margin).any():
        k = int(np.argmin(margin))
        told = f"least, at {names[k]}; rad, m"
        found.append(Audit("Joint limits", f"{margin[k]:.4g} left", bool(margin[k] >= 0.0), told))
    rates = [joint.name for joint in model.joints for _ in range(joint.nv)]
    for name, limits, what in (
        ("v", model.velocity_limits, "Rate limits"),
        ("tau", model.effort_limits, "Force limits"),
    ):
        if name in run.arrays and np.isfinite(limits).any():
            used = np.abs(run.arrays[name]).max(axis=0)
            used = np.divide(used, limits, out=np.zeros(len(limits)), where=limits > 0.0)  # 0: no motor, no force
            k = int(np.argmax(used))
            held, told = bool(used[k] <= 1.0 + 1e-9), f"most, at {rates[k]}"
            found.append(Audit(what, f"{100 * used[k]:.3g} % used", held, told))
    return found
