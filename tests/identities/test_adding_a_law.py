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


FALSE = EXAMPLE.replace(', "one_frame"', "").replace("frame_hears_itself", "false_law")
NEEDLESS = EXAMPLE.replace('"one_frame"', '"one_frame", "serial"').replace("frame_hears_itself", "needless_condition")


def run(folder, arguments, *laws):
    """A fresh Python, in whose riccati.py stands what the guide says, or something like it."""
    added = "import phistar.identities.riccati as riccati\n" + "".join(
        f"exec({law!r}, vars(riccati))\n" for law in laws
    )
    (folder / "added_law.py").write_text(added, encoding="utf-8")
    paths = os.pathsep.join([str(folder), str(ROOT), str(ROOT / "src")])
    surroundings = os.environ | {"PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, *arguments], env=surroundings, cwd=ROOT, capture_output=True, encoding="utf-8"
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What the tests of laws say of the example, of one that is false, and of one with a condition too many."""
    options = ["-p", "added_law", "-p", "no:cacheprovider", "-q", "-rA", "--tb=no"]
    options += ["-k", "frame_hears_itself or false_law or needless_condition", "tests/identities/test_laws.py"]
    done = run(tmp_path_factory.mktemp("added"), ["-m", "pytest", *options], EXAMPLE, FALSE, NEEDLESS)
    told = re.findall(r"^(PASSED|FAILED) \S+::(\w+)\[(\S+)\]", done.stdout, re.MULTILINE)
    assert told, done.stdout + done.stderr
    return {(test, case): outcome for outcome, test, case in told}


def test_the_rewriter_uses_it_at_once(tmp_path):
    for law, told in (("", "B*ΩψB"), (EXAMPLE, "B*ΩB|frame hears itself")):
        done = run(tmp_path, ["-c", "import added_law\n" + SIMPLIFIED], law)
        assert done.stdout.strip() == told, done.stderr


def test_the_tests_of_laws_find_it_in_the_registry(outcomes):
    """Both sides on 200 mechanisms, its condition needed, its citation: three tests that nobody wrote."""
    of_it = [outcome for (_, case), outcome in outcomes.items() if case.startswith("frame_hears_itself")]
    assert of_it == ["PASSED"] * 3


def test_a_false_law_or_a_needless_condition_is_caught(outcomes):
    assert {key for key, outcome in outcomes.items() if outcome == "FAILED"} == {
        ("test_both_sides_are_one_matrix_on_every_mechanism_the_law_is_about", "false_law"),
        ("test_a_side_condition_is_needed", "needless_condition-serial"),
    }
