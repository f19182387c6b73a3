"""Viewer, replays, live views and pictures of operators."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.view", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
