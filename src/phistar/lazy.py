"""Public names that are loaded on first use, so that importing a package stays quick.

A package lists its public names once, as the imports of the stub `__init__.pyi` beside its `__init__.py`. Type checkers
and editors read the stub; at run time each name is imported when it is first asked for.
"""

from _ast import ImportFrom, PyCF_ONLY_AST  # importing ast itself would take as long as all the rest
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str,
    file: str,
    elsewhere: Mapping[str, str] | None = None,
    computed: Mapping[str, Callable[[], Any]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose public names are those its stub imports.

    `elsewhere` maps names that people try, from other libraries, to what stands for them here; `computed` makes values
    that no module has.
    """
    homes = stated_names(file.removesuffix(".py") + ".pyi")
    names = sorted(homes)

    def load(name: str) -> Any:
        if computed and name in computed:
            return computed[name]()
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{_hint(name, names, elsewhere or {})}")
        home = homes[name]
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        vars(import_module(package))[name] = value
        return value

    return load, lambda: names, names


PROVIDERS: dict[str, str] = {}
"""Package → the module, above it in the order of imports, that makes machine code for it. The whole package's front
door says so, where everything is known."""


def provider(package: str) -> Any:
    """The module that provides for a package, imported when it is first needed."""
    return import_module(PROVIDERS[package])


def stated_names(stub: str) -> dict[str, str]:
    """Each name that a stub imports, and the module it comes from."""
    with open(stub, encoding="utf-8") as source:
        tree = compile(source.read(), stub, "exec", flags=PyCF_ONLY_AST)
    lines = [node for node in tree.body if isinstance(node, ImportFrom)]  # type: ignore[union-attr]
    return {name.asname or name.name: node.module or "" for node in lines for name in node.names}


def _hint(name: str, names: list[str], elsewhere: Mapping[str, str]) -> str:
    if name in elsewhere:
        return f"; here it is {elsewhere[name]}"
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    near = get_close_matches(name, names)
    return f"; did you mean {' or '.join(near)}?" if near else ""
