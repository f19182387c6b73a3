"""Compiled kernels: the value of the dense oracle on every joint kind, vector width and kind of CPU, and the manners of
a NumPy function."""

import inspect
import sys
import threading
import time

import numpy as np
import pytest

import phistar as ps
from phistar.backends.kernel import Statements, compile_statements, trace_statements
from phistar.backends.machine.jit import Target, host
from phistar.backends.programs.program import Evaluation
from phistar.backends.traces.symbolic import replay
from phistar.operators.spaces import SCALARS
from phistar.stated import Stated
from phistar.sweeps.lower import GIVEN
from tests.trees import KINDS, mechanism, relative

STATED = {name: getattr(ps, name) for name in ps.__all__ if isinstance(getattr(ps, name), Stated)}
TOLERANCE = 1e-10
CASES = {kind: mechanism(50, kind=kind, bodies=2, frames=1) for kind in KINDS}
CASES |= {
    "serial": mechanism(51, serial=True, tips=True, frames=1, armature=False, bodies=4),
    "branching with armature": mechanism(52, serial=False, floating=False, frames=2, armature=True, bodies=4),
    "floating": mechanism(53, serial=False, floating=True, frames=1, bodies=3),
}


UNIT_VECTORS = {"coriolis_matrix": ("v_ref",)}  # given by the function itself, column by column


def vectors_of(function, case):
    """The vectors that a public function gives to its statements."""
    names = {"v": "v", "a": "qdd", "tau": "T", "force": "f", "u": "u", "v_ref": "v_ref", "forces": "F", "torques": "T"}
    wanted = [*inspect.signature(function).parameters, *UNIT_VECTORS.get(function.__name__, ())]
    return {names[name]: case.vectors[names[name]] for name in wanted if name in names}


def frames_of(function, case):
    return case.frames if "frame" in inspect.signature(function).parameters else ()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_public_function_has_the_value_of_its_dense_statement(case, name):
    function, frames = STATED[name], frames_of(STATED[name], case)
    if name in ("operational_space", "operational_forces", "resolved_acceleration") and not all_directions(case):
        pytest.skip("a frame that cannot move in six directions has no finite inertia")
    compiled = function.evaluate_all(case.model, case.q, vectors_of(function, case), frames)
    for output, expression in stated(function, case, frames).items():
        at_frames = () if frames else ("f", "u", "a0_delayed")
        vectors = {key: value for key, value in case.vectors.items() if key not in at_frames}
        expected = expression.dense(case.q, **vectors)
        assert relative(np.ravel(compiled[output]), np.ravel(expected)) < TOLERANCE, output


def all_directions(case):
    """Whether the frames together can move in every direction, by a margin."""
    jacobian = np.concatenate([ps.jacobian(case.model, case.q, frame) for frame in case.frames])
    return np.linalg.svd(jacobian, compute_uv=False)[-1] > 1e-3 and case.model.nv >= len(jacobian)


def stated(function, case, frames):
    bound = ps.algebra(case.model, frames)
    return {name: bound.expression(node) for name, node in function.nodes(bound.symbols).items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STATED)
def test_compiled_and_interpreted_agree_on_batches(name):
    case = CASES["floating"]
    function, frames = STATED[name], frames_of(STATED[name], case)
    q = case.model.random(np.random.default_rng(0), shape=(2, 7))
    vectors = vectors_of(function, case)
    compiled = function.evaluate_all(case.model, q, vectors, frames)
    for output, expression in stated(function, case, frames).items():
        matrix = expression.node.domain != SCALARS
        evaluation = Evaluation(expression.program(matrix), case.model, frames)
        expected = evaluation(q, vectors)["y"]
        assert relative(np.ravel(compiled[output]), np.ravel(expected)) < TOLERANCE, output


# Widths and CPUs


def statements(case, matrix=False):
    bound = ps.algebra(case.model)
    s = bound.symbols
    node = s.mass.inv if matrix else s.mass.inv @ (s.T - s.C - s.g)
    return Statements((("y", node),), s, bound.setting, matrix, case.model, {})


