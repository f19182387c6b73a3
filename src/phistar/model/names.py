"""Looking up names, with the nearest ones suggested."""

from collections.abc import Iterable
from difflib import get_close_matches

from phistar.errors import UnknownNameError


def unknown(kind: str, name: object, known: Iterable[str], where: str) -> UnknownNameError:
    """The error for a name that is not there: "robot has no frame 'tol'; did you mean 'tool'?"."""
    names = list(known)
    near = get_close_matches(str(name), names, n=3) if len(names) <= 2000 else []
    if near:
        hint = "did you mean " + " or ".join(f"'{item}'" for item in near) + "?"
    elif names:
        more = ", …" if len(names) > 8 else ""
        hint = f"there are: {', '.join(names[:8])}{more}."
    else:
        hint = "there are none."
    return UnknownNameError(f"{where} has no {kind} '{name}'; {hint}")
