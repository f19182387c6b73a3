"""The contributing guide's example of a new law: one function, nothing else edited, used and tested."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding a law")[1]
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
# A frame inside a chain: the rules of tips do not apply, so that only the example can shorten this.
SIMPLIFIED = """
from phistar.identities.law import Setting
from phistar.identities.rewriter import simplify
from phistar.operators.symbols import Symbols
s = Symbols()
derivation = simplify(s.B.T @ s.Omega @ s.psi @ s.B, s, Setting(tips=False))
print(derivation.result, *(step.law for step in derivation.steps), sep="|")
"""


@pytest.fixture
def environment(tmp_path):
    """A module that does to riccati.py what the guide says, on the path of a fresh Python."""
    added = f"import phistar.identities.riccati as riccati\nexec({EXAMPLE!r}, vars(riccati))\n"
    (tmp_path / "added_law.py").write_text(added, encoding="utf-8")
    paths = [str(tmp_path), str(ROOT), str(ROOT / "src")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}


def run(arguments, environment):
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rewriter_uses_it_at_once(environment):
    assert run(["-c", SIMPLIFIED], environment).strip() == "B*ΩψB"
    with_it = run(["-c", "import added_law\n" + SIMPLIFIED], environment).strip()
    assert with_it == "B*ΩB|frame hears itself"


def test_the_tests_of_laws_find_it_in_the_registry(environment):
    """Both sides on 200 mechanisms, its condition needed, its citation: three tests that nobody wrote."""
    options = ["-p", "added_law", "-p", "no:cacheprovider", "-q", "-k", "frame_hears_itself"]
    report = run(["-m", "pytest", *options, "tests/identities/test_laws.py"], environment)
    assert "3 passed" in report


def test_a_false_law_or_a_needless_condition_is_caught(environment, tmp_path):
    for wrong in (EXAMPLE.replace(', "one_frame"', ""), EXAMPLE.replace('"one_frame"', '"one_frame", "serial"')):
        added = f"import phistar.identities.riccati as riccati\nexec({wrong!r}, vars(riccati))\n"
        (tmp_path / "added_law.py").write_text(added, encoding="utf-8")
        options = ["-p", "added_law", "-p", "no:cacheprovider", "-q", "-k", "frame_hears_itself"]
        command = [sys.executable, "-m", "pytest", *options, "tests/identities/test_laws.py"]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, encoding="utf-8")
        assert done.returncode == 1 and "1 failed" in done.stdout, done.stdout
