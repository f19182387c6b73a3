"""Write requirements.lock: the newest versions that pip finds for phistar with all its extras, as wheels.

Each supported Python is resolved in turn, bound to the versions found for the older ones, so that one version serves
all; a package that only some of them need carries a marker. No address is written.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
PYTHONS = ["3.11", "3.12", "3.13"]

HEADER = "# Exact versions of everything `make` installs, for Python 3.11 to 3.13. Written by `make lock`.\n"


def requirements(python: str) -> list[str]:
    """What pyproject.toml asks for on this Python, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(text) for group in project["optional-dependencies"].values() for text in group]
    asked += [Requirement(text) for text in project["dependencies"]]
    wanted = [r for r in asked if r.marker is None or r.marker.evaluate({"python_version": python})]
    return [str(r).split(";")[0] for r in wanted]


def resolve(python: str, pinned: dict[str, str], folder: Path) -> dict[str, str]:
    """Name → version of all that phistar needs on this Python; raises CalledProcessError when pip finds no answer."""
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version}\n" for name, version in pinned.items()))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    target = ["--python-version", python, "--only-binary", ":all:", "--target", str(folder)]
    command += [*target, "--constraint", str(constraints), *requirements(python)]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    names = {item["metadata"]["name"]: item["metadata"]["version"] for item in report["install"]}
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in names.items()}


def marker(name: str, found: dict[str, dict[str, str]]) -> str:
    """The Pythons that need the package, as a marker; nothing when all do."""
    needing = [python for python in PYTHONS if name in found[python]]
    if needing == PYTHONS:
        return ""
    return "; " + " or ".join(f'python_version == "{python}"' for python in needing)


def main() -> int:
    if f"{sys.version_info[0]}.{sys.version_info[1]}" != PYTHONS[0]:
        # pip reads the markers of dependencies for the Python it runs on; the oldest one needs the most.
        print(f"make lock needs Python {PYTHONS[0]}, the oldest one supported: make clean lock PYTHON=python3.11")
        return 1
    pinned: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as folder:
        for python in PYTHONS:
            print(f"Resolving for Python {python} ...", flush=True)
            try:
                found[python] = resolve(python, pinned, Path(folder))
            except subprocess.CalledProcessError:
                print(f"No set of wheels serves Python {python}; pip's message above says why.", file=sys.stderr)
                return 1
            pinned |= found[python]
    lines = [f"{name}=={version}{marker(name, found)}\n" for name, version in sorted(pinned.items())]
    LOCK.write_text(HEADER + "".join(lines))
    print(f"{LOCK.name}: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
