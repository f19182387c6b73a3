"""Every public function says in plain words what it does, with parameters, returns and an example that runs."""

import doctest
import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import phistar as ps

CHAPTERS = [name for name in ps.__all__ if isinstance(getattr(ps, name), ModuleType)]
PUBLIC = {name: getattr(ps, name) for name in ps.__all__} | {
    f"{chapter}.{name}": getattr(getattr(ps, chapter), name)
    for chapter in CHAPTERS
    for name in getattr(ps, chapter).__all__
}
FUNCTIONS = [name for name, what in PUBLIC.items() if inspect.isroutine(what)]
CLASSES = [name for name, what in PUBLIC.items() if inspect.isclass(what) and not issubclass(what, Exception)]


def returned():
    """Names of classes that a public function or method gives back: the example is that of the function."""
    for what in PUBLIC.values():
        methods = vars(what).items() if inspect.isclass(what) else ()
        for each in (what, *(method for name, method in methods if not name.startswith("_"))):
            if inspect.isfunction(each):
                yield from re.findall(r"\w+", str(each.__annotations__.get("return", "")))


RESULTS = {name for name in CLASSES if name.split(".")[-1] in set(returned())}
SHOWN = [
    name for name in (*FUNCTIONS, *CLASSES) if name not in RESULTS or ">>> " in (inspect.getdoc(PUBLIC[name]) or "")
]
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
def test_a_class_is_documented_with_an_example_unless_a_function_gives_it(name):
    doc = inspect.getdoc(PUBLIC[name]) or ""
    assert doc.split("\n\n")[0].endswith(".") and (name in RESULTS or ">>> " in doc)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SHOWN)
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
