"""Every function of a model in `ps.control`, `ps.estimation`, `ps.freeflying`, `ps.optimize` and `ps.identify`, on a
mechanism with loops: an answer that closures do not change, the closed chain's, or a refusal by name."""

import inspect

import numpy as np
import pytest

import phistar as ps
from tests.loops.mechanisms import four_bar, two_arms
from tests.trees import relative

ROOMS = ("control", "estimation", "freeflying", "optimize", "identify")


class Arms:
    """Two arms that hold each other, at a closed state; `free`: on a base that floats."""

    def __init__(self, free):
        rng = np.random.default_rng(0)
        self.model = model = two_arms(ps.Spherical(), seed=3, links=4, floating=free)
        self.q = q = ps.assemble(model, model.random(3))
        self.v = ps.loops.assemble_velocity(model, q, 0.3 * rng.standard_normal(model.nv))
        self.a, self.tau, self.w, self.other = rng.standard_normal((4, model.nv))
        self.joints, self.push = rng.standard_normal(model.nv - 6), rng.standard_normal(6)
        self.log = [np.stack([x] * 40) for x in (q, self.v, self.a, self.tau)]
        self.rows = ps.loops.closure_jacobian(model, q)
        self.rng, self.frame, self.pose = rng, "left tip", ps.forward_kinematics(model, q, "left tip")


def _same(room, name, *arguments):
    """Answers that closures do not change: those of the spanning tree."""

    def check(c):
        given = [getattr(c, x) for x in arguments]
        ours, want = (getattr(getattr(ps, room), name)(x, *given) for x in (c.model, c.model.tree))
        for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (ours, want)), strict=True):
            assert relative(np.asarray(one), np.asarray(other)) < 1e-12

    return check


def _refused(call):
    def check(c):
        with pytest.raises(ps.PhistarError, match=r"loops|closed|model\.tree|model\.embedded"):
            call(c)

    return check


def _mobility(c):
    return ps.mobility(c.model, c.q, c.frame)


def _tasks(c):
    task = ps.control.FrameTask(c.frame, c.pose @ ps.Pose((0.01, 0, 0)).matrix)
    rates = ps.control.task_rates(c.model, c.q, [task], 0.1)
    assert np.abs(c.rows @ rates).max() < 1e-9 < np.abs(rates).max()


def _task_solution(c):
    goal = c.model.integrate(c.q, 0.05 * ps.loops.closed_rates(c.model, c.q) @ c.a)
    goal = ps.assemble(c.model, goal)
    pose = ps.forward_kinematics(c.model, goal, c.frame)
    found = ps.control.solve_tasks(c.model, [ps.control.FrameTask(c.frame, pose)], c.q)
    assert found.success and np.abs(ps.loop_residual(c.model, found.q)).max() < 1e-6


def _directional(c):
    along = np.array([0.0, 0.0, 1.0])
    found = ps.control.effective_mass(c.model, c.q, c.frame, along)
    assert relative(found, 1.0 / (along @ _mobility(c)[3:, 3:] @ along)) < 1e-8


def _free_motion(c):
    found = ps.freeflying.forward_dynamics(c.model, c.q, c.v, c.joints)
    pushed = np.concatenate([np.zeros(6), c.joints])
    assert relative(found, ps.forward_dynamics(c.model, c.q, c.v, pushed)) < 1e-8


def _without_reaction(c):
    projector = ps.freeflying.reaction_null_space(c.model, c.q)
    assert np.abs(ps.freeflying.wiggle_jacobian(c.model, c.q)[:3] @ projector).max() < 1e-9
    assert np.abs(c.rows[:, 6:] @ projector).max() < 1e-9 < np.abs(projector).max()


def _inverse(c):
    found = ps.freeflying.inverse_dynamics(c.model, c.q, c.v, c.joints)
    want = ps.freeflying.inverse_dynamics(c.model.tree, c.q, c.v, c.joints)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, want)), strict=True):
        assert relative(np.asarray(one), np.asarray(other)) < 1e-12


