"""xacro files, the macros of ROS, expanded to URDF by the package `xacro` where it is installed.

Macros are programs: xacro evaluates expressions as Python, reads any file that they name, and tells them the
environment. Here its doors are held while it works. Expressions are arithmetic, comparisons, indices and calls of
functions by name; files lie in the folders that the robot may name files in; `$(find …)` looks there; the environment
is not told; and what is expanded has a bound.
"""

import ast
import contextlib
import io
import operator
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from phistar.errors import FileError
from phistar.io import xml
from phistar.io.packages import Folders
from phistar.io.xml import quote
from phistar.safe_files import read_text

_LOCK = threading.Lock()  # xacro keeps its state in its module
_MOST_STEPS = 1_000_000  # texts and elements evaluated and put in place
_LETTERS = 100  # of a text that an expression gives, in a step
_SIBLINGS = 500  # elements beside which one is put in place in a step: minidom looks through all of them
_LONGEST_EXPRESSION = 10_000
_NODES = (
    *(ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Name),
    *(ast.Load, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Subscript, ast.Slice, ast.Attribute),
    *(ast.boolop, ast.unaryop, ast.cmpop, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
)
# What leads from values to programs, reads files, or makes much of little.
_REFUSED_NAMES = (
    *("type", "vars", "dir", "getattr", "format", "format_map", "python", "load_yaml", "range", "map", "filter", "zip"),
    *(
        "sorted",
        "reversed",
        "set",
        "slice",
        "enumerate",
        "repr",
        "factorial",
        "comb",
        "perm",
        "join",
        "replace",
        "ljust",
    ),
    *("rjust", "center", "zfill", "expandtabs", "translate"),
)
_LARGEST_POWER, _LARGEST_NUMBER, _LONGEST_TEXT, _MOST_ENTRIES = 16, 1e30, 100_000, 1_000
_COMMAND = re.compile(r"\$\(\s*(find|arg|optenv|cwd|dirname)\b\s*([^()]*)\)")


def expand(path: Path, folders: Folders) -> xml.Element:
    """Return the root of the URDF that a xacro file makes, with the defaults of its arguments."""
    try:
        import xacro
    except ImportError:
        raise FileError(
            f"{path} is a macro file, which needs the package xacro: pip install 'phistar[xacro]'."
        ) from None
    with (
        _LOCK,
        _guarded_xacro(xacro, folders),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            made: Any = xacro.process_file(str(path), mappings={})
            text = made.toprettyxml(indent=" ")
        except FileError:
            raise
        except (Exception, SystemExit) as error:  # xacro raises whatever its expressions do
            cause = getattr(error, "exc", None)
            if isinstance(cause, FileError):
                raise cause from None
            raise FileError(f"{path}: xacro cannot expand it ({str(error) or type(error).__name__:.300}).") from None
    return xml.parse(text, f"{path}, expanded")


@contextlib.contextmanager
def _guarded_xacro(xacro: Any, folders: Folders) -> Iterator[None]:
    """xacro with our readers and our evaluator in the place of its own."""
    steps = [0]

    def spend(count: int) -> None:
        steps[0] += count
        if steps[0] > _MOST_STEPS:
            raise FileError(f"the macros come to more than {_MOST_STEPS} steps, the most that are expanded.")

    def count_steps(
        function: Callable[..., Any], cost: Callable[..., int] = lambda *given, **named: 1
    ) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            spend(cost(*given, **named))
            return function(*given, **named)

        return step

    def evaluate(*given: Any, **named: Any) -> Any:
        value = _safe_value(*given, **named)
        spend(len(value) // _LETTERS if isinstance(value, str) else 0)
        return value

    ours: dict[str, Callable[..., Any]] = {
        "eval_text": count_steps(xacro.eval_text),
        "eval_all": count_steps(xacro.eval_all),
        "replace_node": count_steps(xacro.replace_node, _placing),
        "safe_eval": evaluate,
        "parse": lambda source, filename=None: _parse_document(folders, filename),
        "load_yaml": lambda filename: _refuse_yaml(filename),
        "eval_extension": lambda text: _substitute(xacro, folders, text),
    }
    before = {name: getattr(xacro, name) for name in ours}
    for name, function in ours.items():
        setattr(xacro, name, function)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(xacro, name, function)


def _placing(node: Any, by: Any, content_only: bool = False) -> int:
    """The steps that it takes to put elements in the place of a node."""
    put = sum(len(each.childNodes) if content_only else 1 for each in (by if isinstance(by, list) else [by]) if each)
    return put * (1 + len(node.parentNode.childNodes) // _SIBLINGS)


def _safe_value(expression: str, names: dict[str, Any], locals: Any = None) -> Any:
    """The value of an expression without anything that leads from values to the program that holds them."""
    if len(expression) > _LONGEST_EXPRESSION:
        raise FileError(f"an expression of {len(expression)} characters is longer than {_LONGEST_EXPRESSION}.")
    tree = ast.parse(expression.strip(), mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise FileError(f"the expression {quote(expression)} has {type(node).__name__}, which is not evaluated.")
        word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        hidden = word.startswith("_") or re.match(r"(gi|cr|ag|tb|co|f|func|im)_", word) or word in _REFUSED_NAMES
        if hidden or (isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name | ast.Attribute)):
            raise FileError(f"the expression {quote(expression)} names {quote(word)}, which is not evaluated.")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute):
            raise FileError(f"the expression {quote(expression)} calls what it makes, which is not evaluated.")
    bounded = ast.fix_missing_locations(_Bounded().visit(tree))
    names.update(__builtins__={f"__{name}": function for name, function in _OPERATIONS.items()})
    value = eval(compile(bounded, "<expression>", "eval"), names, locals)
    _check_entries(value)
    return value


def _check_entries(value: Any) -> None:
    """Refuse lists within lists that would print or compare for ever."""
    left, count = [value], 0
    while left:
        each = left.pop()
        count += 1
        if isinstance(each, dict):
            left.extend((*each.keys(), *each.values()))
        elif isinstance(each, list | tuple):
            left.extend(each)
        if count + len(left) > _MOST_ENTRIES:
            raise FileError(f"an expression makes a list of more than {_MOST_ENTRIES} entries.")


class _Bounded(ast.NodeTransformer):
    """Sums, products, powers and remainders become calls of functions that look at what they are given."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = type(node.op).__name__
        if name not in _OPERATIONS:
            return node
        return ast.Call(ast.Name(f"__{name}", ast.Load()), [node.left, node.right], [])


def _bounded_operation(compute: Callable[[Any, Any], Any], lists: bool) -> Callable[[Any, Any], Any]:
    """An operation on numbers, and on texts and lists only where it cannot make them long."""

    def operation(left: Any, right: Any) -> Any:
        plain = all(isinstance(each, int | float) and abs(each) < _LARGEST_NUMBER for each in (left, right))
        short = lists and all(isinstance(each, str | list) and len(each) < _LONGEST_TEXT for each in (left, right))
        if not plain and not short:
            raise FileError("an expression computes with texts or numbers that are too large.")
        return compute(left, right)

    return operation


def _power(left: Any, right: Any) -> Any:
    return float(left) ** right if abs(right) > _LARGEST_POWER else left**right


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": _bounded_operation(operator.add, lists=True),
    "Mult": _bounded_operation(operator.mul, lists=False),
    "Mod": _bounded_operation(operator.mod, lists=False),
    "Pow": _bounded_operation(_power, lists=False),
}


def _parse_document(folders: Folders, filename: Any) -> Any:
    """The document of a file in the allowed folders, after our own reader has found it harmless."""
    from xml.dom import minidom

    found = folders.find(str(filename))
    if found.path is None:
        raise FileError(f"the file {quote(str(filename))} {found.reason}; {folders.advice(str(filename))}.")
    text = read_text(found.path, "a xacro file", xml.MAX_BYTES)
    xml.parse(text, str(found.path))  # refuses entities, depths and sizes
    return minidom.parseString(text.strip().encode())


def _refuse_yaml(filename: Any) -> Any:
    raise FileError(
        f"the macros read {quote(str(filename))}; YAML files are not read: expand the file with xacro first."
    )


def _substitute(xacro: Any, folders: Folders, text: str) -> str:
    """$(find package), $(arg name), $(optenv NAME default), $(cwd) and $(dirname)."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        raise FileError(f"{quote(text)} is not substituted; $(find …), $(arg …) and $(optenv …) are.")
    command, given = found[1], found[2].strip()
    if command == "arg":
        known = xacro.substitution_args_context.get("arg", {})
        if given not in known:
            raise FileError(
                f"the argument {quote(given)} of the macros has no default; expand the file with xacro first."
            )
        return str(known[given])
    if command == "optenv":
        return given.partition(" ")[2].strip()
    return str(folders.own) if command in ("cwd", "dirname") else _package(folders, given)


def _package(folders: Folders, name: str) -> str:
    for folder in (*folders.packages, folders.own):
        for place in (folder / name, folder):
            if place.name == name and place.is_dir():
                return str(place)
    near = next((above for above in folders.own.parents[:3] if (above / name).is_dir() or above.name == name), None)
    where = near.parent if near is not None and near.name == name else near
    advice = f"packages={str(where)!r}, on the command line --packages {where}" if where else "packages=DIR"
    raise FileError(f"$(find {name[:60]}): there is no package of this name in the allowed folders; give {advice}.")
