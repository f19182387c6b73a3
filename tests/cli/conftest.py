"""What tests of several commands share."""

import pytest


@pytest.fixture
def no_pages(monkeypatch):
    """Pages take seconds, and are tested where they are made."""
    for name in ("_report", "_replay"):
        monkeypatch.setattr(f"phistar.cli.run_files.{name}", lambda result, path: path.write_text("a page"))
