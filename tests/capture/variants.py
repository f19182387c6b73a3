"""Scenes of captures beyond two arms and one body: one arm, three arms, meshes, a spacecraft whose parts move."""

import copy
from pathlib import Path

import numpy as np

import phistar as ps

SIZE = 0.4
POSTS = [
    {"name": "post1", "box": [0.03, 0.08, 0.03], "xyz": [0.105, -0.23, 0.0]},
    {"name": "post2", "box": [0.03, 0.08, 0.03], "xyz": [-0.105, -0.23, 0.0]},
]
HANDLE = {"name": "handle", "box": [0.24, 0.03, 0.03], "xyz": [0.0, -0.285, 0.0]}


def satellite_of(content):
    return next(part for part in content["parts"] if part["name"] == "satellite")


def changed(name, **satellite):
    """A bundled scene whose satellite is another."""
    made = copy.deepcopy(dict(ps.Scene.load(name).content))
    satellite_of(made).update(satellite)
    return made


def ring(radius=0.17, segments=12, height=0.07):
    """An adapter ring of flat segments before the face −y: 20 mm thick, standing off by 50 mm."""
    width = 2.0 * radius * np.tan(np.pi / segments)
    found = [{"name": "satellite", "box": [SIZE] * 3}]
    for number in range(segments):
        angle = 2.0 * np.pi * number / segments
        place = [radius * np.cos(angle), -0.2 - 0.05 - height / 2, radius * np.sin(angle)]
        found.append(
            {
                "name": f"segment{number}",
                "box": [0.02, height, float(width)],
                "xyz": [float(x) for x in place],
                "rpy": [0.0, -angle, 0.0],
            }
        )
    for number in range(4):
        angle = np.pi / 2 * number + np.pi / 12
        place = [radius * np.cos(angle), -0.225, radius * np.sin(angle)]
        found.append({"name": f"foot{number}", "box": [0.02, 0.06, 0.02], "xyz": [float(x) for x in place]})
    return found


def round_handle():
    """The bundled grapple-handle, whose handle is a round bar."""
    bar = {"name": "handle", "capsule": [0.015, 0.24], "xyz": HANDLE["xyz"], "rpy": [0.0, float(np.pi / 2), 0.0]}
    made = changed("grapple-handle", shapes=[{"name": "satellite", "box": [SIZE] * 3}, bar, *POSTS])
    made["controller"]["heaviest"] = 200.0
    return made | {"name": "round-handle"}


def sphere_with_handle():
    """A ball with a bar before it, on two posts that enter it."""
    posts = [{**post, "box": [0.03, 0.12, 0.03], "xyz": [post["xyz"][0], -0.21, 0.0]} for post in POSTS]
    return [{"name": "satellite", "sphere": 0.2}, HANDLE, *posts]


def three_arms(target=None):
    """The bundled grapple with a third PUMA above the target."""
    made = copy.deepcopy(dict(ps.Scene.load("grapple").content))
    parts = {part["name"]: part for part in made["parts"]}
    arm, hand = copy.deepcopy(parts["left"]), copy.deepcopy(parts["left_hand"])
    joints = [arm["q"][0] - np.pi / 2 + 2.0 * np.pi, *arm["q"][1:]]
    arm.update(name="third", xyz=[arm["xyz"][0], 0.0, 0.8], q=[round(float(x), 4) for x in joints])
    hand.update(name="third_hand", parent="third/tool")
    for shape in hand["shapes"]:
        shape["name"] = shape["name"].replace("left", "third")
    made["parts"] = [*made["parts"][:-1], arm, hand, made["parts"][-1]]
    fingers = [f"third_finger{number}" for number in (1, 2, 3)]
    made["controller"]["hands"].append({"name": "third", "frame": "third/tool", "fingers": fingers})
    made["controller"]["torque_limit"] += made["controller"]["torque_limit"][:6]
    made["task"]["hands"].append("third/tool")
    made["task"]["fingers"] += fingers
    made["ignored"] += [["third/link5", "third/link3"], ["third/link6", "third/link4"]]
    own = [copy.deepcopy(sensor) for sensor in made["sensors"] if str(sensor["name"]).startswith("left")]
    for sensor in own:
        sensor["name"] = sensor["name"].replace("left", "third")
        for key in ("part", "frame"):
            if key in sensor:
                sensor[key] = sensor[key].replace("left", "third")
        if "shapes" in sensor:
            sensor["shapes"] = fingers
    made["sensors"] = [*own, *made["sensors"]]
    if target is not None:
        satellite_of(made)["shapes"] = target
    return made | {"name": "three-arms"}


