"""Trees of any length: the step of a long chain is backward Euler's of its own forward dynamics."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import TREE_RATES
from phistar.constraints import columns as c
from phistar.plant.long_trees import COLUMN_COST
from phistar.plant.tree_kernels import TreeKernels
from tests.plants import body

LINK = 0.05


def rope(count, floating=False, curved=False, **joint):
    """Links about changing axes, with damping and springs."""
    builder, parent = ps.ModelBuilder("rope"), "world"
    inertia = ps.Inertia(0.1, (LINK / 2, 0, 0), 1e-4 * np.eye(3))
    for i in range(count):
        axis = ((1, 0, 0), (0, 1, 0), (0.6, 0, 0.8))[i % 3]
        kind = ps.Revolute(axis=axis, damping=0.02, stiffness=0.1, **joint)
        if curved and i % 10 == 5:
            kind = ps.Spherical(damping=0.02)
        if floating and i == 0:
            kind = ps.Free()
        place = ps.Pose(xyz=(LINK, 0, 0) if i else (0, 0, 0))
        builder.body(f"b{i}", parent=parent, joint=kind, placement=place, inertia=inertia)
        parent = f"b{i}"
    return builder.build()


def touching(count, ball=False, **options):
    """A rope whose middle and tip come down on a floor, and perhaps a ball on its middle."""
    plant = ps.Plant()
    plant.add(rope(count, **options), "rope")
    plant.add_shape(ps.Plane(), at=ps.Pose(xyz=(0, 0, -0.051)))
    for link in (count - 1, count // 2):
        plant.add_shape(ps.Sphere(0.05), f"rope/b{link}")
    if ball:
        plant.add(body(ps.Sphere(0.1)), "ball", at=ps.Pose(xyz=(LINK * (count // 2) + 0.02, 0, 0.16)))
    return plant


def states_of(plant, steps, whole, command=None, h=0.002, rates=0.1):
    """(q, v) after each step; `whole`: long trees in all their rates. How often spans and ℳ were made."""
    session, made, touched = plant.session, [], 0
    counts = session.engine.counts
    session.load(plant.state(v=rates * np.random.default_rng(3).normal(size=plant.model.nv)))
    counts[[c.SPANS_MADE, c.BLOCKS_MADE]] = 0
    for _ in range(steps):
        session.drive(command, h=h)
        counts[c.WHOLE] = whole
        session.advance(h)
        made.append(np.concatenate([session.engine.q, session.engine.v]))
        touched += counts[c.ITERATIONS] > 0
    counts[c.WHOLE] = 0
    assert touched > 0 or plant.nu
    return np.array(made), counts[[c.SPANS_MADE, c.BLOCKS_MADE]].tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [{}, {"ball": True, "limits": (-0.02, 0.3)}, {"friction": 0.01}, {"floating": True, "curved": True, "ball": True}],
)
def test_a_long_tree_moves_in_the_span_of_what_touches_it_as_in_all_its_rates(options):
    plant = touching(54, **options)
    spanned, (spans, _) = states_of(plant, 50, whole=0)
    whole, (none, blocks) = states_of(plant, 50, whole=1)
    assert spans >= 20 and none == 0 and blocks >= 50
    np.testing.assert_allclose(spanned, whole, atol=2e-8 * np.abs(whole).max())


def test_servos_of_a_long_tree_are_part_of_its_own_block_until_they_reach_their_bounds():
    for limit, asleep in ((50.0, True), (0.05, False)):
        plant = touching(54)
        plant.actuate("rope", "position", stiffness=20.0, damping=0.5, limits=limit)
        command = 0.01 * np.ones(54)
        spanned, _ = states_of(plant, 40, 0, command)
        assert bool(plant.session.engine.tables["row_wholes"][:54, c.ROW_ASLEEP].all()) == asleep
        whole, _ = states_of(plant, 40, 1, command)
        np.testing.assert_allclose(spanned, whole, atol=2e-8 * np.abs(whole).max())


@pytest.mark.slow
def test_a_step_of_a_long_tree_costs_operations_in_proportion_to_its_rates_and_never_makes_its_mass_matrix():
    costs = []
    for count in (60, 120, 180):
        plant = touching(count)
        _, (spans, blocks) = states_of(plant, 60, whole=0, rates=0.0)
        assert spans >= 60 and blocks == 0
        costs.append(int(plant.session.engine.tables["long_wholes"][0, COLUMN_COST]))
    # The link on the world takes fewer: every sixty links more take the same.
    assert costs[2] - costs[1] == costs[1] - costs[0] <= 1.02 * costs[0]


def test_momentum_of_a_long_tree_that_floats_is_kept():
    plant = ps.Plant(gravity=(0, 0, 0))
    plant.add(rope(54, floating=True, curved=True), "rope")
    state = plant.state(v=0.3 * np.random.default_rng(0).normal(size=plant.model.nv))
    found = []
    for _ in range(100):
        found.append(ps.momentum(plant.model, state.q, state.v))
        state = plant.step(state, h=0.002)
    found = np.array(found)
    np.testing.assert_allclose(found, found[:1] + 0 * found, atol=1e-12 * np.abs(found).max())


def test_a_chain_that_is_too_long_to_be_written_out_falls_as_forward_dynamics_says():
    chain = ps.chain(TREE_RATES + 4)
    plant = ps.Plant()
    plant.add(chain, "chain")
    q, h = 0.05 * np.ones(chain.nq), 1e-6
    after = plant.step(plant.state(q), h=h)
    expected = ps.forward_dynamics(chain, q, np.zeros(chain.nv), np.zeros(chain.nv))
    np.testing.assert_allclose(after.v / h, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_poses_and_screws_are_those_of_kinematics_for_every_kind_of_joint():
    builder = ps.ModelBuilder("all")
    inertia = ps.Inertia(1.0, (0.1, 0.0, 0.2), np.diag([0.1, 0.2, 0.25]))
    kinds = [ps.Free(), ps.Spherical(), ps.Universal(), ps.Planar(), ps.Helical(axis=(0, 0, 1), pitch=0.1)]
    kinds += [ps.Revolute(axis=(1, 0, 0)), ps.Prismatic(axis=(0, 1, 0))]
    parent = "world"
    for number, joint in enumerate(kinds):
        place = ps.Pose(xyz=(0.1, 0.2, 0.3), rpy=(0.3, 0.1, -0.2))
        builder.body(f"b{number}", parent=parent, joint=joint, placement=place, inertia=inertia)
        parent = f"b{number}"
    model = builder.build()
    q = model.random(np.random.default_rng(0))
    kernels = TreeKernels(model)
    poses = kernels._poses(q, None)
    screws = kernels._screws(q, poses)
    for link, joint, (turn, place) in zip(model.bodies, model.joints, poses.values(), strict=True):
        pose = ps.forward_kinematics(model, q, link.name)
        np.testing.assert_allclose(turn, pose[:3, :3], atol=1e-12)
        np.testing.assert_allclose(place, pose[:3, 3], atol=1e-12)
        own = ps.jacobian(model, q, link.name)[:, joint.v_slice].T
        expected = np.concatenate([own[:, :3], own[:, 3:] + np.cross(place, own[:, :3])], axis=1)
        np.testing.assert_allclose(screws[joint.v_slice], expected, atol=1e-12)
