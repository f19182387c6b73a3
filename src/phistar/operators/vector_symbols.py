"""Vectors that statements are about: rates, accelerations and forces that the caller gives, and biases of the links."""

from __future__ import annotations

from abc import ABC, abstractmethod

from phistar.operators.nodes import Symbol
from phistar.operators.spaces import BASE_MOTIONS, FORCES, MOTIONS, RATES, SCALARS, TORQUES, Space

_VECTOR = frozenset({"vector"})


class Vectors(ABC):
    """The vectors among the symbols; `task` is the space of forces at the task frames."""

    @property
    @abstractmethod
    def task(self) -> Space:
        """Forces at the task frames."""

    # Vectors: a and b are memoryless functions of V = φ*H*θ̇ (KJR92 eqs. 47, 48).
    def vector(self, name: str, space: Space) -> Symbol:
        return Symbol(name, SCALARS, space, _VECTOR)

    @property
    def v(self) -> Symbol:
        return self.vector("v", RATES)

    @property
    def qdd(self) -> Symbol:
        return self.vector("qdd", RATES)

    @property
    def T(self) -> Symbol:
        return self.vector("T", TORQUES)

    @property
    def a(self) -> Symbol:
        return self.vector("a", MOTIONS)

    # A second velocity θ̇_r, placed where the Coriolis terms are linear in it (RJK91 §6): V_ref = φ*H*θ̇_r, and a, b, b_r
    # are memoryless maps bilinear in the two velocities, which are the ones above where θ̇_r = θ̇.
    @property
    def v_ref(self) -> Symbol:
        return self.vector("v_ref", RATES)

    @property
    def V_ref(self) -> Symbol:
        return self.vector("V_ref", MOTIONS)

    @property
    def a_ref(self) -> Symbol:
        """The rate of H*θ̇_r and of its transport along θ̇, as inertial axes see it."""
        return self.vector("a_ref", MOTIONS)

    @property
    def n_ref(self) -> Symbol:
        """φ*a_ref + n_ref is the rate of ℰφ*V_ref in link axes (R87's convention of accelerations)."""
        return self.vector("n_ref", MOTIONS)

    @property
    def F(self) -> Symbol:
        """Spatial feedback vectors, one per link (WD89 §3)."""
        return self.vector("F", FORCES)

    @property
    def a_g(self) -> Symbol:
        return self.vector("a_g", BASE_MOTIONS)

    @property
    def a_b(self) -> Symbol:
        """The acceleration of a base that is driven, R87's λ⁺(N), in world axes at the world's origin."""
        return self.vector("a_b", BASE_MOTIONS)

    @property
    def f(self) -> Symbol:
        return self.vector("f", self.task)

    @property
    def u(self) -> Symbol:
        """The task acceleration that is commanded (KJR92 eq. 4)."""
        return self.vector("u", self.task.dual)

    # Values of the last sample, given to this one (KJR92 §5): a, b and a(0), and the task's forces on its links.
    @property
    def a_delayed(self) -> Symbol:
        return self.vector("a_delayed", MOTIONS)

    @property
    def b_delayed(self) -> Symbol:
        return self.vector("b_delayed", FORCES)

    @property
    def a0_delayed(self) -> Symbol:
        return self.vector("a0_delayed", self.task.dual)

    @property
    def f_delayed(self) -> Symbol:
        """B f(0) of the last sample: on the links, in their axes, so that no pose is needed to use it."""
        return self.vector("f_delayed", FORCES)

    @property
    def a0(self) -> Symbol:
        """a(0), the bias acceleration between the last joint and the frame (KJR92 eq. 46)."""
        return self.vector("a0", self.task.dual)
