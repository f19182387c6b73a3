"""The lock: exact versions, of everything asked for, from nowhere in particular."""

import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = [Requirement(line) for line in LOCK.splitlines() if not line.startswith("#")]
VERSIONS = {canonicalize_name(pin.name): pin for pin in PINS}


def test_the_lock_names_no_address():
    assert re.search(r"://|^\s*-|\s@\s", LOCK, re.MULTILINE) is None


def test_every_line_pins_one_version():
    for pin in PINS:
        assert [specifier.operator for specifier in pin.specifier] == ["=="], str(pin)


def test_every_requirement_of_the_project_is_pinned_to_a_version_it_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + [text for group in project["optional-dependencies"].values() for text in group]
    for requirement in map(Requirement, asked):
        pin = VERSIONS[canonicalize_name(requirement.name)]
        (version,) = [specifier.version for specifier in pin.specifier]
        assert requirement.specifier.contains(version), f"{requirement} but the lock has {version}"


def test_pyproject_and_lock_are_what_is_installed():
    """In the project's own environment nothing differs from the lock (elsewhere there is nothing to compare)."""
    for distribution in distributions():
        pin = VERSIONS.get(canonicalize_name(distribution.name))
        if pin is not None and (ROOT / ".venv") in Path(str(distribution.locate_file(""))).parents:
            assert pin.specifier.contains(distribution.version), f"{distribution.name} {distribution.version}"
