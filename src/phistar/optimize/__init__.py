"""Optimal control: costs, constraints, and the motion of least cost."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.optimize", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
