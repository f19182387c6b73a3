"""Generated loops do compiled what they do in Python, statement by statement."""

import random
from importlib.util import module_from_spec, spec_from_file_location
from math import floor, sqrt

import numpy as np
import pytest

import phistar as ps
from phistar.backends.code.native import Arrays, Wholes
from phistar.backends.native_door import LoopError, bind_call, native

FLOATS, INTS, ROWS, COLUMNS = 6, 5, 3, 4


class Source:
    """Random functions of the language. Floats are small multiples of 1/8, so that sums and products are exact."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def whole(self, depth, names):
        if depth == 0 or self.random.random() < 0.25:
            return self.pick(*names, str(self.random.randint(-3, 5)), f"m.ints[{self.random.randint(0, INTS - 1)}]")
        a, b = self.whole(depth - 1, names), self.whole(depth - 1, names)
        return self.pick(
            f"({a} + {b}) % 17",
            f"({a} - {b})",
            f"({a} * {b}) % 23",
            f"({a} // {self.pick(-3, -2, 2, 3, 7)})",
            f"({a} % {self.pick(-5, 3, 4)})",
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"abs({a})",
            f"({a} if {self.truth(depth - 1, names)} else {b})",
            f"int({self.number(depth - 1, names)})",
            f"twice({a}) % 11",
        )

    def index(self, names, size):
        return f"{self.whole(0, names)} % {size}"

    def number(self, depth, names):
        if depth == 0 or self.random.random() < 0.2:
            literal = str(self.random.randint(-12, 12) / 8)
            return self.pick(literal, f"m.table[{self.index(names, ROWS)}, {self.index(names, COLUMNS)}]", "x", "y")
        a, b = self.number(depth - 1, names), self.number(depth - 1, names)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"clipped({a} * {b})",
            f"({a} / {self.pick(2, 4.0, -2)})",
            f"min({a}, {b})",
            f"max({a}, {b})",
            f"-{a}",
            f"abs({a})",
            f"float({self.whole(depth - 1, names)})",
            f"({a} if {self.truth(depth - 1, names)} else {self.mixed(self.whole(depth - 1, names))})",
        )

    def mixed(self, whole):
        """A whole number beside a float."""
        return whole

    def truth(self, depth, names):
        kind = self.pick(self.whole, self.number)
        compared = f"{kind(depth, names)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {kind(depth, names)}"
        if depth == 0 or self.random.random() < 0.5:
            return compared
        other = self.truth(depth - 1, names)
        guarded = f"(k > 0 and m.floats[{self.random.randint(0, FLOATS - 1)} // k % {FLOATS}] > x)"
        return self.pick(f"({compared} and {other})", f"({compared} or {other})", f"not ({other})", guarded)

    def statement(self, indent, depth, names, looping):
        pad = "    " * indent
        choices = ["float", "int", "local", "aug", "swap", "call"] + (["if", "for", "while"] if depth else [])
        match self.pick(*choices, *(["leave"] if looping else [])):
            case "float":
                return [f"{pad}m.floats[{self.index(names, FLOATS)}] = clipped({self.number(2, names)})"]
            case "int":
                return [f"{pad}m.ints[{self.index(names, INTS)}] = {self.whole(2, names)}"]
            case "local":
                name = self.pick("x", "y", "k", "n")
                return [
                    f"{pad}{name} = {self.whole(2, names) if name in 'kn' else f'clipped({self.number(2, names)})'}"
                ]
            case "aug":
                target = self.pick("x", "z", f"m.floats[{self.index(names, FLOATS)}]")
                return [f"{pad}{target} {self.pick('+=', '-=')} {self.number(1, names)}"]
            case "swap":
                return [f"{pad}m.ints[0], m.ints[1], k = m.ints[1], k, m.ints[0]"]
            case "call":
                return [f"{pad}fill(m, m.ints, {self.index(names, INTS)}, {self.whole(1, names)})"]
            case "leave":
                word = self.pick("break", "continue", "return")
                return [f"{pad}if {self.truth(1, names)}:", f"{pad}    {word}"]
            case "if":
                return [
                    f"{pad}if {self.truth(1, names)}:",
                    *self.block(indent + 1, depth - 1, names, looping),
                    f"{pad}else:",
                    *self.block(indent + 1, depth - 1, names, looping),
                ]
            case "while":
                self.loops += 1
                name = f"w{self.loops}"
                body = self.block(indent + 1, depth - 1, [*names, name], True)
                return [f"{pad}{name} = 0", f"{pad}while {name} < 4:", f"{pad}    {name} += 1", *body]
            case _:
                self.loops += 1
                name = f"i{self.loops}"
                body = self.block(indent + 1, depth - 1, [*names, name], True)
                bounds = self.pick("4", "-2, 3", "5, -2, -2", "0, 6, 3", "k, k + 3")
                return [f"{pad}for {name} in range({bounds}):", *body, *([f"{pad}    {name} = 7"] * (depth % 2))]

    def block(self, indent, depth, names, looping=False):
        lines = [self.statement(indent, depth, names, looping) for _ in range(self.random.randint(1, 3))]
        return [line for part in lines for line in part]

    def text(self):
        body = self.block(1, 3, ["k", "n"]) + self.block(1, 2, ["k", "n"])
        return "\n".join(
            [
                "from phistar.backends.code.native import Arrays, Wholes, wide_range",
                "def twice(k: int) -> int:",
                "    if k < 0:",
                "        return -k",
                "    return 2 * k",
                "def clipped(x: float) -> float:",
                "    while abs(x) > 8.0:",
                "        x = x / 2.0 if abs(x) > 64.0 else x - 8.0 if x > 0.0 else x + 8.0",
                "    return int(8.0 * x) / 8",
                "def fill(m: Arrays, ints: Wholes, at: int, value: int) -> None:",
                "    ints[at] = value",
                "    m.floats[at] += clipped(value / 4)",
                "def main(m: Arrays) -> None:",
                "    x, y, z, k, n = 1, 0.5, 0, 2, 1",
                *body,
                "    m.floats[0], m.floats[1], m.floats[2] = clipped(x), clipped(y), z",
            ]
        )


class WildSource(Source):
    """More of the language: loop variables used again, targets that depend on each other, calls that write what is
    read beside them, endless loops that are left."""

    def statement(self, indent, depth, names, looping):
        wild = "targets", "written", "counted", "joined", "mixed", "guarded"
        wild += ("reused", "ranged", "endless", "nested") if depth else ()
        if self.random.random() < 0.55:
            return super().statement(indent, depth, names, looping)
        made = getattr(self, f"_{self.pick(*wild)}")(depth, names)
        return ["    " * indent + line for line in made]

    def _inner(self, depth, names):
        return self.block(1, depth - 1, names, True)

    def _loop_name(self):
        self.loops += 1
        return f"i{self.loops}"

    def _reused(self, depth, names):
        bounds = self.pick("3", "0", "-1, 2", "n, n + 2", "4, 0, -1")
        return [f"for {self.pick('k', 'n')} in range({bounds}):", *self._inner(depth, names)]

    def _ranged(self, depth, names):
        name, ends = self._loop_name(), [f"{self.whole(1, names)} % {most}" for most in (4, 6)]
        return [
            f"for {name} in {self.pick('range', 'wide_range')}({ends[0]}, {ends[1]}, {self.pick(1, 2, -1, -2)}):",
            *self._inner(depth, [*names, name]),
        ]

    def _endless(self, depth, names):
        name = self._loop_name()
        return [
            f"{name} = 0",
            "while True:",
            f"    {name} += 1",
            f"    if {name} > 3:",
            "        break",
            *self._inner(depth, [*names, name]),
        ]

    def _nested(self, depth, names):
        name = self._loop_name()
        body = ["    " + line for line in self.block(1, 0, [*names, name], True)]
        return [f"for {name} in range(2):", f"    for {name} in range({name}, 3):", *body, f"    k = {name}"]

    def _targets(self, depth, names):
        return [
            f"k, m.ints[k % {INTS}], n = {self.whole(1, names)}, {self.whole(1, names)}, k",
            f"x, y = y, clipped(x + {self.number(1, names)})",
        ]

    def _written(self, depth, names):
        at = self.random.randint(0, INTS - 1)
        place, value = f"bump(m, m.ints, {self.whole(1, names)}) % {INTS}", f"m.ints[{self.index(names, INTS)}] % 7"
        return [
            f"m.ints[{place}] = bump(m, m.ints, k) + {value}",
            f"m.ints[{at}] += bump(m, m.ints, {at})",
            f"m.floats[{self.index(names, FLOATS)}] += shake(m, {self.number(1, names)})",
        ]

    def _counted(self, depth, names):
        change = f"{self.pick('k', 'n')} {self.pick('+=', '-=', '*=', '//=', '%=')} {self.pick(2, 3, -4, 7)}"
        return [change, "k = k % 1000", "n %= 997"]

    def _joined(self, depth, names):
        more = f"z + {self.number(1, names)} if {self.truth(1, names)} else z"
        return [f"z = {self.whole(1, names)}", f"z = {more}", "z = clipped(z)"]

    def _mixed(self, depth, names):
        a, b, c, d = self.whole(1, names), self.number(1, names), self.number(1, names), self.whole(1, names)
        halves = f"twice(k) / {self.pick(2, 4, -8)} - (k if {self.truth(1, names)} else x)"
        return [f"x = clipped(min({a}, {b}) + max({c}, {d}))", f"y = clipped({halves})"]

    def _guarded(self, depth, names):
        return [
            f"if k != 0 and 7 // k > 1 or n != 0 and (m.ints[5 % n % {INTS}] > 0 or k % n == 0):",
            "    n = k",
            "else:",
            "    x = clipped(x / k if k != 0 else 0.25)",
        ]

    def text(self):
        more = [
            "def bump(m: Arrays, ints: Wholes, by: int) -> int:",
            f"    ints[by % {INTS}] = (ints[by % {INTS}] + 1) % 9",
            "    return ints[0]",
            "def shake(m: Arrays, x: float) -> float:",
            "    m.floats[0] = clipped(x - m.floats[1])",
            "    if x > 0.0:",
            "        return m.floats[0]",
            "    return 0.5",
        ]
        before, main, after = super().text().partition("def main(")
        return before + "\n".join(more) + "\n" + main + after


def arrays():
    random = np.random.default_rng(3)
    floats, table = random.integers(-16, 16, FLOATS) / 8, random.integers(-16, 16, (ROWS, COLUMNS)) / 8
    return Arrays(floats=floats, ints=random.integers(-4, 5, INTS), table=table)


def loaded(text, path):
    path.write_text(text)
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_loops(source, seed, folder):
    text = source(seed).text()
    module = loaded(text, folder / f"loops_{seed}.py")
    known, made = arrays(), arrays()
    module.main(known)
    named = ("twice", "clipped", "fill", "bump", "shake", "main")
    bind_call([vars(module)[name] for name in named if hasattr(module, name)], vars(made), {}, checked=seed % 2 == 0)()
    for name in ("floats", "ints", "table"):
        np.testing.assert_array_equal(getattr(made, name), getattr(known, name), err_msg=text)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", [Source, WildSource])
@pytest.mark.parametrize("block", range(6))
def test_generated_loops_do_what_python_does(block, source, tmp_path):
    for seed in range(15 * block, 15 * block + 15):
        check_loops(source, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_thousands_of_generated_loops_do_what_python_does(block, tmp_path):
    for seed in range(1000 + 300 * block, 1300 + 300 * block):
        check_loops(WildSource, seed, tmp_path)


def widened(m: Arrays) -> None:
    x = 0
    for _ in range(3):
        x += 0.5
    m.out[0] = x


def lazily(m: Arrays) -> None:
    i = 9
    if i < 3 and m.out[i] > 0.0:
        m.out[0] = 1.0
    m.out[1] = m.out[i] if i < 3 else 2.0
    m.out[2] = floor(-2.5) + sqrt(4)


def test_a_local_that_is_given_a_float_is_one_and_what_is_not_asked_for_is_not_read():
    assert native((widened,), {"given": (1,)}, {"out": (1,)}, {})(np.zeros(1))[0][0] == 1.5
    made = native((lazily,), {"given": (1,)}, {"out": (3,)}, {}, checked=True)(np.zeros(1))
    np.testing.assert_array_equal(made[0], [0.0, 2.0, -1.0])


def beyond(m: Arrays) -> None:
    for i in range(4):
        m.out[i] = 1.0


def by_nothing(m: Arrays) -> None:
    k = 0
    m.out[0] = 5 // k


@pytest.mark.parametrize("function, told", [(beyond, "outside its array"), (by_nothing, "divided by 0")])
def test_what_python_raises_for_is_told_where_it_is_checked(function, told):
    with pytest.raises(LoopError, match=told):
        native((function,), {"given": (1,)}, {"out": (3,)}, {}, checked=True)(np.zeros(1))


def moved(a, b) -> None:
    for i in range(3):
        b[i + 1] = a[i]


def passes_twice(m: Arrays) -> None:
    moved(m.out, m.out)


def unset(m: Arrays) -> None:
    for i in range(3):
        last = i
    m.out[0] = last


def mixed(m: Arrays) -> None:
    x = 1 < 2
    x = 3.0
    m.out[0] = x


def from_the_end(m: Arrays) -> None:
    m.out[-1] = 1.0


def by_float(m: Arrays) -> None:
    x = 1.0
    m.out[x] = 1.0


def nothing_returned(k: int) -> int:
    if k > 0:
        return 1


def asks(m: Arrays) -> None:
    m.out[0] = nothing_returned(1)


def changes(m: Arrays) -> None:
    m.given[0] = m.out[0]


def cut(ints: Wholes) -> None:
    ints[0] = 2.5


@pytest.mark.parametrize(
    "functions, told",
    [
        ((moved, passes_twice), "given out twice"),
        ((unset,), "last may be read before"),
        ((mixed,), "truths and numbers"),
        ((from_the_end,), "from 0 on"),
        ((by_float,), "a float stands where a whole number"),
        ((nothing_returned, asks), "not every way"),
        ((changes,), "writes to given"),
        ((cut, widened), "say int"),
    ],
)
def test_what_would_differ_from_python_is_refused_with_a_sentence(functions, told):
    with pytest.raises(ps.StatementError, match=told):
        native(functions, {"given": (1,)}, {"out": (4,)}, {})


def test_two_arrays_in_the_same_memory_are_refused():
    whole = np.zeros(6)
    with pytest.raises(ps.StatementError, match="same memory"):
        bind_call((copied,), {"a": whole[:4], "b": whole[2:]}, {})


def copied(m: Arrays) -> None:
    for i in range(3):
        m.b[i + 1] = m.a[i]
