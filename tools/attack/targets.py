"""What is attacked: for each kind of file a whole one, spoiled by chance, and the call that reads it."""

import hashlib
import json
import struct
import tomllib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import phistar as ps
from phistar.sim.scenes.toml import text_of
from tools.attack.mutate import WORDS, mutated_bytes, mutated_tree, mutated_xml, odd_value

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
Attempt = Callable[[], object]
SIDECAR = """
format_version = 1
[[frame]]
name = "end"
link = "rim"
xyz = [1.0, 0.0, 0.0]
[[loop]]
name = "closure"
frame_a = "end"
frame_b = "base"
type = "revolute"
axis = [0.0, 0.0, 1.0]
"""
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


SDF = b"""<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity>
<model name="arm"><pose>0 0 1 0 0 0.1</pose><frame name="f" attached_to="base"><pose>0 0 1 0 0 0</pose></frame>
<link name="base"><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
<visual name="v"><geometry><box><size>1 1 1</size></box></geometry>
<material><diffuse>1 0 0 1</diffuse></material></visual></link>
<link name="tip"><pose relative_to="base">1 0 0 0 0 0</pose><inertial><pose>0.1 0 0 0 0 0</pose>
<mass>1</mass></inertial>
<collision name="c"><geometry><plane><normal>0 1 0</normal></plane></geometry></collision></link>
<link name="end"><pose relative_to="f">1 1 0 0 0 0</pose></link>
<joint name="j" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower>
<upper>1e16</upper><effort>-1</effort></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="k" type="ball"><parent>tip</parent><child>end</child></joint>
<joint name="close" type="fixed"><parent>end</parent><child>base</child></joint></model>
<model name="floor"><static>1</static><link name="slab"/></model></world></sdf>"""


def sdf(random: Random, folder: Path) -> Attempt:
    content = SDF
    if random.random() < 0.4:  # words between tags
        words = content.decode().split(" ")
        words[random.randrange(len(words))] = random.choice(WORDS).replace("<", "")
        content = " ".join(words).encode("utf-8", "replace")
    else:
        content = spoiled_text(random, content)
    path = folder / "robot.sdf"
    path.write_bytes(content)
    floating = random.random() < 0.3
    return lambda: _usable(_without_warnings(lambda: ps.load(path, floating=floating)))


def spoiled_text(random: Random, content: bytes) -> bytes:
    """XML changed as a document, or byte by byte."""
    return mutated_xml(random, content) if random.random() < 0.7 else mutated_bytes(random, content)


def robot_file(pattern: str) -> Callable[[Random, Path], Attempt]:
    def case(random: Random, folder: Path) -> Attempt:
        seeds = sorted(DATA.glob(pattern), key=lambda path: path.stat().st_size)
        seed = seeds[0] if random.random() < 0.9 else random.choice(seeds)  # the smallest has a bit of everything
        path = folder / f"robot{seed.suffix}"
        path.write_bytes(spoiled_text(random, seed.read_bytes()))
        floating = random.random() < 0.3
        return lambda: _usable(_without_warnings(lambda: ps.load(path, floating=floating)))

    return case


def _usable(model: Any) -> None:
    """A model that can be asked for states, without a warning of NumPy's."""
    assert model.random(0).shape == model.neutral().shape == (model.nq,)


def _without_warnings(load: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return load()


def sidecar(random: Random, folder: Path) -> Attempt:
    path = folder / "loops.toml"
    path.write_text(_spoiled_toml(random, SIDECAR), "utf-8", errors="surrogatepass")
    return lambda: ps.load(DATA / "urdf" / "features.urdf", loops=path)


def _spoiled_toml(random: Random, text: str) -> str:
    if random.random() < 0.2:
        return mutated_bytes(random, text.encode()).decode("utf-8", "replace")
    try:
        return text_of(mutated_tree(random, tomllib.loads(text)))
    except (TypeError, AttributeError, RecursionError):  # no longer a tree that TOML can hold
        return text


def scene(random: Random, folder: Path) -> Attempt:
    path = folder / "scene.toml"
    path.write_text(_spoiled_toml(random, SCENE), "utf-8", errors="surrogatepass")
    return lambda: ps.Scene.load(path)


ROW = {"a": 0.1, "alpha": 0.2, "d": 0.3, "theta": 0.4, "joint": "revolute", "mass": 1.0, "limits": (-1.0, 1.0)}


def dh_table(random: Random, folder: Path) -> Attempt:
    rows: Any = [
        mutated_tree(random, ROW, 2) if random.random() < 0.7 else dict(ROW) for _ in range(random.randint(0, 3))
    ]
    given: dict[str, Any] = {}
    for name in ("convention", "name", "gravity", "strict"):
        if random.random() < 0.15:
            given[name] = odd_value(random)
    if random.random() < 0.1:
        rows = odd_value(random)
    return lambda: ps.from_dh(rows, **given)


@cache
def _meshes() -> dict[str, bytes]:
    import trimesh

    box = trimesh.creation.box((1.0, 2.0, 3.0))
    made = {}
    for kind in ("stl", "stl_ascii", "obj", "ply", "off", "glb", "dae"):
        content = box.export(file_type=kind)
        made[kind] = content if isinstance(content, bytes) else str(content).encode()
    return made


def mesh(random: Random, folder: Path) -> Attempt:
    kind = random.choice(sorted(_meshes()))
    content = bytes(_meshes()[kind])
    if kind == "glb" and random.random() < 0.6:
        content = _spoiled_glb(random, content)
    elif kind == "dae" and random.random() < 0.6:
        content = mutated_xml(random, content)
    else:
        content = mutated_bytes(random, content)
    path = folder / f"mesh.{kind.partition('_')[0]}"
    path.write_bytes(content)
    return lambda: ps.Polytope.hull(ps.Mesh(str(path)))


def _spoiled_glb(random: Random, content: bytes) -> bytes:
    size = struct.unpack_from("<I", content, 12)[0]
    text = json.dumps(mutated_tree(random, json.loads(content[20 : 20 + size]))).encode()
    text += b" " * (-len(text) % 4)
    rest = content[20 + size :]
    return struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest


@cache
def _run() -> dict[str, bytes]:
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
    for name, content in _run().items():
        if name == "summary.json" == spoiled and random.random() < 0.8:
            content = json.dumps(mutated_tree(random, json.loads(content))).encode()
        elif name == "scene.toml" == spoiled:
            content = _spoiled_toml(random, content.decode()).encode("utf-8", "surrogatepass")
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
    path.write_bytes(_run()["trajectory.h5"])
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

    payload = _run()["checkpoint"].partition(b"\n")[2]
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


# Each kind with its share of the cases: scenes and checkpoints build worlds and take long.
TARGETS: dict[str, tuple[Callable[[Random, Path], Attempt], int]] = {
    "urdf": (robot_file("urdf/*.urdf"), 30),
    "mjcf": (robot_file("mjcf/*.xml"), 20),
    "sdf": (sdf, 6),
    "dh": (dh_table, 8),
    "sidecar": (sidecar, 8),
    "mesh": (mesh, 16),
    "scene": (scene, 6),
    "run": (run_folder, 4),
    "model inside": (model_inside, 2),
    "checkpoint": (checkpoint, 2),
}
