"""Optimal control beside Crocoddyl's FDDP: the same reach, knots, costs, guess and stop; processor time, one thread.

    python benchmarks/optimal_control.py [--crocoddyl PYTHON]

PYTHON is an interpreter that has crocoddyl 3.2.1 with pin 4.0.0 (with pin 4.1.0 it drops gravity without a word). The
peer's own cost of our motion, and the gaps it sees in it, are printed: both must agree before a time means anything.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

import phistar as ps

STEP, KNOTS, REPEATS = 0.01, 100, 20
ROBOTS = {
    "ur5": ("tool0", [0.0, -1.2, 1.2, -1.0, -1.0, 0.0]),
    "panda": ("panda_hand_tcp", [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.0, 0.0]),
}
PEER = """
import json, sys, time
import crocoddyl, example_robot_data, numpy as np, pinocchio as pin
name, frame, start, target, file = json.loads(sys.argv[1])
model = example_robot_data.load(name).model
data, still = model.createData(), np.array(start)
weight = pin.computeGeneralizedGravity(model, data, still)
pushed = pin.aba(model, data, still, np.zeros(model.nv), weight)
assert np.abs(weight).max() > 1.0 and np.abs(pushed).max() < 1e-9, "the peer has lost gravity"
state, target = crocoddyl.StateMultibody(model), np.array(target)
actuation, point = crocoddyl.ActuationModelFull(state), model.getFrameId(frame)
rest = np.concatenate([start, np.zeros(model.nv)])
def costs(weight):
    made = crocoddyl.CostModelSum(state, actuation.nu)
    place = crocoddyl.ResidualModelFrameTranslation(state, point, target[:3, 3], actuation.nu)
    turn = crocoddyl.ResidualModelFrameRotation(state, point, target[:3, :3], actuation.nu)
    posture = crocoddyl.ResidualModelState(state, rest, actuation.nu)
    effort = crocoddyl.ResidualModelControl(state, actuation.nu)
    for number, (each, w) in enumerate([(place, weight), (turn, weight), (posture, 0.1), (effort, 1e-4)]):
        made.addCost(str(number), crocoddyl.CostModelResidual(state, each), w)
    return made
def action(weight, step):
    return crocoddyl.IntegratedActionModelEuler(
        crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs(weight)), step)
problem = crocoddyl.ShootingProblem(rest, [action(1.0, STEP)] * KNOTS, action(1e3, 0.0))
problem.nthreads = 1
ours = np.load(file)
xs, us = list(np.hstack([ours["q"], ours["v"]])), list(ours["u"])
cost = problem.calc(xs, us)
gaps = max(np.abs(state.diff(x, d.xnext)).max() for x, d in zip(xs[1:], problem.runningDatas))
solver = crocoddyl.SolverFDDP(problem)
solver.th_stop = 1e-9
guess, held = [rest] * (KNOTS + 1), list(problem.quasiStatic([rest] * KNOTS))
best = np.inf
for _ in range(REPEATS):
    began = time.process_time()
    solver.solve(guess, held, 200, False)
    best = min(best, time.process_time() - began)
print(json.dumps([cost, float(gaps), solver.cost, solver.iter + 1, best]))
"""


def reach(name: str) -> tuple[ps.optimize.Problem, list]:
    """The problem, and what the peer is told of it."""
    frame, start = ROBOTS[name]
    model = ps.load(name).tree
    goal = np.array(start)
    goal[:6] += [0.6, 0.5, -0.4, 0.5, -0.3, 0.6]
    target, o = ps.forward_kinematics(model, goal, frame), ps.optimize

    def costs(weight: float) -> list[ps.optimize.Cost]:
        return [o.frame_pose(frame, target, weight), o.joint_position(start, 0.1), o.joint_velocity(0.1)]

    running, terminal = [*costs(1.0), o.control(1e-4)], costs(1e3)
    made = o.problem(model, start, dt=STEP, steps=KNOTS, running=running, terminal=terminal, passive=False)
    return made, [name, frame, start, target.tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description="Optimal control beside Crocoddyl's FDDP")
    parser.add_argument("--crocoddyl", default=sys.executable, help="an interpreter that has crocoddyl")
    python = parser.parse_args().crocoddyl
    for name in ROBOTS:
        problem, told = reach(name)
        found, best = problem.solve(), np.inf
        for _ in range(REPEATS):
            began = time.process_time()
            found = problem.solve()
            best = min(best, time.process_time() - began)
        print(f"{name}: cost {found.cost:.9f}, {found.iterations} iterations, {1e3 * best:.2f} ms", end="")
        print(f", {1e6 * best / found.iterations:.0f} us each; {found.reason}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "motion.npz"
            np.savez(file, q=found.q, v=found.v, u=found.u)
            source = PEER.replace("KNOTS", str(KNOTS)).replace("STEP", str(STEP)).replace("REPEATS", str(REPEATS))
            done = subprocess.run(
                [python, "-c", source, json.dumps([*told, str(file)])], capture_output=True, text=True
            )
        if done.returncode:
            print(f"  no comparison: {done.stderr.strip().splitlines()[-1]} (give --crocoddyl an interpreter with it)")
            continue
        cost, gaps, peer, iterations, seconds = json.loads(done.stdout.splitlines()[-1])
        print(f"  in Crocoddyl: cost {cost:.9f} (its own {peer:.9f}), greatest gap {gaps:.1e}")
        print(f"  Crocoddyl: {iterations} iterations, {1e3 * seconds:.2f} ms", end="")
        print(f"; {seconds / best:.1f} x in all, {seconds / iterations / (best / found.iterations):.1f} x an iteration")


if __name__ == "__main__":
    main()
