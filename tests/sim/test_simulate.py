"""`ps.simulate` against exact and 30-digit solutions, and what it says when it cannot go on."""

import json
from pathlib import Path

import numpy as np
import pytest

import phistar as ps

REFERENCES = json.loads((Path(__file__).parents[1] / "data" / "trajectories" / "references.json").read_text())
POINT = np.zeros((3, 3))
TIGHT = {"rtol": 1e-13, "atol": 1e-14}


def one_body(joint, inertia, gravity=(0, 0, -9.81)):
    builder = ps.ModelBuilder("one", gravity=gravity)
    builder.body("body", parent="world", joint=joint, inertia=inertia)
    return builder.build()


def pendulum(**joint):
    return one_body(ps.Revolute(**joint), ps.Inertia(1.0, (-1, 0, 0), POINT), gravity=(0, -9.81, 0))


def double_pendulum():
    builder = ps.ModelBuilder("double_pendulum")
    for name, parent, height in (("upper", "world", 0.0), ("lower", "upper", -1.0)):
        place, mass = ps.Pose(xyz=(0, 0, height)), ps.Inertia(1.0, (0, 0, -1), POINT)
        builder.body(name, parent=parent, joint=ps.Revolute(axis=(0, 1, 0)), placement=place, inertia=mass)
    return builder.build()


def from_wxyz(quaternion):
    return np.array([*quaternion[1:], quaternion[0]])


def same_rotation(ours, wxyz):
    theirs = from_wxyz(wxyz)
    return min(np.abs(ours - theirs).max(), np.abs(ours + theirs).max())


def test_the_pendulum_of_the_iftomm_benchmark_follows_its_exact_solution():
    t, x, y = np.array(REFERENCES["pendulum"]["t_x_y"]).T
    run = ps.simulate(pendulum(), [0.0], [0.0], t[-1], t_eval=t, **TIGHT)
    assert np.abs(-np.cos(run.q[:, 0]) - x).max() < 1e-10
    assert np.abs(-np.sin(run.q[:, 0]) - y).max() < 1e-10


def test_the_pendulum_returns_after_its_exact_period():
    period = REFERENCES["pendulum"]["period"]
    run = ps.simulate(pendulum(), [0.0], [0.0], period, **TIGHT)
    assert abs(run.q[-1, 0]) < 1e-10
    assert abs(run.v[-1, 0]) < 1e-10


def test_the_double_pendulum_follows_thirty_digits():
    samples = [sample for sample in REFERENCES["double_pendulum"]["samples"] if sample["t"] <= 3.0]
    run = ps.simulate(double_pendulum(), [np.pi / 2, 0], [0, 0], 3.0, t_eval=[s["t"] for s in samples], **TIGHT)
    ours = np.stack([run.q[:, 0], run.q.sum(axis=1), run.v[:, 0], run.v.sum(axis=1)], axis=1)
    assert np.abs(ours - [s["state"] for s in samples]).max() < 1e-9


@pytest.mark.parametrize("joint", [ps.Spherical(), ps.Free()], ids=["spherical", "free"])
def test_the_dzhanibekov_body_tumbles_as_thirty_digits_say(joint):
    reference = REFERENCES["dzhanibekov"]
    model = one_body(joint, ps.Inertia(1.0, (0, 0, 0), np.diag(reference["inertia"])), gravity=(0, 0, 0))
    v0 = np.zeros(model.nv)
    v0[:3] = reference["omega0"]
    times = [sample["t"] for sample in reference["samples"]]
    run = ps.simulate(model, model.neutral(), v0, times[-1], t_eval=times, **TIGHT)
    for sample, q, v in zip(reference["samples"], run.q, run.v, strict=True):
        assert np.abs(v[:3] - sample["omega"]).max() < 1e-9
        assert same_rotation(q[-4:], sample["quaternion_wxyz"]) < 1e-9


def test_the_dzhanibekov_body_has_its_exact_period():
    reference = REFERENCES["dzhanibekov"]
    model = one_body(ps.Spherical(), ps.Inertia(1.0, (0, 0, 0), np.diag(reference["inertia"])), gravity=(0, 0, 0))
    run = ps.simulate(model, model.neutral(), reference["omega0"], reference["period"], **TIGHT)
    assert np.abs(run.v[-1] - reference["omega0"]).max() < 1e-9


def test_the_heavy_top_precesses_as_thirty_digits_say():
    reference = REFERENCES["heavy_top"]
    inertia = ps.Inertia(reference["mass"], reference["com"], np.diag(reference["inertia_at_com"]))
    model = one_body(ps.Spherical(), inertia)
    times = [sample["t"] for sample in reference["samples"]]
    run = ps.simulate(model, model.neutral(), reference["omega0"], times[-1], t_eval=times, **TIGHT)
    for sample, q, v in zip(reference["samples"], run.q, run.v, strict=True):
        assert np.abs(v - sample["omega"]).max() < 1e-9
        assert same_rotation(q, sample["quaternion_wxyz"]) < 1e-9


def test_energy_is_kept_call_after_call():
    for _ in range(2):
        run = ps.simulate(double_pendulum(), [0.4, 1.0], [0.0, 0.5], 2.0)
        assert run.energy.shape == run.t.shape
        assert np.ptp(run.energy) < 1e-8 * np.abs(run.energy).max()


