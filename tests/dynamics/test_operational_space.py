"""Operational space: Λ, c and g are what they are defined to be, or are refused; rank and condition say why."""

import copy
import pickle

import numpy as np
import pytest

import phistar as ps
from phistar.backends.programs.program import program_of
from phistar.backends.traces.solve import SMALLEST_PIVOT, solve_task
from phistar.errors import InfeasibleError, StatementError, UnknownNameError
from phistar.identities.law import TREE, Setting
from phistar.operators.symbols import Symbols
from tests.trees import Mechanism, mechanism, relative

pytestmark = pytest.mark.filterwarnings("ignore:invalid value")  # NumPy's word for the NaN that refusals are

PUMA = ps.load("puma560")
RNG = np.random.default_rng(11)
Q = RNG.uniform(-1, 1, (50, 6)) + np.array([0, 0, 0.9, 0, 0.8, 0])
V = RNG.normal(size=(50, 6))


def on_a_satellite() -> ps.Model:
    builder = ps.ModelBuilder("satellite", gravity=(0, 0, -1.6))
    builder.body("bus", joint=ps.Free(), inertia=ps.Inertia(200.0, tensor=np.diag([60.0, 70.0, 80.0])))
    builder.attach(PUMA, parent="bus", placement=ps.Pose(xyz=(0.6, 0, 0)), prefix="")
    return builder.build(strict=False)


FLOATING = on_a_satellite()
SINGULAR = np.zeros((1, 6))  # the wrist's outer axes in line


def dense_mobility(model, q, frames):
    jacobian = np.concatenate([ps.jacobian(model, q, frame) for frame in frames])
    return jacobian @ np.linalg.inv(ps.mass_matrix(model, q)) @ jacobian.T


# What they are


