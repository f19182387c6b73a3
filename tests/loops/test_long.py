"""Long mechanisms with loops, written out or, the longest, as loops over the links: the same motion, at linear cost."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import ALONG_TREE, NANOSECONDS, TRACED, VARIABLE, WRITTEN
from phistar.backends.programs.program import frame_pose
from phistar.dynamics import frame_poses
from phistar.loops.assembly import closure_rows
from phistar.loops.closure import loop_frames
from phistar.loops.equations import _compiled_equations, _equations, equations, response
from phistar.loops.forward import acceleration_at_frames, closing_choice, compliant_motion
from tests.trees import relative


def two_long_arms(n, base=None, joint=None):
    """Two arms that lie on each other, the right one twice as heavy, so that any configuration of one closes both."""
    b, length = ps.ModelBuilder("long arms"), 1.0 / n
    b.body("base", joint=base or ps.Fixed(), inertia=ps.Inertia(3.0, (0, 0, 0), np.eye(3)))
    for arm, mass in (("left", 1.0), ("right", 2.0)):
        parent = "base"
        for k in range(n):
            place = ps.Pose(xyz=(length, 0.2 * length, 0.1 * length)) if k else ps.Pose()
            inertia = ps.Inertia(mass / n, (length / 2, 0.1 * length, 0), 1e-4 * np.eye(3))
            b.body(f"{arm}{k}", parent, ps.Revolute(axis=np.eye(3)[k % 3]), place, inertia)
            parent = f"{arm}{k}"
        b.frame(f"{arm}_tip", parent, ps.Pose(xyz=(length, 0, 0), rpy=(0.1, 0.2, 0.3)))
    b.loop("grip", "left_tip", "right_tip", joint=joint or ps.Fixed())
    return b.build()


def states(model, batch, n, seed=0):
    rng = np.random.default_rng(seed)
    q, v = (0.3 * rng.standard_normal((batch, n)) for _ in range(2))
    start = model.random(rng, (batch,))[:, : model.nq - 2 * n]
    moving = rng.standard_normal((batch, model.nv - 2 * n))
    tau = rng.standard_normal((batch, model.nv)) / n
    return np.concatenate([start, q, q], -1), np.concatenate([moving, v, v], -1), tau


@pytest.mark.slow
@pytest.mark.parametrize(
    "base", [pytest.param(ps.Fixed(), marks=pytest.mark.slow), ps.Free()], ids=["on the ground", "floating"]
)
def test_long_arms_move_as_a_dense_solve_says(base):
    model = two_long_arms(21, base)
    q, v, tau = states(model, 3, 21)
    got = ps.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(acceleration_at_frames(model, q, v, tau)[0], got, atol=1e-9 * np.abs(got).max())
    h = 1e-6
    for row in range(3):
        rows = closure_rows(model, q[row])[1]
        ahead, back = (closure_rows(model, model.integrate(q[row], s * v[row]))[1] for s in (h, -h))
        drift = (ahead - back) @ v[row] / (2 * h)
        mass, m = ps.mass_matrix(model, q[row]), len(rows)
        whole = np.block([[mass, -rows.T], [rows, np.zeros((m, m))]])
        want = np.linalg.solve(whole, np.concatenate([tau[row] - ps.bias(model, q[row], v[row]), -drift]))[: model.nv]
        np.testing.assert_allclose(got[row], want, atol=1e-6 * np.abs(want).max())
        np.testing.assert_allclose(rows @ got[row] + drift, 0.0, atol=1e-6 * np.abs(want).max())


@pytest.mark.slow
def test_what_is_written_out_compiles_within_the_budget(monkeypatch):
    found = closing_choice(two_long_arms(6))
    assert found.schedule == WRITTEN and {x.schedule for x in found.candidates} > {WRITTEN, ALONG_TREE}
    assert closing_choice(two_long_arms(20)).schedule == ALONG_TREE
    monkeypatch.setitem(NANOSECONDS, ALONG_TREE, 1.0)
    (seconds,) = (x.seconds for x in closing_choice(two_long_arms(12)).candidates if x.schedule == WRITTEN)
    monkeypatch.setenv(VARIABLE, f"{1.1 * seconds}")
    assert closing_choice(two_long_arms(12)).schedule == WRITTEN
    monkeypatch.setenv(VARIABLE, f"{0.9 * seconds}")
    assert closing_choice(two_long_arms(12)).schedule != WRITTEN


def test_poses_of_several_frames_are_those_of_the_links_run_on_arrays():
    model = two_long_arms(22)
    q, _, _ = states(model, 4, 22)
    found = frame_poses(model, q, ("left_tip", "right9"))
    for frame, pose in found.items():
        np.testing.assert_allclose(pose, frame_pose(model, q, frame), atol=1e-13)


@pytest.mark.slow
def test_a_long_mechanism_stays_closed_and_reports_its_rank():
    model = two_long_arms(22, joint=ps.Spherical())
    q, v, _ = states(model, 1, 22)
    made = ps.rollout(model, q[0], v[0], dt=1e-4, steps=10)
    assert np.abs(ps.loop_residual(model, made.q)).max() < 1e-12
    report = ps.loops.loop_report(model, made.q)
    assert report.rows == 3 and np.all(report.rank == 3) and np.all(report.well_posed)


@pytest.mark.slow
def test_the_operations_of_closed_motion_grow_linearly_with_the_links():
    counts = []
    for n in (60, 120, 180):  # long enough that all run link by link
        model = two_long_arms(n)
        frames, (q, v, tau) = loop_frames(model), states(model, 1, n)
        compliant_motion(model.tree, q, v, tau, frames)
        response(model.tree, q, tau, np.zeros(12), frames)
        kernels = [made[0] for made in model.tree.__dict__["_kernels"].values() if isinstance(made, tuple)]
        assert len(kernels) == 2
        counts.append(sum(kernel.operations for kernel in kernels))
    assert counts[2] - counts[1] == counts[1] - counts[0]  # the first links and the last cost less than others


def test_what_compiles_within_the_budget_is_compiled_however_many_bodies_there_are():
    """Closures of 42 bodies were counted, then run in NumPy: 3 ms a state."""
    b = ps.ModelBuilder("brush")
    for k in range(42):
        b.body(f"bristle{k}", joint=ps.Revolute(axis=(1, 0, 0)), inertia=ps.Inertia(0.1, (0, 0, 0.1), 1e-3 * np.eye(3)))
    b.loop("gear", "bristle0", "bristle1", joint=ps.Coupling((0.0, -1.0)))
    model = b.build()
    assert len(model.bodies) > TRACED and _compiled_equations.fits(model)
    q, v, tau = np.random.default_rng(0).standard_normal((3, 2, model.nv))
    made, want = equations(model, q, v, tau), _equations(model, q, v, tau)
    assert _compiled_equations.known_kernel(model) is not None
    for one, other in zip(made[:6], want[:6], strict=True):
        assert relative(one, other) < 1e-9
