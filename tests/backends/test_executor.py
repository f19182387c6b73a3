"""Long mechanisms in machine code: every stated function link by link, in body axes, with parameters as inputs."""

from functools import cache
from importlib import import_module

import numpy as np
import pytest

import phistar as ps
from phistar.backends.dense.definitions import Dense
from phistar.backends.links.link_sizes import space_sizes
from phistar.backends.links.values import links_at
from phistar.backends.programs.program import Evaluation, frame_pose
from phistar.backends.rolled_kernel import compile_rolled, rolled_plan
from phistar.dynamics import frame_poses
from phistar.stated import Stated
from tests.trees import KINDS, relative

TOLERANCE = 1e-10
MODULES = [
    "dynamics",
    "loops.grasp.holding",
    "loops.primary.primary_joints",
    "loops.forward",
    "loops.equations",
    "control.avoidance",
    "control.multirate",
    "control.monitors",
    "control.passivity",
    "control.joint_laws",
    "control.kinematics",
    "control.pose_search",
    "control.operational",
    "control.innovations",
    "estimation.covariances",
    "estimation.terms",
    "estimation.observability",
    "estimation.composite",
    "estimation.state_space",
    "freeflying.energy",
    "freeflying.two_way_dynamics",
    "freeflying.momentum",
]


def stated():
    modules = {name: import_module(f"phistar.{name}") for name in MODULES}
    found = {f"{m}.{name}": x for m, module in modules.items() for name, x in _loaded(module).items()}
    own = {name: x for name, x in found.items() if isinstance(x, Stated)}
    return {name: x for name, x in own.items() if x.__module__[8:].startswith(name.rpartition(".")[0])}


def _loaded(module):
    """A module's names, also those that are loaded on first use."""
    names = sorted(name for name in {*vars(module), *dir(module)} if not name.startswith("__"))
    return {name: getattr(module, name) for name in names}


STATED = stated()


@cache
def tree(bodies=8, floating=True, seed=3, kinds=("revolute", "universal")):
    """A tree of some kinds of joints, some with armature."""
    rng, builder = np.random.default_rng(seed), ps.ModelBuilder("tree")
    makers = [KINDS[name] for name in kinds]
    for k in range(bodies):
        joint = ps.Free() if floating and not k else makers[k % len(makers)](rng, armature=0.1 * (k % 3))
        place = ps.Pose(xyz=0.3 * rng.normal(size=3), rpy=rng.normal(size=3))
        inertia = ps.Inertia(1.0 + rng.random(), 0.1 * rng.normal(size=3), np.diag([0.2, 0.3, 0.25]))
        parent = f"b{max(0, k - 1 - int(rng.integers(3)))}" if k else "world"
        builder.body(f"b{k}", parent, joint, place, inertia)
    for name, body in (("tip", bodies - 1), ("inside", bodies // 2), ("beside", bodies - 2)):
        builder.frame(name, f"b{body}", ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.5, 0.6)))
    return builder.build()


def given(kernel, rows, batch, seed=0):
    """Numbers for the inputs after q; weights must be positive."""
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(0.5, 1.5, size=(batch, n)) for name, n in zip(kernel, rows, strict=True)}


def compared(wanted, batch=3):
    """The largest relative difference from the program run link by link on arrays."""
    kernel = compile_rolled(wanted)
    assert kernel is not None
    q = wanted.model.random(np.random.default_rng(1), shape=(batch,))
    vectors = given(kernel.inputs, kernel.rows[1:], batch)
    expected = Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators)(q, vectors)
    found = kernel(q, vectors)
    return max(relative(np.ravel(found[name]), np.ravel(expected[name])) for name in expected)


