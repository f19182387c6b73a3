"""Optimal control beside Crocoddyl and mim_solvers: the same problems, knots, costs, guess and stop; one thread.

    python benchmarks/optimal_control.py [--peer PYTHON] [--only NAME]

PYTHON is an interpreter that has crocoddyl 3.2.1 and mim_solvers with pin 4.0.0 (with pin 4.1.0 crocoddyl drops gravity
without a word). The peer's own cost of our motion, and the gaps it sees in it, are printed: both must agree before a
time means anything. Reaches of UR5 and Panda, Talos in the air (100 knots), an acrobot's swing-up (200).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["PHISTAR_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

import phistar as ps
from phistar.cli.benchmark.robots import FILES

PEER = Path(__file__).with_name("optimal_control_peer.py")
REPEATS = 20
ARMS = {
    "ur5": ("tool0", [0.0, -1.2, 1.2, -1.0, -1.0, 0.0]),
    "panda": ("panda_hand_tcp", [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.0, 0.0]),
}


def made(model: ps.Model, start: Any, running: list, terminal: list, **more: Any) -> tuple[ps.optimize.Problem, dict]:
    """The problem, and what the peer is told of it; entries are (kind, weight, …) as its side reads them."""
    o, told = ps.optimize, {"start": list(start), "running": running, "terminal": terminal}
    told["armature"] = model.armature.tolist()
    told["joints"] = [joint.name for joint in model.joints if joint.nv < 6]

    def costs(entries: list) -> list[ps.optimize.Cost]:
        found = []
        for kind, weight, *given in entries:
            if kind == "place":
                found.append(o.frame_position(given[0], np.array(given[1])[:3, 3], weight))
            elif kind == "turn":
                found.append(o.frame_pose(given[0], np.array(given[1]), weight * np.array([1, 1, 1, 0, 0, 0.0])))
            elif kind == "control":
                found.append(o.control(weight))
            else:
                found.append(o.joint_position(given[0], weight * np.array(given[1])))
                found.append(o.joint_velocity(weight * np.array(given[2])))
        return found

    told |= {"knots": more["steps"], "step": more["dt"]}
    return o.problem(model, start, running=costs(running), terminal=costs(terminal), passive=False, **more), told


def arm(name: str) -> tuple[ps.optimize.Problem, dict]:
    frame, start = ARMS[name]
    model, goal = ps.load(name).tree, np.array(start)
    goal[:6] += [0.6, 0.5, -0.4, 0.5, -0.3, 0.6]
    pose, every = ps.forward_kinematics(model, goal, frame).tolist(), [1.0] * model.nv
    posture = ["state", 0.1, start, every, every]
    running = [["place", 1.0, frame, pose], ["turn", 1.0, frame, pose], posture, ["control", 1e-4]]
    terminal = [["place", 1e3, frame, pose], ["turn", 1e3, frame, pose], posture]
    return made(model, start, running, terminal, dt=0.01, steps=100)


def talos() -> tuple[ps.optimize.Problem, dict]:
    """It falls, and turns a hand as it does; the base goes where it must."""
    model, frame = FILES["talos"](), "arm_left_7_link"
    start = model.neutral()
    goal = start.copy()
    for name, angle in (("arm_left_1_joint", 0.5), ("arm_left_2_joint", 0.6), ("arm_left_4_joint", -0.9)):
        goal[model.joint(name).q_slice] = angle
    pose = ps.forward_kinematics(model, goal, frame).tolist()
    places, turns = [1.0] * 3 + [0.0] * 3 + [1.0] * (model.nv - 6), [1.0] * 3 + [0.0] * 3 + [1.0] * (model.nv - 6)
    posture = ["state", 0.1, start.tolist(), places, turns]
    running = [["turn", 1.0, frame, pose], posture, ["control", 1e-4]]
    terminal = [["turn", 1e3, frame, pose], posture]
    return made(model, start, running, terminal, dt=0.01, steps=100)


def acrobot() -> tuple[ps.optimize.Problem, dict]:
    rod, hinge = ps.Inertia(1.0, (0, 0, -0.5), np.diag([1 / 12, 1 / 12, 1e-3])), ps.Revolute(axis=(0, 1, 0))
    builder = ps.ModelBuilder("acrobot")
    builder.body("upper", joint=hinge, inertia=rod)
    builder.body("lower", parent="upper", joint=hinge, placement=ps.Pose(xyz=(0, 0, -1.0)), inertia=rod)
    upright, one = [np.pi, 0.0], [1.0, 1.0]
    running = [["control", 0.1], ["state", 0.1, upright, one, [0.0, 0.0]]]
    terminal = [["state", 1e3, upright, one, [0.1, 0.1]]]
    return made(builder.build(), [0.0, 0.0], running, terminal, dt=0.02, steps=200, actuated=["lower"])


def peers(python: str, told: dict, found: ps.optimize.Solution) -> tuple[float, float, dict] | str:
    """The peer's view of our motion, and its own; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        task, motion = Path(folder) / "task.json", Path(folder) / "motion.npz"
        task.write_text(json.dumps(told))
        np.savez(motion, q=found.q, v=found.v, u=found.u)
        libraries = [str(p) for p in Path(python).parent.parent.glob("lib/python*/site-packages/cmeel.prefix/lib")]
        around = os.environ | {"LD_LIBRARY_PATH": ":".join(libraries), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([python, PEER, task, motion], capture_output=True, text=True, env=around)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def compare(name: str, problem: ps.optimize.Problem, told: dict, python: str) -> None:
    swing = name == "acrobot"
    settings = {"iterations": 500, "tolerance": 1e-12 if swing else 1e-9, "second_order": swing}
    repeats = 3 if name == "talos" or swing else REPEATS
    told |= {"robot": name, "iterations": settings["iterations"], "repeats": repeats}
    found, best = problem.solve(**settings), np.inf
    for _ in range(repeats):
        began = time.process_time()
        found = problem.solve(**settings)
        best = min(best, time.process_time() - began)
    print(f"{name}: cost {found.cost:.9f}, {found.iterations} iterations, {1e3 * best:.2f} ms", end="")
    print(f", {1e6 * best / found.iterations:.0f} us each; {found.reason}")
    made = peers(python, told, found)
    if isinstance(made, str):
        print(f"  no comparison: {made} (give --peer an interpreter that has crocoddyl)")
        return
    cost, gaps, solvers = made
    print(f"  in Crocoddyl our motion costs {cost:.9f}, its greatest gap is {gaps:.1e}")
    for solver, (own, iterations, seconds, solved) in solvers.items():
        print(f"  {solver}: cost {own:.9f}, {iterations} iterations, {1e3 * seconds:.2f} ms", end="")
        each = seconds / iterations / (best / found.iterations)
        ratio = (
            "" if swing else f"; {seconds / best:.1f} x in all, {each:.1f} x an iteration"
        )  # its motor is Python there
        print(f"{'' if solved else ' (not solved)'}{ratio}; ours costs {found.cost - own:+.1e} more")


def main() -> None:
    parser = argparse.ArgumentParser(description="Optimal control beside Crocoddyl and mim_solvers")
    parser.add_argument("--peer", default=sys.executable, help="an interpreter that has crocoddyl and mim_solvers")
    tasks = {"ur5": lambda: arm("ur5"), "panda": lambda: arm("panda"), "talos": talos, "acrobot": acrobot}
    parser.add_argument("--only", choices=sorted(tasks))
    chosen = parser.parse_args()
    for name, make in tasks.items():
        if chosen.only in (None, name):
            compare(name, *make(), chosen.peer)


if __name__ == "__main__":
    main()
