"""The table of robots in the test report.

A test adds a row with `record_property("robot table", {"file": …, "bodies": …, …})`; properties travel from the
workers of pytest-xdist with the reports. The table is printed at the end and written to build/robots.txt.
"""

from pathlib import Path

import pytest

COLUMNS = {"file": "<", "base": "<", "bodies": ">", "nq": ">", "nv": ">", "mass": ">", "worst": ">", "note": "<"}


def pytest_terminal_summary(terminalreporter, config):
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    rows = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "robot table"
    ]
    if not rows:
        return
    lines = table(rows)
    terminalreporter.section("robots compared with their peers")
    for line in lines:
        terminalreporter.write_line(line)
    folder = Path(config.rootpath) / "build"
    folder.mkdir(exist_ok=True)
    (folder / "robots.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(rows) -> list[str]:
    """Aligned columns: numbers to the right, the worst relative difference with two digits."""
    cells = [{column: _cell(row.get(column, "")) for column in COLUMNS} for row in rows]
    cells = [{column: column for column in COLUMNS}, *sorted(cells, key=lambda row: (row["file"], row["base"]))]
    widths = {column: max(len(row[column]) for row in cells) for column in COLUMNS}
    return ["  ".join(f"{row[c]:{side}{widths[c]}}" for c, side in COLUMNS.items()).rstrip() for row in cells]


def _cell(value) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3f}"
    return str(value)


@pytest.fixture
def add_row(record_property):
    """Adds one robot to the table."""
    return lambda **row: record_property("robot table", row)
