"""`Scene.run`: the experiment of a scene through the time loop, judged by its task, with checkpoints on the way."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from phistar.errors import PhistarError
from phistar.sim.run_summary import finite
from phistar.sim.scenes.checkpoint import read, resume_loop, write
from phistar.sim.scenes.registry import Task
from phistar.sim.scenes.run_folder import check_ended
from phistar.sim.scenes.scene import Scene
from phistar.sim.time_loop import TimeLoop, Watch, run_to_end
from phistar.sim.trajectory import Trajectory


def run_scene(
    scene: Scene,
    seed: int,
    control: Any,
    progress: Callable[[float], None] | None,
    watch: Watch | None,
    checkpoint: tuple[float, str | os.PathLike[str]] | None,
    resume: str | os.PathLike[str] | None,
) -> Trajectory:
    """Implement `Scene.run`."""

    def begin(own: int) -> TimeLoop:
        setting = scene.setting(own)
        experiment = setting.experiment(own, control)
        # Sample by sample, so that a run is the same to the last bit whether it is followed, kept or neither.
        return TimeLoop(experiment, world=setting.world, sensing=setting.sensing, stepped=True)

    loop = begin(seed) if resume is None else resume_loop(read(Path(resume)), scene, begin)
    task = scene.setting(loop.experiment.seed).task
    folders = [Path(each).resolve() for each in (resume, checkpoint and checkpoint[1]) if each is not None]
    kept = None if checkpoint is None else _keeping(loop, scene, checkpoint, resume)

    def judge(run: Trajectory) -> Trajectory:
        summary = {"scene": scene.name, "seed": loop.experiment.seed, **_judge(task, run)}
        known = {"name": scene.name, "source": scene.source, "text": scene.text, "checkpoints": tuple(folders)}
        return replace(run, summary=summary, **known)

    return run_to_end(loop, progress, watch, kept, judge)


def _keeping(
    loop: TimeLoop,
    scene: Scene,
    checkpoint: tuple[float, str | os.PathLike[str]],
    resume: str | os.PathLike[str] | None,
) -> Callable[[TimeLoop], None]:
    """Writer of checkpoints, one every so many seconds of simulated time."""
    every, folder = checkpoint
    check_ended(Path(folder), resume)
    if not 0.0 < every < np.inf:
        raise PhistarError(f"A checkpoint is written every so many seconds, more than 0; {every!r:.50} was given.")

    def next_after(time: float) -> float:
        return every * (1 + int(time / every + 1e-9))

    due = [next_after(loop.moment.time if loop.moment else 0.0)]

    def keep(loop: TimeLoop) -> None:
        assert loop.moment is not None
        if loop.moment.time >= due[0] - 1e-9:
            write(loop, scene, Path(folder))
            due[0] = next_after(loop.moment.time)

    return keep


def _judge(task: Task | None, run: Trajectory) -> dict[str, Any]:
    """A run's summary with a task's verdict; its own entries stand beside them."""
    if task is None:
        return dict(run.summary)
    verdict = task.judge(run)
    told = {"reached": bool(verdict.reached), "outcome": verdict.words, "missing": verdict.missing}
    told |= {name: value for name, value in verdict.entries.items() if name not in told}
    ended = {name: run.summary[name] for name in ("completed", "reason")}
    return ended | finite(told) | {name: value for name, value in run.summary.items() if name not in ended}
