"""A campaign in a notebook: a square for each run, how many were good, and the first failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from phistar.sim.campaign.perform import GOOD

if TYPE_CHECKING:
    from phistar.sim.campaign.campaign import Campaign

ACROSS, SIDE = 50, 7  # squares in a row, and how large one is, px
MOST_RUNS, MOST_FAILURES = 5000, 4
FINE, BAD = "#23764a", "#b3362b"


def one_line(campaign: Campaign) -> str:
    """One line: the scene, how many runs, and how many of them were good."""
    summary = campaign.summary
    share = summary["reached"] or summary["completed"]
    word = "reached" if summary["reached"] else "completed"
    return f"<Campaign of '{summary['scene']}': {len(campaign.rows)} runs, {share['count']} of {share['of']} {word}>"


def as_html(campaign: Campaign) -> str:
    """The line, the squares and a table of failures."""
    rows = [
        f"<tr><td>{int(each['count'])}</td><td>{escape(str(each['outcome']))}</td>"
        f"<td>{escape(str(each['reason'] or ''))}</td></tr>"
        for each in campaign.summary["failures"][:MOST_FAILURES]
    ]
    head = "<tr><th>runs</th><th>outcome</th><th>reason</th></tr>"
    table = f"<table>{head}{''.join(rows)}</table>" if rows else ""
    title = escape(one_line(campaign).strip("<>"))
    body = f"<div style='display:flex;gap:1em;flex-wrap:wrap'>{squares(campaign.rows)}{table}</div>"
    return f"<div><b>{title}</b>{body}</div>"


def squares(rows: Sequence[Mapping[str, Any]]) -> str:
    """A square for each run in order, green where it was good, with what came of it on hover."""
    shown = rows[:MOST_RUNS]
    drawn = "".join(
        f"<rect x='{SIDE * (k % ACROSS)}' y='{SIDE * (k // ACROSS)}' width='{SIDE - 1}' height='{SIDE - 1}' "
        f"fill='{FINE if row['outcome'] in GOOD else BAD}'>"
        f"<title>run {k}: {escape(str(row['outcome']))}</title></rect>"
        for k, row in enumerate(shown)
    )
    width, height = SIDE * min(len(shown), ACROSS), SIDE * -(-len(shown) // ACROSS)
    return f"<svg width='{width}' height='{height}' role='img' aria-label='runs'>{drawn}</svg>"
