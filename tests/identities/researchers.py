"""Statements as a researcher writes them, each with the best form that is known by hand.

Weights and springs of joints (W), metrics at frames and closures (X, Y), masses added to links (L), selections of
motors (N), forces and reference rates; chains, trees, several frames. A hand's form is counted as it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import phistar as ps
from phistar.expression import Expression

CHAIN: dict[str, Any] = {}
TREE = {"tree": True, "armature": True}
TWO = {"tree": True, "frames": ["one", "two"]}


@dataclass(frozen=True)
class Study:
    """An algebra with symbols of one's own, and the Riccati set of another pair of masses and weights."""

    kind: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def algebra(self) -> Any:
        return ps.algebra(**self.kind)

    def __getattr__(self, name: str) -> Expression:
        return getattr(self.algebra, name)

    @cached_property
    def own(self) -> dict[str, Expression]:
        joints, tasks, closures = (
            ("Rates", "Torques"),
            ("TaskMotions", "TaskForces"),
            ("ClosureMotions", "ClosureForces"),
        )
        over = "positive block-diagonal"
        made = {"Wj": (*joints, over), "Ll": ("Motions", "Forces", over), "Xt": (*tasks, "positive")}
        made |= {"Yc": (*closures, "positive"), "Nm": ("Torques", "Torques", "block-diagonal")}
        return {name: self.algebra.operator(name, *rest) for name, rest in made.items()}

    W = property(lambda self: self.own["Wj"])
    L = property(lambda self: self.own["Ll"])
    X = property(lambda self: self.own["Xt"])
    Y = property(lambda self: self.own["Yc"])
    N = property(lambda self: self.own["Nm"])
    m = property(lambda self: self.algebra.vector("m", "TaskMotions"))

    @property
    def whitening(self) -> Expression:
        """I − HψK."""
        return self.I - self.H @ self.psi @ self.K

    @property
    def omega(self) -> Expression:
        """B*ΩB on a chain."""
        return self.B.T @ self.Omega @ self.B

    @property
    def unexplained(self) -> Expression:
        """(I − HψK)(T − 𝒞)."""
        return self.T - self.H @ self.psi @ (self.K @ self.T + self.M @ self.phi.T @ self.a + self.b)

    def solved(self, x: Expression) -> Expression:
        """ℳ⁻¹x."""
        return self.whitening.T @ self.D.inv @ self.whitening @ x

    def pair(self, mass: Expression, weight: Expression | None = None) -> "Pair":
        return Pair(self, mass, weight)


@dataclass(frozen=True)
class Pair:
    """P, D, G, ψ, … of HφMφ*H* + W."""

    study: Study
    mass: Expression
    weight: Expression | None

    def __getattr__(self, name: str) -> Expression:
        s = self.study.algebra.symbols
        weight = s.A if self.weight is None else self.weight.node
        return self.study.algebra.expression(getattr(s.with_pair(self.mass.node, weight), name))

    @property
    def whitening(self) -> Expression:
        return self.study.I - self.study.H @ self.psi @ self.K

    def solved(self, x: Expression) -> Expression:
        return self.whitening.T @ self.D.inv @ self.whitening @ x


@dataclass(frozen=True)
class Case:
    statement: Callable[[Study], Expression]
    hand: Callable[[Study], Expression]
    kind: dict[str, Any] = field(default_factory=dict)
    matrix: bool = False


