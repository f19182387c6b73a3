"""Every misprint that docs/papers/errata.md lists is refuted: by the spaces, by a mechanism, or by numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

import phistar as ps
from phistar.operators.parse import parse
from phistar.operators.symbols import NAMES
from tests.identities.printed import R_BAR, TWO_WAY, Z_UPDATED, Z
from tests.identities.test_proof import typed

PAGE = Path(__file__).parents[2] / "docs/papers/errata.md"
BY_A_MECHANISM = {
    "RJK91 §6": ("mass", "(I + H @ psi @ K) @ D @ (I + H @ psi @ K).T"),  # ν*ν is twice the energy
    "KJR92 (46)": ("J @ v", "B.T @ phi.T @ a + a0"),
    "KJR92 §4.3": (
        "J @ inv(mass) @ (C + g) - Jdot_v",
        "B.T @ psi.T @ (H.T @ inv(D) @ H @ psi @ (P @ (a + E.T @ a_g) + b) - a - E.T @ a_g) - a0",
    ),
    "R87 (36)": (Z, f"{Z_UPDATED} + b"),  # what is predicted of a link does not begin at the same link
    "R87 §XI": ("H @ P", "0 * H @ P"),
    "RJ2W (12), first": ("M_b", "E_phi_b @ (I - Pi_f) @ M @ E_phi_b.T"),  # the stack of the paper ends before the base
    "RJ2W (12), second": ("M", "E_phi @ M_b @ E_phi.T"),
    "RJ2W (18)": ("H @ rho @ H.T", "H @ r @ H.T"),
    "RJ2W Table 3": (TWO_WAY, f"rho + {TWO_WAY}"),
    "RJ2W (38)": (TWO_WAY, "rho + C_f @ phi @ r + C_b @ phi_b @ r_b"),
    "RJ2W §6": (R_BAR, TWO_WAY),
}
ON_TREES = {"RJ2W §6"}
BY_SPACES = {
    "RJK91 proof of lemma 1": "P - E_psi @ P @ E_psi.T @ P - E_phi @ P @ E_phi.T + K @ D @ K.T",
    "KJR92 §3.2": "phi @ H.T @ v",
    "R87 before (30)": "r - H @ phi @ b",
    "R87 (68)": "(I - G @ H) @ Delta @ (I - G @ H).T + H.T @ inv(D) @ H",
    "R87 (83), update": "H @ H.T @ inv(D)",
    "R87 (83), propagation": "E_phi @ Omega @ E_phi",
    "RJ2W after (26)": f"v.T @ {TWO_WAY} @ v",
}
NOTATION = {"RJK91 Algorithm FD", "RJK91 §5.1", "RJK91 after (25)", "KJR92 §4.2", "R87 (26)", "R87 (84)", "WD89 §3"}


def columns_of_h():
    return 42, CHAIN_OF_SEVEN.H.dense(np.zeros(7)).T.shape[1]


def force_of_a_turning_link():
    """m ω × p as printed, and what holds a rod that turns at 2 rad/s: m ω × (ω × p)."""
    m, p, spin = 3.0, np.array([0.4, 0, 0]), np.array([0, 0, 2.0])
    builder = ps.ModelBuilder("rod", gravity=(0, 0, 0))
    builder.body("rod", joint=ps.Revolute(axis=(0, 0, 1)), inertia=ps.Inertia(m, p, 0.01 * np.eye(3)))
    found = ps.algebra(builder.build()).b.apply(np.zeros(1), v=np.array([2.0]))[3:]
    assert np.allclose(found, m * np.cross(spin, np.cross(spin, p)), atol=1e-12)
    return m * np.cross(spin, p), found


def first_moment_of_two_links():
    """Of a composite body in one line: C(2)ρ(2) = (C(1) + L)ρ(1) + m·p, not + m·ρ."""
    masses, centers, length = [2.0, 5.0], [0.1, 0.3], 0.7
    right = (centers[0] + length) * masses[0] + centers[1] * masses[1]
    return (centers[0] + length) * masses[0] + masses[1] * sum(masses), right


def sums_in_two_orders():
    """Σ_{i=k+1}^{N} Σ_{j=1}^{i−1} with the order changed as printed, and as it is."""
    N, k, x = 6, 2, np.random.default_rng(0).normal(size=(7, 7))
    whole = sum(x[i, j] for i in range(k + 1, N + 1) for j in range(1, i))
    assert np.isclose(whole, sum(x[i, j] for j in range(1, N) for i in range(max(k + 1, j + 1), N + 1)))
    return sum(x[i, j] for j in range(1, N) for i in range(max(k + 1, j + 1), N)), whole


BY_NUMBERS = {
    "KJR92 (17)": columns_of_h,
    "R87 (7), (9)": force_of_a_turning_link,
    "R87 after (33)": first_moment_of_two_links,
    "R87 (78)": sums_in_two_orders,
}
CHAIN_OF_SEVEN = ps.algebra(ps.chain(7))
KINDS = {"by a mechanism": BY_A_MECHANISM, "by spaces": BY_SPACES, "by numbers": BY_NUMBERS, "notation": NOTATION}


def test_the_page_lists_what_is_refuted_here_and_how():
    rows = re.findall(r"^\| ([^|]+) \|.*\| ([^|]+) \|$", PAGE.read_text("utf-8"), re.M)[1:]
    listed = {kind: {where for where, how in rows if how == kind} for kind in KINDS}
    assert listed == {kind: set(there) for kind, there in KINDS.items()}
    assert sum(map(len, listed.values())) == len(rows) > 25


@pytest.mark.parametrize("name", BY_A_MECHANISM)
def test_a_mechanism_refutes_it(name):
    tree = ps.algebra(tree=True)
    sides = BY_A_MECHANISM[name]
    if name in ON_TREES:
        left, right = (tree.expression(parse(x, {n: getattr(tree, n).node for n in NAMES})) for x in sides)
        assert typed(sides[0]).equals(typed(sides[1])).proved is True  # on a chain it is right
    else:
        left, right = map(typed, sides)
    verdict = left.equals(right)
    assert verdict.proved is False, str(verdict)
    found = verdict.counterexample
    assert abs(found.left - found.right) > 1e-3 * max(abs(found.left), abs(found.right))
    assert "refuted; on random mechanism" in str(verdict)


@pytest.mark.parametrize("name", BY_SPACES)
def test_the_spaces_refuse_it(name):
    with pytest.raises(ps.SpaceError):
        typed(BY_SPACES[name])


@pytest.mark.parametrize("name", BY_NUMBERS)
def test_numbers_refute_it(name):
    printed, right = BY_NUMBERS[name]()
    assert not np.allclose(printed, right, rtol=1e-2)
