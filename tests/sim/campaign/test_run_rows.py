"""A run as a row: summaries made flat, and the numbers that were drawn."""

import numpy as np
import pytest

from phistar.sim.campaign.campaign_plan import Plan
from phistar.sim.campaign.run_rows import of_chance, of_summary
from phistar.sim.scenes.scene import Scene
from tests.scenes import ball, little_scene

pytest.importorskip("coal")
BALLS = little_scene(
    ball(mass={"uniform": [20, 200]}, spin={"vector": [0.0, 0.1]}, xyz=[0.0, 0.0, {"normal": [1.0, 0.01]}]),
    surface={"friction": {"uniform": [0.3, 0.7]}},
)


def test_a_summary_becomes_flat():
    phases = [
        {"name": "wait", "start": 0.0, "end": 1.0, "reason": ""},
        {"name": "reach", "start": 1.0, "end": 3.5, "reason": "still"},
        {"name": "wait", "start": 3.5, "end": 4.0, "reason": "lost"},
    ]
    twist = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    row = of_summary(
        {"scene": "s", "seed": 3, "captured": False, "phases": phases, "final_relative_twist": twist}
        | {"sim_time": 4.0, "wall_time": 0.7, "min_distance": None, "audit": {"energy": 1e-9}, "names": ["a", "b"]},
        core_time=0.5,
    )
    assert row == {
        "captured": False,
        "switches": 2,
        "phase.wait": 1.5,
        "phase.reach": 2.5,
        "last_phase": "wait",
        "last_reason": "lost",
        **{f"final_relative_twist.{i}": value for i, value in enumerate(twist)},
        "sim_time": 4.0,
        "wall_time": 0.7,
        "min_distance": None,
        "audit.energy": 1e-9,
        "core_time": 0.5,
        "real_time_factor": 8.0,
    }


def test_what_is_drawn_is_what_the_run_has(tmp_path):
    (tmp_path / "a.toml").write_text(BALLS)
    scene = Scene.load(tmp_path / "a.toml")
    for run in range(3):
        seed = Plan(scene, 3, 1).seed_of(run)
        row, setting = of_chance(scene, np.random.default_rng(seed)), scene.setting(seed)
        q, v = setting.start
        assert set(row) == {
            "drawn.surface.friction",
            "drawn.parts.ball.mass",
            *(f"drawn.parts.ball.spin.{i}" for i in (0, 1, 2, "length")),
            "drawn.parts.ball.xyz.2",
        }
        assert row["drawn.parts.ball.mass"] == setting.model.bodies[0].inertia.mass
        assert row["drawn.parts.ball.xyz.2"] == q[2]
        assert [row[f"drawn.parts.ball.spin.{i}"] for i in range(3)] == v[:3].tolist()
        assert row["drawn.parts.ball.spin.length"] == pytest.approx(np.linalg.norm(v[:3]))
        assert row["drawn.surface.friction"] == setting.plant.contact_law.friction
