"""Contact against MuJoCo: the same MJCF scenes, step for step, in one run on one thread.

    python benchmarks/contact.py [names …] [--repeats 3]

Both are stepped from the same start, one after the other, several times; of every step the shortest time counts, so
that a busy machine disturbs neither. The table has the mean time of a step of the first second and of the second one.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import phistar as ps
from phistar.constraints import columns as c

STEP, SECOND = 0.002, 500
HEAD = f'<mujoco><option timestep="{STEP}"/><worldbody><geom type="plane" size="20 20 1"/>'
TAIL = "</worldbody></mujoco>"


def thing(number: int, kind: str, place: tuple[float, float, float], size: str) -> str:
    x, y, z = place
    return (
        f'<body name="b{number}" pos="{x:.6f} {y:.6f} {z:.6f}"><freejoint/>'
        f'<geom type="{kind}" size="{size}" mass="1" friction="0.5"/></body>'
    )


def apart(kind: str, count: int) -> str:
    """Things on a grid, dropped from 0.1 m."""
    size, wide = ("0.1" if kind == "sphere" else "0.1 0.1 0.1"), int(np.ceil(np.sqrt(count)))
    places = [(0.5 * (i % wide), 0.5 * (i // wide), 0.2) for i in range(count)]
    return HEAD + "".join(thing(i, kind, place, size) for i, place in enumerate(places)) + TAIL


def stack(count: int) -> str:
    return HEAD + "".join(thing(i, "box", (0, 0, 0.101 + 0.201 * i), "0.1 0.1 0.1") for i in range(count)) + TAIL


def wall(rows: int, wide: int) -> str:
    """Bricks in courses, every other one shifted by half a brick less one."""
    places = []
    for row in range(rows):
        places += [(0.202 * k + 0.101 * (row % 2), 0.0, 0.0505 + 0.1008 * row) for k in range(wide - row % 2)]
    return HEAD + "".join(thing(i, "box", place, "0.1 0.05 0.05") for i, place in enumerate(places)) + TAIL


def cube_of(wide: int) -> str:
    """Balls in a cube, some millimetres apart, that fall on the floor and roll away (SimBenchmark's 666)."""
    random, places = np.random.default_rng(0), np.stack(np.meshgrid(*[np.arange(wide)] * 3, indexing="ij"), -1)
    balls = enumerate(0.21 * places.reshape(-1, 3) + (0.0, 0.0, 0.2) + random.uniform(-0.004, 0.004, (wide**3, 3)))
    return HEAD + "".join(thing(i, "sphere", tuple(place), "0.1") for i, place in balls) + TAIL


def bin_of(count: int, kinds: tuple[str, ...], wide: int = 3) -> str:
    random, walls, half = np.random.default_rng(0), "", 0.065 * wide + 0.075
    for x, y in ((half, 0.0), (-half, 0.0), (0.0, half), (0.0, -half)):
        a, b = (0.02, half + 0.03) if x else (half + 0.03, 0.02)
        walls += f'<geom type="box" pos="{x} {y} 1.5" size="{a} {b} 1.5" friction="0.5"/>'
    bodies = ""
    for i in range(count):
        x, y = (0.13 * (k % wide - 0.5 * (wide - 1)) + random.uniform(-0.01, 0.01) for k in (i, i // wide))
        kind, height = kinds[i % len(kinds)], 0.1 + 0.13 * (i // wide**2)
        bodies += thing(i, kind, (x, y, height), "0.05" if kind == "sphere" else "0.045 0.045 0.045")
    return HEAD + walls + bodies + TAIL


def quadruped() -> str:
    """A four-legged robot of 30 kg and eighteen degrees of freedom that stands under position servos."""
    legs, motors = "", ""
    for name, x, y in (("lf", 0.28, 0.12), ("rf", 0.28, -0.12), ("lh", -0.28, 0.12), ("rh", -0.28, -0.12)):
        legs += f"""<body name="{name}_hip" pos="{x} {y} 0"><joint name="{name}_haa" axis="1 0 0"/>
          <inertial pos="0.05 0 0" mass="1.4" diaginertia="0.002 0.002 0.002"/>
          <body name="{name}_thigh" pos="0.06 {np.sign(y) * 0.06} 0"><joint name="{name}_hfe" axis="0 1 0"/>
            <inertial pos="0 0 -0.12" mass="1.6" diaginertia="0.01 0.01 0.003"/>
            <body name="{name}_shank" pos="0 0 -0.25"><joint name="{name}_kfe" axis="0 1 0"/>
              <inertial pos="0 0 -0.12" mass="0.4" diaginertia="0.003 0.003 0.0005"/>
              <geom type="sphere" size="0.03" pos="0 0 -0.28" friction="0.8"/></body></body></body>"""
        for joint, gain in (("haa", 150), ("hfe", 150), ("kfe", 150)):
            motors += f'<position joint="{name}_{joint}" kp="{gain}" kv="5" forcerange="-80 80"/>'
    base = '<inertial pos="0 0 0" mass="16" diaginertia="0.25 0.7 0.8"/><geom type="box" size="0.26 0.14 0.1"/>'
    body = f'<body name="base" pos="0 0 0.57"><freejoint/>{base}{legs}</body>'
    return f"{HEAD}{body}</worldbody><actuator>{motors}</actuator></mujoco>"


def rope(count: int) -> str:
    """Links on hinges about changing axes, one end held, whose middle and other end lie on the floor."""
    text, end = "", ""
    for i in range(count):
        touches = i in (count // 2, count - 1)
        place, axis = ("0 0 0.052" if i == 0 else "0.05 0 0"), ("1 0 0", "0 1 0", "0.6 0 0.8")[i % 3]
        text += f'<body pos="{place}"><joint axis="{axis}" damping="0.02" stiffness="0.1"/>'
        text += '<inertial pos="0.025 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/>'
        text += '<geom type="sphere" size="0.05" friction="0.5"/>' if touches else ""
        end += "</body>"
    return HEAD + text + end + TAIL


def humanoid() -> Path:
    """dm_control's humanoid, which falls from where it begins."""
    package: Any = import_module("dm_control")
    return Path(package.__path__[0]) / "suite" / "humanoid.xml"


mujoco: Any = import_module("mujoco")

SCENES: dict[str, Callable[[], str | Path]] = {
    **{f"balls {n}": (lambda n=n: apart("sphere", n)) for n in (1, 10, 50, 200)},
    **{f"boxes {n}": (lambda n=n: apart("box", n)) for n in (1, 10, 50, 200)},
    **{f"stack {n}": (lambda n=n: stack(n)) for n in (5, 10)},
    "wall 50": lambda: wall(5, 10),
    "wall 100": lambda: wall(10, 10),
    "bin 20 balls": lambda: bin_of(20, ("sphere",)),
    "bin 20 boxes": lambda: bin_of(20, ("box",)),
    "bin 100 mixed": lambda: bin_of(100, ("sphere", "box")),
    "cube 216": lambda: cube_of(6),
    "bin 500 mixed": lambda: bin_of(500, ("sphere", "box"), 8),
    "quadruped": quadruped,
    "humanoid": humanoid,
    **{f"rope {n}": (lambda n=n: rope(n)) for n in (50, 100, 200, 300)},
}


def mujoco_times(model: Any, steps: int) -> np.ndarray:
    data, times = mujoco.MjData(model), np.zeros(steps)
    for i in range(steps):
        began = perf_counter()
        mujoco.mj_step(model, data)
        times[i] = perf_counter() - began
    return times


def plant_times(plant: ps.Plant, steps: int) -> tuple[np.ndarray, dict[str, float]]:
    session, times = plant.session, np.zeros(steps)
    session.load(plant.state())
    session.drive(None)
    told = {"gap": np.inf, "iterations": 0.0, "residual": 0.0}
    for i in range(steps):
        began = perf_counter()
        session.advance(STEP)
        times[i] = perf_counter() - began
        told["gap"] = min(told["gap"], float(session.engine.numbers[c.NEAREST]))
        told["iterations"] += session.engine.counts[c.ITERATIONS] / steps
        told["residual"] = max(told["residual"], float(session.engine.numbers[c.RESIDUAL]))
    return times, told


def measure(name: str, scene: str | Path, repeats: int, steps: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml" if isinstance(scene, str) else scene
        if isinstance(scene, str):
            path.write_text(scene)
        plant, model = ps.Plant.load(path), mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep = STEP
    ours, theirs, told = [], [], {}
    for _ in range(repeats):
        theirs.append(mujoco_times(model, steps))
        made, told = plant_times(plant, steps)
        ours.append(made)
    a, b = np.min(ours, axis=0), np.min(theirs, axis=0)
    parts = [slice(0, steps // 2), slice(steps // 2, steps)]
    cells = [f"{1e6 * a[p].mean():9.1f} {1e6 * b[p].mean():9.1f} {a[p].mean() / b[p].mean():6.2f}" for p in parts]
    extra = f"{told['gap']:9.1e} {told['iterations']:6.2f} {told['residual']:8.1e}"
    return f"{name:14} {cells[0]}  {cells[1]}  {extra}"


def measure_rollout(start: str, scenes: int = 1024, steps: int = 50, threads: int = 2) -> str:
    """The quadruped, many at once: steps a second against MuJoCo's `rollout` at as many threads. They stand, as each
    program has it after a second, at rates of 0.5 mm/s or mrad/s that differ; are pushed, at rates a hundred times
    larger; or fall to the floor with these."""
    rollout: Any = import_module("mujoco.rollout")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        path.write_text(quadruped())
        plant, model = ps.Plant.load(path), mujoco.MjModel.from_xml_path(str(path))
    random, data = np.random.default_rng(0), [mujoco.MjData(model) for _ in range(threads)]
    q, there = plant.state().q, data[0]
    if start != "fall":
        q = plant.rollout((q, np.zeros(plant.model.nv)), step=STEP, steps=SECOND).q[-1]
        for _ in range(SECOND):
            mujoco.mj_step(model, there)
    state = np.zeros((scenes, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    rates = (5e-4 if start == "stand" else 0.05) * random.normal(size=(scenes, model.nv))
    state[:, 1 : 1 + model.nq], state[:, 1 + model.nq : 1 + model.nq + model.nv] = there.qpos, rates
    given, ours, theirs = (np.tile(q, (scenes, 1)), rates), np.inf, np.inf
    for _ in range(6):
        began = perf_counter()
        rollout.rollout(model, data, state, nstep=steps)
        theirs, began = min(theirs, perf_counter() - began), perf_counter()
        plant.rollout(given, step=STEP, steps=steps, threads=threads)
        ours = min(ours, perf_counter() - began)
    made = [scenes * steps / time for time in (ours, theirs)]
    told = f"{made[0]:.0f} and {made[1]:.0f} steps/s, {made[0] / made[1]:.2f} x"
    return f"rollout of {scenes} quadrupeds that {start}, {threads} threads: {told}"


def measure_derivative(repeats: int = 40, calls: int = 20) -> str:
    """The standing quadruped: `plant.step_derivatives` against `plant.step`, from a state that is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        path.write_text(quadruped())
        plant = ps.Plant.load(path)
    end = plant.rollout((plant.state().q, np.zeros(plant.model.nv)), step=STEP, steps=SECOND)
    state, found = plant.state(end.q[-1], end.v[-1]), [np.inf, np.inf]
    for _ in range(repeats):
        for number, function in enumerate((plant.step, plant.step_derivatives)):
            began = perf_counter()
            for _ in range(calls):
                function(state)
            found[number] = min(found[number], (perf_counter() - began) / calls)
    a, b = (1e6 * time for time in found)
    return f"derivative of a step of the quadruped: {b:.1f} µs, a step {a:.1f} µs, {b / a:.2f} x"


def measure_heap(count: int, steps: int = 300) -> str:
    """Balls and boxes poured on the floor, more than MJCF files may have: time a step and a contact, of the last third
    of the steps."""
    plant, wide = ps.Plant(), round((count / 4) ** 0.5)
    plant.add_shape(ps.Plane())
    random = np.random.default_rng(0)
    for i in range(count):
        shape = ps.Sphere(0.05) if i % 2 else ps.Box([0.09, 0.09, 0.09])
        x, y = 0.13 * np.array([i % wide, i // wide % wide]) + random.uniform(-0.01, 0.01, 2)
        plant.add_body(f"b{i}", shape, inertia=1.0, at=ps.Pose(xyz=(x, y, 0.06 + 0.11 * (i // wide**2))))
    times, _ = plant_times(plant, steps)
    contacts, last = int(plant.session.engine.counts[c.CONTACTS]), times[-steps // 3 :].mean()
    return f"heap of {count}: {1e3 * last:.2f} ms a step, {contacts} contacts, {1e6 * last / contacts:.1f} µs a contact"


def measure_environments(seconds: float = 2.0, many: int = 64) -> str:
    """Steps a second of the standing quadruped as a Gymnasium environment of 20 ms: alone, and many at once."""
    environments: Any = import_module("phistar.gym_plants")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.xml"
        path.write_text(quadruped())
        plant = ps.Plant.load(path)
    found = []
    for env, count in ((environments.PlantEnv(plant), 1), (environments.PlantVectorEnv(plant, many), many)):
        env.reset(seed=0)
        action, made = np.zeros(env.action_space.shape), 0
        env.step(action)
        began = perf_counter()
        while perf_counter() - began < seconds:
            env.step(action)
            made += count
        found.append(made / (perf_counter() - began))
    rates = f"{found[0]:.0f} steps/s alone, {found[1]:.0f} of {many} at once"
    return f"environment of the quadruped, 10 steps of 2 ms: {rates}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2 * SECOND)
    given = parser.parse_args()
    print(
        f"MuJoCo {mujoco.__version__}, its default solver and Jacobian, step {STEP} s; times a step in µs, one thread."
    )
    print(f"{'':14} {'first half':^26}  {'later':^26}")
    print(f"{'scene':14} {'phistar':>9} {'MuJoCo':>9} {'ratio':>6}  {'phistar':>9} {'MuJoCo':>9} {'ratio':>6}  gap")
    for name, made in SCENES.items():
        if not given.names or any(name.startswith(each) for each in given.names):
            print(measure(name, made(), given.repeats, given.steps), flush=True)
    if not given.names or "rollout" in given.names:
        for start in ("stand", "are pushed", "fall"):
            print(measure_rollout(start), flush=True)
    if not given.names or "derivative" in given.names:
        print(measure_derivative(), flush=True)
    if not given.names or "heap" in given.names:
        for count in (250, 500, 1000):
            print(measure_heap(count), flush=True)
    if not given.names or "environments" in given.names:
        print(measure_environments())


if __name__ == "__main__":
    main()
