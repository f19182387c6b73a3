"""The way of one call: from statement to machine code through no more files than it was."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from phistar.backends.programs.derivations import own_derivations

ROOT = Path(__file__).resolve().parents[2]
FILES = 60


@pytest.mark.skipif(not own_derivations()["derived"], reason="out of date: python tools/derivations.py")
def test_a_first_call_goes_through_no_more_files_than_it_did():
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "call_path.py"], capture_output=True, text=True, check=True, timeout=300
    )
    found = re.search(r"first call: (\d+) files", made.stdout)
    assert found is not None and int(found[1]) <= FILES
