"""Second derivatives as loops over three rates: the same numbers as the program run link by link, on every joint."""

import numpy as np
import pytest

import phistar as ps
from phistar.backends.links.common_frame import common_frame, single_axes
from phistar.backends.links.concise import without_roundoff
from phistar.backends.programs.triple_tables import Triples, Wanted
from phistar.backends.triplewise.runs import find_runs, in_loop_order
from phistar.backends.triplewise.triple_kernel import triple_kernel
from phistar.second_derivatives import stated_triples
from phistar.sweeps.lower import GIVEN
from tests.trees import KINDS, mechanism, relative

MODELS = {
    **{kind: mechanism(80, kind=kind, bodies=3, frames=1).model for kind in KINDS},
    "branching": mechanism(86, serial=False, floating=False, kind="revolute", frames=2, armature=True, bodies=7).model,
    "floating": mechanism(82, serial=False, floating=True, frames=2, bodies=5).model,
    "chain": ps.chain(11),
}


def wanted_entries(model, exact):
    return in_loop_order(single_axes(model), Wanted.of(model, exact))


@pytest.mark.parametrize("exact", [("dqdq", "dqdv", "dvdv", "dadq"), ()], ids=["once", "both orders"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_loops_make_what_the_program_makes(model, exact):
    """Both of the entries that symmetry leaves, and of means of both orders."""
    wanted, rng = wanted_entries(model, exact), np.random.default_rng(2)
    q, (v, a) = model.random(rng, shape=(5,)), rng.normal(size=(2, 5, model.nv))
    function, operations = triple_kernel(model, stated_triples(), wanted, ["test"])
    given = {GIVEN["v"]: v, GIVEN["qdd"]: a}
    triples = Triples(stated_triples(), common_frame(single_axes(without_roundoff(model)), q), given)
    expected = np.concatenate([own.compute(triples, name) for name, own in wanted.items()], axis=-1)
    assert relative(function(q, v, a), expected) < 1e-13
    assert relative(function(q[2], v[2], a[2]), expected[2]) < 1e-13
    assert operations > expected.shape[-1]


def test_every_entry_is_written_once_and_halves_are_added():
    model = MODELS["branching"]
    for exact in ((), ("dqdq",)):
        wanted = wanted_entries(model, exact)
        count = sum(len(own.places) for own in wanted.values())
        written = np.zeros(count, dtype=int)
        for runs in find_runs(single_axes(model), wanted):
            for _, length, first in runs.runs.tolist():
                written[first : first + length] += 2 if runs.share == 0 else 1
        assert np.all(written == 2)


def test_runs_of_a_chain_are_long():
    """All joints that carry a pair, or that it carries, are neighbours."""
    model = ps.chain(30)
    runs = find_runs(model, wanted_entries(model, ("dqdq", "dqdv", "dvdv", "dadq")))
    entries, count = (sum(f(own.runs) for own in runs) for f in (lambda x: int(x[:, 1].sum()), len))
    assert entries > 6 * count


def test_twice_the_links_take_eight_times_the_operations_at_most():
    counts = [
        triple_kernel(m, stated_triples(), wanted_entries(m, ("dqdq",)), ["test"])[1] for m in map(ps.chain, (20, 40))
    ]
    assert 4 < counts[1] / counts[0] < 8
