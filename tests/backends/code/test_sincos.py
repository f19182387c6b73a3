"""Sine and cosine of the kernels against exact arithmetic, with and without fused multiply-add."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from phistar.backends.code.packed import module_text
from phistar.backends.machine.jit import Signature, Target, compile_object, gufunc, host, load_object
from phistar.backends.traces.trace import Tape, finish
from phistar.compiled import compile
from phistar.dynamics import inverse_dynamics
from phistar.model import chain

BITS = 300  # of the fixed-point reference: 50 for the argument's size, the rest for its distance to a multiple of π/2
ONE = 1 << BITS
DECADES = [10.0**k for k in (-30, -9, -3, 0, 1, 2, 3, 4, 6, 8, 10, 12, 13, 14)]
PER_DECADE = 300
LIMIT = 2.0  # ulp


def arctangent(denominator: int) -> int:
    """arctan(1/denominator) in fixed point."""
    term = total = ONE // denominator
    n, sign = 1, -1
    while term:
        term //= denominator * denominator
        n += 2
        total += sign * (term // n)
        sign = -sign
    return total


HALF_PI = 2 * (4 * arctangent(5) - arctangent(239))  # Machin


def exact(x: float) -> tuple[Fraction, Fraction]:
    """sin x and cos x to some 200 digits of binary: reduced by π/2, then Taylor's series, all in integers."""
    ratio = Fraction(x)
    whole = ratio.numerator * ONE // ratio.denominator
    turns = (2 * whole + HALF_PI) // (2 * HALF_PI)
    r = whole - turns * HALF_PI
    values = []
    for term, first in ((ONE, 0), (r, 1)):
        total, n = term, first
        while term:
            term = -(term * r // ONE * r // ONE) // ((n + 1) * (n + 2))
            n += 2
            total += term
        values.append(total)
    cosine, sine = values
    rotated = [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][turns % 4]
    return Fraction(rotated[0], ONE), Fraction(rotated[1], ONE)


def baseline() -> Target:
    triple = host().triple
    if not triple.startswith("x86_64"):
        pytest.skip(f"the baseline without fused arithmetic is an x86-64; this is {triple}")
    return Target(triple, "x86-64", "")


TARGETS = {"this machine": host, "x86-64 without AVX and FMA": baseline}


@cache
def kernel(name: str, lanes: int | None = None):
    """(…, 1) -> sine and cosine, (…, 1) each."""
    target, tape = TARGETS[name](), Tape()
    (x,) = tape.inputs((1,))
    signature = Signature((1,), ((1,), (1,)))
    text = module_text(finish(tape, [x.sin(), x.cos()]), signature, lanes or target.lanes, target.fma)
    return gufunc(load_object(compile_object(text, target)), signature, "sincos", "")


def worst(function, arguments) -> float:
    """The largest error in units of the last place."""
    results = np.concatenate(function(np.asarray(arguments)[:, None]), axis=-1)
    error = 0.0
    for x, pair in zip(arguments, results, strict=True):
        for value, true in zip(pair, exact(float(x)), strict=True):
            unit = Fraction(float(np.spacing(abs(float(true)))))
            error = max(error, float(abs(Fraction(float(value)) - true) / unit))
    return error


def test_the_reference_is_exact():
    sine, cosine = exact(1e14)
    assert abs(sine * sine + cosine * cosine - 1) < Fraction(1, 2**200)
    assert float(exact(0.5)[0]) == np.sin(0.5) and float(exact(1e5)[1]) == np.cos(1e5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", DECADES, ids=lambda size: f"{size:g}")
@pytest.mark.parametrize("target", TARGETS)
def test_within_two_units_of_the_last_place(target, size, record_property):
    rng = np.random.default_rng(0)
    arguments = size * rng.uniform(0.1, 1.0, PER_DECADE) * rng.choice([-1, 1], PER_DECADE)
    error = worst(kernel(target), arguments)
    record_property("ulp", error)
    assert error <= LIMIT


@pytest.mark.parametrize("target", TARGETS)
def test_near_multiples_of_a_quarter_turn(target):
    """Where nearly all digits of the argument cancel."""
    rng = np.random.default_rng(1)
    counts = [int(10 ** rng.uniform(0, 13.7)) for _ in range(400)]
    arguments = [float(Fraction(n * HALF_PI, ONE)) for n in counts]
    arguments += [np.nextafter(x, np.inf) for x in arguments[:100]]
    assert worst(kernel(target), arguments) <= LIMIT


@pytest.mark.parametrize("target", TARGETS)
def test_infinity_and_nan_are_nan_alone(target):
    arguments = np.array([0.5, np.inf, 1.0, -np.inf, 1.5, np.nan, 2.0, 2.5])
    with np.errstate(invalid="ignore"):
        sine, cosine = kernel(target)(arguments[:, None])
    finite = np.isfinite(arguments)
    assert np.array_equal(np.isfinite(sine[:, 0]), finite) and np.array_equal(np.isfinite(cosine[:, 0]), finite)
    np.testing.assert_allclose(sine[finite, 0], np.sin(arguments[finite]), rtol=4e-16)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [2.0**50, 2e15, 1e16, 1e22, 1e300])
def test_angles_of_any_size_have_their_sine_and_leave_their_neighbours_alone(target, size):
    arguments = np.array([0.5, size, 1.0, -1.7 * size, 100.0, np.nextafter(size, 0), 1e9, 2.5])
    sine, cosine = kernel(target)(arguments[:, None])
    np.testing.assert_allclose(sine[:, 0], np.sin(arguments), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cosine[:, 0], np.cos(arguments), rtol=0, atol=1e-15)
    near = np.abs(arguments) < 2.0**49
    alone = kernel(target)(arguments[near, None])
    np.testing.assert_array_equal(sine[near], alone[0])
    np.testing.assert_array_equal(cosine[near], alone[1])


@pytest.mark.parametrize("links", [5, 60])
def test_robots_with_huge_angles_are_those_with_whole_turns_less(links):
    """Written out, and link by link, where joints' angles are counted from other axes."""
    model, rng = chain(links), np.random.default_rng(3)
    v, rates = rng.standard_normal((2, links))
    for size in (1e3, 1e9, 1e14, 2e15, 1e22):
        q = size * rng.uniform(-1, 1, (9, links))
        near = np.arctan2(np.sin(q), np.cos(q))
        for huge, small in ((q, near), (q[0], near[0])):
            ours, theirs = inverse_dynamics(model, huge, v, rates), inverse_dynamics(model, small, v, rates)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


def test_functions_of_an_angle_and_its_sine_keep_both():
    function = compile(lambda x: np.sin(x) + 1e-16 * x, chain(1), rows={"x": 1})
    for x in (0.3, 3e15, -1e17):
        assert function(np.array([x]))[0] == pytest.approx(np.sin(x) + 1e-16 * x, abs=1e-14)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
@pytest.mark.parametrize("target", TARGETS)
def test_the_number_of_lanes_does_not_change_a_bit(target, lanes):
    x = np.random.default_rng(2).uniform(-50, 50, (37, 1))
    for ours, theirs in zip(kernel(target, lanes)(x), kernel(target)(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("target", TARGETS)
def test_quarter_turns_and_zero(target):
    sine, cosine = kernel(target)(np.array([[0.0], [np.pi / 2], [np.pi], [-np.pi / 2]]))
    np.testing.assert_allclose(sine[:, 0], [0.0, 1.0, 1.2246467991473532e-16, -1.0], rtol=1e-15)
    np.testing.assert_allclose(cosine[:, 0], [1.0, 6.123233995736766e-17, -1.0, 6.123233995736766e-17], rtol=1e-15)
