"""The two-way mass matrix and inverse dynamics: what they compute, and how."""

import numpy as np
import pytest

import phistar as ps
from phistar.identities.rewriter import simplify
from phistar.operators.symbols import Symbols
from phistar.sweeps import ir
from phistar.sweeps.lower import lower
from tests.trees import mechanism, relative

TABLE_4 = {1: {1}, 2: {2}, 3: {1, 2, 3}, 4: {1, 2, 3, 4}, 5: {1, 2, 3, 4, 5}, 6: {6}}
TABLE_4 |= {7: {1, 2, 3, 4, 5, 6, 7}, 8: {1, 2, 3, 4, 5, 6, 7, 8}}
KINDS = ("revolute", "prismatic", "helical", "universal", "spherical", "planar", "free")


def schur_complement(mass: np.ndarray) -> np.ndarray:
    base, across = mass[..., :6, :6], mass[..., :6, 6:]
    return mass[..., 6:, 6:] - np.swapaxes(across, -1, -2) @ np.linalg.solve(base, across)


def free_robot(seed: int, **wanted) -> ps.Model:
    """A random tree on a free base that has no motor."""
    while True:
        model = mechanism(seed, floating=True, **wanted).model
        if model.parents.count(-1) == 1:
            break
        seed += 1000
    root = model.joints[0]
    return model.replace(joints={root.name: ps.Free()})


ROBOTS = {
    "nine links": lambda: ps.load("rj2w_tree"),
    "two arms": lambda: ps.load("freeflyer"),
    "chain": lambda: free_robot(3, serial=True, bodies=5, armature=False),
    "tree": lambda: free_robot(8, serial=False, bodies=6, armature=False),
    "armature": lambda: free_robot(12, bodies=4, armature=True, rotors=False),
    "rotors": lambda: free_robot(21, bodies=5, armature=True, rotors=True, kind="revolute"),
}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request) -> ps.Model:
    return ROBOTS[request.param]()


@pytest.fixture(scope="module")
def state(robot):
    rng = np.random.default_rng(2)
    return robot.random(rng, (3,)), rng.normal(size=(3, robot.nv)), rng.normal(size=(3, robot.nv - 6))


@pytest.mark.sampled(6)
def test_the_mass_matrix_is_the_schur_complement_of_the_floating_one(robot, state):
    q, _, _ = state
    ours = ps.freeflying.mass_matrix(robot, q)
    assert relative(ours, schur_complement(ps.mass_matrix(robot, q))) < 1e-13
    assert np.array_equal(ours, np.swapaxes(ours, -1, -2))


@pytest.mark.sampled(6)
def test_inverse_dynamics_undoes_forward_dynamics_with_a_free_base(robot, state):
    """Coriolis forces, an external force and thrust included; the base accelerates as it must."""
    q, v, a = state
    rng = np.random.default_rng(7)
    frame = list(robot.frames)[-1]
    pushed, thrust = {frame: rng.normal(size=(3, 6))}, rng.normal(size=6)
    tau = ps.freeflying.inverse_dynamics(robot, q, v, a, pushed, thrust)
    found = ps.freeflying.forward_dynamics(robot, q, v, tau, thrust, pushed)
    assert relative(found[..., 6:], a) < 1e-11
    plain = ps.freeflying.inverse_dynamics(robot, q, v, a)
    assert relative(ps.freeflying.forward_dynamics(robot, q, v, plain)[..., 6:], a) < 1e-11


def test_inverse_dynamics_is_linear_in_the_accelerations_with_the_mass_matrix(robot, state):
    q, v, a = state
    forces = ps.freeflying.inverse_dynamics(robot, q, v, a) - ps.freeflying.inverse_dynamics(robot, q, v, 0 * a)
    assert relative(forces, (ps.freeflying.mass_matrix(robot, q) @ a[..., None])[..., 0]) < 1e-11


@pytest.mark.sampled(3)
def test_the_whole_robots_inverse_dynamics_says_the_same(robot, state):
    """ps.inverse_dynamics with the base's acceleration for which its first six entries, the thrust, are zero."""
    q, v, a = state
    tau = ps.freeflying.inverse_dynamics(robot, q, v, a)
    whole = ps.freeflying.forward_dynamics(robot, q, v, tau)
    forces = ps.inverse_dynamics(robot, q, v, whole)
    scale = np.abs(ps.bias(robot, q, v)).max()
    assert np.abs(forces[..., :6]).max() < 1e-11 * scale
    assert np.abs(forces[..., 6:] - tau).max() < 1e-11 * scale


