"""R87 §XII: the planar filter in components is the dynamics, and its rows cost what Tables II and III say."""

import numpy as np
import pytest

import phistar as ps
from phistar.estimation import planar_chain
from tests.trees import relative

N = 6


@pytest.fixture(scope="module")
def chain():
    """The same chain for the paper (tip first) and for the algebra (base first)."""
    model = ps.planar_chain(N, gravity=(0, 0, 0))
    body = model.bodies[0].inertia
    link = planar_chain.PlanarLink(1.0, body.mass, body.com[0], body.about_origin[2, 2])
    q, tau = np.random.default_rng(0).uniform(-2, 2, size=(2, N))
    return model, [link] * N, q, tau


def test_the_filter_in_components_gives_the_accelerations(chain):
    model, links, q, tau = chain
    ours = planar_chain.forward_dynamics(links, q[::-1], tau[::-1])[::-1]
    assert relative(ours, ps.forward_dynamics(model, q, np.zeros(N), tau)) < 1e-10


def test_composite_bodies_in_components_give_the_mass_matrix(chain):
    model, links, q, _ = chain
    assert relative(planar_chain.mass_matrix(links, q[::-1])[::-1, ::-1], ps.mass_matrix(model, q)) < 1e-12


def test_table_2_is_what_the_rows_do():
    rows = planar_chain.table_2()
    assert all(row.counted == row.printed for row in rows)
    assert tuple(np.sum([row.counted for row in rows], axis=0)) == (28, 26, 3)
    assert planar_chain.smoother_flops(1) == (28 + 26) / 2


def test_table_3_is_what_the_rows_do_and_the_total_of_the_text_has_a_rotation_more():
    rotation = planar_chain._count(planar_chain.center_rotation, 0, 0, 0, 0)
    assert rotation == (2, 4, 0)
    rows = planar_chain.table_3()
    assert all(row.counted == row.printed for row in rows)
    per_link = np.sum([row.counted for row in rows[:3]], axis=0)
    per_element = np.sum([row.counted for row in rows[3:]], axis=0)
    for n in range(1, 30):
        pairs = (n * per_link + n * (n + 1) / 2 * per_element)[:2].sum() / 2
        assert pairs == n * (2 * n + 7)
        assert pairs + n * sum(rotation) / 2 == 2 * n * (n + 5)


def test_from_five_links_on_the_filter_is_cheaper_under_either_total():
    n = np.arange(5, 31)
    for shared, crossing in ((False, 3.94), (True, 4.46)):
        assert (planar_chain.smoother_flops(n) < planar_chain.assembly_flops(n, shared=shared)).all()
        below, above = crossing - 0.005, crossing + 0.005
        assert planar_chain.smoother_flops(below) > planar_chain.assembly_flops(below, shared=shared)
        assert planar_chain.smoother_flops(above) < planar_chain.assembly_flops(above, shared=shared)
