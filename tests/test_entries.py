"""One state at a time: the entry kept on the model gives what the long way gives, and takes nothing else."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import phistar as ps
from phistar import stated
from phistar.backends.programs.derivations import AS_WRITTEN
from phistar.entries import AT

ARM = ps.load("puma560")
RNG = np.random.default_rng(0)
Q, V, TAU, FORCE = ARM.random(RNG), *RNG.standard_normal((2, ARM.nv)), RNG.standard_normal(6)
FRAME, OTHER = list(ARM.frames)[-1], list(ARM.frames)[3]
CALLS = {
    "jacobian": lambda m: ps.jacobian(m, Q, FRAME),
    "jacobian by name": lambda m: ps.jacobian(m, Q, frame=OTHER),
    "frame_velocity": lambda m: ps.frame_velocity(m, Q, V, FRAME),
    "frame_velocity of two": lambda m: ps.frame_velocity(m, Q, V, [FRAME, OTHER]),
    "jacobian_dot_v": lambda m: ps.jacobian_dot_v(m, Q, V, FRAME),
    "mobility": lambda m: ps.mobility(m, Q, FRAME),
    "tip_acceleration_change": lambda m: ps.tip_acceleration_change(m, Q, FRAME, FORCE),
    "forward_dynamics": lambda m: ps.forward_dynamics(m, Q, V, TAU),
    "forward_dynamics f_ext": lambda m: ps.forward_dynamics(m, Q, V, TAU, f_ext={FRAME: FORCE}),
    "forward_dynamics two f_ext": lambda m: ps.forward_dynamics(m, Q, V, TAU, {FRAME: FORCE, OTHER: 2 * FORCE}),
    "forward_dynamics no f_ext": lambda m: ps.forward_dynamics(m, Q, V, TAU, f_ext={}),
    "inverse_dynamics f_ext": lambda m: ps.inverse_dynamics(m, Q, V, TAU, {FRAME: FORCE}),
    "force_response": lambda m: ps.force_response(m, Q, TAU, {FRAME: FORCE}),
    "forward_kinematics": lambda m: ps.forward_kinematics(m, Q, FRAME),
    "center_of_mass": lambda m: ps.center_of_mass(m, Q),
    "joint_friction": lambda m: ps.joint_friction(m, Q, V),
    "centroidal_map": lambda m: ps.centroidal_map(m, Q),
    "center_of_mass_jacobian": lambda m: ps.center_of_mass_jacobian(m, Q),
    "coriolis_matrix": lambda m: ps.coriolis_matrix(m, Q, V),
    "integrate": lambda m: m.integrate(Q, V),
    "difference": lambda m: m.difference(Q, V),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_second_call_gives_what_the_first_gave(call):
    model = ARM.replace(name="another")
    first = call(model)
    for _ in range(2):
        np.testing.assert_array_equal(call(model), first)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (ps.mass_matrix, {"q": Q}),
        (ps.jacobian, {"q": Q, "frame": FRAME}),
        (ps.frame_velocity, {"q": Q, "v": V, "frame": FRAME}),
        (ps.forward_dynamics, {"q": Q, "v": V, "tau": TAU, "f_ext": {FRAME: FORCE}}),
        (ps.inverse_dynamics_derivatives, {"q": Q, "v": V, "a": TAU}),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_every_argument_may_be_named_the_robot_too(function, arguments):
    named = function(model=ARM, **arguments)
    for one, other in zip(_arrays(named), _arrays(function(ARM, *arguments.values())), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ps.StatementError, match="takes the robot first"):
        function(model=Q, **arguments)


WHOLE = [(ps.centroidal_map, (Q,)), (ps.center_of_mass_jacobian, (Q,)), (ps.coriolis_matrix, (Q, V))]


@pytest.mark.parametrize(("function", "arguments"), WHOLE, ids=lambda x: getattr(x, "__name__", ""))
def test_functions_around_statements_are_recorded_whole_and_give_what_they_give_by_parts(function, arguments):
    model = ARM.replace(name="whole")
    found = function(model, *arguments)
    assert model.__dict__[function._slot]
    np.testing.assert_allclose(found, function._function(model, *arguments), rtol=1e-12, atol=1e-12)
    many = function(model, *(np.stack([x] * 3) for x in arguments))
    np.testing.assert_allclose(many, np.stack([found] * 3), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(function(model, *(x.tolist() for x in arguments)), found)
    with pytest.raises(ps.ShapeError, match=r"needs \(…, 6\)"):
        function(model, Q[:3], *arguments[1:])


def _gripper():
    """An arm of three links and two fingers, one of which follows the other."""
    builder = ps.ModelBuilder("gripper")
    inertia = ps.Inertia(1.0, (0.2, 0.1, 0), np.diag([0.1, 0.2, 0.3]))
    last = "world"
    for k in range(3):
        joint, place = ps.Revolute(axis=np.eye(3)[k]), ps.Pose(xyz=(0.3, 0, 0.1))
        builder.body(f"link{k}", parent=last, joint=joint, placement=place, inertia=inertia)
        last = f"link{k}"
    for side in (-1, 1):
        joint = ps.Prismatic(axis=(0, side, 0))
        builder.body(f"finger{side}", parent=last, joint=joint, inertia=ps.Inertia(0.1, (0, 0, 0), 1e-3 * np.eye(3)))
    builder.frame("tip", body="finger1", placement=ps.Pose(xyz=(0.1, 0, 0)))
    names = [joint.name for joint in builder.build().joints]
    builder.loop("mimic", names[-1], names[-2], ps.Coupling(coefficients=(0.0, 1.0)))
    return builder.build()


def test_coupled_joints_have_entries_that_give_what_the_loops_way_gives():
    model, rng = _gripper(), np.random.default_rng(3)
    q, v, tau, force = rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal(5), rng.standard_normal(6)
    q[4], v[4] = q[3], v[3]
    calls = [
        (ps.forward_dynamics, (q, v, tau)),
        (ps.forward_dynamics, (q, v, tau, {"tip": force})),
        (ps.mass_matrix_inverse, (q,)),
        (ps.force_response, (q, tau)),
        (ps.mobility, (q, "tip")),
        (ps.task_mobility, (q, v, "tip")),
        (ps.tip_acceleration_change, (q, "tip", force)),
    ]
    for function, arguments in calls:
        expected = _arrays(function._function(model, *arguments))
        for _ in range(2):
            for one, other in zip(_arrays(function(model, *arguments)), expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def _arrays(result):
    return [result] if isinstance(result, np.ndarray) else list(result)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(ps.jacobian, (Q, FRAME)), (ps.frame_velocity, (Q, V, FRAME)), (ps.forward_dynamics, (Q, V, TAU, {FRAME: FORCE}))],
)
def test_functions_with_frames_have_an_entry_per_robot_and_frames(function, arguments):
    model = ARM.replace(name="fresh")
    slot = function._slot + AT
    assert slot not in model.__dict__
    function(model, *arguments)
    assert len(model.__dict__[slot]) == 1
    other = ({OTHER: FORCE},) if isinstance(arguments[-1], dict) else (OTHER,)
    function(model, *arguments[:-1], *other)
    assert len(model.__dict__[slot]) == 2


def test_batches_lists_and_mistakes_go_the_long_way_after_single_states():
    model = ARM.replace(name="mixed")
    one = ps.jacobian(model, Q, FRAME)
    assert ps.jacobian(model, np.stack([Q] * 3), FRAME).shape == (3, 6, ARM.nv)
    np.testing.assert_allclose(ps.jacobian(model, Q.tolist(), FRAME), one, rtol=0, atol=1e-15)
    np.testing.assert_allclose(ps.jacobian(model, np.stack([Q] * 3)[None], FRAME)[0, 1], one, rtol=0, atol=1e-15)
    with pytest.raises(ps.UnknownNameError):
        ps.jacobian(model, Q, "nowhere")
    with pytest.raises(ps.ShapeError):
        ps.jacobian(model, Q[:3], FRAME)
    with pytest.raises(ps.ShapeError):
        ps.forward_dynamics(model, Q, V, TAU, {FRAME: FORCE[:5]})
    ps.forward_dynamics(model, Q, V, TAU, {FRAME: FORCE})
    forces = np.stack([FORCE, 2 * FORCE])
    assert ps.forward_dynamics(model, Q, V, TAU, {FRAME: forces}).shape == (2, ARM.nv)


def test_known_entries_refuse_what_the_first_call_refuses():
    """Forces of five and seven numbers are twelve together; words that no function knows are not passed over."""
    model = ARM.replace(name="learned")
    for f_ext in (None, {FRAME: FORCE}, {FRAME: FORCE, OTHER: FORCE}):
        ps.forward_dynamics(model, Q, V, TAU, f_ext)
    with pytest.raises(ps.ShapeError, match=FRAME):
        ps.forward_dynamics(model, Q, V, TAU, {FRAME: FORCE[:5], OTHER: np.append(FORCE, 1.0)})
    for nothing in (0, [], "", False):
        with pytest.raises(ps.ShapeError, match="f_ext must map"):
            ps.forward_dynamics(model, Q, V, TAU, nothing)
    with pytest.raises(TypeError, match="unexpected"):
        ps.forward_dynamics(model, Q, V, TAU, f_ext={FRAME: FORCE}, forces=1)
    with pytest.raises(TypeError, match="multiple values"):
        ps.forward_dynamics(model, Q, V, TAU, {FRAME: FORCE}, f_ext={OTHER: FORCE})


def test_closed_chains_keep_their_own_answers():
    """The spanning tree's kernel is no entry of a function that answers for the closed chain."""
    builder = ps.ModelBuilder("bars", gravity=(0, -9.81, 0))
    inertia = ps.Inertia(1.0, (0.5, 0, 0), np.diag([0.01, 0.1, 0.1]))
    for name, parent, place in (("a", "world", 0.0), ("b", "a", 1.0), ("c", "b", 1.0)):
        joint = ps.Revolute(axis=(0, 0, 1))
        builder.body(name, parent=parent, joint=joint, placement=ps.Pose(xyz=(place, 0, 0)), inertia=inertia)
    builder.frame("end", body="c", placement=ps.Pose(xyz=(1, 0, 0)))
    builder.frame("ground", body="world", placement=ps.Pose(xyz=(1, 0, 0)))
    builder.loop("closure", "end", "ground", joint=ps.Revolute(axis=(0, 0, 1)))
    closed = builder.build()
    q = ps.assemble(closed, closed.random(1))
    v, tau = np.zeros(closed.nv), np.ones(closed.nv)
    expected = ps.forward_dynamics(closed, q, v, tau)
    ps.forward_dynamics.evaluate(closed, q, {"v": v, "T": tau})
    for _ in range(2):
        np.testing.assert_array_equal(ps.forward_dynamics(closed, q, v, tau), expected)
        for batch in (2, 5, 40):
            many = ps.forward_dynamics(closed, *(np.tile(x, (batch, 1)) for x in (q, v, tau)))
            np.testing.assert_allclose(many, np.tile(expected, (batch, 1)), rtol=0, atol=1e-12 * np.abs(expected).max())


