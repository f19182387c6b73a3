"""Random statements: products of letters that fit, sums of them, and inverses of what can be inverted."""

from collections import deque
from fractions import Fraction
from functools import reduce

import numpy as np
from hypothesis import strategies as st

from phistar.identities.polynomial import expand
from phistar.operators.nodes import Node, Symbol, adjoint, product, summation
from phistar.operators.spaces import SCALARS, Space
from phistar.operators.symbols import NAMES, Symbols

COEFFICIENTS = (1, -1, 2, Fraction(-1, 2))


def letters(s: Symbols) -> list[Node]:
    """Every symbol and adjoint but the closure operator's, whose size no model gives, and Y_π, which no other letter
    stands beside; vectors stand on the right."""
    named = [getattr(s, name) for name in NAMES if name not in ("I", "phi_tilde", "psi_tilde", "Q", "Y_pi")]
    operators = [x for x in named if isinstance(x, Symbol) and "vector" not in x.traits]
    vectors = [x for x in named if isinstance(x, Symbol) and "vector" in x.traits]
    return [*dict.fromkeys([*operators, *(adjoint(x) for x in operators)]), *vectors]


def invertible(s: Symbols) -> list[Node]:
    """Inverses that exist on every mechanism."""
    factor = s.I + s.H @ s.phi @ s.K
    return [
        s.mass.inv,
        s.D.inv,
        s.M.inv,
        s.phi.inv,
        s.psi.inv.T,
        factor.inv,
        factor.T.inv,
        (s.I - s.H @ s.psi @ s.K).inv,
        (s.I - s.E_phi).inv,
        (s.I - s.E_psi).inv.T,
        (s.I - s.E_phi + s.K @ s.H).inv,
        (factor @ s.D @ factor.T).inv,
        (s.mass + s.H @ s.M @ s.H.T).inv,
        (2 * s.mass).inv,
    ]


@st.composite
def statements(draw, s: Symbols, longest: int = 6, terms: int = 3) -> Node:
    """A sum of up to `terms` products of up to `longest` letters, between spaces drawn with the first."""
    by_codomain: dict[Space | None, list[Node]] = {}
    for letter in [*letters(s), *invertible(s)]:
        by_codomain.setdefault(letter.codomain, []).append(letter)
    target = draw(st.sampled_from(sorted(by_codomain, key=str)))
    first = _walk(draw, by_codomain, target, draw(st.integers(1, longest)), None)
    words = [first]
    for _ in range(draw(st.integers(0, terms - 1))):
        words.append(_walk(draw, by_codomain, target, draw(st.integers(1, longest)), first[-1].domain))
    return summation([(draw(st.sampled_from(COEFFICIENTS)), product(*word)) for word in words])


def _walk(draw, by_codomain, target, length: int, source) -> list[Node]:
    """Letters from `target` back to `source` (anywhere, if None): at most `length`, or as few as it takes."""
    distance = _distances(by_codomain, source)
    word: list[Node] = []
    here = target
    while True:
        rest = length - len(word) - 1
        choices = by_codomain.get(here, [])
        least = min(distance(x.domain) for x in choices)
        near = [x for x in choices if distance(x.domain) <= max(rest, least)]
        word.append(draw(st.sampled_from(near)))
        here = word[-1].domain
        if here == SCALARS or (here == source if source else rest <= 0):
            return word


def _distances(by_codomain, source):
    """How many letters it takes from a space to the source."""
    if source is None:
        return lambda space: 0 if space == SCALARS or space in by_codomain else 99
    known, queue = {source: 0}, deque([source])
    while queue:
        here = queue.popleft()
        for space, options in by_codomain.items():
            if space not in known and any(x.domain == here for x in options):
                known[space] = known[here] + 1
                queue.append(space)
    return lambda space: known.get(space, 99) if space != SCALARS or source == SCALARS else 99


def magnitude(dense, *nodes: Node) -> float:
    """The largest entry of |X₁||X₂|… over the terms of the nodes, written out: what rounding is relative to where terms
    cancel."""
    words = [word for node in nodes for word in expand(node).terms if word]
    majorants = (reduce(np.matmul, (np.abs(dense(letter)) for letter in word)) for word in words)
    return max((float(x.max(initial=0.0)) for x in majorants), default=1.0)
