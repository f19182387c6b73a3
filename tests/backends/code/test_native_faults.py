"""Generated loops that leave 64 bits, divide by zero, take roots of negative numbers or cut NaN: compiled and checked,
they end where Python raises, with the arrays as Python leaves them; else they do the same, to the sign of each zero."""

import ast
from math import floor, inf, nan, sqrt

import numpy as np
import pytest

from phistar.backends.code.native import Arrays, Wholes
from phistar.backends.native_door import LoopError, bind_call
from tests.backends.code.test_native_fuzz import Source, arrays, loaded

BIG = [2**62, -(2**62), 2**53 + 1, 2**63 - 1, -(2**63), 3, 0, -1]
ODD = [nan, inf, -inf, 1e300, -0.0, 2.0**63, -(2.0**63), 0.0]
POWERS = [0.5, -2.0, 0.0, 4.0, -0.0, 1.0]  # quotients by these are exact


class Beyond(Exception):
    """A whole number of more than 64 bits."""


class Inexact(Exception):
    """A whole number beyond 2⁵³ beside a float."""


class Whole(int):
    """Python's whole numbers, with the bounds of a compiled loop's."""


def _bounded(value):
    if not -(2**63) <= value < 2**63:
        raise Beyond
    return Whole(value)


def _operation(name):
    def operation(self, *other):
        made = getattr(int, name)(self, *other)
        return _bounded(made) if type(made) is int else made

    return operation


def _comparison(name):
    def comparison(self, other):
        if isinstance(other, float) and abs(int(self)) > 2**53:
            raise Inexact
        return getattr(int, name)(self, other)

    return comparison


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod", "neg", "abs"):
    setattr(Whole, f"__{_name}__", _operation(f"__{_name}__"))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Whole, f"__{_name}__", _comparison(f"__{_name}__"))


def least(a, b):
    """min as compiled: floats beside whole numbers are compared as above."""
    return b if b < a else a


def most(a, b):
    return b if a < b else a


class Bounds(ast.NodeTransformer):
    """Whole numbers of a program as bounded ones."""

    def visit_Constant(self, node):
        if type(node.value) is not int:
            return node
        return ast.Call(ast.Name("Whole", ast.Load()), [node], [])


def in_python(text, given):
    """The program run by Python on bounded numbers; what it raised."""
    names = {"Arrays": Arrays, "Wholes": Wholes, "Whole": Whole, "min": least, "max": most, "sqrt": sqrt}
    names |= {"int": lambda x: x if isinstance(x, int) else _bounded(int(x)), "floor": lambda x: _bounded(floor(x))}
    names |= {"range": lambda *bounds: map(Whole, range(*bounds))}
    tree = ast.fix_missing_locations(Bounds().visit(ast.parse(text)))
    exec(compile(tree, "program", "exec"), names)
    try:
        names["main"](given)
    except Exception as error:
        return error
    return None


def told(error):
    match error:
        case ZeroDivisionError():
            return "divided by 0"
        case Beyond():
            return "64 bits"
        case Inexact():
            return "beyond 2⁵³"
        case ValueError() if "math domain" in str(error):
            return "square root"
        case ValueError() | OverflowError():
            return "NaN or infinity"
    raise error


class Risks(Source):
    """Programs of which many fail somewhere."""

    def whole(self, depth, names):
        if depth == 0 or self.random.random() < 0.8:
            return super().whole(depth, names)
        a, big = self.whole(depth - 1, names), f"m.big[{self.random.randrange(len(BIG))}]"
        odd = f"m.odd[{self.random.randrange(len(ODD))}]"
        return self.pick(
            f"({big} {self.pick('+', '-', '*', '//', '%')} {a})",
            f"({a} {self.pick('+', '-', '*', '//', '%')} {big})",
            f"({a} {self.pick('//', '%')} {self.whole(0, names)})",
            f"abs({big})",
            f"-{big}",
            f"{self.pick('int', 'floor')}({odd})",
            f"{self.pick('min', 'max')}({big}, {a})",
        )

    def number(self, depth, names):
        if depth == 0 or self.random.random() < 0.85:
            return super().number(depth, names)
        x = self.number(depth - 1, names)
        power = f"m.powers[{self.random.randrange(len(POWERS))}]"
        return self.pick(f"({x} / {power})", f"rooted({x})", f"({x} / {self.whole(0, names)} * 0.0)")

    def mixed(self, whole):
        return f"float({whole})"  # what Python would keep as it is has too many digits here

    def truth(self, depth, names):
        if self.random.random() < 0.8:
            return super().truth(depth, names)
        odd, big = f"m.odd[{self.random.randrange(len(ODD))}]", f"m.big[{self.random.randrange(len(BIG))}]"
        compared = self.pick("<", "<=", ">", ">=", "==", "!=")
        return self.pick(f"{odd} {compared} {self.number(0, names)}", f"{big} {compared} {self.number(0, names)}")

    def zeros(self, names):
        """Statements that make zeros of either sign, and NaN."""
        x, odd = self.number(1, names), f"m.odd[{self.random.randrange(len(ODD))}]"
        made = self.pick(
            *(f"{x} * 0.0", f"-({x} * 0.0)", f"0.0 - {x} * 0.0", f"{odd} + 0.0", f"-{odd}", f"{odd} * -1.0"),
            *(f"min({odd}, {x})", f"max({x}, {odd})", f"({x} - {x}) * -1.0", f"abs({odd})", f"{odd} - {odd}"),
        )
        return [f"    m.signs[{self.random.randrange(6)}] = {made}"]

    def text(self):
        lines = super().text().split("\n")
        at = lines.index("def main(m: Arrays) -> None:")
        rooted = ["def rooted(x: float) -> float:", "    return sqrt(x * abs(x))"]
        lines[at + 1] = "    x, y, z, k, n = 1.0, 0.5, 0.0, 2, 1"  # a local is of one kind
        more = [line for _ in range(4) for line in self.zeros(["k", "n"])]
        return "\n".join([*lines[:at], *rooted, *lines[at : at + 2], *more, *lines[at + 2 :]])


