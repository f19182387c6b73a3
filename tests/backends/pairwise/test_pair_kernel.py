"""Tables over pairs of joint rates as loops: what the statement gives on arrays, on every joint kind, tree and width;
of mechanisms too long to be written out, against differences and Pinocchio."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.choice import PAIRS, WRITTEN
from phistar.backends.machine.jit import Signature, Target, host
from phistar.backends.machine.threads import spread
from phistar.backends.pairwise.pair_kernel import pair_kernel
from phistar.backends.pairwise.programs import symbols_under_forces
from phistar.backends.pairwise.walk import GROUP, walk_tree
from phistar.derivatives import RECORDED
from phistar.operators.symbols import Symbols
from tests.trees import KINDS, mechanism, relative

DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "linearize")
STATED = ("mass_matrix", "mass_matrix_inverse", *DERIVATIVES[:2])
TREES = {
    **{kind: mechanism(70, kind=kind, bodies=3, frames=1).model for kind in KINDS},
    "branching with armature": mechanism(71, serial=False, floating=False, armature=True, rotors=False, bodies=7).model,
    "floating": mechanism(72, serial=False, floating=True, armature=True, rotors=False, bodies=6).model,
}
CHAIN = ps.chain(45)


def several_roots():
    """Three trees on the world, told so that no walk through them finds the joints in order."""
    builder = ps.ModelBuilder("orchard")
    rng = np.random.default_rng(5)
    parents = ["world", "world", "b0", "world", "b1", "b0", "b2", "b2"]
    kinds = [ps.Free(), ps.Revolute(axis=(1, 2, 3)), ps.Spherical(), ps.Prismatic(), *(ps.Revolute(),) * 4]
    for k, (parent, kind) in enumerate(zip(parents, kinds, strict=True)):
        inertia = ps.Inertia(1.0 + k, rng.normal(size=3) * 0.1, np.diag([0.3, 0.4, 0.5]))
        builder.body(f"b{k}", parent, kind, ps.Pose(xyz=rng.normal(size=3), rpy=rng.normal(size=3)), inertia)
    return builder.build()


def made(name, model, target=None, lanes=None):
    symbols = symbols_under_forces(Symbols()) if name.startswith("forward") else Symbols()
    nodes = tuple(getattr(ps, name).nodes(symbols).items())
    vectors = (model.nv,) * (0 if name.startswith("mass") else 2)
    signature = Signature((model.nq, *vectors), ((model.nv, model.nv),) * len(nodes))
    return pair_kernel(nodes, symbols, model).compile(signature, target, lanes)[0]


def state(model, name, batch=3):
    rng = np.random.default_rng(0)
    vectors = 0 if name.startswith("mass") else 2
    return model.random(rng, shape=(batch,)), *rng.normal(size=(vectors, batch, model.nv))


def several(results):
    return results if isinstance(results, tuple) else (results,)


def compared(name, model, **options):
    """The largest relative difference from the public function."""
    arrays = state(model, name)
    found, expected = several(made(name, model, **options)(*arrays)), several(getattr(ps, name)(model, *arrays))
    return max(relative(x, y) for x, y in zip(found, expected, strict=True))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", DERIVATIVES[:2])
@pytest.mark.parametrize("case", KINDS)
def test_loops_over_pairs_are_the_derivatives_of_every_kind_of_joint(case, name):
    assert compared(name, TREES[case]) < 1e-12


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("model", [TREES["floating"], several_roots()], ids=["floating", "orchard"])
def test_loops_over_pairs_are_the_written_out_tables_of_trees(model, name):
    assert compared(name, model) < 1e-12


def test_operations_are_those_of_sweeps_and_of_pairs():
    """Of n links c₀ + c₁n + c₂n²: third differences are zero."""
    compiled = ps.compile(ps.mass_matrix.statement, ps.chain(60), matrix=True)
    assert compiled.kernel.chosen.schedule == PAIRS
    counts = [pair_kernel((("y", Symbols().mass),), Symbols(), ps.chain(n)).operations() for n in (48, 60, 72, 84)]
    assert compiled.operations == counts[1] and np.diff(counts, 2).min() > 0 and np.diff(counts, 3) == 0


def test_a_walk_finds_what_each_link_carries_right_behind_it():
    model = several_roots()
    walk = walk_tree(model)
    stands = walk.place >= 0
    assert sorted(walk.place[stands]) == list(range(model.nv)) and walk.place.tolist() != sorted(walk.place)
    body_of = {rate: k for k, joint in enumerate(model.joints) for rate in range(*joint.v_slice.indices(model.nv))}
    for k, (_, _, stop, end, *_) in zip(walk.order, walk.steps.tolist(), strict=True):
        assert end % GROUP == 0
        inside = {body_of[int(rate)] for rate in walk.place[stop:end] if rate >= 0}
        assert inside == {j for j in range(len(model.bodies)) if j != k and k in ancestors(model, j)}


def ancestors(model, k):
    result = []
    while k >= 0:
        result.append(k)
        k = model.parents[k]
    return result


@pytest.mark.parametrize("name", ["forward_dynamics_derivatives", "mass_matrix"])
@pytest.mark.parametrize("lanes", [2, 8])
def test_any_number_of_lanes_and_a_cpu_without_avx(name, lanes):
    plain = Target(host().triple, "x86-64", "") if lanes == 2 and "x86_64" in host().triple else None
    assert compared(name, TREES["branching with armature"], target=plain, lanes=lanes) < 1e-12


# Long mechanisms, through the public functions


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_a_long_chain_are_those_on_arrays(name):
    arrays = state(CHAIN, name)
    found, expected = getattr(ps, name)(CHAIN, *arrays), RECORDED[name]._interpret(CHAIN, list(arrays))
    assert max(relative(x, y) for x, y in zip(found, expected, strict=True)) < 1e-10


@pytest.mark.slow
def test_derivatives_of_a_long_tree_are_those_of_differences():
    model = mechanism(9, serial=False, floating=True, rotors=False, bodies=42).model
    q, v, tau = (x[0] for x in state(model, "linearize", 1))
    found, step = ps.forward_dynamics_derivatives(model, q, v, tau), 1e-4
    rng = np.random.default_rng(2)
    d_q, d_v, d_tau = rng.normal(size=(3, model.nv))
    at = [ps.forward_dynamics(model, model.integrate(q, e * d_q), v + e * d_v, tau + e * d_tau) for e in (-step, step)]
    expected = (at[1] - at[0]) / (2 * step)
    assert relative(found.dq @ d_q + found.dv @ d_v + found.dtau @ d_tau, expected) < 1e-5


def test_a_chain_of_fifty_agrees_with_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="pin is not installed")
    model, peer, parent = ps.chain(50), pin.Model(), 0
    peer.gravity.linear = np.array(model.gravity)
    for body in model.bodies:
        axis = pin.JointModelRevoluteUnaligned(*np.asarray(body.joint.kind.axis, dtype=float))
        placed = pin.SE3(body.placement.rotation, body.placement.translation)
        parent = peer.addJoint(parent, axis, placed, body.joint.name)
        inertia = pin.Inertia(body.inertia.mass, body.inertia.com, body.inertia.tensor)
        peer.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    data, (q, v, tau) = peer.createData(), (x[0] for x in state(model, "linearize", 1))
    pin.computeABADerivatives(peer, data, q, v, tau)
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    found = ps.forward_dynamics_derivatives(model, q, v, tau)
    for ours, theirs in zip(found, (data.ddq_dq, data.ddq_dv, inverse), strict=True):
        assert relative(ours, theirs) < 1e-9
    expected = pin.computeRNEADerivatives(peer, data, q, v, tau)
    found = ps.inverse_dynamics_derivatives(model, q, v, tau)
    for ours, theirs in zip(found[:2], expected[:2], strict=True):
        assert relative(ours, theirs) < 1e-10


def test_strides_lists_empty_batches_and_outputs_of_one_s_own():
    kernel, arrays = made("forward_dynamics_derivatives", CHAIN), state(CHAIN, "forward_dynamics_derivatives", 11)
    expected = kernel(*arrays)
    apart = [np.repeat(x, 2, axis=-1)[..., ::2] for x in arrays]
    wide = [np.full((11, CHAIN.nv, 2 * CHAIN.nv), np.nan) for _ in expected]
    kernel(*apart, out=tuple(x[..., ::2] for x in wide))
    for out, value in zip(wide, expected, strict=True):
        np.testing.assert_array_equal(out[..., ::2], value)
        assert np.all(np.isnan(out[..., 1::2]))
    turned = [np.empty((CHAIN.nv, CHAIN.nv, 11)).transpose(2, 1, 0) for _ in expected]
    kernel(*arrays, out=tuple(turned))
    for out, value in zip(turned, expected, strict=True):
        np.testing.assert_array_equal(out, value)
    empty = ps.forward_dynamics_derivatives(CHAIN, *(x[:0] for x in arrays))
    assert [x.shape for x in empty] == [(0, CHAIN.nv, CHAIN.nv)] * 3
    listed = ps.forward_dynamics_derivatives(CHAIN, *(x[0].tolist() for x in arrays))
    np.testing.assert_allclose(listed.dq, expected[0][0], rtol=1e-12)


def test_what_is_not_a_number_spoils_its_own_state_alone():
    q, v, tau = state(CHAIN, "linearize", 9)
    expected = ps.forward_dynamics_derivatives(CHAIN, q, v, tau)
    v[4, 3] = np.nan
    found = ps.forward_dynamics_derivatives(CHAIN, q, v, tau)
    others = np.arange(9) != 4
    assert np.isnan(found.dq[4]).any()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours[others], theirs[others])


def test_threads_give_the_same_tables(monkeypatch):
    model, name = TREES["revolute"], "inverse_dynamics_derivatives"
    kernel, arrays, shapes = made(name, model), state(model, name, 6100), [(model.nv, model.nv)] * 3
    monkeypatch.setenv("PHISTAR_THREADS", "2")
    for ours, theirs in zip(spread(kernel, arrays, shapes), kernel(*arrays), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_chains_go_over_to_loops_before_trees_do():
    """What counts is how many rates carry others, not how many there are."""
    recorded = RECORDED["forward_dynamics_derivatives"]
    assert [recorded.choice(ps.chain(n)).schedule for n in (30, 40)] == [WRITTEN, PAIRS]
    model, rng = ps.chain(38), np.random.default_rng(3)
    q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
    found = ps.forward_dynamics_derivatives(model, q, v, tau)
    expected = RECORDED["forward_dynamics_derivatives"]._interpret(model, [q, v, tau])
    assert max(relative(x, y) for x, y in zip(found, expected, strict=True)) < 1e-10
    assert relative(ps.mass_matrix_inverse(model, q) @ ps.mass_matrix(model, q), np.eye(model.nv)) < 1e-10
