"""Seeds of runs, and what makes two campaigns the same one."""

import numpy as np
import pytest

from phistar.errors import PhistarError
from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.scenes.scene import Scene
from tests.scenes import little_scene

pytest.importorskip("coal")
BALL = little_scene()
ROBOT = "format_version = 1\n[[parts]]\nname = 'arm'\nrobot = 'arm.urdf'\n"
ARM = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint></robot>"""


def scene(path, text=BALL):
    path.write_text(text)
    return Scene.load(path)


def test_the_seed_of_a_run_is_of_its_child_and_stays_when_there_are_more_runs(tmp_path):
    ball = scene(tmp_path / "a.toml")
    few, many = Plan(ball, 5, 7), Plan(ball, 500, 7)
    assert [few.seed_of(i) for i in range(5)] == [many.seed_of(i) for i in range(5)]
    child = np.random.SeedSequence(7).spawn(4)[3]
    assert few.seed_of(3) == int(child.generate_state(1, np.uint64)[0]) >> 11
    seeds = {many.seed_of(i) for i in range(500)}
    assert len(seeds) == 500 and max(seeds) < 2**53
    assert Plan(ball, 5, 8).seed_of(0) != few.seed_of(0)


def test_comments_and_place_do_not_matter_but_numbers_do(tmp_path):
    first = Plan(scene(tmp_path / "ball.toml", "name = 'ball'\n" + BALL), 1).identity
    (tmp_path / "other").mkdir()
    moved = scene(tmp_path / "other" / "b.toml", "# a comment\nname = 'ball'\n" + BALL)
    assert Plan(moved, 9).identity == first
    changed = scene(tmp_path / "ball.toml", "name = 'ball'\n" + BALL.replace("mass = 1.0", "mass = 2.0"))
    assert Plan(changed, 1).identity != first


def test_a_changed_robot_file_makes_another_campaign(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.format(mass=1))
    first = Plan(scene(tmp_path / "a.toml", ROBOT), 1).identity
    (tmp_path / "arm.urdf").write_text(ARM.format(mass=2))
    assert Plan(scene(tmp_path / "a.toml", ROBOT), 1).identity != first


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"runs": 0}, "runs must be a whole number from 1 on; it is 0"),
        ({"runs": 2.5}, "runs must be a whole number"),
        ({"runs": True}, "runs must be a whole number"),
        ({"runs": 1, "seed": -1}, "seed must be a whole number from 0 on"),
        ({"runs": 1, "keep": "some"}, "keep must be one of failed, all, none"),
    ],
)
def test_plans_that_cannot_be_are_refused(tmp_path, arguments, sentence):
    with pytest.raises(PhistarError, match=sentence):
        Plan(scene(tmp_path / "a.toml"), **arguments)