def given_arrays():
    given = arrays()
    given.big, given.odd, given.powers = np.array(BIG), np.array(ODD), np.array(POWERS)
    given.signs = np.full(6, 7.0)
    return given


def as_python_holds_them(given):
    """Arrays of Python's own numbers."""
    made = Arrays(**vars(given))
    for name, x in vars(given).items():
        kind = Whole if x.dtype == np.int64 else float
        rows = np.empty(x.shape, dtype=object)
        for at in np.ndindex(x.shape):
            rows[at] = kind(x[at])
        setattr(made, name, rows)
    return made


def same(made, known, text):
    for name in ("floats", "ints", "signs"):
        expected = np.array(getattr(known, name).tolist(), dtype=getattr(made, name).dtype)
        np.testing.assert_array_equal(getattr(made, name), expected, err_msg=text)
        if name == "signs":
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(made.signs)[numbers], np.signbit(expected)[numbers], err_msg=text)


def compiled(text, path):
    module = loaded(f"from math import floor, sqrt\n{text}", path)
    return module.twice, module.clipped, module.fill, module.rooted, module.main


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_a_checked_loop_ends_where_python_raises_and_else_does_what_python_does(block, tmp_path):
    raised = 0
    for seed in range(25 * block, 25 * block + 25):
        text = Risks(seed).text()
        known, made = as_python_holds_them(given_arrays()), given_arrays()
        error = in_python(text, known)
        run = bind_call(compiled(text, tmp_path / f"risks_{seed}.py"), vars(made), {}, checked=True)
        if error is None:
            run()
        else:
            raised += 1
            with pytest.raises(LoopError, match=told(error)):
                run()
        same(made, known, text)
    assert 0 < raised < 25


def sums(m: Arrays) -> None:
    k = 1
    for _ in range(70):
        k = k + k
    m.out[0] = k


def product(m: Arrays) -> None:
    m.out[0] = m.whole[0] * m.whole[0]


def least_turned(m: Arrays) -> None:
    m.whole[1] = -m.whole[1]


def least_by_minus_one(m: Arrays) -> None:
    k = -1
    m.whole[0] = m.whole[1] // k


def cut_nan(m: Arrays) -> None:
    m.out[0] = int(m.odd[0])


def floor_of_infinity(m: Arrays) -> None:
    m.out[0] = floor(m.odd[1])


def cut_too_long(m: Arrays) -> None:
    m.out[0] = int(1e19)


def by_zero(m: Arrays) -> None:
    m.out[0] = 1.0 / m.odd[2]


def wholes_by_zero(m: Arrays) -> None:
    k = 0
    m.out[0] = 1 / k


def root(m: Arrays) -> None:
    m.out[0] = sqrt(-8)


def compared(m: Arrays) -> None:
    m.out[0] = 1.0 if m.whole[0] > 4611686018427387904.0 else 2.0


def widened(m: Arrays) -> None:
    x = 0.5
    x = m.whole[0]
    m.out[0] = x


def deep(m: Arrays) -> None:
    m.out[1] = 1.0
    cut_nan(m)
    m.out[2] = 1.0


@pytest.mark.parametrize(
    "function, told",
    [
        *((sums, "64 bits"), (product, "64 bits"), (least_turned, "64 bits"), (least_by_minus_one, "64 bits")),
        *((cut_nan, "NaN or infinity"), (floor_of_infinity, "NaN or infinity"), (cut_too_long, "64 bits")),
        *((by_zero, "divided by 0"), (wholes_by_zero, "divided by 0"), (root, "square root")),
        *((compared, "beyond 2⁵³"), (widened, "beyond 2⁵³"), (deep, "NaN or infinity")),
    ],
)
def test_a_checked_loop_ends_there_and_writes_nothing_more(function, told):
    given = {"out": np.zeros(3), "whole": np.array([2**62 + 1, -(2**63)]), "odd": np.array([nan, inf, -0.0])}
    functions = (cut_nan, deep) if function is deep else (function,)
    before = given["whole"].copy()
    with pytest.raises(LoopError, match=told):
        bind_call(functions, given, {}, checked=True)()
    np.testing.assert_array_equal(given["out"], [0.0, float(function is deep), 0.0])
    np.testing.assert_array_equal(given["whole"], before)


def far_apart(m: Arrays) -> None:
    m.whole[0] = (m.whole[0] + 5) % m.whole[1]
    m.whole[1] = m.whole[2] // 3
    m.whole[3] = m.whole[2] % m.whole[4]
    for i in range(9223372036854775800, 9223372036854775807, 5):
        m.whole[5] = i


@pytest.mark.parametrize("checked", [True, False])
def test_quotients_rests_and_ranges_at_the_ends_of_64_bits_are_pythons(checked):
    least = -(2**63)
    given = [2**62, 2**63 - 1, least, 0, -1, 0]
    whole = np.array(given)
    bind_call((far_apart,), {"whole": whole}, {}, checked)()
    assert whole.tolist() == [(2**62 + 5) % (2**63 - 1), least // 3, least, least % -1, -1, 2**63 - 3]
