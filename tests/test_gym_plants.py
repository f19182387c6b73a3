"""Plants as Gymnasium environments: the checker's rules, the plant's own motion, many at once as one by one."""

import numpy as np
import pytest

import phistar as ps
from tests.plants import run

gymnasium = pytest.importorskip("gymnasium")


def arm():
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.8)))
    plant.add(ps.load("planar2"), "arm")
    plant.actuate("arm", "force", limits=4.0)
    return plant


def start(rng):
    return rng.uniform(-0.5, 0.5, 2), np.zeros(2)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checker_of_gymnasium_finds_nothing_wrong():
    from gymnasium.utils.env_checker import check_env

    from phistar.gym_plants import PlantEnv

    check_env(PlantEnv(arm(), start=start), skip_render_check=True)
    plant = arm()
    plant.sense("joint_position", "arm", name="encoders", noise=1e-3)
    check_env(PlantEnv(plant, start=start), skip_render_check=True)


def test_it_moves_as_the_plant_does_and_ends_as_told():
    from phistar.gym_plants import PlantEnv

    plant = arm()
    env = PlantEnv(
        plant, reward=lambda view: view.q[0], terminated=lambda view: view.t > 0.05, period=0.01, duration=1.0
    )
    seen, _ = env.reset(seed=3)
    alone = run(arm(), 5, command=[1.0, 0.5])
    np.testing.assert_array_equal(seen, np.concatenate([alone[0].q, alone[0].v]))
    seen, reward, ended, cut, info = env.step(np.array([1.0, 0.5]))
    np.testing.assert_array_equal(seen, np.concatenate([alone[-1].q, alone[-1].v]))
    assert reward == alone[-1].q[0] and not ended and not cut and info["t"] == 0.01
    assert [env.step(np.zeros(2))[2] for _ in range(5)] == [False, False, False, False, True]
    assert env.action_space.high.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_at_once_are_each_alone_and_begin_anew(threads):
    from phistar.gym_plants import PlantEnv, PlantVectorEnv

    envs = PlantVectorEnv(arm(), 3, reward=lambda view: view.q[:, 0], start=start, duration=0.06, threads=threads)
    seen, _ = envs.reset(seed=5)
    alone, actions = PlantEnv(arm(), start=lambda rng: (seen[1, :2], seen[1, 2:]), duration=0.06), np.ones((3, 2))
    alone.reset()
    for number in range(3):
        many, reward, ended, cut, _ = envs.step(actions)
        one = alone.step(actions[1])
        np.testing.assert_array_equal(many[1], one[0])
        assert reward.shape == (3,) and not ended.any() and cut.all() == (number == 2)
    again, reward, *_ = envs.step(actions)  # this step begins anew
    assert np.abs(again[:, 2:]).max() == 0.0 and reward.max() == 0.0
    envs.close()


def test_environments_that_cannot_be_are_refused():
    from phistar.gym_plants import PlantEnv, PlantVectorEnv

    passive = ps.Plant()
    passive.add(ps.load("planar2"), "arm")
    for make, match in (
        (lambda: PlantEnv(passive), "no actuators"),
        (lambda: PlantEnv(arm(), period=0.003), "whole steps"),
        (lambda: PlantVectorEnv(arm(), 0), "one at least"),
        (lambda: PlantEnv(arm()).step([1.0]), "finite numbers"),
    ):
        with pytest.raises(ps.PhistarError, match=match):
            make()


def test_many_at_once_refuse_fields_which_python_evaluates():
    from phistar.gym_plants import PlantVectorEnv

    class Wind:
        def wrenches(self, bodies):
            return np.ones((len(bodies.model.bodies), 6))

    plant = arm()
    plant.add_field(Wind())
    with pytest.raises(ps.PhistarError, match="has fields, which Python evaluates"):
        PlantVectorEnv(plant, 2, start=start)
