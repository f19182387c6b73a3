"""JJ* is the observability Gramian of the spatial state model: redundant and singular arms in both languages."""

from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar import estimation
from phistar.errors import ModelError, ShapeError, UnknownNameError
from tests.programs import program
from tests.trees import mechanism, relative

DOCS = Path(__file__).parents[2] / "docs"
ARMS = {"chain3": "tip", "chain6": "tip", "chain7": "tip", "chain12": "tip", "puma560": "tool", "puma560_akb": "tool"}
WRIST_STRAIGHT = np.array([0.3, 0.4, -0.5, 0.2, 0.0, 0.7])
WRIST_BENT = np.array([0.3, 0.4, -0.5, 0.2, 0.1, 0.7])


def arm(name):
    return ps.chain(int(name[5:])) if name.startswith("chain") else ps.load(name)


def observability_matrix(model, q, frame):
    """[H(1)φ(1,0); H(2)φ(2,0); …], tip first, of x(0) in world axes at the frame: matrices and NumPy alone."""
    space = estimation.state_space(model, q, np.zeros(model.nv))
    link, tip = (ps.forward_kinematics(model, q, name) for name in (model.bodies[-1].name, frame))
    turn, lever = link[:3, :3].T, tip[:3, 3] - link[:3, 3]
    state = np.zeros((6, 6))  # x(0) in the last link's axes: the same force, and its moment about the link's origin
    for column, force in enumerate(np.eye(6)):
        state[:3, column] = turn @ (force[:3] + np.cross(lever, force[3:]))
        state[3:, column] = turn @ force[3:]
    rows = []
    for transition, design in zip(space.transition, space.design, strict=True):
        state = transition @ state
        rows.append(design @ state)
    return np.concatenate(rows)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ARMS)
def test_the_gramian_of_the_state_model_is_the_jacobians(name):
    model, frame = arm(name), ARMS[name]
    for seed in range(3):
        q = model.random(np.random.default_rng(seed))
        rows = observability_matrix(model, q, frame)
        summed = sum(np.outer(row, row) for row in rows)  # Σ φ*H*Hφ
        assert relative(estimation.observability_gramian(model, q, frame), summed) < 1e-12
        assert relative(ps.jacobian(model, q, frame).T[::-1], rows) < 1e-12  # and τ = J*f, joint by joint


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_rank_is_the_number_of_directions_the_frame_can_move_in(seed):
    """On trees with any joints: of the Gramian, of the Jacobian, and what the self-motions leave over."""
    made = mechanism(seed, frames=1)
    model, q, frame = made.model, made.q, made.frames[0]
    J, found = ps.jacobian(model, q, frame), estimation.observability(model, q, frame)
    assert relative(found.gramian, J @ J.T) < 1e-12
    assert found.rank == np.linalg.matrix_rank(J)
    assert relative((found.directions * found.strengths**2) @ found.directions.T, found.gramian) < 1e-12
    lost = found.unobservable
    assert lost.shape == (6, 6 - found.rank) and np.all(np.abs(J.T @ lost) < 1e-10)
    free = estimation.self_motions(model, q, frame)
    assert np.all(np.abs(J @ free) < 1e-9) and np.trace(free) == pytest.approx(model.nv - found.rank, abs=1e-9)


def test_the_derivation_ends_in_one_outward_sweep():
    algebra = ps.algebra(ps.chain(7), frames=["tip"])
    stated = algebra.J @ algebra.U @ algebra.J.T
    simple = stated.simplify()
    assert estimation.observability_gramian.statement.show() == stated.show() == "JUJ*"
    assert simple.show() == "B*ΓB" and "observability gramian, R87 §XIV" in str(stated.derivation())
    assert [sweep.direction for sweep in simple.sweeps] == ["outward"]


def test_seven_joints_observe_six_directions_and_one_relation_among_them_is_left():
    """Mechanics: the arm can move and its tip stay. Estimation: the surplus reading is predicted by the others."""
    model, rng = ps.chain(7), np.random.default_rng(3)
    q = rng.uniform(-0.5, 0.5, 7)
    found, free = estimation.observability(model, q, "tip"), estimation.self_motions(model, q, "tip")
    assert found.rank == 6 and found.unobservable.shape == (6, 0)
    motion = np.linalg.eigh(free)[1][:, -1]
    tip, moved = (ps.forward_kinematics(model, q + h * motion, "tip") for h in (0.0, 1e-5))
    plain = ps.forward_kinematics(model, q + 1e-5 * np.roll(motion, 1), "tip")
    assert np.abs(moved - tip).max() < 1e-9 < 1e-7 < np.abs(plain - tip).max()
    force = rng.normal(size=6)
    readings = ps.jacobian(model, q, "tip").T @ force
    assert abs(motion @ readings) < 1e-13 < abs(motion @ rng.normal(size=7))
    estimate = np.linalg.solve(found.gramian, ps.jacobian(model, q, "tip") @ readings)
    assert np.allclose(estimate, force, rtol=0, atol=1e-11)
    without = np.delete(observability_matrix(model, q, "tip"), 2, axis=0)  # a sensor fails
    assert np.linalg.matrix_rank(without) == 6