MECHANISMS = {
    "chain": {"serial": True, "tips": True, "frames": 1, "bodies": 3, "kind": "spherical"},
    "tree, two frames": {"serial": False, "frames": 2, "bodies": 5, "armature": True, "kind": "planar"},
    "floating tree": {"serial": False, "frames": 1, "bodies": 4, "floating": True, "kind": "revolute"},
    "floating, two frames": {"serial": False, "frames": 2, "bodies": 5, "floating": True, "kind": "universal"},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("asked", MECHANISMS.values(), ids=MECHANISMS)
def test_task_forces_make_the_task_accelerations_that_the_equation_says(asked):
    """Λβ̇ + c + g = F with T = J*F (KJR92 eqs. 2, 3), on trees, floating bases and several frames."""
    case = regular(**asked)
    model, q, v = case.model, case.q, case.vectors["v"]
    force = RNG.normal(size=6 * len(case.frames))
    f_ext = {name: force[6 * i : 6 * i + 6] for i, name in enumerate(case.frames)}
    a = ps.forward_dynamics(model, q, v, np.zeros(model.nv), f_ext=f_ext)
    motion = [ps.jacobian(model, q, f) @ a + ps.jacobian_dot_v(model, q, v, f) for f in case.frames]
    inertia, coriolis, gravity = ps.operational_space(model, q, v, case.frames)
    assert relative(inertia @ np.concatenate(motion) + coriolis + gravity, force) < 1e-9


def regular(**asked) -> Mechanism:
    """A random mechanism whose frames can move in all directions."""
    for seed in range(400):
        case = mechanism(seed, **asked)
        s = case.symbols
        if np.linalg.cond(case.dense(s.J @ s.mass.inv @ s.J.T)) < 1e4:
            return case
    raise AssertionError("no regular mechanism")


@pytest.mark.parametrize("frames", [("frame0",), ("frame0", "frame1")])
def test_frames_on_different_branches_feel_each_other_through_the_common_ancestor(frames):
    """The off-diagonal blocks of Ω are those of Jℳ⁻¹J* (RJK91 §5.2)."""
    case = next(
        c for c in (mechanism(s, serial=False, frames=2, bodies=6, kind="revolute") for s in range(99)) if forks(c)
    )
    found = ps.task_mobility(case.model, case.q, case.vectors["v"], frames)
    expected = dense_mobility(case.model, case.q, frames)
    assert relative(found.mobility, expected) < 1e-10
    if len(frames) == 2:
        assert np.abs(found.mobility[:6, 6:]).max() > 1e-3


def forks(case: Mechanism) -> bool:
    """Whether two frames sit on different branches with a moving link inward of both."""
    lines = []
    for name in case.frames:
        line, body = [], case.model.frame(name).body
        while body >= 0:
            line.append(body)
            body = case.model.parents[body]
        lines.append(line)
    first, second = lines
    return bool(set(first) & set(second)) and first[0] not in second and second[0] not in first


def test_the_unsolved_right_sides_are_the_mobility_times_c_and_g():
    """KJR92 eqs. 65 and 72."""
    space, open_form = ps.operational_space(PUMA, Q, V, "tool"), ps.task_mobility(PUMA, Q, V, "tool")
    rounding = 1e-14 * space.condition.max()
    assert relative(np.einsum("...ij,...j->...i", open_form.mobility, space.coriolis), open_form.coriolis) < rounding
    assert relative(np.einsum("...ij,...j->...i", open_form.mobility, space.gravity), open_form.gravity) < rounding
    unit = np.broadcast_to(np.eye(6), (50, 6, 6))
    assert relative(np.matmul(open_form.mobility, space.inertia), unit) < rounding < 1e-6


@pytest.mark.parametrize("robot", ["puma560", "floating"])
def test_a_peer_agrees(robot):
    """Pinocchio's Jℳ⁻¹J*, drift and bias forces, solved densely."""
    pin = pytest.importorskip("pinocchio")
    from phistar.cli.benchmark.peer_pinocchio import pinocchio_of

    model = PUMA if robot == "puma560" else FLOATING
    peer, rng = pinocchio_of(model, "tool"), np.random.default_rng(6)
    q, v = model.random(rng), rng.normal(size=model.nv)
    robot_model, data, last = peer.model, peer.data, peer.model.nframes - 1
    axes, swap, rates = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, np.r_[3:6, 0:3], v[peer.order]
    jacobian = pin.computeFrameJacobian(robot_model, data, q, last, axes)[swap]
    pin.forwardKinematics(robot_model, data, q, rates, 0 * rates)
    drift = pin.getFrameClassicalAcceleration(robot_model, data, last, axes).vector[swap]
    mass = pin.crba(robot_model, data, q)
    spread = jacobian @ np.linalg.inv(np.triu(mass) + np.triu(mass, 1).T)
    weight = pin.computeGeneralizedGravity(robot_model, data, q).copy()
    bias = pin.nonLinearEffects(robot_model, data, q, rates) - weight
    expected = np.linalg.inv(spread @ jacobian.T)
    inertia, coriolis, gravity = ps.operational_space(model, q, v, "tool")
    assert relative(inertia, expected) < 1e-9
    assert relative(coriolis, expected @ (spread @ bias - drift)) < 1e-9
    assert relative(gravity, expected @ (spread @ weight)) < 1e-9


# Near singularities


def test_a_regular_batch_is_given_and_reported_as_such():
    space = ps.operational_space(PUMA, Q, V, "tool")
    assert np.all(space.rank == 6) and np.isfinite(space.inertia).all()
    assert "all its 6 directions" in space.report
    eigenvalues = np.linalg.eigvalsh(scaled(dense_mobility(PUMA, Q[0], ["tool"])))
    assert np.isclose(space.condition[0], eigenvalues[-1] / eigenvalues[0], rtol=1e-6)


def scaled(mobility):
    means = np.repeat(np.diagonal(mobility).reshape(2, 3).mean(axis=-1), 3)
    return mobility / np.sqrt(np.outer(means, means))


def test_a_singular_state_spoils_its_own_row_only_and_is_reported():
    q, v = np.concatenate([Q[:2], SINGULAR, Q[2:4]]), np.ones((5, 6))
    space = ps.operational_space(PUMA, q, v, "tool")
    good = np.array([True, True, False, True, True])
    for part in space:
        assert np.array_equal(np.isfinite(part).reshape(5, -1).all(axis=1), good)
    assert np.array_equal(space.rank, [6, 6, 5, 6, 6])
    assert space.condition[2] > 1e10
    assert "At 1 of 5 states" in space.report and "rank 5 of 6" in space.report


@pytest.mark.parametrize("exponent", range(2, 16))
def test_what_is_given_near_a_singularity_is_right_and_the_rest_is_refused(exponent):
    """Never a silent garbage Λ: ΛΩ = 1 to the digits that the condition leaves, or NaN."""
    q = SINGULAR[0] + [0.3, -0.4, 0.9, 0.2, 10.0**-exponent, 0.1]
    inertia = ps.operational_space(PUMA, q, np.ones(6), "tool").inertia
    space = ps.operational_space(PUMA, q, np.ones(6), "tool")
    if np.isfinite(inertia).all():
        mobility = scaled(dense_mobility(PUMA, q, ["tool"]))
        assert space.rank == 6
        assert 1 / space.condition > 0.1 * SMALLEST_PIVOT
        means = np.repeat(np.diagonal(dense_mobility(PUMA, q, ["tool"])).reshape(2, 3).mean(axis=-1), 3)
        error = inertia * np.sqrt(np.outer(means, means)) @ mobility - np.eye(6)
        assert np.abs(error).max() < 1e-14 * space.condition
        assert exponent <= 6
    else:
        assert np.isnan(inertia).all() and space.rank == 5
        assert exponent >= 4


def test_compiled_controllers_refuse_too():
    compiled = ps.compile(lambda q, v: ps.operational_space(PUMA, q, v, "tool"), PUMA)
    space = compiled(np.concatenate([Q[:3], SINGULAR]), np.ones((4, 6)))
    assert np.isfinite(space.inertia[:3]).all() and np.isnan(space.inertia[3]).all()
    assert np.array_equal(space.rank, [6, 6, 6, 0])
    plain = ps.operational_space(PUMA, Q[:3], np.ones((3, 6)), "tool")
    assert np.allclose(space.coriolis[:3], plain.coriolis, rtol=1e-10)


def test_damping_gives_the_inverse_of_the_damped_mobility():
    for q in (Q[0], SINGULAR[0]):
        space = ps.operational_space(PUMA, q, V[0], "tool", damping=0.01)
        mobility = dense_mobility(PUMA, q, ["tool"])
        means = np.repeat(np.diagonal(mobility).reshape(2, 3).mean(axis=-1), 3)
        assert relative(space.inertia, np.linalg.inv(mobility + 0.01 * np.diag(means))) < 1e-9
        open_form = ps.task_mobility(PUMA, q, V[0], "tool")
        assert relative(space.gravity, space.inertia @ open_form.gravity) < 1e-12
        assert np.linalg.eigvalsh(space.inertia)[0] > 0
    compiled = ps.compile(lambda q, v: ps.operational_space(PUMA, q, v, "tool", damping=0.01), PUMA)
    assert relative(compiled(q, V[0]).inertia, space.inertia) < 1e-9


def test_truncation_keeps_the_directions_that_exist():
    space = ps.operational_space(PUMA, SINGULAR[0], V[0], "tool", truncation=1e-6)
    mobility = dense_mobility(PUMA, SINGULAR[0], ["tool"])
    assert relative(mobility @ space.inertia @ mobility, mobility) < 1e-9
    assert np.linalg.matrix_rank(space.inertia, tol=1e-8) == 5
    whole = ps.operational_space(PUMA, Q[0], V[0], "tool", truncation=1e-9)
    assert relative(whole.inertia, ps.operational_space(PUMA, Q[0], V[0], "tool").inertia) < 1e-8


def test_too_few_joints_are_refused_with_numbers_unless_an_inverse_is_chosen():
    model = ps.load("planar3")
    frame, q, v = list(model.frames)[-1], [0.3, 0.5, 0.7], [1.0, 1.0, 1.0]
    with pytest.raises(InfeasibleError, match="3 degrees of freedom move a task of 6 directions"):
        ps.operational_space(model, q, v, frame)
    with pytest.raises(InfeasibleError, match="3 degrees of freedom"):
        ps.compile(lambda q, v: ps.operational_space(model, q, v, frame), model)
    space = ps.operational_space(model, q, v, frame, truncation=1e-6)
    assert space.rank == 3 and space.condition == np.inf
    assert relative(space.mobility @ space.inertia @ space.mobility, space.mobility) < 1e-10
    assert ps.task_mobility(model, q, v, frame).mobility.shape == (6, 6)


def test_choices_that_make_no_sense_are_refused():
    with pytest.raises(StatementError, match="choose one"):
        ps.operational_space(PUMA, Q, V, "tool", damping=0.1, truncation=0.1)
    with pytest.raises(StatementError, match="must not be negative"):
        ps.operational_space(PUMA, Q, V, "tool", damping=-0.1)
    with pytest.raises(StatementError, match="decides by values"):
        ps.compile(lambda q, v: ps.operational_space(PUMA, q, v, "tool", truncation=0.1), PUMA)
    with pytest.raises(UnknownNameError, match="at least one frame"):
        ps.operational_space(PUMA, Q, V, [])


def test_results_unpack_pickle_and_copy():
    space = ps.operational_space(PUMA, Q, V, "tool")
    inertia, _, gravity = space
    assert inertia is space.inertia and gravity is space.gravity
    for other in (pickle.loads(pickle.dumps(space)), copy.copy(space)):
        assert np.array_equal(other.inertia, inertia) and np.array_equal(other.rank, space.rank)


def test_the_task_solve_refuses_by_direction_not_by_unit():
    """Angular and linear rows may differ by any factor; a direction that is dust beside its own kind may not."""
    units = np.diag([1e8, 1e8, 1e8, 1, 1, 1])
    x = units @ (np.eye(6) + 0.1) @ units
    assert np.allclose(solve_task(x, x), np.eye(6), atol=1e-9)
    x = np.diag([1.0, 1.0, 1e-30, 1.0, 1.0, 1.0])
    assert np.isnan(solve_task(x, np.eye(6))).any()


# Sweeps


def omega(s):
    return s.J @ s.mass.inv @ s.J.T


def test_quantities_together_take_the_sweeps_of_the_paper():
    """Λ, c and g: 3 on any tree; on a serial chain 2, one fewer than in KJR92 §4.2, since Ω(Pa + b) needs no z."""
    nodes = {
        "inertia": lambda s: omega(s).inv,
        "coriolis": lambda s: omega(s).inv @ (s.J @ s.mass.inv @ s.C - s.Jdot_v),
        "gravity": lambda s: omega(s).inv @ s.J @ s.mass.inv @ s.g,
    }
    for symbols, setting, count in ((Symbols(armature=False), Setting(), 2), (Symbols(), TREE, 3)):
        named = tuple((name, node(symbols)) for name, node in nodes.items())
        assert len(program_of(named, symbols, setting, True).passes) == count


@pytest.mark.parametrize("count", [2, 60])
def test_a_frame_that_stands_on_the_world_feels_nothing(count):
    chain = ps.chain(count)
    builder = ps.ModelBuilder("standing")
    builder.attach(chain, "world")
    builder.frame("stand", body="world", placement=ps.Pose(xyz=(1, 2, 3)))
    model = builder.build()
    q, v = model.random(1), np.ones(model.nv)
    for _ in range(2):
        found = ps.task_mobility(model, q, v, "stand")
        for part, shape in ((found.mobility, (6, 6)), (found.coriolis, (6,)), (found.gravity, (6,))):
            np.testing.assert_array_equal(part, np.zeros(shape))
    assert ps.operational_space(model, q, v, "stand", damping=0.1).inertia.shape == (6, 6)
