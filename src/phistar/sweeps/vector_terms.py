"""Vectors that memoryless functions make of velocities, or of blocks, link by link."""

from __future__ import annotations

from collections.abc import Callable

from phistar.operators.nodes import Node, Symbol
from phistar.operators.rate_letters import AXES_AXIAL, AXIAL
from phistar.sweeps.ir import Call, Field, Term


def vector_term(symbol: Symbol, block: Callable[[Node], Term]) -> Term:
    """The term of a vector symbol at link k; `block` makes those of memoryless operators."""
    name = symbol.name
    if name == "a":
        return Call("bias_acceleration", (Field("V"), Field("θ̇")))
    if name == "b":
        return Call("bias_force", (block(symbol.of[0]), Field("V")))
    if name == "b_r":
        return Call("rotor_moment", (Field("V"), Field("θ̇")))
    if name in ("a_ref", "n_ref"):
        function = {"a_ref": "reference_acceleration", "n_ref": "reference_turning"}[name]
        return Call(function, (Field("V"), Field("θ̇"), Field("Vᵣ"), Field("θ̇ᵣ")))
    if name == "b_ref":
        return Call("reference_force", (block(symbol.of[0]), Field("V"), Field("Vᵣ")))
    if name == "b_r_ref":
        return Call("reference_rotor_moment", (Field("V"), Field("θ̇"), Field("θ̇ᵣ")))
    if name == "a0":
        return Call("bias_acceleration_at_frames", (Field("V"),))
    if name in (AXIAL, AXES_AXIAL):
        return Call(name, (block(symbol.of[0]),))
    raise AssertionError(f"{name} is not a vector that sweeps can make; simplify the statement first")
