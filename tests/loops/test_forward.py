"""Forward dynamics with loops: against fifty digits, against inverse dynamics, and where closures are redundant."""

import numpy as np
import pytest

import phistar as ps
from benchmarks.multibody.exact import exact_motion
from phistar.loops.closure import loop_frames
from phistar.loops.forward import closed_motion
from tests.loops.mechanisms import CUTS, four_bar, two_arms


def closed_state(model, seed=0):
    rng = np.random.default_rng(seed)
    q = ps.assemble(model, model.random(rng))
    return q, ps.loops.assemble_velocity(model, q, rng.standard_normal(model.nv)), rng.standard_normal(model.nv)


def relative(got, want):
    return np.max(np.abs(got - want)) / np.max(np.abs(want))


QUICK = {(3, False), (8, True)}


@pytest.mark.parametrize(
    ("index", "floating"),
    [
        pytest.param(index, floating, marks=[] if (index, floating) in QUICK else pytest.mark.slow)
        for index in range(len(CUTS))
        for floating in (False, True)
    ],
)
def test_accelerations_and_forces_are_those_of_a_dense_solve_in_fifty_digits(index, floating):
    model = two_arms(CUTS[index], seed=index, links=3, floating=floating, couplings=True)
    q, v, tau = closed_state(model, index)
    acceleration, forces = exact_motion(model, q, v, tau)
    found = closed_motion(model, q, v, tau)
    assert found.rank == len(forces) and found.condition < 1e6
    assert relative(ps.forward_dynamics(model, q, v, tau), acceleration) < 1e-9
    assert relative(found.acceleration, acceleration) < 1e-9
    assert relative(found.forces, forces) < 1e-9


def test_inverse_dynamics_under_the_closing_forces_gives_the_joint_forces_back():
    model = two_arms(ps.Universal(), links=3)
    q, v, tau = closed_state(model)
    acceleration = ps.forward_dynamics(model, q, v, tau)
    (force,) = ps.constraint_forces(model, q, v, tau).values()
    arm = (ps.forward_kinematics(model, q, "right tip") - ps.forward_kinematics(model, q, "left tip"))[:3, 3]
    back = -np.concatenate([force[:3] - np.cross(arm, force[3:]), force[3:]])
    pair = {"left tip": force, "right tip": back}
    np.testing.assert_allclose(ps.inverse_dynamics(model, q, v, acceleration, pair), tau, atol=1e-9)


def test_external_forces_act_on_a_closed_mechanism():
    model = two_arms(ps.Spherical(), links=3)
    q, v, tau = closed_state(model)
    push = {"left2": [0.1, -0.2, 0.3, 4.0, -5.0, 6.0]}
    acceleration = ps.forward_dynamics(model, q, v, tau, push)
    (force,) = ps.constraint_forces(model, q, v, tau, push).values()
    pair = {"left tip": force, "right tip": -force, **push}
    np.testing.assert_allclose(ps.inverse_dynamics(model, q, v, acceleration, pair), tau, atol=1e-9)


def test_a_parallelogram_falls_as_its_one_degree_of_freedom_says_whatever_is_redundant():
    model, q = four_bar(), np.array([-1.2, 1.2, -1.2])
    want = -(0.5 + 1.0 + 0.5) * 9.81 * np.cos(-1.2) / (1 / 3 + 1.0 + 1 / 3)
    np.testing.assert_allclose(ps.forward_dynamics(model, q, [0] * 3, [0] * 3), [want, -want, want], atol=1e-12)
    report = ps.loops.loop_report(model, q)
    assert (report.rows, report.rank, report.freedom, report.well_posed) == (5, 2, 1, False)
    assert ps.loops.loop_report(model, [0.0, 0.0, 0.0]).rank == 1  # folded flat: it may go either of two ways


def test_redundant_closing_forces_are_the_shortest_that_give_the_motion():
    model, q, v, tau = four_bar(), np.array([-1.2, 1.2, -1.2]), np.array([1.0, -1.0, 1.0]), np.array([0.1, 0.2, 0.3])
    found = closed_motion(model, q, v, tau)
    frames = loop_frames(model)
    stacked = np.concatenate([ps.jacobian(model, q, f) for f in frames])
    rows = found.closures.on_frames @ stacked
    wanted = ps.mass_matrix(model, q) @ found.acceleration + ps.bias(model, q, v) - tau
    np.testing.assert_allclose(found.forces, np.linalg.pinv(rows.T, rcond=1e-10) @ wanted, atol=1e-12)


def test_batches_broadcast_and_a_bad_row_spoils_itself_only():
    model = four_bar((1.0, 2.0, 1.8, 2.2))
    q = np.stack([ps.assemble(model, [x, 0.5, 1.0], locked=["crank"]) for x in (0.3, 0.9, 1.4)])
    v = np.stack([ps.loops.assemble_velocity(model, each, [1.0, 0, 0]) for each in q])
    whole = ps.forward_dynamics(model, q, v, np.zeros(3))
    assert whole.shape == (3, 3)
    for row in range(3):
        np.testing.assert_allclose(ps.forward_dynamics(model, q[row], v[row], np.zeros(3)), whole[row], atol=1e-12)
    spoiled = q.copy()
    spoiled[1, 0] = np.nan
    got = ps.forward_dynamics(model, spoiled, v, np.zeros(3))
    np.testing.assert_array_equal(np.isnan(got).any(axis=-1), [False, True, False])
    np.testing.assert_allclose(got[[0, 2]], whole[[0, 2]], atol=1e-12)


def test_functions_written_with_closed_forward_dynamics_compile():
    model = four_bar()
    compiled = ps.compile(lambda q, v: ps.forward_dynamics(model, q, v, -0.1 * v), model)
    q, v = np.array([-1.2, 1.2, -1.2]), np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(compiled(q, v), ps.forward_dynamics(model, q, v, -0.1 * v), atol=1e-12)
