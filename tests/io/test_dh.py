"""DH tables: the model's link frames are the products of the table's transforms, its inertias those of the table."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phistar as ps
from phistar.dynamics import frame_poses
from phistar.io.dh import DHRow, from_dh


def turn(axis: int, angle: float) -> np.ndarray:
    matrix = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[i, i] = matrix[j, j] = np.cos(angle)
    matrix[j, i], matrix[i, j] = np.sin(angle), -np.sin(angle)
    return matrix


def shift(axis: int, length: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[axis, 3] = length
    return matrix


def transform(row: DHRow, q: float, convention: str) -> np.ndarray:
    """T_i straight from the definition, with the joint's coordinate in θ or d."""
    theta = row.theta + (q + row.offset if row.joint == "revolute" else 0.0)
    d = row.d + (q + row.offset if row.joint == "prismatic" else 0.0)
    if convention == "standard":
        return turn(2, theta) @ shift(2, d) @ shift(0, row.a) @ turn(0, row.alpha)
    return turn(0, row.alpha) @ shift(0, row.a) @ turn(2, theta) @ shift(2, d)


numbers = st.floats(-3.0, 3.0)
kinematic_rows = st.builds(
    DHRow,
    a=numbers,
    alpha=numbers | st.sampled_from([np.pi / 2, -np.pi / 2, np.pi]),
    d=numbers,
    theta=numbers,
    offset=numbers,
    joint=st.sampled_from(["revolute", "prismatic"]),
)
tables = st.lists(kinematic_rows, min_size=1, max_size=5)
conventions = pytest.mark.parametrize("convention", ["standard", "modified"])


def massive(rng: np.random.Generator, **geometry: float | str) -> DHRow:
    """A row with the inertia of a random solid."""
    square = rng.normal(size=(3, 3))
    spread = square @ square.T
    tensor = np.trace(spread) * np.eye(3) - spread  # of any mass distribution
    return DHRow(mass=rng.uniform(1, 3), com=rng.normal(size=3), inertia=tensor, **geometry)  # type: ignore[arg-type]


@pytest.mark.sampled(2)
@conventions
@settings(max_examples=settings.default.max_examples // 2)  # each compiles a model of its own
@given(rows=tables, seed=st.integers(0, 2**32 - 1))
def test_link_frames_are_products_of_the_tables_transforms(convention, rows, seed):
    model = from_dh(rows, convention)
    q = np.random.default_rng(seed).uniform(-3, 3, len(rows))
    expected, names = np.eye(4), (*(f"link{number}" for number in range(1, len(rows) + 1)), "tool")
    found = frame_poses(model, q, names)  # in one kernel
    for name, row, angle in zip(names, rows, q):
        expected = expected @ transform(row, angle, convention)
        np.testing.assert_allclose(found[name], expected, atol=1e-13)
    assert list(model.frames)[-1] == "tool"
    np.testing.assert_allclose(found["tool"], expected, atol=1e-13)


@conventions
def test_joint_frames_are_on_the_joint_axes(convention):
    rows = [DHRow(a=0.3, alpha=0.5, d=0.2), DHRow(a=0.1, alpha=-1.0, d=0.4), DHRow(a=0.2, d=0.1)]
    model = from_dh(rows, convention)
    q = np.array([0.3, -0.4, 0.9])
    for number in (1, 2, 3):
        jacobian = ps.jacobian(model, q, f"joint{number}")
        np.testing.assert_allclose(jacobian[3:, number - 1], 0.0, atol=1e-15)


@conventions
def test_base_and_tool_are_outermost_factors(convention):
    rows = [DHRow(a=0.3, alpha=0.5, d=0.2), DHRow(a=0.1, alpha=-1.0, joint="prismatic")]
    base, tool = ps.Pose(xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)), ps.Pose(xyz=(0, 0, 0.5), rpy=(0.4, 0, 0))
    q = np.array([0.7, 0.2])
    plain = ps.forward_kinematics(from_dh(rows, convention), q, "tool")
    found = ps.forward_kinematics(from_dh(rows, convention, base=base, tool=tool), q, "tool")
    np.testing.assert_allclose(found, base.matrix @ plain @ tool.matrix, atol=1e-14)


@conventions
def test_inertias_are_those_given_in_the_link_frames(convention):
    rng = np.random.default_rng(3)
    rows = [massive(rng, a=0.4, alpha=1.0, d=0.1), massive(rng, a=0.2, d=0.3, joint="prismatic")]
    model = from_dh(rows, convention, strict=True)
    for body, row in zip(model.bodies, rows, strict=True):
        given = ps.Inertia(row.mass, row.com, row.inertia).transformed(model.frame(body.name).placement)
        np.testing.assert_allclose(body.inertia.matrix, given.matrix, atol=1e-13)


