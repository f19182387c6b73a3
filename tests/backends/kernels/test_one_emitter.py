"""Each target has one emitter: LLVM IR and C are written in `kernels/` alone, whatever makes a kernel."""

import re
from pathlib import Path

import pytest

import phistar

PACKAGE = Path(phistar.__file__).parent
EMITTERS = {"emit_llvm.py", "llvm_values.py"}
LLVM = re.compile(
    r"getelementptr|insertelement|shufflevector|extractelement|= alloca|\bicmp \w|\bfcmp \w|define internal|br label %"
)


@pytest.mark.parametrize("room", sorted(x.name for x in PACKAGE.iterdir() if x.is_dir()))
def test_no_llvm_text_stands_outside_the_emitter(room):
    texts = {path: path.read_text(encoding="utf-8") for path in (PACKAGE / room).rglob("*.py")}
    found = {path.name for path, text in texts.items() if LLVM.search(text)}
    assert found == (EMITTERS if room == "backends" else set())
    assert {path.parent.name for path, text in texts.items() if LLVM.search(text)} <= {"kernels"}


def test_no_c_text_stands_outside_the_emitter():
    """The program that shows an exported function's use is a template of the export's own."""
    written = re.compile(r"const double \*|#include|static void|\(void\)")
    texts = {path: path.read_text(encoding="utf-8") for path in (PACKAGE / "backends").rglob("*.py")}
    assert {path.name for path, text in texts.items() if written.search(text)} == {"emit_c.py"}


def test_the_front_door_opens_every_room():
    """Others import from the door; tests may look into the rooms."""
    rooms = re.compile(r"from phistar\.backends\.kernels\.\w+ import|import phistar\.backends\.kernels\.")
    outside = (path for path in PACKAGE.rglob("*.py") if path.parent.name != "kernels")
    assert [str(path) for path in outside if rooms.search(path.read_text(encoding="utf-8"))] == []
