"""A scene as a Gymnasium environment: the checker's rules, the same motion as a run, rewards and ends of one's own."""

import numpy as np
import pytest

from phistar.control.sampled import Command
from phistar.errors import PhistarError
from phistar.sim.scenes.scene import Scene
from tests.scenes import FLOOR, ball, little_scene

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("coal")
ARM = {"name": "arm", "robot": "puma560", "q": [0.1, 0.5, 0.2, {"uniform": [-0.5, 0.5]}, 0.3, 0.0]}
SENSORS = [
    {"name": "joints", "kind": "joints", "part": "arm", "noise": 0.001},
    {"name": "ball", "kind": "pose", "of": "ball", "delay": 0.02},
]


def written(path, *parts, heights=(0.2, 0.4), **tables):
    """An arm and a ball without weight."""
    parts = (*parts, ARM, ball(xyz=[3.0, 0.0, {"uniform": heights}]))
    limit, time = {"torque_limit": 40.0}, {"duration": 0.1, "sample": 0.01, "step": 0.005}
    path.write_text(little_scene(*parts, gravity=[0.0, 0.0, 0.0], time=time, controller=limit, **tables))
    return path


@pytest.fixture
def path(tmp_path):
    return written(tmp_path / "arm.toml", sensors=SENSORS)