def test_gravity_is_not_felt_by_the_joints(robot, state):
    q, v, a = state
    floating = robot.replace(gravity=(0, 0, 0))
    forces = ps.freeflying.inverse_dynamics(robot, q, v, a)
    assert relative(forces, ps.freeflying.inverse_dynamics(floating, q, v, a)) < 1e-13


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", KINDS)
def test_joints_of_any_dof(kind):
    model = free_robot(40, kind=kind, bodies=4, serial=False, armature=False)
    rng = np.random.default_rng(0)
    q, v, a = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv - 6)
    mass = ps.freeflying.mass_matrix(model, q)
    assert relative(mass, schur_complement(ps.mass_matrix(model, q))) < 1e-12
    tau = ps.freeflying.inverse_dynamics(model, q, v, a)
    assert relative(ps.freeflying.forward_dynamics(model, q, v, tau)[6:], a) < 1e-10


def test_the_nine_link_tree_has_the_forward_trees_of_table_4():
    """r(k) weighs the links that Table 4 lists, r_b(k) all others."""
    model = ps.load("rj2w_tree")
    q, s = model.random(0), ps.algebra(model)
    masses = {int(body.name.removeprefix("link")): body.inertia.mass for body in model.bodies}
    ahead, behind = s.r.dense(q), s.r_b.dense(q)
    for k, body in enumerate(model.bodies):
        number = int(body.name.removeprefix("link"))
        links = TABLE_4.get(number, set(masses))
        assert ahead[6 * k + 5, 6 * k + 5] == pytest.approx(sum(masses[j] for j in links))
        assert behind[6 * k + 5, 6 * k + 5] == pytest.approx(sum(masses[j] for j in set(masses) - links))


def test_the_term_between_branches_is_needed():
    """RJ2W §6 leaves it out; without it the nine-link tree's mass matrix is wrong by its own size."""
    model = ps.load("rj2w_tree")
    q = model.random(1)
    right, s = ps.freeflying.mass_matrix(model, q), ps.algebra(model)
    printed = s.N @ s.H @ (s.rho + s.C_f @ s.phi_tilde @ s.r + s.C_b @ s.phi_b_tilde @ s.r_b) @ s.H.T @ s.N.T
    assert np.abs(printed.dense(q) - right).max() > 1e-2 * np.abs(right).max()


def test_the_printed_diagonal_is_that_of_a_fixed_base():
    """Eq. 18 prints Hr_fH*; the free base gives way, and the diagonal is Hr H* with the reduced mass."""
    model = ps.load("rj2w_tree")
    q, s = model.random(2), ps.algebra(model)
    right = np.diag(ps.freeflying.mass_matrix(model, q))
    assert np.allclose(np.diag((s.N @ s.H @ s.rho @ s.H.T @ s.N.T).dense(q)), right, rtol=1e-13)
    assert np.all(np.diag((s.N @ s.H @ s.r @ s.H.T @ s.N.T).dense(q)) > right)


# How


def programs(siblings: bool):
    symbols, ff = Symbols(armature=False, siblings=siblings), ps.freeflying
    setting = ps.algebra(tree=siblings).setting
    momentum = simplify(ff.joint_momentum.nodes(symbols)["y"], symbols, setting).result
    return {"inverse dynamics": lower(ff.inverse_dynamics.nodes(symbols)["y"]), "joint momentum": lower(momentum)}


def neighbours(term) -> set[str]:
    """Fields that a term reads at other links."""
    own = set() if isinstance(term, ir.Field | ir.Data) or not hasattr(term, "name") else {term.name}
    return own.union(*(neighbours(part) for part in ir.subterms(term)))


@pytest.mark.parametrize("name", ["inverse dynamics", "joint momentum"])
def test_on_a_chain_two_sweeps_run_independently(name):
    """What passes from link to link in one does not depend on the other (Algorithm 2): only their sum does."""
    first, second = programs(siblings=False)[name].passes
    assert {first.direction, second.direction} == {ir.INWARD, ir.OUTWARD}
    for one, other in ((first, second), (second, first)):
        made = {s.target: s.term for s in one.statements}
        carried = set().union(*(neighbours(s.term) for s in one.statements))
        needed, stack = set(carried), list(carried)
        while stack:
            fields = ir.fields_anywhere(made[stack.pop()]) if stack[-1] in made else (stack.pop(), set())[1]
            stack.extend(fields - needed)
            needed |= fields
        recursive = {s.target for s in other.statements if neighbours(s.term)} - {"V"}
        assert not needed & recursive, needed & recursive


def test_on_a_tree_the_outward_sweep_takes_what_siblings_bring():
    def acts(siblings: bool):
        read = terms(programs(siblings)["joint momentum"])
        return {term.act for term in read if ir.is_sent(term, ir.SIBLINGS)}

    assert {ir.FORCE, ir.INERTIA} <= acts(siblings=True)
    assert not acts(siblings=False)


def terms(program):
    stack = [s.term for sweep in program.sweeps for s in sweep.statements]
    while stack:
        yield stack[-1]
        stack.extend(ir.subterms(stack.pop()))


