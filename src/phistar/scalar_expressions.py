"""`ps.symbolic`: a quantity of a robot as scalar expressions, for people and for SymPy.

The expressions are the instructions that would be compiled: what several of them need is computed once and has a name.
R87's first open question was such expressions for the inverse of the mass matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from phistar.array_types import Array
from phistar.backends.traces.symbolic import replay
from phistar.backends.traces.trace import ADD, CONST, DIV, INPUT, MUL, NEG, OP_NAMES, SUB, Tape, Trace, finish
from phistar.errors import PhistarError, StatementError
from phistar.expression import Expression, algebra
from phistar.model import Model
from phistar.recording import Recording, record

INERTIA = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""A body's ten parameters in the order of `ps.regressor`; moments and products are about the body's origin."""
_GIVEN = {"a": "qdd", "tau": "tau", "T": "tau"}


@dataclass(frozen=True)
class SymbolicResult:
    """A quantity as `value`, a SymPy matrix in the names of `steps`, each (name, expression), in the order of need.

    `arguments` has the SymPy symbols that stand for q, v, …, by argument; what is zero in the robot has no symbol.
    `counts` says how many of each operation there are.
    """

    name: str
    arguments: Mapping[str, tuple[Any, ...]]
    steps: tuple[tuple[Any, Any], ...]
    value: Any
    counts: Mapping[str, int]

    @property
    def operations(self) -> int:
        """Additions, multiplications, divisions, sines and cosines, changes of sign."""
        return sum(self.counts.values())

    def explicit(self, simplify: bool = False) -> Any:
        """The matrix in the arguments alone, every step filled in; `simplify` lets SymPy look for short forms, which
        takes its time on more than two or three joints."""
        import sympy

        known: dict[Any, Any] = {}
        for symbol, expression in self.steps:
            known[symbol] = expression.xreplace(known)
        whole = self.value.xreplace(known)
        return whole.applyfunc(lambda entry: sympy.trigsimp(sympy.together(sympy.expand(entry)))) if simplify else whole

    def latex(self, digits: int = 5) -> str:
        """The steps and the matrix as an `aligned` environment; numbers to so many digits."""
        import sympy

        lines = [rf"{sympy.latex(x)} &= {sympy.latex(_short(y, digits))} \\" for x, y in self.steps]
        name = self.name.replace("_", r"\_")
        lines.append(rf"\mathrm{{{name}}} &= {sympy.latex(_short(self.value, digits))}")
        return "\n".join([r"\begin{aligned}", *lines, r"\end{aligned}"])

    def function(self) -> Callable[..., Array]:
        """The steps as a Python function of one array per argument, by SymPy's `lambdify`: a check, not a fast path."""
        import sympy

        given = [list(symbols) for symbols in self.arguments.values()]
        compiled = sympy.lambdify(given, self.explicit(), "numpy")
        shape = self.value.shape
        return lambda *arrays: np.reshape(np.asarray(compiled(*arrays), dtype=float), shape)


def symbolic(
    model: Model,
    function: Callable[..., Any] | Expression | None = None,
    frame: str | Sequence[str] | None = None,
    parameters: Sequence[str] = (),
) -> SymbolicResult:
    """Write a quantity of a robot as scalar SymPy expressions in q1 … qn (and v, tau, …), with shared steps.

    Parameters
    ----------
    model : Model
    function : callable or Expression, optional
        One of phistar's, one written with them, or a statement whose matrix is wanted; by default the mass matrix.
    frame : str or sequence of str, optional
        The frame(s) it is about.
    parameters : sequence of str
        "inertia": masses and moments (m1, mx1, …, Izz1, about body origins) stand as symbols; "gravity" likewise;
        "placement": so do the dimensions of links, the place of each joint in its parent's axes (px2, py2, pz2), and
        of each frame that the quantity is about in its link's (px_tip, …). What is zero in the robot stays zero.

    Returns
    -------
    SymbolicResult
        With `.explicit()`, `.latex()` and the shared steps.

    Examples
    --------
    >>> ps.symbolic(ps.planar_chain(1), parameters=["inertia"]).explicit()
    Matrix([[Izz1]])
    >>> ps.symbolic(ps.planar_chain(2), parameters=["inertia", "placement"]).explicit()[0, 1]
    Izz2 + mx2*px2*cos(q2)
    >>> ps.symbolic(ps.planar_chain(2), ps.jacobian, frame="tip", parameters=["placement"]).explicit(True)[4, 1]
    px_tip*cos(q1 + q2)
    """
    try:
        import sympy
    except ImportError as error:
        raise PhistarError("ps.symbolic needs SymPy: pip install 'phistar[symbolic]'.") from error
    wanted = algebra(model).mass if function is None else function
    recorded = record(wanted, model, frame, parameters, matrix=isinstance(wanted, Expression))
    if len(recorded.results) != 1:
        names = ", ".join(name for name, _ in recorded.results)
        raise StatementError(f"{recorded.name} has several results ({names}); ask for one, as a statement.")
    arguments, entries = _arguments(recorded, sympy)
    trace = _fold_zeros(recorded.trace, entries)
    steps, values = _expressions(trace, [x for x in entries if x is not None], sympy)
    shape = (*recorded.results[0][1], 1, 1)[:2]
    kept = {name: symbols for name, symbols in arguments.items() if symbols}
    name = "mass_matrix" if function is None else recorded.name
    return SymbolicResult(name, kept, steps, sympy.Matrix(*shape, values), trace.counts())


