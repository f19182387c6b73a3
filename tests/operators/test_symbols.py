"""What a symbol is said to be (memoryless, causal, strict, symmetric, positive) it is; nothing more, nothing less."""

import numpy as np
import pytest

from phistar.operators.nodes import Symbol
from phistar.operators.symbols import NAMES, Symbols
from tests.trees import mechanism

S = Symbols(rotors=True)
NAMED = [name for name in NAMES if isinstance(getattr(S, name), Symbol)]
VECTORS = [name for name in NAMED if "vector" in getattr(S, name).traits]
OPERATORS = [name for name in NAMED if name not in VECTORS]
# Over the links and joints, where a tree orders the blocks; the task and base spaces have no such order.
ALONG_THE_TREE = [
    "H",
    "phi",
    "psi",
    "M",
    "P",
    "D",
    "G",
    "K",
    "A",
    "E_phi",
    "E_psi",
    "U",
    "Omega",
    "Gamma",
    "r",
    "mass",
    "S",
]
MECHANISMS = [mechanism(seed, armature=seed % 2 == 0, bodies=5, floating=False) for seed in range(10)]
MECHANISMS += [mechanism(seed, armature=True, rotors=True, bodies=4, kind="revolute") for seed in (10, 11)]


def blocks(case, space) -> list[slice]:
    """Where the block of each link, joint or frame is."""
    if space.over == "joints":
        return [joint.v_slice for joint in case.model.joints]
    count = len(case.frames) if space.over == "task" else len(case.model.bodies)
    rows = {"links": 6, "task": 6, "parameters": 10}[space.over]
    return [slice(rows * k, rows * k + rows) for k in range(count)]


def nonzero_blocks(case, node) -> set[tuple[int, int]]:
    matrix = case.dense(node)
    scale = np.abs(matrix).max()
    rows, columns = blocks(case, node.codomain), blocks(case, node.domain)
    found = np.abs(matrix) > 1e-12 * scale
    return {(i, j) for i, row in enumerate(rows) for j, column in enumerate(columns) if found[row, column].any()}


def inboard(case, outer: int) -> set[int]:
    """A link and everything between it and the world."""
    line = set()
    while outer >= 0:
        line.add(outer)
        outer = case.model.parents[outer]
    return line


STRUCTURE = {
    "memoryless": lambda case, node: all(i == j for i, j in nonzero_blocks(case, node)),
    "causal": lambda case, node: all(i in inboard(case, j) for i, j in nonzero_blocks(case, node)),
    "strict": lambda case, node: all(i in inboard(case, j) - {j} for i, j in nonzero_blocks(case, node)),
}


@pytest.mark.parametrize("trait", STRUCTURE)
@pytest.mark.parametrize("name", ALONG_THE_TREE)
def test_structure_is_what_the_matrices_have_and_no_more_is_claimed_or_missed(name, trait):
    holds = [STRUCTURE[trait](case, getattr(case.symbols, name)) for case in MECHANISMS if exists(case, name)]
    claimed = trait in getattr(S, name).traits
    assert all(holds) == claimed


@pytest.mark.parametrize("name", [name for name in OPERATORS if "memoryless" in getattr(S, name).traits])
def test_memoryless_operators_are_block_diagonal_over_links_joints_and_frames(name):
    assert all(STRUCTURE["memoryless"](case, getattr(case.symbols, name)) for case in MECHANISMS if exists(case, name))


@pytest.mark.parametrize("name", OPERATORS)
def test_symmetric_means_equal_to_the_transpose(name):
    node = getattr(S, name)
    square = node.domain == node.codomain.dual
    matrices = [case.dense(getattr(case.symbols, name)) for case in MECHANISMS if exists(case, name)] if square else []
    holds = bool(matrices) and all(np.allclose(x, x.T, atol=1e-12 * np.abs(x).max()) for x in matrices)
    assert holds == ("symmetric" in node.traits)


@pytest.mark.parametrize("name", [name for name in OPERATORS if "positive" in getattr(S, name).traits])
def test_positive_means_no_negative_power(name):
    """x*Xx ≥ 0; a joint without armature, or a link without mass, may give zero."""
    for case in MECHANISMS:
        if exists(case, name):
            values = np.linalg.eigvalsh(case.dense(getattr(case.symbols, name)))
            assert values.min() >= -1e-12 * values.max()


@pytest.mark.parametrize("name", ["D", "mass", "P"])
def test_what_laws_invert_is_definite_where_every_link_has_mass(name):
    for case in MECHANISMS:
        assert np.linalg.eigvalsh(case.dense(getattr(case.symbols, name))).min() > 1e-3


@pytest.mark.parametrize("name", [*OPERATORS, *VECTORS])
def test_the_matrix_has_the_size_of_the_spaces(name):
    for case in MECHANISMS[:4]:
        if exists(case, name):
            node = getattr(case.symbols, name)
            assert case.dense(node).shape == (case.dense.size(node.codomain), case.dense.size(node.domain))


@pytest.mark.parametrize(("tilde", "name"), [("phi_tilde", "phi"), ("psi_tilde", "psi")])
def test_tilde_forms_lack_the_identity(tilde, name):
    """KJR92 eq. 55."""
    for case in MECHANISMS:
        s = case.symbols
        difference = case.dense(getattr(s, name)) - case.dense(getattr(s, tilde))
        assert np.allclose(difference, np.eye(6 * len(case.model.bodies)), atol=1e-12)


def test_every_name_is_a_symbol_of_the_algebra():
    assert all(hasattr(S, name) for name in NAMES)
    assert len(set(NAMES)) == len(NAMES)
    assert {*"HMPDGKABEWIr", "phi", "psi", "E_phi", "E_psi", "Omega", "phi_tilde", "psi_tilde"} <= set(NAMES)


def exists(case, name: str) -> bool:
    """Without armature or rotors, A and S are zero operators, not symbols."""
    return isinstance(getattr(case.symbols, name), Symbol)


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("armature", [False, True])
def test_the_symbols_of_their_own_pair_are_themselves(rotors, armature):
    s = Symbols(rotors=rotors, armature=armature)
    assert s.with_pair(*s.pair) is s
    assert s.with_pair(2 * s.M, s.A) is not s
