"""States of a plant that were made by hand: they are of the plant, or refused with a sentence."""

import numpy as np
import pytest

import phistar as ps
from phistar.plant.session import PlantState


def plant_of_a_ball(shapes=1):
    b = ps.ModelBuilder("ball")
    b.body("ball", parent="world", joint=ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), 0.01 * np.eye(3)))
    plant = ps.Plant()
    plant.add(b.build(), "ball")
    for _ in range(shapes):
        plant.add_shape(ps.Sphere(0.1), "ball/ball")
    plant.add_shape(ps.Plane())
    return plant


PLANT = plant_of_a_ball()
Q, V = np.array([0, 0, 0.09, 0, 0, 0, 1.0]), np.zeros(6)
LYING = PLANT.step(PLANT.state(Q))


def with_memory(number, array):
    return PlantState(Q, V, tuple(array if i == number else x for i, x in enumerate(LYING.memory)))


WRONG = {
    "a quaternion of length two": (PlantState(2 * Q, V), r"quaternion.*model\.normalized"),
    "a quaternion of length zero": (PlantState(0 * Q, V), "quaternion"),
    "too few coordinates": (PlantState(Q[:6], V), "the state's q has shape"),
    "too many rates": (PlantState(Q, np.zeros(7)), "the state's v has shape"),
    "a batch": (PlantState(np.stack([Q, Q]), V), "one state"),
    "words": (PlantState("q", V), "the state's q"),
    "NaN": (PlantState(Q, V + np.nan), "no finite numbers"),
    "a pair": ((Q, V), "plant.state"),
    "a shape that is not there": (with_memory(0, LYING.memory[0] + 5), "not of this plant"),
    "contacts of other length": (with_memory(1, LYING.memory[1][:, :3]), "not of this plant"),
    "rows of others": (with_memory(2, np.zeros(50)), "not of this plant"),
    "less memory": (PlantState(Q, V, LYING.memory[:2]), "not of this plant"),
}


@pytest.mark.parametrize("state, told", WRONG.values(), ids=WRONG)
def test_states_that_are_none_of_the_plants_are_refused_with_a_sentence(state, told):
    assert len(LYING.memory[0])  # the ball lies on the plane
    with pytest.raises(ps.PhistarError, match=told):
        PLANT.step(state)
    if isinstance(state, PlantState) and np.shape(state.q) == Q.shape:
        with pytest.raises(ps.PhistarError, match=told):
            PLANT.rollout([state], steps=2)


def test_what_a_step_gave_is_not_changed_in_place_and_goes_on_elsewhere():
    with pytest.raises(ValueError, match="read-only"):
        LYING.q[2] = 1.0
    lifted = PlantState(LYING.q + np.eye(7)[2], LYING.v)
    assert PLANT.step(lifted).q[2] == pytest.approx(1.09, abs=1e-3)
    np.testing.assert_array_equal(plant_of_a_ball().step(LYING).q, PLANT.step(LYING).q)
