"""Robots under attack: URDF, MJCF, SDF, xacro, tables of Denavit and Hartenberg, sidecars of loops."""

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import phistar as ps
from tools.attack.mutate import WORDS, Attempt, mutated_bytes, mutated_tree, mutated_xml, odd_value, spoiled_toml

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
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
MORE = b'<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="u" value="1"/></robot>'
XACRO = b"""<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="0.5"/><xacro:property name="length" value="${2 * radians(90) / pi * 0.25}"/>
<xacro:property name="sizes" value="${[1, 2, [3, 'a'], dict(a=1)]}"/><xacro:property name="word" value="${'a' + 'b'}c"/>
<xacro:macro name="part" params="name parent far:=1 *place **more"><link name="${name}">
<inertial><mass value="${length + sizes[1]}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<xacro:insert_block name="more"/></link>
<joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/>
<xacro:insert_block name="place"/><axis xyz="0 0 ${far}"/></joint></xacro:macro><link name="base"/>
<xacro:part name="a" parent="base"><origin xyz="$(arg reach) 0 ${length}"/><more><visual><geometry><sphere radius="1"/>
</geometry></visual></more></xacro:part><xacro:if value="${length &lt; 2 and word == 'abc'}">
<xacro:part name="b" parent="a" far="${max(1, 2) ** 2}"><origin xyz="1 0 0"/><more/></xacro:part></xacro:if>
<xacro:unless value="0"><xacro:include filename="more.xacro"/></xacro:unless></robot>"""


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


def xacro(random: Random, folder: Path) -> Attempt:
    content = XACRO
    if random.random() < 0.4:  # what expressions are made of
        words = content.decode().split(" ")
        words[random.randrange(len(words))] = random.choice(
            [*WORDS, "${[a, a]}", "${name}", "$(arg x)", "**", "**9999"]
        )
        content = " ".join(words).encode("utf-8", "replace")
    else:
        content = spoiled_text(random, content)
    (folder / "more.xacro").write_bytes(MORE)
    path = folder / "robot.urdf.xacro"
    path.write_bytes(content)
    return lambda: _usable(_without_warnings(lambda: ps.load(path)))


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


@cache
def _model_tree() -> Any:
    """The tree of the file of a mechanism with loops."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model.json"
        ps.save(ps.load("wd89_fig1"), path)
        return json.loads(path.read_text("utf-8"))


def model_file(random: Random, folder: Path) -> Attempt:
    """A model in a file of its own."""
    path = folder / "model.json"
    content = json.dumps(mutated_tree(random, _model_tree(), random.choice([1, 2, 5]))).encode()
    path.write_bytes(content if random.random() < 0.9 else mutated_bytes(random, content))

    def attempt() -> None:
        model = _without_warnings(lambda: ps.load(path))
        _usable(model)
        if model.bodies:
            ps.forward_kinematics(model, model.neutral(), model.bodies[-1].name)

    return attempt


def sidecar(random: Random, folder: Path) -> Attempt:
    path = folder / "loops.toml"
    path.write_text(spoiled_toml(random, SIDECAR), "utf-8", errors="surrogatepass")
    return lambda: ps.load(DATA / "urdf" / "features.urdf", loops=path)


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