control, estimation, freeflying, optimize, identify = (getattr(ps, room) for room in ROOMS)
TABLE = {
    "control": {
        "coriolis_product": _same("control", "coriolis_product", "q", "v", "other"),
        "diagonalized": _refused(lambda c: control.diagonalized(c.model, c.q, c.v)),
        "dynamic_feedback": _same("control", "dynamic_feedback", "q", "v", "a"),
        "dynamic_manipulability": lambda c: control.dynamic_manipulability(c.model, c.q, c.frame),
        "effective_mass": _directional,
        "forces_of_innovations": _refused(lambda c: control.forces_of_innovations(c.model, c.q, c.tau)),
        "gathered": _same("control", "gathered", "q", "link_forces", "tau"),
        "innovations_of_forces": _refused(lambda c: control.innovations_of_forces(c.model, c.q, c.tau)),
        "inverse_kinematics": _refused(lambda c: control.inverse_kinematics(c.model, c.pose, c.frame)),
        "manipulability": lambda c: control.manipulability(c.model, c.q, c.frame),
        "operational_forces": _refused(
            lambda c: control.operational_forces(c.model, c.q, c.v, c.a, c.push, c.push, c.frame)
        ),
        "rates_of_residuals": _refused(lambda c: control.rates_of_residuals(c.model, c.q, c.v)),
        "reference_dynamics": _same("control", "reference_dynamics", "q", "v", "other", "a"),
        "resolved_acceleration": _refused(
            lambda c: control.resolved_acceleration(c.model, c.q, c.v, c.a, c.push, c.frame)
        ),
        "solve_tasks": _task_solution,
        "task_rates": _tasks,
    },
    "estimation": {
        "acceleration_parts": _refused(lambda c: estimation.acceleration_parts(c.model, c.q, c.v, c.tau)),
        "closed_form_inverse": _refused(lambda c: estimation.closed_form_inverse(c.model, c.q)),
        "composite_bodies": _refused(lambda c: estimation.composite_bodies(c.model, c.q)),
        "covariances": _refused(lambda c: estimation.covariances(c.model, c.q)),
        "forward_dynamics": _refused(lambda c: estimation.forward_dynamics(c.model, c.q, c.v, c.tau)),
        "forward_errors": _refused(lambda c: estimation.forward_errors(c.model, c.q, c.tau)),
        "generalized_momentum": _same("estimation", "generalized_momentum", "q", "v"),
        "momentum_forces": _refused(lambda c: estimation.momentum_forces(c.model, c.q, c.v)),
        "observability": _refused(lambda c: estimation.observability(c.model, c.q, c.frame)),
        "observability_gramian": _refused(lambda c: estimation.observability_gramian(c.model, c.q, c.frame)),
        "precise_forward_dynamics": _refused(lambda c: estimation.precise_forward_dynamics(c.model, c.q, c.v, c.tau)),
        "sample_configurations": _refused(lambda c: estimation.sample_configurations(c.model, 3)),
        "sample_joint_forces": _refused(lambda c: estimation.sample_joint_forces(c.model, c.q, 3, c.rng)),
        "sample_link_forces": _refused(lambda c: estimation.sample_link_forces(c.model, c.q, 3, c.rng)),
        "scanned_forward_dynamics": _refused(lambda c: estimation.scanned_forward_dynamics(c.model, c.q, c.v, c.tau)),
        "self_motions": _refused(lambda c: estimation.self_motions(c.model, c.q, c.frame)),
        "state_space": _refused(lambda c: estimation.state_space(c.model, c.q, c.v)),
    },
    "freeflying": {
        **{
            name: _same("freeflying", name, "q", "v") for name in ("center_of_mass_frame", "momentum", "rigid_velocity")
        },
        **{name: _same("freeflying", name, "q", "joints") for name in ("joint_momentum", "wiggle_velocity")},
        **{name: _same("freeflying", name, "q") for name in ("mass_at_base", "mass_matrix", "wiggle_jacobian")},
        "energy": _same("freeflying", "energy", "q", "v"),
        "forward_dynamics": _free_motion,
        "generalized_jacobian": _same("freeflying", "generalized_jacobian", "q", "frame"),
        "inverse_dynamics": _inverse,
        "joint_count": _same("freeflying", "joint_count"),
        "reaction_null_space": _without_reaction,
    },
    "optimize": {
        "forward_dynamics_hessian": _refused(
            lambda c: optimize.forward_dynamics_hessian(c.model, c.q, c.v, c.tau, c.w)
        ),
    },
    "identify": {
        "base_parameters": _refused(lambda c: identify.base_parameters(c.model)),
        "captured_inertia": _refused(lambda c: identify.captured_inertia(c.model, "left3", *c.log[:2])),
        "excitation": _refused(lambda c: identify.excitation(four_bar(), 1.0, samples=20, candidates=2)),
        "fit": _refused(lambda c: identify.fit(c.model, *c.log)),
    },
}
OTHER = {
    "control": {"joint_trajectory", "plot_monitors", "task_space"},  # between coordinates; a picture; of any task
    "estimation": {"propagated_gains"},  # of serial chains alone, as it says
    "freeflying": set(),
    "optimize": {"joint_limits", "problem"},  # rows of limits; tests/optimize has problems with loops
    "identify": set(),
}


@pytest.mark.parametrize("room", ROOMS)
def test_the_table_has_every_function_of_a_model(room):
    found = set()
    for name in getattr(ps, room).__all__:
        function = getattr(getattr(ps, room), name)
        if callable(function) and not inspect.isclass(function):
            found |= {name} if list(inspect.signature(function).parameters)[:1] == ["model"] else set()
    assert found == TABLE[room].keys() | OTHER[room]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("room", ROOMS)
def test_answers_are_the_closed_chains_or_refused_by_name(room):
    arms, wrong = Arms(room == "freeflying"), {}
    arms.link_forces = arms.rng.standard_normal(6 * len(arms.model.bodies))
    for function, check in TABLE[room].items():
        try:
            check(arms)
        except Exception as error:
            wrong[function] = f"{type(error).__name__}: {error}"
    assert not wrong, wrong
