"""Operators of one's own as inputs of compiled functions: the same numbers as constants give."""

import shutil
import subprocess

import numpy as np
import pytest

import phistar as ps
from phistar.errors import ShapeError, StatementError
from tests.trees import mechanism, relative


def spd(rng, n):
    x = rng.normal(size=(n, n))
    return x @ x.T + np.eye(n)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_an_operator_that_is_not_bound_is_an_argument(seed):
    case = mechanism(seed, rotors=False)
    A, rng = case.algebra, np.random.default_rng(seed)
    S = A.operator("Stiff", "Rates", "Torques", structure="positive block-diagonal")
    weights = np.zeros((case.model.nv, case.model.nv))
    for joint in case.model.joints:
        weights[joint.v_slice, joint.v_slice] = spd(rng, joint.nv)
    x = rng.normal(size=case.model.nv)
    statement = (A.mass + S).inv
    function = ps.compile(statement)
    assert function.inputs == ("q", "x", "Stiff")
    expected = statement.dense(case.q, Stiff=weights) @ x
    assert relative(function(case.q, x, weights), expected) < 1e-9
    bound = ps.compile(statement.given(Stiff=weights))
    assert relative(function(case.q, x, weights), bound(case.q, x)) < 1e-10
    both = np.stack([weights, 2 * weights])
    assert function(case.q, x, both).shape == (2, case.model.nv)


def test_metrics_of_a_task_and_of_links_are_arguments_too():
    model = ps.chain(7)
    A, rng = ps.algebra(model, frames=["tip"]), np.random.default_rng(0)
    metric = A.operator("Z", "TaskMotions", "TaskForces", structure="positive")
    extra = A.operator("Load", "Motions", "Forces", structure="symmetric block-diagonal")
    q, x, z = rng.normal(size=7), rng.normal(size=7), spd(rng, 6)
    load = np.zeros((42, 42))
    for k in range(7):
        load[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = spd(rng, 6)
    pulled = A.J.T @ metric @ A.J
    assert relative(ps.compile(pulled)(q, x, z), pulled.dense(q, Z=z) @ x) < 1e-11
    loaded = A.H @ A.phi @ (A.M + extra) @ A.phi.T @ A.H.T
    assert relative(ps.compile(loaded)(q, x, load), loaded.dense(q, Load=load) @ x) < 1e-11
    assert relative(ps.compile(loaded, matrix=True)(q, load), loaded.dense(q, Load=load)) < 1e-11


def test_structure_is_checked_on_the_numbers_given():
    A = ps.algebra(ps.chain(3))
    S = A.operator("Stiff", "Rates", "Torques", structure="symmetric block-diagonal")
    function = ps.compile(A.mass + S)
    q, x = np.zeros(3), np.ones(3)
    with pytest.raises(StatementError, match="between links or joints"):
        function(q, x, np.ones((3, 3)))
    with pytest.raises(ShapeError, match="3, 3"):
        function(q, x, np.ones((2, 2)))
    with pytest.raises(ShapeError, match="real numbers"):
        function(q, x, [["a"] * 3] * 3)
    assert np.array_equal(function(q, x, np.eye(3)), function(q, x, np.ones(3)))  # its entries as they are


def test_casadi_and_c_take_it_by_its_entries(tmp_path):
    model = ps.chain(3)
    A = ps.algebra(model)
    S = A.operator("Stiff", "Rates", "Torques", structure="positive block-diagonal")
    statement, q, x, s = (A.mass + S).inv, np.full(3, 0.4), np.ones(3), np.array([1.0, 2.0, 3.0])
    expected = statement.apply(q, x, Stiff=np.diag(s))
    function = ps.casadi_function(statement, model)
    assert function.name_in(2) == "Stiff"
    assert np.allclose(np.asarray(function(q, x, s)).ravel(), expected, rtol=1e-12)
    written = ps.export_c(statement, model, tmp_path, name="stiff")
    assert "const double *Stiff" in (tmp_path / "stiff.h").read_text()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    sources = [str(path) for path in written if path.suffix == ".c"]
    subprocess.run([compiler, "-std=c99", *sources, "-lm", "-o", str(tmp_path / "example")], check=True)
    subprocess.run([str(tmp_path / "example")], check=True)  # which checks itself


def test_an_argument_that_was_declared_positive_is_refused_where_it_is_not():
    """Negative springs were taken."""
    A = ps.algebra(ps.chain(3))
    function = ps.compile((A.mass + A.operator("Stiff", "Rates", "Torques", structure="positive block-diagonal")).inv)
    q, x = np.zeros(3), np.ones(3)
    with pytest.raises(StatementError, match="declared positive"):
        function(q, x, np.stack([np.eye(3), np.diag([1.0, -2.0, 3.0])]))
