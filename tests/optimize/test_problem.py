"""Optimal control: derivatives against differences, optima against the definition, limits, constraints, sentences."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import phistar as ps
from phistar.optimize.contracted_hessian import add_curvature
from phistar.optimize.quadratic import CostKernel
from phistar.optimize.transition import Transition
from phistar.second_derivatives import _products, contracted_tensors
from phistar.steps.sweep import RiccatiSweep

o = ps.optimize


def acrobot():
    rod = ps.Inertia(1.0, com=(0, 0, -0.5), tensor=np.diag([1 / 12, 1 / 12, 1e-3]))
    hinge = ps.Revolute(axis=(0, 1, 0))
    builder = ps.ModelBuilder("acrobot")
    builder.body("upper", joint=hinge, inertia=rod)
    builder.body("lower", parent="upper", joint=hinge, placement=ps.Pose(xyz=(0, 0, -1.0)), inertia=rod)
    builder.frame("tip", body="lower", placement=ps.Pose(xyz=(0, 0, -1.0)))
    return builder.build()


def floating():
    builder = ps.ModelBuilder("floating", gravity=(0, 0, -1.0))
    builder.body("base", joint=ps.Free(), inertia=ps.Inertia(2.0, (0.1, 0, 0), np.diag([0.3, 0.4, 0.5])))
    arm = ps.Inertia(0.5, (0, 0, 0.3), 0.02 * np.eye(3))
    builder.body("arm", parent="base", joint=ps.Revolute(axis=(0, 1, 0), damping=0.2, stiffness=1.0), inertia=arm)
    builder.frame("hand", body="arm", placement=ps.Pose(xyz=(0, 0.1, 0.4)))
    return builder.build()


def moved(model, q, v, u, change):
    nv = model.nv
    return model.integrate(q, change[:nv]), v + change[nv : 2 * nv], u + change[2 * nv :]


@pytest.mark.parametrize("make", [acrobot, floating])
def test_steps_have_the_derivatives_of_differences(make):
    model, rng = make(), np.random.default_rng(0)
    nv = model.nv
    transition, h = Transition(model, np.eye(nv)[:, -1:], True), np.array([0.1])
    q, v, u = model.random(rng), rng.normal(size=nv), rng.normal(size=1)
    sweep = RiccatiSweep(1, 2 * nv, 1, transition.places, transition.curved)
    transition.linear(q[None], v[None], u[None], h, sweep)
    after = transition.after(q[None], v[None], u[None], h)

    def away(change):
        there = transition.after(*(x[None] for x in moved(model, q, v, u, change)), h)
        return np.concatenate([model.difference(after[0], there[0])[0], (there[1] - after[1])[0]])

    eps = 1e-6
    columns = [(away(eps * e) - away(-eps * e)) / (2 * eps) for e in np.eye(2 * nv + 1)]
    assert np.allclose(step_matrices(sweep)[0], np.stack(columns, axis=1), atol=1e-7)


def step_matrices(sweep):
    """[A, B] (N, n, n + m) of a sweep's steps: where unit states and controls go."""
    one, made = RiccatiSweep(1, sweep.n, sweep.m, sweep.places, sweep.curved), []
    for k in range(sweep.steps):
        for name in ("by_q", "by_v", "by_force", *(("carried", "spread") if sweep.curved else ())):
            one.table(name)[:] = sweep.table(name)[k]
        one.vector("h")[:], columns = sweep.vector("h")[k], []
        for unit in np.eye(sweep.n + sweep.m):
            one.table("gain")[0, :, -1] = -unit[sweep.n :]
            one.forward(unit[: sweep.n])
            columns.append(one.vector("x")[1].copy())
        made.append(np.stack(columns, axis=1))
    return np.stack(made)