WARM = """
import json, sys
import numpy as np
import phistar as ps
model = ps.load("puma560")
q = np.full(6, 0.3)
results = [f(model, q, *more).tolist() for f, more in ((ps.forward_dynamics, (q, q)), (ps.mass_matrix, ()))]
results.append(ps.forward_dynamics(model, q.tolist(), q, q, {"tool": np.ones(6)}).tolist())
print(json.dumps([results, sorted(name for name in sys.modules if name.startswith("phistar."))]))
"""


def test_a_later_process_goes_to_the_entry_at_its_first_call_without_what_makes_kernels(tmp_path):
    """Nothing of the algebra, the rewriter, the sweeps or the emitters is imported where the kernels are on disk."""
    environment = os.environ | {"PHISTAR_CACHE": str(tmp_path / "cache")}

    def start():
        done = subprocess.run([sys.executable, "-c", WARM], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (first, cold), (again, warm) = start(), start()
    assert first == again
    rooms = (
        "identities",
        "operators",
        "sweeps",
        "expression",
        "backends.kernels",
        "backends.code",
        "backends.pairwise",
    )
    assert [name for name in warm if name.removeprefix("phistar.").startswith(rooms)] == []
    assert len(warm) < 100 < len(cold)


def test_laws_of_a_users_own_keep_entries_of_other_processes_away(monkeypatch):
    model = ARM.replace(name="lawful")
    ps.gravity_load(model, Q)
    law = sys.modules["phistar.identities.law"]
    monkeypatch.setattr(law, "laws_of_users", lambda: ("a law",))
    assert ps.gravity_load._entries._name(model, ()) == ""


def test_the_form_that_is_named_before_anything_is_imported_is_the_one_that_programs_know():
    assert stated.AS_WRITTEN == AS_WRITTEN
