"""Every quantity as one operator statement. Read these files beside the papers; all else explains or computes it.

A function decorated with `states` is compiled from the statement above it: `ps.forward_dynamics.statement` shows it,
with `.derivation()`, `.algorithm()`, `.cost(n)` and `.sweeps`. Symbols: H φ M of RJK91, ℳ mass matrix (armature
included), 𝒞 Coriolis, 𝒢 gravity, T joint forces, f task forces (world axes at their frames).
"""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.dynamics", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
