"""Identification: base parameters against the rank, fits against the truth, what a log does not show, bad logs."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.identify.consistent import Compressed, nearest_physical, pseudo_inertia
from phistar.identify.fourier_series import FourierSeries, InformationSearch
from phistar.identify.identifiable import base_of
from phistar.identify.parameter_columns import Columns

TERMS = ("armature", "damping", "friction")


def with_motors(model):
    kinds = {j.name: replace(j.kind, armature=0.1, damping=0.5, friction=0.3) for j in model.joints}
    return model.replace(joints=kinds)


def doubted(model, rng):
    """The same robot with masses and tensors wrong by thirty percent."""
    made = {}
    for body in model.bodies:
        mass, tensor = body.inertia.mass, body.inertia.tensor
        made[body.name] = ps.Inertia(
            mass * np.exp(0.3 * rng.normal()), body.inertia.com, tensor * np.exp(0.3 * rng.normal())
        )
    return model.replace(inertias=made)


def forces(model, path):
    columns = Columns(model, TERMS)
    return columns.table(path.q, path.v, path.a) @ columns.model_values


@pytest.fixture(scope="module")
def arm():
    return with_motors(ps.chain(5))


@pytest.fixture(scope="module")
def path(arm):
    return ps.identify.excitation(arm, 10.0, samples=1500, candidates=40, seed=1)


def test_columns_are_inverse_dynamics_with_motors_and_friction(arm, path):
    q, v, a = path.q, path.v, path.a
    wanted = ps.inverse_dynamics(arm, q, v, a) + 0.5 * v + 0.3 * np.sign(v)
    assert np.allclose(forces(arm, path), wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_base_parameters_carry_all_that_forces_depend_on(arm):
    base, columns, rng = ps.identify.base_parameters(arm), Columns(arm, TERMS), np.random.default_rng(5)
    q, v, a = arm.random(rng, (50,)), *rng.normal(size=(2, 50, arm.nv))
    table = columns.table(q, v, a)
    assert np.allclose(table[..., base.columns] @ base.grouping, table, atol=1e-9 * np.abs(table).max())
    assert np.linalg.matrix_rank(table.reshape(-1, table.shape[-1])) == len(base) == len(base.names)
    assert "link1.mass" in base.unseen and all(name.split(".")[0] for name in base.names)


def test_held_out_forces_are_predicted_to_the_noise(arm, path):
    rng, tau = np.random.default_rng(0), forces(arm, path)
    noise = 0.01 * np.abs(tau).max(axis=0)
    found = ps.identify.fit(doubted(arm, rng), path.q, path.v, path.a, tau + noise * rng.normal(size=tau.shape))
    assert found.physical and not found.unexcited and np.allclose(found.noise, noise, rtol=0.1)
    other = ps.identify.excitation(arm, 7.0, samples=800, candidates=10, seed=9)
    wanted = forces(arm, other)
    told = found.error(other.q, other.v, other.a, wanted + noise * rng.normal(size=wanted.shape))
    assert (told.rms <= 1.2 * noise).all() and told.samples == 800
    base = found.base.grouping @ Columns(arm, TERMS).model_values
    for values in (found.values, found.base.grouping @ np.array(list(found.parameters.values()))):
        assert np.mean(np.abs(values - base) <= 3.0 * found.deviations) >= 0.97
    assert np.allclose(found.model.armature, 0.1, atol=0.2) and found.parameters["joint4.damping"] == pytest.approx(
        found.model.joint("joint4").kind.damping[0]
    )


@pytest.mark.slow
def test_deviations_are_those_of_repeated_logs(arm, path):
    rng, tau = np.random.default_rng(2), forces(arm, path)
    noise = 0.02 * np.abs(tau).max(axis=0)
    base = ps.identify.base_parameters(arm).grouping @ Columns(arm, TERMS).model_values
    scores = []
    for _ in range(8):
        found = ps.identify.fit(
            arm, path.q, path.v, path.a, tau + noise * rng.normal(size=tau.shape), noise=noise, spread=10.0
        )
        scores.append((found.values - base) / found.deviations)
    assert 0.85 < np.std(scores) < 1.15 and np.mean(np.abs(scores) <= 3.0) >= 0.99


def test_a_log_at_rest_names_what_it_does_not_show(arm, caplog):
    rng = np.random.default_rng(4)
    q = arm.random(rng, (300,))
    still = np.zeros_like(q)
    found = ps.identify.fit(arm, q, still, still, ps.gravity_load(arm, q))
    assert "joint1.damping" in found.unexcited and "joint3.friction" in found.unexcited
    assert not any(name.startswith("link3.my") for name in found.unexcited)
    assert "does not show" in caplog.text and found.physical
    assert "plain least squares" not in caplog.text  # the first joint is upright, and feels rounding alone
    assert np.allclose(found.predict(q, still, still), ps.gravity_load(arm, q), atol=1e-4 * 50)


def test_armature_that_is_not_asked_about_is_taken_from_the_model(arm, path):
    found = ps.identify.fit(arm, path.q, path.v, path.a, forces(arm, path), terms=("damping", "friction", "offset"))
    assert np.allclose(found.model.armature, arm.armature)
    assert np.abs(found.predict(path.q, path.v, path.a) - forces(arm, path)).max() < 1e-3


@pytest.mark.parametrize("noise", [1e-3, 1.0], ids=["a clear log", "a noisy log"])
def test_fitted_parameters_are_the_least_of_misfit_and_divergence(noise):
    rng, size = np.random.default_rng(0), 4
    believed = np.stack([body.inertia.parameters for body in ps.chain(size).bodies])
    pi = np.concatenate([(believed * np.exp(rng.normal(size=(size, 1)))).reshape(-1), [0.5, 0.0]])
    scale = np.append(np.tile(np.abs(believed).max(axis=0).clip(1e-2), size), [1.0, 1.0])
    rows = rng.normal(size=(6 * size, len(pi))) / scale / noise
    told = rows @ pi + rng.normal(size=len(rows))
    gram, right = rows.T @ rows, rows.T @ told
    prior, bounded = np.append(believed.reshape(-1), [0.2, 0.3]), np.arange(len(pi)) >= len(pi) - 2
    right[-1] -= 10.0 * gram[-1, -1]  # the last parameter is pulled below 0
    found = Compressed(gram, right, size, bounded, prior, 0.5).fit()

    def cost(x):
        pseudo = pseudo_inertia(x[:-2].reshape(-1, 10))
        divergence = np.einsum("bij,bji", np.linalg.inv(pseudo_inertia(believed)), pseudo)
        divergence -= np.linalg.slogdet(pseudo)[1].sum()
        apart = x[-2:] - prior[-2:]
        return 0.5 * x @ gram @ x - right @ x + divergence / (2.0 * 0.5) ** 2 + 0.5 * apart @ apart / 1e6

    assert (np.linalg.eigvalsh(pseudo_inertia(found[:-2].reshape(-1, 10))) > 0.0).all() and found[-1] == 0.0
    steps = 1e-5 * scale
    slopes = [(cost(found + step) - cost(found - step)) / 2e-5 for step in np.diag(steps)]
    begun = [(cost(prior + step) - cost(prior - step)) / 2e-5 for step in np.diag(steps)]
    assert np.abs(slopes[:-1]).max() < 1e-6 * np.abs(begun).max() and slopes[-1] > 0.0


def test_bodies_that_cannot_be_are_believed_to_be_nearly_so():
    bodies = np.stack([body.inertia.parameters for body in ps.chain(6).bodies])
    bodies[2] = 0.0
    made = nearest_physical(bodies)
    assert np.allclose(made, bodies, rtol=1e-3, atol=1e-4 * np.abs(bodies).max())
    assert (np.linalg.eigvalsh(pseudo_inertia(made)) > 0).all()


def test_excitation_keeps_the_limits_and_its_rates_are_its_own(arm, path):
    assert (path.q > arm.lower_limits).all() and (path.q < arm.upper_limits).all()
    h = path.t[1] - path.t[0]
    assert np.allclose(np.gradient(path.q, h, axis=0)[2:-2], path.v[2:-2], atol=2e-3)
    assert np.allclose(np.gradient(path.v, h, axis=0)[2:-2], path.a[2:-2], atol=2e-2)


def test_excitation_is_better_than_a_thousand_random_motions_and_its_slope_is_that_of_differences(arm, path):
    columns, rng = Columns(arm, ("armature", "damping", "friction")), np.random.default_rng(3)
    search = InformationSearch(columns, base_of(columns).columns, FourierSeries(arm, 10.0, 5))
    assert path.information > max(-search.lack(search.series.random(rng)) for _ in range(1000)) + 1.0
    at, eps = search.series.random(rng).reshape(-1), 1e-5
    value, slope = search.lack_and_slope(at)
    assert value == search.lack(at.reshape(2, 5, -1))
    for i in (0, 7, 20, 33, len(at) - 1):
        ends = [search.lack((at + way * eps * np.eye(len(at))[i]).reshape(2, 5, -1)) for way in (1.0, -1.0)]
        assert abs(slope[i] - (ends[0] - ends[1]) / (2.0 * eps)) < 1e-4 * np.abs(slope).max()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"v": np.full((300, 5), np.nan)}, "not finite in 300 samples, the first is 0"),
        ({"tau": np.zeros((299, 5))}, "a row for each"),
        ({"terms": ("inductance",)}, "no 'inductance'"),
        ({"noise": -1.0}, "must be positive"),
        ({"noise": "little"}, "must be positive, one number or 5"),
        ({"noise": np.inf}, "must be positive"),
        ({"spread": -1.0}, "spread is a standard deviation"),
        ({}, "All forces of the log are zero"),
    ],
)
def test_bad_logs_get_a_sentence(arm, changed, said):
    given = {name: np.zeros((300, 5)) for name in ("q", "v", "a", "tau")} | changed
    with pytest.raises(ps.PhistarError, match=said):
        ps.identify.fit(arm, **given)


def test_forces_that_no_body_near_the_model_can_have_are_told(arm, path, caplog):
    """Of the wrong sign, and of units that are off by digits."""
    tau = ps.inverse_dynamics(arm, path.q, path.v, path.a)
    assert ps.identify.fit(arm, path.q, path.v, path.a, tau).physical and not caplog.records
    ps.identify.fit(arm, path.q, path.v, path.a, -tau)
    assert "times what plain least squares leave" in caplog.text and "units and signs" in caplog.text
    with pytest.raises(ps.InfeasibleError, match="digits run out"):
        ps.identify.fit(arm, path.q, path.v, path.a, 1e12 * tau)


def test_too_few_samples_and_curved_joints_are_refused(arm):
    with pytest.raises(ps.ShapeError, match="say too little"):
        ps.identify.fit(arm, *np.zeros((4, 3, 5)))
    builder = ps.ModelBuilder("ball")
    builder.body("ball", joint=ps.Spherical(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    with pytest.raises(ps.ModelError, match="quaternions"):
        ps.identify.excitation(builder.build())
