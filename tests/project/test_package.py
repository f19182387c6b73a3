"""What a user installs: a pure, typed wheel, quick to import, whose public names all exist."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import phistar

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ["scipy", "casadi", "llvmlite", "typer", "rich", "pydantic", "mujoco", "hypothesis"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_is_pure_python(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    compiled = [name for name in zipfile.ZipFile(wheel).namelist() if Path(name).suffix in (".so", ".pyd", ".dylib")]
    assert compiled == []


def test_the_wheel_is_typed_licensed_and_holds_only_the_package(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "phistar/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"phistar"}


def test_the_wheel_holds_every_file_of_the_package(wheel):
    shipped = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "phistar"
    written = {f"phistar/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")}
    assert written <= shipped


def in_a_fresh_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_loads_nothing_heavy():
    loaded = in_a_fresh_python("import sys, phistar; print(*{name.split('.')[0] for name in sys.modules})").split()
    assert "phistar" in loaded
    assert sorted(set(loaded) & set(HEAVY)) == []


def test_import_opens_the_door_alone():
    """Rooms are loaded when a name of theirs is asked for; benchmarks/proofs.py prints what importing costs."""
    loaded = in_a_fresh_python("import sys, phistar; print(*sys.modules)").split()
    assert {name for name in loaded if name.startswith("phistar")} == {"phistar", "phistar.lazy"}


@pytest.mark.parametrize("name", phistar.__all__)
def test_every_public_name_resolves(name):
    assert getattr(phistar, name).__name__.removeprefix("phistar.") == name  # a chapter is a package


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        phistar.no_such_name  # noqa: B018
