"""Names that are loaded when they are first used, so that importing a package stays quick."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names live in the modules `homes` gives."""
    names = sorted(homes)

    def found(name: str) -> Any:
        if name not in homes:
            from difflib import get_close_matches

            near = [] if name.startswith("_") else get_close_matches(name, names)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = import_module(homes[name])
        value = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        vars(import_module(package))[name] = value
        return value

    return found, lambda: names, names
