"""A plant as a Gymnasium environment, one at a time or many at once: commands in, q and v (or readings) out.

    env = PlantEnv(plant, reward=lambda view: view.v[0])
    envs = PlantVectorEnv(plant, 1024, reward=lambda view: view.v[:, 0])
    envs = PlantVectorEnv([drawn(rng) for _ in range(32)], 1024)  # masses, friction, … of your own drawing

A reward and an end of your own see a `PlantView`: of one environment, or of all of them with a leading axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from phistar.array_types import ImageArray
from phistar.backends.machine.threads import thread_count
from phistar.constraints import columns as c
from phistar.errors import PhistarError, ShapeError
from phistar.plant.plant import Plant
from phistar.plant.robot_view import motions_of
from phistar.plant.scene_batch import SceneBatch, scene_cuts
from phistar.plant.session import Diverged, PlantState, Session
from phistar.sim.motion import NOTHING, Moment
from phistar.sim.readings import Readings
from phistar.sim.sensing import Sensing
from phistar.sim.step_records import last_step
from phistar.sim.time_loop import SENSED
from phistar.sim.trajectory import Trajectory
from phistar.sim.world import World
from phistar.view.environment_pictures import Pictures

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise PhistarError("phistar.gym_plants needs the package gymnasium: pip install 'phistar[gym]'.") from None


class PlantView(NamedTuple):
    """State after a step: time (…,), coordinates (…, nq), rates (…, nv), command (…, nu) that acted, and readings."""

    t: Any
    q: np.ndarray
    v: np.ndarray
    command: np.ndarray
    sensed: Mapping[str, np.ndarray]


Start = Callable[[np.random.Generator], tuple[Any, Any]]  # (q, v) of an episode's beginning


class _Task:
    """Timing, starts and action space that both environments share."""

    def __init__(
        self, plant: Plant, period: float, step: float, duration: float, start: Start | None, largest: float
    ) -> None:
        steps = round(period / step) if step > 0.0 else 0
        if steps < 1 or abs(period / step - steps) > 1e-6 or not duration >= period:
            raise PhistarError(
                f"An environment needs a period of whole steps, and a duration from it on; it was given a period of "
                f"{period!r}, steps of {step!r} and a duration of {duration!r} s."
            )
        if not plant.actuators:
            raise PhistarError(f"The plant '{plant.name}' has no actuators, and so no actions; see plant.actuate(…).")
        self.plant, self.step, self.steps, self.period, self.duration = plant, step, steps, period, duration
        self.start = start or (lambda rng: plant.state()[:2])
        self.action_space = spaces.Box(*_bounds(plant, largest), dtype=np.float64)

    def begin(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A state that an episode begins with, checked."""
        state = self.plant.state(*self.start(rng))
        return state.q, state.v