@pytest.mark.parametrize("make", [acrobot, floating])
@pytest.mark.parametrize("bounded", [False, True])
def test_a_mechanisms_sweep_is_that_of_its_matrices(make, bounded):
    model, rng, N = make(), np.random.default_rng(3), 5
    nv = model.nv
    transition, h = Transition(model, np.eye(nv)[:, -2:], True), rng.uniform(0.05, 0.1, N)
    sweep = RiccatiSweep(N, 2 * nv, 2, transition.places, transition.curved)
    transition.linear(model.random(rng, (N,)), rng.normal(size=(N, nv)), rng.normal(size=(N, 2)), h, sweep)
    plain = RiccatiSweep(N, 2 * nv, 2)
    both = step_matrices(sweep)
    plain.table("A")[:], plain.table("B")[:] = both[..., : 2 * nv], both[..., 2 * nv :]
    root = rng.normal(size=(N + 1, 2 * nv + 2, 2 * nv + 2))
    for each in (sweep, plain):
        each.table("W")[:], each.vector("w")[:] = root @ np.swapaxes(root, 1, 2), root[:, 0]
        each.vector("c")[:] = root[:-1, 1, : 2 * nv]
        each.vector("low")[:], each.vector("high")[:] = -0.02, 0.03
        assert each.backward(bounded) is None
    for name in ("P", "K", "D"):
        scale = np.abs(plain.table(name)).max()
        assert np.allclose(sweep.table(name), plain.table(name), rtol=0, atol=1e-11 * scale)
    assert np.allclose(sweep.vector("p"), plain.vector("p"), rtol=1e-9, atol=1e-9)
    assert np.allclose(sweep.vector("d"), plain.vector("d"), rtol=1e-9, atol=1e-10)


def test_costs_have_the_gradients_of_differences():
    model, rng = floating(), np.random.default_rng(1)
    pose = ps.forward_kinematics(model, model.random(rng), "hand")
    costs = (
        o.frame_pose("hand", pose, np.arange(1.0, 7.0)),
        o.frame_position("hand", (0.1, 0.2, 0.3), 2.0),
        o.frame_motion("hand", 0.3),
        o.joint_position(model.random(rng), 0.5),
        o.joint_velocity(0.2),
        o.control(0.1, 1.0),
        o.spatial_momentum(0.7),
        o.mass_center((0.0, 0.0, 1.0)),
        o.residual(lambda q, v, u: np.stack([q[0] * v[1], np.sin(u[0])]), 0.4),
    )
    kernel = CostKernel(model, 1, costs)
    parameters = kernel.parameters(1)[0]
    q, v, u = model.random(rng), rng.normal(size=model.nv), rng.normal(size=1)
    cost, gradient, hessian = kernel.quadratic(q, v, u, parameters)
    assert cost == pytest.approx(kernel.value(q, v, u, parameters), rel=1e-13)

    def value(change):
        return kernel.value(*moved(model, q, v, u, change), parameters)[0]

    wanted = approx_fprime(np.zeros(2 * model.nv + 1), value, 1e-7)
    assert np.allclose(gradient, wanted, rtol=1e-4, atol=1e-4)
    assert np.allclose(hessian, hessian.T) and np.linalg.eigvalsh(hessian).min() > -1e-10


def test_a_linear_problem_is_solved_at_once_and_is_the_regulators():
    """A cart without gravity: one step of the method is the solution."""
    builder = ps.ModelBuilder("cart", gravity=(0, 0, 0))
    builder.body("cart", joint=ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    cart, h, N = builder.build(), 0.1, 30
    found = o.problem(
        cart,
        [1.0],
        [0.5],
        dt=h,
        steps=N,
        running=[o.control(0.1), o.joint_position([0.0])],
        terminal=[o.joint_position([0.0], 5.0), o.joint_velocity(5.0)],
    ).solve()
    A, B = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h / 2.0], [h / 2.0]])
    x, u = ps.control.lqr(A, B, h * np.diag([1.0, 0.0]), [[0.1 * h]], 5.0 * np.eye(2), steps=N).follow([1.0, 0.5])
    assert found.converged and found.iterations == 2
    assert np.allclose(found.u, u, atol=1e-6) and np.allclose(found.q, x[:, :1], atol=1e-6)


def test_the_acrobot_swings_up_in_two_hundred_knots():
    model = acrobot()
    upright = [np.pi, 0.0]
    problem = o.problem(
        model,
        [0.0, 0.0],
        dt=0.02,
        steps=200,
        actuated=["lower"],
        running=[o.control(0.1), o.joint_position(upright, 0.1)],
        terminal=[o.joint_position(upright, 1e3), o.joint_velocity(1e2)],
    )
    found = problem.solve(iterations=500, tolerance=1e-7)
    assert found.converged and found.gaps < 1e-9
    assert np.abs(found.q[-1] - upright).max() < 0.02 and np.abs(found.v[-1]).max() < 0.06
    again = problem.solve(found.q, found.v, found.u, tolerance=1e-7)
    assert again.converged and again.iterations <= 5 and again.cost == pytest.approx(found.cost, rel=1e-4)
    run = ps.rollout(model, [0, 0], [0, 0], found.tau, dt=0.02, method="euler")
    assert np.abs(run.q - found.q).max() < 1e-6


