"""More statements as a researcher writes them: filter gains, dampers, products of inverses, operators of the links.

Each with the best form that is known by hand, in the symbols of `tests/identities/researchers.py`.
"""

from typing import Any

from phistar.expression import Expression
from tests.identities.researchers import Case, Study


def gain(a: Study) -> Expression:
    """Kalman's, of a measurement of tip rates with the information X."""
    return a.mass.inv @ a.J.T @ (a.J @ a.mass.inv @ a.J.T + a.X.inv).inv


def task_inertia(a: Study) -> Expression:
    return (a.J @ a.mass.inv @ a.J.T).inv


def solved(a: Any, x: Expression) -> Expression:
    """(I − HψK)*D⁻¹(I − HψK)x."""
    return a.whitening.T @ a.D.inv @ a.whitening @ x


def sprung(a: Study, metric: Expression, x: Expression) -> Expression:
    """ℳ⁻¹ with a spring at the tip, by the matrix inversion lemma."""
    innovations = a.D.inv @ a.whitening @ x
    felt = (metric.inv + a.omega).inv @ a.B.T @ a.psi.T @ a.H.T @ innovations
    return a.whitening.T @ (innovations - a.D.inv @ a.H @ a.psi @ a.B @ felt)


def damped(a: Study, x: Expression) -> Expression:
    """ℳ and W in parallel."""
    return a.W @ x - a.W @ solved(a.pair(a.M, a.W), a.W @ x)


def damped_links(a: Study) -> Expression:
    return a.B.T @ a.phi.T @ a.H.T @ a.W.inv @ a.H @ a.phi @ a.B


GAINS = {
    "push-through": Case(lambda a: (a.I + a.mass @ a.W.inv).inv @ a.T, lambda a: a.W @ solved(a.pair(a.M, a.W), a.T)),
    "push-through on the left": Case(lambda a: (a.I + a.W @ a.mass.inv).inv @ a.W @ a.v, lambda a: damped(a, a.v)),
    "push-through of links": Case(lambda a: (a.I + a.M @ a.L.inv).inv, lambda a: a.L @ (a.M + a.L).inv),
    "damped least squares": Case(
        lambda a: (a.W + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.X @ a.m,
        lambda a: a.W.inv @ a.H @ a.phi @ a.B @ (damped_links(a) + a.X.inv).inv @ a.m,
    ),
    "gain of a filter": Case(
        lambda a: (a.mass + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.X @ a.m,
        lambda a: a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ (a.X.inv + a.omega).inv @ a.m,
    ),
    "Joseph's covariance": Case(
        lambda a: (
            (a.I - gain(a) @ a.J) @ a.mass.inv @ (a.I - gain(a) @ a.J).T @ a.T + gain(a) @ a.X.inv @ gain(a).T @ a.T
        ),
        lambda a: sprung(a, a.X, a.T),
    ),
    "information after a measurement": Case(
        lambda a: (a.mass.inv - gain(a) @ a.J @ a.mass.inv).inv @ a.v,
        lambda a: a.H @ a.phi @ (a.M + a.B @ a.X @ a.B.T) @ a.phi.T @ a.H.T @ a.v,
    ),
    "Schur complement": Case(
        lambda a: (a.mass - a.mass @ (a.mass + a.W).inv @ a.mass).inv @ a.T,
        lambda a: solved(a, a.T) + a.W.inv @ a.T,
    ),
    "two springs at the tip": Case(
        lambda a: (a.mass + a.J.T @ a.X @ a.J + 3 * (a.J.T @ a.X.T @ a.J)).inv @ a.T,
        lambda a: sprung(a, 4 * a.X, a.T),
    ),
    "null space, twice": Case(
        lambda a: (
            (a.I - a.J.T @ task_inertia(a) @ a.J @ a.mass.inv)
            @ a.mass
            @ (a.I - a.mass.inv @ a.J.T @ task_inertia(a) @ a.J)
        ),
        lambda a: a.H @ a.phi @ (a.M - a.B @ a.omega.inv @ a.B.T) @ a.phi.T @ a.H.T,
    ),
    "difference of inverses": Case(
        lambda a: (a.mass.inv - (a.mass + a.W).inv) @ a.T,
        lambda a: solved(a, a.T) - solved(a.pair(a.M, a.W), a.T),
    ),
    "articulated and plain masses": Case(lambda a: (a.P + a.M).inv @ a.P, lambda a: (a.P + a.M).inv @ a.P),
    "masses in parallel": Case(lambda a: (a.M.inv + a.L.inv).inv, lambda a: a.M @ (a.M + a.L).inv @ a.L),
    "masses around masses": Case(lambda a: (a.P @ a.M.inv @ a.P).inv, lambda a: a.P.inv @ a.M @ a.P.inv),
    "gain of one joint": Case(
        lambda a: a.P @ a.H.T @ (a.H @ a.P @ a.H.T + a.W).inv, lambda a: a.G @ a.D @ (a.D + a.W).inv
    ),
    "mobility of damped joints": Case(
        lambda a: a.J @ (a.H @ a.P @ a.H.T + a.W).inv @ a.J.T,
        lambda a: a.B.T @ a.phi.T @ a.H.T @ (a.D + a.W).inv @ a.H @ a.phi @ a.B,
    ),
    "inertia with articulated masses": Case(
        lambda a: (a.mass + a.D).inv @ a.T, lambda a: solved(a.pair(a.M, a.D), a.T)
    ),
    "masses in parallel, seen by joints": Case(
        lambda a: (a.H @ a.phi @ (a.M.inv + a.L.inv).inv @ a.phi.T @ a.H.T).inv @ a.T,
        lambda a: solved(a.pair((a.M.inv + a.L.inv).inv, 0 * a.W), a.T),
    ),
    "forces of links": Case(
        lambda a: (a.phi @ a.M @ a.phi.T).inv, lambda a: (a.I - a.E_phi).T @ a.M.inv @ (a.I - a.E_phi)
    ),
    "springs in parallel with inertia": Case(lambda a: (a.mass.inv + a.W.inv).inv @ a.v, lambda a: damped(a, a.v)),
}
