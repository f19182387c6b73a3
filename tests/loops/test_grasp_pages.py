"""The code on the pages about primary joints and grasps runs as it stands."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "loops"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["primary.md", "grasps.md"])
def test_the_code_of_the_page_runs(name, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / name).read_text(), re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(block, names)
    assert capsys.readouterr().out
