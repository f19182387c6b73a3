"""What a user installs, in a clean environment of every Python that is here: wheel and sdist, without extras."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DOORS = Path(__file__).with_name("core_doors.py")
VERSIONS = ("3.11", "3.12", "3.13")
NO_INDEX = ("No matching distribution found for numpy", "NewConnectionError", "NameResolutionError")


def interpreter(version):
    """A Python of that version: on the path, or among pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    for path in filter(None, named):
        asked = subprocess.run([path, "-c", "import sys, venv; print(*sys.version_info[:2], sep='.')"],
                               capture_output=True, text=True)  # fmt: skip
        if asked.stdout.strip() == version:  # pyenv's shims of versions that are not chosen fail
            return path
    return None


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": source}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_core_alone_works_and_every_missing_extra_is_named(version, kind, built, tmp_path):
    if kind == "sdist" and version != VERSIONS[0]:
        pytest.skip("the sdist makes the same wheel on every Python; 3.11 tries it")
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    subprocess.run([python, "-m", "venv", str(tmp_path / "env")], check=True)
    inside = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [str(inside), "-m", "pip", "install", "-q", str(built[kind])]
    installed = subprocess.run(install, capture_output=True, text=True, env=bare)
    if any(sign in installed.stderr for sign in NO_INDEX):
        pytest.skip("the package index does not answer")
    assert installed.returncode == 0, installed.stderr
    ran = subprocess.run([str(inside), str(DOORS)], capture_output=True, text=True, env=bare, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stdout.splitlines() if not line.endswith(": ok")] == []
    assert len(ran.stdout.splitlines()) > 30
