"""The laws that define the symbols, chosen by what a statement speaks of, and completed to rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from phistar.identities.completion import Rules, complete
from phistar.identities.inverses import inverses
from phistar.identities.justify import Instance, inverse_on_the_left, inverse_on_the_right
from phistar.identities.law import LAWS, Law, Setting
from phistar.identities.match import WordRule, instance_of, is_word
from phistar.identities.polynomial import Word, expand, letters
from phistar.operators.nodes import Adjoint, Inverse, Node, Symbol, spelling
from phistar.operators.symbols import Symbols

_SHIFTS = ("phi_absorbs_shift", "shift_absorbed_by_phi")
_RICCATI = (
    *("psi_absorbs_shift", "shift_absorbed_by_psi", "shifted_gain", "gain", "gain_projects", "riccati_equation"),
    "articulated_shift",
)
_WEIGHTS_OF_MASSES = (
    *("reduced_mass", "forward_weight", "backward_weight", "weights_add_up", "weighted_projection"),
    "weighted_projection_backward",
)
AXIOMS: dict[str, tuple[str, ...]] = {
    "phi": _SHIFTS,
    "E_phi": _SHIFTS,
    **dict.fromkeys(("P", "D", "G", "K", "psi", "Omega", "Delta", "W"), (*_SHIFTS, *_RICCATI)),
    "r": (*_SHIFTS, "composite_recursion"),
    "Y": (*_SHIFTS, *_RICCATI, "coriolis_articulated_recursion"),
    "r_v": (*_SHIFTS, "coriolis_composite_recursion"),
    **dict.fromkeys(("phi_b", "E_phi_b"), ("phi_b_absorbs_shift", "shift_absorbed_by_phi_b")),
    **dict.fromkeys(("q", "rho", "C_f", "C_b", "H_f", "H_b"), _WEIGHTS_OF_MASSES),
}
_MORE: dict[str, tuple[str, ...]] = {
    "Omega": ("omega_recursion",),
    "Delta": ("omega_recursion", "costate_covariance_propagation", "costate_covariance_update"),
    "Gamma": ("gramian_recursion",),
    "W": ("articulated_base",),
    "E": ("base_kills_shift",),
}
_AT_FRAMES = {"Omega": "omega_at_one_frame", "Gamma": "observability_gramian"}
"""What says the same of one frame where the recursion is not that of a chain."""

_WILD = {
    "B": ("tip_stops_phi", "tip_kills_shift", "tip_stops_psi", "tip_kills_gain"),
    "E": ("base_stops_phi", "base_kills_shift", "base_stops_psi", "base_kills_gain"),
}
_WEIGHTS = {
    "G": 12,
    "E_phi": 3,
    "P": 20,
    "M": 50,
    "E_psi": 60,
    "r": 20,
    "U": 6,
    "W": 40,
    "rho": 90,
    "C_f": 80,
    "C_b": 80,
    "H_f": 90,
    "H_b": 90,
    "r_b": 24,
    "M_b": 60,
    "q": 2,
    "Delta": 15,
    "Y": 20,
    "r_v": 20,
    "B_v": 50,
}


def named(name: str) -> Law:
    return next(law for law in LAWS if law.name == name)


def all_symbols(node: Node, symbols: Symbols) -> list[Symbols]:
    pairs = [x.of for x in letters(node) if isinstance(x, Symbol) and len(x.of) >= 2 and x.name not in ("M_i",)]
    return list(dict.fromkeys([symbols, *(symbols.with_pair(*pair) for pair in pairs)]))


def rules_for(nodes: Iterable[Node], symbols: Symbols, setting: Setting) -> tuple[Rules, tuple[WordRule, ...]]:
    """The completed rules of the laws that define the symbols there, and those with a wild letter."""
    nodes = tuple(nodes)
    there = frozenset(x.name for node in nodes for x in letters(node) if isinstance(x, Symbol))
    sets = tuple(dict.fromkeys(one for node in nodes for one in all_symbols(node, symbols)))
    names = _law_names(there, setting)
    found = (x.of for node in nodes for x in inverses(node))
    opened = tuple(dict.fromkeys(x for x in found if not isinstance(x, Symbol) or x.name != "D"))
    return _completed(sets, names, opened), _wild_rules(sets, there, setting)


def _law_names(there: frozenset[str], setting: Setting) -> tuple[str, ...]:
    names = [name for symbol in AXIOMS if symbol in there for name in AXIOMS[symbol]]
    for symbol, more in _MORE.items():
        if symbol in there:
            names += [name for name in more if setting.meets(named(name).needs)]
    for symbol, at_frame in _AT_FRAMES.items():
        if symbol in there and not setting.serial and setting.meets(named(at_frame).needs):
            names.append(at_frame)
    return tuple(dict.fromkeys(names))


@cache
def _completed(sets: tuple[Symbols, ...], names: tuple[str, ...], opened: tuple[Node, ...]) -> Rules:
    instances: dict[tuple[Node, Node], Instance] = {}
    for one in sets:
        for name in names:
            left, right = named(name).sides(one)
            if name != "base_kills_shift":
                instances.setdefault((left, right), instance_of(named(name), left, right))
    for instance in _at_the_base(sets) if "base_kills_shift" in names else ():
        instances[instance.left, instance.right] = instance
    if any(name in names for name in _RICCATI):
        opened = (*(one.D for one in sets), *opened)
    for part in opened:
        for instance in (inverse_on_the_left(part), inverse_on_the_right(part)):
            instances[instance.left, instance.right] = instance
    return complete(instances.values(), order)


def _at_the_base(sets: tuple[Symbols, ...]) -> Iterator[Instance]:
    """ℰφXE* = 0 and KHXE* = 0 for the masses X there are: so that the completion knows what the wild rules do."""
    for one in sets:
        for mass in (one.M, one.P):
            for name, word in (("base_kills_shift", (mass,)), ("base_kills_gain", (one.H, mass))):
                law = named(name)
                (left,) = expand(law.sides(one)[0]).terms
                if isinstance(mass, Symbol):
                    yield WordRule(law, left, law.sides(one)[1]).instance(word)


@cache
def _wild_rules(sets: tuple[Symbols, ...], there: frozenset[str], setting: Setting) -> tuple[WordRule, ...]:
    rules: dict[Word, WordRule] = {}
    for symbol, names in _WILD.items():
        laws = [named(name) for name in names if symbol in there and setting.meets(named(name).needs)]
        for law in laws:
            for one in sets:
                left, right = law.sides(one)
                assert is_word(left)
                for flipped in (False, True):
                    (word,) = (expand(left).adjoint() if flipped else expand(left)).terms
                    rules.setdefault(word, WordRule(law, word, right, flipped))
    return tuple(rules.values())


def order(word: Word) -> tuple:
    """The heavier word first; among equals the letters from the left. Compatible with products."""
    return sum(map(_weight, word)), tuple(map(_spelled, word))


@cache
def _weight(letter: Node) -> int:
    if isinstance(letter, Inverse):
        return 6
    inner = letter.of if isinstance(letter, Adjoint) else letter
    return _WEIGHTS.get(getattr(inner, "name", ""), 1)


@cache
def _spelled(letter: Node) -> str:
    return spelling(letter)
