"""Code for the robot itself: rules as C, a paced loop that reports its deadlines, and joint states over UDP."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.onboard", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