def baseline():
    if not host().triple.startswith("x86_64"):
        pytest.skip(f"the baseline is an x86-64; this is {host().triple}")
    return Target(host().triple, "x86-64", "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("target", [host, baseline], ids=["this CPU", "x86-64 without AVX and FMA"])
def test_lanes_and_instruction_sets_do_not_change_the_value(target, lanes):
    case = CASES["floating"]
    model, rng = case.model, np.random.default_rng(0)
    q, v, tau = model.random(rng, shape=(2 * lanes + 3,)), *rng.normal(size=(2, 2 * lanes + 3, model.nv))
    kernel = compile_statements(statements(case), target(), lanes)
    expected = ps.forward_dynamics(model, q, v, tau)
    assert relative(kernel(q, {GIVEN["v"]: v, GIVEN["T"]: tau})["y"], expected) < TOLERANCE
    for rows in (1, lanes - 1, lanes, lanes + 1):  # tails of every length
        part = kernel(q[:rows], {GIVEN["v"]: v[:rows], GIVEN["T"]: tau[:rows]})["y"]
        assert relative(part, expected[:rows]) < TOLERANCE


def test_the_baseline_target_has_neither_wide_registers_nor_fused_arithmetic():
    assert not baseline().fma and baseline().lanes == 2


def test_a_machine_without_avx_falls_back(monkeypatch):
    """As `host()` would find it there: everything public goes through the narrow code."""
    monkeypatch.setattr("phistar.backends.kernel.host", baseline)
    model = mechanism(54, bodies=4).model
    q, v, a = model.random(np.random.default_rng(0)), *np.random.default_rng(1).normal(size=(2, model.nv))
    tau = ps.inverse_dynamics(model, q, v, a)
    assert relative(ps.forward_dynamics(model, q, v, tau), a) < 1e-9
    np.testing.assert_allclose(ps.mass_matrix(model, q) @ ps.mass_matrix_inverse(model, q), np.eye(model.nv), atol=1e-9)


def test_the_machine_code_computes_its_trace():
    case = CASES["serial"]
    trace, names, _ = trace_statements(statements(case))
    vectors = {GIVEN[name]: case.vectors[name] for name in ("v", "T")}
    flat = np.concatenate([case.q, *(vectors[name] for name in names)])
    expected = np.array(replay(trace, list(flat)), dtype=float)
    assert relative(compile_statements(statements(case))(case.q, vectors)["y"], expected) < 1e-12


# As a NumPy function


@pytest.fixture(scope="module")
def arm():
    model = ps.load("puma560")
    rng = np.random.default_rng(0)
    return model, *rng.normal(size=(3, 11, model.nv))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_bad_number_spoils_its_own_row_only(arm, bad, which):
    model, *state = arm
    good = ps.forward_dynamics(model, *state)
    state[which] = state[which].copy()
    state[which][4, 2] = bad
    with np.errstate(invalid="ignore"):
        result = ps.forward_dynamics(model, *state)
    assert not np.isfinite(result[4]).all()
    others = np.arange(11) != 4
    np.testing.assert_array_equal(result[others], good[others])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_zero_length_batches(arm, shape):
    model = arm[0]
    q = np.zeros((*shape, 6))
    assert ps.forward_dynamics(model, q, q, q).shape == (*shape, 6)
    assert ps.mass_matrix(model, q).shape == (*shape, 6, 6)
    assert ps.kinetic_energy(model, q, q).shape == shape
    assert ps.jacobian(model, q, "tool").shape == (*shape, 6, 6)


def test_a_batch_of_one_keeps_its_axes_and_a_single_state_has_none(arm):
    model, q, v, tau = arm
    whole = ps.forward_dynamics(model, q, v, tau)
    assert ps.forward_dynamics(model, q[0], v[0], tau[0]).shape == (6,)
    np.testing.assert_array_equal(ps.forward_dynamics(model, q[None, :1], v[:1], tau[0]), whole[None, :1])


def variants(x):
    """The same numbers in arrays of every kind."""
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(x.shape)
    wide = np.zeros((2 * len(x), 3 * x.shape[1]))
    wide[::2, 1::3] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    return {
        "transposed": np.ascontiguousarray(x.T).T,
        "every other": wide[::2, 1::3],
        "backwards": x[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": frozen,
        "unaligned": unaligned,
        "other byte order": x.astype(x.dtype.newbyteorder()),
        "a list": x.tolist(),
        "a subclass": x.view(type("Mine", (np.ndarray,), {})),
    }


@pytest.mark.parametrize("kind", list(variants(np.zeros((1, 1)))))
@pytest.mark.parametrize("which", [0, 1, 2, None])
def test_arrays_of_any_layout(arm, kind, which):
    model, *state = arm
    expected = ps.forward_dynamics(model, *state)
    given = [variants(x)[kind] if which in (i, None) else x for i, x in enumerate(state)]
    kept = [np.array(x) for x in given]
    assert relative(ps.forward_dynamics(model, *given), expected) < 1e-13
    assert relative(ps.mass_matrix(model, given[0]), ps.mass_matrix(model, state[0])) < 1e-13
    assert all(np.array_equal(x, y) for x, y in zip(given, kept, strict=True))  # inputs are left alone


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool])
def test_other_numbers_are_taken_as_the_doubles_they_equal(arm, dtype):
    model = arm[0]
    q, v, tau = np.random.default_rng(0).integers(0, 2, (3, 5, 6)).astype(dtype)
    result = ps.forward_dynamics(model, q, v, tau)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, ps.forward_dynamics(model, *(x.astype(float) for x in (q, v, tau))))


