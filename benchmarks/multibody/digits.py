"""Numbers of many digits that a recorded function can be replayed on."""

from __future__ import annotations

from typing import Any

import mpmath


class Digits:
    """An mpmath number with the methods that replaying asks of its scalars."""

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, Digits) else mpmath.mpf(value)

    def __add__(self, other: Any) -> Digits:
        return Digits(self.value + Digits(other).value)

    def __sub__(self, other: Any) -> Digits:
        return Digits(self.value - Digits(other).value)

    def __rsub__(self, other: Any) -> Digits:
        return Digits(other) - self

    def __mul__(self, other: Any) -> Digits:
        return Digits(self.value * Digits(other).value)

    def __truediv__(self, other: Any) -> Digits:
        return Digits(self.value / Digits(other).value)

    def __rtruediv__(self, other: Any) -> Digits:
        return Digits(other) / self

    def __neg__(self) -> Digits:
        return Digits(-self.value)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self) -> Digits:
        return Digits(mpmath.sin(self.value))

    def cos(self) -> Digits:
        return Digits(mpmath.cos(self.value))

    def sqrt(self) -> Digits:
        return Digits(mpmath.sqrt(self.value))

    def sign(self) -> Digits:
        return Digits(mpmath.sign(self.value))
