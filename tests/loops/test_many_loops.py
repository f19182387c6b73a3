"""Mechanisms with many loops: closed along the tree, the same motion as by a table of all closures, at linear cost."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import ALONG_TREE, WRITTEN
from phistar.loops.closing_layout import closing_layout
from phistar.loops.closing_program import MOTION, closing_program
from phistar.loops.forces import on_frames
from phistar.loops.forward import closed_motion, closing_choice
from phistar.loops.residual import corrections
from phistar.loops.tree_closing import (
    acceleration_along_tree,
    corrections_along_tree,
    forces_along_tree,
    rows_along_tree,
)
from tests.trees import relative

INERTIA = ps.Inertia(1.0, (0.1, 0.02, 0.03), 0.01 * np.eye(3))


def cells(count, joint=None, axis=(0, 0, 1)):
    """Parallelograms on a chain: link a carries b with c, and d, which a cut joint joins to c."""
    b, above = ps.ModelBuilder(f"{count} cells"), "world"
    for k in range(count):
        place = ps.Pose(xyz=(0.3, 0.05, 0.0)) if k else ps.Pose()
        b.body(f"a{k}", above, ps.Revolute(axis=axis if k % 2 else (0, 0, 1)), place, INERTIA)
        b.body(f"b{k}", f"a{k}", ps.Revolute(), ps.Pose(), INERTIA)
        b.body(f"c{k}", f"b{k}", ps.Revolute(), ps.Pose(xyz=(0, 0.2, 0)), INERTIA)
        b.body(f"d{k}", f"a{k}", ps.Revolute(), ps.Pose(xyz=(0.3, 0, 0)), INERTIA)
        b.frame(f"e{k}", f"c{k}", ps.Pose(xyz=(0.3, 0, 0)))
        b.frame(f"f{k}", f"d{k}", ps.Pose(xyz=(0, 0.2, 0)))
        b.loop(f"l{k}", f"e{k}", f"f{k}", joint=joint or ps.Revolute())
        above = f"a{k}"
    return b.build()


def closed_states(model, batch, seed=0):
    """Closed positions of cells, and rates and forces."""
    rng = np.random.default_rng(seed)
    turn, swing = rng.uniform(-0.5, 0.5, (2, batch, len(model.loops)))
    q = np.stack([turn, swing, -swing, swing], axis=-1).reshape(batch, -1)
    return q, *rng.standard_normal((2, batch, model.nv))


def every_kind():
    """A free tree with every kind of joint, loops across it, to the world and within each other, and a coupling."""
    kinds = [
        ps.Free(),
        ps.Spherical(),
        ps.Universal(axis1=(1, 0, 0), axis2=(0, 0.6, 0.8)),
        ps.Planar(normal=(0, 1, 0)),
        ps.Helical(axis=(0.6, 0, 0.8), pitch=0.2),
        ps.Prismatic(axis=(0, 0.6, 0.8)),
        ps.Revolute(axis=(0.6, 0.8, 0), armature=0.1),
        ps.Revolute(),
    ]
    b, above = ps.ModelBuilder("every kind"), "world"
    for k, kind in enumerate(kinds):
        b.body(f"x{k}", above, kind, ps.Pose(xyz=(0.2, 0.1, 0.05 * k), rpy=(0.1 * k, 0.2, 0.3)), INERTIA)
        b.body(f"y{k}", f"x{k}", ps.Revolute(axis=(0, 1, 0)), ps.Pose(xyz=(0, 0.1, 0)), INERTIA)
        b.frame(f"xf{k}", f"x{k}", ps.Pose(xyz=(0.1, 0.2, 0.1), rpy=(0.3, 0.1, 0)))
        b.frame(f"yf{k}", f"y{k}", ps.Pose(xyz=(0.1, 0, 0)))
        above = f"x{k}"
    b.loop("across", "xf2", "xf6", joint=ps.Spherical())
    b.loop("rod", "yf7", "world", joint=ps.Distance(0.3))
    b.loop("within", "yf1", "yf3", joint=ps.Cylindrical(axis=(0, 1, 0)))
    b.loop("gear", "y1", "x7", joint=ps.Coupling((0.1, 2.0, 0.3)))
    return b.build()


CUTS = [
    ps.Revolute(axis=(0.6, 0.8, 0.0)),
    ps.Prismatic(axis=(0.0, 0.6, 0.8)),
    ps.Universal(axis1=(0, 0, 1), axis2=(0, 0.6, 0.8)),
    ps.Spherical(),
    ps.Distance(0.3),
    ps.Fixed(),
]


@pytest.mark.slow
def test_every_kind_of_joint_moves_as_a_table_of_all_closures_says():
    model = every_kind()
    rng = np.random.default_rng(1)
    q = model.random(rng, (4,))
    v, tau = rng.standard_normal((2, 4, model.nv))
    found, rank, doubt = acceleration_along_tree(model, q, v, tau)
    want = closed_motion(model, q, v, tau)
    assert np.array_equal(rank, want.rank) and not doubt.any()
    assert relative(found, want.acceleration) < 1e-11
    residual, rate, shift, change, _ = corrections_along_tree(model, q, v)
    steps = corrections(model, q, v)
    pairs = (residual, steps.residual), (rate, steps.rate), (-shift, steps.shift), (-change, steps.change)
    assert all(relative(got, right) < 1e-11 for got, right in pairs)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("joint", CUTS, ids=lambda joint: type(joint).__name__)
def test_rows_are_those_of_the_cut_joint_whatever_its_axis(joint):
    model = cells(2, joint, axis=(0, 1, 0))
    rng = np.random.default_rng(2)
    q, v = 0.1 * rng.standard_normal((2, 3, model.nv))
    steps = corrections(model, q, v)
    residual, rate, *_ = corrections_along_tree(model, q, v)
    assert relative(residual, steps.residual) < 1e-13 and relative(rate, steps.rate) < 1e-13


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 1, 0)], ids=["in a plane", "in space"])
def test_redundant_loops_are_seen_and_closed(axis):
    """Of a parallelogram's five equations three follow from the plane."""
    model = cells(4, axis=axis)
    q, v, tau = closed_states(model, 5)
    assert np.abs(ps.loop_residual(model, q)).max() < 1e-14
    v = v + corrections(model, q, v).change
    found, rank, doubt = acceleration_along_tree(model, q, v, tau)
    want = closed_motion(model, q, v, tau)
    assert np.all(rank == 8) and np.all(want.rank == 8) and not doubt.any()
    assert relative(found, want.acceleration) < 1e-11


