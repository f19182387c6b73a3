"""Scenes, plants, runs, motions, checkpoints and certificates under attack."""

import hashlib
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import phistar as ps
from tools.attack.mutate import Attempt, mutated_bytes, mutated_tree, mutated_xml, spoiled_toml

SCENE = """
format_version = 1
name = "all"
gravity = [0.0, 0.0, -9.81]
[time]
duration = 0.02
sample = 0.01
step = 0.005
stop = ["done"]
[surface]
margin = 0.002
friction = 0.5
[controller]
law = "hold"
stiffness = 100.0
damping = 10.0
torque_limit = 5.0
[[disturbances]]
frame = "ball"
start = 0.0
duration = 0.01
force = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
[[sensors]]
name = "state"
kind = "joints"
part = "ball"
noise = 0.1
[[parts]]
name = "floor"
[[parts.shapes]]
plane = true
[[parts]]
name = "arm"
robot = "planar2"
options = {gravity = [0.0, 0.0, 0.0]}
q = [0.1, 0.2]
xyz = [5.0, 0.0, 1.0]
[[parts]]
name = "ball"
joint = "free"
mass = {uniform = [1.0, 2.0]}
xyz = [0.0, 0.0, 1.0]
rpy = {turn = [0.0, 0.5]}
[[parts.shapes]]
sphere = 0.1
color = [1.0, 0.0, 0.0, 1.0]
"""


def scene(random: Random, folder: Path) -> Attempt:
    path = folder / "scene.toml"
    path.write_text(spoiled_toml(random, SCENE), "utf-8", errors="surrogatepass")
    return lambda: ps.Scene.load(path)


MJCF = b"""<mujoco><option timestep="0.002" density="1.2"/><default><geom friction="0.5 0.01 0.001"/></default>
<worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="arm" pos="0 0 1"><joint name="j" range="-1 1"
limited="true" damping="0.1" frictionloss="0.1" stiffness="1" armature="0.01"/><geom name="g" type="capsule"
size="0.05 0.2"/><site name="s" pos="0 0 0.1"/><body name="tip" pos="0 0 0.4"><joint name="k" type="slide"
axis="1 0 0"/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body></body><body name="ball" pos="0.5 0 1"><freejoint/>
<geom type="ellipsoid" size="0.1 0.1 0.2" mass="1"/></body></worldbody><actuator><motor joint="j" gear="2"
ctrlrange="-1 1"/><position joint="k" kp="10"/></actuator><sensor><jointpos joint="j"/><gyro site="s"/></sensor>
<contact><exclude body1="arm" body2="ball"/></contact><equality><joint joint1="j" joint2="k"/></equality>
<keyframe><key name="home" qpos="0.1 0.2 0 0 1 1 0 0 0"/></keyframe></mujoco>"""


PLANT = """
format_version = 1
name = "cell"
law = "materials"
ignored = [["arm", "ball"]]
[[parts]]
name = "arm"
robot = "planar2"
q = [0.1, 0.2]
xyz = [0.0, 0.0, 2.0]
[[parts]]
name = "ball"
joint = "free"
mass = 1.0
xyz = [0.0, 0.0, 1.0]
[[parts.shapes]]
sphere = 0.1
[[shapes]]
body = "world"
plane = true
material = {friction = 0.3}
[[contacts]]
between = ["ball", "world"]
friction = 0.4
[[actuators]]
part = "arm"
kind = "position"
stiffness = 50.0
damping = 5.0
limits = 30.0
delay = 0.002
[[sensors]]
name = "pose"
kind = "pose"
of = "ball"
noise = 0.01
rate = 100.0
delay = 0.01
[[welds]]
frames = ["arm/tip", "ball"]
"""


def plant(random: Random, folder: Path) -> Attempt:
    """A plant in MJCF or TOML."""
    path = folder / random.choice(["plant.toml", "plant.xml"])
    if path.suffix == ".toml":
        path.write_text(spoiled_toml(random, PLANT), "utf-8", errors="surrogatepass")
    else:
        path.write_bytes(mutated_xml(random, MJCF) if random.random() < 0.8 else mutated_bytes(random, MJCF))
    return lambda: ps.Plant.load(path)


