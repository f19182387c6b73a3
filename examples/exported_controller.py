"""The controller of the simulation is that of the robot: one law, in a rollout and as C99, compared sample by sample.

WD89 ends with it: "once the simulation results are acceptable, the controller code from the simulation is transferred".
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import phistar as ps

model, frame = ps.load("puma560_akb"), "tool"
rest = np.array([0.0, -0.7, 0.5, 0.3, 0.9, -0.2])
law = ps.control.OperationalSpaceControl(model, frame, kp=100)
goal = ps.forward_kinematics(model, rest, frame)
goal[:3, 3] += [0.08, -0.12, 0.1]
reference = law.reference(goal, posture=rest)

# In simulation: compiled into the rollout.
STEPS = 1500
run = ps.rollout(model, rest, np.zeros(6), dt=1e-3, steps=STEPS, controller=law, parameters=reference)
simulated = ps.compile(law)(run.t, run.q, run.v, reference)


def exported(folder: Path, compiler: str):
    """The law as a function of C: written out, compiled, loaded."""
    files = ps.export_c(law, model, folder, name="tip_law")
    print("wrote", ", ".join(path.name for path in files))
    library = folder / "tip_law.so"
    command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(folder / "tip_law.c"), "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(library)).tip_law
    function.restype = None

    def call(*arrays):
        out = np.zeros(model.nv)
        held = [np.ascontiguousarray(x, dtype=float) for x in (*arrays, out)]
        function(*(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in held))
        return held[-1]

    return call


compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
if compiler is None:
    print("There is no C compiler (cc, gcc or clang) on this machine, so the C file is not tried; install one.")
else:
    with tempfile.TemporaryDirectory() as folder:
        tip_law = exported(Path(folder), compiler)
        on_robot = np.array([tip_law([t], q, v, reference) for t, q, v in zip(run.t, run.q, run.v, strict=True)])
    difference = np.abs(on_robot - simulated)
    print(f"{STEPS + 1} samples of {model.nv} joint forces, up to {np.abs(simulated).max():.1f} N m:")
    print(f"C and the compiled rollout differ by at most {difference.max():.0e} N m")
error = np.linalg.norm(ps.forward_kinematics(model, run.q[-1], frame)[:3, 3] - goal[:3, 3])
print(f"the tip ends {1e6 * error:.1f} µm from its goal")