def test_one_arm_in_both_conventions_has_one_mass_matrix():
    """Tx(a) Rx(α) ends a link in one convention and begins the next in the other; only frames differ."""
    rng = np.random.default_rng(5)
    standard = [
        massive(rng, a=0.4, alpha=0.7, d=0.3, theta=0.2),
        massive(rng, a=-0.2, alpha=-1.1, d=0.1, joint="prismatic"),
        massive(rng, a=0.3, alpha=0.4, d=-0.2),
    ]
    modified, bend = [], (0.0, 0.0)
    for row in standard:
        distal = ps.Pose(xyz=(row.a, 0, 0), rotation=turn(0, row.alpha)[:3, :3])
        moved = ps.Inertia(row.mass, row.com, row.inertia).transformed(distal)
        modified.append(replace(row, a=bend[0], alpha=bend[1], com=moved.com, inertia=moved.tensor))
        bend = (row.a, row.alpha)
    end = ps.Pose(xyz=(bend[0], 0, 0), rotation=turn(0, bend[1])[:3, :3])
    first, second = from_dh(standard, "standard"), from_dh(modified, "modified", tool=end)
    q = rng.normal(size=(4, 3))
    np.testing.assert_allclose(ps.mass_matrix(first, q), ps.mass_matrix(second, q), atol=1e-12)
    poses = [ps.forward_kinematics(model, q, "tool") for model in (first, second)]
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-13)


def test_rows_may_be_sequences_mappings_or_dhrows():
    sequence = from_dh([(0.3, 0.5, 0.2, 0.1), (0.1, 0.0, 0.4, 0.0, "prismatic")])
    mapping = from_dh(
        [{"a": 0.3, "alpha": 0.5, "d": 0.2, "theta": 0.1}, {"a": 0.1, "d": 0.4, "joint": "prismatic"}],
    )
    rows = from_dh([DHRow(a=0.3, alpha=0.5, d=0.2, theta=0.1), DHRow(a=0.1, d=0.4, joint="prismatic")])
    assert sequence == mapping == rows
    assert from_dh([(0.3, 0.5, 0.2)]) == from_dh(np.array([[0.3, 0.5, 0.2, 0.0]]))


def test_joint_parameters_of_a_row_are_the_joints():
    row = DHRow(mass=1, limits=(-1, 2), damping=3, friction=(4, 5), gear_ratio=-6, rotor_inertia=7, armature=8)
    joint = from_dh([replace(row, effort=9, velocity=10)]).joints[0]
    assert joint.limits.tolist() == [[-1], [2]]
    assert (joint.damping, joint.effort, joint.velocity) == (3, 9, 10)
    assert joint.friction.tolist() == [[4], [5]]
    assert joint.armature_diagonal == 8 + 6**2 * 7


def test_quarter_turns_are_exact():
    rows = [DHRow(alpha=angle, theta=angle) for angle in (np.pi / 2, -np.pi / 2, np.pi, 3 * np.pi / 2, -2 * np.pi)]
    for body in from_dh(rows).bodies:
        assert set(np.abs(body.placement.rotation).ravel()) == {0.0, 1.0}


def test_a_table_without_masses_is_for_kinematics():
    model = from_dh([(0.3, 0.5, 0.2, 0.1)])
    assert any("joint1" in warning and "no inertia" in warning for warning in model.warnings)
    with pytest.raises(ps.ModelError, match="joint1"):
        from_dh([(0.3, 0.5, 0.2, 0.1)], strict=True)


def test_gravity_and_name_are_the_models():
    model = from_dh([DHRow(mass=1)], name="arm", gravity=(1, 2, 3))
    assert (model.name, model.gravity.tolist()) == ("arm", [1, 2, 3])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "no rows"),
        ([(1, 2, 3, 4), {"a": 1, "length": 2}], "Row 2 .* length; it may have a, alpha, d, theta"),
        ([(0,) * 30], "Row 1 .* 30 entries"),
        ([DHRow(joint="ball")], "Row 1 .* 'ball'; it must be 'revolute' or 'prismatic'"),
        ([DHRow(), DHRow(d=np.nan)], "Row 2 .* finite"),
        ([("a", "b")], "Row 1 .* numbers"),
        ([7], "Row 1 .* is 7; a DHRow, mapping or sequence"),
        ([DHRow(joint=[])], "Row 1 .* it must be 'revolute'"),
        ([DHRow(mass=-1)], "Row 1 .* negative"),
        ([DHRow(mass=1, com=(1, 2))], r"Row 1 .* shape \(3,\)"),
        ([DHRow(limits=(2, 1))], "Row 1 .* limits"),
    ],
)
def test_a_bad_table_is_refused_with_its_row(rows, sentence):
    with pytest.raises(ps.ModelError, match=sentence):
        from_dh(rows)


def test_an_unknown_convention_is_refused():
    with pytest.raises(ps.ModelError, match="'craig'; it must be 'standard' or 'modified'"):
        from_dh([(0, 0, 0, 0)], convention="craig")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"theta": "1"}], "Row 1 .*numbers"),
        ([{"a": None}], "Row 1 .*numbers"),
        ([{"mass": "1"}], "Row 1"),
        ([{"com": "abc"}], "Row 1"),
        ([{"limits": ("a", "b")}], "Row 1"),
        ([{"geometry": 5}], "Row 1"),
        ([{"offset": 10**400}], "Row 1 .*numbers"),
        (5, "list of rows"),
        ("standard", "list of rows"),
        ({"a": 1}, "list of rows"),
    ],
)
def test_a_table_with_something_else_than_numbers_is_refused_with_a_sentence(rows, words):
    with pytest.raises(ps.ModelError, match=words):
        from_dh(rows)


@pytest.mark.parametrize("convention", [np.array(["standard", "modified"]), None, 3, ["standard"], "x" * 5000])
def test_a_convention_that_is_none_is_refused_with_a_sentence(convention):
    with pytest.raises(ps.ModelError, match=r"DH convention is .* must be 'standard' or 'modified'") as refusal:
        from_dh([(0.1, 0.0, 0.0, 0.0)], convention=convention)
    assert len(str(refusal.value)) < 300
