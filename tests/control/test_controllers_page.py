"""The page on controllers runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "control" / "controllers.md"


def test_the_pages_code_runs_from_top_to_bottom(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    assert "(inward, tip to base)" in capsys.readouterr().out
