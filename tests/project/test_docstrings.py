"""Every public function says in plain words what it does, with parameters, returns and an example that runs."""

import doctest
import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import phistar as ps

CHAPTERS = ("freeflying",)
PUBLIC = {name: getattr(ps, name) for name in ps.__all__} | {
    f"{chapter}.{name}": getattr(getattr(ps, chapter), name)
    for chapter in CHAPTERS
    for name in getattr(ps, chapter).__all__
}
NAMES = [name for name, what in PUBLIC.items() if not isinstance(what, ModuleType)]
FUNCTIONS = [name for name in NAMES if not inspect.isclass(PUBLIC[name])]
CLASSES = [name for name in NAMES if inspect.isclass(PUBLIC[name]) and not issubclass(PUBLIC[name], Exception)]
NEEDED = {"casadi_function": "casadi", "symbolic": "sympy", "modes": "scipy"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_documented_in_full(name):
    doc = inspect.getdoc(PUBLIC[name]) or ""
    first = doc.split("\n\n")[0]
    assert first.endswith(".") and len(first.splitlines()) <= 2 and first[0].isupper(), first
    assert not first.startswith(("What ", "Of "))
    for section in ("Parameters", "Returns", "Examples?"):
        assert re.search(rf"^{section}\n-----+$", doc, re.MULTILINE), f"{name} has no section {section}"
    told = doc.split("Parameters\n")[1].split("\n\n")[0]
    for parameter in inspect.signature(PUBLIC[name]).parameters:
        assert parameter in told.replace("*", ""), f"{name} does not tell of its parameter {parameter}"


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_documented_with_an_example(name):
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert doc.split("\n\n")[0].endswith(".") and ">>> " in doc


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_examples_run_and_print_what_they_say(name):
    pytest.importorskip(NEEDED.get(name, "numpy"))
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    doc = inspect.getdoc(PUBLIC[name]) or ""
    told = []
    example = finder.get_doctest(doc, {"np": np, "ps": ps}, name, None, None)
    failed = runner.run(example, out=told.append)
    assert example.examples and failed.failed == 0, "".join(told)


def test_the_package_itself_shows_an_example():
    assert doctest.testmod(ps).failed == 0
