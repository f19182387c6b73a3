"""A Panda whose fingers a mimic joint couples grips a box: it holds to Coulomb's bound, and nothing creeps."""

import numpy as np
import pytest

import phistar as ps
from phistar.constraints import columns as c
from tests.plants import body

HOME = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.785, 0.02, 0.02])  # the hand points down
GRIP, MASS, STEP = 20.0, 0.5, 0.004
CRITICAL = MASS * 9.81 / GRIP  # the coupling shares the force out to two fingers, each of which carries half the box


def gripper(friction):
    robot, material = ps.load("panda"), ps.Material(friction=friction)
    plant = ps.Plant()
    plant.add(robot, "panda", collides=False)
    for side, finger in ((1, "left"), (-1, "right")):
        pad = ps.Pose(xyz=(0, 0.005 * side, 0.045))
        plant.add_shape(ps.Box([0.02, 0.01, 0.02]), f"panda/panda_{finger}finger", at=pad, material=material)
    tip = ps.forward_kinematics(robot, HOME, "panda_leftfinger")[:3, 3]
    box = body(ps.Box([0.03, 0.0399, 0.03]), MASS, moment=1.3e-4, name="box")
    plant.add(box, "box", at=ps.Pose(xyz=(tip[0], 0, tip[2] - 0.045)), material=material)
    arm = [f"panda_joint{i}" for i in range(1, 8)]
    plant.actuate("panda", "position", arm, stiffness=2e4, damping=400.0)
    plant.actuate("panda", "force", ["panda_finger_joint1"])
    return plant


def places(plant, seconds, lift):
    """The box as the finger sees it, (n, 3), and its height, every 20 ms; the elbow turns by `lift` within 5 s."""
    q = plant.state().q.copy()
    q[:9] = HOME
    state, seen, heights = plant.state(q), [], []
    for i in range(round(seconds / STEP)):
        x = np.clip((i * STEP - 0.5) / 5.0, 0.0, 1.0)
        goal = HOME[:7] + lift * x**3 * (10 - 15 * x + 6 * x * x) * (np.arange(7) == 3)
        state = plant.step(state, [*goal, -GRIP], STEP)
        assert plant.session.engine.counts[c.FAILED] == 0
        if i % 5 == 0:
            hand, box = (ps.forward_kinematics(plant.model, state.q, x) for x in ("panda/panda_leftfinger", "box/box"))
            seen.append(hand[:3, :3].T @ (box[:3, 3] - hand[:3, 3]))
            heights.append(box[2, 3])
    assert abs(state.q[7] - state.q[8]) < 1e-7
    return np.array(seen), np.array(heights)


def test_a_box_that_is_lifted_slips_less_than_a_tenth_of_a_millimetre_in_ten_seconds():
    seen, heights = places(gripper(0.8), 10.0, 0.4)
    assert heights[-1] - heights[25] > 0.15
    assert np.ptp(seen[25:], axis=0).max() < 1e-4


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_it_holds_from_coulombs_bound_on(factor):
    seen, _ = places(gripper(factor * CRITICAL), 1.5, 0.0)
    slip = np.abs(seen[-1] - seen[25]).max()
    assert slip < 1e-8 if factor > 1.0 else slip > 1e-3
