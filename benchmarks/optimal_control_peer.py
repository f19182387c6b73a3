"""The peer's side of benchmarks/optimal_control.py, run by an interpreter that has crocoddyl and mim_solvers.

    python benchmarks/optimal_control_peer.py TASK.json MOTION.npz

Prints one JSON line: its own cost of our motion, the greatest gap it sees in it, and for each of its solvers cost,
iterations, seconds (least processor time of several) and whether it says that it is solved.
"""

import json
import sys
import time
from pathlib import Path

import crocoddyl  # pyright: ignore[reportMissingImports]
import numpy as np
import pinocchio as pin  # pyright: ignore[reportMissingImports]

task = json.loads(Path(sys.argv[1]).read_text())
ours = np.load(sys.argv[2])


def acrobot():
    model, rod = pin.Model(), pin.Inertia(1.0, np.array([0, 0, -0.5]), np.diag([1 / 12, 1 / 12, 1e-3]))
    first = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "upper")
    model.appendBodyToJoint(first, rod, pin.SE3.Identity())
    second = model.addJoint(first, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0, 0, -1.0])), "lower")
    model.appendBodyToJoint(second, rod, pin.SE3.Identity())
    return model


def loaded(name):
    import example_robot_data  # pyright: ignore[reportMissingImports]

    return example_robot_data.load(name).model


model = acrobot() if task["robot"] == "acrobot" else loaded(task["robot"])
data, free = model.createData(), model.nq != model.nv
places = [model.getJointId(name) for name in task["joints"]]  # of ours, in their order, a free base left out


def coordinates(q):
    """Our coordinates in the peer's order: a free base first, then joints by name."""
    made, at = np.zeros(model.nq), 7 if free else 0
    made[:at] = q[:at]
    for joint, value in zip(places, q[at:]):
        made[model.joints[joint].idx_q] = value
    return made


def rates(v):
    """Our rates in the peer's order: a free base's are [v; omega] there."""
    made, at = np.zeros(model.nv), 6 if free else 0
    made[:at] = np.concatenate([v[3:6], v[:3]]) if free else v[:0]
    for joint, value in zip(places, v[at:]):
        made[model.joints[joint].idx_v] = value
    return made


model.armature[:] = rates(np.array(task["armature"]))  # its loader adds some that the file does not have
data = model.createData()
start = np.concatenate([coordinates(np.array(task["start"])), np.zeros(model.nv)])
raised = start[: model.nq] + (0.3 if task["robot"] == "acrobot" else 0.0)
load = pin.computeGeneralizedGravity(model, data, raised)
assert np.abs(load).max() > 1.0, "the peer has lost gravity"
assert np.abs(pin.aba(model, data, raised, np.zeros(model.nv), load)).max() < 1e-8
state = crocoddyl.StateMultibody(model)


class Elbow(crocoddyl.ActuationModelAbstract):
    """The force of the elbow alone."""

    def __init__(self, state):
        super().__init__(state, 1)

    def calc(self, data, x, u):
        data.tau[:] = [0.0, u[0]]

    def calcDiff(self, data, x, u):
        data.dtau_du[:] = [0.0, 1.0]


if task["robot"] == "acrobot":
    actuation = Elbow(state)
else:
    actuation = (crocoddyl.ActuationModelFloatingBase if free else crocoddyl.ActuationModelFull)(state)


def costs(entries):
    made = crocoddyl.CostModelSum(state, actuation.nu)
    for number, (kind, w, *more) in enumerate(entries):
        if kind == "place":
            point = model.getFrameId(more[0])
            residual = crocoddyl.ResidualModelFrameTranslation(state, point, np.array(more[1])[:3, 3], actuation.nu)
        elif kind == "turn":
            point = model.getFrameId(more[0])
            residual = crocoddyl.ResidualModelFrameRotation(state, point, np.array(more[1])[:3, :3], actuation.nu)
        elif kind == "control":
            residual = crocoddyl.ResidualModelControl(state, actuation.nu)
        else:
            rest = np.concatenate([coordinates(np.array(more[0])), np.zeros(model.nv)])
            residual = crocoddyl.ResidualModelState(state, rest, actuation.nu)
            weights = crocoddyl.ActivationModelWeightedQuad(
                np.concatenate([rates(np.array(more[1])), rates(np.array(more[2]))])
            )
            made.addCost(str(number), crocoddyl.CostModelResidual(state, weights, residual), w)
            continue
        made.addCost(str(number), crocoddyl.CostModelResidual(state, residual), w)
    return made


def action(entries, step):
    return crocoddyl.IntegratedActionModelEuler(
        crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, costs(entries)), step
    )


knots = task["knots"]
problem = crocoddyl.ShootingProblem(
    start, [action(task["running"], task["step"])] * knots, action(task["terminal"], 0.0)
)
problem.nthreads = 1
xs = [np.concatenate([coordinates(q), rates(v)]) for q, v in zip(ours["q"], ours["v"])]
first = 6 if free else 0
us = [u if task["robot"] == "acrobot" else rates(np.concatenate([np.zeros(first), u]))[first:] for u in ours["u"]]
cost = problem.calc(xs, us)
gaps = max(np.abs(state.diff(x, d.xnext)).max() for x, d in zip(xs[1:], problem.runningDatas))


def solved(make, settings):
    solver = make(problem)
    for name, value in settings.items():
        setattr(solver, name, value)
    guess = [start] * (knots + 1)
    held = (
        [np.zeros(actuation.nu)] * knots if task["robot"] == "acrobot" else list(problem.quasiStatic([start] * knots))
    )
    best, told = np.inf, False
    for _ in range(task["repeats"]):
        began = time.process_time()
        told = solver.solve(guess, held, task["iterations"], False)
        best = min(best, time.process_time() - began)
    return [solver.cost, solver.iter + 1, best, bool(told)]


found = {"FDDP": solved(crocoddyl.SolverFDDP, {"th_stop": 1e-9})}
if task["robot"] == "acrobot":
    import mim_solvers  # pyright: ignore[reportMissingImports]

    found["mim_solvers SQP"] = solved(mim_solvers.SolverSQP, {"termination_tolerance": 1e-6})
    found["mim_solvers FDDP"] = solved(mim_solvers.SolverFDDP, {"th_stop": 1e-9})
print(json.dumps([cost, float(gaps), found]))
