"""What every public function does with arrays that are unusual, and with what is no array of real numbers."""

import inspect

import numpy as np
import pytest

import phistar as ps
from tests.trees import mechanism, relative

FUNCTIONS = [
    *("inverse_dynamics", "forward_dynamics", "forward_dynamics_two_step", "mass_matrix", "mass_matrix_inverse"),
    *("bias", "gravity_load", "jacobian", "jacobian_dot_v", "forward_kinematics", "innovations", "task_mobility"),
    *("tip_acceleration_change", "momentum", "kinetic_energy", "potential_energy", "center_of_mass"),
    *("composite_inertia", "joint_friction", "frame_velocity", "mobility", "force_response"),
    *("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "linearize", "regressor"),
    "inverse_dynamics_hessian_product",
]
AS_V = ("v", "a", "tau", "w", "dq", "dv", "da")
CASE = mechanism(60, bodies=2, frames=1, floating=True)


def arguments(name, model, frame, batch=(5,)):
    """By name; q first."""
    rng, found = np.random.default_rng(0), {}
    for parameter in list(inspect.signature(getattr(ps, name)).parameters)[1:]:
        if parameter == "q":
            found["q"] = model.random(rng, shape=batch)
        elif parameter in AS_V:
            found[parameter] = rng.normal(size=(*batch, model.nv))
        elif parameter == "force":
            found[parameter] = rng.normal(size=(*batch, 6))
        elif parameter == "frame":
            found[parameter] = frame
    return found


def numeric(given):
    return [name for name in given if name != "frame"]


def results(made):
    return [np.asarray(x) for x in made] if isinstance(made, tuple) else [np.asarray(made)]


def unreal(x):
    """What float64 would take by dropping a part of it, or by reading it."""
    return {
        "complex": x + 0.5j,
        "one complex state": x[0] + 0.5j,
        "complex numbers in a list": list(x[0] + 0.5j),
        "complex objects": (x + 0.5j).astype(object),
        "times": np.zeros(x.shape, "datetime64[s]"),
        "fields": np.zeros(x.shape, [("angle", float)]),
        "numerals": [["1"] * x.shape[1]] * len(x),
    }


@pytest.mark.parametrize("kind", unreal(np.zeros((1, 1))))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_array_of_real_numbers_is_refused_before_and_after_compiling(name, kind):
    model, frame = CASE.model, CASE.frames[0]
    given = arguments(name, model, frame)
    for parameter in numeric(given):
        with pytest.raises(ps.PhistarError, match="real numbers"):
            getattr(ps, name)(model, **(given | {parameter: unreal(given[parameter])[kind]}))
    getattr(ps, name)(model, *given.values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_floats_in_arrays_of_objects_are_floats(name):
    model, frame = CASE.model, CASE.frames[0]
    given = arguments(name, model, frame)
    boxed = {key: x if key == "frame" else x.astype(object) for key, x in given.items()}
    for ours, theirs in zip(
        results(getattr(ps, name)(model, **boxed)), results(getattr(ps, name)(model, **given)), strict=True
    ):
        assert ours.dtype == np.float64 and relative(ours, theirs) < 1e-12


@pytest.fixture(scope="module")
def post():
    """Nothing moves."""
    builder = ps.ModelBuilder("post")
    builder.body("post", parent="world", joint=ps.Fixed(), inertia=ps.Inertia(1.0))
    builder.frame("top", body="post", placement=ps.Pose(xyz=(0, 0, 1)))
    return builder.build()


@pytest.mark.parametrize("batch", [(), (3,), (0,)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_joints_there_is_nothing_that_moves(post, name, batch):
    with np.errstate(invalid="ignore"):  # the centre of no mass
        made = results(getattr(ps, name)(post, **arguments(name, post, "top", batch)))
    for x in made:
        assert x.shape[: len(batch)] == batch
        if name not in ("forward_kinematics", "center_of_mass", "potential_energy"):
            assert not x.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_bad_number_spoils_its_own_row_only(name, bad):
    model, frame = CASE.model, CASE.frames[0]
    given = arguments(name, model, frame)
    good = results(getattr(ps, name)(model, **given))
    others = np.arange(5) != 3
    for parameter in numeric(given):
        changed = given[parameter].copy()
        changed[3, -1] = bad
        with np.errstate(all="ignore"):
            spoiled = results(getattr(ps, name)(model, **(given | {parameter: changed})))
        for ours, theirs in zip(spoiled, good, strict=True):
            np.testing.assert_array_equal(ours[others], theirs[others])


def test_the_robot_stands_first():
    arm = ps.load("puma560")
    with pytest.raises(
        ps.StatementError, match=r"mass_matrix takes the robot first, mass_matrix\(model, …\); .* ndarray"
    ):
        ps.mass_matrix(np.zeros(6), arm)  # type: ignore[arg-type]


def test_derivatives_say_so_too():
    arm = ps.load("planar2")
    with pytest.raises(ps.StatementError, match=r"forward_dynamics_derivatives takes the robot first"):
        ps.forward_dynamics_derivatives(np.zeros(2), arm, np.zeros(2), np.zeros(2))  # type: ignore[arg-type]


def test_several_frames_where_one_is_wanted_are_refused():
    arm = ps.load("puma560")
    with pytest.raises(ps.UnknownNameError, match="given by its name"):
        ps.forward_kinematics(arm, np.zeros(6), ["tool", "link3"])  # type: ignore[arg-type]


def test_a_misspelt_function_is_answered_with_the_near_ones():
    with pytest.raises(AttributeError, match="did you mean forward_dynamics"):
        ps.forward_dynamic  # noqa: B018


@pytest.mark.parametrize("name", ["linearize", "regressor", "joint_friction", "forward_kinematics", "center_of_mass"])
def test_every_function_says_that_the_robot_stands_first(name):
    model, function = ps.chain(2), getattr(ps, name)
    arguments = [np.zeros(2)] * (3 if name in ("linearize", "regressor") else 1)
    last = {"forward_kinematics": ["tip"], "joint_friction": [np.zeros(2)]}.get(name, [])
    with pytest.raises(ps.StatementError, match=rf"{name} takes the robot first"):
        function(arguments[0], model, *arguments[1:], *last)


@pytest.mark.parametrize("frame", [None, 3, ["tip", 3], b"tip", np.zeros(2)])
def test_what_is_no_name_of_a_frame_is_refused_with_a_sentence(frame):
    arm = ps.chain(3)
    calls = [
        lambda: ps.frame_velocity(arm, np.zeros(3), np.zeros(3), frame),
        lambda: ps.jacobian(arm, np.zeros(3), frame),
        lambda: ps.forward_kinematics(arm, np.zeros(3), frame),
        lambda: ps.frame_velocity.on(arm, frame),
    ]
    for call in calls:
        with pytest.raises(ps.PhistarError):
            call()
