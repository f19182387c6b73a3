"""Several robots in one algebra: RJK91 §5.3 as it is printed, evaluated, compiled, and proved."""

import numpy as np
import pytest

import phistar as ps

ARMS = {"left": ps.chain(7), "right": ps.chain(6)}
FRAMES = {"left": "tip", "right": "tip"}
A = ps.algebra(ARMS, frames=FRAMES)


def mobility(robot):
    """Λ⁻¹ = Jℳ⁻¹J*."""
    return robot.J @ robot.mass.inv @ robot.J.T


def free_acceleration(robot):
    """θ̈_f = ℳ⁻¹(T − 𝒞)."""
    return robot.mass.inv @ (robot.T - robot.C)


def tip_acceleration(robot):
    """α_f(0) = Jθ̈_f + J̇θ̇ (RJK91 eq. 25)."""
    return robot.J @ free_acceleration(robot) + robot.Jdot_v


CLOSED = (mobility(A.left) + mobility(A.right)).inv
FORCE = CLOSED @ (tip_acceleration(A.right) - tip_acceleration(A.left))


@pytest.fixture
def state():
    rng = np.random.default_rng(3)
    q = {name: arm.random(rng) for name, arm in ARMS.items()}
    vectors = {name: {"v": rng.normal(size=arm.nv), "T": rng.normal(size=arm.nv)} for name, arm in ARMS.items()}
    return q, vectors


def test_the_inertia_of_two_arms_that_meet_is_found_as_printed():
    """RJK91 eq. 26: Λ_c⁻¹ = Λ₁⁻¹ + Λ₂⁻¹, each by its own sweep."""
    assert str(CLOSED) == "((Jℳ⁻¹J*)₍left₎ + (Jℳ⁻¹J*)₍right₎)⁻¹"
    assert str(CLOSED.simplify()) == "((B*ΩB)₍left₎ + (B*ΩB)₍right₎)⁻¹"
    told = str(CLOSED.derivation())
    assert told.count("lemma 2, RJK91 lemma 2, eq. 12") == 2 and "left:" in told and "right:" in told


def test_the_force_between_the_arms_makes_their_tips_move_alike():
    """RJK91 eqs. 21-26: α₁ = α₁f + Λ₁⁻¹f(0), α₂ = α₂f − Λ₂⁻¹f(0), and f(0) = Λ_c(α₂f − α₁f) makes them equal."""
    left = tip_acceleration(A.left) + mobility(A.left) @ FORCE
    right = tip_acceleration(A.right) - mobility(A.right) @ FORCE
    assert left.equals(right).proved is True
    turned = tip_acceleration(A.right) + mobility(A.right) @ FORCE
    assert left.equals(turned).proved is False


def test_values_are_those_of_matrices(state):
    q, vectors = state
    inertias = []
    for name, arm in ARMS.items():
        jacobian = ps.jacobian(arm, q[name], "tip")
        inertias.append(jacobian @ np.linalg.inv(ps.mass_matrix(arm, q[name])) @ jacobian.T)
    expected = np.linalg.inv(inertias[0] + inertias[1])
    assert np.allclose(CLOSED.dense(q), expected, rtol=1e-9)
    x = np.arange(6.0)
    assert np.allclose(CLOSED.apply(q, x), expected @ x, rtol=1e-9)
    accelerations = [tip_acceleration(A[name]).dense(q, **{name: vectors[name]}) for name in ARMS]
    force = expected @ (accelerations[1] - accelerations[0])
    assert np.allclose(FORCE.apply(q, **vectors), force, rtol=1e-8)
    assert np.allclose(FORCE.dense(q, **vectors), force, rtol=1e-8)


def test_forward_dynamics_of_the_closed_chain_is_one_kernel(state):
    """θ̈₁ = θ̈₁f + ℳ₁⁻¹J₁*f(0)."""
    q, vectors = state
    moved = free_acceleration(A.left) + A.left.mass.inv @ A.left.J.T @ FORCE
    kernel = ps.compile(moved)
    given = {f"{name}.q": q[name] for name in ARMS}
    given |= {f"{name}.{each}": x for name in ARMS for each, x in vectors[name].items()}
    assert kernel.inputs == ("left.q", "right.q", "left.T", "left.v", "right.T", "right.v")
    value = kernel(*(given[name] for name in kernel.inputs))
    assert np.allclose(value, moved.dense(q, **vectors), rtol=1e-8)
    batch = kernel(*(np.stack([given[name]] * 3) for name in kernel.inputs))
    assert batch.shape == (3, 7) and np.allclose(batch, value)
    matrix = ps.compile(CLOSED, matrix=True)
    assert np.allclose(matrix(q["left"], q["right"]), CLOSED.dense(q), rtol=1e-9)


def test_the_work_is_linear_in_all_links_together():
    counts = []
    for n in (50, 100, 200):
        long = ps.algebra({"one": ps.chain(n), "two": ps.chain(n)}, frames="tip")
        counts.append(ps.compile((mobility(long.one) + mobility(long.two)).inv).operations)
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_robots_may_be_abstract():
    both = ps.algebra({"one": None, "two": None})
    closed = (mobility(both.one) + mobility(both.two)).inv
    assert str(closed.simplify()) == "((B*ΩB)₍one₎ + (B*ΩB)₍two₎)⁻¹"
    with pytest.raises(ps.StatementError, match="one, two: no model was named"):
        closed.dense({"one": np.zeros(3), "two": np.zeros(3)})


def test_what_does_not_fit_is_told():
    with pytest.raises(ps.SpaceError, match=r"Rates\[left\].*Rates\[right\]"):
        A.left.mass + A.right.mass
    with pytest.raises(ps.UnknownNameError, match="no robot 'middle'; it has left, right"):
        A.middle  # noqa: B018
    with pytest.raises(ps.ShapeError, match="q is given per robot"):
        CLOSED.dense(np.zeros(7))
    with pytest.raises(ps.StatementError, match="takes an operand in TaskForces"):
        CLOSED.inv.apply({"left": np.zeros(7), "right": np.zeros(6)})
    with pytest.raises(ps.StatementError, match="no statement about these robots"):
        CLOSED + np.eye(6)
    other = ps.algebra(ARMS | {"third": ps.chain(6)}, frames="tip")
    with pytest.raises(ps.StatementError, match="different robots"):
        CLOSED + mobility(other.third)
    with pytest.raises(ps.StatementError, match="left has 1, right has 2"):
        ps.algebra(ARMS, frames={"left": "tip", "right": ["tip", "tip"]})
    with pytest.raises(ps.StatementError, match="named by letters and digits"):
        ps.algebra({"the left arm": ARMS["left"]})
    kernel = ps.compile(CLOSED)
    with pytest.raises(ps.ShapeError, match=r"left\.q \(…, 7\), right\.q \(…, 6\), x \(…, 6\); it was given \(7,\)"):
        kernel(np.zeros(7))
