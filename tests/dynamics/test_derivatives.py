"""Derivatives of the dynamics against five-point differences, against Pinocchio, and against each other."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar import derivatives
from phistar.backends.choice import SOLVED
from phistar.backends.dense.definitions import Dense
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.links.common_frame import common_frame, single_axes
from phistar.backends.links.values import links_at
from phistar.backends.programs.derivative_program import evaluate, symbols_under_forces, tables_program
from phistar.backends.traces.differentiate import matrix, tangents, values_of
from phistar.backends.traces.trace import Scalar, Tape, finish
from phistar.operators.symbols import Symbols
from phistar.spatial import skew
from tests.trees import KINDS, mechanism, relative

STEP = 1e-3  # of five-point differences; the dynamics are smooth and of order one
DIFFERENCES = 1e-10
PEER = 1e-10
ROUNDING = 1e-12

MECHANISMS = [mechanism(1, kind=kind, bodies=2 if kind == "free" else 3) for kind in KINDS]
MECHANISMS += [mechanism(3, serial=False, bodies=4), mechanism(6, serial=False, bodies=4, floating=True)]
NAMES = [f"{m.model.name} {'-'.join(type(j.kind).__name__.lower() for j in m.model.joints)}" for m in MECHANISMS]


@pytest.fixture(params=MECHANISMS, ids=NAMES)
def case(request):
    """A model at a state: q, v and something to accelerate it with."""
    m = request.param
    return m.model, m.q, m.vectors["v"], m.vectors["qdd"]


def differences(function, nv):
    """∂function(δ)/∂δ at 0 by five points, a column per entry of δ."""

    def column(e):
        near, far = function(e) - function(-e), function(2 * e) - function(-2 * e)
        return (8 * near - far) / (12 * STEP)

    return np.stack([column(e) for e in STEP * np.eye(nv)], axis=-1)


# First derivatives


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ["inverse", "forward"])
def test_derivatives_are_those_of_differences_on_every_kind_of_joint(case, name):
    model, q, v, given = case
    function = getattr(ps, f"{name}_dynamics")
    found = getattr(ps, f"{name}_dynamics_derivatives")(model, q, v, given)
    nv = model.nv
    by_q = differences(lambda e: function(model, model.integrate(q, e), v, given), nv)
    by_v = differences(lambda e: function(model, q, v + e, given), nv)
    by_given = differences(lambda e: function(model, q, v, given + e), nv)
    errors = [relative(ours, theirs) for ours, theirs in zip(found, (by_q, by_v, by_given), strict=True)]
    assert max(errors) <= DIFFERENCES, errors


@pytest.mark.sampled(6)
def test_the_last_derivative_is_the_mass_matrix_or_its_inverse(case):
    model, q, v, given = case
    assert relative(ps.inverse_dynamics_derivatives(model, q, v, given).da, ps.mass_matrix(model, q)) <= ROUNDING
    inverse = ps.forward_dynamics_derivatives(model, q, v, given).dtau
    assert relative(inverse, ps.mass_matrix_inverse(model, q)) <= ROUNDING


def test_forward_derivatives_are_minus_the_inverse_mass_matrix_times_inverse_ones(case):
    model, q, v, tau = case
    forward = ps.forward_dynamics_derivatives(model, q, v, tau)
    inverse = ps.inverse_dynamics_derivatives(model, q, v, ps.forward_dynamics(model, q, v, tau))
    assert relative(forward.dq, -forward.dtau @ inverse.dq) <= 1e-11
    assert relative(forward.dv, -forward.dtau @ inverse.dv) <= 1e-11


def test_the_derivative_is_the_operator_statement_in_the_links_own_frames(case):
    """∂τ/∂q = Hφ(Mφ*Ψ̈ + 2𝓑φ*Ψ̇) + Hφ̃F^H* and ∂τ/∂v = Hφ(Mφ*Ψ′ + 2𝓑φ*H*) with φ, H, M of Dense."""
    model, q, v, a = case
    found = ps.inverse_dynamics_derivatives(model, q, v, a)
    single = single_axes(model)
    dense = Dense(links_at(single, q), {"v": v})
    n, h, phi, shift, mass = dense.n, dense._H(), dense._phi(), dense._E_phi(), dense._M()
    unit = np.eye(6 * n)
    velocity = phi.T @ h.T @ v
    above = blocks(bracket, shift.T @ velocity)
    psi_dot = above @ h.T
    lift = dense._E().T @ np.concatenate([np.zeros(3), -model.gravity])
    alpha = phi.T @ (h.T @ a + psi_dot @ v + lift)
    accelerated = blocks(bracket, shift.T @ alpha + lift)
    here = blocks(bracket, velocity)
    rate = -here.T @ mass - mass @ here  # of the inertia, seen from outside
    twice_b = rate + blocks(force_bracket, mass @ velocity)
    forces = phi @ (mass @ alpha + 0.5 * twice_b @ velocity)
    psi_ddot = (accelerated + above @ above) @ h.T
    turned = (phi - unit) @ blocks(force_bracket, forces) @ h.T
    by_q = h @ (phi @ (mass @ phi.T @ psi_ddot + twice_b @ phi.T @ psi_dot) + turned)
    by_v = h @ phi @ (mass @ phi.T @ (above + here) @ h.T + twice_b @ phi.T @ h.T)
    assert max(relative(found.dq, by_q), relative(found.dv, by_v)) <= ROUNDING


def blocks(make, stack):
    parts = stack.reshape(-1, 6)
    result = np.zeros((stack.size, stack.size))
    for k, x in enumerate(parts):
        result[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = make(x)
    return result


def bracket(x):
    return np.block([[skew(x[:3]), np.zeros((3, 3))], [skew(x[3:]), skew(x[:3])]])


def force_bracket(x):
    return -np.block([[skew(x[:3]), skew(x[3:])], [skew(x[3:]), np.zeros((3, 3))]])


def on_arrays(name, model, q, v, given):
    """The statements of derivatives, run on arrays in one common frame."""
    symbols = {"inverse": Symbols(), "forward": symbols_under_forces(Symbols())}[name]
    nodes = getattr(ps, f"{name}_dynamics_derivatives").nodes(symbols)
    vectors = {"θ̇": v, {"inverse": "θ̈", "forward": "T"}[name]: given}
    program = tables_program(tuple(nodes.items()), symbols)
    return evaluate(program, common_frame(single_axes(model), q), vectors).solve()


@pytest.mark.slow
def test_many_joints_are_eliminated_in_loops_of_the_kernel_with_the_same_result():
    model = mechanism(7, serial=False, bodies=6, floating=True, kind="universal").model
    assert model.nv > SOLVED
    rng = np.random.default_rng(0)
    q, v, tau = model.random(rng, (5,)), rng.normal(size=(5, model.nv)), rng.normal(size=(5, model.nv))
    arrays = on_arrays("forward", model, q, v, tau)
    found = ps.forward_dynamics_derivatives(model, q, v, tau)
    assert max(relative(x, y) for x, y in zip(found, arrays, strict=True)) <= 1e-11
    a, b = ps.linearize(model, q, v, tau)
    lower = np.concatenate(arrays[:2], axis=-1)
    assert max(relative(a[:, model.nv :], lower), relative(b[:, model.nv :], arrays[2])) <= 1e-11


@pytest.mark.parametrize("name", ["inverse", "forward"])
def test_long_mechanisms_run_on_arrays_and_agree_with_the_kernel(case, name):
    model, q, v, given = case
    arrays = on_arrays(name, model, q, v, given)
    kernel = getattr(ps, f"{name}_dynamics_derivatives")(model, q, v, given)
    assert max(relative(x, y) for x, y in zip(arrays, kernel, strict=True)) <= 1e-11


def test_a_chain_too_long_to_be_written_out_has_derivatives():
    model, rng = ps.chain(60), np.random.default_rng(0)
    q, v, a = 0.3 * rng.normal(size=(3, model.nv))
    found = ps.inverse_dynamics_derivatives(model, np.stack([q, q]), v, a)
    assert found.dq.shape == found.da.shape == (2, 60, 60)
    direction = rng.normal(size=model.nv)
    along = differences(lambda e: ps.inverse_dynamics(model, q + e[0] * direction, v, a), 1)[:, 0]
    assert relative(found.dq[1] @ direction, along) <= 1e-9


def test_geared_rotors_are_differentiated_with_the_links():
    builder, rng = ps.ModelBuilder("geared"), np.random.default_rng(1)
    for k in range(3):
        joint = ps.Revolute(axis=rng.normal(size=3), gear_ratio=20.0, rotor_inertia=0.01, gyroscopic=True)
        builder.body(
            f"body{k}",
            parent="world" if k == 0 else f"body{k - 1}",
            joint=joint,
            placement=ps.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3)),
            inertia=ps.Inertia(1.0, 0.2 * rng.normal(size=3), np.diag([1.0, 1.2, 0.9])),
        )
    model = builder.build()
    q, v, given = rng.normal(size=(3, 3))
    for name in ("inverse", "forward"):
        function = getattr(ps, f"{name}_dynamics")
        found = getattr(ps, f"{name}_dynamics_derivatives")(model, q, v, given)
        by_q = differences(lambda e, f=function: f(model, q + e, v, given), 3)
        by_v = differences(lambda e, f=function: f(model, q, v + e, given), 3)
        assert max(relative(found.dq, by_q), relative(found.dv, by_v)) <= DIFFERENCES


@pytest.mark.parametrize("model", [ps.load("puma560"), ps.chain(7)], ids=lambda model: model.name)
def test_the_statement_costs_less_than_differentiating_instructions(model):
    functions = (ps.inverse_dynamics, derivatives._inverse, 0.9), (ps.forward_dynamics, derivatives._forward, 0.6)
    for stated, recorded, share in functions:
        algebra = ps.algebra(model)
        nodes = tuple(stated.nodes(algebra.symbols).items())
        plain = trace_statements(Statements(nodes, algebra.symbols, algebra.setting, False, model, {}))[0]
        tape = Tape()
        inputs = list(tape.inputs((3 * model.nv,)))
        columns = tangents(plain, values_of(plain, inputs), {i: {i: 1.0} for i in range(3 * model.nv)})
        entries = [x if isinstance(x, Scalar) else float(x) for x in matrix(columns, 3 * model.nv).reshape(-1)]
        ours, naive = recorded.trace(model)[0].operations, finish(tape, entries).operations
        assert ours < share * naive, (ours, naive)


# Arrays


def test_leading_axes_broadcast_and_a_nan_spoils_its_own_row_only():
    m = mechanism(4, serial=False, bodies=5, floating=True)
    model, rng = m.model, np.random.default_rng(0)
    q, v = model.random(rng, (5,)), rng.normal(size=(3, 1, model.nv))
    found = ps.forward_dynamics_derivatives(model, q, v, m.vectors["T"])
    assert found.dq.shape == found.dtau.shape == (3, 5, model.nv, model.nv)
    alone = ps.forward_dynamics_derivatives(model, q[3], v[2, 0], m.vectors["T"])
    assert all(np.allclose(x[2, 3], y, rtol=0, atol=1e-13) for x, y in zip(found, alone, strict=True))
    spoiled = v.copy()
    spoiled[1] = np.nan
    rest = ps.forward_dynamics_derivatives(model, q, spoiled, m.vectors["T"])
    assert np.isnan(rest.dq[1]).any() and np.array_equal(rest.dq[[0, 2]], found.dq[[0, 2]])


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives", "linearize"])
def test_empty_batches_lists_and_wrong_shapes_behave_as_in_numpy(name):
    model = ps.load("planar2")
    function = getattr(ps, name)
    assert function(model, np.zeros((0, 2)), np.zeros((0, 2)), [0, 0])[0].shape[0] == 0
    listed, array = function(model, [0, 1], [1, 2], [3, 4]), function(model, np.array([0.0, 1.0]), [1, 2], [3, 4])
    assert np.array_equal(listed[0], array[0])
    with pytest.raises(ps.ShapeError, match="needs"):
        function(model, [0, 1, 2], [0, 0], [0, 0])
    with pytest.raises(ps.ShapeError, match="broadcast"):
        function(model, np.zeros((2, 2)), np.zeros((3, 2)), [0, 0])


# The motion of small deviations


@pytest.mark.sampled(6)
def test_linearize_stacks_kinematics_and_forward_derivatives(case):
    model, q, v, tau = case
    a, b = ps.linearize(model, q, v, tau)
    forward, nv = ps.forward_dynamics_derivatives(model, q, v, tau), model.nv
    assert relative(a[nv:], np.concatenate([forward.dq, forward.dv], axis=-1)) <= ROUNDING
    assert relative(b[nv:], forward.dtau) <= ROUNDING
    assert np.array_equal(b[:nv], np.zeros((nv, nv))) and np.array_equal(a[:nv, nv:], np.eye(nv))


@pytest.mark.sampled(2)
def test_a_deviation_of_q_moves_as_linearize_says(case):
    """d/dt of δ with q̂(t) = q(t) ⊕ δ(t): only the first derivative of both motions counts, so both keep their rates."""
    model, q, v, tau = case
    nv, rng = model.nv, np.random.default_rng(0)
    dq, dv = rng.normal(size=(2, nv))

    def deviation(time, size):
        here = model.integrate(q, time * v)
        there = model.integrate(model.integrate(q, size * dq), time * (v + size * dv))
        return model.difference(here, there)

    rate = differences(lambda t: differences(lambda e: deviation(t[0], e[0]), 1)[:, 0], 1)[:, 0]
    expected = ps.linearize(model, q, v, tau).A[:nv] @ np.concatenate([dq, dv])
    assert relative(rate, expected) <= 1e-8


@pytest.mark.slow
def test_the_linearized_motion_follows_the_difference_of_two_simulated_ones():
    m = mechanism(6, serial=False, bodies=3, kind="spherical", floating=True, armature=False)
    model, tau, size = m.model, 0.3 * m.vectors["T"], 1e-4
    start = 0.1 * np.random.default_rng(0).normal(size=2 * model.nv)
    steps, duration = 40, 0.2
    times = np.linspace(0.0, duration, 2 * steps + 1)

    def run(scale):
        q, v = model.integrate(m.q, scale * start[: model.nv]), 0.5 * m.vectors["v"] + scale * start[model.nv :]
        return ps.simulate(model, q, v, duration, lambda t, q, v: tau, rtol=1e-11, atol=1e-13, t_eval=times)

    nominal, ahead, behind = run(0.0), run(size), run(-size)
    ends = [np.concatenate([model.difference(nominal.q[-1], x.q[-1]), x.v[-1]]) for x in (ahead, behind)]
    simulated = (ends[0] - ends[1]) / (2 * size)
    a, h = ps.linearize(model, nominal.q, nominal.v, tau).A, 2 * times[1]
    x = start
    for k in range(0, 2 * steps, 2):  # RK4 of δ̇ = A(t)δ
        k1 = a[k] @ x
        k2 = a[k + 1] @ (x + 0.5 * h * k1)
        k3 = a[k + 1] @ (x + 0.5 * h * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + a[k + 2] @ (x + h * k3))
    assert relative(x, simulated) <= 1e-6


# Linear in the inertias


@pytest.mark.sampled(2)
def test_inverse_dynamics_is_the_regressor_times_the_parameters(case):
    model, q, v, a = case
    parameters = np.concatenate([body.inertia.parameters for body in model.bodies])
    found = ps.regressor(model, np.stack([q, q]), v, a)
    assert found.shape == (2, model.nv, 10 * len(model.bodies))
    assert relative(found[1] @ parameters + model.armature * a, ps.inverse_dynamics(model, q, v, a)) <= ROUNDING


def test_every_column_of_the_regressor_is_what_its_parameter_does():
    m = mechanism(3, serial=False, bodies=4, armature=False)
    algebra = ps.algebra(m.model)
    function = ps.compile(algebra.mass @ algebra.qdd + algebra.C + algebra.g, parameters=("inertia",))
    given = {"q": m.q, **m.vectors, "inertia": np.eye(10 * len(m.model.bodies))}
    columns = function(*(given[name] for name in function.inputs))
    assert relative(ps.regressor(m.model, m.q, m.vectors["v"], m.vectors["qdd"]), columns.T) <= ROUNDING


# Second derivatives


@pytest.mark.sampled(4)
def test_hessian_products_are_differences_of_gradients(case):
    model, q, v, a = case
    w, dq, dv, da = np.random.default_rng(0).normal(size=(4, model.nv))

    def gradient(e):
        x = ps.inverse_dynamics_derivatives(model, model.integrate(q, e[0] * dq), v + e[0] * dv, a + e[0] * da)
        return np.concatenate([part.T @ w for part in x])

    found = ps.inverse_dynamics_hessian_product(model, q, v, a, w, dq, dv, da)
    assert relative(np.concatenate(found), differences(gradient, 1)[:, 0]) <= 1e-9


def test_the_hessian_is_symmetric_where_coordinates_are_flat():
    m = mechanism(1, kind="universal", bodies=3, floating=False)
    model, q, v, a = m.model, m.q, m.vectors["v"], m.vectors["qdd"]
    w, *directions = np.random.default_rng(0).normal(size=(7, model.nv))
    one, two = directions[:3], directions[3:]
    left = np.concatenate(ps.inverse_dynamics_hessian_product(model, q, v, a, w, *one)) @ np.concatenate(two)
    right = np.concatenate(ps.inverse_dynamics_hessian_product(model, q, v, a, w, *two)) @ np.concatenate(one)
    assert abs(left - right) <= 1e-11 * abs(left)


# Against Pinocchio


def robot(name: str) -> Path:
    pytest.importorskip("pinocchio", reason="pin is not installed")
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return next(Path(str(file.locate())).resolve() for file in files if file.name == f"{name}.urdf")


def peer_of(path, floating):
    import pinocchio as pin

    root = (pin.JointModelFreeFlyer(), "root") if floating else ()
    peer = pin.buildModelFromUrdf(str(path), *root)
    return pin, peer, peer.createData()


def to_peer(model, peer, q):
    """q in Pinocchio's order and coordinates, and our entry of v → theirs (a free joint is linear first there)."""
    import pinocchio as pin

    configuration, columns = pin.neutral(peer), np.empty(model.nv, int)
    for joint in model.joints:
        there, ours = peer.joints[peer.getJointId(joint.name)], q[joint.q_slice]
        theirs = ours if there.nq == joint.nq else np.array([np.cos(ours[0]), np.sin(ours[0])])
        configuration[there.idx_q : there.idx_q + there.nq] = theirs
        order = [3, 4, 5, 0, 1, 2] if joint.nv == 6 else list(range(joint.nv))
        columns[joint.v_slice] = there.idx_v + np.array(order)
    return configuration, columns


