"""Real URDF robots agree with Pinocchio: inertias, placements and Jacobians, with a fixed and with a floating base."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import phistar as ps

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

TOLERANCE = 1e-12
DATA = Path(__file__).resolve().parents[1] / "data" / "urdf"
# Robots that every run compares; the others are marked slow.
QUICK = ("panda", "ur5_robot", "double_pendulum_continuous", "talos_reduced", "tiago", "TwoDofs", "anymal", "ur3")
LEFT_OUT = {"ur3": "no <link>"}  # file → what its refusal says


def corpus() -> list[Path]:
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        files = []
    return sorted(Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf")


def cases(paths, bases=("fixed", "floating")):
    for path in paths:
        marks = [] if path.stem in QUICK or path.parent == DATA else [pytest.mark.slow]
        for base in bases:
            yield pytest.param(path, base, id=f"{label(path)}-{base}", marks=marks)


def label(path: Path) -> str:
    return path.name if path.parent == DATA else f"{path.parents[1].name}/{path.name}"


SHIPPED = [DATA / "atlas.urdf", DATA / "simple_humanoid.urdf"]
LOADABLE = [*SHIPPED, *(path for path in corpus() if path.stem not in LEFT_OUT)]
REFUSED = [path for path in corpus() if path.stem in LEFT_OUT]


@pytest.mark.parametrize(("path", "base"), [*cases(LOADABLE)])
def test_a_robot_agrees_with_pinocchio(path, base, add_row):
    model = ps.load(path, floating=base == "floating")
    peer = peer_of(path, base)
    q = model.random(np.random.default_rng(1), (3,))
    places, bodies = shared_frames(model, peer), products(model, q)
    every = {name: at_frame(model, bodies, name) for name in places}
    some = {n: (ps.forward_kinematics(model, q, n), ps.jacobian(model, q, n)) for n in few(model, places)}
    worst = {
        "inertias": inertias(model, peer),
        "products of joint poses": kinematics(model, peer, q, every),
        "forward_kinematics and jacobian": kinematics(model, peer, q, some),
    }
    names = {"file": label(path), "base": base, "bodies": len(model.bodies), "nq": model.nq, "nv": model.nv}
    add_row(**names, mass=model.total_mass, worst=max(worst.values()), note=f"warnings: {len(model.warnings)}")
    assert max(worst.values()) <= TOLERANCE, worst


@pytest.mark.parametrize(("path", "base"), [*cases(REFUSED, bases=("fixed",))])
def test_a_file_left_out_is_no_robot(path, base, add_row):
    with pytest.raises(ps.FileError, match=LEFT_OUT[path.stem]) as refusal:
        ps.load(path)
    add_row(file=label(path), base=base, note="left out: " + str(refusal.value).split(": ", 1)[1])


@pytest.mark.parametrize("floating", [False, True])
def test_a_frame_fixed_to_the_world_has_a_zero_jacobian(floating):
    model = ps.load(DATA / "features.urdf", floating=floating)
    q = model.random(0, (2, 3))
    assert np.array_equal(ps.jacobian(model, q, "world"), np.zeros((2, 3, 6, model.nv)))
    assert np.array_equal(ps.forward_kinematics(model, q, "world"), np.broadcast_to(np.eye(4), (2, 3, 4, 4)))


@pytest.mark.skipif(not corpus(), reason="example-robot-data is not installed")
def test_the_corpus_is_complete_and_its_meshes_are_found():
    assert len(corpus()) >= 69
    (panda,) = (path for path in corpus() if path.name == "panda.urdf")
    share = next(folder.parent for folder in panda.parents if folder.name == "example-robot-data")
    model = ps.load(panda, packages=[share])
    meshes = [
        geometry.shape for body in model.bodies for geometry in body.geometry if isinstance(geometry.shape, ps.Mesh)
    ]
    assert len(meshes) >= 9
    assert all(Path(mesh.path).is_file() for mesh in meshes)
    assert not any("mesh" in warning for warning in model.warnings)


# The peer


def peer_of(path: Path, base: str):
    if base == "fixed":
        return pin.buildModelFromUrdf(str(path))
    return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer(), "root")


def peer_configuration(model, peer, q):
    """q in Pinocchio's order (alphabetic) and coordinates (a continuous joint is a cosine and a sine)."""
    result = pin.neutral(peer)
    for joint in model.joints:
        there = peer.joints[peer.getJointId(joint.name)]
        ours = q[joint.q_slice]
        theirs = ours if there.nq == joint.nq else np.array([np.cos(ours[0]), np.sin(ours[0])])
        result[there.idx_q : there.idx_q + there.nq] = theirs
    return result


