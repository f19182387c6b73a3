"""Fields of orbit in scene files act as those of Python do, and are written as they are read."""

import numpy as np
import pytest

import phistar as ps
from phistar.errors import FileError, PhistarError
from phistar.plant.body_motions import BodyMotions

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
        ('kind = "drag"', 'kind = "dreg"', "one of orbital_gravity, drag, sunlight, .* was expected"),
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


THRUSTERS = """
format_version = 1
name = "craft"
gravity = [0.0, 0.0, 0.0]
law = "none"

[time]
duration = 0.1
step = 0.01

[[parts]]
name = "craft"
joint = "free"
mass = 100.0
inertia = [10.0, 20.0, 15.0]
spin = [0.01, -0.02, 0.015]
velocity = [0.01, 0.0, -0.005]

[[parts]]
name = "arm"
parent = "craft"
xyz = [0.5, 0.0, 0.0]
joint = "revolute"
mass = 10.0
com = [0.4, 0.0, 0.0]
inertia = [0.1, 0.5, 0.5]
motion = {effort = 10.0}

[[parts]]
name = "target"
joint = "free"
mass = 20.0
inertia = [1.0, 1.0, 1.0]
xyz = [0.0, -4.0, 0.0]

[[fields]]
kind = "thrusters"
thrusters = [
THRUSTERS]

[[fields]]
kind = "plume"
body = "target"
area = 0.2

[[fields]]
kind = "station_keeping"
period = 0.25
attitude_gains = [0.05, 0.4]
station_gains = [0.02, 0.3]
"""
WAYS = [
    ((0, 1, 0), (1, 0, 0)), ((0, -1, 0), (1, 0, 0)), ((0, 1, 0), (-1, 0, 0)), ((0, -1, 0), (-1, 0, 0)),
    ((0, 0, 1), (0, 1, 0)), ((0, 0, -1), (0, 1, 0)), ((0, 0, 1), (0, -1, 0)), ((0, 0, -1), (0, -1, 0)),
    ((1, 0, 0), (0, 0, 1)), ((-1, 0, 0), (0, 0, 1)), ((1, 0, 0), (0, 0, -1)), ((-1, 0, 0), (0, 0, -1)),
]  # fmt: skip
JET = '    {{body = "craft", position = {}, direction = {}, force = 2.0, least_time = 0.001}},\n'


def thrusting(tmp_path, ways=WAYS, changes=()):
    jets = "".join(JET.format(*([float(x) for x in row] for row in way)) for way in ways)
    text = THRUSTERS.replace("THRUSTERS", jets)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "craft.toml").write_text(text)
    return ps.Scene.load(tmp_path / "craft.toml")


def test_thrusters_stop_a_craft_and_the_target_in_their_plume_is_pushed_away(tmp_path):
    plant = thrusting(tmp_path).plant
    found = ps.simulate(plant, 60.0, step=0.01, control=lambda t, q, v: np.zeros(plant.nu))
    assert np.linalg.norm(found.v[0, :6]) > 0.02
    motions = [BodyMotions(plant.model, t, q, v) for t, q, v in zip(found.t, found.q, found.v, strict=True)]
    first, last = (plant.fields[-1].motion(motions[i]) for i in (0, -1))
    assert np.linalg.norm(last[2]) < 0.02 * np.linalg.norm(first[2])  # pulses below half the shortest are none
    assert np.linalg.norm(last[3]) < 0.2 * np.linalg.norm(first[3])
    assert np.linalg.norm(last[0] - first[0]) < 0.02
    assert found.v[-1, -2] < 0.0  # of the target along y