def _bounds(plant: Plant, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of commands: their range, within the force limit, or ± largest where none is set."""
    low, high = [], []
    for actuator in plant.actuators:
        below, above = actuator.command_range
        if actuator.kind == "force" and np.isfinite(actuator.limit) and actuator.gear:
            strongest = abs(actuator.limit / actuator.gear)
            below, above = max(below, -strongest), min(above, strongest)
        low += [below if np.isfinite(below) else -largest, *[-largest] * (actuator.entries - 1)]
        high += [above if np.isfinite(above) else largest, *[largest] * (actuator.entries - 1)]
    return np.array(low), np.array(high)


class PlantEnv(gymnasium.Env):
    """A plant, one `period` of seconds at each step.

    Parameters
    ----------
    plant : Plant
        What moves; it needs actuators.
    reward, terminated : callable, optional
        Of a `PlantView`: a number, and whether the episode has ended. By default 0 and never.
    start : callable, optional
        rng → (q, v), where an episode begins; by default the plant's own start.
    period, step, duration : float
        In s: of an action, of the plant's steps, of an episode, which is then truncated.
    largest : float
        The bound of actions that nothing else bounds.
    render_mode : {None, "rgb_array"}
        With "rgb_array" `env.render()` is a picture, (height, width, 3), drawn without a browser.
    picture_size : pair
        Its width and height.

    Observations are a dict of the sensors' readings; of a plant without sensors, [q; v].
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012 - gymnasium's own way

    def __init__(
        self,
        plant: Plant,
        reward: Callable[[PlantView], float] | None = None,
        terminated: Callable[[PlantView], bool] | None = None,
        start: Start | None = None,
        period: float = 0.02,
        step: float = 0.002,
        duration: float = 10.0,
        largest: float = 100.0,
        render_mode: str | None = None,
        picture_size: tuple[int, int] = (480, 360),
    ) -> None:
        self._task = _Task(plant, period, step, duration, start, largest)
        self._readings = None if not plant.sensors else Readings(Sensing(plant, World.of(plant)), period)
        self.render_mode, self._pictures = render_mode, Pictures(self, render_mode, picture_size, period)
        self._reward, self._terminated = reward, terminated
        self.action_space = self._task.action_space
        self.reset(seed=0)
        seen = self._observation()
        self.observation_space = (
            spaces.Dict({name: spaces.Box(-np.inf, np.inf, x.shape, np.float64) for name, x in seen.items()})
            if isinstance(seen, dict)
            else spaces.Box(-np.inf, np.inf, seen.shape, np.float64)
        )

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        plant = self._task.plant
        self._session = plant.session
        self._session.load(plant.state(*self._task.begin(self.np_random)))
        self._count, self._before = 0, None
        self._rows = [(0.0, *self._state(), np.zeros(plant.model.nv))]
        if self._readings is not None:
            noise = np.random.SeedSequence(int(self.np_random.integers(2**32)), spawn_key=(SENSED,))
            self._line, self._session.engine.counts[c.TELLING] = self._readings.start(noise), 1
        self._sense()
        return self._observation(), {"t": 0.0}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        task, session = self._task, self._session
        given = np.asarray(action, dtype=float)
        if given.shape != self.action_space.shape or not np.isfinite(given).all():
            raise ShapeError(f"An action is {task.plant.nu} finite numbers, the plant's command; it is {action!r:.80}.")
        ended, info = False, {}
        try:
            for number in range(task.steps):
                if number == 0 or session.late > 0.0:
                    session.drive(given, h=task.step)
                if number == task.steps - 1:
                    self._before = self._state()
                session.advance(task.step)
        except Diverged as error:
            ended, info = True, {"reason": str(error)}
        self._count += 1
        self._sense()
        t, (q, v) = self._count * task.period, self._state()
        self._rows.append((t, q, v, self._forces()))
        view = PlantView(t, q, v, given, self._sensed)
        reward = float(self._reward(view)) if self._reward else 0.0
        ended = ended or bool(self._terminated is not None and self._terminated(view))
        return self._observation(), reward, ended, t >= task.duration - 1e-9, info | {"t": t}

    def render(self) -> ImageArray | None:
        """A picture of the plant as it is, with `render_mode="rgb_array"`."""
        return self._pictures.of(self._task.plant.model, self._state()[0])

    def _state(self) -> tuple[np.ndarray, np.ndarray]:
        engine, model = self._session.engine, self._task.plant.model
        return engine.q[: model.nq].copy(), engine.v[: model.nv].copy()

    @property
    def trajectory(self) -> Trajectory:
        """The episode so far: states at the start and after every action, and the joint forces of each action."""
        t, q, v, tau = (np.array(column) for column in zip(*self._rows, strict=True))
        plant = self._task.plant
        return Trajectory(plant.model, t, q, v, np.roll(tau, -1, 0), name=plant.name, parts=motions_of(plant))

    def _forces(self) -> np.ndarray:
        """Joint forces of the actuators in the last step, (nv,)."""
        tau = np.zeros(self._task.plant.model.nv)
        self._session.forces(float(self._session.engine.numbers[c.STEP]) or self._task.step, tau)
        return tau

    def _sense(self) -> None:
        self._sensed: Mapping[str, np.ndarray] = {}
        if self._readings is None:
            return
        step, now = self._task.step, PlantState(*self._state())
        moment = Moment(self._count * self._task.period, now, NOTHING, np.inf, step, now)
        if self._before is not None:
            last = last_step(self._readings.sensing.world, self._session, step)
            moment = moment._replace(before=PlantState(*self._before), length=step, step=last)
        self._line, self._sensed = self._readings.next(self._line, moment, self._session, self._forces())

    def _observation(self) -> Any:
        if self._sensed:
            return {name: np.array(value, dtype=np.float64) for name, value in self._sensed.items()}
        return np.concatenate(self._state())


def _check_alike(plants: Sequence[Plant]) -> None:
    """Refuse plants that cannot be one another's variants."""
    first = plants[0]
    for number, other in enumerate(plants[1:], 1):
        sizes = [(each.model.nq, each.model.nv, each.nu, len(each.system.rows)) for each in (first, other)]
        if sizes[0] != sizes[1]:
            raise ShapeError(
                f"Plants of one vector are alike but for their numbers; the first has nq, nv, commands and rows "
                f"{sizes[0]}, number {number} has {sizes[1]}."
            )


def _shares(plants: Sequence[Plant], count: int, threads: int | None) -> tuple[list[slice], list[Session], list[int]]:
    """Environments in stretches, each with a session of its plant and the plant's number; one plant's are cut for
    threads, those of several are of one plant each."""
    if len(plants) == 1:
        cuts = scene_cuts(count, threads)
        return cuts, plants[0].sessions(len(cuts)), [0] * len(cuts)
    bounds = np.linspace(0, count, len(plants) + 1).astype(int).tolist()
    cuts = [slice(a, b) for a, b in pairwise(bounds)]
    return cuts, [plant.sessions(1)[0] for plant in plants], list(range(len(plants)))


class PlantVectorEnv(gymnasium.vector.VectorEnv):
    """Many environments of one plant, or of plants with randomized parameters, stepped at once over the cores.

    Parameters
    ----------
    plant : Plant or plants
        What moves. Of several, made alike but with masses, placements, friction or gains of their own, each has as many
        environments as the others; `variant` says which it is. They share what is compiled, so that one more takes
        well below a second; `scene.setting(seed).plant` draws them from a scene's random numbers.
    num_envs : int
        How many environments.
    reward, terminated : callable, optional
        Of a `PlantView` with a leading axis, giving (num_envs,).
    start, period, step, duration, largest
        As of `PlantEnv`.
    threads : int, optional
        How many; as many as there are cores by default.

    Observations are [q; v], (num_envs, nq + nv). An environment whose episode has ended begins anew with the next step
    (`AutoresetMode.NEXT_STEP`).
    """

    metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012 - gymnasium's own way

    def __init__(
        self,
        plant: Plant | Sequence[Plant],
        num_envs: int = 1,
        reward: Callable[[PlantView], Any] | None = None,
        terminated: Callable[[PlantView], Any] | None = None,
        start: Start | None = None,
        period: float = 0.02,
        step: float = 0.002,
        duration: float = 10.0,
        largest: float = 100.0,
        threads: int | None = None,
    ) -> None:
        plants = [plant] if isinstance(plant, Plant) else list(plant)
        if num_envs < max(len(plants), 1) or not plants:
            raise ShapeError(
                f"A vector of environments has a plant at least, and one environment of each; it was given "
                f"{len(plants)} plants and asked for {num_envs}."
            )
        _check_alike(plants)
        self._tasks = [_Task(each, period, step, duration, start, largest) for each in plants]
        self._task = self._tasks[0]
        self._reward, self._terminated, self.num_envs = reward, terminated, num_envs
        size = plants[0].model.nq + plants[0].model.nv
        self.single_action_space = self._task.action_space
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._cuts, self._sessions, self._owners = _shares(plants, num_envs, threads)
        self.variant = np.repeat(self._owners, [cut.stop - cut.start for cut in self._cuts])
        most = thread_count() if threads is None else int(threads)
        count = min(len(self._cuts), max(most, 1))
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self.reset(seed=0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        plant = self._task.plant
        rows = len(plant.system.rows) + plant.closures
        made = [self._tasks[own].begin(self.np_random) for own in self.variant]
        q, v = (np.array(x) for x in zip(*made, strict=True))
        self._parts = [SceneBatch(q[cut], v[cut], rows, plant.nu) for cut in self._cuts]
        self._t, self._over = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        return self._observation(), {}

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        given = np.asarray(actions, dtype=float)
        if given.shape != self.action_space.shape or not np.isfinite(given).all():
            raise ShapeError(f"Actions are {self.action_space.shape} finite numbers; they have shape {given.shape}.")
        begun = self._over.copy()
        failed = self._through(given)
        self._t += self._task.period
        self._begin_anew(begun)
        q, v = (np.concatenate([getattr(part, name) for part in self._parts]) for name in ("q", "v"))
        view = PlantView(self._t.copy(), q, v, given, {})
        reward = np.asarray(self._reward(view), dtype=float) if self._reward else np.zeros(self.num_envs)
        ended = np.asarray(self._terminated(view), dtype=bool) if self._terminated else np.zeros(self.num_envs, bool)
        ended, cut = ended | failed, self._t >= self._task.duration - 1e-9
        reward, ended, cut = np.where(begun, 0.0, reward), ended & ~begun, cut & ~begun
        self._over = ended | cut
        return np.concatenate([q, v], axis=1), reward, ended, cut, {}

    def _through(self, given: np.ndarray) -> np.ndarray:
        """Advance all environments by a period; which diverged."""
        task = self._task

        def work(number: int) -> None:
            self._parts[number].run(self._sessions[number], given[self._cuts[number]], task.step, task.steps)

        numbers = range(len(self._parts))
        list(map(work, numbers) if self._pool is None else self._pool.map(work, numbers))
        return np.concatenate([part.failed < task.steps for part in self._parts])

    def _begin_anew(self, scenes: np.ndarray) -> None:
        for cut, part, own in zip(self._cuts, self._parts, self._owners, strict=True):
            for number in np.flatnonzero(scenes[cut]):
                part.put(int(number), *self._tasks[own].begin(self.np_random))
        self._t[scenes] = 0.0

    def _observation(self) -> np.ndarray:
        return np.concatenate([np.concatenate([part.q, part.v], axis=1) for part in self._parts])

    def close_extras(self, **options: Any) -> None:
        """Release the threads."""
        if self._pool is not None:
            self._pool.shutdown()
