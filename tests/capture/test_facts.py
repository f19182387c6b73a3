"""The facts that rules go by: the compiled numbers against what their names say, hand by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from phistar.capture.facts import OF_ALL, Facts, fact_names
from phistar.capture.paths import grip_poses_in
from phistar.capture.phase_law import PER_HAND
from phistar.control.supervisor import State
from phistar.spatial.rotations import exp


def hands(*fingers, closing=False):
    made = [SimpleNamespace(name=f"hand{i}", fingers=("",) * count, jaw=closing) for i, count in enumerate(fingers)]
    return SimpleNamespace(hands=made)


def drawn(arms, random, phase):
    """What one sample is made of: memory, measured numbers, tip forces and grips."""
    count = len(arms.hands)
    rows = [np.concatenate([exp(random.normal(size=3)).ravel(), random.normal(size=3)]) for _ in range(count + 1)]
    memory = SimpleNamespace(
        plan=SimpleNamespace(start=7.5, shares=random.uniform(0.3, 1.0, count)),
        decision=State(phase, 2.0, (), ()),
        touching=tuple(tuple((random.random(len(hand.fingers)) < 0.5).tolist()) for hand in arms.hands),
        doubt=random.random(2),
        surprise=1.2,
        lasting=4.0,
        squeeze=30.0,
        pace=SimpleNamespace(squeeze=40.0),
        attempts=2,
        object=np.concatenate([rows[0], random.normal(size=6)]),
        held=random.normal(size=(count, 4, 4)),
        twist=random.normal(size=6),
    )
    measured = random.random(len(PER_HAND) * count + 2)
    tips = [random.uniform(0.0, 20.0, len(hand.fingers)) for hand in arms.hands]
    return memory, measured, tips, np.concatenate(rows[1:])


@pytest.mark.parametrize("phase", ["hold", "contact"])
@pytest.mark.parametrize("arms", [hands(3, 3), hands(2, closing=True), hands(3, 4, 1)])
def test_the_facts_are_what_their_names_say(arms, phase):
    memory, measured, tips, grips = drawn(arms, np.random.default_rng(5), phase)
    found = Facts(arms).of(memory, 3.0, measured, tips, grips)
    assert tuple(found) == fact_names(arms)
    own = {name: measured[i : len(PER_HAND) * len(arms.hands) : len(PER_HAND)] for i, name in enumerate(PER_HAND)}
    on, counts = [sum(each) for each in memory.touching], [len(hand.fingers) for hand in arms.hands]
    pushes = [tip.min() if hand.jaw else push for hand, tip, push in zip(arms.hands, tips, own["push"], strict=True)]
    moved = grip_poses_in(memory.object, grips)[:, :3, 3] - memory.held[:, :3, 3]
    wanted = {
        **{name: own[name].max() for name in ("position_error", "angle_error", "speed")},
        "touching": sum(on),
        "not_touching": sum(counts) - sum(on),
        "hands_touching": sum(each > 0 for each in on),
        "hands_lost": sum(each < max(count - 1, 1) for each, count in zip(on, counts, strict=True)),
        "least_push": (np.array(pushes) / memory.plan.shares).min(),
        "greatest_load": (own["push"] + own["side"]).max(),
        "greatest_tip": np.concatenate(tips).max(),
        "slip": np.linalg.norm(moved, axis=-1).max() if phase == "hold" else 0.0,
        "planned": 1.0,
        "attempts": 2.0,
        "time_to_start": 4.5,
        "turn_doubt": memory.doubt[0],
        "place_doubt": memory.doubt[1],
        "surprise": 1.2,
        "path_left": 3.0,
        "object_speed": np.linalg.norm(memory.twist[3:]),
        "object_spin": np.linalg.norm(memory.twist[:3]),
        "squeeze": 30.0,
        "squeeze_goal": 40.0,
    }
    assert {name: found[name] for name in OF_ALL} == pytest.approx(wanted, rel=1e-13, abs=1e-15)
    assert [found[f"{hand.name}_touching"] for hand in arms.hands] == on
    assert [found[f"hand0_tip{i}"] for i in range(1, counts[0] + 1)] == tips[0].tolist()
