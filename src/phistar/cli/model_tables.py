"""The facts about a model (describe.py) as tables for a person: angles in degrees, empty columns left out."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Facts = dict[str, Any]
# Heading, justification, and the text of one row's cell.
Column = tuple[str, str, Callable[[Facts], str]]

# The unit of each coordinate, by kind of joint; kinds with quaternions have no limits to show.
COORDINATES = {
    "revolute": ["°"],
    "prismatic": [" m"],
    "helical": ["°"],
    "universal": ["°", "°"],
    "planar": [" m", " m", "°"],
}


def overview(facts: Facts) -> RenderableType:
    """The whole page: totals, bodies, joints, frames, loops, warnings."""
    return Group(*_sections(facts))


def _sections(facts: Facts) -> Iterator[RenderableType]:
    yield _totals(facts)
    if facts["source"]:
        yield Text(facts["source"], style="dim")
    yield Text()
    yield _table("Bodies", facts["bodies"], BODY_COLUMNS)
    yield _table("Joints", facts["joints"], JOINT_COLUMNS)
    frames = list(_further_frames(facts))
    if frames:
        yield _table("Further frames (each body and joint is one too)", frames, FRAME_COLUMNS)
    if facts["loops"]:
        yield _table("Loops", facts["loops"], LOOP_COLUMNS)
    if facts["embedded"]:
        yield Text(_in_independent_rates(facts["embedded"]))
        yield Text()
    if facts["warnings"]:
        yield _warnings(facts["warnings"])


def _in_independent_rates(found: Facts) -> str:
    """One-line summary of model.embedded()."""
    if "refused" in found:
        return f"Independent rates (model.embedded()): {found['refused']}"
    links = "; ".join(" + ".join(each) for each in found["compound_links"])
    names = ", ".join(found["independent"]) or "none"
    return f"Independent rates (model.embedded()): {found['nv']}, of {names}. Compound links: {links or 'none'}."


def _totals(facts: Facts) -> Text:
    line = Text.assemble((facts["name"], "bold"), "   ")
    parts = [_count(len(facts["bodies"]), "body", "bodies"), _count(facts["nv"], "dof", "dof")]
    if facts["nq"] != facts["nv"]:
        parts.append(f"nq {facts['nq']}")
    parts.append(f"{number(facts['mass'])} kg")
    parts.append(_count(len(facts["frames"]), "frame", "frames"))
    if facts["loops"]:
        parts.append(_count(len(facts["loops"]), "loop", "loops"))
    parts.append(f"gravity {vector(facts['gravity'])} m/s²")
    return line.append(" · ".join(parts))


def _warnings(sentences: list[str]) -> RenderableType:
    lines = Table.grid(padding=(0, 1))
    for sentence in sentences:
        lines.add_row(Text("!", style="bold yellow"), Text(sentence, style="yellow"))
    return Group(Text("Warnings", style="bold"), lines)


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _table(title: str, rows: list[Facts], columns: list[Column]) -> RenderableType:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim")
    cells = {heading: [cell(row) for row in rows] for heading, _, cell in columns}
    table.add_column("", justify="right", style="dim")
    shown = [(heading, justify) for heading, justify, _ in columns if any(cells[heading])]
    for heading, justify in shown:
        table.add_column(heading, justify="right" if justify == "right" else "left", overflow="fold")
    for index in range(len(rows)):
        table.add_row(str(index), *(Text(cells[heading][index]) for heading, _ in shown))
    return Group(Text(title, style="bold"), table, Text())


def number(value: float) -> str:
    """Four figures, without the exponent where it can be helped, and a true minus sign."""
    if value == 0.0:
        return "0"
    text = f"{value:.4g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3e}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def vector(entries: list[float]) -> str:
    return f"({', '.join(number(entry) for entry in entries)})"


def _center(body: Facts) -> str:
    """Mass centre to a tenth of a millimetre; a body without mass has none."""
    return vector([round(entry, 4) for entry in body["com"]]) if body["mass"] else ""


def direction(axis: list[float]) -> str:
    """x, −y, … for a coordinate axis, else its components."""
    for letter, entry in zip("xyz", axis):
        if abs(abs(entry) - 1.0) < 1e-9:
            return letter if entry > 0.0 else f"−{letter}"
    return vector(axis)


def _limits(joint: Facts) -> str:
    units = COORDINATES.get(joint["kind"], [])
    ranges = [_range(*bounds) for bounds in zip(joint["lower"], joint["upper"], units)]
    return ", ".join(ranges) if any(ranges) else ""


def _range(lower: float | None, upper: float | None, unit: str) -> str:
    if lower is None and upper is None:
        return ""
    return f"{_format_bound(lower, '−', unit)} … {_format_bound(upper, '', unit)}{unit}"


def _format_bound(value: float | None, sign: str, unit: str) -> str:
    if value is None:
        return f"{sign}∞"
    return number(round(math.degrees(value), 2) if unit == "°" else value)


def _values(name: str) -> Callable[[Facts], str]:
    """One number per degree of freedom; nothing where all are zero or unlimited, one where all are equal."""

    def cell(joint: Facts) -> str:
        values = joint[name]
        if not any(values):
            return ""
        texts = ["∞" if value is None else number(value) for value in values]
        return texts[0] if len(set(texts)) == 1 else ", ".join(texts)

    return cell


def _friction(joint: Facts) -> str:
    positive, negative = joint["friction"]["positive"], joint["friction"]["negative"]
    if not any(positive + negative):
        return ""
    up, down = (", ".join(number(value) for value in side) for side in (positive, negative))
    return up if up == down else f"+{up} −{down}"


def _armature(joint: Facts) -> str:
    """The joint's own term of the mass matrix: armature + gear_ratio² rotor_inertia."""
    parts = zip(joint["armature"], joint["gear_ratio"], joint["rotor_inertia"])
    values = [armature + ratio**2 * rotor for armature, ratio, rotor in parts]
    return ", ".join(number(value) for value in values) if any(values) else ""