@pytest.mark.slow
def test_operations_grow_with_the_loops_and_few_are_open_at_a_time():
    """From some cells on, each more of them costs the same and no more code."""
    programs = {count: closing_program(cells(count), MOTION) for count in (10, 20, 40, 80)}
    more = {(programs[2 * n].operations - programs[n].operations) / n for n in (10, 20, 40)}
    assert len(more) == 1 and more.pop() <= 1.05 * programs[10].operations / 10
    assert len({program.instructions for program in programs.values()}) == 1
    opened = [closing_layout(cells(count)).opened for count in programs]
    assert {max(map(len, each)) for each in opened} == {1}


@pytest.mark.slow
def test_a_hundred_loops_move_as_each_of_them_alone():
    """Cells on a world that does not move: the first joint of each is held, so that they do not feel each other."""
    b = ps.ModelBuilder("comb")
    one = cells(1)
    for k in range(100):
        b.attach(one, "world", ps.Pose(xyz=(0, 0, k)), f"{k}_")
    model = b.build()
    q, v, tau = closed_states(model, 3)
    choice = closing_choice(model)
    assert choice.schedule == ALONG_TREE and WRITTEN not in {x.schedule for x in choice.candidates}
    found = ps.forward_dynamics(model, q, v, tau).reshape(3, 100, 4)
    alone = ps.forward_dynamics(one, *(x.reshape(3, 100, 4) for x in (q, v, tau)))
    assert relative(found, alone) < 1e-11


def test_forces_that_are_unique_close_the_loops():
    """Of every kind: those that closures without a common part exert, and what they do to the tree."""
    model = every_kind()
    rng = np.random.default_rng(4)
    q = model.random(rng, (3,))
    v, tau = rng.standard_normal((2, 3, model.nv))
    found, want = forces_along_tree(model, q, v, tau), on_frames(model, q, closed_motion(model, q, v, tau).forces)
    assert found is not None and found.keys() == want.keys()
    assert all(relative(found[name], want[name]) < 1e-10 for name in want)


def test_forces_that_are_not_unique_are_the_shortest():
    model = cells(2)
    q, v, tau = closed_states(model, 2)
    assert forces_along_tree(model, q, v, tau) is None
    found = ps.constraint_forces(model, q, v, tau)
    assert all(np.abs(f[..., [0, 1, 5]]).max() < 1e-9 for f in found.values())  # nothing out of the plane


def test_a_rollout_stays_closed():
    model = cells(20)
    q, v, _ = closed_states(model, 1)
    v = v[0] + corrections(model, q[0], v[0]).change
    made = ps.rollout(model, q[0], v, dt=1e-3, steps=5)
    assert np.abs(ps.loop_residual(model, made.q)).max() < 1e-12
    assert np.ptp(ps.kinetic_energy(model, made.q, made.v) + ps.potential_energy(model, made.q)) < 1e-6


def test_the_rows_of_closures_are_those_frame_by_frame():
    model = every_kind()
    q = model.random(np.random.default_rng(3), (3,))
    residual, rows = rows_along_tree(model, q)
    assert relative(rows, ps.loops.closure_jacobian(model, q)) < 1e-13
    assert relative(residual, ps.loop_residual(model, q)) < 1e-13


def test_twenty_cells_assemble():
    model = cells(20)
    q = ps.assemble(model, closed_states(model, 1)[0][0] + 0.01)
    assert np.abs(ps.loop_residual(model, q)).max() < 1e-12


def test_threads_share_no_memory():
    model = cells(20)
    q, v, tau = closed_states(model, 40)
    want = acceleration_along_tree(model, q, v, tau)[0]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda i: acceleration_along_tree(model, q[i], v[i], tau[i])[0], range(40)))
    assert np.array_equal(made, want)


@pytest.mark.slow
def test_a_nan_spoils_its_own_row():
    model = cells(20)
    q, v, tau = closed_states(model, 3)
    want = ps.forward_dynamics(model, q, v, tau)
    q[1, 5] = np.nan
    found = ps.forward_dynamics(model, q, v, tau)
    assert np.isnan(found[1]).any() and np.array_equal(found[[0, 2]], want[[0, 2]])
