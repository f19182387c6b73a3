"""Identification: what inertias, friction and motors a robot's own logs show it to have."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.identify", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