def test_springs_store_energy():
    run = ps.simulate(pendulum(stiffness=30.0, rest=0.5), [0.0], [1.0], 2.0)
    assert np.ptp(run.energy) < 1e-8 * np.abs(run.energy).max()


def test_a_spring_on_a_ball_joint_stores_energy():
    model = one_body(ps.Spherical(stiffness=5.0), ps.Inertia(1.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5])))
    run = ps.simulate(model, model.neutral(), [0.5, 1.0, -0.3], 2.0)
    assert np.ptp(run.energy) < 1e-8 * np.abs(run.energy).max()


def test_damping_takes_exponentially():
    model = one_body(ps.Prismatic(axis=(1, 0, 0), damping=3.0), ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    run = ps.simulate(model, [0.0], [1.0], 1.0)
    assert abs(run.v[-1, 0] - np.exp(-1.5)) < 1e-9


def test_quaternions_stay_unit():
    model = one_body(ps.Free(), ps.Inertia(1.0, (0, 0, 0), np.diag([1.0, 2.0, 2.5])))
    run = ps.simulate(model, model.random(3), [3.0, -2.0, 1.0, 0, 0, 1.0], 5.0)
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=1) - 1.0).max() < 1e-15


def test_control_is_a_function_of_time_and_state():
    model = one_body(ps.Prismatic(axis=(1, 0, 0)), ps.Inertia(2.0, (0, 0, 0), np.eye(3)))
    run = ps.simulate(model, [1.0], [0.0], 2.0, control=lambda t, q, v: -8.0 * q, t_eval=np.linspace(0, 2, 9))
    assert np.abs(run.q[:, 0] - np.cos(2.0 * run.t)).max() < 1e-9
    run = ps.simulate(model, [0.0], [0.0], 2.0, control=lambda t, q, v: [12.0 * t])
    assert abs(run.q[-1, 0] - 8.0) < 1e-9


def test_a_short_push_is_not_stepped_over():
    model = one_body(ps.Prismatic(axis=(1, 0, 0)), ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    run = ps.simulate(model, [0.0], [0.0], 10.0, control=lambda t, q, v: [float(abs(t - 5.0) < 0.25)])
    assert abs(run.v[-1, 0] - 0.5) < 1e-6


def test_shapes_of_a_run():
    times = np.linspace(0.5, 1.0, 4)
    run = ps.simulate(double_pendulum(), [0.1, 0.2], [0, 0], 1.0, t_eval=times)
    assert np.array_equal(run.t, times)
    assert (run.q.shape, run.v.shape, run.energy.shape, run.loop_residual.shape) == ((4, 2), (4, 2), (4,), (4, 0))


def test_no_time_is_the_initial_state():
    run = ps.simulate(double_pendulum(), [0.1, 0.2], [1, 2], 0.0)
    assert (run.t.tolist(), run.q.tolist(), run.v.tolist()) == ([0.0], [[0.1, 0.2]], [[1.0, 2.0]])


def test_a_control_that_gives_nan_is_named_with_its_time():
    with pytest.raises(ps.PhistarError, match=r"nan.* at t = 0\.5\d* s"):
        ps.simulate(pendulum(), [0.0], [0.0], 2.0, control=lambda t, q, v: [np.nan if t > 0.5 else 0.0])


@pytest.mark.parametrize("control", [lambda t, q, v: [1.0, 2.0], lambda t, q, v: [[1.0]], lambda t, q, v: "push"])
def test_a_control_of_the_wrong_shape_is_a_shape_error(control):
    with pytest.raises(ps.ShapeError, match="control"):
        ps.simulate(pendulum(), [0.0], [0.0], 1.0, control=control)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q0": [[0.0]]}, "one state"),
        ({"q0": [0.0, 1.0]}, "q0 has shape"),
        ({"v0": [np.nan]}, "v0 must be finite"),
        ({"duration": -1.0}, "duration"),
        ({"duration": np.inf}, "duration"),
        ({"duration": "long"}, "duration"),
        ({"t_eval": [0.0, 2.0]}, "t_eval"),
        ({"t_eval": [0.5, 0.5]}, "t_eval"),
        ({"t_eval": [[0.5]]}, "t_eval"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(changes, words):
    arguments = {"q0": [0.0], "v0": [0.0], "duration": 1.0, **changes}
    with pytest.raises(ps.PhistarError, match=words):
        ps.simulate(pendulum(), **arguments)


def test_a_step_tried_beyond_all_numbers_is_made_shorter_and_blames_no_control():
    """A wall that is met at full speed: the long step before it ends far inside, where the wall's push is absurd."""
    model = ps.chain(2, gravity=(0.0, 0.0, 0.0))

    def wall(t, q, v):
        assert np.isfinite(q).all() and np.isfinite(v).all()
        return np.array([-1e30 * np.clip(q[0] - 1.0, 0.0, 1e20) ** 9, 0.0])

    run = ps.simulate(model, [0.0, 0.3], [1.0, 0.0], 3.0, wall, rtol=1e-6)
    assert run.q[:, 0].max() < 1.1 and run.v[-1, 0] < 0.0
    assert run.energy[-1] - run.energy[0] == pytest.approx(run.work[-1] - run.work[0], abs=1e-5)