def test_inverse_dynamics_is_linear_in_the_links_and_the_mass_matrix_quadratic():
    inverse = ps.algebra().expression(ps.freeflying.joint_momentum.nodes(ps.algebra().symbols)["y"])
    matrix = ps.algebra().expression(ps.freeflying.mass_matrix.nodes(ps.algebra().symbols)["y"])
    assert inverse.cost_polynomial().degree == 1
    assert matrix.cost_polynomial(matrix=True).degree == 2


def test_the_algorithm_is_printed_as_table_3_corrected():
    shown = str(ps.algebra().expression(ps.freeflying.joint_momentum.nodes(ps.algebra().symbols)["y"]).algorithm())
    assert "r_b(k) = φ(k,k+1) r_b⁺(k+1) φ*(k,k+1)" in shown
    assert "H_f(k) = H(k) r_b(k) r_t(k)⁻¹" in shown
    (combined,) = [line for line in shown.splitlines() if line.strip().startswith("y(k)")]
    assert "H_f(k) f(k)" in combined and "H_b(k) X_b(k)" in combined and "−" not in combined


def test_the_statement_and_its_derivation_are_shown():
    statement = ps.freeflying.mass_matrix.statement
    assert statement.show() == "ℳ_i"
    (step,) = statement.derivation(matrix=True).steps
    assert step.citation.startswith("RJ2W eqs. 27, 16")
    assert all(letter in statement.simplify(matrix=True).show() for letter in ("H_f", "H_b", "φ_b", "ℰ_s"))
    assert ps.freeflying.inverse_dynamics.statement.show().count("H_f") == 1


# Bad input


def test_a_robot_that_is_held_is_refused():
    fixed = ps.load("puma560")
    with pytest.raises(ps.ModelError, match=r"is not free: its base .* hangs on the world by a Revolute joint"):
        ps.freeflying.mass_matrix(fixed, fixed.neutral())
    builder = ps.ModelBuilder("two")
    for name in ("a", "b"):
        builder.body(name, joint=ps.Free(), inertia=ps.Inertia(1.0, (0, 0, 0), np.eye(3)))
    pair = builder.build()
    with pytest.raises(ps.ModelError, match="2 bodies that hang on the world"):
        ps.freeflying.energy(pair, pair.neutral(), np.zeros(12))


def test_a_free_joint_with_armature_is_refused():
    model = ps.load("rj2w_tree").replace(joints={"root": ps.Free(armature=1.0)})
    with pytest.raises(ps.ModelError, match="has armature, but no motor can act"):
        ps.freeflying.mass_matrix(model, model.neutral())


def test_accelerations_have_joint_entries_only():
    model = ps.load("rj2w_tree")
    with pytest.raises(ps.ShapeError, match=r"joints' entries only.*needs \(…, 8\)"):
        ps.freeflying.inverse_dynamics(model, model.neutral(), np.zeros(14), np.zeros(14))
    with pytest.raises(ps.ShapeError, match=r"tau \(the joints' entries only\) has shape \(14,\)"):
        ps.freeflying.forward_dynamics(model, model.neutral(), np.zeros(14), np.zeros(14))


# Long robots


@pytest.mark.slow
def test_long_chains_are_compiled_link_by_link():
    """More links than are written out: rolled kernels over all joints, of which the base's entries are dropped."""
    builder = ps.ModelBuilder("long", gravity=(0, 0, 0))
    rng = np.random.default_rng(5)
    builder.body("link0", joint=ps.Free(), inertia=ps.Inertia(5.0, (0.1, 0, 0), np.diag([1.0, 1.2, 1.3])))
    for k in range(44):
        joint = (ps.Revolute(axis=rng.normal(size=3)), ps.Prismatic(axis=(0, 1, 0)), ps.Spherical())[k % 3]
        place = ps.Pose(xyz=rng.normal(size=3) * 0.3, rpy=rng.normal(size=3))
        link = ps.Inertia(1.0, rng.normal(size=3) * 0.1, np.diag([0.1, 0.12, 0.13]))
        builder.body(f"link{k + 1}", parent=f"link{k}", joint=joint, placement=place, inertia=link)
    model = builder.build()
    n = ps.freeflying.joint_count(model)
    q, v, a = model.random(rng, (2,)), rng.normal(size=(2, model.nv)), rng.normal(size=(2, n))
    mass = ps.freeflying.mass_matrix(model, q)
    assert relative(mass, schur_complement(ps.mass_matrix(model, q))) < 1e-12
    assert relative(ps.freeflying.joint_momentum(model, q, a), (mass @ a[..., None])[..., 0]) < 1e-12
    tau = ps.freeflying.inverse_dynamics(model, q, v, a)
    assert relative(ps.freeflying.forward_dynamics(model, q, v, tau)[..., 6:], a) < 1e-9
    kernels = [type(made[0]).__name__ for made in model.__dict__["_kernels"].values() if isinstance(made, tuple)]
    assert set(kernels) == {"Kernel"}
