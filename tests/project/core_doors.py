"""Run in an environment that has phistar without its extras: the core works, and every door says what it lacks.

Prints one line a door: its name, "ok" or what is wrong. `test_installed.py` runs it.
"""

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np

import phistar as ps

ARM = ps.load("puma560")
FOLDER = Path(tempfile.mkdtemp())
STILL = np.zeros((3, 6))
RUN = ps.Trajectory(ARM, np.arange(3.0), STILL, STILL)
URDF = """<robot name="bar"><link name="base"/><link name="tip"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/></joint></robot>"""
SDF = """<sdf version="1.9"><model name="bar"><link name="tip"><inertial><mass>1</mass></inertial></link>
<joint name="hinge" type="revolute"><parent>world</parent><child>tip</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>"""


STL = """solid bar
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid bar
"""


def file(name, text):
    (FOLDER / name).write_text(text)
    return FOLDER / name


def plant_step():
    plant = ps.Plant()
    plant.add_body("ground", ps.Plane(), free=False)
    plant.add_body("ball", ps.Sphere(0.1), inertia=1.0, at=ps.Pose(xyz=(0, 0, 0.5)))
    return ps.simulate(plant, 0.01)


def report():
    from phistar.view import report

    report.write(RUN, FOLDER / "report.html")


def campaign_page():
    from phistar.view import campaign_page

    campaign_page.write(FOLDER)


# What works with the core alone.
WORKS = {
    "dynamics": lambda: ps.forward_dynamics(ARM, STILL, STILL, STILL),
    "urdf": lambda: ps.load(file("bar.urdf", URDF.format(shape=""))),
    "sdf": lambda: ps.load(file("bar.sdf", SDF)),
    "derivation": lambda: ps.forward_dynamics.statement.derivation(),
    "simulate": lambda: ps.simulate(ps.chain(3), np.zeros(3), np.zeros(3), 0.1),
    "plant": plant_step,
    "rollout": lambda: ps.rollout(ARM, np.zeros(6), np.zeros(6), dt=1e-3, steps=3, limits="ignore"),
    "compiled": lambda: ps.compile(ps.mass_matrix, ARM),
    "export": lambda: ps.export_c(ps.mass_matrix, ARM, FOLDER / "c"),
    "inverse kinematics": lambda: ps.control.inverse_kinematics(
        ARM, ps.forward_kinematics(ARM, np.full(6, 0.3), "tool"), "tool", np.full(6, 0.2)
    ),
    "optimal control": lambda: ps.optimize.problem(
        ps.chain(2), np.zeros(2), dt=0.02, steps=5, running=[ps.optimize.control(1.0)], terminal=[]
    ).solve(),
    "picture": lambda: ps.view.render(ARM, np.zeros(6), (32, 24)),
    "models": lambda: ps.load(ps.save(ARM, FOLDER / "arm.json")),
}

# What needs an extra, and which.
LACKS = {
    "mjcf": ("mjcf", lambda: ps.load(file("bar.xml", "<mujoco><worldbody><body/></worldbody></mujoco>"))),
    "xacro": ("xacro", lambda: ps.load(file("bar.urdf.xacro", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"/>'))),
    "usd": ("usd", lambda: ps.load(file("bar.usda", "#usda 1.0"))),
    "mesh": ("sim", lambda: ps.Mesh(str(file("bar.stl", STL))).read()),
    "scene": ("sim", lambda: ps.Scene.load("grapple")),
    "plant file": ("sim", lambda: ps.Plant.load(file("bar.toml", 'format_version = 1\nname = "x"'))),
    "save": ("sim", lambda: RUN.save(FOLDER / "run")),
    "campaign": ("sim", lambda: ps.campaign("grapple", 2)),
    "mcap": ("mcap", lambda: ps.write_mcap(RUN, FOLDER / "run.mcap")),
    "rerun": ("rerun", lambda: ps.view.write_rerun(RUN, FOLDER / "run.rrd")),
    "xarray": ("xarray", lambda: RUN.to_xarray()),
    "plot": ("plot", lambda: RUN.plot()),
    "operator picture": ("plot", lambda: ps.view.operator_picture(ps.chain(3), "mass")),
    "symbolic": ("symbolic", lambda: ps.symbolic(ps.chain(2), ps.mass_matrix).matrix()),
    "film": ("film", lambda: ps.view.film(RUN, FOLDER / "run.mp4", (32, 24))),
    "gif": ("film", lambda: ps.view.film(RUN, FOLDER / "run.gif", (32, 24))),
    "viewer": ("view", lambda: ps.view.Viewer(ARM)),
    "replay": ("view", lambda: ps.view.replay.write(RUN, FOLDER / "replay.html")),
    "report": ("view", report),
    "campaign page": ("sim", campaign_page),
    "gym": ("gym", lambda: import_module("phistar.gym")),
    "gym_plants": ("gym", lambda: import_module("phistar.gym_plants")),
    "jax": ("jax", lambda: import_module("phistar.jax")),
    "torch": ("torch", lambda: import_module("phistar.torch")),
}


def works(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def says(extra, call):
    try:
        call()
    except ps.PhistarError as error:
        wanted = f"pip install 'phistar[{extra}]'"
        return "ok" if wanted in str(error).replace('"', "'") else f"does not name {wanted}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "needs no extra"


if __name__ == "__main__":
    for name, call in WORKS.items():
        print(f"{name}: {works(call)}")
    for name, (extra, call) in LACKS.items():
        print(f"{name}: {says(extra, call)}")
    command = subprocess.run([sys.executable, "-m", "phistar"], capture_output=True, text=True)
    said = "pip install 'phistar[cli]'" in command.stderr and command.returncode == 1
    print(f"command line: {'ok' if said else command.stderr}")
