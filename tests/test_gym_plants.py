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
        (lambda: PlantVectorEnv(arm(), 0), "one environment of each"),
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


def heavier(factor, friction):
    """The arm with other masses, on a floor of other friction."""
    model = ps.load("planar2")
    own = {body.name: body.inertia for body in model.bodies}
    plant = ps.Plant()
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.8)))
    made = {name: ps.Inertia(factor * i.mass, i.com, factor * i.tensor) for name, i in own.items()}
    plant.add(model.replace(inertias=made), "arm")
    plant.default_contact(ps.Surface(friction=friction))
    plant.actuate("arm", "force", limits=4.0)
    return plant


@pytest.mark.parametrize("threads", [1, 2])
def test_environments_of_randomized_plants_each_move_as_their_own(threads):
    from phistar.gym_plants import PlantVectorEnv

    numbers = [(1.0, 0.3), (1.4, 0.6), (0.7, 0.9)]
    plants = [heavier(*each) for each in numbers]
    envs = PlantVectorEnv(plants, 7, start=start, period=0.02, threads=threads)
    seen, _ = envs.reset(seed=2)
    actions = np.linspace(-1.0, 1.0, 14).reshape(7, 2)
    after = envs.step(actions)[0]
    assert envs.variant.tolist() == [0, 0, 1, 1, 2, 2, 2]
    for k, own in enumerate(envs.variant):
        alone = PlantVectorEnv(
            heavier(*numbers[own]), 1, start=lambda rng, k=k: (seen[k, :2], seen[k, 2:]), period=0.02
        )
        np.testing.assert_allclose(after[k], alone.step(actions[k : k + 1])[0][0], rtol=1e-9, atol=1e-12)
    assert len({tuple(np.round(row, 6)) for row in after}) == 7
    envs.close()


def test_plants_that_are_not_alike_and_vectors_too_small_are_refused():
    from phistar.gym_plants import PlantVectorEnv

    other = ps.Plant()
    other.add(ps.load("puma560"), "arm")
    other.actuate("arm", "force")
    with pytest.raises(ps.ShapeError, match="alike but for their numbers"):
        PlantVectorEnv([arm(), other], 4)
    with pytest.raises(ps.ShapeError, match="one environment of each"):
        PlantVectorEnv([arm(), arm()], 1)
