"""Further statements with the best form that is known by hand: triangular operators to be inverted, and multiples of
inertias and weights."""

from tests.identities.researchers import TREE, Case, Study

TRIANGULAR: dict[str, Case] = {
    "twice all links but one": Case(
        lambda a: (2 * a.phi - a.I).inv @ a.b, lambda a: (a.I - a.E_phi) @ (a.I + a.E_phi).inv @ a.b
    ),
    "links and all links": Case(lambda a: (a.I + a.phi).inv @ a.b, lambda a: a.b - (2 * a.I - a.E_phi).inv @ a.b),
    "neighbours": Case(lambda a: (a.I + a.E_phi).inv @ a.b, lambda a: (a.I + a.E_phi).inv @ a.b),
    "sums of sums": Case(
        lambda a: (a.phi + a.phi @ a.phi).inv @ a.b, lambda a: (2 * a.I - a.E_phi).inv @ a.b - a.E_phi @ a.b
    ),
    "locked and free together": Case(
        lambda a: (a.phi + a.psi).inv @ a.b,
        lambda a: (
            (a.b - a.E_phi @ a.b) / 2
            + a.K @ (a.H @ a.b - a.H @ (2 * a.I - 2 * a.E_phi + a.K @ a.H).inv @ a.K @ a.H @ a.b) / 4
        ),
    ),
    "locked and free, seen from the base": Case(
        lambda a: (a.phi + a.psi).T.inv @ a.H.T @ a.v,
        lambda a: (
            (a.I - a.E_phi).T @ (2 * a.I - 2 * a.E_phi + a.K @ a.H).T.inv @ (a.I - a.E_phi + a.K @ a.H).T @ a.H.T @ a.v
        ),
    ),
    "locked and free together, a tree": Case(
        lambda a: (a.phi + a.psi).inv @ a.b,
        lambda a: (
            (a.b - a.E_phi @ a.b) / 2
            + a.K @ (a.H @ a.b - a.H @ (2 * a.I - 2 * a.E_phi + a.K @ a.H).inv @ a.K @ a.H @ a.b) / 4
        ),
        TREE,
    ),
    "half a filter": Case(
        lambda a: (a.I + 2 * a.H @ a.phi @ a.K).inv @ a.T,
        lambda a: a.T - 2 * a.H @ (a.I - a.E_phi + 2 * a.K @ a.H).inv @ a.K @ a.T,
    ),
    "a filter's filter": Case(
        lambda a: (a.I + a.H @ a.psi @ a.K).inv @ a.T,
        lambda a: a.T - a.H @ (a.I - a.E_phi + 2 * a.K @ a.H).inv @ a.K @ a.T,
    ),
    "weighted innovations": Case(
        lambda a: (a.N + a.H @ a.phi @ a.K).inv @ a.T,
        lambda a: a.N.inv @ (a.T - a.H @ (a.I - a.E_phi + a.K @ a.N.inv @ a.H).inv @ a.K @ a.N.inv @ a.T),
    ),
    "inertia beside springs, in parts": Case(
        lambda a: (a.mass.inv + 2 * a.W.inv).inv @ a.v,
        lambda a: (a.W @ a.v - a.W @ a.pair(2 * a.M, a.W).solved(a.W @ a.v)) / 2,
    ),
    "inertia on springs of inertia": Case(
        lambda a: (a.mass + a.mass @ a.W.inv @ a.mass).inv @ a.T,
        lambda a: a.pair(a.M, a.W).solved(a.W @ a.solved(a.T)),
    ),
    "springs, twice the inertia": Case(
        lambda a: (2 * a.mass + a.W).inv @ a.T, lambda a: a.pair(2 * a.M, a.W).solved(a.T)
    ),
    "springs and a spring at the tip, felt there": Case(
        lambda a: a.J @ (a.mass + a.W + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.f,
        lambda a: felt(a, a.B.T @ a.pair(a.M, a.W).Omega @ a.B),
    ),
    "Newton-Euler of springs": Case(
        lambda a: a.mass @ (a.mass + a.W).inv @ a.T, lambda a: a.T - a.W @ a.pair(a.M, a.W).solved(a.T)
    ),
    "work of forces through springs": Case(
        lambda a: a.T.T @ (a.mass + a.W).inv @ a.T,
        lambda a: (a.pair(a.M, a.W).whitening @ a.T).T @ a.pair(a.M, a.W).D.inv @ a.pair(a.M, a.W).whitening @ a.T,
    ),
}


def felt(a: Study, omega):
    return omega @ (a.f - (a.X.inv + omega).inv @ omega @ a.f)
