"""A scene as a Gymnasium environment: joint forces in, readings out, with a reward and an end of your own.

gymnasium.make("phistar.gym:phistar/Scene-v0", scene="grapple"), or SceneEnv("grapple") itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import ImageArray
from phistar.errors import PhistarError, ShapeError

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise PhistarError("phistar.gym needs the package gymnasium: pip install 'phistar[gym]'.") from None

from phistar.sim.motion import Moment
from phistar.sim.scenes.controllers import effort_limits
from phistar.sim.scenes.scene import Scene, Setting
from phistar.sim.time_loop import TimeLoop
from phistar.sim.trajectory import Trajectory
from phistar.view.environment_pictures import Pictures

LARGEST_SEED = 2**53
MOST_DRAWS = 30  # for one reset


class View(NamedTuple):
    """Input of a reward after a step: time, true q (nq,) and v (nv,), the readings, the joint forces (nv,) that acted,
    the largest normal force of a contact on the way, and the scene as it was drawn."""

    t: float
    q: np.ndarray
    v: np.ndarray
    sensed: Mapping[str, np.ndarray]
    tau: np.ndarray
    force: float
    setting: Setting


Act = Callable[[np.ndarray, float, Mapping[str, np.ndarray]], Any]


class SceneEnv(gymnasium.Env):
    """A scene, one `period` of seconds at each step.

    An action is the forces of the joints with motors, within the model's limits, or `force_limit` where it has none;
    with `act(action, t, sensed)` → joint forces (nv,) and an `action_space` it is whatever your law takes. An
    observation is a dict of what the scene's sensors read; where there are none, of `q` and `v`. `reward` and
    `terminated` are functions of a `View`; a run that cannot go on ends with its reason in `info`; the scene's duration
    truncates. Every `reset` draws the scene anew: `phistar run SCENE --seed` draws the same from `info["seed"]`.
    `env.trajectory` is the episode so far; with `render_mode="rgb_array"` `env.render()` is a picture of
    `picture_size` pixels, drawn without a browser.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 - gymnasium's own way

    def __init__(
        self,
        scene: Scene | str | os.PathLike[str],
        period: float = 0.02,
        reward: Callable[[View], float] | None = None,
        terminated: Callable[[View], bool] | None = None,
        act: Act | None = None,
        action_space: spaces.Space[Any] | None = None,
        force_limit: float = 100.0,
        render_mode: str | None = None,
        picture_size: tuple[int, int] = (480, 360),
    ) -> None:
        if (act is None) != (action_space is None):
            raise PhistarError("A law of your own needs both act and the action_space of what it takes.")
        if not 1e-6 <= period < np.inf or not 0.0 < force_limit < np.inf:
            raise PhistarError(f"period and force_limit must be greater than 0; they are {period} and {force_limit}.")
        self.render_mode, self._pictures = render_mode, Pictures(self, render_mode, picture_size, period)
        self.scene = scene if isinstance(scene, Scene) else Scene.load(scene)
        self.period, self._reward, self._terminated = period, reward, terminated
        setting = self.scene.setting(0)
        self._driven = effort_limits(setting) > 0.0
        limits = np.where(np.isfinite(found := effort_limits(setting)), found, force_limit)[self._driven]
        self._act: Act = act or self._forces
        self.action_space = action_space or spaces.Box(-limits, limits, dtype=np.float64)
        self._draw(np.random.default_rng(0))
        sizes = {name: np.shape(value) for name, value in self._observation().items()}
        self.observation_space = spaces.Dict(
            {name: spaces.Box(-np.inf, np.inf, shape, np.float64) for name, shape in sizes.items()}
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        own = self._draw(self.np_random)
        return self._observation(), {"seed": own, "t": 0.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        loop, ended, info = self._loop, False, {}
        recorder, given = loop.recorder, self._act(action, self._moment.time, loop.sensed)
        peak, recorder.peak = recorder.peak, 0.0
        try:
            loop.driving.hold(given, self._moment.time)
            recorder.is_open = True  # the last row's forces are those of this action
            next(self._rows, None)
        except PhistarError as error:
            ended, info = True, {"reason": str(error)}
        force, recorder.peak = recorder.peak, max(peak, recorder.peak)
        moment, tau = self._moment, np.zeros(self._setting.model.nv)
        loop.motion.session.forces(moment.step.part if moment.step is not None else 1.0, tau)
        view = View(moment.time, moment.state.q, moment.state.v, loop.sensed, tau, force, self._setting)
        reward = float(self._reward(view)) if self._reward else 0.0
        ended = ended or bool(self._terminated is not None and self._terminated(view))
        over = moment.time >= self._setting.timing.duration - 1e-9
        return self._observation(), reward, ended, over, info | {"t": moment.time, "force": force}

    def render(self) -> ImageArray | None:
        """A picture (height, width, 3) of the scene as it is, with `render_mode="rgb_array"`."""
        return self._pictures.of(self._setting.model, self._moment.state.q)

    @property
    def trajectory(self) -> Trajectory:
        """The episode so far: states and readings at the start and after every step, the forces of the actions, and the
        contacts."""
        return self._loop.trajectory(None)

    @property
    def _moment(self) -> Moment:
        assert self._loop.moment is not None
        return self._loop.moment

    def _draw(self, rng: np.random.Generator) -> int:
        """The seed of a scene that can start, and has; draws that cannot, where bodies intersect, are skipped."""
        for draw in range(MOST_DRAWS):
            seed = int(rng.integers(LARGEST_SEED))
            try:
                self._begin(seed)
                return seed
            except PhistarError as error:
                if draw + 1 == MOST_DRAWS:
                    raise PhistarError(f"None of {MOST_DRAWS} draws of {self.scene.name} can start: {error}") from None
        raise AssertionError

    def _begin(self, seed: int) -> None:
        self._setting = setting = self.scene.setting(seed)
        steps = ceil(setting.timing.duration / self.period - 1e-9)
        timing = replace(setting.timing, duration=steps * self.period, sample=self.period)
        experiment = replace(setting.experiment(seed), timing=timing, control=None, gives_forces=True, audit=False)
        self._loop = TimeLoop(experiment, world=setting.world, sensing=setting.sensing, stepped=True)
        self._rows = self._loop.rows()
        next(self._rows)

    def _observation(self) -> dict[str, np.ndarray]:
        state = self._moment.state
        seen = self._loop.sensed or {"q": state.q, "v": state.v}
        return {name: np.array(value, dtype=np.float64) for name, value in seen.items()}

    def _forces(self, action: np.ndarray, t: float, sensed: Mapping[str, np.ndarray]) -> np.ndarray:
        tau, given, wanted = np.zeros(len(self._driven)), np.asarray(action, dtype=float), int(self._driven.sum())
        if given.shape != (wanted,) or not np.isfinite(given).all():
            raise ShapeError(f"An action is {wanted} finite forces, one for each rate with a motor; it is {action!r}.")
        tau[self._driven] = given
        return tau


gymnasium.register(id="phistar/Scene-v0", entry_point="phistar.gym:SceneEnv")
gymnasium.register(
    id="phistar/Plant-v0",
    entry_point="phistar.gym_plants:PlantEnv",
    vector_entry_point="phistar.gym_plants:PlantVectorEnv",
)