@cache
def saved_run() -> dict[str, bytes]:
    """The files of a run, and its checkpoint half-way."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "scene.toml"
        path.write_text(SCENE)
        out = Path(place) / "out"
        made = ps.Scene.load(path).run(checkpoint=(0.01, out))
        kept = {"checkpoint": (out / "checkpoint").read_bytes()}
        made.save(out)
        return kept | {each.name: each.read_bytes() for each in out.iterdir()}


def run_folder(random: Random, folder: Path) -> Attempt:
    from phistar.view import report

    spoiled = random.choice(["summary.json", "trajectory.h5", "scene.toml"])
    for name, content in saved_run().items():
        if name == "summary.json" == spoiled and random.random() < 0.8:
            content = json.dumps(mutated_tree(random, json.loads(content))).encode()
        elif name == "scene.toml" == spoiled:
            content = spoiled_toml(random, content.decode()).encode("utf-8", "surrogatepass")
        elif name == spoiled:
            content = mutated_bytes(random, content)
        (folder / name).write_bytes(content)
    if random.random() < 0.1:
        (folder / spoiled).unlink()

    drawn = random.random() < 0.05  # pictures take a second

    def attempt() -> None:
        run = report.load_motion(folder)
        if drawn:
            report.page(run)
        ps.Trajectory.load(folder).thinned(10.0)

    return attempt


def model_inside(random: Random, folder: Path) -> Attempt:
    """A trajectory's file whose model is spoiled, so that nothing else is wrong; what is read is shown and cut up."""
    import h5py

    path = folder / "run.h5"
    path.write_bytes(saved_run()["trajectory.h5"])
    with h5py.File(path, "a") as opened:
        file: Any = opened  # h5py types an entry as group, set or type alike
        tree = json.loads(file["model/tree"][()].tobytes())
        text = json.dumps(mutated_tree(random, tree, random.choice([1, 2, 5]))).encode()
        del file["model/tree"]
        file.create_dataset("model/tree", data=bytearray(text))

    def attempt() -> None:
        run = ps.Trajectory.load(path)
        for show in (repr, ps.Trajectory._repr_html_):
            show(run)
        for name in run.parts:
            run[name].thinned(10.0)
        ps.forward_kinematics(run.model, run.q, run.model.bodies[-1].name)

    return attempt


def checkpoint(random: Random, folder: Path) -> Attempt:
    """The tree of a checkpoint spoiled and its checksum made right again, so that nothing but its content is wrong."""
    from phistar.sim.scenes.checkpoint import MAGIC

    payload = saved_run()["checkpoint"].partition(b"\n")[2]
    end = 8 + int.from_bytes(payload[:8], "little")
    tree, held = payload[8:end], payload[end:]
    if random.random() < 0.8:
        tree = json.dumps(mutated_tree(random, json.loads(tree), 2)).encode()
    else:
        tree, held = mutated_bytes(random, tree), mutated_bytes(random, held)
    payload = len(tree).to_bytes(8, "little") + tree + held
    if random.random() < 0.1:
        payload = mutated_bytes(random, payload)
    (folder / "checkpoint").write_bytes(MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
    (folder / "scene.toml").write_text(SCENE)
    return lambda: _resumed(folder)


def _resumed(folder: Path) -> None:
    _scene(str(folder)).run(resume=folder)


@cache
def _scene(folder: str) -> Any:
    return ps.Scene.load(Path(folder) / "scene.toml")


def trajectory(random: Random, folder: Path) -> Attempt:
    """A motion in a file: entries renamed, dropped, exchanged for others of any kind, size and shape."""
    import h5py

    path = folder / "motion.h5"
    path.write_bytes(saved_run()["trajectory.h5"])
    with h5py.File(path, "a") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(random.choice([1, 1, 2, 5])):
            _change_entry(random, file, random.choice(names))

    def attempt() -> None:
        run = ps.Trajectory.load(path)
        for show in (repr, ps.Trajectory._repr_html_):
            show(run)
        run.thinned(10.0)

    return attempt


def _change_entry(random: Random, file: Any, name: str) -> None:
    import h5py
    import numpy as np

    try:
        entry: Any = file[name]
    except (KeyError, OSError):  # changed before, or a link that leads nowhere
        return
    match random.randrange(7):
        case 0:
            del file[name]
        case 1:
            file.move(name, f"{name}_")
        case 2:
            del file[name]
            file[name] = random.choice([h5py.ExternalLink("/etc/passwd", "/"), h5py.SoftLink("/"), np.zeros(3)])
        case 3 | 4:
            shape = random.choice([(), (0,), (3,), (2, 0), (3, 7), (10**9,), (10**4, 10**5)])
            del file[name]
            kind = random.choice(["f8", "i1", "S3", "f2"])
            file.create_dataset(name, shape, kind, chunks=True if np.prod(shape) > 10**6 else None)
        case 5:
            for key in [*entry.attrs][:1]:
                entry.attrs[key] = random.choice([0, -1, "x", 2**62, np.nan, b"\xff"])
        case _ if (
            isinstance(entry, h5py.Dataset) and entry.dtype.kind == "f" and entry.shape and int(entry.size or 0) < 10**6
        ):
            entry[...] = random.choice([np.nan, np.inf, -np.inf, 1e4, 0.0, -1.0])


@cache
def _certificate() -> dict[str, Any]:
    algebra = ps.algebra()
    return json.loads(json.dumps((algebra.I + algebra.H @ algebra.phi @ algebra.K).inv.derivation().certificate()))


def certificate(random: Random, folder: Path) -> Attempt:
    """A derivation's certificate, spoiled: it does not hold, or what was spoiled proves nothing."""
    from phistar.cli.checker import check_certificate

    path = folder / "proof.json"
    if random.random() < 0.9:
        path.write_text(json.dumps(mutated_tree(random, _certificate(), 2)))
    else:
        path.write_bytes(mutated_bytes(random, json.dumps(_certificate()).encode()))
    return lambda: check_certificate(path, 1)