def test_limits_of_controls_are_kept_and_cost_something():
    model = acrobot()
    given = {"dt": 0.02, "steps": 60, "running": [o.control(1e-3)]}
    given["terminal"] = [o.joint_position([1.0, 0.5], 100.0), o.joint_velocity(10.0)]
    free = o.problem(model, [0, 0], **given).solve()
    high = 0.6 * np.abs(free.u).max(axis=0)
    found = o.problem(model, [0, 0], **given, limits=(-high, high)).solve()
    assert free.converged and found.converged
    assert (np.abs(found.u) <= high + 1e-12).all() and (np.abs(found.u) > high - 1e-9).any()
    assert found.cost > free.cost


def test_starting_with_gaps_leads_to_the_same_optimum():
    model = acrobot()
    given = {"dt": 0.02, "steps": 50, "running": [o.control(1e-2)]}
    problem = o.problem(model, [0, 0], **given, terminal=[o.joint_position([0.8, 0.3], 100.0), o.joint_velocity(10.0)])
    wanted = problem.solve()
    line = np.linspace([0, 0], [0.8, 0.3], 51)
    found = problem.solve(q=line)
    assert np.abs(problem.transition.gaps(*problem.guess(q=line), problem.h)).max() > 1e-3
    assert found.converged and found.gaps < 1e-9 and found.cost == pytest.approx(wanted.cost, rel=1e-6)


def test_constraints_are_met_and_change_the_motion():
    model = acrobot()
    given = {"dt": 0.02, "steps": 50, "running": [o.control(1e-2), o.joint_velocity(1e-2)]}
    given["terminal"] = [o.joint_velocity(1.0)]
    target = ps.forward_kinematics(model, [1.2, 0.4], "tip")[:3, 3]
    free = o.problem(model, [0, 0], **given, terminal_constraints=[o.frame_at("tip", target)]).solve(iterations=500)
    assert free.converged and free.violation <= 1e-6
    assert np.abs(ps.forward_kinematics(model, free.q[-1], "tip")[:3, 3] - target).max() <= 1e-6
    fast = 0.8 * np.abs(free.v[:, 0]).max()
    slow = o.constraint(lambda q, v, u: v[:1], -fast, fast, "slow shoulder")
    found = o.problem(
        model, [0, 0], **given, constraints=[slow], terminal_constraints=[o.frame_at("tip", target)]
    ).solve(iterations=1000)
    assert found.converged and np.abs(found.v[:-1, 0]).max() <= fast + 1e-6 and found.cost > free.cost


def test_one_bound_is_that_of_all_entries_and_a_row_of_each():
    slow = o.constraint(lambda q, v, u: v, -0.5, [0.5], "slow")
    made = o.problem(acrobot(), [0, 0], dt=0.05, steps=3, running=[o.control(1.0)], constraints=slow)
    assert made.constraints[0].upper.tolist() == [0.5, 0.5]
    assert made.solve(iterations=30).converged
    for wrong, said in (
        (
            o.constraint(lambda q, v, u: v, 0.0, [1.0, 2.0, 3.0], "three"),
            r"three gives shape \(2,\), its bounds have 3",
        ),
        (o.constraint(lambda q: q, 0.0, 1.0, "of q"), "of q does not fit"),
    ):
        with pytest.raises(ps.PhistarError, match=said):
            o.problem(acrobot(), [0, 0], dt=0.05, steps=3, running=[o.control(1.0)], constraints=wrong)


def test_an_infeasible_problem_says_which_constraint_and_by_how_much():
    far = o.frame_at("tip", (5.0, 0.0, 0.0))  # two metres is all it can reach
    found = o.problem(
        acrobot(), [0, 0], dt=0.05, steps=20, running=[o.control(1.0)], terminal_constraints=[far], terminal=[]
    ).solve(iterations=150)
    assert not found.converged and "cannot be met: 'tip at a place' is violated by" in found.reason
    assert found.violation > 2.9