def test_leading_axes_broadcast(arm):
    model, q, v, tau = arm
    result = ps.forward_dynamics(model, q[:5, None], v[None, :3], tau[0])
    assert result.shape == (5, 3, 6)
    for i, j in np.ndindex(5, 3):
        np.testing.assert_array_equal(result[i, j], ps.forward_dynamics(model, q[i], v[j], tau[0]))


WRONG = {
    "too few": (np.zeros(5), np.zeros(6), np.zeros(6)),
    "too many": (np.zeros((3, 7)), np.zeros(6), np.zeros(6)),
    "a number": (0.0, np.zeros(6), np.zeros(6)),
    "axes that do not broadcast": (np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(6)),
    "words": (["a"] * 6, np.zeros(6), np.zeros(6)),
    "ragged": ([[0.0] * 6, [0.0]], np.zeros(6), np.zeros(6)),
    "nothing": (None, np.zeros(6), np.zeros(6)),
}


@pytest.mark.parametrize("state", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("used", [False, True], ids=["first call", "later call"])
def test_wrong_shapes_are_phistar_errors(state, used):
    model = ps.load("puma560")
    if used:
        ps.forward_dynamics(model, np.zeros(6), np.zeros(6), np.zeros(6))
    with pytest.raises(ps.PhistarError) as error:
        ps.forward_dynamics(model, *state)
    assert isinstance(error.value, ValueError) and str(error.value).endswith(".")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", STATED)
def test_a_later_call_gives_what_the_first_gave(name):
    """A function that has been compiled is called at once; what it does around its statement must not be lost."""
    function, model = STATED[name], ps.load("puma560")
    wanted = list(inspect.signature(function).parameters)[1:]
    x = np.random.default_rng(0).normal(size=(4, 6))
    given = {"frame": "tool", "forces": np.ones(36)} | dict.fromkeys(("q", "v", "a", "tau", "force", "u", "v_ref"), x)
    given["torques"] = x
    arguments = [given[parameter] for parameter in wanted if parameter in given]
    first, later = function(model, *arguments), function(model, *arguments)
    assert type(first) is type(later)
    np.testing.assert_equal(later, first)


def compiled_mass(model):
    return ps.compile(ps.algebra(model).mass, model)


OPERANDS = {name: state[:2] for name, state in WRONG.items()} | {
    "one too few": (np.zeros(6),),
    "one too many": (np.zeros(6), np.zeros(6), np.zeros(6)),
}


@pytest.mark.parametrize("operands", OPERANDS.values(), ids=OPERANDS)
def test_wrong_operands_of_a_compiled_statement_are_phistar_errors(arm, operands):
    with pytest.raises(ps.PhistarError):
        compiled_mass(arm[0])(*operands)


def test_out_receives_the_result(arm):
    model, q, x, _ = arm
    function, out = compiled_mass(model), np.full((11, 6), np.nan)
    result = function(q, x, out=out)
    assert result is out
    np.testing.assert_array_equal(out, function(q, x))


def test_out_may_be_strided_or_an_operand(arm):
    model, q, x, _ = arm
    function = compiled_mass(model)
    expected = function(q, x)
    wide = np.zeros((22, 18))
    function(q, x, out=wide[::2, ::3])
    np.testing.assert_array_equal(wide[::2, ::3], expected)
    assert np.count_nonzero(wide) == np.count_nonzero(expected)
    own = x.copy()
    function(q, own, out=own)
    np.testing.assert_array_equal(own, expected)
    shifted = np.concatenate([x, x[:1]])
    function(q, shifted[:-1], out=shifted[1:])  # each row overwrites the operand of the next
    np.testing.assert_array_equal(shifted[1:], expected)


def test_matrices_of_any_layout_as_out(arm):
    model, q, _, _ = arm
    function = ps.compile(ps.algebra(model).mass, model, matrix=True)
    flipped = np.zeros((6, 6, 11)).T
    function(q, out=flipped)
    np.testing.assert_array_equal(flipped, function(q))


def test_out_of_an_operator_that_is_made_as_its_adjoint(arm):
    model, q, _, _ = arm
    function = ps.compile(ps.algebra(model, ["tool"]).J, model, matrix=True)
    for rows in (q, q[0]):
        room = np.full((*rows.shape[:-1], 6, 6), np.nan)
        for out in (room, (room,)):
            room[:] = np.nan
            assert function(rows, out=out) is room
            np.testing.assert_array_equal(room, function(rows))


def test_out_of_a_compiled_function(arm):
    model, q, v, tau = arm
    one = ps.compile(ps.forward_dynamics, model)
    room = np.empty((11, 6))
    assert one(q, v, tau, out=room) is room
    np.testing.assert_array_equal(room, one(q, v, tau))
    several = ps.compile(ps.innovations, model)
    rooms = tuple(np.empty((3, 11, 6, 6)))
    assert all(ours is theirs for ours, theirs in zip(several(q, out=rooms), rooms, strict=True))
    np.testing.assert_array_equal(rooms, several(q))


@pytest.mark.parametrize("out", [[0.0], np.zeros(3), np.zeros((11, 6, 6), int), (), (np.zeros(1),) * 2], ids=str)
def test_wrong_room_is_a_phistar_error(arm, out):
    model, q, _, _ = arm
    for compiled in (ps.compile(ps.algebra(model, ["tool"]).J, model, matrix=True), ps.compile(ps.mass_matrix, model)):
        with pytest.raises(ps.PhistarError):
            compiled(q, out=out)


def test_other_threads_run_while_a_kernel_runs(monkeypatch):
    """Progress of this thread is counted in naps it wakes from during one long call of another thread."""
    monkeypatch.setenv("PHISTAR_THREADS", "1")
    model = ps.chain(30)
    states = 1_000_000
    q = np.broadcast_to(np.linspace(0, 1, model.nq), (states, model.nq))
    ps.kinetic_energy(model, q[:10], q[:10])
    inside, naps = threading.Event(), 0

    def call():
        inside.set()
        ps.kinetic_energy(model, q, q)
        inside.clear()

    worker = threading.Thread(target=call)
    worker.start()
    inside.wait()
    while inside.is_set():
        time.sleep(sys.getswitchinterval() / 5)
        naps += inside.is_set()
    worker.join()
    assert naps > 10


def test_threads_that_share_a_kernel_do_not_disturb_each_other(arm):
    model, *state = arm
    expected, wrong = ps.forward_dynamics(model, *state), []

    def call(row):
        for _ in range(200):
            if not np.array_equal(ps.forward_dynamics(model, *(x[row] for x in state)), expected[row]):
                wrong.append(row)

    workers = [threading.Thread(target=call, args=(row,)) for row in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_batches_split_over_threads_have_the_same_value(arm, threads, monkeypatch):
    monkeypatch.setenv("PHISTAR_THREADS", threads)
    model = arm[0]
    q, v, tau = np.random.default_rng(0).normal(size=(3, 20_001, 6))
    whole = ps.forward_dynamics(model, q, v, tau[0])
    np.testing.assert_array_equal(whole[::997], ps.forward_dynamics(model, q[::997], v[::997], tau[0]))


def test_the_robot_itself_is_in_the_code():
    """M scaled by two is another statement and another result: nothing stands beside the algebra."""
    model = ps.load("planar3")
    algebra = ps.algebra(model)
    doubled = algebra.H @ algebra.phi @ (2 * algebra.M) @ algebra.phi.T @ algebra.H.T
    q, x = np.random.default_rng(0).normal(size=(2, 3))
    twice = ps.compile(doubled, model)(q, x)
    assert relative(twice, 2 * (ps.mass_matrix(model, q) - np.diag(model.armature)) @ x) < 1e-13
