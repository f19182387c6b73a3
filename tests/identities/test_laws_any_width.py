"""The laws never speak of 6: both sides as explicit matrices, on trees of bodies that bend and of compound links."""

from functools import cache

import numpy as np
import pytest

import phistar as ps
import phistar.identities.rewriter
from phistar.backends.dense.wide_definitions import WideDense
from phistar.backends.links.wide import wide_links
from phistar.errors import StatementError
from phistar.identities.law import LAWS
from phistar.identities.polynomial import letters
from tests.loops.test_embedding import nested
from tests.statements import magnitude
from tests.trees import _inertia, _joint, _pose

TOLERANCE = 1e-10
TREES = 6


@cache
def flexible_tree(seed):
    """A random tree in which every other body bends, children on its tip or on its frame; and frames on it."""
    rng = np.random.default_rng(seed)
    b, parents = ps.ModelBuilder(f"flexible{seed}", gravity=rng.normal(size=3)), []
    for k in range(int(rng.integers(2, 6))):
        parent = "world" if k == 0 else f"body{rng.integers(0, k)}"
        bends = parent in parents and rng.random() < 0.7
        beam = ps.beam(
            1.0, rng.uniform(5, 20, 2), rng.uniform(0.5, 2), modes=int(rng.integers(1, 4)), axial_inertia=0.2
        )
        joint = _joint(rng, "free" if seed % 3 == 0 and k == 0 else None, seed % 2 == 0, False, seed % 2 == 1)
        on = f"{parent}.tip" if bends else parent
        b.body(f"body{k}", on, joint, _pose(rng), beam if k % 2 == 0 else _inertia(rng))
        parents += [f"body{k}"] if k % 2 == 0 else []
    b.frame("frame", "body0.tip", _pose(rng))
    model = b.build()
    return model, wide_links(model, model.random(rng)), ("frame",)


@cache
def compound_tree(seed):
    """Nested four-bars on a free base, in independent rates."""
    rng, model = np.random.default_rng(seed), nested()
    q = ps.assemble(model, model.random(rng))
    embedded = model.embedded(q=q)
    return embedded, embedded.embedding.mechanism(q, ("tip",)), ("tip",)


def oracle(made, seed):
    model, links, frames = made(seed)
    rng = np.random.default_rng(seed)
    vectors = {name: rng.normal(size=model.nv) for name in ("v", "qdd", "T")} | {"R": rng.uniform(0.1, 1, model.nv)}
    vectors["L"] = rng.uniform(0.3, 2.0, model.nv) * rng.integers(0, 2, model.nv)
    vectors |= {"f": rng.normal(size=6), "u": rng.normal(size=6), "a_g": rng.normal(size=6), "a_b": rng.normal(size=6)}
    return WideDense(links, frames, vectors), ps.algebra(model, frames)


def compared(law, made, seed, axes=False):
    """The gap of the two sides, relative; None where the law is about other mechanisms or symbols. With `axes`, of the
    Riccati equation over LH, L any diagonal."""
    dense, algebra = oracle(made, seed)
    if not algebra.setting.meets(law.needs) or law.name == "operational_inertia":
        return None
    s = algebra.symbols
    left, right = law.sides(s.with_pair(s.M, s.L @ s.A @ s.L.T + s.R, s.L @ s.H) if axes else s)
    if any(letter.name in ("X", "X_joints", "Q") for side in (left, right) for letter in letters(side)):
        return None
    try:
        a, b = dense(left), dense(right)
    except StatementError:
        return None
    difference = float(np.abs(a - b).max(initial=0.0))
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    if difference > TOLERANCE * scale:
        scale = magnitude(dense, left, right)
    return difference / scale if difference else 0.0


CASES = [(flexible_tree, seed) for seed in range(TREES)] + [(compound_tree, 0)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_a_law_of_six_wide_links_is_one_of_any_width(law):
    gaps = [gap for made, seed in CASES if (gap := compared(law, made, seed)) is not None]
    if not gaps:
        pytest.skip("of symbols or mechanisms that links of any width do not have")
    assert max(gaps) < TOLERANCE


RICCATI = [law for law in LAWS if law.statement.__module__ == "phistar.identities.riccati"]


@pytest.mark.parametrize("law", RICCATI, ids=lambda law: law.name)
def test_a_law_of_riccatis_equation_holds_over_the_axes_of_some_joints(law):
    if law.name in ("lemma_3", "energy_of_residuals"):
        pytest.skip("of ℳ, which is that of all joints")
    gaps = [gap for made, seed in CASES if (gap := compared(law, made, seed, axes=True)) is not None]
    if not gaps:
        pytest.skip("of symbols or mechanisms that links of any width do not have")
    assert max(gaps) < TOLERANCE


def test_lemmas_hold_and_blocks_are_blocks():
    for made, seed in CASES:
        dense, algebra = oracle(made, seed)
        s = algebra.symbols
        mass, factor = dense(s.mass), dense(s.I + s.H @ s.phi @ s.K)
        np.testing.assert_allclose(factor @ dense(s.D) @ factor.T, mass, atol=1e-10 * np.abs(mass).max())
        whitening = np.eye(len(mass)) - dense(s.H @ s.psi @ s.K)
        np.testing.assert_allclose(whitening @ factor, np.eye(len(mass)), atol=1e-9)
        np.testing.assert_allclose(dense(s.P) * (1 - dense.mask), 0.0, atol=1e-10 * np.abs(dense(s.P)).max())