def test_a_free_body_with_an_arm_turns_itself():
    model = floating().replace(gravity=(0, 0, 0))
    q0 = model.neutral()
    found = o.problem(
        model,
        q0,
        dt=0.05,
        steps=40,
        running=[o.control(1e-3)],
        terminal=[o.joint_position(model.integrate(q0, [0, 0, 0, 0, 0, 0, 0.8]), 100.0 * np.eye(7)[6])],
    ).solve()
    assert found.converged and abs(found.q[-1, -1] - 0.8) < 0.05
    assert np.abs(ps.momentum(model, found.q[-1], found.v[-1])).max() < 0.05  # kept but for the method's error


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"running": [], "terminal": []}, "without costs"),
        ({"running": [1.0]}, "is no Cost"),
        ({"limits": ([1.0, 1.0], [0.0, 2.0])}, "least force of upper, 1, is above"),
        ({"limits": "much"}, '"effort"'),
        ({"dt": -0.1}, "one positive length"),
        ({"actuated": ["elbow"]}, "elbow"),
        ({"q0": [np.nan, 0.0]}, "one finite state"),
    ],
)
def test_bad_problems_get_a_sentence(changed, said):
    given = {"q0": [0.0, 0.0], "dt": 0.1, "steps": 5, "running": [o.control(1.0)]} | changed
    with pytest.raises(ps.PhistarError, match=said):
        o.problem(acrobot(), **given)


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (lambda: o.joint_position([0.0, 0.0, 0.0]), "joint position"),
        (lambda: o.control(np.ones(5)), r"needs \(2,\)"),
        (lambda: o.control(-1.0), "negative"),
        (lambda: o.control("much"), "must be numbers"),
        (lambda: o.frame_pose("tip", np.eye(3)), r"\(4, 4\)"),
        (lambda: o.residual(lambda q, v, u: float(q[0])), "cannot be compiled"),
        (lambda: o.joint_velocity(1.0, v=np.zeros((3, 2))), "3 rows"),
    ],
)
def test_bad_costs_get_a_sentence(cost, said):
    with pytest.raises(ps.PhistarError, match=said):
        o.problem(acrobot(), [0, 0], dt=0.1, steps=5, running=[cost()]).solve()


def test_a_cost_that_no_control_changes_is_told():
    constant = o.residual(lambda q, v, u: np.ones(1))
    found = o.problem(acrobot(), [0, 0], dt=0.1, steps=5, running=[constant]).solve()
    assert not found.converged and "no cost depends on the controls" in found.reason


def test_controls_that_cost_nothing_themselves_are_named():
    """Where the search ends before it has found what they should be."""
    moved = o.problem(acrobot(), [0.1, 0], dt=0.1, steps=5, running=[o.joint_position([0.0, 0.0])])
    assert "does not depend on the controls of upper, lower, but for" in moved.solve(iterations=2).reason
    both = o.problem(acrobot(), [0.1, 0], dt=0.1, steps=5, running=[o.joint_position([0.0, 0.0]), o.control(1e-3)])
    assert both.solve(iterations=2).reason == "it stopped after 2 iterations"


def test_guesses_that_are_no_numbers_or_move_to_none_get_a_sentence():
    task = o.problem(acrobot(), [0, 0], dt=0.1, steps=5, running=[o.control(1.0)])
    q = np.zeros((6, 2))
    q[3] = np.nan
    with pytest.raises(ps.ShapeError, match="The guess of q is not finite at 1 knots, the first is 3"):
        task.solve(q=q)
    fast = task.starting_from([0.0, 0.0], [1e200, 0.0]).solve()
    assert not fast.converged and "step from knot 0 of the guess is not finite" in fast.reason


def test_casadi_functions_are_costs_and_constraints():
    casadi = pytest.importorskip("casadi")
    q, v, u = (casadi.SX.sym(name, 2) for name in "qvu")
    cost = casadi.Function("cost", [q, v, u], [casadi.vertcat(casadi.sin(q[0]), 0.1 * u)])
    limit = casadi.Function("limit", [q, v, u], [v[0]])
    given = [
        (cost, limit),
        (lambda q, v, u: np.concatenate([np.sin(q[:1]), 0.1 * u]), lambda q, v, u: v[:1]),
    ]
    found = [
        o.problem(
            acrobot(), [0.3, 0.1], dt=0.05, steps=8, running=[o.residual(a)], constraints=[o.constraint(b, -0.5, 0.5)]
        ).solve()
        for a, b in given
    ]
    assert all(each.converged for each in found) and np.abs(found[0].v[:, 0]).max() < 0.5 + 1e-5
    np.testing.assert_allclose(found[0].u, found[1].u, rtol=0, atol=1e-9)
    with pytest.raises(ps.PhistarError, match="columns q, v and u"):
        o.residual(casadi.Function("short", [q], [q]))


