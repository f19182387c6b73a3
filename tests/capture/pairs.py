"""Scenes of two arms of any kind before a target of any shape, made from the bundled grapple.

python -m tests.capture.pairs FOLDER ARM TARGET        writes FOLDER/ARM-TARGET.toml, for `phistar campaign`
"""

import copy
import sys
from itertools import product
from pathlib import Path

import numpy as np

import phistar as ps
from phistar.control.arm_solutions import arm_solutions
from phistar.sim.scenes.toml import text_of

UPRIGHT = [0.0, 1.5707963267948966, 0.0]
GRIP = 0.2  # m from the end of an arm to its fingertips
SIZE = 0.4

ARMS = {  # robot, its last frame, its first one, where the first arm stands, the target's middle
    "puma": ("puma560", "tool", "world", [-0.67183, -0.8, 0.0], [0.462, 0.0, 0.0]),
    "ur5": ("ur5", "tool0", "base_link", [0.0, -0.8, 0.0], [0.45, 0.0, 0.0]),
    "panda": ("panda_arm.urdf", "flange", "world", [0.0, -0.8, 0.0], [0.55, 0.0, 0.0]),
}


def hexagon(radius=0.21, height=SIZE):
    ring = [(radius * np.cos(a), radius * np.sin(a)) for a in np.pi / 3 * np.arange(6)]
    return [[float(x), float(y), z] for x, y in ring for z in (-height / 2, height / 2)]


TARGETS = {
    "box": [{"name": "satellite", "box": [SIZE] * 3}],
    "cylinder": [{"name": "satellite", "cylinder": [SIZE / 2, SIZE]}],
    "prism": [{"name": "satellite", "points": hexagon()}],
    "ball": [{"name": "satellite", "sphere": SIZE / 2}],
    "panels": [
        {"name": "satellite", "box": [SIZE, SIZE, SIZE]},
        {"name": "panel1", "box": [0.02, 0.3, 0.2], "xyz": [0.0, 0.0, 0.3]},
        {"name": "panel2", "box": [0.02, 0.3, 0.2], "xyz": [0.0, 0.0, -0.3]},
    ],
}


def home(model, frame, base, mount, target, side):
    """Joints of an arm whose hand looks at the target's middle from beside it, far from all limits."""
    pose, solver = ps.Pose(xyz=target).matrix, arm_solutions(model, frame, base)
    pose[:3, :3] = np.stack([[0.0, 0.0, 1.0], np.cross([0.0, -side, 0.0], [0.0, 0.0, 1.0]), [0.0, -side, 0.0]], axis=-1)
    places = np.tile(pose, (18, 1, 1))
    for number, (away, back, up) in enumerate(product((0.16, 0.2), (0.0, 0.15, 0.3), (0.0, 0.15, 0.3))):
        places[number, :3, 3] += [-back, side * (SIZE / 2 + away + GRIP), up]
    found = solver.solutions(np.linalg.inv(ps.Pose(xyz=mount, rpy=UPRIGHT).matrix) @ places).reshape(
        -1, len(model.joints)
    )
    low, high = np.maximum(model.lower_limits, -3.1), np.minimum(model.upper_limits, 3.1)
    room = np.minimum(found - low, high - found)[..., :-1].min(axis=-1)
    best = found[np.nanargmax(np.where(np.isfinite(room), room, -np.inf))].copy()
    best[-1] = 0.5 * (low[-1] + high[-1])
    return [round(float(angle), 4) for angle in best]


CAPSULES = {  # of the Panda's links: radius, length and middle, along z
    1: (0.07, 0.15, (0.0, 0.0, -0.15)),
    2: (0.07, 0.12, (0.0, 0.0, 0.0)),
    3: (0.065, 0.12, (0.0, 0.0, -0.12)),
    4: (0.065, 0.10, (-0.04, 0.03, 0.0)),
    5: (0.06, 0.14, (0.0, 0.0, -0.2)),
    6: (0.05, 0.08, (0.04, 0.0, 0.0)),
    7: (0.045, 0.03, (0.0, 0.0, 0.05)),
}


