"""A run as a picture: ratios to Pinocchio and MuJoCo as bars on a logarithmic axis. Plain SVG, nothing needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Any

Facts = dict[str, Any]

WIDTH, LEFT, RIGHT, TOP, ROW, GAP, BOTTOM = 900, 110, 60, 70, 9, 10, 40
HEADING = 24
COLUMNS = (
    ("pin_cpp_ratio", "Pinocchio, C++ (beyond FD and ID estimated)", "#1f5f8b"),
    ("pin_python_ratio", "Pinocchio, Python", "#8fbbd9"),
    ("mujoco_ratio", "MuJoCo", "#d98f5c"),
)
FONT = 'font-family="sans-serif"'


def svg(facts: Facts) -> str:
    """Chart of the speed relative to a peer, by function and robot."""
    groups = list(_groups(facts["results"]))
    largest = max((ratio for _, _, bars in groups for ratio, _ in bars), default=10.0)
    decades = max(1, math.ceil(math.log10(largest)))
    height = TOP + BOTTOM + sum(_height(bars) + (HEADING if title else 0) for title, _, bars in groups)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(20, 24, "phistar: how many times faster per state, one thread against one thread", 15),
        _text(20, 42, _where(facts), 11, color="#666"),
        *_legend(),
        *_axis(decades, height),
        *_bars(groups, decades),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _groups(rows: list[Facts]) -> Iterator[tuple[str, str, list[tuple[float, str]]]]:
    """(title of a function where it begins, robot, bars)."""
    before = ""
    for row in sorted(rows, key=lambda row: [each["function"] for each in rows].index(row["function"])):
        bars = [(row[column], color) for column, _, color in COLUMNS if row[column]]
        if bars:
            yield row["function"] if row["function"] != before else "", row["robot"], bars
            before = row["function"]


def _height(bars: list[tuple[float, str]]) -> int:
    return ROW * len(bars) + GAP


def _x(ratio: float, decades: int) -> float:
    return LEFT + max(math.log10(ratio), 0.0) / decades * (WIDTH - LEFT - RIGHT)


def _bars(groups: list[tuple[str, str, list[tuple[float, str]]]], decades: int) -> Iterator[str]:
    y = TOP
    for title, robot, bars in groups:
        if title:
            y += HEADING
            yield _text(20, y - 7, f"ps.{title}", 12, weight="bold")
        yield _text(LEFT - 6, y + ROW * len(bars) / 2 + 4, robot, 11, anchor="end")
        for ratio, color in bars:
            end = _x(ratio, decades)
            yield f'<rect x="{LEFT}" y="{y}" width="{end - LEFT:.1f}" height="{ROW - 1}" fill="{color}"/>'
            yield _text(end + 4, y + ROW - 1, f"{ratio:.3g}×", 9, color="#444")
            y += ROW
        y += GAP


def _axis(decades: int, height: int) -> Iterator[str]:
    for decade in range(decades + 1):
        for digit in (1, 2, 5):
            x = _x(digit * 10.0**decade, decades)
            if x <= WIDTH - RIGHT + 1:
                color = "#bbb" if digit == 1 else "#e8e8e8"
                yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{height - BOTTOM}" stroke="{color}"/>'
                yield _text(x, height - BOTTOM + 14, f"{digit * 10**decade}×", 10, anchor="middle", color="#666")


def _legend() -> Iterator[str]:
    for number, (_, name, color) in enumerate(COLUMNS):
        x = LEFT + (0, 310, 470)[number]
        yield f'<rect x="{x}" y="52" width="12" height="9" fill="{color}"/>'
        yield _text(x + 17, 60, f"against {name}", 10)


def _where(facts: Facts) -> str:
    versions = facts["machine"]["versions"]
    peers = ", ".join(f"{name} {versions[name]}" for name in ("pin", "mujoco") if versions.get(name))
    return f"{facts['machine']['processor']} ({facts['machine']['cpu']}), {peers}"


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", color: str = "black", weight: str = "normal"
) -> str:
    style = f'{FONT} font-size="{size}" text-anchor="{anchor}" fill="{color}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