def peer_columns(model, peer) -> np.ndarray:
    """Our entry of v → theirs; a free joint's are linear first there."""
    columns = np.empty(model.nv, int)
    for joint in model.joints:
        start = peer.joints[peer.getJointId(joint.name)].idx_v
        order = [3, 4, 5, 0, 1, 2] if joint.nv == 6 else list(range(joint.nv))
        columns[joint.v_slice] = start + np.array(order)
    return columns


# Differences relative to the largest entry of what is compared


def relative(ours, theirs, at_least=0.0) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(float(np.abs(theirs).max(initial=0.0)), at_least)
    difference = float(np.abs(ours - theirs).max(initial=0.0))
    return difference / scale if scale else difference


def inertias(model, peer) -> float:
    """Mass, centre of mass (to a metre's digits) and tensor of every body."""
    assert len(model.bodies) == peer.njoints - 1
    worst = 0.0
    for body in model.bodies:
        theirs = peer.inertias[peer.getJointId(body.joint.name)]
        worst = max(worst, relative(body.inertia.mass, theirs.mass), relative(body.inertia.tensor, theirs.inertia))
        worst = max(worst, relative(body.inertia.com, theirs.lever, at_least=1.0))
    return worst


def kinematics(model, peer, q, ours) -> float:
    """Placements (batch, 4, 4) and Jacobians (batch, 6, nv) of the frames in `ours`, at the configurations q."""
    worst, columns, places = 0.0, peer_columns(model, peer), shared_frames(model, peer)
    for row, configuration in enumerate(q):
        data = peer.createData()
        pin.computeJointJacobians(peer, data, peer_configuration(model, peer, configuration))
        pin.updateFramePlacements(peer, data)
        for name, (placements, jacobians) in ours.items():
            worst = max(worst, relative(placements[row], data.oMf[places[name]].homogeneous))
            if model.nv:  # Pinocchio has no Jacobian of a model that cannot move
                there = pin.getFrameJacobian(peer, data, places[name], pin.LOCAL_WORLD_ALIGNED)[[3, 4, 5, 0, 1, 2]]
                worst = max(worst, relative(jacobians[row], there[:, columns], at_least=1.0))
    return worst


def few(model, places) -> list[str]:
    """Up to three frames of moving bodies: the first, the last, and the one with the most joints above it."""
    depth = {-1: 0}
    for index, parent in enumerate(model.parents):
        depth[index] = depth[parent] + 1
    names = [name for name in places if model.frames[name].body >= 0]
    deepest = max(names, key=lambda name: depth[model.frames[name].body], default=None)
    return sorted({names[0], names[-1], deepest}) if names else []


def shared_frames(model, peer) -> dict[str, int]:
    """Name → Pinocchio's index, for every link and joint; a link `world` is the world here, even when floating."""
    links = {frame.name: index for index, frame in enumerate(peer.frames) if frame.type == pin.FrameType.BODY}
    joints = {frame.name: index for index, frame in enumerate(peer.frames) if frame.type != pin.FrameType.BODY}
    return {
        name: (links if frame.role == "link" else joints)[name]
        for name, frame in model.frames.items()
        if name in links or frame.role == "joint"
        if name != "world"
    }


# Products of joint poses: the definition, frame by frame


def products(model, q):
    """For each body (and the world, at −1): pose (…, 4, 4) and [ω; v at the world's origin] = J q̇, J (…, 6, nv)."""
    batch = q.shape[:-1]
    known = {-1: (np.broadcast_to(np.eye(4), (*batch, 4, 4)), np.zeros((*batch, 6, model.nv)))}
    for index, body in enumerate(model.bodies):
        pose, jacobian = known[body.parent]
        here = q[..., body.joint.q_slice]
        pose = pose @ body.placement.matrix @ homogeneous(*body.joint.kind.pose(here))
        twists = np.broadcast_to(body.joint.kind.subspace(here), (*batch, 6, body.joint.nv))
        angular, linear = pose[..., :3, :3] @ twists[..., :3, :], pose[..., :3, :3] @ twists[..., 3:, :]
        moved = linear + np.cross(pose[..., :3, 3:], angular, axis=-2)
        jacobian = jacobian.copy()
        jacobian[..., body.joint.v_slice] = np.concatenate([angular, moved], axis=-2)
        known[index] = pose, jacobian
    return known


def at_frame(model, bodies, name):
    """(…, 4, 4) and (…, 6, nv) at the origin of one frame."""
    frame = model.frames[name]
    pose, jacobian = bodies[frame.body]
    pose = pose @ frame.placement.matrix
    linear = jacobian[..., 3:, :] - np.cross(pose[..., :3, 3:], jacobian[..., :3, :], axis=-2)
    return pose, np.concatenate([jacobian[..., :3, :], linear], axis=-2)


def homogeneous(rotation, translation):
    matrix = np.zeros((*translation.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3], matrix[..., 3, 3] = rotation, translation, 1.0
    return matrix
