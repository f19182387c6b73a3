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
from phistar.operators.symbols import Symbols, has_pair

_SHIFTS = ("phi_absorbs_shift", "shift_absorbed_by_phi")
_RICCATI = (
    *("psi_absorbs_shift", "shift_absorbed_by_psi", "shifted_gain", "gain", "gain_projects", "riccati_equation"),
    "articulated_shift",
)
_BOTH_WAYS = (
    *("backward_undoes_forward", "base_link_is_kept_once", "base_link_passes_nothing_inward"),
    "base_link_gets_nothing_outward",
)
_OUT_AND_IN = ("forward_undoes_backward", "tips_are_kept_once", "tips_get_nothing_inward", "tips_pass_nothing_outward")
_WHOLE_MASS = ("whole_mass", "nothing_behind_the_base", "composite_recursion", "base_link_is_chosen_link_by_link")
_STEP_BY_STEP = ("backward_mass", "backward_composite", "tips_are_chosen_link_by_link")
"""What shows that the whole mass turns a shift; all the way along the chain this is taken as known."""
_WEIGHTED = (
    *("reduced_mass_by_the_whole", "forward_weight", "backward_weight", "weighted_projection"),
    "weighted_projection_backward",
)
_AT_THE_BASE_LINK = ("base_link_is_picked_off", "base_link_carries_all", "nothing_behind_the_base_is_moved")
_BACK = frozenset(("phi_b", "E_phi_b"))
_PICKS = frozenset(("Pi_f", "Pi_b", "pi_f"))
_WEIGHTS_THERE = frozenset(("rho", "C_f", "C_b", "H_f", "H_b", "M_i"))
_MASSES = _WEIGHTS_THERE | {"q", "r_b", "M_b", "pi_f"}
_BRACKETS = (
    *("velocities_add", "bracket_is_carried", "motion_against_itself", "joint_against_itself", "link_velocities"),
    *("axes_carried", "axes_turned_by_their_joint", *_SHIFTS),
)
_CORIOLIS = ("coriolis_operator", "momentum_turned_by_its_own_motion", "motion_against_itself", "link_velocities")
_CARRIED = frozenset(("V_p_tilde", "V_J_tilde", "Psi_dot", "Psi_prime", "r_v", "Y", "alpha_p_tilde", "Psi_ddot"))
AXIOMS: dict[str, tuple[str, ...]] = {
    "phi": _SHIFTS,
    **dict.fromkeys(("P", "D", "D_root", "G", "K", "psi", "Omega", "Delta", "W"), (*_SHIFTS, *_RICCATI)),
    "r": ("composite_recursion",),
    "Y": (*_SHIFTS, *_RICCATI, "coriolis_articulated_recursion"),
    "r_v": ("coriolis_composite_recursion",),
}
_MORE: dict[str, tuple[str, ...]] = {
    "Psi_dot": ("inertial_force_of_a_link",),
    "Omega": ("omega_recursion",),
    "Delta": ("omega_recursion", "costate_covariance_propagation", "costate_covariance_update"),
    "Gamma": ("gramian_recursion",),
    "W": ("articulated_base",),
    "D_root": ("root_of_innovation_inertia", "root_undoes_its_square"),
    "E": ("base_kills_shift",),
}
_AT_FRAMES = {"Omega": "omega_at_one_frame", "Gamma": "observability_gramian"}
"""What says the same of one frame where the recursion is not that of a chain."""

_LINK_BY_LINK = ("base_link_is_chosen_link_by_link", "tips_are_chosen_link_by_link")
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
    "E_phi_b": 3,
    "Pi_f": 5,
    "Pi_b": 5,
    "Delta": 15,
    "Y": 20,
    "r_v": 20,
    "B_v": 50,
    "b": 200,
    "V": 40,
    "V_tilde": 8,
    "V_p_tilde": 4,
    "V_J_tilde": 2,
    "Psi_prime": 9,
    "hat": 40,
    "alpha_p_tilde": 20,
}


def law_named(name: str) -> Law:
    return next(law for law in LAWS if law.name == name)


def all_symbols(node: Node, symbols: Symbols) -> list[Symbols]:
    pairs = [x.of for x in letters(node) if isinstance(x, Symbol) and has_pair(x) and x.name != "M_i"]
    return list(dict.fromkeys([symbols, *(symbols.with_pair(*pair) for pair in pairs)]))


def rules_for(nodes: Iterable[Node], symbols: Symbols, setting: Setting) -> tuple[Rules, tuple[WordRule, ...]]:
    """The completed rules of the laws that define the symbols there, and those with a wild letter."""
    nodes = tuple(nodes)
    there = frozenset(x.name for node in nodes for x in letters(node) if isinstance(x, Symbol))
    sets = tuple(dict.fromkeys(one for node in nodes for one in _sets_there(node, symbols)))
    names = _law_names(there, setting)
    found = (x.of for node in nodes for x in inverses(node))
    opened = tuple(dict.fromkeys(x for x in found if not isinstance(x, Symbol) or x.name != "D"))
    return _complete(sets, names, opened), _wild_rules(sets, there, setting)


def _sets_there(node: Node, symbols: Symbols) -> list[Symbols]:
    """The symbols of the Riccati pairs that a node speaks of; the mechanism's own where it speaks of none. Two sets
    have no common completion: their equations say of one M what it is."""
    own, *others = all_symbols(node, symbols)
    spoken = {x.of for x in letters(node) if isinstance(x, Symbol) and has_pair(x)}
    return others if others and symbols.P.of not in spoken else [own, *others]


