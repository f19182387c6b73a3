"""Trees of any length: the step of a long chain is backward Euler's of its own forward dynamics."""

import numpy as np

import phistar as ps
from phistar.plant.tree_kernels import MOST_RATES, TreeKernels


def test_a_chain_that_is_too_long_to_be_written_out_falls_as_forward_dynamics_says():
    chain = ps.chain(MOST_RATES + 4)
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
    poses = kernels._poses(q)
    screws = kernels._screws(q, poses)
    for body, joint, (turn, place) in zip(model.bodies, model.joints, poses, strict=True):
        pose = ps.forward_kinematics(model, q, body.name)
        np.testing.assert_allclose(turn, pose[:3, :3], atol=1e-12)
        np.testing.assert_allclose(place, pose[:3, 3], atol=1e-12)
        own = ps.jacobian(model, q, body.name)[:, joint.v_slice].T
        expected = np.concatenate([own[:, :3], own[:, 3:] + np.cross(place, own[:, :3])], axis=1)
        np.testing.assert_allclose(screws[joint.v_slice], expected, atol=1e-12)
