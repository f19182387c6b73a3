"""Rolled kernels: what the program gives on arrays, on every joint kind, tree, vector width and batch; memory that is
linear in the links."""

import inspect

import numpy as np
import pytest

import phistar as ps
from phistar.backends.executor import executor
from phistar.backends.kernel import Statements
from phistar.backends.links.link_frames import link_frames
from phistar.backends.machine.jit import Target, host
from phistar.backends.programs.program import Evaluation, is_wide
from phistar.backends.rolled.code import lay_out, rolled_text
from phistar.backends.rolled.link_memory import Rooms
from phistar.backends.rolled.plan import Plan, inverted_fields, poses_first
from phistar.backends.rolled.robot_tables import tables
from phistar.backends.rolled.rolled_links import kinds_of, rolled_links
from phistar.backends.rolled_kernel import compile_rolled, rolled_plan
from phistar.expression import setting_of, symbols_of
from phistar.operators.nodes import adjoint
from tests.trees import KINDS, mechanism, relative

TOLERANCE = 1e-10
WITHOUT_FRAMES = ("inverse_dynamics", "forward_dynamics", "bias", "gravity_load")
WHOLE = ("momentum", "kinetic_energy", "composite_inertia")
AT_FRAMES = ("jacobian", "jacobian_dot_v", "tip_acceleration_change", "forward_dynamics", "inverse_dynamics")
TREES = {
    **{kind: mechanism(70, kind=kind, bodies=3, frames=1) for kind in KINDS},
    "branching with armature": mechanism(71, serial=False, floating=False, frames=2, armature=True, bodies=7),
    "floating with rotors": mechanism(72, serial=False, floating=True, frames=2, armature=True, rotors=True, bodies=6),
}
CHAIN = ps.chain(45)


def wanted(function, model, frames=()):
    symbols = symbols_of(model, frames)
    nodes = function.nodes(symbols)
    matrix = function._matrix
    if matrix and all(is_wide(node) for node in nodes.values()):
        nodes = {name: adjoint(node) for name, node in nodes.items()}
    return Statements(tuple(nodes.items()), symbols, setting_of(model, frames), matrix, model, {})


def compared(name, model, frames=(), target=None, lanes=None, batch=3):
    """The largest relative difference from the program run link by link on arrays."""
    statements = wanted(getattr(ps, name), model, frames)
    kernel = compile_rolled(statements, target, lanes)
    assert kernel is not None
    rng = np.random.default_rng(0)
    vectors = {key: rng.normal(size=(batch, rows)) for key, rows in zip(kernel.inputs, kernel.rows[1:], strict=True)}
    q = model.random(rng, shape=(batch,))
    expected = Evaluation(statements.program(), model, frames, {})(q, vectors)
    found = kernel(q, vectors)
    return max(relative(np.ravel(found[key]), np.ravel(expected[key])) for key in expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WITHOUT_FRAMES + WHOLE)
@pytest.mark.parametrize("case", TREES.values(), ids=TREES)
def test_rolled_is_the_program_on_arrays(case, name):
    assert compared(name, case.model) < TOLERANCE


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", AT_FRAMES)
@pytest.mark.parametrize("case", ["universal", "branching with armature", "floating with rotors"])
def test_task_frames_are_the_program_on_arrays(case, name):
    case = TREES[case]
    frames = case.frames[:1] if "frame" in inspect.signature(getattr(ps, name)).parameters else case.frames
    assert compared(name, case.model, frames) < TOLERANCE


@pytest.mark.sampled(2)
@pytest.mark.parametrize("frames", [("tip",), ("middle", "tip"), ("still", "tip", "beside")])
def test_forces_and_jacobians_at_several_frames_of_a_chain(frames):
    model = with_frames()
    for name in ("forward_dynamics", "inverse_dynamics"):
        assert compared(name, model, frames) < TOLERANCE
    assert compared("jacobian", model, frames) < TOLERANCE


@pytest.mark.parametrize("frames", [("tip",), ("middle", "tip")])
def test_operational_space_of_a_long_chain(frames):
    assert compared("operational_space", with_frames(), frames) < 1e-9