def environment(path, **options):
    from phistar.gym import SceneEnv

    return SceneEnv(path, period=0.01, **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_checker_of_gymnasium_finds_nothing_wrong(path):
    from gymnasium.utils.env_checker import check_env

    check_env(environment(path), skip_render_check=True)


def test_it_moves_as_a_run_does_and_senses_what_a_controller_would(path):
    class Push:
        period = 0.01

        def start(self):
            return ()

        def command(self, memory, t, sensed):
            heard.append(sensed)
            tau = np.zeros(12)
            tau[:6] = 3.0 * np.sin(50.0 * t)
            return memory, Command(tau)

    env, heard = environment(path), []
    seen, info = env.reset(seed=3)
    run = Scene.load(path).run(info["seed"], control=Push())
    for sample in range(10):
        assert all((seen[name] == heard[sample][name]).all() for name in seen)
        seen, *_, info = env.step(np.full(6, 3.0 * np.sin(50.0 * info["t"])))
    assert (env._moment.state.q == run.arrays["q"][-1]).all()


def test_the_episode_so_far_is_a_trajectory(path):
    env = environment(path)
    env.reset(seed=3)
    for _ in range(4):
        env.step(np.full(6, 2.0))
    run = env.trajectory
    np.testing.assert_allclose(run.t, 0.01 * np.arange(5), atol=1e-12)
    np.testing.assert_array_equal(run.q[-1], env._moment.state.q)
    np.testing.assert_array_equal(run["arm"].tau[1:], 2.0)
    env.reset()
    assert len(env.trajectory) == 1


def test_the_same_seed_gives_the_same_episode_and_the_next_reset_another(path):
    env = environment(path)
    first, told = env.reset(seed=3)
    second, other = env.reset()
    again, same = env.reset(seed=3)
    assert told == same and told["seed"] != other["seed"]
    assert (first["joints"] == again["joints"]).all() and (first["joints"] != second["joints"]).any()


def test_rewards_and_ends_are_functions_of_what_happened(path):
    views = []

    def reward(view):
        views.append(view)
        return -float(view.t)

    env = environment(path, reward=reward, terminated=lambda view: view.t > 0.045)
    env.reset(seed=0)
    told = [env.step(np.full(6, 60.0))[1:3] for _ in range(5)]
    assert [round(-reward, 3) for reward, _ in told] == [0.01, 0.02, 0.03, 0.04, 0.05]
    assert [ended for _, ended in told] == [False] * 4 + [True]
    assert views[0].tau.tolist() == [40.0] * 6 + [0.0] * 6
    assert views[0].q.shape == (13,) and views[0].setting.model.nv == 12


def test_the_duration_truncates_and_time_stands_still_after_it(path):
    env = environment(path)
    env.reset(seed=0)
    over = [env.step(np.zeros(6))[3] for _ in range(10)]
    assert over == [False] * 9 + [True]
    assert env.step(np.zeros(6))[4]["t"] == pytest.approx(0.1)


def test_a_run_that_cannot_go_on_ends_with_its_reason(path):
    env = environment(
        path, act=lambda action, t, sensed: np.full(12, np.nan), action_space=gymnasium.spaces.Discrete(1)
    )
    env.reset(seed=0)
    _, _, ended, over, info = env.step(0)
    assert ended and not over and "joint forces are finite numbers" in info["reason"]


def test_an_action_may_be_the_reference_of_a_law(path):
    def towards(action, t, sensed):
        tau = np.zeros(12)
        tau[:6] = 200.0 * (action - sensed["joints"][:6]) - 20.0 * sensed["joints"][6:]
        return tau

    env = environment(path, act=towards, action_space=gymnasium.spaces.Box(-3.0, 3.0, (6,)))
    seen, _ = env.reset(seed=1)
    start = seen["joints"][:6]
    for _ in range(10):
        seen, *_ = env.step(start + 0.5)
    assert ((seen["joints"] - 0.01)[3:6] > start[3:]).all()  # three deviations of the noise and more
    with pytest.raises(PhistarError, match="needs both act and the action_space"):
        environment(path, act=towards)


def test_without_sensors_the_state_is_seen(tmp_path):
    seen, _ = environment(written(tmp_path / "bare.toml")).reset(seed=0)
    assert seen["q"].shape == (13,) and seen["v"].shape == (12,)


def test_without_motors_time_goes_on_step_by_step(tmp_path):
    scene = tmp_path / "ball.toml"
    scene.write_text(
        little_scene(FLOOR, ball(xyz=[0.0, 0.0, 0.5]), time={"duration": 0.1, "sample": 0.01, "step": 0.005})
    )
    env = environment(scene)
    env.reset(seed=0)
    told = [env.step(env.action_space.sample()) for _ in range(3)]
    np.testing.assert_allclose([info["t"] for *_, info in told], [0.01, 0.02, 0.03], atol=1e-12)
    np.testing.assert_allclose([seen["v"][5] for seen, *_ in told], [-0.0981, -0.1962, -0.2943], atol=1e-9)


def test_several_at_once(path):
    import phistar.gym  # noqa: F401 - registers

    envs = gymnasium.make_vec("phistar/Scene-v0", num_envs=2, scene=path, period=0.01)
    seen, info = envs.reset(seed=[1, 2])
    assert seen["joints"].shape == (2, 12) and info["seed"][0] != info["seed"][1]
    seen, reward, *_ = envs.step(envs.action_space.sample())
    assert seen["ball"].shape == (2, 13) and reward.shape == (2,)
    envs.close()


def test_draws_that_cannot_start_are_passed_and_a_scene_that_never_can_is_refused(tmp_path, monkeypatch):
    env = environment(written(tmp_path / "half.toml", FLOOR, heights=[0.0, 0.2]))
    assert all(env.reset(seed=seed)[0]["q"][8] > 0.1 for seed in range(6))
    monkeypatch.setattr("phistar.gym.MOST_DRAWS", 3)
    with pytest.raises(PhistarError, match="None of 3 draws of never can start"):
        environment(written(tmp_path / "never.toml", FLOOR, heights=[0.0, 0.05]))


@pytest.mark.parametrize("options", [{"period": 0.0}, {"force_limit": -1.0}])
def test_wrong_options_are_refused(path, options):
    from phistar.gym import SceneEnv

    with pytest.raises(PhistarError, match="must be greater than 0"):
        SceneEnv(path, **options)


@pytest.mark.parametrize("action", [np.zeros(3), np.full(6, np.nan), 0.0])
def test_an_action_that_is_no_set_of_forces_is_refused(path, action):
    env = environment(path)
    env.reset(seed=0)
    with pytest.raises(PhistarError, match="An action is 6 finite forces"):
        env.step(action)
    env.step(np.zeros(6))  # and nothing is spoilt