def test_threads_that_solve_one_problem_do_not_disturb_each_other():
    problem = o.problem(acrobot(), [0, 0], dt=0.02, steps=30, running=[o.control(1e-2), o.joint_position([0.5, 0.2])])
    starts = [np.array([0.1 * k, -0.05 * k]) for k in range(6)]
    alone = [problem.starting_from(q, np.zeros(2)).solve() for q in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda q: problem.starting_from(q, np.zeros(2)).solve(), starts))
    assert all(
        np.array_equal(a.u, b.u) and np.array_equal(a.gains, b.gains) for a, b in zip(alone, together, strict=True)
    )


def pinned():
    """Three links whose tip a pin holds: one way to move is left."""
    builder, rod = ps.ModelBuilder("pinned"), ps.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3))
    for k in range(3):
        parent = {} if k == 0 else {"parent": f"link{k - 1}"}
        place = ps.Pose(xyz=(1.0 if k else 0.0, 0, 0))
        builder.body(f"link{k}", joint=ps.Revolute(axis=(0, 1, 0)), placement=place, inertia=rod, **parent)
    builder.frame("tip", body="link2", placement=ps.Pose(xyz=(1.0, 0, 0)))
    builder.frame("pin", body="world", placement=ps.Pose(xyz=(1.0, 0, 0)))
    builder.loop("foot", "tip", "pin", joint=ps.Revolute(axis=(0, 1, 0)))
    return builder.build()


def test_what_stands_on_a_pin_moves_without_leaving_it():
    model = pinned()
    q = np.array([-np.pi / 2, np.pi / 2, np.pi / 2])  # a square
    assert np.allclose(ps.forward_kinematics(model, q, "tip")[:3, 3], [1, 0, 0])
    goal = ps.forward_kinematics(model, q, "link1")[:3, 3] + [0.2, 0.0, -0.02]
    costs = [o.control(1e-4), o.joint_velocity(1e-3)]
    stand = o.problem(model, q, dt=0.01, steps=40, running=costs, terminal=[o.frame_position("link1", goal, 1e3)])
    held = stand.guess()[2]
    assert np.abs(ps.forward_dynamics(model, q, np.zeros(3), held[0])).max() < 1e-9
    found = stand.solve()
    assert found.converged and found.gaps < 1e-12
    assert np.abs(ps.forward_kinematics(model, found.q[-1], "link1")[0, 3] - goal[0]) < 1e-2
    tips = ps.forward_kinematics(model, found.q, "tip")[:, :3, 3]
    assert np.abs(tips - [1.0, 0.0, 0.0]).max() < 5e-3


def test_second_derivatives_of_forward_dynamics_are_those_of_differences():
    model, rng = ps.load("puma560"), np.random.default_rng(0)
    nv = model.nv
    q, (v, tau, w) = model.random(rng), rng.normal(size=(3, nv))

    def slope(x):
        made = ps.forward_dynamics_derivatives(model, x[:nv], x[nv : 2 * nv], x[2 * nv :])
        return np.concatenate([w @ made.dq, w @ made.dv, w @ made.dtau])

    x, eps = np.concatenate([q, v, tau]), 1e-6
    wanted = np.stack([(slope(x + eps * e) - slope(x - eps * e)) / (2 * eps) for e in np.eye(3 * nv)], axis=1)
    found = o.forward_dynamics_hessian(model, q, v, tau, w)
    assert np.allclose(found, wanted, rtol=0, atol=1e-7 * np.abs(wanted).max())
    both = o.forward_dynamics_hessian(model, np.stack([q, q]), v, tau, w)
    assert np.allclose(both[1], found, rtol=1e-9, atol=1e-9 * np.abs(found).max())


