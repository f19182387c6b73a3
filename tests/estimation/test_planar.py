"""R87 §XII: the planar filter in components is the dynamics, and its rows cost what Tables II and III say."""

import numpy as np
import pytest

import phistar as ps
from phistar.estimation import planar
from tests.trees import relative

N = 6


@pytest.fixture(scope="module")
def chain():
    """The same chain for the paper (tip first) and for the algebra (base first)."""
    model = ps.planar_chain(N, gravity=(0, 0, 0))
    body = model.bodies[0].inertia
    link = planar.PlanarLink(1.0, body.mass, body.com[0], body.about_origin[2, 2])
    q, tau = np.random.default_rng(0).uniform(-2, 2, size=(2, N))
    return model, [link] * N, q, tau


def test_the_filter_in_components_gives_the_accelerations(chain):
    model, links, q, tau = chain
    ours = planar.forward_dynamics(links, q[::-1], tau[::-1])[::-1]
    assert relative(ours, ps.forward_dynamics(model, q, np.zeros(N), tau)) < 1e-10


def test_composite_bodies_in_components_give_the_mass_matrix(chain):
    model, links, q, _ = chain
    assert relative(planar.mass_matrix(links, q[::-1])[::-1, ::-1], ps.mass_matrix(model, q)) < 1e-12


def test_table_2_is_what_the_rows_do_but_for_one_printed_cell():
    rows = {row.name: row for row in planar.table_2()}
    wrong = rows.pop("State update")
    assert all(row.counted == row.printed for row in rows.values())
    assert wrong.counted == (4, 6, 0) and wrong.printed == (5, 6, 0)  # ERRATA: 2 + 2 for the rotation
    totals = np.sum([row.counted for row in planar.table_2()], axis=0)
    assert tuple(totals) == (27, 26, 3)
    assert tuple(np.sum([row.printed for row in planar.table_2()], axis=0)) == (28, 26, 3)


def test_table_3_is_what_the_rows_do_and_sums_to_n_times_2n_plus_7():
    rows = planar.table_3()
    assert all(row.counted == row.printed for row in rows)
    per_link = np.sum([row.counted for row in rows[:3]], axis=0)
    per_element = np.sum([row.counted for row in rows[3:]], axis=0)
    for n in range(1, 30):
        pairs = (n * per_link + n * (n + 1) / 2 * per_element)[:2].sum() / 2
        assert pairs == n * (2 * n + 7) != 2 * n * (n + 5)


def test_the_curves_of_figure_4_cross_where_the_text_says_only_with_the_corrected_sum():
    n = np.arange(1, 21)
    better = planar.smoother_flops(n) < planar.assembly_flops(n)
    printed = planar.smoother_flops(n) < planar.assembly_flops(n, printed=True)
    assert n[better][0] == 5 and better[4:].all()
    assert n[printed][0] == 4 and np.isclose(planar.assembly_flops(4, printed=True), 109.33, atol=0.01)
    crossing = max(np.roots([1 / 3, 3, 7 - 27]))  # N²/3 + 3N + 7 = 27
    assert np.isclose(crossing, 4.46, atol=0.005)