OVER_LINKS = [
    "control.multirate.tip_control",
    "control.multirate.tip_control_delayed",
    "control.multirate.on_link",
    "control.joint_laws.dynamic_feedback",
    "control.joint_laws.gathered",
    "estimation.state_space.link_forces",
    "estimation.state_space.propagate",
    "control.pose_search.damped_rates",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", OVER_LINKS)
def test_vectors_over_the_links_are_in_the_axes_of_the_bodies(name):
    assert compared(STATED[name].statements_for(tree(), ("tip",))[0]) < TOLERANCE


def test_what_is_zero_over_the_joints_is_made_beside_what_is_not():
    """The torques of armature where there is none."""
    wanted = STATED["control.joint_laws.dynamic_feedback"].statements_for(ps.chain(5), ())[0]
    kernel = compile_rolled(wanted)
    assert kernel is not None and compared(wanted) < TOLERANCE
    q, vectors = np.ones((2, 5)), given(kernel.inputs, kernel.rows[1:], 2)
    np.testing.assert_array_equal(kernel(q, vectors)["torques"], np.zeros((2, 5)))


# Parameters


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "momentum", "operational_space"])
def test_inertias_and_gravity_may_be_inputs(name):
    """A robot given another's inertias and gravity moves as that one."""
    model, other = tree(), tree(seed=4)
    bodies = tuple(ps.Inertia(x.mass, x.com, x.tensor) for x in (body.inertia for body in other.bodies))
    changed = model.replace(
        inertias=dict(zip((b.name for b in model.bodies), bodies, strict=True)), gravity=(1.0, 2.0, -3.0)
    )
    frames = ("tip",) if name == "operational_space" else ()
    kernel = compile_rolled(STATED[f"dynamics.{name}"].statements_for(model, frames, ("inertia", "gravity"))[0])
    assert kernel is not None and kernel.inputs[-2:] == ("inertia", "gravity")
    q = model.random(np.random.default_rng(1), shape=(5,))
    vectors = given(kernel.inputs[:-2], kernel.rows[1:-2], 5)
    values = {"inertia": np.concatenate([x.parameters for x in bodies]), "gravity": np.array([1.0, 2.0, -3.0])}
    found = kernel(q, {**vectors, **values})
    statements = STATED[f"dynamics.{name}"].statements_for(changed, frames)[0]
    expected = Evaluation(statements.program(), changed, frames, {})(q, vectors)
    for result in expected:
        assert relative(np.ravel(found[result]), np.ravel(expected[result])) < TOLERANCE


def test_a_statement_of_a_long_chain_takes_parameters():
    model = ps.chain(45)
    bound = ps.algebra(model)
    load = ps.compile(bound.g, parameters=("inertia", "gravity"))
    assert load.inputs == ("q", "inertia", "gravity")
    q = model.random(np.random.default_rng(0), shape=(4,))
    weights = np.concatenate([body.inertia.parameters for body in model.bodies])
    found = load(q, 2.0 * weights, 3.0 * model.gravity)
    np.testing.assert_allclose(found, 6.0 * ps.gravity_load(model, q), rtol=1e-9, atol=1e-9)


# Operators over the joints
OVER_JOINTS = ["dynamics.innovations", "dynamics.mass_matrix_inverse", "control.innovations.whitened"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name", ["dynamics.innovations", "dynamics.mass_matrix_inverse", "control.innovations.coloured"]
)
@pytest.mark.parametrize("floating", [False, True])
def test_operators_over_the_joints_come_row_by_row(name, floating):
    wanted = STATED[name].statements_for(tree(floating=floating), ())[0]
    plan = rolled_plan(wanted)
    assert plan is not None and plan.operand and plan.once
    assert compared(wanted, 11) < TOLERANCE


def test_a_statement_over_the_joints_of_a_long_chain_is_compiled_as_a_matrix():
    model = ps.chain(45)
    bound = ps.algebra(model)
    factor = ps.compile(bound.I + bound.H @ bound.phi @ bound.K, matrix=True)
    q = model.random(np.random.default_rng(0), shape=(3, 7))
    out = np.zeros((3, 7, model.nv, model.nv)).swapaxes(-1, -2)
    found = factor(q, out=out)
    assert found is out and relative(out, ps.innovations(model, q).factor) < 1e-12
    strictly = np.triu(np.ones((45, 45)), 1)
    assert np.all(out * (strictly if np.abs(out[0, 0, 0, 1]) == 0.0 else strictly.T) == 0.0)