CASES: dict[str, Case] = {
    "springs on joints": Case(lambda a: (a.mass + a.W).inv @ a.T, lambda a: a.pair(a.M, a.W).solved(a.T)),
    "springs seen at the tip": Case(
        lambda a: a.J @ (a.mass + a.W).inv @ a.J.T, lambda a: a.B.T @ a.pair(a.M, a.W).Omega @ a.B
    ),
    "added masses": Case(
        lambda a: (a.mass + a.H @ a.phi @ a.L @ a.phi.T @ a.H.T).inv @ a.T, lambda a: a.pair(a.M + a.L).solved(a.T)
    ),
    "added masses moved": Case(
        lambda a: (a.mass + a.H @ a.phi @ a.L @ a.phi.T @ a.H.T) @ a.v,
        lambda a: a.H @ a.phi @ (a.M + a.L) @ a.phi.T @ a.H.T @ a.v,
    ),
    "only springs and added masses": Case(
        lambda a: (a.H @ a.phi @ a.L @ a.phi.T @ a.H.T + a.W).inv @ a.T, lambda a: a.pair(a.L, a.W).solved(a.T)
    ),
    "weighted inverse squared": Case(
        lambda a: a.mass.inv @ a.W @ a.mass.inv @ a.T, lambda a: a.solved(a.W @ a.solved(a.T))
    ),
    "springs in series with inertia": Case(
        lambda a: (a.W.inv + a.mass.inv).inv @ a.v, lambda a: a.W @ a.v - a.W @ a.pair(a.M, a.W).solved(a.W @ a.v)
    ),
    "dynamically consistent inverse": Case(
        lambda a: a.mass.inv @ a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.m,
        lambda a: a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.omega.inv @ a.m,
    ),
    "null space of the task, rates": Case(
        lambda a: a.v - a.mass.inv @ a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.J @ a.v,
        lambda a: a.v - a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.omega.inv @ a.B.T @ a.phi.T @ a.H.T @ a.v,
    ),
    "null space of the task, forces": Case(
        lambda a: a.T - a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.J @ a.mass.inv @ a.T,
        lambda a: a.T - a.H @ a.phi @ a.B @ a.omega.inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "felt force of motors": Case(
        lambda a: (a.J @ a.mass.inv @ a.J.T).inv @ a.J @ a.mass.inv @ a.T,
        lambda a: a.omega.inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "constrained forward dynamics": Case(
        lambda a: a.mass.inv @ (a.T - a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.J @ a.mass.inv @ a.T),
        lambda a: (
            a.whitening.T
            @ a.D.inv
            @ (
                a.whitening @ a.T
                - a.H @ a.psi @ a.B @ a.omega.inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T
            )
        ),
    ),
    "some motors on the tip": Case(
        lambda a: a.J @ a.mass.inv @ a.N @ a.T,
        lambda a: a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.N @ a.T,
    ),
    "reach of weighted motors": Case(
        lambda a: a.J @ a.mass.inv @ a.W @ a.mass.inv @ a.J.T @ a.f,
        lambda a: (
            a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.W @ a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.f
        ),
    ),
    "energy of an impulse": Case(
        lambda a: a.T.T @ a.mass.inv @ a.T, lambda a: (a.whitening @ a.T).T @ a.D.inv @ a.whitening @ a.T
    ),
    "energy of a blow at the tip": Case(
        lambda a: a.f.T @ a.J @ a.mass.inv @ a.J.T @ a.f,
        lambda a: (a.H @ a.psi @ a.B @ a.f).T @ a.D.inv @ a.H @ a.psi @ a.B @ a.f,
    ),
    "kinetic energy": Case(lambda a: a.v.T @ a.mass @ a.v, lambda a: a.V.T @ a.M @ a.V),
    "kinetic energy and springs": Case(
        lambda a: a.v.T @ (a.mass + a.W) @ a.v, lambda a: a.V.T @ a.M @ a.V + a.v.T @ a.W @ a.v
    ),
    "power of Coriolis forces": Case(lambda a: a.v.T @ a.C, lambda a: a.V.T @ (a.M @ a.phi.T @ a.a + a.b)),
    "tip velocity after an impulse": Case(
        lambda a: a.J @ a.v + a.J @ a.mass.inv @ a.T,
        lambda a: a.B.T @ (a.V + a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T),
    ),
    "inverse dynamics with a force": Case(
        lambda a: a.mass @ a.qdd + a.J.T @ a.f, lambda a: a.H @ a.phi @ (a.M @ a.phi.T @ a.H.T @ a.qdd + a.B @ a.f)
    ),
    "two accelerations": Case(
        lambda a: a.mass @ a.qdd + a.mass @ a.v, lambda a: a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ (a.qdd + a.v)
    ),
    "joint and tip forces": Case(
        lambda a: a.mass.inv @ a.T + a.mass.inv @ a.J.T @ a.f,
        lambda a: a.whitening.T @ a.D.inv @ (a.T - a.H @ a.psi @ (a.K @ a.T - a.B @ a.f)),
    ),
    "tip spring, implicit": Case(
        lambda a: (a.mass + a.J.T @ a.X @ a.J).inv @ a.T,
        lambda a: (
            a.solved(a.T)
            - a.whitening.T
            @ a.D.inv
            @ a.H
            @ a.psi
            @ a.B
            @ (a.X.inv + a.omega).inv
            @ a.B.T
            @ a.psi.T
            @ a.H.T
            @ a.D.inv
            @ a.whitening
            @ a.T
        ),
    ),
    "tip spring, implicit, on the left": Case(
        lambda a: (a.mass + a.J.T @ a.X @ a.J).inv @ a.T,
        lambda a: (
            a.whitening.T
            @ a.D.inv
            @ (
                a.whitening @ a.T
                - a.H @ a.psi @ a.B @ (a.X.inv + a.omega).inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T
            )
        ),
    ),
    "tip inertia with a spring": Case(
        lambda a: ((a.J @ a.mass.inv @ a.J.T).inv + a.X).inv @ a.f,
        lambda a: a.omega @ (a.f - (a.X.inv + a.omega).inv @ a.omega @ a.f),
    ),
    "spring behind the tip": Case(
        lambda a: (a.J @ a.mass.inv @ a.J.T + a.X.inv).inv @ a.m, lambda a: (a.omega + a.X.inv).inv @ a.m
    ),
    "soft closures": Case(
        lambda a: (a.Q @ a.J @ a.mass.inv @ a.J.T @ a.Q.T + a.Y.inv).inv @ a.Q @ a.J @ a.v,
        lambda a: (a.Q @ a.omega @ a.Q.T + a.Y.inv).inv @ a.Q @ a.B.T @ a.V,
    ),
    "forces of soft closures": Case(
        lambda a: a.J.T @ a.Q.T @ a.Y @ a.Q @ a.J @ a.v,
        lambda a: a.H @ a.phi @ a.B @ a.Q.T @ a.Y @ a.Q @ a.B.T @ a.V,
    ),
    "compliance at the tip": Case(lambda a: a.J.T @ a.X @ a.J @ a.v, lambda a: a.H @ a.phi @ a.B @ a.X @ a.B.T @ a.V),
    "compliance and a force": Case(
        lambda a: a.J.T @ a.X @ a.J @ a.v + a.J.T @ a.f, lambda a: a.H @ a.phi @ a.B @ (a.X @ a.B.T @ a.V + a.f)
    ),
    "weighted pseudo-inverse": Case(
        lambda a: a.W.inv @ a.J.T @ (a.J @ a.W.inv @ a.J.T).inv @ a.m,
        lambda a: a.W.inv @ a.H @ a.phi @ a.B @ (a.B.T @ a.phi.T @ a.H.T @ a.W.inv @ a.H @ a.phi @ a.B).inv @ a.m,
    ),
    "damped least squares": Case(
        lambda a: (a.J.T @ a.X @ a.J + a.W).inv @ a.T,
        lambda a: (
            a.W.inv @ a.T
            - a.W.inv
            @ a.H
            @ a.phi
            @ a.B
            @ (a.X.inv + a.B.T @ a.phi.T @ a.H.T @ a.W.inv @ a.H @ a.phi @ a.B).inv
            @ a.B.T
            @ a.phi.T
            @ a.H.T
            @ a.W.inv
            @ a.T
        ),
    ),
    "damped least squares of a tip": Case(
        lambda a: (a.J.T @ a.X @ a.J + a.W).inv @ a.J.T @ a.f,
        lambda a: (
            a.W.inv
            @ a.H
            @ a.phi
            @ a.B
            @ (
                a.f
                - (a.X.inv + a.B.T @ a.phi.T @ a.H.T @ a.W.inv @ a.H @ a.phi @ a.B).inv
                @ a.B.T
                @ a.phi.T
                @ a.H.T
                @ a.W.inv
                @ a.H
                @ a.phi
                @ a.B
                @ a.f
            )
        ),
    ),
    "gain of the filter": Case(lambda a: a.P @ a.H.T @ a.D.inv @ a.T, lambda a: a.G @ a.T),
    "innovations": Case(lambda a: (a.I + a.H @ a.phi @ a.K).inv @ a.T, lambda a: a.T - a.H @ a.psi @ a.K @ a.T),
    "whitening by the square root": Case(
        lambda a: a.D.inv @ (a.I + a.H @ a.phi @ a.K).inv @ (a.T - a.C),
        lambda a: a.D.inv @ (a.T - a.H @ a.psi @ (a.K @ a.T + a.P @ a.a + a.b)) - a.K.T @ a.phi.T @ a.a,
    ),
    "closed loop of the filter": Case(lambda a: (a.I - a.E_phi + a.K @ a.H).inv @ a.b, lambda a: a.psi @ a.b),
    "coloured again": Case(
        lambda a: (a.I + a.H @ a.phi @ a.K) @ a.D @ (a.I + a.H @ a.phi @ a.K).T @ a.v,
        lambda a: a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ a.v,
    ),
    "link accelerations": Case(
        lambda a: a.phi.T @ a.H.T @ a.mass.inv @ a.T, lambda a: a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T
    ),
    "forces between links": Case(
        lambda a: a.phi @ a.M @ a.phi.T @ a.H.T @ a.mass.inv @ a.T,
        lambda a: a.psi @ a.K @ a.T + a.P @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "momentum of the links": Case(
        lambda a: a.M @ a.phi.T @ a.H.T @ a.mass.inv @ a.T,
        lambda a: a.M @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "weighted inertia twice": Case(
        lambda a: (a.mass.inv @ a.W @ a.mass.inv).inv @ a.v,
        lambda a: a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ a.W.inv @ a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ a.v,
    ),
    "damper and a force at the tip": Case(
        lambda a: a.mass.inv @ (a.J.T @ a.f - a.W @ a.v),
        lambda a: a.whitening.T @ a.D.inv @ (a.H @ a.psi @ (a.B @ a.f + a.K @ a.W @ a.v) - a.W @ a.v),
    ),
    "implicit damper": Case(
        lambda a: (a.mass + a.W).inv @ (a.T - a.W @ a.v), lambda a: a.pair(a.M, a.W).solved(a.T - a.W @ a.v)
    ),
    "implicit damper at the tip": Case(
        lambda a: a.J @ (a.mass + a.W).inv @ (a.T - a.W @ a.v),
        lambda a: (
            a.B.T
            @ a.pair(a.M, a.W).psi.T
            @ a.H.T
            @ a.pair(a.M, a.W).D.inv
            @ a.pair(a.M, a.W).whitening
            @ (a.T - a.W @ a.v)
        ),
    ),
    "part of the springs": Case(lambda a: a.v - a.mass.inv @ (a.mass + a.W) @ a.v, lambda a: -a.solved(a.W @ a.v)),
    "inertia's part of what springs share": Case(
        lambda a: (a.mass + a.W).inv @ a.mass @ a.v, lambda a: a.v - a.pair(a.M, a.W).solved(a.W @ a.v)
    ),
    "inertia through springs": Case(
        lambda a: a.mass @ (a.mass + a.W).inv @ a.mass @ a.v,
        lambda a: a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ a.v - a.W @ (a.v - a.pair(a.M, a.W).solved(a.W @ a.v)),
    ),
    "weights behind a held tip": Case(
        lambda a: a.W @ a.mass.inv @ (a.T - a.J.T @ (a.J @ a.mass.inv @ a.J.T + a.X.inv).inv @ a.m),
        lambda a: (
            a.W @ a.whitening.T @ a.D.inv @ (a.T - a.H @ a.psi @ (a.K @ a.T + a.B @ (a.omega + a.X.inv).inv @ a.m))
        ),
    ),
    "two springs at the tip": Case(
        lambda a: (a.X + a.X).inv @ a.f + a.J @ a.v, lambda a: a.X.inv @ a.f / 2 + a.B.T @ a.V
    ),
    "rate of kinetic energy by springs": Case(
        lambda a: a.v.T @ a.mass @ a.qdd + a.v.T @ a.W @ a.v,
        lambda a: a.V.T @ a.M @ a.phi.T @ a.H.T @ a.qdd + a.v.T @ a.W @ a.v,
    ),
    "power at the tip": Case(lambda a: a.f.T @ a.J @ a.v, lambda a: a.f.T @ a.B.T @ a.V),
    "energy of a tip spring": Case(
        lambda a: a.v.T @ a.J.T @ a.X @ a.J @ a.v, lambda a: (a.B.T @ a.V).T @ a.X @ a.B.T @ a.V
    ),
    "energy held by soft closures": Case(
        lambda a: a.v.T @ a.J.T @ a.Q.T @ a.Y @ a.Q @ a.J @ a.v,
        lambda a: (a.Q @ a.B.T @ a.V).T @ a.Y @ a.Q @ a.B.T @ a.V,
    ),
    "kinetic energy of a tree": Case(
        lambda a: a.v.T @ a.mass @ a.v, lambda a: a.V.T @ a.M @ a.V + a.v.T @ a.A @ a.v, TREE
    ),
    "tip acceleration": Case(
        lambda a: a.J @ a.mass.inv @ (a.T - a.C) + a.Jdot_v,
        lambda a: (
            a.B.T @ (a.psi.T @ (a.a + a.H.T @ a.D.inv @ (a.T - a.H @ a.psi @ (a.K @ a.T + a.b + a.P @ a.a)))) + a.a0
        ),
    ),
    "operational inverse dynamics": Case(
        lambda a: a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.m + a.C,
        lambda a: a.H @ a.phi @ (a.B @ a.omega.inv @ a.m + a.M @ a.phi.T @ a.a + a.b),
    ),
    "inertia of a tree": Case(lambda a: a.mass.inv @ a.T, lambda a: a.solved(a.T), TREE),
    "springs of a tree": Case(lambda a: (a.mass + a.W).inv @ a.T, lambda a: a.pair(a.M, a.A + a.W).solved(a.T), TREE),
    "two frames of a tree": Case(
        lambda a: a.J @ a.mass.inv @ a.J.T @ a.f,
        lambda a: a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.f,
        TWO,
    ),
    "two frames held": Case(
        lambda a: a.mass.inv @ a.J.T @ (a.J @ a.mass.inv @ a.J.T).inv @ a.m,
        lambda a: (
            a.whitening.T
            @ a.D.inv
            @ a.H
            @ a.psi
            @ a.B
            @ (a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.H @ a.psi @ a.B).inv
            @ a.m
        ),
        TWO,
    ),
    "two frames on springs": Case(
        lambda a: (a.J @ a.mass.inv @ a.J.T + a.X.inv).inv @ a.m,
        lambda a: (a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.H @ a.psi @ a.B + a.X.inv).inv @ a.m,
        TWO,
    ),
    "two forces on a tree": Case(
        lambda a: a.mass.inv @ (a.T + a.J.T @ a.f),
        lambda a: a.whitening.T @ a.D.inv @ (a.T - a.H @ a.psi @ (a.K @ a.T - a.B @ a.f)),
        TWO,
    ),
    "closures of a tree": Case(
        lambda a: (
            a.mass.inv
            @ (a.T - a.J.T @ a.Q.T @ (a.Q @ a.J @ a.mass.inv @ a.J.T @ a.Q.T).inv @ a.Q @ a.J @ a.mass.inv @ a.T)
        ),
        lambda a: (
            a.whitening.T
            @ a.D.inv
            @ (
                a.whitening @ a.T
                - a.H
                @ a.psi
                @ a.B
                @ a.Q.T
                @ (a.Q @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.Q.T).inv
                @ a.Q
                @ a.B.T
                @ a.psi.T
                @ a.H.T
                @ a.D.inv
                @ a.whitening
                @ a.T
            )
        ),
        TWO,
    ),
    "energy of a tree's blow": Case(
        lambda a: a.f.T @ a.J @ a.mass.inv @ a.J.T @ a.f,
        lambda a: (a.H @ a.psi @ a.B @ a.f).T @ a.D.inv @ a.H @ a.psi @ a.B @ a.f,
        TWO,
    ),
    "motors and weights, least effort": Case(
        lambda a: a.W @ a.mass.inv @ a.J.T @ a.f,
        lambda a: a.W @ a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ a.f,
    ),
    "acceleration energy": Case(
        lambda a: (a.mass @ a.qdd - a.T).T @ a.mass.inv @ (a.mass @ a.qdd - a.T),
        lambda a: (
            a.qdd.T @ (a.H @ a.phi @ a.M @ a.phi.T @ a.H.T @ a.qdd - 2 * a.T)
            + (a.whitening @ a.T).T @ a.D.inv @ a.whitening @ a.T
        ),
    ),
    "what springs take away": Case(
        lambda a: a.mass.inv @ a.T - (a.mass + a.W).inv @ a.T,
        lambda a: a.solved(a.T) - a.pair(a.M, a.W).solved(a.T),
    ),
    "springs after inertia": Case(
        lambda a: a.mass.inv @ a.W @ (a.mass + a.W).inv @ a.T,
        lambda a: a.solved(a.T) - a.pair(a.M, a.W).solved(a.T),
    ),
    "a force against a tip spring": Case(
        lambda a: (a.mass + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.f,
        lambda a: a.whitening.T @ a.D.inv @ a.H @ a.psi @ a.B @ (a.f - (a.X.inv + a.omega).inv @ a.omega @ a.f),
    ),
    "motors against a tip spring": Case(
        lambda a: a.J @ (a.mass + a.J.T @ a.X @ a.J).inv @ a.T,
        lambda a: a.X.inv @ (a.X.inv + a.omega).inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "force in a tip spring": Case(
        lambda a: a.X @ a.J @ (a.mass + a.J.T @ a.X @ a.J).inv @ a.T,
        lambda a: (a.X.inv + a.omega).inv @ a.B.T @ a.psi.T @ a.H.T @ a.D.inv @ a.whitening @ a.T,
    ),
    "tip mobility against a spring": Case(
        lambda a: a.J @ (a.mass + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.f,
        lambda a: a.omega @ (a.f - (a.X.inv + a.omega).inv @ a.omega @ a.f),
    ),
    "energy left in a tip spring": Case(
        lambda a: a.f.T @ a.J @ (a.mass + a.J.T @ a.X @ a.J).inv @ a.J.T @ a.f,
        lambda a: a.f.T @ a.omega @ (a.f - (a.X.inv + a.omega).inv @ a.omega @ a.f),
    ),
    "motors of least effort at a point": Case(
        lambda a: a.N @ (a.T - a.J.T @ a.f) + a.N @ a.mass @ a.qdd,
        lambda a: a.N @ (a.T - a.H @ a.phi @ (a.B @ a.f - a.M @ a.phi.T @ a.H.T @ a.qdd)),
    ),
    "weighted effort": Case(
        lambda a: (a.mass @ a.qdd + a.C).T @ a.W.inv @ (a.mass @ a.qdd + a.C),
        lambda a: (
            (a.H @ a.phi @ (a.M @ a.phi.T @ (a.H.T @ a.qdd + a.a) + a.b)).T
            @ a.W.inv
            @ a.H
            @ a.phi
            @ (a.M @ a.phi.T @ (a.H.T @ a.qdd + a.a) + a.b)
        ),
    ),
    "weighted tip error": Case(
        lambda a: (a.J @ a.v - a.m).T @ a.X @ (a.J @ a.v - a.m),
        lambda a: (a.B.T @ a.V - a.m).T @ a.X @ (a.B.T @ a.V - a.m),
    ),
    "gradient of a tip error": Case(
        lambda a: a.J.T @ a.X @ (a.J @ a.v - a.m) + a.W @ a.v,
        lambda a: a.H @ a.phi @ a.B @ a.X @ (a.B.T @ a.V - a.m) + a.W @ a.v,
    ),
    "Gauss's constraint": Case(
        lambda a: (a.T - a.C).T @ a.mass.inv @ (a.T - a.C),
        lambda a: a.unexplained.T @ a.D.inv @ a.unexplained,
    ),
}