ROBOTS = [("ur5_robot", False), ("panda", False), ("solo12", True)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "floating"), ROBOTS)
def test_real_robots_agree_with_pinocchio(name, floating):
    path = robot(name)
    model = ps.load(path, floating=floating).tree  # a Panda's fingers are coupled; Pinocchio's are not
    pin, peer, data = peer_of(path, floating)
    rng = np.random.default_rng(2)
    q, v, given = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    there, columns = to_peer(model, peer, q)
    rate, force = np.empty(model.nv), np.empty(model.nv)
    rate[columns], force[columns] = v, given
    table = np.ix_(columns, columns)
    inverse = [x[table] for x in pin.computeRNEADerivatives(peer, data, there, rate, force)[:2]]
    forward = [x[table] for x in pin.computeABADerivatives(peer, data, there, rate, force)]
    ours = ps.inverse_dynamics_derivatives(model, q, v, given)
    errors = [relative(x, y) for x, y in zip(ours[:2], inverse, strict=True)]
    forward[2] = np.triu(forward[2]) + np.triu(forward[2], 1).T if not floating else forward[2]
    ours = ps.forward_dynamics_derivatives(model, q, v, given)
    errors += [relative(x, y) for x, y in zip(ours, forward, strict=True)]
    assert max(errors) <= PEER, errors


