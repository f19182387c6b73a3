"""`ps.symbolic`: textbook expressions of small arms, equal values, shared steps, and PUMA 560 counts."""

from dataclasses import replace

import numpy as np
import pytest

import phistar as ps
from phistar.errors import StatementError

sympy = pytest.importorskip("sympy")


@pytest.fixture(scope="module")
def two_links():
    """Two rods in a vertical plane, joints about y."""
    builder = ps.ModelBuilder("two", gravity=(0, 0, -9.81))
    inertia = ps.Inertia(2.0, (0.5, 0, 0), np.diag([0.0, 0.25, 0.25]))
    builder.body("one", parent="world", joint=ps.Revolute(axis=(0, -1, 0)), inertia=inertia)
    builder.body(
        "two", parent="one", joint=ps.Revolute(axis=(0, -1, 0)), placement=ps.Pose(xyz=(1, 0, 0)), inertia=inertia
    )
    return builder.build()


def same(expression, other):
    return sympy.simplify(expression - other) == 0


def test_the_mass_matrix_of_two_links_is_the_textbooks(two_links):
    """M11 = I1 + I2 + m2 l² + 2 m2 l p2 cos q2, …: inertias about the joints, l = 1."""
    found = ps.symbolic(two_links, parameters=["inertia"])
    q2, m2, mx2, I1, I2 = sympy.symbols("q2 m2 mx2 Iyy1 Iyy2", real=True)
    mass = found.explicit(simplify=True)
    assert same(mass[0, 0], I1 + I2 + m2 + 2 * mx2 * sympy.cos(q2))
    assert same(mass[0, 1], I2 + mx2 * sympy.cos(q2)) and same(mass[0, 1], mass[1, 0])
    assert same(mass[1, 1], I2)


def test_the_inverse_is_explicit_and_inverts(two_links):
    mass = ps.symbolic(two_links, ps.mass_matrix).explicit()
    inverse = ps.symbolic(two_links, ps.mass_matrix_inverse).explicit()
    assert sympy.simplify(mass * inverse) == sympy.eye(2)