def test_station_keeping_spends_nothing_on_what_an_arm_does(tmp_path):
    """An arm that swings to and fro moves neither mass centre nor momentum: without gains on the turn no jet fires."""
    still = [("spin = [0.01, -0.02, 0.015]\n", ""), ("velocity = [0.01, 0.0, -0.005]\n", "")]
    plant = thrusting(tmp_path, changes=[*still, ("[0.05, 0.4]", "[0.0, 0.4]")]).plant
    found = ps.simulate(plant, 4.0, step=0.01, control=lambda t, q, v: np.array([2.0 * np.cos(3.0 * t)]))
    assert np.abs(found.v[:, 2]).max() > 0.05  # the base turns under it
    assert all(
        field.ends.max() == field.starts.max() for field in plant.fields if isinstance(field, ps.space.Thrusters)
    )
    np.testing.assert_allclose(ps.momentum(plant.model, found.q[-1], found.v[-1]), 0.0, atol=1e-9)


def test_a_run_does_not_depend_on_the_run_before(tmp_path):
    plant = thrusting(tmp_path).plant
    first, second = (ps.simulate(plant, 3.0, step=0.01, control=lambda t, q, v: np.zeros(1)) for _ in range(2))
    np.testing.assert_array_equal(first.v, second.v)


def test_thrusters_are_written_and_read_again(tmp_path):
    plant = thrusting(tmp_path).plant
    plant.save(tmp_path / "again.toml")
    again = ps.Plant.load(tmp_path / "again.toml")
    found, meant = (ps.simulate(each, 3.0, step=0.01, control=lambda t, q, v: np.zeros(1)) for each in (again, plant))
    np.testing.assert_array_equal(found.v, meant.v)
    assert np.abs(meant.v[-1] - meant.v[0]).max() > 1e-3


@pytest.mark.parametrize(
    ("ways", "changes", "sentence"),
    [
        (WAYS[:11], (), "cannot turn about -y alone|cannot turn about \\+y alone|cannot push along -z alone"),
        (WAYS, [('kind = "plume"\n', 'kind = "plume"\nof = "jets"\n')], "thrusters that stand before it"),
        (WAYS, [("period = 0.25", "period = 0.0")], "a period above 0 s"),
        (WAYS, [("[0.05, 0.4]", "[-0.05, 0.4]")], "gains of 0 or more"),
        (WAYS, [('body = "craft", position', 'body = "kraft", position')], "did you mean 'craft'"),
        (WAYS, [("area = 0.2", "area = -0.2")], "an area greater than 0"),
    ],
)
def test_thrusters_that_cannot_do_what_is_asked_are_refused_at_load(tmp_path, ways, changes, sentence):
    with pytest.raises(FileError, match=sentence):
        thrusting(tmp_path, ways, changes)


FOLLOWING = [
    ("spin = [0.01, -0.02, 0.015]\n", ""),
    ("station_gains = [0.02, 0.3]\n", 'station_gains = [0.0, 0.5]\nfollow = "target"\n'),
    ("xyz = [0.0, -4.0, 0.0]\n", "xyz = [0.0, -4.0, 0.0]\nvelocity = [0.02, 0.05, -0.03]\n"),
]


def test_a_craft_that_follows_a_body_takes_on_its_drift(tmp_path):
    plant = thrusting(tmp_path, changes=FOLLOWING).plant
    found = ps.simulate(plant, 15.0, step=0.01, control=lambda t, q, v: np.zeros(plant.nu))
    motions = [BodyMotions(plant.model, found.t[i], found.q[i], found.v[i]) for i in (0, -1)]
    drift = motions[0].twists[plant.model.body_indices["target"], 3:]
    apart = []
    for motion in motions:
        _, mass, momentum, _, _ = plant.fields[-1].motion(motion)
        apart.append(np.linalg.norm(momentum / mass - drift))
    assert apart[0] > 0.05 and apart[1] < 0.001  # pulses below half the shortest are none
    plant.save(tmp_path / "again.toml")
    assert ps.Scene.load(tmp_path / "again.toml").plant.fields[-1].follow == "target"


def test_a_craft_that_is_to_follow_a_part_of_itself_or_nothing_is_refused(tmp_path):
    for name, words in (("arm", "a part of it"), ("nobody", "nobody")):
        with pytest.raises(PhistarError, match=words):
            assert thrusting(tmp_path, changes=[(FOLLOWING[1][0], f'follow = "{name}"\n')]).plant
