"""The chapter's code runs as it stands, from top to bottom."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "freeflying" / "index.md"


def test_the_code_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 3
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
