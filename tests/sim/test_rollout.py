"""`ps.rollout`: the compiled time loop against the loop in NumPy and `simulate`, and by the order of its methods."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.timeloop import Memory
from phistar.sim import rollout as module
from phistar.sim.floating import MORE
from phistar.sim.integrators import METHODS
from phistar.sim.joint_drives import Drives
from tests.trees import KINDS, mechanism

ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4}
CURVED = [None, "spherical", "free"]


def stepped(model, method, q0, v0, controls, t):
    """The loop in NumPy around `ps.forward_dynamics`."""
    arrays, memory = [np.asarray(x, dtype=float) for x in (q0, v0)], Memory(model.nq, model.nv)
    floating = METHODS[method].floating(model)
    if floating is not None:
        arrays, memory = floating.from_state(*arrays), Memory(model.nq + MORE, model.nv)
    made = module._step_in_numpy(Drives(model), method, memory, None, arrays, t, np.asarray(controls), None)
    return made if floating is None else floating.to_state(*made)


def tree(kind, bodies=3):
    return mechanism(5, kind=kind, bodies=bodies if kind else 6, floating=kind is None).model


def states(model, shape, seed=0):
    rng = np.random.default_rng(seed)
    return model.random(rng, shape), rng.normal(size=(*shape, model.nv))


def with_passive_forces():
    builder = ps.ModelBuilder("worn")
    rod = ps.Inertia(1.0, (0.5, 0, 0), np.diag([0.1, 0.2, 0.2]))
    worn = {"damping": 0.3, "stiffness": 2.0, "friction": (0.4, 0.2)}
    builder.body("a", parent="world", joint=ps.Revolute(axis=(0, 1, 0), rest=0.3, **worn), inertia=rod)
    builder.body("b", parent="a", joint=ps.Universal(**worn), placement=ps.Pose(xyz=(1, 0, 0)), inertia=rod)
    builder.body("c", parent="b", joint=ps.Spherical(damping=0.1, friction=0.2), inertia=rod)
    return builder.build()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [*KINDS, None])
def test_the_kernel_does_what_the_loop_in_numpy_does(kind, method):
    model = tree(kind)
    q0, v0 = states(model, (7,))
    controls = np.random.default_rng(1).normal(size=(7, 30, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=2e-3, steps=30, method=method)
    q, v = stepped(model, method, q0, v0, controls, run.t)
    assert np.abs(run.q - q).max() < 1e-11 * max(1.0, np.abs(q).max())
    assert np.abs(run.v - v).max() < 1e-11 * max(1.0, np.abs(v).max())


@pytest.mark.parametrize("method", METHODS)
def test_passive_joint_forces_act(method):
    model = with_passive_forces()
    q0, v0 = states(model, (5,))
    controls = np.zeros((5, 20, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=1e-3, steps=20, method=method, limits="ignore")
    q, v = stepped(model, method, q0, v0, controls, run.t)
    assert np.abs(run.q - q).max() < 1e-12
    assert np.abs(run.v - v).max() < 1e-12
    step = ps.rollout(model, q0, v0, dt=1e-7, steps=1, method=method, limits="ignore")
    expected = ps.forward_dynamics(model, q0, v0, ps.joint_friction(model, q0, v0))
    assert np.abs((step.v[:, 1] - v0) / 1e-7 - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("gyroscopic", [False, True])
def test_rotors_act_as_in_forward_dynamics(gyroscopic):
    builder, rng = ps.ModelBuilder("geared"), np.random.default_rng(0)
    for k in range(3):
        gear = {"gear_ratio": 50.0, "rotor_inertia": 1e-2, "gyroscopic": gyroscopic}
        inertia, place = ps.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3)), ps.Pose(xyz=rng.normal(size=3))
        joint = ps.Revolute(axis=rng.normal(size=3), **gear)
        builder.body(f"b{k}", parent=f"b{k - 1}" if k else "world", joint=joint, placement=place, inertia=inertia)
    model = builder.build()
    q0, v0 = states(model, (4,))
    step = ps.rollout(model, q0, v0, dt=1e-6, steps=1, method="euler")
    expected = ps.forward_dynamics(model, q0, v0, np.zeros((4, 3)))
    assert np.abs((step.v[:, 1] - v0) / 1e-6 - expected).max() < 1e-8


def test_a_mechanism_that_cannot_move_stays():
    builder = ps.ModelBuilder("welded")
    builder.body("a", parent="world", joint=ps.Fixed(), inertia=ps.Inertia(1.0))
    model = builder.build()
    run = ps.rollout(model, np.zeros((3, 0)), np.zeros((3, 0)), dt=0.1, steps=4)
    assert (run.q.shape, run.v.shape) == ((3, 5, 0), (3, 5, 0))


def test_a_joint_at_rest_feels_no_dry_friction_where_that_is_left_out():
    model = with_passive_forces()
    q0 = model.neutral()
    step = ps.rollout(model, q0, np.zeros(model.nv), dt=1e-7, steps=1, method="euler", limits="ignore")
    expected = ps.forward_dynamics(model, q0, np.zeros(model.nv), ps.joint_friction(model, q0, np.zeros(model.nv)))
    assert np.abs(step.v[1] / 1e-7 - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", CURVED)
def test_halving_the_step_divides_the_error_by_two_to_the_order(kind, method):
    model = tree(kind)
    q0, v0 = states(model, ())
    exact = ps.simulate(model, q0, v0, 0.5, rtol=1e-13, atol=1e-14, t_eval=[0.5])
    errors = []
    for steps in (50, 100):
        run = ps.rollout(model, q0, v0, dt=0.5 / steps, steps=steps, method=method)
        apart = model.difference(exact.q[-1], run.q[-1]), run.v[-1] - exact.v[-1]
        errors.append(max(np.abs(x).max() for x in apart))
    assert abs(np.log2(errors[0] / errors[1]) - ORDERS[method]) < 0.05


def test_the_midpoint_rule_keeps_energy_bounded_for_a_long_time():
    model = tree("revolute")
    q0, v0 = states(model, ())
    run = ps.rollout(model, q0, v0, dt=5e-3, steps=40_000, method="midpoint")
    energy = ps.kinetic_energy(model, run.q, run.v) + ps.potential_energy(model, run.q)
    early, late = np.ptp(energy[:4000]), np.ptp(energy[-4000:])
    assert late < 2.0 * early
    assert abs(energy[-4000:].mean() - energy[:4000].mean()) < 0.2 * early


@pytest.mark.parametrize("kind", CURVED)
def test_the_midpoint_rule_is_its_own_inverse_backwards_in_time(kind):
    model = tree(kind)
    q0, v0 = states(model, ())
    there = ps.rollout(model, q0, v0, dt=1e-3, steps=200, method="midpoint")
    back = ps.rollout(model, there.q[-1], there.v[-1], dt=-1e-3, steps=200, method="midpoint")
    assert np.abs(model.difference(q0, back.q[-1])).max() < 1e-11
    assert np.abs(back.v[-1] - v0).max() < 1e-11


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", METHODS)
def test_quaternions_stay_unit(method):
    model = tree("free")
    q0, v0 = states(model, (3,))
    run = ps.rollout(model, q0, v0, dt=5e-3, steps=500, method=method)
    for joint in model.joints:
        norm = np.linalg.norm(run.q[..., joint.q_slice][..., -4:], axis=-1)
        assert np.abs(norm - 1.0).max() < 1e-15


def test_shapes_and_the_initial_state():
    model = tree(None)
    q0, v0 = states(model, (2, 3))
    run = ps.rollout(model, q0, v0, dt=0.25, steps=4)
    assert run.t.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert run.q.shape == (2, 3, 5, model.nq)
    assert run.v.shape == (2, 3, 5, model.nv)
    assert np.array_equal(run.q[..., 0, :], q0)
    assert np.array_equal(run.v[..., 0, :], v0)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 9, 17])
def test_every_batch_size_gives_the_rows_that_single_states_give(count):
    model = tree("revolute")
    q0, v0 = states(model, (count,))
    controls = np.random.default_rng(2).normal(size=(count, 6, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=1e-2)
    assert run.q.shape == (count, 7, model.nq)
    for row in range(count):
        alone = ps.rollout(model, q0[row], v0[row], controls[row], dt=1e-2)
        assert np.array_equal(run.q[row], alone.q)
        assert np.array_equal(run.v[row], alone.v)


def test_leading_axes_broadcast():
    model = tree("revolute")
    q0, v0 = states(model, ())
    controls = np.random.default_rng(2).normal(size=(4, 6, model.nv))
    run = ps.rollout(model, q0, v0, controls, dt=1e-2)
    assert run.q.shape == (4, 7, model.nq)
    assert np.array_equal(run.v[2], ps.rollout(model, q0, v0, controls[2], dt=1e-2).v)


def test_strides_and_kinds_of_numbers_do_not_matter():
    model = tree("revolute")
    q0, v0 = states(model, (6,))
    controls = np.random.default_rng(2).normal(size=(6, 8, model.nv))
    plain = ps.rollout(model, q0[::-2], v0[::-2], controls[::-2, ::2], dt=1e-2)
    odd = ps.rollout(model, np.asfortranarray(q0)[::-2], v0[::-2], np.asfortranarray(controls)[::-2, ::2], dt=1e-2)
    assert np.array_equal(plain.q, odd.q)
    whole = ps.rollout(model, [1, 2, 3], np.zeros(3, dtype=np.float32), np.ones((2, 3), dtype=int), dt=1)
    assert np.array_equal(whole.q, ps.rollout(model, [1.0, 2, 3], np.zeros(3), np.ones((2, 3)), dt=1.0).q)


def test_a_large_batch_over_threads_gives_the_same_rows():
    model = ps.load("planar2")
    q0, v0 = states(model, (9000,))
    controls = np.random.default_rng(2).normal(size=(9000, 3, 2))
    run = ps.rollout(model, q0, v0, controls, dt=1e-2)
    some = ps.rollout(model, q0[4000:4100], v0[4000:4100], controls[4000:4100], dt=1e-2)
    assert np.array_equal(run.q[4000:4100], some.q)


def test_no_steps_are_the_initial_state():
    model = tree("revolute")
    q0, v0 = states(model, (5,))
    for run in (ps.rollout(model, q0, v0, steps=0), ps.rollout(model, q0, v0, np.zeros((5, 0, 3)), steps=0)):
        assert run.t.tolist() == [0.0]
        assert np.array_equal(run.q[:, 0], q0)
        assert run.v.shape == (5, 1, 3)


def test_steps_of_different_lengths_add_up():
    model = tree("revolute")
    q0, v0 = states(model, ())
    run = ps.rollout(model, q0, v0, dt=[0.01, 0.03, 0.02], steps=3)
    assert np.allclose(run.t, [0.0, 0.01, 0.04, 0.06], rtol=0, atol=1e-16)
    first = ps.rollout(model, q0, v0, dt=0.01, steps=1)
    second = ps.rollout(model, first.q[-1], first.v[-1], dt=0.03, steps=1)
    assert np.abs(run.q[2] - second.q[-1]).max() < 1e-14


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("method", METHODS)
def test_a_bad_number_spoils_its_own_row_only(method, bad):
    model = with_passive_forces()
    q0, v0 = states(model, (9,))
    controls = np.random.default_rng(2).normal(size=(9, 5, model.nv))
    clean = ps.rollout(model, q0, v0, controls, dt=1e-2, method=method)
    v0[3, 0], controls[6, 2, 1] = bad, bad
    spoiled = ps.rollout(model, q0, v0, controls, dt=1e-2, method=method)
    good = [0, 1, 2, 4, 5, 7, 8]
    assert np.array_equal(spoiled.q[good], clean.q[good])
    assert np.isnan(spoiled.v[3, -1]).any()
    assert np.isnan(spoiled.v[6, -1]).any()
    assert np.array_equal(spoiled.q[6, :3], clean.q[6, :3])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("method", METHODS)
def test_long_chains_are_stepped_with_the_same_methods(method):
    model = ps.chain(60)
    q0, v0 = states(model, (2,))
    v0 = 0.1 * v0
    controls = np.random.default_rng(2).normal(size=(2, 5, 60))
    long = ps.rollout(model, q0, v0, controls, dt=1e-3, method=method)
    assert long.q.shape == (2, 6, 60)
    short = ps.chain(20)
    few = ps.rollout(short, q0[:, :20], v0[:, :20], controls[..., :20], dt=1e-3, method=method)
    q, _ = stepped(short, method, q0[:, :20], v0[:, :20], controls[..., :20], few.t)
    assert np.abs(few.q - q).max() < 1e-10
    if method == "rk4":
        for row in range(2):
            held = lambda t, q, v, row=row: controls[row, min(int(t / 1e-3), 4)]  # noqa: E731
            run = ps.simulate(model, q0[row], v0[row], 1e-3, control=held, t_eval=[1e-3])
            assert np.abs(run.q[0] - long.q[row, 1]).max() < 1e-9


def test_a_spring_on_a_ball_joint_is_stepped_too():
    builder = ps.ModelBuilder("sprung")
    rod = ps.Inertia(1.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
    builder.body("a", parent="world", joint=ps.Spherical(stiffness=5.0), inertia=rod)
    model = builder.build()
    run = ps.rollout(model, model.neutral(), [0.5, 1.0, -0.3], dt=1e-3, steps=500)
    exact = ps.simulate(model, model.neutral(), [0.5, 1.0, -0.3], 0.5, rtol=1e-12, t_eval=[0.5])
    assert np.abs(run.q[-1] - exact.q[-1]).max() < 1e-10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q0": [0.0]}, "q0 has shape"),
        ({"v0": np.zeros((2, 5))}, "v0 has shape"),
        ({"controls": np.zeros((4, 2))}, "controls has shape"),
        ({"controls": np.zeros(3)}, r"needs \(…, 4, 3\)"),
        ({"controls": np.zeros((5, 3))}, r"needs \(…, 4, 3\)"),
        ({"controls": np.zeros((2, 4, 3)), "q0": np.zeros((3, 3))}, "do not broadcast"),
        ({"controls": "push"}, "controls must be"),
        ({"dt": [0.1, 0.2]}, "dt has shape"),
        ({"dt": np.nan}, "dt must be finite"),
        ({"dt": "fast"}, "dt must be a number"),
        ({"controls": None, "steps": None}, "how many steps"),
        ({"controls": None, "steps": -1}, "whole number"),
        ({"controls": None, "steps": 2.5}, "whole number"),
        ({"method": "leapfrog"}, "choose from euler, midpoint, rk4"),
        ({"controller": lambda t, q, v: v}, "more than one of controls, a controller"),
        ({"parameters": [1.0]}, "no controller"),
        ({"controls": None, "controller": lambda t, q, v, g: v, "parameters": 3.0}, "parameters has shape"),
        ({"controls": None, "controller": lambda t, q, v, g: v, "parameters": "x"}, "parameters must be"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(changes, words):
    given = {"q0": np.zeros(3), "v0": np.zeros(3), "controls": np.zeros((4, 3)), "dt": 0.1, "steps": 4, **changes}
    with pytest.raises(ps.PhistarError, match=words):
        ps.rollout(tree("revolute"), **given)


def test_mujoco_steps_alike():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option gravity="0 0 -9.81" timestep="0.002" integrator="RK4"/><worldbody><body>
      <freejoint/><inertial pos="0.1 0 0" mass="2" diaginertia="0.3 0.4 0.5"/><body pos="0.5 0 0">
      <joint type="hinge" axis="0 1 0" armature="0.1"/><inertial pos="0 0 -0.3" mass="1" diaginertia="0.1 0.1 0.1"/>
      </body></body></worldbody></mujoco>"""
    peer = mujoco.MjModel.from_xml_string(text)
    builder = ps.ModelBuilder("pair")
    first, second = np.diag([0.3, 0.4, 0.5]), np.diag([0.1, 0.1, 0.1])
    builder.body("a", parent="world", joint=ps.Free(), inertia=ps.Inertia(2.0, (0.1, 0, 0), first))
    hinge, place = ps.Revolute(axis=(0, 1, 0), armature=0.1), ps.Pose(xyz=(0.5, 0, 0))
    builder.body("b", parent="a", joint=hinge, placement=place, inertia=ps.Inertia(1.0, (0, 0, -0.3), second))
    data = mujoco.MjData(peer)
    data.qvel[:] = [0, 0, 0, 1.0, -2.0, 0.5, 0.7]  # at rest in the world's origin, spinning in the body's axes
    for _ in range(100):
        mujoco.mj_step(peer, data)
    run = ps.rollout(builder.build(), [0, 0, 0, 0, 0, 0, 1, 0], [1.0, -2.0, 0.5, 0, 0, 0, 0.7], dt=2e-3, steps=100)
    x, y, z, w = run.q[-1, 3:7]
    assert np.abs(run.q[-1, :3] - data.qpos[:3]).max() < 1e-7
    assert np.abs(np.array([w, x, y, z]) - data.qpos[3:7]).max() < 1e-7
    assert abs(run.q[-1, 7] - data.qpos[7]) < 1e-7


@pytest.mark.parametrize("joint", [ps.Coupling((0.0, 1.0)), ps.Prismatic(axis=(1, 0, 0))], ids=["coupling", "loop"])
def test_a_loop_beside_a_free_body_leaves_its_flight_as_it_was(joint):
    ends = []
    for tied in (False, True):
        b = ps.ModelBuilder("space", gravity=(0, 0, 0))
        b.body("box", "world", ps.Free(), inertia=ps.Inertia(2.0, (0.01, -0.02, 0.015), np.diag([0.02, 0.03, 0.025])))
        for name in ("left", "right"):
            b.body(name, "world", ps.Prismatic(axis=(1, 0, 0)), inertia=ps.Inertia(1.0))
        if tied:
            b.loop("tie", "left", "right", joint=joint)
        model = b.build()
        v = np.array([1.0, 2.0, 0.5, 0.2, 0.0, 1.0, 0.5, 0.5])
        run = ps.rollout(model, model.neutral(), v, np.zeros((100, model.nv)), 2e-3, 100)
        ends.append(np.concatenate([run.q[-1, :7], run.v[-1, :6]]))
        np.testing.assert_allclose(run.q[-1, 7:], 0.1, rtol=1e-12)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-13)
