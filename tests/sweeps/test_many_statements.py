"""Sixty statements that no paper names: each in O(n), with its operations, and no form that is known is cheaper."""

import pytest

import phistar as ps

CHAIN = ps.algebra(frames=["tip"])
TREE = ps.algebra(frames=["left", "right"], tree=True)
ARMED = ps.algebra(frames=["tip"], armature=True)


def springs(A):
    return A.operator("S", "Rates", "Torques", structure="positive block-diagonal")


def projected(A):
    return A.mass.inv @ (A.mass - A.J.T @ A.Lambda @ A.J) @ A.mass.inv


def closed(A):
    """Forward dynamics with closures, and what closes them."""
    effective, forces = (A.Q @ A.J @ A.mass.inv @ A.J.T @ A.Q.T).inv, A.T - A.C - A.g
    pull = effective @ (A.Q @ A.J @ A.mass.inv @ forces + A.Q @ A.Jdot_v)
    return A.mass.inv @ (forces - A.J.T @ A.Q.T @ pull), pull


STATEMENTS = {
    "null space of the task": lambda A: A.I - A.mass.inv @ A.J.T @ A.Lambda @ A.J,
    "null space of the task, forces": lambda A: A.I - A.J.T @ A.Lambda @ A.J @ A.mass.inv,
    "projected inverse": projected,
    "projected accelerations": lambda A: (A.I - A.mass.inv @ A.J.T @ A.Lambda @ A.J) @ A.mass.inv @ A.T,
    "dynamically consistent inverse": lambda A: A.mass.inv @ A.J.T @ A.Lambda,
    "its adjoint": lambda A: A.Lambda @ A.J @ A.mass.inv,
    "force for a task acceleration": lambda A: A.Lambda @ (A.u - A.Jdot_v),
    "torques for a task acceleration": lambda A: A.J.T @ A.Lambda @ (A.u - A.Jdot_v) + A.C + A.g,
    "tip acceleration": lambda A: A.J @ A.mass.inv @ (A.T - A.C - A.g) + A.Jdot_v,
    "tip acceleration of torques": lambda A: A.J @ A.mass.inv @ A.T,
    "tip force of torques": lambda A: A.Lambda @ A.J @ A.mass.inv @ A.T,
    "accelerations with a task force": lambda A: A.mass.inv @ (A.T - A.C - A.g - A.J.T @ A.f),
    "momentum": lambda A: A.E @ A.phi @ A.M @ A.V,
    "kinetic energy": lambda A: A.v.T @ A.mass @ A.v,
    "power of gravity": lambda A: A.v.T @ A.g,
    "energy of accelerations": lambda A: A.qdd.T @ A.mass @ A.qdd,
    "mass twice": lambda A: A.mass @ A.U @ A.mass,
    "inverse twice": lambda A: A.mass.inv @ A.U.inv @ A.mass.inv,
    "mass with springs": lambda A: A.mass + springs(A),
    "inverse with springs": lambda A: (A.mass + springs(A)).inv,
    "accelerations with springs": lambda A: (A.mass + springs(A)).inv @ (A.T - A.C - A.g),
    "springs seen through inertia": lambda A: A.mass.inv @ springs(A) @ A.mass.inv,
    "parallel of inertia and springs": lambda A: (A.mass.inv + springs(A).inv).inv,
    "difference of inverses": lambda A: A.mass.inv - (A.mass + springs(A)).inv,
    "implicit step": lambda A: (A.mass + springs(A)).inv @ (A.mass @ A.v + A.T),
    "mobility of springs": lambda A: A.J @ springs(A).inv @ A.J.T,
    "stiffness of springs at the task": lambda A: (A.J @ springs(A).inv @ A.J.T).inv,
    "mobility with springs": lambda A: A.J @ (A.mass + springs(A)).inv @ A.J.T,
    "inertia with springs at the task": lambda A: (A.J @ (A.mass + springs(A)).inv @ A.J.T).inv,
    "damped least squares": lambda A: (A.J.T @ A.U_task @ A.J + springs(A)).inv,
    "damped least squares step": lambda A: (A.J.T @ A.U_task @ A.J + springs(A)).inv @ A.J.T @ A.U_task @ A.u,
    "inertia with a load": lambda A: (A.mass + A.J.T @ A.U_task @ A.J).inv,
    "accelerations with a load": lambda A: (A.mass + A.J.T @ A.U_task @ A.J).inv @ (A.T - A.C - A.g),
    "factor": lambda A: A.I + A.H @ A.phi @ A.K,
    "factor, inverted": lambda A: (A.I + A.H @ A.phi @ A.K).inv,
    "factor times its adjoint": lambda A: (A.I + A.H @ A.phi @ A.K) @ A.D @ (A.I + A.H @ A.phi @ A.K).T,
    "gain outside, inverted": lambda A: (A.I + A.K @ A.H @ A.phi).inv,
    "gain inside, inverted": lambda A: (A.I + A.phi @ A.K @ A.H).inv,
    "filter, inverted": lambda A: (A.I - A.psi @ A.K @ A.H).inv,
    "articulated by rigid": lambda A: A.psi @ A.phi.inv,
    "rigid by articulated": lambda A: A.phi @ A.psi.inv,
    "link accelerations": lambda A: A.phi.T @ (A.H.T @ A.mass.inv @ (A.T - A.C - A.g) + A.a),
    "link forces": lambda A: A.phi @ (A.M @ A.phi.T @ (A.H.T @ A.qdd + A.a) + A.b),
    "base force": lambda A: A.E @ A.phi @ (A.M @ A.phi.T @ (A.H.T @ A.qdd + A.a) + A.b),
    "base force of free motion": lambda A: A.E @ A.phi @ (A.M @ A.phi.T @ (A.H.T @ A.mass.inv @ A.T + A.a) + A.b),
    "base force of torques": lambda A: A.E @ A.phi @ A.M @ A.phi.T @ A.H.T @ A.mass.inv,
    "rate of the mass matrix": lambda A: A.mass.rate(),
    "rate of its inverse": lambda A: A.mass.inv.rate(),
    "rate of the Jacobian": lambda A: A.J.rate(),
    "rate of the mobility": lambda A: (A.J @ A.mass.inv @ A.J.T).rate(),
    "rate of φ": lambda A: A.phi.rate(),
    "rate of ψ": lambda A: A.psi.rate(),
    "rate of momentum": lambda A: (A.E @ A.phi @ A.M @ A.V).rate(),
    "gradient of log det": lambda A: A.mass.log_determinant().derivative(wrt="q"),
    "gradient of kinetic energy": lambda A: (A.v.T @ A.mass @ A.v).derivative(wrt="q"),
    "closed accelerations": lambda A: closed(A)[0],
    "closure forces": lambda A: closed(A)[1],
    "closed mobility": lambda A: (A.Q @ A.J @ A.mass.inv @ A.J.T @ A.Q.T).inv,
    "closed inverse": lambda A: (
        A.mass.inv - A.mass.inv @ A.J.T @ A.Q.T @ (A.Q @ A.J @ A.mass.inv @ A.J.T @ A.Q.T).inv @ A.Q @ A.J @ A.mass.inv
    ),
    "task bias": lambda A: A.Lambda @ (A.J @ A.mass.inv @ A.C - A.Jdot_v),
    "task gravity": lambda A: A.Lambda @ A.J @ A.mass.inv @ A.g,
}
COUNTS = {
    "null space of the task": 19566,
    "null space of the task, forces": 19641,
    "projected inverse": 21653,
    "projected accelerations": 21653,
    "dynamically consistent inverse": 18275,
    "its adjoint": 18351,
    "force for a task acceleration": 20106,
    "torques for a task acceleration": 25510,
    "tip acceleration": 22440,
    "tip acceleration of torques": 16313,
    "tip force of torques": 18351,
    "accelerations with a task force": 21915,
    "momentum": 3875,
    "kinetic energy": 3892,
    "power of gravity": 2261,
    "energy of accelerations": 3892,
    "mass twice": 7666,
    "inverse twice": 17633,
    "mass with springs": 3953,
    "inverse with springs": 14504,
    "accelerations with springs": 20100,
    "springs seen through inertia": 18039,
    "parallel of inertia and springs": 14623,
    "difference of inverses": 29006,
    "implicit step": 14652,
    "mobility of springs": 4408,
    "stiffness of springs at the task": 14746,
    "mobility with springs": 16101,
    "inertia with springs at the task": 16513,
    "damped least squares": 15921,
    "damped least squares step": 15940,
    "inertia with a load": 16341,
    "accelerations with a load": 22749,
    "factor": 12849,
    "factor, inverted": 12849,
    "factor times its adjoint": 3833,
    "gain outside, inverted": 14391,
    "gain inside, inverted": 12994,
    "filter, inverted": 12994,
    "articulated by rigid": 12994,
    "rigid by articulated": 12994,
    "link accelerations": 20535,
    "link forces": 7646,
    "base force": 7688,
    "base force of free motion": 20812,
    "base force of torques": 12891,
    "rate of the mass matrix": 8204,
    "rate of its inverse": 21826,
    "rate of the Jacobian": 5838,
    "rate of the mobility": 23996,
    "rate of φ": 2954,
    "rate of ψ": 32118,
    "rate of momentum": 9429,
    "gradient of log det": 19323,
    "gradient of kinetic energy": 5781,
    "closed accelerations": 47430,
    "closure forces": 41878,
    "closed mobility": 32520,
    "closed inverse": 40715,
    "task bias": 23910,
    "task gravity": 18584,
}
"""Operations for thirty links, applied to one vector."""


def algebra_of(name):
    return TREE if name.startswith("clos") else ARMED if "spring" in name else CHAIN


def test_there_are_sixty():
    assert len(STATEMENTS) >= 60
    assert STATEMENTS.keys() == COUNTS.keys()


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_costs_what_it_did_in_order_n_and_no_form_that_was_tried_is_cheaper(name):
    statement = STATEMENTS[name](algebra_of(name))
    twenty, thirty, forty = (statement.cost(n).total for n in (20, 30, 40))
    assert thirty <= COUNTS[name]
    assert forty - thirty == thirty - twenty
    tried = [each.operations for each in statement.simplify(explain=True).tried if each.operations is not None]
    assert all(thirty <= 1.01 * operations for operations in tried)