def with_frames():
    """A chain with frames at its end, inside, beside one of them and on the world."""
    builder = ps.ModelBuilder("framed")
    builder.attach(ps.chain(30), "world")
    builder.frame("middle", body="link15", placement=ps.Pose(xyz=(0.1, 0.2, 0.3)))
    builder.frame("beside", body="link30", placement=ps.Pose(xyz=(0.0, 0.5, 0.0)))
    builder.frame("still", body="world", placement=ps.Pose(xyz=(1.0, 0.0, 0.0)))
    return builder.build()


@pytest.mark.parametrize("name", ["mass_matrix", "mass_matrix_inverse", "innovations"])
def test_operators_over_the_joints_come_row_by_row(name):
    statements = wanted(getattr(ps, name), CHAIN)
    made = compile_rolled(statements)
    assert made is not None
    q = CHAIN.random(np.random.default_rng(0), shape=(2,))
    expected, found = Evaluation(statements.program(), CHAIN, (), {})(q, {}), made(q, {})
    for key, value in expected.items():
        assert found[key].shape == (2, CHAIN.nv, CHAIN.nv)
        assert relative(found[key], value) < TOLERANCE


def test_a_statement_of_one_s_own_with_a_chosen_mass_is_rolled():
    """The algebra is the source: twice the mass in the statement is twice the joint force."""
    bound = ps.algebra(CHAIN)
    s, q, a = bound.symbols, CHAIN.neutral(), np.ones(CHAIN.nv)
    made = [
        compile_rolled(
            Statements((("y", c * (s.H @ s.phi @ s.M @ s.phi.T @ s.H.T)),), s, bound.setting, False, CHAIN, {})
        )
        for c in (1, 2)
    ]
    once, twice = (kernel(q, {kernel.inputs[0]: a})["y"] for kernel in made if kernel is not None)
    np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-12)
    np.testing.assert_allclose(once, ps.mass_matrix(CHAIN, q) @ a, rtol=1e-9)


# Widths, batches, strides


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("target", ["this CPU", "x86-64 without AVX and FMA"])
def test_lanes_and_instruction_sets_do_not_change_the_value(target, lanes):
    chosen = host() if target == "this CPU" else Target(host().triple, "x86-64", "")
    if not host().triple.startswith("x86_64"):
        pytest.skip("the baseline is an x86-64")
    assert compared("forward_dynamics", ps.chain(6), (), chosen, lanes, 5) < TOLERANCE


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(1)
    q, v, tau = CHAIN.random(rng, shape=(21,)), *rng.normal(size=(2, 21, CHAIN.nv))
    return q, v, tau, ps.forward_dynamics(CHAIN, q, v, tau)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("rows", range(1, 20))
def test_tails_of_every_length(batch, rows):
    q, v, tau, expected = batch
    np.testing.assert_array_equal(ps.forward_dynamics(CHAIN, q[:rows], v[:rows], tau[:rows]), expected[:rows])


def test_an_empty_batch_is_empty():
    nothing = np.zeros((0, CHAIN.nv))
    assert ps.forward_dynamics(CHAIN, nothing, nothing, nothing).shape == (0, CHAIN.nv)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_number_spoils_its_own_row_only(batch, bad):
    q, v, tau, expected = batch
    v = v.copy()
    v[9, 3] = bad
    with np.errstate(all="ignore"):
        found = ps.forward_dynamics(CHAIN, q, v, tau)
    good = np.arange(len(q)) != 9
    np.testing.assert_array_equal(found[good], expected[good])
    assert not np.isfinite(found[9]).all()


def test_few_states_raise_no_floating_point_flags(batch):
    """Half a block is not worked on where it holds no states: leftovers in memory are no numbers."""
    q, v, tau, expected = batch
    with np.errstate(all="raise"):
        for rows in (1, 2, 3, 5):
            np.testing.assert_array_equal(ps.forward_dynamics(CHAIN, q[:rows], v[:rows], tau[:rows]), expected[:rows])


def test_strides_do_not_matter(batch):
    q, v, tau, expected = batch
    spread = [np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3] for x in (q, v, tau)]
    out = np.zeros((len(q), 2 * CHAIN.nv))[:, ::2]
    kernel = executor(wanted(ps.forward_dynamics, CHAIN))
    kernel.function(*spread, out=out)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(kernel.function(*(np.asfortranarray(x) for x in (q, v, tau))), expected)


