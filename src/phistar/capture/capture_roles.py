"""Roles in a capture: the base, the target and the hands, by the names that the scene gives them.

[controller]
law = "grapple"
base = "base"
target = "satellite"

[[controller.hands]]
name = "left"
frame = "left/tool"
fingers = ["left_finger1", "left_finger2", "left_finger3"]

A hand that closes names the joints that slide its two fingers too, in the same order: closing = ["jaw/one", "jaw/two"].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from phistar.errors import FileError, ModelError

KEYS = ("base", "target", "hands")


@dataclass(frozen=True)
class HandLayout:
    """A hand by its names.

    Parameters
    ----------
    name : str
        What its readings and facts begin with: `NAME_joints`, `NAME_wrist`, `NAME_tips`, and `NAME_jaw` of one that
        closes.
    frame : str
        The frame at the end of the arm that carries it.
    fingers : sequence of str
        The shapes that are to touch the target: capsules and spheres touch with their ends, boxes and cylinders with
        the flat side that looks away from the arm. Those of a jaw are two boxes, one on each joint.
    closing : sequence of str, optional
        The joints that slide the two fingers of a parallel jaw, in the order of `fingers`; none: the hand is rigid.
    """

    name: str
    frame: str
    fingers: tuple[str, ...]
    closing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fingers", tuple(self.fingers))
        object.__setattr__(self, "closing", tuple(self.closing))
        if not self.name.isidentifier():
            raise ModelError(f"A hand's name stands in rules, as NAME_push does; {self.name!r:.100} cannot.")
        if not self.fingers or len(set(self.fingers)) < len(self.fingers):
            raise ModelError(f"The hand {self.name!r} needs the names of its fingers, each once: {self.fingers!r:.200}")
        if self.closing and not len(set(self.closing)) == len(self.closing) == len(self.fingers) == 2:
            raise ModelError(
                f"The hand {self.name!r} closes: it needs two fingers and two joints that slide them; they are "
                f"{self.fingers!r:.100} and {self.closing!r:.100}."
            )


@dataclass(frozen=True)
class CaptureLayout:
    """Who captures what.

    Parameters
    ----------
    target : str
        The body that is to be captured; its sightings are the reading of this name, _ in the place of /.
    hands : sequence of HandLayout
        One or more, each at the end of an arm of its own.
    base : str
        The frame that carries the arms and that sightings are seen from; where it floats, the reading of this name
        tells how, _ in the place of /.

    Examples
    --------
    >>> from phistar.capture import CaptureLayout, HandLayout
    >>> hand = HandLayout("left", "left/tool", ("left_finger1", "left_finger2", "left_finger3"))
    >>> CaptureLayout("satellite", (hand,)).base
    'base'
    """

    target: str
    hands: tuple[HandLayout, ...]
    base: str = "base"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hands", tuple(self.hands))
        names = [hand.name for hand in self.hands]
        if not names or len(set(names)) < len(names):
            raise ModelError(f"A capture needs hands, each with a name of its own; they are called {names!r:.200}.")
        if len({bool(hand.closing) for hand in self.hands}) > 1:
            raise ModelError(
                "Hands that close hold by themselves, rigid ones push on each other; a capture has either, not both: "
                + ", ".join(f"{hand.name} {'closes' if hand.closing else 'is rigid'}" for hand in self.hands)
            )

    @property
    def target_reading(self) -> str:
        """The name of the target's sightings."""
        return self.target.replace("/", "_")

    @property
    def base_reading(self) -> str:
        """The name of the reading of a base that floats."""
        return self.base.replace("/", "_")

    @staticmethod
    def of(given: Mapping[str, Any]) -> CaptureLayout:
        """The layout that a [controller] table tells."""
        hands = given.get("hands")
        if not isinstance(hands, Sequence) or isinstance(hands, str) or not hands:
            raise FileError(
                "[controller] hands: the capturing hands are listed in [[controller.hands]], each with name, frame and "
                f"fingers; it is {hands!r:.100}."
            )
        return CaptureLayout(
            _text(given, "target", "[controller]"),
            tuple(_hand(each, f"[[controller.hands]] {number}") for number, each in enumerate(hands, 1)),
            _text(given, "base", "[controller]"),
        )


def _hand(given: Any, where: str) -> HandLayout:
    needed = {"name", "frame", "fingers"}
    if not isinstance(given, Mapping) or not needed <= set(given) <= {*needed, "closing"}:
        raise FileError(f"{where}: a hand has name, frame and fingers, and closing if it does; it is {given!r:.200}.")
    name, frame = _text(given, "name", where), _text(given, "frame", where)
    return HandLayout(name, frame, _names(given["fingers"], where, "fingers"), _names(given.get("closing", []), where))


def _names(given: Any, where: str, key: str = "closing") -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        told = "shapes" if key == "fingers" else "joints"
        raise FileError(f"{where}, {key}: a list of names of {told} was expected; it is {given!r:.200}.")
    return tuple(given)


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value:
        raise FileError(f"{where} {key}: a name was expected; it is {value!r:.100}.")
    return value
