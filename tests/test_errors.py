"""Refusals are sentences that a person can read, however long the names in them were."""

import inspect
import pickle

import numpy as np
import pytest

import phistar as ps
from phistar.errors import PhistarError

LONG = 5000 * "x"
SPACED = 2500 * "x "


@pytest.mark.parametrize("name", [LONG, SPACED], ids=["one word", "many words"])
def test_a_refusal_never_echoes_a_name_of_thousands_of_characters(name, tmp_path):
    model = ps.chain(2)
    scene = tmp_path / "scene.toml"
    scene.write_text(f'format_version = 1\n[[parts]]\nname = "a"\nrobot = "{name}"\n')
    for refused in (
        lambda: ps.load(name),
        lambda: ps.load(tmp_path / f"{name}.urdf"),
        lambda: model.frame(name),
        lambda: ps.Scene.load(scene),
        lambda: ps.Scene.load(name),
        lambda: ps.from_dh([(0, 0, 0, 0)], convention=name),
        lambda: ps.Mesh(f"{name}.stl").read(),
    ):
        with pytest.raises(PhistarError) as refusal:
            refused()
        assert 20 < len(str(refusal.value)) < 2100
        assert str(pickle.loads(pickle.dumps(refusal.value))) == str(refusal.value)


def test_a_short_sentence_stands_as_it_was_written():
    assert str(PhistarError("It has 2 rows; 3 were expected.")) == "It has 2 rows; 3 were expected."
    assert len(str(PhistarError(LONG))) == 251


def robots_first():
    """Public functions and laws whose first argument is a robot that they need."""
    for room in (ps, ps.control, ps.freeflying, ps.estimation):
        for name in dir(room):
            found = None if name.startswith("_") else getattr(room, name)
            if not callable(found) or name in (
                "Trajectory",
                "RobotEstimate",
                "algebra",
                "task_space",
                "effective_mass",
            ):
                continue
            try:
                given = list(inspect.signature(found).parameters.values())
            except (TypeError, ValueError):
                continue
            if given and given[0].name == "model":
                yield found, given


def test_a_robot_in_another_place_than_the_first_is_told_of():
    model, q, count = ps.load("puma560"), np.zeros(6), 0
    for function, given in robots_first():
        needed = [each for each in given if each.default is each.empty]
        by_name = {each.name: 0 for each in needed if each.kind is each.KEYWORD_ONLY}
        places = [each for each in needed if each.kind is each.POSITIONAL_OR_KEYWORD]
        with pytest.raises(PhistarError, match=r"robot first|a Model|A model is needed"):
            function(*[q, model, *[q] * 10][: len(places)], **by_name)
        count += 1
    assert count > 80
