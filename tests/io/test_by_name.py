"""Robots by name: those of packages that are installed, never a download unless it is asked for."""

import sys
from functools import cache

import pytest

import phistar as ps
from phistar.io import by_name

URDF = '<robot name="{}"><link name="base"/></robot>'
MODULE = """
from ._cache import clone_to_cache as _clone_to_cache
REPOSITORY_PATH: str = _clone_to_cache(
    "some_robots",
    commit=None,
)
PACKAGE_PATH: str = REPOSITORY_PATH + "/arm_description"
URDF_PATH: str = PACKAGE_PATH + "/arm.urdf"
"""
CACHE = """
import os
ASKED = []
def clone_to_cache(name, commit=None):
    ASKED.append((name, os.environ.get("GIT_ALLOW_PROTOCOL")))
    place = os.path.join(os.environ["ROBOT_DESCRIPTIONS_CACHE"], name)
    if not os.path.isdir(place):
        os.makedirs(os.path.join(place, "arm_description"))
        with open(os.path.join(place, "arm_description", "arm.urdf"), "w") as file:
            file.write('<robot name="fetched"><link name="base"/></robot>')
    return place
"""


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """No package but those of the test, and nothing remembered of others."""
    by_name.installed_files.cache_clear()
    by_name.described_modules.cache_clear()
    monkeypatch.setattr(by_name, "_shares", lambda: iter([tmp_path / "share" / "example-robot-data" / "robots"]))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    by_name.installed_files.cache_clear()
    by_name.described_modules.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        del sys.modules[name]


def installed(shelf, *paths):
    for path in paths:
        place = shelf / "share" / "example-robot-data" / "robots" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(URDF.format(place.stem))


def described(shelf, monkeypatch):
    package = shelf / "modules" / "robot_descriptions"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_cache.py").write_text(CACHE)
    (package / "arm_description.py").write_text(MODULE)
    monkeypatch.syspath_prepend(shelf / "modules")


def test_a_robot_of_example_robot_data_is_found_by_its_name(shelf):
    installed(shelf, "ur_description/urdf/ur5_robot.urdf", "ur_description/urdf/ur5_gripper.urdf")
    installed(shelf, "anymal_b_simple_description/robots/anymal.urdf", "solo_description/robots/solo12.urdf")
    assert ps.load("ur5").name == ps.load("ur5_robot").name == "ur5_robot"
    assert ps.load("anymal").name == ps.load("anymal_b").name == "anymal"
    with pytest.raises(ps.UnknownNameError, match="no robot 'ur'; did you mean ur5"):
        ps.load("ur")
    assert ps.load("solo12", floating=True).nv == 6


def test_a_name_that_nobody_knows_is_refused_with_the_nearest_and_the_way_to_more(shelf, monkeypatch):
    monkeypatch.setattr(by_name, "described_modules", cache(dict))
    with pytest.raises(ps.UnknownNameError, match=r"no robot 'ur5'.*pip install example-robot-data"):
        ps.load("ur5")
    with pytest.raises(ps.UnknownNameError, match="did you mean puma560"):
        ps.load("puma56")


def test_robot_descriptions_is_asked_for_what_it_has_and_fetches_only_on_request(shelf, monkeypatch):
    described(shelf, monkeypatch)
    with pytest.raises(ps.FileError, match=r"not on this machine; ps\.load\('arm', download=True\)"):
        ps.load("arm")
    assert "robot_descriptions.arm_description" not in sys.modules and not (shelf / "cache").exists()
    assert ps.load("arm", download=True).name == "fetched"
    del sys.modules["robot_descriptions.arm_description"]
    assert ps.load("arm").name == ps.load("arm_description").name == "fetched"
    asked = sys.modules["robot_descriptions._cache"].ASKED
    assert asked[0] == ("some_robots", None) and asked[1] == ("some_robots", "file")  # git kept from the network


def test_a_bundled_robot_and_a_file_come_first(shelf):
    installed(shelf, "puma_description/urdf/puma560.urdf", "x_description/urdf/mine.urdf")
    assert ps.load("puma560").nv == 6
    (shelf / "mine").write_text(URDF.format("of this folder"))
    assert ps.load("mine").name == "of this folder"


def test_info_says_how_much_of_a_robot_stands_fixed_to_the_world(tmp_path, capsys):
    from phistar.cli.app import run

    inertial = '<inertial><mass value="{}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{inertial.format(mass)}</link>' for name, mass in (("trunk", 13), ("leg", 2)))
    joint = '<joint name="hip" type="continuous"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/></joint>'
    (tmp_path / "dog.urdf").write_text(f'<robot name="dog">{links}{joint}</robot>')
    assert run(["info", str(tmp_path / "dog.urdf")]) == 0
    assert "13 kg of it stand fixed to the world; --floating lets the base move." in capsys.readouterr().out
    assert run(["info", str(tmp_path / "dog.urdf"), "--floating"]) == 0
    assert "stand fixed" not in capsys.readouterr().out