def dense_regressor(model, q, v, a):
    vectors = {"v": v, "qdd": a, "a_g": np.concatenate([np.zeros(3), -model.gravity])}
    return Dense(links_at(model, q), vectors)(ps.regressor.statement.node)


@pytest.mark.parametrize("model", [ps.chain(45), tree(44)], ids=["chain", "tree"])
def test_the_regressor_of_a_long_mechanism_is_its_inverse_dynamics(model):
    rng = np.random.default_rng(0)
    q, v, a = model.random(rng, shape=(5,)), *rng.normal(size=(2, 5, model.nv))
    found = ps.regressor(model, q, v, a)
    assert relative(found[0], dense_regressor(model, q[0], v[0], a[0])) < TOLERANCE
    weights = np.concatenate([body.inertia.parameters for body in model.bodies])
    assert relative(found @ weights + model.armature * a, ps.inverse_dynamics(model, q, v, a)) < TOLERANCE


# Poses


@pytest.mark.parametrize("floating", [False, True])
def test_poses_of_frames_far_out_are_those_of_the_links(floating):
    model = tree(90, floating, kinds=("revolute", "spherical"))
    q = model.random(np.random.default_rng(2), shape=(3, 2))
    found = frame_poses(model, q, ("tip", "inside", "world", "beside"))
    for name, pose in found.items():
        assert pose.shape == (3, 2, 4, 4)
        np.testing.assert_allclose(pose, frame_pose(model, q, name), atol=1e-13)
        np.testing.assert_array_equal(ps.forward_kinematics(model, q, name).shape, pose.shape)


# Robots that nothing holds


FREE = [name for name in STATED if name.startswith("freeflying.") and name != "freeflying.two_way_dynamics.mass_matrix"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FREE)
def test_free_robots_are_the_program_on_arrays(name):
    """Sums over siblings, and what the base link is given and gives."""
    wanted = STATED[name].statements_for(tree(kinds=("revolute",)), ("tip",))[0]
    made = compile_rolled(wanted)
    assert made is not None
    q = wanted.model.random(np.random.default_rng(1), shape=(5,))
    program, sizes = wanted.program(), space_sizes(wanted.model, ("tip",))
    inputs = [(name, sizes[space]) for name, space in program.inputs if name not in program.columns and name != "a_g"]
    vectors = given([name for name, _ in inputs], [rows for _, rows in inputs], 5)
    expected = Evaluation(program, wanted.model, ("tip",), {})(q, vectors)
    for result, found in made(q, vectors).items():
        assert relative(np.ravel(found), np.ravel(expected[result])) < TOLERANCE


@pytest.mark.slow
def test_the_two_way_mass_matrix_of_a_long_free_tree_is_that_of_the_floating_one():
    model = tree(44, kinds=("revolute",))
    q = model.random(np.random.default_rng(0), shape=(3,))
    inverse = np.linalg.inv(ps.mass_matrix(model, q))[..., 6:, 6:]
    assert relative(ps.freeflying.mass_matrix(model, q), np.linalg.inv(inverse)) < 1e-9


# Nothing falls back


@pytest.mark.parametrize("name", STATED)
def test_every_stated_function_of_a_long_mechanism_runs_link_by_link(name):
    assert rolled_plan(STATED[name].statements_for(tree(), ("tip",))[0]) is not None


@pytest.mark.parametrize("name", ["estimation.covariances.covariances", "estimation.composite.composite_bodies"])
def test_blocks_of_long_mechanisms_are_those_of_the_program_on_arrays(name):
    wanted = STATED[name].statements_for(tree(), ("tip",))[0]
    kernel = compile_rolled(wanted)
    assert kernel is not None
    q = wanted.model.random(np.random.default_rng(1), shape=(3,))
    vectors = given(kernel.inputs, kernel.rows[1:], 3)
    expected = Evaluation(wanted.program(), wanted.model, wanted.frames, wanted.operators, True)(q, vectors)
    found = kernel(q, vectors)
    assert max(relative(np.ravel(found[x]), np.ravel(expected[x])) for x in expected) < TOLERANCE