def _indices(joint: Facts) -> str:
    start, stop = joint["v"]
    return str(start) if stop - start == 1 else f"{start}–{stop - 1}"


def _further_frames(facts: Facts) -> Iterator[Facts]:
    """The frames on each body that are not named after it or its joint, in the order of the bodies, the world first."""
    own = {body["name"] for body in facts["bodies"]} | {joint["name"] for joint in facts["joints"]}
    names: dict[str, list[str]] = {}
    for frame in facts["frames"]:
        if frame["name"] not in own:
            names.setdefault(frame["body"], []).append(frame["name"])
    for body in ["world", *(body["name"] for body in facts["bodies"])]:
        if body in names:
            yield {"body": body, "frames": names[body]}


def _relation(loop: Facts) -> str:
    """A coupling as the paper would write it, any other loop as its two frames."""
    if "coefficients" not in loop:
        return f"{loop['frame_a']} — {loop['frame_b']}"
    powers = ["", *(f"q({loop['joint_b']}){mark}" for mark in ("", "²", "³", "⁴"))]
    terms = [_term(c, power) for c, power in zip(loop["coefficients"], powers) if c]
    return f"q({loop['joint_a']}) = {' + '.join(terms) or '0'}".replace("+ −", "− ")


def _term(coefficient: float, power: str) -> str:
    if power and abs(coefficient) == 1.0:
        return power if coefficient > 0.0 else f"−{power}"
    return f"{number(coefficient)} {power}".rstrip()


BODY_COLUMNS: list[Column] = [
    ("body", "left", lambda body: body["name"]),
    ("on", "left", lambda body: body["parent"]),
    ("mass kg", "right", lambda body: number(body["mass"])),
    ("center of mass m", "left", _center),
    ("visual", "right", lambda body: str(body["visual"] or "")),
    ("collision", "right", lambda body: str(body["collision"] or "")),
    ("modes Hz", "left", lambda body: ", ".join(number(each) for each in body["frequencies"])),
]
JOINT_COLUMNS: list[Column] = [
    ("joint", "left", lambda joint: joint["name"]),
    ("kind", "left", lambda joint: joint["kind"]),
    ("axis", "left", lambda joint: " ".join(direction(axis) for axis in joint["axes"])),
    ("dof", "right", lambda joint: str(joint["nv"])),
    ("v", "right", _indices),
    ("limits", "left", _limits),
    ("effort", "right", _values("effort")),
    ("speed", "right", _values("velocity")),
    ("armature", "right", _armature),
    ("damping", "right", _values("damping")),
    ("stiffness", "right", _values("stiffness")),
    ("friction", "right", _friction),
]
FRAME_COLUMNS: list[Column] = [
    ("on body", "left", lambda row: row["body"]),
    ("frames", "left", lambda row: ", ".join(row["frames"])),
]
LOOP_COLUMNS: list[Column] = [
    ("loop", "left", lambda loop: loop["name"]),
    ("kind", "left", lambda loop: loop["kind"]),
    ("holds", "left", _relation),
    ("equations", "right", lambda loop: str(loop["equations"])),
]