@pytest.mark.parametrize(("name", "floating"), [("ur5_robot", False), ("solo12", True)])
def test_the_regressor_agrees_with_pinocchio(name, floating):
    path = robot(name)
    model = ps.load(path, floating=floating)
    pin, peer, data = peer_of(path, floating)
    rng = np.random.default_rng(3)
    q, v, a = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    there, columns = to_peer(model, peer, q)
    rate, acceleration = np.empty(model.nv), np.empty(model.nv)
    rate[columns], acceleration[columns] = v, a
    theirs = pin.computeJointTorqueRegressor(peer, data, there, rate, acceleration)[columns]
    bodies = [peer.getJointId(joint.name) - 1 for joint in model.joints]
    order = np.concatenate([np.arange(10 * k, 10 * k + 10) for k in bodies])
    assert relative(ps.regressor(model, q, v, a), theirs[:, order]) <= PEER


@pytest.mark.slow
def test_linearization_beyond_forty_bodies_that_is_faster_written_out():
    """Forty-two pendulums side by side: loops over pairs of joints would mostly meet zeros."""
    builder = ps.ModelBuilder("row", gravity=(0, 0, -9.81))
    rod = ps.Inertia(1.0, (0, 0, -0.5), np.diag([0.1, 0.1, 0.01]))
    for k in range(42):
        joint = ps.Revolute(axis=(0, 1, 0))
        builder.body(f"rod{k}", parent="world", joint=joint, placement=ps.Pose(xyz=(k, 0, 0)), inertia=rod)
    row, rng = builder.build(), np.random.default_rng(4)
    q, v, tau = rng.normal(size=(3, 42))
    found, parts = ps.linearize(row, q, v, tau), ps.forward_dynamics_derivatives(row, q, v, tau)
    assert np.abs(found.A[42:] - np.hstack([parts.dq, parts.dv])).max() < 1e-12 * np.abs(found.A).max()
    assert np.abs(found.B[42:] - parts.dtau).max() < 1e-12 and np.array_equal(found.A[:42, 42:], np.eye(42))