def test_gravity_is_what_the_height_of_the_mass_centres_says(two_links):
    """∂(potential energy)/∂q, with m p = 1 and g as a symbol."""
    q1, q2, g = sympy.symbols("q1 q2 g_z", real=True)
    height = sympy.sin(q1) * 3 + sympy.sin(q1 + q2)
    load = ps.symbolic(two_links, ps.gravity_load, parameters=["gravity"]).explicit()
    assert all(same(load[i], -g * sympy.diff(height, q)) for i, q in enumerate((q1, q2)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["mass_matrix", "mass_matrix_inverse", "bias", "forward_dynamics"])
def test_expressions_have_the_values_of_the_function(name):
    model, rng = ps.chain(3), np.random.default_rng(0)
    found = ps.symbolic(model, getattr(ps, name))
    arrays = rng.normal(size=(len(found.arguments), 3))
    expected = getattr(ps, name)(model, *arrays)
    assert np.allclose(found.function()(*arrays).reshape(expected.shape), expected, rtol=1e-9)


def test_parameters_as_symbols_have_the_robots_values_at_its_numbers():
    model = ps.chain(2)
    found = ps.symbolic(model, parameters=["inertia"])
    numbers = {"m": 1.0, "mx": 0.1, "Ixx": 0.00125, "Iyy": 0.2**2 / 3 + 0.000625, "Izz": 0.2**2 / 3 + 0.000625}
    values = [numbers[str(x).rstrip("12")] for x in found.arguments["inertia"]]
    q = np.array([0.3, -0.8])
    assert np.allclose(found.function()(q, values), ps.mass_matrix(model, q), rtol=1e-12)
    assert not any(str(x).startswith(("Ixy", "my")) for x in found.arguments["inertia"])  # zero in this robot


def test_what_is_needed_twice_is_a_step(two_links):
    found = ps.symbolic(ps.chain(3), ps.mass_matrix_inverse)
    used = [x for expression in (*(y for _, y in found.steps), *found.value) for x in expression.free_symbols]
    assert found.steps and all(
        used.count(x) + sum(x in e.free_symbols for e in found.value) >= 1 for x, _ in found.steps
    )
    defined = set()
    for symbol, expression in found.steps:
        assert {x for x in expression.free_symbols if str(x).startswith("x")} <= defined
        defined.add(symbol)
    assert found.operations == sum(found.counts.values()) < sympy.count_ops(found.explicit())


def test_latex_names_every_step_and_the_matrix(two_links):
    text = ps.symbolic(two_links).latex()
    assert text.startswith(r"\begin{aligned}") and text.endswith(r"\end{aligned}")
    assert r"\mathrm{mass\_matrix} &= \left[\begin{matrix}" in text and r"\cos{\left(q_{2} \right)}" in text


def test_statements_and_frames_are_written_out_too(two_links):
    algebra = ps.algebra(two_links)
    found = ps.symbolic(two_links, algebra.H @ algebra.phi @ algebra.M @ algebra.phi.T @ algebra.H.T)
    q = np.array([0.2, 0.9])
    assert np.allclose(found.function()(q), ps.mass_matrix(two_links, q))
    jacobian = ps.symbolic(ps.chain(2), ps.jacobian, frame="tip")
    assert np.allclose(jacobian.function()(q), ps.jacobian(ps.chain(2), q, "tip"))
    with pytest.raises(StatementError, match="several results"):
        ps.symbolic(two_links, ps.innovations)


def test_the_whole_puma_is_shorter_than_newton_euler_and_as_short_as_its_abbreviation_allows():
    """Armstrong, Khatib and Burdick (1986) need 305 calculations for inverse dynamics after dropping every term under
    1 %, a fifth of what Newton and Euler took them. Nothing is dropped here."""
    exact = ps.symbolic(ps.load("puma560_akb"), ps.inverse_dynamics)
    arithmetic = exact.operations - exact.counts["sin"] - exact.counts["cos"]
    assert 305 < arithmetic < 5 * 305 / 3


def test_dimensions_of_links_stand_as_symbols():
    """The planar chain of two links, as textbooks print it."""
    found = ps.symbolic(ps.planar_chain(2), parameters=["inertia", "placement"]).explicit()
    m, length, c, first, second, q = sympy.symbols("m2 px2 mx2 Izz1 Izz2 q2", real=True)
    coupling = second + c * length * sympy.cos(q)
    expected = sympy.Matrix(
        [[first + second + m * length**2 + 2 * c * length * sympy.cos(q), coupling], [coupling, second]]
    )
    assert sympy.simplify(found - expected) == sympy.zeros(2, 2)


@pytest.mark.parametrize("function", [None, ps.gravity_load, ps.inverse_dynamics])
def test_other_dimensions_give_the_robot_that_has_them(function):
    model = ps.load("puma560")
    rng = np.random.default_rng(4)
    result = ps.symbolic(model, function, parameters=["placement"])
    places = np.concatenate([body.placement.translation for body in model.bodies])
    given = places + np.where(places != 0, rng.uniform(0.1, 0.5, places.size), 0)
    bodies = [
        replace(body, placement=ps.Pose(xyz=xyz, rotation=body.placement.rotation))
        for body, xyz in zip(model.bodies, given.reshape(-1, 3), strict=True)
    ]
    other = replace(model, bodies=tuple(bodies))
    state = {"q": model.random(rng), "v": rng.normal(size=6), "a": rng.normal(size=6)}
    arguments = [given[places != 0] if name == "placement" else state[name] for name in result.arguments]
    taken = [state[name] for name in result.arguments if name in state]
    expected = (function or ps.mass_matrix)(other, *taken)
    value = result.function()(*arguments)
    assert np.abs(value.reshape(expected.shape) - expected).max() < 1e-9 * np.abs(expected).max()


def test_places_of_task_frames_stand_as_symbols():
    """The Jacobian of a Puma whose tool is elsewhere, and whose links are longer."""
    model, rng = ps.load("puma560"), np.random.default_rng(5)
    tool = model.frame("tool")
    model = replace(
        model, frame_list=(*model.frame_list, replace(tool, name="pen", placement=ps.Pose(xyz=(0.1, 0, 0.2))))
    )
    result = ps.symbolic(model, ps.algebra(model, "pen").J, parameters=["placement"])
    names = [symbol.name for symbol in result.arguments["placement"]]
    assert names[-2:] == ["px_pen", "pz_pen"]
    places = np.concatenate([body.placement.translation for body in model.bodies])
    longer, point = 1.2 * places, np.array([0.3, 0.0, -0.4])
    bodies = [
        replace(body, placement=ps.Pose(xyz=xyz, rotation=body.placement.rotation))
        for body, xyz in zip(model.bodies, longer.reshape(-1, 3), strict=True)
    ]
    frames = [replace(f, placement=ps.Pose(xyz=point)) if f.name == "pen" else f for f in model.frame_list]
    other, q = replace(model, bodies=tuple(bodies), frame_list=tuple(frames)), model.random(rng)
    given = dict(zip(names, [*longer[places != 0], *point[point != 0]], strict=False))
    assert len(given) == len(names)
    value = result.function()(q, [given[name] for name in names])
    assert np.allclose(value, ps.jacobian(other, q, "pen"), atol=1e-9)


def test_dimensions_are_no_argument_of_what_is_compiled():
    with pytest.raises(ps.StatementError, match="'placement' cannot be a parameter; choose from inertia, gravity"):
        ps.compile(ps.mass_matrix, ps.chain(3), parameters=["placement"])