def test_second_derivatives_of_free_bases_are_by_the_tangent_of_their_pose():
    model, rng = floating(), np.random.default_rng(3)
    q, (v, tau, w, *way) = model.random(rng), rng.normal(size=(6, model.nv))

    def along(h):
        moved = model.integrate(q, h * way[0])
        return w @ ps.forward_dynamics(model, moved, v + h * way[1], tau + h * way[2])

    h, d = 1e-3, np.concatenate(way)
    wanted = (16 * (along(h) + along(-h)) - (along(2 * h) + along(-2 * h)) - 30 * along(0.0)) / (12 * h * h)
    found = o.forward_dynamics_hessian(model, q, v, tau, w)
    assert d @ found @ d == pytest.approx(wanted, rel=1e-6)
    assert np.allclose(found, found.T, rtol=0, atol=1e-12 * np.abs(found).max())


def test_products_of_long_robots_and_one_kernel_agree():
    model, rng = ps.load("puma560"), np.random.default_rng(4)
    q, (v, a, w) = model.random(rng), rng.normal(size=(3, model.nv))
    for one, other in zip(contracted_tensors(model)(q, v, a, w), _products(model, q, v, a, w), strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-11 * max(np.abs(other).max(), 1.0))


def test_curvature_of_steps_is_that_of_differences():
    """Of quaternions too: costates times the step, by the tangent of its state and by its controls."""
    model, rng, h = floating(), np.random.default_rng(7), 0.3
    q, v = model.random(rng), rng.normal(size=model.nv)
    problem = o.problem(model, q, v, dt=h, steps=1, running=[o.control(1.0)])
    u, costate, step = rng.normal(size=(1, problem.controls)), rng.normal(size=2 * model.nv), np.array([h])
    ends = problem.transition.after(q[None], v[None], u, step)
    motion = np.stack([q, ends[0][0]]), np.stack([v, ends[1][0]]), u
    W, w = problem.sweep.table("W"), problem.sweep.vector("w")
    W[:], w[:] = 0.0, 0.0
    w[-1, : 2 * model.nv] = costate
    problem.transition.linear(q[None], v[None], u, step, problem.sweep)
    add_curvature(problem, *motion)

    def along(t):
        nv = model.nv
        moved = model.integrate(q, t * way[:nv])[None], (v + t * way[nv : 2 * nv])[None], u + t * way[2 * nv :]
        after = problem.transition.after(*moved, step)
        return costate[:nv] @ model.difference(ends[0], after[0])[0] + costate[nv:] @ (after[1] - ends[1])[0]

    for _ in range(4):
        way, t = rng.normal(size=2 * model.nv + problem.controls), 1e-3
        wanted = (16 * (along(t) + along(-t)) - (along(2 * t) + along(-2 * t)) - 30 * along(0.0)) / (12 * t * t)
        assert way @ W[0] @ way == pytest.approx(wanted, rel=1e-5)


def test_second_order_is_quadratic_at_the_end_for_free_bases():
    model = floating()
    goal = np.linspace(0.4, -0.6, model.nv)
    costs = [o.control(0.05), o.joint_velocity(1.0, goal)]
    far = o.problem(model, model.neutral(), np.ones(model.nv), dt=0.05, steps=15, running=costs)
    plain, found = (far.solve(second_order=second, tolerance=1e-13) for second in (False, True))
    assert found.converged and found.cost == pytest.approx(plain.cost, rel=1e-9)
    assert found.iterations < plain.iterations
    ends = [x.expected for x in found.history if 0.0 < x.expected < 1e-2]
    assert ends[-1] < 1e-4 * ends[-2] or ends[-1] < 1e-13


@pytest.mark.parametrize("springs", [0.0, 2.0])
def test_with_the_dynamics_curvature_the_end_is_quadratic(springs):
    model = ps.planar_chain(2, gravity=(0, -9.81, 0))
    kinds = {j.name: replace(j.kind, stiffness=springs, damping=0.1 * springs) for j in model.joints}
    costs = [o.control(0.05), o.joint_position([2.0, -1.0], 1.0)]
    far = o.problem(model.replace(joints=kinds), [0.0, 0.0], dt=0.03, steps=40, running=costs)
    plain, found = (far.solve(second_order=second, tolerance=1e-13) for second in (False, True))
    assert found.converged and found.cost == pytest.approx(plain.cost, rel=1e-9)
    assert found.iterations < plain.iterations
    ends = [x.expected for x in found.history if 0.0 < x.expected < 1e-2]
    assert ends[-1] < 1e-4 * ends[-2] or ends[-1] < 1e-13
