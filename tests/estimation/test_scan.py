"""Forward dynamics by scans is forward dynamics; a scan's work is below 2n and its depth at most 2 log₂ n."""

import re
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError, ShapeError
from phistar.estimation.scan import associative_scan
from tests.trees import relative

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "estimation" / "fast.md").read_text(encoding="utf-8")


def state(n, seed=0, batch=()):
    return np.random.default_rng(seed).uniform(-1, 1, size=(3, *batch, n))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 64, 500])
def test_scanned_accelerations_are_those_of_the_sweep(n):
    model, (q, v, tau) = ps.chain(n), state(n)
    assert (
        relative(estimation.scanned_forward_dynamics(model, q, v, tau), ps.forward_dynamics(model, q, v, tau)) < 1e-12
    )


def test_batches_prismatic_joints_armature_and_lists():
    puma = ps.load("puma560")
    q, v, tau = state(6, batch=(2, 3))
    ours = estimation.scanned_forward_dynamics(puma, q, v[0, 0], tau[:, :1])
    assert relative(ours, ps.forward_dynamics(puma, q, v[0, 0], tau[:, :1])) < 1e-12
    slider = _slider()
    given = [[0.2, -0.3, 0.4], [1.0, -2.0, 0.5], [3.0, 1.0, -1.0]]
    ours = estimation.scanned_forward_dynamics(slider, *given)
    assert relative(ours, ps.forward_dynamics(slider, *given)) < 1e-12


def _slider():
    builder = ps.ModelBuilder("slider")
    joints = [ps.Revolute(armature=0.3), ps.Prismatic(axis=(0, 1, 0)), ps.Revolute(axis=(1, 0, 0), armature=0.1)]
    for k, joint in enumerate(joints):
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint=joint,
            placement=ps.Pose(xyz=(0.3, 0.1 * k, 0.0), rpy=(0.2, 0.1, 0.0)),
            inertia=ps.Inertia(1.0 + k, (0.1, 0.02, 0.05), np.diag([0.02, 0.03, 0.04])),
        )
    return builder.build()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 100, 1000])
def test_the_scan_of_products_needs_less_than_2n_of_them_in_less_than_2_log_n_steps(n):
    """Matrices do not commute: the order is tested too."""
    turns = np.random.default_rng(n).normal(size=(n, 2, 2)) / 1.5
    combined = []

    def combine(first, second):
        combined.append(len(first[0]))
        return (np.matmul(first[0], second[0]),)

    (found,) = associative_scan(combine, (turns,))
    expected = [turns[0]]
    for turn in turns[1:]:
        expected.append(expected[-1] @ turn)
    assert relative(found, np.stack(expected)) < 1e-12
    assert sum(combined) < 2 * n
    assert len(combined) <= 2 * np.log2(n)


def test_scans_refuse_what_is_no_chain():
    tree = ps.load("rj2w_tree")
    with pytest.raises(ModelError, match="not a serial chain"):
        estimation.scanned_forward_dynamics(tree, tree.neutral, np.zeros(tree.nv), np.zeros(tree.nv))
    with pytest.raises(ShapeError):
        estimation.scanned_forward_dynamics(ps.chain(3), np.zeros(2), np.zeros(3), np.zeros(3))
    with pytest.raises(ShapeError, match="broadcast"):
        estimation.scanned_forward_dynamics(ps.chain(3), np.zeros((2, 3)), np.zeros((4, 3)), np.zeros(3))


def test_a_link_without_inertia_about_its_joint_is_refused_though_the_chain_has_dynamics():
    builder = ps.ModelBuilder("hollow")
    solid = ps.Inertia(1.0, (0.1, 0.0, 0.0), np.diag([0.01, 0.02, 0.02]))
    nothing = ps.Inertia(0.0, (0.0, 0.0, 0.0), np.zeros((3, 3)))
    for k, inertia in enumerate((solid, nothing, solid)):
        parent = f"link{k - 1}" if k else "world"
        axis = (0, 1, 0) if k == 1 else (0, 0, 1)
        builder.body(f"link{k}", parent, ps.Revolute(axis=axis), ps.Pose(xyz=(0.2, 0.0, 0.0)), inertia)
    model, zero = builder.build(strict=False), np.zeros(3)
    assert np.all(np.isfinite(ps.forward_dynamics(model, zero, zero, zero)))
    with pytest.raises(ModelError, match="link1 of hollow has no inertia about its own joint"):
        estimation.scanned_forward_dynamics(model, zero, zero, zero)


def test_the_page_s_tables_and_picture_are_made():
    source = (DOCS / "generate_estimation_fast.py").read_text(encoding="utf-8")
    for name in (*re.findall(r"!\[.*?\]\((.*?)\)", PAGE), *re.findall(r"\{include\} (\w+)\.txt", PAGE)):
        assert f'"{name}"' in source


def test_the_sweep_s_operations_per_link_are_what_the_page_says():
    shorter, longer = (
        ps.forward_dynamics.statements_for(ps.chain(n), ())[0].cheapest()[0].operations for n in (16, 22)
    )
    assert f"some {round((longer - shorter) / 6, -1):.0f} of the sweep" in PAGE