def _law_names(there: frozenset[str], setting: Setting) -> tuple[str, ...]:
    names = [name for symbol in AXIOMS if symbol in there for name in AXIOMS[symbol]]
    for symbol, more in _MORE.items():
        if symbol in there:
            names += [name for name in more if setting.meets(law_named(name).needs)]
    names += _motion_names(there)
    if there & (_BACK | _PICKS | _MASSES):
        names += _two_way_names(there, setting)
    for symbol, at_frame in _AT_FRAMES.items():
        if symbol in there and not setting.serial and setting.meets(law_named(at_frame).needs):
            names.append(at_frame)
    return tuple(dict.fromkeys(names))


def _motion_names(there: frozenset[str]) -> tuple[str, ...]:
    """The laws of brackets: what 𝓑 is made of where it stands alone, how they are carried along the links elsewhere."""
    if there & {"B_v", "hat"} and not there & _CARRIED:
        return _CORIOLIS
    return (*_BRACKETS, "axes_accelerated") if there & (_CARRIED | {"V_tilde", "alpha"}) else ()


def _two_way_names(there: frozenset[str], setting: Setting) -> Iterator[str]:
    """The laws of both ways along a chain, of steps or all the way, for what a statement speaks of."""
    far, masses = bool(there & {"phi", "phi_b"}), bool(there & _MASSES)
    chosen = [
        (_SHIFTS, far),
        (("phi_b_absorbs_shift", "shift_absorbed_by_phi_b"), far and (masses or "phi_b" in there)),
        (_BOTH_WAYS, masses or there & _PICKS or len(there & {"E_phi", "E_phi_b"}) == 2),
        (_OUT_AND_IN, "Pi_b" in there or not far),
        (_WHOLE_MASS, masses),
        (_STEP_BY_STEP, masses and not far),
        (("whole_mass_turns_one_shift",), masses and far),
        (("backward_composite",), far and "M_b" in there),
        (_WEIGHTED, there & _WEIGHTS_THERE),
        (_AT_THE_BASE_LINK, "pi_f" in there),
        (("base_moves_base_links",), "E" in there),
    ]
    return (name for names, wanted in chosen if wanted for name in names if setting.meets(law_named(name).needs))


@cache
def _complete(sets: tuple[Symbols, ...], names: tuple[str, ...], opened: tuple[Node, ...]) -> Rules:
    instances: dict[tuple[Node, Node], Instance] = {}
    for one in sets:
        for name in names:
            left, right = law_named(name).sides(one)
            if name not in _LINK_BY_LINK and name != "base_kills_shift":
                instances.setdefault((left, right), instance_of(law_named(name), left, right))
    wild = [*(_at_the_base(sets) if "base_kills_shift" in names else ()), *_link_by_link(sets, names)]
    instances |= {(instance.left, instance.right): instance for instance in wild}
    if any(name in names for name in _RICCATI):
        opened = (*(one.D for one in sets), *opened)
    if "whole_mass" in names:
        opened = (*(one.q for one in sets), *opened)
    for part in opened:
        for instance in (inverse_on_the_left(part), inverse_on_the_right(part)):
            instances[instance.left, instance.right] = instance
    return complete(instances.values(), order)


def _at_the_base(sets: tuple[Symbols, ...]) -> Iterator[Instance]:
    """ℰφXE* = 0 and KHXE* = 0 for the masses X there are: so that the completion knows what the wild rules do."""
    for one in sets:
        for mass in (one.M, one.P):
            (axes,) = expand(one.axes).terms
            for name, word in (("base_kills_shift", (mass,)), ("base_kills_gain", (*axes, mass))):
                law = law_named(name)
                (left,) = expand(law.sides(one)[0]).terms
                if isinstance(mass, Symbol):
                    yield WordRule(law, left, law.sides(one)[1]).instance(word)


def _link_by_link(sets: tuple[Symbols, ...], names: tuple[str, ...]) -> Iterator[Instance]:
    """Π_fX = XΠ_f* for the masses X that the completion works with."""
    for one in sets:
        for law in (law_named(name) for name in _LINK_BY_LINK if name in names):
            (left,) = expand(law.sides(one)[0]).terms
            for mass in (one.r, one.q.inv):
                yield WordRule(law, left, law.sides(one)[1]).instance((mass,))


@cache
def _wild_rules(sets: tuple[Symbols, ...], there: frozenset[str], setting: Setting) -> tuple[WordRule, ...]:
    rules: dict[Word, WordRule] = {}
    for symbol, names in _WILD.items():
        laws = [law_named(name) for name in names if symbol in there and setting.meets(law_named(name).needs)]
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
    return sum(map(_weight, word)), tuple(map(_letter_order, word))


@cache
def _weight(letter: Node) -> int:
    if isinstance(letter, Inverse):
        return 6
    inner = letter.of if isinstance(letter, Adjoint) else letter
    return _WEIGHTS.get(getattr(inner, "name", ""), 1)


@cache
def _letter_order(letter: Node) -> str:
    """q first of its weight, as q⁻¹ is: both then move to the left, and meet."""
    return "" if isinstance(letter, Symbol) and letter.name == "q" else spelling(letter)
