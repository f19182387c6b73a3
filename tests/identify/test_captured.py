"""A captured body's inertia from the base's reaction, total least squares, and their sentences."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.identify.captured import momentum_columns
from phistar.identify.parameter_columns import Columns

TRUTH = ps.Inertia(3.0, (0.1, -0.05, 0.2), np.diag([0.3, 0.25, 0.2]))


def holding(inertia, gravity=(0, 0, 0)):
    """A free base with an arm of three joints that holds a body."""
    builder = ps.ModelBuilder("servicer", gravity=gravity)
    builder.body("base", joint=ps.Free(), inertia=ps.Inertia(20.0, (0, 0, 0), 2.0 * np.eye(3)))
    link, parent = ps.Inertia(1.0, (0, 0, 0.2), 0.02 * np.eye(3)), "base"
    for k, axis in enumerate(((1, 0, 0), (0, 1, 0), (0, 0, 1))):
        place = ps.Pose(xyz=(0.3, 0.0, 0.4) if k == 0 else (0, 0, 0.4))
        own = inertia if k == 2 else link
        builder.body(
            ("upper", "lower", "target")[k], parent, joint=ps.Revolute(axis=axis), placement=place, inertia=own
        )
        parent = ("upper", "lower", "target")[k]
    return builder.build()


def logged(model, rng, samples=400):
    """Twenty seconds of joints that swing, the base free, at steps so fine that momentum stays as it is."""
    fine = np.arange(10 * samples)[:, None]
    tau = np.zeros((10 * samples, model.nv))
    tau[:, 6:] = 0.5 * np.sin(0.005 * fine * [1.0, 1.3, 0.7] + [0.0, 1.0, 2.0])
    start = np.concatenate([0.05 * rng.normal(size=6), np.zeros(3)])
    run = ps.rollout(model, model.neutral(), start, tau, dt=0.005, steps=10 * samples)
    return run.q[::10], run.v[::10]


def test_columns_are_the_momentum_of_the_body():
    model, rng = holding(TRUTH), np.random.default_rng(0)
    q, v = model.random(rng, (5,)), rng.normal(size=(5, model.nv))
    alone = momentum_columns(model, "target", q, v) @ TRUTH.parameters
    every = sum(momentum_columns(model, b.name, q, v) @ b.inertia.parameters for b in model.bodies)
    assert np.allclose(every, ps.momentum(model, q, v), atol=1e-10) and np.abs(alone).max() > 0.1


def test_a_captured_bodys_inertia_is_found_from_the_bases_reaction():
    rng = np.random.default_rng(1)
    q, v = logged(holding(TRUTH), rng)
    believed = holding(ps.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)))
    found = ps.identify.captured_inertia(believed, "target", q, v)
    wanted = TRUTH.parameters
    assert not found.unseen and np.allclose(found.parameters, wanted, atol=2e-3)
    assert np.allclose(found.inertia.parameters, wanted, atol=5e-3)
    assert np.allclose(found.momentum, ps.momentum(holding(TRUTH), q[0], v[0]), atol=1e-3)


def test_its_deviations_are_those_of_repeated_logs():
    rng = np.random.default_rng(2)
    model = holding(TRUTH)
    q, v = logged(model, rng)
    total, scores = ps.momentum(model, q[0], v[0]), []
    for _ in range(40):
        seen = v + 1e-4 * rng.normal(size=v.shape)
        found = ps.identify.captured_inertia(model, "target", q, seen, total=total)
        scores.append((found.parameters - TRUTH.parameters) / found.deviations)
    assert 0.7 < np.std(scores) < 1.3 and np.mean(np.abs(scores) <= 3.0) >= 0.99


def test_a_log_that_shows_nothing_or_is_broken_gets_a_sentence():
    model, rng = holding(TRUTH), np.random.default_rng(0)
    q, v = logged(model, rng, 50)
    with pytest.raises(ps.InfeasibleError, match="does not move"):
        ps.identify.captured_inertia(model, "target", q, 0.0 * v, total=np.zeros(6))
    with pytest.raises(ps.ShapeError, match="momentum \\(6,\\), finite"):
        ps.identify.captured_inertia(model, "target", q, v, total=np.full(6, np.nan))
    with pytest.raises(ps.ShapeError, match="one for each part of the momentum"):
        ps.identify.captured_inertia(model, "target", q, v, noise="little")
    with pytest.raises(ps.PhistarError, match="not finite in 1 samples, the first is 3"):
        v[3, 0] = np.nan
        ps.identify.captured_inertia(model, "target", q, v)
    with pytest.raises(ps.ModelError, match="has gravity"):
        ps.identify.captured_inertia(holding(TRUTH, (0, 0, -9.81)), "target", q, v)
    straight = np.zeros_like(v)
    straight[:, 3] = np.linspace(0.1, 0.2, len(v))
    assert "Ixx" in ps.identify.captured_inertia(model, "target", q, straight, total=np.zeros(6)).unseen


def test_total_least_squares_take_the_bias_of_noisy_motions_off():
    arm = ps.chain(3)
    arm = arm.replace(joints={j.name: replace(j.kind, armature=0.1, damping=0.5) for j in arm.joints})
    columns, rng = Columns(arm, ("armature", "damping")), np.random.default_rng(3)
    path = ps.identify.excitation(arm, 10.0, samples=4000, candidates=20, seed=1, terms=("armature", "damping"))
    tau = columns.table(path.q, path.v, path.a) @ columns.model_values
    tau = tau + 0.01 * rng.normal(size=tau.shape)
    sizes = (0.0, 0.4, 1.0)
    v, a = (x + size * rng.normal(size=x.shape) for x, size in zip((path.v, path.a), sizes[1:], strict=True))
    off = []
    for noise in (None, sizes):
        found = ps.identify.fit(arm, path.q, v, a, tau, terms=("armature", "damping"), motion_noise=noise, spread=10.0)
        off.append(np.abs([found.parameters[f"{j.name}.damping"] - 0.5 for j in arm.joints]).max())
        assert found.physical
    assert off[0] > 0.05 and off[1] < 0.4 * off[0]
    with pytest.raises(ps.ShapeError, match="three deviations"):
        ps.identify.fit(arm, path.q, v, a, tau, motion_noise=(1.0, -1.0, 0.0))