def write_panda_arm(folder):
    """The Panda that `ps.load` finds, without its gripper and with capsules that collide, as FOLDER/panda_arm.urdf."""
    model, lines = ps.load("panda"), ['<robot name="panda_arm"><link name="panda_link0"/>']
    for number, body in enumerate(model.bodies[:7], 1):
        own, turn, place = body.inertia, body.placement.rotation, body.placement.translation
        roll, yaw = np.arctan2(turn[2, 1], turn[2, 2]), np.arctan2(turn[1, 0], turn[0, 0])
        pitch = np.arctan2(-turn[2, 0], np.hypot(turn[0, 0], turn[1, 0]))
        radius, length, middle = CAPSULES[number]
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = own.tensor.tolist()
        at = number - 1
        lines.append(
            f'<link name="panda_link{number}"><inertial><origin xyz="{own.com[0]} {own.com[1]} {own.com[2]}"/>'
            f'<mass value="{own.mass}"/><inertia ixx="{xx}" ixy="{xy}" ixz="{xz}" iyy="{yy}" iyz="{yz}" izz="{zz}"/>'
            f'</inertial><collision name="l{number}"><origin xyz="{middle[0]} {middle[1]} {middle[2]}"/><geometry>'
            f'<capsule radius="{radius}" length="{length}"/></geometry></collision></link>'
            f'<joint name="panda_joint{number}" type="revolute"><origin xyz="{place[0]} {place[1]} {place[2]}" '
            f'rpy="{roll} {pitch} {yaw}"/><parent link="panda_link{at}"/><child link="panda_link{number}"/>'
            f'<axis xyz="0 0 1"/><limit lower="{model.lower_limits[at]}" upper="{model.upper_limits[at]}" '
            f'effort="{model.effort_limits[at]}" velocity="{model.velocity_limits[at]}"/>'
            '<dynamics damping="0.003" friction="0"/></joint>'
        )
    lines.append(
        '<link name="flange"/><joint name="flange_joint" type="fixed"><origin xyz="0 0 0.107"/>'
        '<parent link="panda_link7"/><child link="flange"/></joint></robot>'
    )
    (Path(folder) / "panda_arm.urdf").write_text("\n".join(lines), "utf-8")


def content(arm, target, folder, **satellite):
    """What such a scene file says."""
    made = copy.deepcopy(dict(ps.Scene.load("grapple").content))
    robot, frame, base, mount, middle = ARMS[arm]
    parts = {part["name"]: part for part in made["parts"]}
    if arm == "panda":
        write_panda_arm(folder)
    if arm != "puma":
        model = ps.load(str(Path(folder) / robot) if robot.endswith("urdf") else robot)
        sides = ("left", "right") if arm == "ur5" else ()  # whose hulls overlap where the links pass each other
        made["ignored"] = [[f"{side}/forearm_link", f"{side}/wrist_2_link"] for side in sides]
        made["controller"].pop("torque_limit")
        for side, name in ((-1.0, "left"), (1.0, "right")):
            place = [mount[0], side * abs(mount[1]), mount[2]]
            own = {"robot": robot, "xyz": place, "q": home(model, frame, base, place, middle, side)}
            parts[name].update(own | ({"meshes": "hull"} if robot == "ur5" else {}))
            parts[f"{name}_hand"]["parent"] = f"{name}/{frame}"
        names = {f"{side}/tool": f"{side}/{frame}" for side in ("left", "right")}
        for table in (*made["controller"]["hands"], *made["sensors"]):
            if "frame" in table:
                table["frame"] = names[table["frame"]]
        made["task"]["hands"] = [names[each] for each in made["task"]["hands"]]
        parts = {part["name"]: part for part in made["parts"]}
        parts["satellite"]["xyz"] = [{"uniform": [x - 0.05, x + 0.05]} for x in middle]
    parts["satellite"]["shapes"] = TARGETS[target]
    parts["satellite"].update(satellite)
    return made | {"name": f"{arm}-{target}"}


if __name__ == "__main__":
    folder, arm, target = sys.argv[1:]
    (Path(folder) / f"{arm}-{target}.toml").write_text(text_of(content(arm, target, folder)), "utf-8")