def following():
    """The bundled grapple-free, whose satellite drifts fast and whose base goes along with it by its thrusters."""
    made = changed("grapple-free", velocity={"vector": [0.05, 0.05]})
    fields = {field["kind"]: copy.deepcopy(field) for field in ps.Scene.load("grapple-spacecraft").content["fields"]}
    jets = fields["thrusters"]
    for jet in jets["thrusters"]:
        jet["force"] = 25.0
    keeping = {"kind": "station_keeping", "period": 0.25, "attitude_gains": [0.005, 0.15], "station_gains": [0.0, 1.5]}
    made["controller"]["settle"] = 4.0  # until then it has caught up
    return made | {"name": "following", "fields": [jets, keeping | {"follow": "satellite"}]}


def write_mesh(folder):
    """FOLDER/satellite.obj: a bus with two panels, each a closed box."""
    lines, count = [], 0
    for size, middle in (((SIZE,) * 3, (0, 0, 0)), ((0.02, 0.3, 0.2), (0, 0, 0.3)), ((0.02, 0.3, 0.2), (0, 0, -0.3))):
        corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
        lines += ["v " + " ".join(f"{c * s + m:.6f}" for c, s, m in zip(p, size, middle)) for p in corners]
        for a, b, c, d in ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)):
            lines += [f"f {count + a} {count + b} {count + c}", f"f {count + a} {count + c} {count + d}"]
        count += 8
    (Path(folder) / "satellite.obj").write_text("\n".join(lines) + "\n", "utf-8")


MESH = [{"name": "satellite", "pieces": "satellite.obj"}]


def write_bus(folder):
    """FOLDER/bus.json: a hinged panel on a spring, propellant that sloshes, and a wheel that turns."""
    builder = ps.ModelBuilder("bus", gravity=(0, 0, 0))
    hinge = ps.Revolute((0, 0, 1), stiffness=8.0, damping=0.5, limits=(-1.0, 1.0), effort=0.0)
    panel = ps.Inertia(6.0, (0, 0.4, 0), np.diag([0.4, 0.05, 0.4]))
    builder.body("panel", "world", hinge, placement=ps.Pose(xyz=(-1.6, 1.25, 0.0)), inertia=panel)
    slide = ps.Prismatic((0, 1, 0), stiffness=30.0, damping=2.0, limits=(-0.2, 0.2), effort=0.0)
    tank = ps.Pose(xyz=(-1.2, 0.0, 0.0))
    builder.body("propellant", "world", slide, placement=tank, inertia=ps.Inertia(20.0, (0, 0, 0), 0.1 * np.eye(3)))
    rotor = ps.Inertia(4.0, (0, 0, 0), np.diag([0.02, 0.02, 0.04]))
    spin = ps.Revolute((0, 0, 1), effort=0.0)
    builder.body("wheel", "world", spin, placement=ps.Pose(xyz=(-1.4, 0.3, 0.0)), inertia=rotor)
    ps.save(builder.build(), Path(folder) / "bus.json")


def spacecraft(folder):
    """The bundled grapple-free, with such parts on its base."""
    write_bus(folder)
    made = changed("grapple-free")
    bus = {"name": "bus", "robot": "bus.json", "parent": "base", "v": [0.02, 0.01, 50.0]}
    made["parts"] = [*made["parts"][:-1], bus, made["parts"][-1]]
    return made | {"name": "spacecraft"}