def test_a_matrix_is_written_where_asked():
    statements = wanted(ps.jacobian, CHAIN, ("tip",))
    kernel = compile_rolled(statements)
    assert kernel is not None
    q = CHAIN.random(np.random.default_rng(2), shape=(6,))
    out = np.zeros((6, 6, CHAIN.nv)).swapaxes(-1, -2)
    kernel.function(q, out=out)
    np.testing.assert_array_equal(out, kernel.function(q))
    np.testing.assert_allclose(out.swapaxes(-1, -2), ps.jacobian(CHAIN, q, "tip"), atol=1e-12)


# Memory and cost


def rooms(model, name="forward_dynamics"):
    statements = wanted(getattr(ps, name), model)
    plan, links = Plan(poses_first(statements.program()), 0), rolled_links(model, ())
    made = rolled_text(plan, links.kinds, [1, 1, 1, 1], 3, 4, True)
    memory = Rooms.from_data(made.memory.data())
    return made, memory, tables(links, plan, memory, (), 8)


def test_memory_is_linear_in_the_links_and_slots_are_used_again():
    _, memory, short = rooms(ps.chain(50))
    _, _, long = rooms(ps.chain(500))
    own = len(memory.own[-1])
    assert long[0][1] - short[0][1] == 450 * own
    assert own <= 16  # q, θ̇, T, θ̈, sine, cosine, ω, five of G, ν
    assert short[0][2] == long[0][2]  # what children send and parents pass on needs no more room in a longer chain


def test_operations_per_link_do_not_depend_on_the_length():
    made = [compile_rolled(wanted(ps.forward_dynamics, ps.chain(n))) for n in (50, 100, 150)]
    short, middle, long = (kernel.operations for kernel in made if kernel is not None)
    assert middle - short == long - middle < 50 * 500


def test_the_second_time_comes_from_the_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "kernels"))
    first = compile_rolled(wanted(ps.inverse_dynamics, CHAIN))
    monkeypatch.setattr("phistar.backends.machine.jit.compile_object", None)
    second = compile_rolled(wanted(ps.inverse_dynamics, CHAIN))
    state = np.random.default_rng(0).normal(size=(3, CHAIN.nv))
    assert first is not None and second is not None
    np.testing.assert_array_equal(first.function(*state), second.function(*state))


def test_other_joints_of_the_same_kinds_use_the_same_code(tmp_path, monkeypatch):
    monkeypatch.setenv("PHISTAR_CACHE", str(tmp_path / "kernels"))
    assert compile_rolled(wanted(ps.inverse_dynamics, CHAIN)) is not None
    monkeypatch.setattr("phistar.backends.machine.jit.compile_object", None)
    assert compared("inverse_dynamics", ps.chain(70, length=0.5, mass=3.0)) < TOLERANCE


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_a_statement_with_armature_is_about_robots_without_any_too(name):
    """What motors add is read where it stands, though it is zero."""
    stated = getattr(ps, name)
    given = np.random.default_rng(4).normal(size=(3, CHAIN.nv))
    assert not np.any(CHAIN.armature)
    assert relative(ps.compile(stated.statement, CHAIN)(*given), stated(CHAIN, *given)) < 1e-12


def test_screws_of_all_pitches_are_one_kind():
    model = mechanism(73, kind="helical", bodies=9, serial=True, floating=False).model
    kinds, numbers = kinds_of(model, link_frames(model))
    pitches = {joint.kind.pitch for joint in model.joints}
    assert len(pitches) == 9 and len(kinds) == 2 and numbers == [0, *[1] * 8]


def test_zeros_that_hold_at_every_link_are_known():
    """Gravity turns nothing: no link reads or writes the angular part of its acceleration."""
    statements = wanted(ps.gravity_load, CHAIN)
    plan = rolled_plan(statements)
    kinds, _ = kinds_of(CHAIN, link_frames(CHAIN, plan.keeps_origins))
    outward, _ = lay_out(plan, kinds, 1).stages
    kept = {entry for step in outward.steps for _, name, entry in step.stores if name == "α"}
    assert kept == {3, 4, 5}


def test_what_is_inverted_is_not_taken_to_be_zero():
    model = TREES["floating with rotors"].model
    assert inverted_fields(ps.forward_dynamics.statements_for(model, ())[0].program()) >= {"P", "P⁺", "D"}
    assert compared("forward_dynamics", model) < TOLERANCE
