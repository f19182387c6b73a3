"""What runs for a robot is the form that counts least on that robot, and one number tells its cost everywhere."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

import phistar as ps
from phistar.backends.executor import choose_schedule, tallies_of
from phistar.backends.kernel import Statements, trace_statements
from phistar.backends.programs.derivations import COMPOSITE
from phistar.identities.rewriter import forms
from phistar.operators.nodes import Node
from phistar.sweeps.ir import Program
from phistar.sweeps.lower import lower_all
from phistar.sweeps.search import forms_worth_counting
from tests.trees import relative


def two_arms(links=5):
    """A trunk that turns, and two arms on it."""
    builder = ps.ModelBuilder("two arms")
    inertia = ps.Inertia(1.0, (0.1, 0.02, 0.0), np.diag([0.02, 0.03, 0.04]))
    builder.body("trunk", joint=ps.Revolute((0, 0, 1)), inertia=inertia)
    for side, name in ((1.0, "left"), (-1.0, "right")):
        parent, place = "trunk", ps.Pose(xyz=(0.1, 0.2 * side, 0.4))
        for i in range(links):
            axis = [(0, 0, 1), (0, 1, 0), (1, 0, 0)][i % 3]
            builder.body(f"{name}{i}", parent, ps.Revolute(axis), place, inertia)
            parent = f"{name}{i}"
            place = ps.Pose(xyz=(0.3, 0.02 * side, 0.05))
        builder.frame(name, parent, ps.Pose(xyz=(0.2, 0.0, 0.1)))
    return builder.build()


@cache
def robot(name):
    return {
        "chain": lambda: ps.chain(7),
        "two arms": two_arms,
        "anymal": lambda: ps.load("anymal"),
        "long chain": lambda: ps.chain(20),
    }[name]()


ROBOTS = ("chain", "two arms", "anymal")
STATEMENTS = {
    "forward dynamics": lambda A: A.mass.inv @ (A.T - A.C - A.g),
    "forward dynamics without gravity": lambda A: A.mass.inv @ (A.T - A.C),
    "inverse dynamics": lambda A: A.mass @ A.qdd + A.C + A.g,
    "inverse mass matrix": lambda A: A.mass.inv,
    "acceleration of the frame": lambda A: A.J @ A.mass.inv @ (A.T - A.C - A.g) + A.Jdot_v,
    "velocity of the frame by impulses": lambda A: A.J @ A.mass.inv @ A.T,
    "force that holds the frame": lambda A: A.Lambda @ (A.Jdot_v - A.J @ A.mass.inv @ (A.C + A.g)),
    "forces at the frame": lambda A: A.Lambda @ A.J @ A.mass.inv @ A.T,
    "inverse that leaves the frame alone": lambda A: A.mass.inv @ (A.mass - A.J.T @ A.Lambda @ A.J) @ A.mass.inv,
    "dynamically consistent inverse": lambda A: A.mass.inv @ A.J.T @ A.Lambda,
    "twice": lambda A: A.mass.inv @ A.U.inv @ A.mass.inv,
    "held forward dynamics": lambda A: (
        A.mass.inv @ (A.T - A.C) - A.mass.inv @ A.J.T @ A.Lambda @ (A.J @ A.mass.inv @ (A.T - A.C) + A.Jdot_v)
    ),
    "links that joints push": lambda A: A.phi.T @ A.H.T @ A.mass.inv @ A.T,
}


def stated(name, which):
    model = robot(name)
    moving = [frame for frame in model.frames if model.frame(frame).body == len(model.bodies) - 1]
    return STATEMENTS[which](ps.algebra(model, frames=moving[:1]))


@dataclass(frozen=True, eq=False)
class ByHand(Statements):
    """Statements that run by a form that is told, with all the freedom of what they are a form of."""

    by: Node | None = None

    def program(self) -> Program:
        assert self.by is not None
        return lower_all({"y": self.by}, bool(self.matrix))


def wanted_of(statement):
    return Statements((("y", statement.node),), statement.symbols, statement.setting, False, statement.model, {})


def operations_by(statement, form):
    wanted = ByHand((("y", statement.node),), statement.symbols, statement.setting, False, statement.model, {}, by=form)
    return trace_statements(wanted)[0].operations


@pytest.mark.sampled(8)
@pytest.mark.parametrize("which", STATEMENTS)
@pytest.mark.parametrize("name", ROBOTS)
def test_what_runs_is_the_cheapest_of_the_offered_forms_and_no_known_form_is_cheaper(name, which):
    statement = stated(name, which)
    wanted, runs = wanted_of(statement), statement.cost().total
    offers = forms_worth_counting(statement.node, statement.symbols, statement.setting)
    counts = [operations_by(statement, form.node) for form in offers]
    composite = [each.operations for each in tallies_of(wanted) if each.form == COMPOSITE]
    assert runs == min([*counts, *composite])
    known = [
        operations_by(statement, form.node) for form in forms(statement.node, statement.symbols, statement.setting)
    ]
    assert runs <= 1.01 * min(known)
    chosen_form = statement.simplify().node
    assert operations_by(statement, chosen_form) == min(counts)


def test_robots_differ_in_what_is_cheapest():
    taken = {name: stated(name, "forward dynamics").simplify().show() for name in ("chain", "anymal")}
    assert taken["chain"] != taken["anymal"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*ROBOTS, "long chain"])
def test_what_is_explained_is_counted_on_the_robot_and_begins_with_what_runs(name):
    statement = stated(name, "forward dynamics")
    search = statement.simplify(explain=True)
    counts = [each.operations for each in search.tried if each.operations is not None]
    assert counts == sorted(counts) and len(counts) > 3
    assert counts[0] == statement.cost().total == ps.compile(statement).operations
    assert str(search).splitlines()[0] == f"ℳ⁻¹(T − 𝒞 − 𝒢): operations for {robot(name).name}"
    assert search.best.node is ps.compile(statement).derivation().result


def test_link_by_link_the_form_that_counts_least_runs():
    statement = stated("long chain", "forward dynamics")
    found = tallies_of(wanted_of(statement))
    assert choose_schedule(wanted_of(statement)).schedule == "link by link"
    assert found[0].operations < next(each.operations for each in found if not each.taken)
    assert ps.compile(statement).operations == found[0].operations


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*ROBOTS, pytest.param("long chain", marks=pytest.mark.slow)])
def test_every_form_that_may_run_has_the_value_of_the_statement(name):
    statement, model = stated(name, "acceleration of the frame"), robot(name)
    rng = np.random.default_rng(3)
    q, v, T = 0.5 * rng.normal(size=model.nq), rng.normal(size=model.nv), rng.normal(size=model.nv)
    expected = statement.dense(q, v=v, T=T)
    for form in forms_worth_counting(statement.node, statement.symbols, statement.setting):
        assert relative(replace(statement, node=form.node).dense(q, v=v, T=T), expected) < 1e-9
    compiled = ps.compile(statement)
    given = {"q": q, "v": v, "T": T}
    assert relative(compiled(*(given[name] for name in compiled.inputs)), expected) < 1e-9


def test_the_order_of_arguments_is_that_of_the_statement_whichever_form_runs():
    named = {ps.compile(stated(name, "forward dynamics")).inputs for name in (*ROBOTS, "long chain")}
    assert len(named) == 1


def test_counts_are_kept_so_that_no_later_start_traces_more_than_what_runs(monkeypatch):
    statement = stated("two arms", "held forward dynamics")
    first = wanted_of(statement)
    assert len(first.tallies) > 1
    again = wanted_of(statement)
    monkeypatch.setattr("phistar.backends.kernel.record_statements", lambda *given: pytest.fail("counted again"))
    monkeypatch.setattr("phistar.backends.kernel.equal_forms", lambda *given: pytest.fail("derived again"))
    assert again.tallies == first.tallies
