"""Fields of orbit in scene files act as those of Python do, and are written as they are read."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError

pytest.importorskip("pydantic")
FILE = """
format_version = 1
name = "craft"
gravity = [0.0, 0.0, 0.0]

[time]
duration = 0.1
step = 0.01

[[parts]]
name = "craft"
joint = "free"
mass = 100.0
inertia = [10.0, 20.0, 15.0]
shapes = [{box = [1.0, 1.0, 2.0]}]
rpy = [0.3, 0.2, 0.1]

[[fields]]
kind = "orbital_gravity"
altitude = 400e3
inclination = 0.9
oblate = true

[[fields]]
kind = "drag"
altitude = 400e3
inclination = 0.9
density = 3e-12
facets = [{body = "craft", area = 2.0, normal = [0.0, 1.0, 0.0], center = [0.0, 0.5, 0.3]}]

[[fields]]
kind = "sunlight"
sun = [1.0, 0.0, 0.0]
facets = [{body = "craft", area = 2.0, normal = [1.0, 0.0, 0.0], specular = 0.3}]
"""


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "craft.toml").write_text(FILE)
    return ps.Scene.load(tmp_path / "craft.toml")


def in_python():
    plant = ps.Plant(gravity=(0, 0, 0), name="craft")
    shape = ps.Geometry(ps.Box((1, 1, 2)), role="collision")
    plant.add_body(
        "craft", shape, ps.Inertia(100.0, (0, 0, 0), np.diag([10.0, 20.0, 15.0])), at=ps.Pose(rpy=(0.3, 0.2, 0.1))
    )
    orbit = ps.space.Orbit.circular(altitude=400e3, inclination=0.9)
    plant.add_field(ps.space.OrbitalGravity(orbit, oblate=True))
    plate = ps.space.Facet("craft", 2.0, (0.0, 1.0, 0.0), (0.0, 0.5, 0.3))
    plant.add_field(ps.space.Drag(plant.model, [plate], orbit, 3e-12))
    mirror = ps.space.Facet("craft", 2.0, (1.0, 0.0, 0.0), specular=0.3)
    plant.add_field(ps.space.SolarPressure(plant.model, [mirror], (1.0, 0.0, 0.0)))
    return plant


def test_a_file_acts_as_the_same_plant_in_python(scene):
    """Every field turns or pushes the craft; the file's run is Python's to the last bit."""
    found = ps.simulate(scene.plant, 20.0, step=0.05)
    assert np.array_equal(found.v, ps.simulate(in_python(), 20.0, step=0.05).v)
    assert np.abs(found.v[-1]).max() > 1e-6
    assert scene.run(0).v.shape[1] == 6


def test_a_plant_with_fields_is_written_and_read_again(scene, tmp_path):
    plant = in_python()
    plant.save(tmp_path / "again.toml")
    again = ps.Plant.load(tmp_path / "again.toml")
    found, meant = (ps.simulate(each, 5.0, step=0.05).v for each in (again, plant))
    assert np.abs(found - meant).max() < 1e-12 * np.abs(meant).max()  # the start is a quaternion made anew


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('kind = "drag"', 'kind = "dreg"', "one of orbital_gravity, drag, sunlight was expected"),
        ("altitude = 400e3", "", "an altitude, or a position and a velocity"),
        ('body = "craft", area', 'body = "kraft", area', "did you mean 'craft'"),
        ("oblate = true", "oblat = true", "oblat"),
        ("sun = [1.0,", "sun = [2.0,", "length one"),
        ("density = 3e-12", "density = -1.0", "0 kg/m³ or more"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, old, new, sentence):
    (tmp_path / "craft.toml").write_text(FILE.replace(old, new, 1))
    with pytest.raises(FileError, match=sentence) as found:
        ps.Scene.load(tmp_path / "craft.toml")
    assert "[[fields]]" in str(found.value)
