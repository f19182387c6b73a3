"""Looking up names, with the nearest ones suggested."""

from collections.abc import Iterable
from difflib import get_close_matches

from phistar.errors import UnknownNameError

_LONGEST = 120  # characters of a name that messages show


def unknown(kind: str, name: object, known: Iterable[str], where: str) -> UnknownNameError:
    """The error for a name that is not there: "robot has no frame 'tol'; did you mean 'tool'?"."""
    names, asked = list(known), str(name)
    near = get_close_matches(asked[:_LONGEST], names, n=3) if len(names) <= 2000 else []
    if near:
        hint = "did you mean " + " or ".join(f"'{_short(item)}'" for item in near) + "?"
    elif names:
        more = ", …" if len(names) > 8 else ""
        hint = f"there are: {', '.join(map(_short, names[:8]))}{more}."
    else:
        hint = "there are none."
    return UnknownNameError(f"{_short(where)} has no {kind} '{_short(asked)}'; {hint}")


def names_given(given: object, kind: str = "frame") -> tuple[str, ...]:
    """One name, or several, as a tuple of names."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise UnknownNameError(f"The name of a {kind} was expected, or a list of names; it is {given!r:.100}.")
    return names


def _short(name: str) -> str:
    """A stranger's name as it may stand in a sentence."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