def test_a_straight_wrist_hides_one_force_and_loses_that_motion():
    model = ps.load("puma560")
    found = estimation.observability(model, WRIST_STRAIGHT, "tool")
    assert found.rank == 5 and found.strengths[-1] < 1e-7 < 1e-1 < found.strengths[-2]
    force = found.unobservable[:, 0]
    assert np.abs(observability_matrix(model, WRIST_STRAIGHT, "tool") @ force).max() < 1e-14
    rates = np.random.default_rng(0).normal(size=(100, 6))
    assert np.abs(rates @ ps.jacobian(model, WRIST_STRAIGHT, "tool").T @ force).max() < 1e-13
    # Its moment is about the axis square to those of joints 4 and 6, which are one line here, and of joint 5.
    axes = [ps.jacobian(model, WRIST_STRAIGHT, "tool")[:3, k] for k in (3, 4, 5)]
    assert np.allclose(np.abs(axes[0] @ axes[2]), 1.0) and np.allclose(np.cross(axes[0], axes[2]), 0, atol=1e-14)
    square = np.cross(axes[1], axes[2])
    assert abs(square @ force[:3]) == pytest.approx(np.linalg.norm(force[:3]), rel=1e-12)
    free = np.linalg.eigh(estimation.self_motions(model, WRIST_STRAIGHT, "tool"))[1][:, -1]
    assert np.allclose(np.abs(free), np.array([0, 0, 0, 1, 0, 1]) / np.sqrt(2), atol=1e-12)
    assert estimation.observability(model, WRIST_BENT, "tool").rank == 6


def test_states_may_be_many():
    model = ps.load("puma560")
    q = np.stack([WRIST_STRAIGHT, WRIST_BENT])[:, None]
    found = estimation.observability(model, q.tolist(), "tool")
    assert found.rank.tolist() == [[5], [6]] and found.directions.shape == (2, 1, 6, 6)
    assert estimation.self_motions(model, q, "tool").shape == (2, 1, 6, 6)
    with pytest.raises(ShapeError, match="ask one state"):
        found.unobservable  # noqa: B018


def test_what_cannot_be_asked_is_refused():
    b = ps.ModelBuilder("ring")
    rod = ps.Inertia(1.0, (0.5, 0, 0), np.eye(3))
    b.body("crank", joint=ps.Revolute(), inertia=rod)
    b.body("rod", "crank", ps.Revolute(), ps.Pose(xyz=(1, 0, 0)), rod)
    b.frame("end", "rod", ps.Pose(xyz=(1, 0, 0)))
    b.frame("pin", "world", ps.Pose(xyz=(1.5, 0, 0)))
    b.loop("cut", "end", "pin", joint=ps.Revolute())
    looped = b.build()
    for ask in (estimation.observability, estimation.self_motions):
        with pytest.raises(ModelError, match=r"model\.tree"):
            ask(looped, np.zeros(2), "end")
        with pytest.raises(UnknownNameError, match="no frame 'nose'"):
            ask(ps.chain(2), np.zeros(2), "nose")
        with pytest.raises(ShapeError):
            ask(ps.chain(2), np.zeros(3), "tip")
    assert estimation.observability(looped.tree, [0.1, 0.2], "end").rank == 2
    b = ps.ModelBuilder("statue")
    b.body("stone", joint=ps.Fixed())
    with pytest.raises(ModelError, match="no joint that moves"):
        estimation.observability(b.build(), np.zeros(0), "stone")


# The page


@pytest.mark.slow
def test_the_picture_and_the_table_are_made(tmp_path):
    pytest.importorskip("matplotlib")
    module = program("docs/generate_observability.py")
    module.picture(tmp_path, draws=50)
    module.table(tmp_path)
    assert (tmp_path / "observability.png").stat().st_size > 10_000
    ranks = [line.split("|")[3].strip() for line in (tmp_path / "ranks.txt").read_text().splitlines()[2:]]
    assert ranks == ["6", "6", "5", "5", "3"]
