"""Closed chains: closures as rows on task motions and joint rates, what follows from them, and how to meet them."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.loops", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
