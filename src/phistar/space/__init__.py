"""Spacecraft: orbits and the gravity that bodies feel along them, thrusters, wheels, slosh, thin air and sunlight."""

from phistar.lazy import lazily

__getattr__, __dir__, __all__ = lazily("phistar.space", __file__)  # pyright: ignore[reportUnsupportedDunderAll]