def _arguments(recorded: Recording, sympy: Any) -> tuple[dict[str, tuple[Any, ...]], list[Any]]:
    """Symbols by argument, and one per entry in order: None for a parameter that is zero in the robot."""
    model, arguments, entries = recorded.model, {}, []
    for name, size in recorded.arguments:
        letter = _GIVEN.get(name, name)
        names = [f"{letter}{i + 1}" for i in range(size)]
        if name == "inertia":
            numbers = np.concatenate([body.inertia.parameters for body in model.bodies])
            own = [f"{word}{k + 1}" for k in range(len(model.bodies)) for word in INERTIA]
            names = [x if value else "" for x, value in zip(own, numbers, strict=True)]
        elif name == "placement":
            placed = [*model.bodies, *(model.frame(name) for name in recorded.frames)]
            numbers = np.concatenate([each.placement.translation for each in placed])
            own = [f"p{axis}{k + 1}" for k in range(len(model.bodies)) for axis in "xyz"]
            own += [f"p{axis}_{frame}" for frame in recorded.frames for axis in "xyz"]
            names = [x if value else "" for x, value in zip(own, numbers, strict=True)]
        elif name == "gravity":
            names = [f"g_{axis}" if value else "" for axis, value in zip("xyz", model.gravity, strict=True)]
        symbols = [sympy.Symbol(x, real=True) if x else None for x in names]
        arguments[name] = tuple(x for x in symbols if x is not None)
        entries += symbols
    return arguments, entries


def _fold_zeros(trace: Trace, entries: Sequence[Any]) -> Trace:
    """The trace without what zeros of the robot make superfluous."""
    tape = Tape()
    fresh = iter(tape.inputs((sum(x is not None for x in entries),)))
    values = replay(trace, [0.0 if x is None else next(fresh) for x in entries])
    return finish(tape, values)


def _expressions(trace: Trace, inputs: Sequence[Any], sympy: Any) -> tuple[tuple[tuple[Any, Any], ...], list[Any]]:
    """Steps for values read more than once, and the outputs with the rest written in place."""
    binary = {ADD: lambda x, y: x + y, SUB: lambda x, y: x - y, MUL: lambda x, y: x * y, DIV: lambda x, y: x / y}
    readers = Counter(i for op, *operands in trace.code if op < INPUT for i in operands if i is not None)
    readers.update(int(i) for i, constant in zip(trace.outputs, trace.output_is_constant, strict=True) if not constant)
    names = sympy.numbered_symbols("x", start=1, real=True)
    steps, values = [], []
    for index, (op, left, right) in enumerate(trace.code):
        if op == INPUT:
            values.append(inputs[left])
            continue
        if op == CONST:
            values.append(_number(left, sympy))
            continue
        if op in binary:
            made = binary[op](values[left], values[right])
        else:
            made = -values[left] if op == NEG else getattr(sympy, OP_NAMES[op])(values[left])
        if readers[index] > 1 and op != NEG and not made.is_Atom:
            steps.append((next(names), made))
            made = steps[-1][0]
        values.append(made)
    chosen = zip(trace.outputs, trace.output_is_constant, strict=True)
    return tuple(steps), [_number(float(i), sympy) if constant else values[int(i)] for i, constant in chosen]


def _number(value: float, sympy: Any) -> Any:
    """A short fraction where the float is one exactly; else the float."""
    fraction = Fraction(value).limit_denominator(1000)
    if float(fraction) == value:
        return sympy.Rational(fraction.numerator, fraction.denominator)
    return sympy.Float(value, 17)


def _short(expression: Any, digits: int) -> Any:
    import sympy

    floats = expression.atoms(sympy.Float)
    return expression.xreplace({x: sympy.Float(x, digits) for x in floats})
