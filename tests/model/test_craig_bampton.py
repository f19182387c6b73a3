"""Finite elements reduced by Craig and Bampton, and what is refused of modes, masses and matrices."""

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_matrix

import phistar as ps


def truss(bays: int = 8, area: float = 1e-4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K, consistent M and nodes of a steel girder of square bays of 0.2 m: bars, three dofs a node."""
    corners = 0.1 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    nodes = np.array([[0.2 * k, *corner] for k in range(bays + 1) for corner in corners])
    bars = [(4 * k + i, 4 * k + (i + 1) % 4) for k in range(bays + 1) for i in range(4)]
    bars += [(4 * k, 4 * k + 2) for k in range(bays + 1)]
    for k in range(bays):
        bars += [(4 * k + i, 4 * k + 4 + i) for i in range(4)]
        bars += [(4 * k + i, 4 * k + 4 + (i + 1) % 4) for i in range(4)]
    K, m = np.zeros((3 * len(nodes), 3 * len(nodes))), np.zeros((len(nodes), len(nodes)))
    for a, b in bars:
        along = nodes[b] - nodes[a]
        length = np.linalg.norm(along)
        block = 2.1e11 * area / length * np.outer(along, along) / length**2
        dofs = [*range(3 * a, 3 * a + 3), *range(3 * b, 3 * b + 3)]
        K[np.ix_(dofs, dofs)] += np.block([[block, -block], [-block, block]])
        m[np.ix_([a, b], [a, b])] += 7850.0 * area * length / 6.0 * np.array([[2, 1], [1, 2]])
    return K, np.kron(m, np.eye(3)), nodes


@pytest.fixture(scope="module")
def girder():
    K, M, nodes = truss()
    return K, M, nodes, [0, 1, 2, 3], {"tip": [32, 33, 34, 35]}


def test_the_lowest_frequencies_are_those_of_the_whole_structure(girder):
    K, M, nodes, fixed, ends = girder
    body, every = (ps.craig_bampton(K, M, nodes, fixed, ends, modes=count) for count in (10, 84))
    free = np.arange(12, len(K))
    squares = np.linalg.eigvals(np.linalg.solve(M[np.ix_(free, free)], K[np.ix_(free, free)]))
    exact = np.sqrt(np.sort(squares.real))
    np.testing.assert_allclose(body.frequencies[:2], exact[:2], rtol=1e-4)
    np.testing.assert_allclose(every.frequencies, exact, rtol=1e-8)
    assert body.count == 12 + 10 and body.rigid.mass == pytest.approx(M.sum() / 3.0)


def test_a_force_at_the_end_bends_it_as_the_whole_structure_bends(girder):
    """Static modes are exact: K⁻¹f at the ends, with no mode inside."""
    K, M, nodes, fixed, ends = girder
    body = ps.craig_bampton(K, M, nodes, fixed, ends, modes=1)
    force, free = np.zeros(len(K)), np.arange(12, len(K))
    for node in ends["tip"]:
        force[3 * node : 3 * node + 3] = 0.25 * np.array([10.0, -300.0, 200.0])
    moved = np.linalg.solve(K[np.ix_(free, free)], force[free])
    b = ps.ModelBuilder("cantilever", gravity=(0, 0, 0))
    b.body("girder", joint=ps.Fixed(), inertia=body)
    model = b.build()
    (name,) = [frame for frame in model.frames if frame.endswith("tip")]
    load = ps.jacobian(model, model.neutral(), name).T @ [0, 0, 0, 10.0, -300.0, 200.0]
    bent = np.linalg.solve(body.stiffness, load)
    tip = ps.forward_kinematics(model, bent, name)[:3, 3] - nodes[ends["tip"]].mean(axis=0)
    expected = moved.reshape(-1, 3)[-4:].mean(axis=0)
    np.testing.assert_allclose(tip, expected, rtol=1e-9, atol=1e-12)


def test_files_sparse_matrices_and_arrays_are_one(girder, tmp_path):
    K, M, nodes, fixed, ends = girder
    whole = ps.craig_bampton(K, M, nodes, fixed, ends, modes=3)
    mmwrite(tmp_path / "K.mtx", csr_matrix(K))
    read = ps.craig_bampton(tmp_path / "K.mtx", csr_matrix(M), nodes, fixed, ends, modes=3)
    np.testing.assert_allclose(read.frequencies, whole.frequencies, rtol=1e-12)
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix array real general\n900000000 900000000\n1\n")
    with pytest.raises(ps.ModelError, match="900000000 rows"):
        ps.craig_bampton(tmp_path / "bad.mtx", M, nodes, fixed, ends)
    (tmp_path / "none.mtx").write_text("hello")
    with pytest.raises(ps.PhistarError, match="not a Matrix Market"):
        ps.craig_bampton(tmp_path / "none.mtx", M, nodes, fixed, ends)


def test_energy_and_momentum_of_a_consistent_mass_close(girder):
    """Kinetic energy from ℳ is ½Σm_ij ẋ_i·ẋ_j of the nodes, bent and turning."""
    K, M, nodes, fixed, ends = girder
    body = ps.craig_bampton(K, M, nodes, fixed, ends, modes=1)
    b = ps.ModelBuilder("free", gravity=(0, 0, 0))
    b.body("girder", joint=ps.Free(), inertia=body)
    model, rng, h = b.build(), np.random.default_rng(0), 1e-6
    q, v = model.random(rng), rng.standard_normal(model.nv)

    def places(q: np.ndarray) -> np.ndarray:
        pose = ps.forward_kinematics(model, q, "girder")
        return (body.nodes + body.modes @ q[7:])[: len(nodes)] @ pose[:3, :3].T + pose[:3, 3]

    rates = (places(model.integrate(q, h * v)) - places(model.integrate(q, -h * v))) / (2 * h)
    shared = M[::3, ::3]
    energy = 0.5 * np.einsum("ij,ik,jk->", shared, rates, rates)
    assert ps.kinetic_energy(model, q, v) == pytest.approx(energy, rel=1e-8)
    np.testing.assert_allclose(ps.momentum(model, q, v)[3:], (shared @ rates).sum(axis=0), rtol=1e-7)


def test_what_cannot_be_reduced_is_told_with_its_numbers(girder):
    K, M, nodes, fixed, ends = girder
    cases = {
        "3 rigid or unstable motions are left": lambda: ps.craig_bampton(K, M, nodes, [0], ends),
        "outside": lambda: ps.craig_bampton(K, M, nodes, fixed, {"tip": 99}),
        "not symmetric": lambda: ps.craig_bampton(K + np.triu(K, 1), M, nodes, fixed, ends),
        "three dofs a node": lambda: ps.craig_bampton(K[:-3, :-3], M, nodes, fixed, ends),
        "not positive": lambda: ps.craig_bampton(K, -M, nodes, fixed, ends),
        "differs by": lambda: ps.craig_bampton(K, M + np.diag(np.arange(len(M))), nodes, fixed, ends),
        "one line": lambda: ps.craig_bampton(K, M, nodes, fixed, {"tip": [8, 12]}),
        "dofs inside": lambda: ps.craig_bampton(K, M, nodes, fixed, ends, modes=10_000),
        "Hz, which no body does": lambda: ps.craig_bampton(1e24 * K, M, nodes, fixed, ends),
    }
    for words, call in cases.items():
        with pytest.raises(ps.ModelError, match=words):
            call()


def test_modes_and_masses_that_make_no_body_are_refused():
    nodes, shapes = [[0, 0, 0], [1, 0, 0]], np.zeros((2, 3, 2))
    shapes[1, 1] = [1.0, 2.0]
    with pytest.raises(ps.ModelError, match=r"not independent.*smallest eigenvalue"):
        ps.FlexibleInertia(nodes, shapes, None, [1.0, 2.0], masses=[1.0, 1.0])
    shapes[1, 2, 1] = 1.0
    with pytest.raises(ps.ModelError, match=r"positive modal mass.*signs and order"):
        ps.FlexibleInertia(nodes, shapes, [1.0, -1.0], [1.0, 2.0], masses=[1.0, 1.0])
    with pytest.raises(ps.ModelError, match="leave them out of the modes"):
        ps.FlexibleInertia(nodes, shapes, None, [1.0, 0.0], masses=[1.0, 1.0])
    with pytest.raises(ps.ModelError, match="mass matrix of its nodes"):
        ps.FlexibleInertia(nodes, shapes, None, [1.0, 2.0], masses=[[1.0, 3.0], [3.0, 1.0]])
