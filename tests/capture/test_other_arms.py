"""Other arms and other targets than the bundled scene's: whole captures, judged by true states."""

import pytest

import phistar as ps
from phistar.sim.scenes.toml import text_of
from tests.capture.pairs import content

pytest.importorskip("coal")


def captured(tmp_path, arm, target, seed=0, **satellite):
    path = tmp_path / f"{arm}-{target}.toml"
    path.write_text(text_of(content(arm, target, tmp_path, **satellite)), "utf-8")
    summary = ps.Scene.load(path).run(seed).summary
    assert summary["captured"], summary["missing"]
    assert summary["peak_force"] < 60.0 and summary["min_distance"] > 0.0


def test_a_cylinder_is_taken_by_its_side_or_its_ends(tmp_path):
    captured(tmp_path, "puma", "cylinder")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["prism", "panels", "ball"])
def test_other_targets_are_captured(tmp_path, target):
    captured(tmp_path, "puma", target)


@pytest.mark.slow
def test_a_mass_centre_off_the_middle_is_found_and_the_body_captured(tmp_path):
    captured(tmp_path, "puma", "box", com=[0.04, -0.05, 0.03])


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["ur5", "panda"])
@pytest.mark.parametrize("target", ["box", "cylinder", "prism"])
def test_other_arms_capture(tmp_path, arm, target):
    captured(tmp_path, arm, target)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 105, 111, 212])
def test_twenty_degrees_per_second_are_captured(tmp_path, seed):
    captured(tmp_path, "puma", "box", seed, spin={"vector": [0.349, 0.349]})
