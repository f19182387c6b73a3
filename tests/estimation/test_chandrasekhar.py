"""Gains by factors of P(k+1) − P(k) are those of the Riccati equation where links and angles are equal, only there."""

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError
from phistar.estimation.chandrasekhar import operations_per_link
from tests.trees import relative

STEP = ps.Pose(xyz=(0.4, 0.1, -0.05), rpy=(0.3, 0.2, 0.5))
SOLID = ps.Inertia(1.3, (0.2, 0.03, -0.01), np.diag([0.01, 0.03, 0.035]))
POINT = ps.Inertia(1.3, (0.2, 0.03, -0.01), np.zeros((3, 3)))
THIN = ps.Inertia(1.3, (0.2, 0.0, 0.0), np.diag([0.0, 0.03, 0.03]))


def helix(n, inertia=SOLID, armature=0.0, other=None):
    """n equal links; `other` = {link from the base: what differs}."""
    builder = ps.ModelBuilder("helix")
    for k in range(n):
        own = {"inertia": inertia, "armature": armature, "step": STEP, "axis": (0, 0, 1)} | (other or {}).get(k, {})
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}" if k else "world",
            joint=ps.Revolute(axis=own["axis"], armature=own["armature"]),
            placement=own["step"],
            inertia=own["inertia"],
        )
    return builder.build(strict=False)


def angles(n, angle=0.3):
    """Equal, but for the joint on the base, which moves no link against another."""
    return np.concatenate([[1.1], np.full(n - 1, angle)])


def riccati(model, q):
    """G, D and P⁻ by R87 eqs. 37-39 and 43 as they stand, base first."""
    space = estimation.state_space(model, q, np.zeros(model.nv))
    updated, found = np.zeros((6, 6)), []
    for phi, H, M, A in zip(space.transition, space.design, space.state_covariance, space.noise):
        P = phi @ updated @ phi.T + M
        D = (H @ P @ H.T)[0, 0] + A
        G = P @ H.T / D
        updated = P - G @ G.T * D
        found.append((G[:, 0], D, P))
    return [np.stack(x)[::-1] for x in zip(*found)]


def assert_equal_to_riccati(model, q):
    ours, (gains, joint_inertias, _) = estimation.propagated_gains(model, q), riccati(model, q)
    assert relative(ours.gains, gains) < 1e-10
    assert np.abs(ours.joint_inertias / joint_inertias - 1.0).max() < 1e-10
    return ours


CHAINS = {
    "solid": ({}, 5),
    "solid with armature": ({"armature": 0.2}, 6),
    "thin rods": ({"inertia": THIN}, 4),
    "point masses": ({"inertia": POINT}, 2),
    "point masses with armature": ({"inertia": POINT, "armature": 0.2}, 3),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("n", [2, 3, 20, 200])
def test_propagated_gains_are_the_riccati_equation_s(name, n):
    given, rank = CHAINS[name]
    assert assert_equal_to_riccati(helix(n, **given), angles(n)).rank == rank


@pytest.mark.slow
def test_propagated_gains_are_those_of_the_compiled_filter():
    model, q, zero = helix(60), angles(60), np.zeros(60)
    ours, found = (
        estimation.propagated_gains(model, q),
        estimation.forward_dynamics(model, q, zero, zero, keep=["gains"]),
    )
    assert relative(ours.gains, found.gains[..., 0]) < 1e-10


@pytest.mark.parametrize("angle", [0.0, 0.5, -1.2])
def test_planar_chains_too(angle):
    assert_equal_to_riccati(ps.planar_chain(50), angles(50, angle))


@pytest.mark.parametrize("name", CHAINS)
def test_differences_of_inertias_keep_the_rank_of_the_first(name):
    """Rank M less one for the direction that a joint without armature does not feel: low only for links with few
    independent inertias."""
    given, rank = CHAINS[name]
    differences = np.diff(riccati(helix(6, **given), angles(6))[2][::-1], axis=0)
    sizes = np.linalg.svd(differences, compute_uv=False)
    assert np.all(sizes[0, rank - 1] > 1e-6 * sizes[0, 0])
    assert np.all(sizes[:, rank:] < 1e-12 * sizes[:, :1])


def test_a_payload_on_the_tip_costs_rank_and_nothing_else():
    loaded = {19: {"inertia": ps.Inertia(4.0, (0.3, 0.0, 0.1), np.diag([0.2, 0.1, 0.15]))}}
    assert assert_equal_to_riccati(helix(20, other=loaded), angles(20)).rank == 6
    assert assert_equal_to_riccati(helix(20, POINT, other=loaded), angles(20)).rank == 6


FAILURES = {
    "inertia": ({4: {"inertia": THIN}}, "link4 .* inertia"),
    "payload inside": ({8: {"inertia": POINT}}, "link8 .* inertia"),
    "armature": ({4: {"armature": 0.1}}, "link4 .* armature"),
    "armature of the tip": ({9: {"armature": 0.1}}, "link9 .* armature"),
    "axis": ({4: {"axis": (0, 1, 0)}}, "link[45] .* (axis|place)"),
    "step": ({4: {"step": ps.Pose(xyz=(0.5, 0.1, -0.05))}}, "link4 .* place"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_unequal_links_are_refused_by_name(name):
    other, message = FAILURES[name]
    with pytest.raises(ModelError, match=message):
        estimation.propagated_gains(helix(10, other=other), angles(10))


def test_an_unequal_angle_is_refused():
    q = angles(10)
    q[6] += 0.01
    with pytest.raises(ModelError, match=r"link6 .* angle"):
        estimation.propagated_gains(helix(10), q)


def test_a_refused_chain_would_have_been_wrong():
    """What the refusals are for: a hundredth of a radian changes gains by far more than the recursion's error."""
    model, q = helix(10), angles(10)
    q[6] += 0.01
    equal = estimation.propagated_gains(model, angles(10))
    assert relative(equal.gains, riccati(model, q)[0]) > 1e-4


def test_trees_and_single_links_are_refused():
    with pytest.raises(ModelError, match="not a serial chain"):
        estimation.propagated_gains(ps.load("rj2w_tree"), np.zeros(ps.load("rj2w_tree").nq))
    with pytest.raises(ModelError, match="one link"):
        estimation.propagated_gains(helix(1), [0.3])


def test_factors_cost_less_than_the_riccati_equation_up_to_rank_four():
    for armature in (False, True):
        counts = [operations_per_link(rank, armature) for rank in range(1, 7)]
        cheaper = [count["chandrasekhar"] < count["riccati"] for count in counts]
        assert cheaper == [True, True, True, True, False, False]
    assert operations_per_link(2) == {"riccati": 311, "chandrasekhar": 135}
