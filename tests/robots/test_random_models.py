"""Random trees and random closed chains against Pinocchio: files written by chance, read by both, and their motion."""

import numpy as np
import pytest

import phistar as ps
from tests.robots.test_urdf_robots import peer_columns, peer_configuration, relative

pin = pytest.importorskip("pinocchio")
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating")
WEIGHTS = (0.4, 0.2, 0.2, 0.12, 0.08)
QUICK, MANY = 6, 500
TOLERANCE = 1e-9


def words(numbers) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def link(rng, name: str) -> str:
    """A solid of random points: its inertia can be."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.05, 0.5)
    masses = rng.uniform(0.1, 1.0, 6) * rng.uniform(0.2, 5.0)
    com = masses @ points / masses.sum()
    arms = points - com
    i = np.einsum("i,ijk->jk", masses, np.einsum("ij,ij->i", arms, arms)[:, None, None] * np.eye(3))
    i -= np.einsum("i,ij,ik->jk", masses, arms, arms)
    moments = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), i[np.triu_indices(3)])
    told = " ".join(f'{key}="{value:.17g}"' for key, value in moments)
    return (
        f'<link name="{name}"><inertial><origin xyz="{words(com)}"/><mass value="{masses.sum():.17g}"/>'
        f"<inertia {told}/></inertial></link>"
    )


def robot_file(rng, count: int) -> str:
    """A URDF of `count` joints, each on a link that was there before."""
    parts = [link(rng, "link0")]
    for number in range(1, count + 1):
        kind = rng.choice(KINDS, p=WEIGHTS)
        origin = f'<origin xyz="{words(rng.normal(size=3) * 0.5)}" rpy="{words(rng.uniform(-3, 3, 3))}"/>'
        axis = rng.normal(size=3)
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else axis / np.linalg.norm(axis)
        parts.append(link(rng, f"link{number}"))
        parts.append(
            f'<joint name="joint{number:02d}" type="{kind}">{origin}<parent link="link{rng.integers(number)}"/>'
            f'<child link="link{number}"/><axis xyz="{words(axis)}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    return f'<robot name="random">{"".join(parts)}</robot>'


def pair(seed: int, folder):
    """The same random robot here and there, with a state: (model, peer, its data, q there, our columns, q, v, tau)."""
    rng = np.random.default_rng(seed)
    path, model = folder / f"{seed}.urdf", None
    while model is None or model.nv == 0:
        path.write_text(robot_file(rng, int(rng.integers(1, 13))))
        floating = rng.random() < 0.3
        model = ps.load(path, floating=bool(floating))
    root = [pin.JointModelFreeFlyer(), "root"] if floating else []
    peer = pin.buildModelFromUrdf(str(path), *root)
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    return model, peer, peer.createData(), peer_configuration(model, peer, q), peer_columns(model, peer), q, v, tau


def there(columns, ours):
    theirs = np.empty_like(ours)
    theirs[columns] = ours
    return theirs


def tree_difference(seed: int, folder) -> float:
    model, peer, data, q_there, columns, q, v, tau = pair(seed, folder)
    a = np.random.default_rng(seed).normal(size=model.nv)
    v_there = there(columns, v)
    mass = pin.crba(peer, data, q_there)
    mass = np.triu(mass) + np.triu(mass, 1).T
    torque = pin.rnea(peer, data, q_there, v_there, there(columns, a))[columns]
    motion = pin.aba(peer, data, q_there, v_there, there(columns, tau))[columns]
    return max(
        relative(ps.mass_matrix(model, q), mass[np.ix_(columns, columns)]),
        relative(ps.inverse_dynamics(model, q, v, a), torque),
        relative(ps.forward_dynamics(model, q, v, tau), motion),
    )


def placed(frames, name):
    pose = np.asarray(frames[name])
    return pin.SE3(pose[:3, :3], pose[:3, 3])


def closed_difference(seed: int, folder) -> float | None:
    """Two links that do not hang together rigidly, tied where they are by a weld or a ball; None of a robot that has no
    two, or whose tie leaves no motion."""
    model, peer, data, q_there, columns, q, _, tau = pair(seed, folder)
    rng = np.random.default_rng(10_000 + seed)
    if len(model.bodies) < 2:
        return None
    ends = rng.choice(len(model.bodies), 2, replace=False)
    names = [model.bodies[k].name for k in ends]
    poses = [ps.forward_kinematics(model, q, name) for name in names]
    ball = rng.random() < 0.5
    where = ps.Pose(xyz=rng.normal(size=3) * 0.3, rpy=rng.uniform(-1, 1, 3))
    meeting = ps.Pose(rotation=poses[0][:3, :3], xyz=poses[0][:3, 3]) @ where
    other = ps.Pose(rotation=poses[1][:3, :3], xyz=poses[1][:3, 3]).inverse @ meeting
    builder = ps.ModelBuilder(model.name, gravity=model.gravity)
    builder.attach(model)
    builder.frame("tie_a", names[0], where)
    builder.frame("tie_b", names[1], other)
    builder.loop("tie", "tie_a", "tie_b", ps.Spherical() if ball else ps.Fixed())
    closed = builder.build()

    ids = []
    for name, placement in zip(names, (where, other)):
        frame = peer.frames[peer.getFrameId(name)]
        on = pin.SE3(np.array(placement.rotation), np.array(placement.translation))
        ids.append(peer.addFrame(pin.Frame(f"tie on {name}", frame.parentJoint, frame.placement * on, pin.OP_FRAME)))
    data, world = peer.createData(), pin.LOCAL_WORLD_ALIGNED
    pin.computeJointJacobians(peer, data, q_there)
    pin.updateFramePlacements(peer, data)
    rows = slice(0, 3) if ball else slice(0, 6)
    a = (pin.getFrameJacobian(peer, data, ids[0], world) - pin.getFrameJacobian(peer, data, ids[1], world))[rows]
    free = np.eye(peer.nv) - np.linalg.pinv(a, rcond=1e-10) @ a
    v_there = free @ rng.normal(size=peer.nv)
    pin.forwardKinematics(peer, data, q_there, v_there, np.zeros(peer.nv))
    drifts = [pin.getFrameClassicalAcceleration(peer, data, k, world).vector[rows] for k in ids]
    mass = pin.crba(peer, data, q_there)
    mass = np.triu(mass) + np.triu(mass, 1).T
    inverse = np.linalg.inv(mass)
    unbound = inverse @ (there(columns, tau) - pin.nonLinearEffects(peer, data, q_there, v_there))
    effective = a @ inverse @ a.T
    values = np.linalg.eigvalsh(effective)
    if (values[values > 1e-9 * values[-1]][:1] < 1e-4 * values[-1]).any():
        return None  # nearly singular: both lose digits
    pull = np.linalg.pinv(effective, rcond=1e-9, hermitian=True) @ (a @ unbound + drifts[0] - drifts[1])
    bound = (unbound - inverse @ a.T @ pull)[columns]
    scale = float(np.abs(unbound).max())  # what the tie takes away is as large, where little motion is left
    return relative(ps.forward_dynamics(closed, q, v_there[columns], tau), bound, at_least=scale)


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_random_tree_moves_as_pinocchio_says(seed, tmp_path):
    assert tree_difference(seed, tmp_path) < TOLERANCE


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, QUICK))])
def test_a_random_closed_chain_moves_as_pinocchio_says(seed, tmp_path):
    found = closed_difference(seed, tmp_path)
    assert found is None or found < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_five_hundred_random_trees_and_closed_chains_move_as_pinocchio_says(part, tmp_path):
    seeds = range(QUICK + part, QUICK + MANY, 10)
    trees = {seed: tree_difference(seed, tmp_path) for seed in seeds}
    closed = {seed: closed_difference(seed, tmp_path) for seed in seeds}
    assert max(trees.values()) < TOLERANCE, max(trees, key=lambda seed: trees[seed])
    told = {seed: found for seed, found in closed.items() if found is not None}
    assert len(told) > len(closed) // 3
    assert max(told.values()) < 1e-7, max(told, key=lambda seed: told[seed])
