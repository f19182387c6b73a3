"""Public functions and statements, recorded: the record has the value of the function, on every joint kind."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.traces.symbolic import replay
from phistar.recording import record
from tests.trees import KINDS, mechanism, relative

# Every function that can be written out, with the frames it needs.
FUNCTIONS = {
    **dict.fromkeys(["inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_inverse", "bias"], 0),
    **dict.fromkeys(["gravity_load", "innovations", "momentum", "kinetic_energy", "potential_energy"], 0),
    **dict.fromkeys(["center_of_mass", "composite_inertia", "forward_dynamics_two_step", "regressor"], 0),
    **dict.fromkeys(["inverse_dynamics_derivatives", "forward_dynamics_derivatives", "linearize"], 0),
    "inverse_dynamics_hessian_product": 0,
    **dict.fromkeys(["jacobian", "jacobian_dot_v", "tip_acceleration_change", "forward_kinematics"], 1),
    "operational_space": 1,
}
CASES = {kind: mechanism(60, kind=kind, bodies=2, frames=1) for kind in KINDS}
CASES["tree with armature"] = mechanism(61, serial=False, floating=False, armature=True, bodies=3, frames=1)
CASES["arm"] = mechanism(64, kind="revolute", floating=False, serial=True, bodies=7, frames=1, tips=True)
EVERY_KIND = ("forward_dynamics", "inverse_dynamics", "kinetic_energy", "jacobian", "forward_kinematics")
PAIRS = [(case, name) for case in KINDS for name in EVERY_KIND]
PAIRS += [(case, name) for case in ("tree with armature", "arm") for name in FUNCTIONS]


def values(found, case):
    rng = np.random.default_rng(0)
    return {name: case.q if name == "q" else rng.normal(size=size) for name, size in found.arguments}


def flat(result):
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(part) for part in parts])


def recorded(found, given):
    return np.array(replay(found.trace, list(np.concatenate(list(given.values())))), dtype=float)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case, name", PAIRS)
def test_a_recorded_function_has_the_value_of_the_function(case, name):
    case = CASES[case]
    function, frame = getattr(ps, name), case.frames[0] if FUNCTIONS[name] else None
    if name == "operational_space" and case.path_dofs(case.frames[0]) < 6:
        pytest.skip("the frame cannot move in six directions, so its inertia is infinite")
    found = record(function, case.model, frame)
    given = values(found, case)
    expected = function(case.model, **given, **({"frame": frame} if frame else {}))
    assert relative(recorded(found, given), flat(expected)) < 1e-9
    assert sum(int(np.prod(shape)) for _, shape in found.results) == flat(expected).size


@pytest.mark.parametrize("function", [ps.inverse_dynamics, ps.forward_dynamics], ids=lambda f: f.__name__)
def test_forces_at_frames_are_an_argument(function):
    case = mechanism(62, frames=2, serial=False, bodies=5)
    found = record(function, case.model, case.frames)
    given = values(found, case)
    forces = dict(zip(case.frames, given["f_ext"].reshape(2, 6), strict=True))
    others = {name: value for name, value in given.items() if name != "f_ext"}
    expected = function(case.model, **others, f_ext=forces)
    assert relative(recorded(found, given), expected) < 1e-10


@pytest.mark.parametrize("matrix", [False, True])
def test_a_statement_with_inertia_and_gravity_as_arguments(matrix):
    case = mechanism(63, serial=True, frames=1, bodies=4, tips=True)
    algebra = ps.algebra(case.model, case.frames)
    statement = algebra.J @ algebra.mass.inv @ algebra.J.T
    found = record(statement, case.model, parameters=("inertia", "gravity"), matrix=matrix)
    names = [name for name, _ in found.arguments]
    assert names == (["q", "inertia", "gravity"] if matrix else ["q", "x", "inertia", "gravity"])
    given = values(found, case)
    heavy = [1.5 * body.inertia.parameters for body in case.model.bodies]
    given["inertia"] = np.concatenate(heavy)
    inertias = {b.name: ps.Inertia.from_parameters(p) for b, p in zip(case.model.bodies, heavy, strict=True)}
    heavier = ps.algebra(case.model.replace(inertias=inertias), case.frames)
    expected = (heavier.J @ heavier.mass.inv @ heavier.J.T).dense(case.q)
    expected = expected if matrix else expected @ given["x"]
    assert relative(recorded(found, given), np.ravel(expected)) < 1e-9


def test_parameters_of_a_function_replace_the_robots_constants():
    model = ps.load("puma560")
    found = record(ps.gravity_load, model, parameters=("gravity",))
    q, gravity = np.random.default_rng(0).normal(size=6), np.array([1.0, 2.0, 3.0])
    expected = ps.gravity_load(model.replace(gravity=gravity), q)
    assert relative(recorded(found, {"q": q, "gravity": gravity}), expected) < 1e-12


def test_an_abstract_statement_takes_the_model_it_is_given():
    model = ps.load("planar3")
    found = record(ps.algebra().mass, model, matrix=True)
    q = np.array([0.1, 0.2, 0.3])
    assert relative(recorded(found, {"q": q}), np.ravel(ps.mass_matrix(model, q))) < 1e-12


def test_a_statement_that_is_to_be_computed_as_written_is_recorded_so():
    model, written = ps.load("puma560"), ps.forward_dynamics_two_step.statement
    found = record(written, model).trace.operations
    assert found == ps.compile(written, model).operations
    assert found > record(ps.forward_dynamics.statement, model).trace.operations


def test_a_task_statement_without_frames_is_refused_before_it_is_recorded():
    A = ps.algebra()
    with pytest.raises(ps.StatementError, match="task frames"):
        record(A.J @ A.v, ps.load("planar2"))


def test_a_result_named_like_an_argument_is_told_apart():
    found = record(ps.operational_space, ps.load("puma560"), "tool", parameters=("gravity",))
    names = [name for name, _ in (*found.arguments, *found.results)]
    assert len(set(names)) == len(names)


def spring(t, q, v, target):
    """A controller with everything a function may be written with."""
    model = ps.load("puma560")
    reach = ps.forward_kinematics(model, q, "tool")[:3, 3]
    pull = ps.jacobian(model, q, "tool")[3:].T @ (100.0 * (target - reach))
    held = np.clip(pull + ps.gravity_load(model, q), -60.0, 60.0)
    return held - np.sqrt(1.0 + t * t) * v + ps.joint_friction(model, q, v)


def test_a_function_of_ones_own_is_recorded_with_phistar_s_functions_inside():
    found = record(spring, ps.load("puma560"), rows={"target": 3})
    assert found.arguments == (("t", 1), ("q", 6), ("v", 6), ("target", 3))
    rng = np.random.default_rng(1)
    given = {"t": rng.normal(size=1), "q": rng.normal(size=6), "v": rng.normal(size=6), "target": rng.normal(size=3)}
    expected = spring(given["t"][0], given["q"], given["v"], given["target"])
    assert relative(recorded(found, given), expected) < 1e-12


def test_a_compiled_function_broadcasts_and_keeps_the_shape_of_its_results():
    model, rng = ps.load("puma560"), np.random.default_rng(2)
    function = ps.compile(spring, model, rows={"target": 3})
    t, q, v, target = rng.normal(size=5), rng.normal(size=(4, 5, 6)), rng.normal(size=(5, 6)), rng.normal(size=3)
    made = function(t, q, v, target)
    assert made.shape == (4, 5, 6) and function.inputs == ("t", "q", "v", "target")
    for i, j in np.ndindex(4, 5):
        np.testing.assert_allclose(made[i, j], spring(t[j], q[i, j], v[j], target), rtol=1e-10, atol=1e-10)
    both = ps.compile(ps.operational_space, model, frame="tool")(q, v)
    np.testing.assert_allclose(both.inertia, ps.operational_space(model, q, v, "tool").inertia, rtol=1e-7)
    named = ps.compile(lambda q: {"M": ps.mass_matrix(model, q)}, model)(q)
    np.testing.assert_allclose(named["M"], ps.mass_matrix(model, q), rtol=1e-12)
    with pytest.raises(ps.ShapeError, match=r"takes t \(…\), q \(…, 6\)"):
        function(t, q, v)


def test_a_tuple_of_results_is_a_tuple():
    model, q = ps.load("puma560"), np.random.default_rng(3).normal(size=(4, 6))
    for function in (lambda q: (q, q[:2]), lambda q: (q[0], 2.0 * q), lambda q: (q,)):
        made = ps.compile(function, model)(q)
        assert type(made) is tuple
        for i in range(4):
            for ours, theirs in zip(made, function(q[i]), strict=True):
                np.testing.assert_array_equal(ours[i], theirs)


def test_one_parameter_may_be_named_alone():
    model = ps.load("planar3")
    algebra = ps.algebra(model)
    assert ps.compile(ps.bias, model, parameters="gravity").inputs == ("q", "v", "gravity")
    assert ps.compile(algebra.mass.inv @ algebra.g, model, parameters="gravity").inputs == ("q", "gravity")


def test_traced_numbers_are_one_state():
    model = ps.load("planar2")
    with pytest.raises(ps.StatementError, match="one state"):
        record(lambda q: ps.mass_matrix(model, q[None]), model)


def test_recording_leaves_the_functions_as_they_were():
    model, q = ps.load("planar3"), np.array([0.1, 0.2, 0.3])
    before = ps.mass_matrix(model, q)
    record(ps.mass_matrix, model)
    np.testing.assert_array_equal(ps.mass_matrix(model, q), before)
    assert isinstance(ps.innovations(ps.load("planar3"), q).D, np.ndarray)


REFUSED = {
    "a frame is needed": (lambda m: record(ps.jacobian, m), "name one with `frame`"),
    "no frame belongs there": (lambda m: record(ps.bias, m, "tool"), "not about a frame"),
    "an unknown frame": (lambda m: record(ps.jacobian, m, "tol"), "did you mean 'tool'"),
    "it branches": (lambda m: record(lambda q: q if q[0] > 0 else -q, m), "must not branch on values"),
    "it takes what has no size": (lambda m: record(ps.load, m), "whose size is not known"),
    "not a function at all": (lambda m: record(3, m), "is neither"),
    "not numbers": (lambda m: record(lambda q: np.array(["a"]), m), "must give numbers"),
    "an unknown parameter": (lambda m: record(ps.bias, m, parameters=("mass",)), "choose from inertia, gravity"),
    "parameters of a plain function": (
        lambda m: record(ps.center_of_mass, m, parameters=("inertia",)),
        "are for stated functions",
    ),
    "matrix of a function": (lambda m: record(ps.bias, m, matrix=True), "is for statements"),
    "lists of several shapes": (lambda m: record(lambda q: [q, q[:2]], m), "give a tuple"),
    "no entries": (lambda m: ps.compile(lambda q: q[:0], m), "without entries"),
    "no arguments": (lambda m: ps.compile(lambda: np.ones(3), m), "takes nothing of a state"),
    "rows of nothing": (lambda m: ps.compile(lambda q, x: q, m, rows={"x": 0}), "whole number from 1 on; it is 0"),
    "rows that are no number": (lambda m: ps.compile(lambda q, x: q, m, rows={"x": 2.5}), "it is 2.5"),
    "no model": (lambda m: ps.compile(ps.bias, "puma560"), "'puma560' is none"),
    "no model for a statement": (lambda m: ps.compile(ps.algebra().mass, "puma560"), "'puma560' is none"),
    "nothing moves": (lambda m: record(ps.bias, ps.ModelBuilder("rock").build()), "no joint that moves"),
}


@pytest.mark.parametrize("call, sentence", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_recorded_is_refused_with_a_sentence(call, sentence):
    with pytest.raises(ps.PhistarError, match=sentence):
        call(ps.load("puma560"))
