"""What a newcomer's editor, interpreter and fingers find: names, signatures, help, hints."""

import inspect
import pydoc
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import phistar as ps
from phistar.lazy import stated_names

ROOT = Path(__file__).resolve().parents[2]
STUBS = sorted((ROOT / "src" / "phistar").rglob("__init__.pyi"))
FUNCTIONS = [name for name in ps.__all__ if not isinstance(getattr(ps, name), type | ModuleType)]


def test_importing_the_package_loads_none_of_its_modules():
    code = "import sys; import phistar; print(*[m for m in sys.modules if m.startswith(('phistar', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["phistar", "phistar.lazy"]


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.parent.name)
def test_every_name_of_a_stub_can_be_imported_and_is_public(stub):
    names = stated_names(str(stub))
    package = ".".join(stub.parent.relative_to(ROOT / "src").parts)
    module = __import__(package, fromlist=["*"])
    assert sorted(names) == sorted(module.__all__) == sorted(dir(module))
    assert all(getattr(module, name) is not None for name in names)


def test_the_version_is_that_of_the_installed_package():
    assert ps.__version__ == version("phistar")


@pytest.mark.parametrize(
    ("tried", "found"),
    [
        ("jakobian", "did you mean jacobian"),
        ("rnea", "ps.inverse_dynamics"),
        ("crba", "ps.mass_matrix"),
        ("aba", "ps.forward_dynamics"),
        ("inverse_kinematics", "ps.control.inverse_kinematics"),
    ],
)
def test_a_name_that_is_not_there_says_which_is_meant(tried, found):
    with pytest.raises(AttributeError, match=found):
        getattr(ps, tried)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_a_function_as_it_is_called(name):
    function = getattr(ps, name)
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    first = next(iter(inspect.signature(function).parameters))
    assert f"\n{name}({first}" in text and inspect.isroutine(function)
    assert (inspect.getdoc(function) or "").split()[0] in text


def test_a_stated_function_shows_its_call_and_its_statement():
    assert repr(ps.forward_dynamics) == "<forward_dynamics(model, q, v, tau, f_ext=None): ℳ⁻¹(T − 𝒞 − 𝒢)>"
    assert repr(ps.inverse_dynamics_derivatives).startswith("<inverse_dynamics_derivatives(model, q, v, a): dq = ")
    assert ps.gravity_load._repr_latex_() == "$\\mathcal{G}$"


def results():
    """Tables of arrays that public functions and methods give back: NamedTuples and dataclasses with arrays in them."""
    chapters = [ps, *(getattr(ps, name) for name in ps.__all__ if isinstance(getattr(ps, name), ModuleType))]
    for chapter in chapters:
        for name in chapter.__all__:
            what = getattr(chapter, name)
            is_table = hasattr(what, "_fields") or hasattr(what, "__dataclass_fields__")
            if inspect.isclass(what) and is_table and re.search("rray", str(what.__annotations__)):
                yield pytest.param(what, id=f"{chapter.__name__}.{name}")


@pytest.mark.parametrize("result", list(results()))
def test_results_print_as_one_line_of_names_and_shapes(result):
    """Arrays by their shapes: the repr that Python makes for tuples and dataclasses prints every number."""
    assert Path(inspect.getsourcefile(inspect.unwrap(result.__repr__)) or "").is_relative_to(ROOT / "src")


def test_notebooks_show_formulas_and_models():
    A = ps.algebra()
    inverse = A.mass.inv
    assert inverse._repr_latex_() == r"$\displaystyle \mathcal{M}^{-1}$"
    assert inverse.derivation()._repr_latex_().startswith("$$\n\\begin{aligned}")
    algorithm = inverse.algorithm()._repr_latex_()
    assert algorithm.count(r"\\") == len(str(inverse.algorithm()).splitlines()) - 1 and "⁻" not in algorithm
    page = ps.load("puma560")._repr_html_()
    assert page.count("<line ") == 7 and "<td>joint6</td><td>Revolute</td>" in page
    assert "and 88 more" in ps.chain(100)._repr_html_()
    assert "<svg" not in ps.ModelBuilder("nothing").build()._repr_html_()
