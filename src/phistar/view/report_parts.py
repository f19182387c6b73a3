"""The parts of a report: frames, curves, audits. Each takes a `Trajectory` and gives HTML."""

from __future__ import annotations

import base64
from html import escape

import numpy as np

from phistar.sim.trajectory import Trajectory
from phistar.view.report_picture import Camera, camera_around, image, png, solids
from phistar.view.report_plots import chart
from phistar.view.report_run import relative_twists

FRAME_SIZE = (450, 310)
MOST_FRAMES = 6
MOST_PAIRS = 8


def frames(run: Trajectory) -> str:
    """Pictures at the start, where phases change, where the contact force peaks, and at the end."""
    model, t = run.model, run.arrays.get("t", np.zeros(0))
    if not len(t):
        return ""
    moments = _moments(run)
    drawn = [solids(model, run.arrays["q"][k]) for k, _ in moments]
    if not any(len(solid.corners) + len(ground.corners) for solid, ground in drawn):
        missing = (
            "Nothing of this robot can be drawn; <code>phistar info ROBOT</code> says whether meshes were not found."
        )
        return f'<h2>Pictures</h2><p class="soft">{missing}</p>'
    towards = (1.5, -1.2, 0.9)
    corners = [solid.corners for solid, _ in drawn if len(solid.corners)]
    camera: Camera = camera_around(corners, FRAME_SIZE, direction=towards)
    made = []
    for (k, what), (solid, ground) in zip(moments, drawn):
        data = base64.b64encode(png(image(solid, ground, camera, FRAME_SIZE))).decode("ascii")
        caption = f"<b>{t[k]:.2f} s</b> {escape(what)}"
        made.append(
            f'<figure><img alt="{escape(what)}" width="{FRAME_SIZE[0]}" height="{FRAME_SIZE[1]}" '
            f'src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
        )
    return f'<h2>Pictures</h2><div class="frames">{"".join(made)}</div>'


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


def plots(run: Trajectory) -> str:
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
    return f'<h2>Curves</h2><div class="plots">{"".join(made)}</div>' if any(made) else ""


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


def audits(run: Trajectory) -> str:
    """Audits of the run: balances and limits, each with its worst violation."""
    summary, rows = run.summary, []

    def row(what: str, figure: str, holds: bool | None, note: str = "") -> None:
        mark = "" if holds is None else '<span class="good">✓</span>' if holds else '<span class="bad">✗</span>'
        rows.append(
            f'<tr><td>{mark}</td><td>{what}</td><td class="n">{figure}</td><td class="soft">{escape(note)}</td></tr>'
        )

    if summary.get("min_distance") is not None:
        least = float(summary["min_distance"])
        row("Bodies stay apart", f"{1e3 * least:.4g} mm", least > 0.0, "the smallest distance of any two shapes")
    if "peak_force" in summary:
        row("Largest contact force", f"{summary['peak_force']:.4g} N", None, "normal, of one contact")
    for key, what, unit, note in (
        ("energy_residual", "Energy accounted for", "", "what work, friction and contacts do not explain, relative"),
        ("energy_change", "Energy change", " J", "from start to end"),
        (
            "momentum_drift",
            "Momentum accounted for",
            " N m s, N s",
            "what forces from outside do not explain, largest entry",
        ),
    ):
        if summary.get(key) is not None:
            row(what, f"{summary[key]:.3g}{unit}", None, note)
    for what, figure, holds, note in _limits(run):
        row(what, figure, holds, note)
    return f"<h2>Audits</h2><table>{''.join(rows)}</table>" if rows else ""


def _limits(run: Trajectory) -> list[tuple[str, str, bool, str]]:
    """How near joints came to their limits of coordinate, rate and force."""
    model, found = run.model, []
    if not len(run.arrays.get("t", ())):
        return []
    q = run.arrays["q"]
    margin = np.minimum(q - model.lower_limits, model.upper_limits - q).min(axis=0)
    names = [joint.name for joint in model.joints for _ in range(joint.nq)]
    if np.isfinite(margin).any():
        k = int(np.argmin(margin))
        found.append(("Joint limits", f"{margin[k]:.4g} left", bool(margin[k] >= 0.0), f"least, at {names[k]}; rad, m"))
    rates = [joint.name for joint in model.joints for _ in range(joint.nv)]
    for name, limits, what in (
        ("v", model.velocity_limits, "Rate limits"),
        ("tau", model.effort_limits, "Force limits"),
    ):
        if name in run.arrays and np.isfinite(limits).any():
            used = np.abs(run.arrays[name]).max(axis=0)
            used = np.divide(used, limits, out=np.zeros(len(limits)), where=limits > 0.0)  # 0: no motor, no force
            k = int(np.argmax(used))
            found.append((what, f"{100 * used[k]:.3g} % used", bool(used[k] <= 1.0 + 1e-9), f"most, at {rates[k]}"))
    return found
