"""Changes that spoil files: of bytes, of XML, and of trees of plain values (TOML, JSON)."""

import copy
import math
import tomllib
from collections.abc import Callable
from random import Random
from typing import Any
from xml.etree import ElementTree

from phistar.sim.scenes.toml import text_of

ElementTree.register_namespace("xacro", "http://www.ros.org/wiki/xacro")  # whose prefix is part of its names
Attempt = Callable[[], object]
HOW_MANY = [1, 1, 1, 1, 2, 2, 3, 5, 8]  # changes of a file: with few of them readers get far before they notice
LONG = 3000 * "x"
WORDS = [
    *["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e30", "1e999", "0", "-1", "-0.0", "1", "", " ", "1 2"],
    *["0 0 0", "1e30 1e30 1e30", "0 0 0 0 0 0", 400 * "9", "٣", "1_0", "${x}", "world", "root", "a", "\u202e🤖"],
    *[LONG, "../../../etc/passwd", "/dev/zero", "package://", "file:///dev/zero", "%s{}", "fixed", "floating", "true"],
    *["revolute", "prismatic", "free", "ball", "hinge", "mesh", "sphere", "a\x7fb", "//host/share", "C:\\x", "#", "-"],
]
NUMBERS = [
    0,
    -1,
    1,
    2,
    7,
    10**6,
    2**31,
    2**63,
    10**400,
    -(10**400),
    0.5,
    -0.0,
    1e-320,
    1e308,
    -1e308,
    math.nan,
    math.inf,
]
TAGS = [
    "link",
    "joint",
    "inertial",
    "geometry",
    "robot",
    "odd",
    "origin",
    "body",
    "geom",
    "freejoint",
    "default",
    "frame",
]


def mutated_bytes(random: Random, content: bytes) -> bytes:
    """Flips, cuts, repeats, insertions, and rarely an end."""
    made = bytearray(content)
    for _ in range(random.choice(HOW_MANY)):
        start = random.randrange(len(made)) if made else 0
        stop = min(len(made), start + random.randint(0, 200))
        match random.randrange(21):
            case 0:
                del made[start:]
            case 1 | 2 | 3:
                del made[start:stop]
            case 4 | 5 | 6:
                made[stop:stop] = made[start:stop] * random.randint(1, 5)
            case 7 | 8 | 9:
                made[start:start] = random.randbytes(random.randint(0, 20))
            case 10 | 11 | 12 if len(made) >= 8:  # a count or an offset
                place = random.randrange(len(made) - 7) & ~3
                made[place : place + 4] = random.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x7f", b"\0\0\1\0"])
            case _ if made:
                made[start] ^= 1 << random.randrange(8)
    return bytes(made)


def mutated_xml(random: Random, content: bytes) -> bytes:
    """Elements deleted, repeated, moved and renamed; attributes deleted, exchanged and given odd values."""
    root = ElementTree.fromstring(content)
    names = sorted({element.get("name", "x") for element in root.iter()})
    for _ in range(random.choice(HOW_MANY)):
        elements = list(root.iter())
        element = random.choice(elements)
        parent = next((each for each in elements if element in list(each)), None)
        attribute = random.choice(sorted(element.attrib) or ["name"])
        match random.randrange(9):
            case 0 | 1:
                element.set(attribute, random.choice(WORDS))
            case 2:
                element.set(attribute, random.choice(names))
            case 3:
                element.set(
                    attribute, " ".join(str(random.choice(NUMBERS)) for _ in element.get(attribute, "0").split())
                )
            case 4:
                element.attrib.pop(attribute, None)
            case 5 if parent is not None:
                parent.remove(element)
            case 6 if parent is not None:
                parent.append(copy.deepcopy(element))
            case 7 if parent is not None:
                parent.remove(element)
                root.append(element)
            case _:
                element.tag = random.choice(TAGS)
    return ElementTree.tostring(root)


def mutated_tree(random: Random, tree: Any, most: int = 3) -> Any:
    """A tree of plain values with entries changed, dropped and added."""
    made = copy.deepcopy(tree)
    for _ in range(random.choice([1, 1, random.randint(1, most)])):
        holder, key = random.choice(list(_places(made)) or [(None, None)])
        if holder is None:
            return odd_value(random)
        match random.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[random.choice(WORDS)] = odd_value(random)
            case 1 | 2 if isinstance(holder, list):
                holder.append(odd_value(random))
            case _:
                holder[key] = odd_value(random)
    return made


def odd_value(random: Random, depth: int = 0) -> Any:
    """A value of any kind."""
    match random.randrange(8 if depth < 3 else 5):
        case 0 | 1:
            return random.choice(NUMBERS)
        case 2 | 3:
            return random.choice(WORDS)
        case 4:
            return random.choice([True, False])
        case 5 | 6:
            return [odd_value(random, depth + 1) for _ in range(random.randint(0, 7))]
        case _:
            return {random.choice(WORDS): odd_value(random, depth + 1) for _ in range(random.randint(0, 3))}


def _places(tree: Any) -> Any:
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in entries:
        yield tree, key
        yield from _places(value)


def spoiled_toml(random: Random, text: str) -> str:
    if random.random() < 0.2:
        return mutated_bytes(random, text.encode()).decode("utf-8", "replace")
    try:
        return text_of(mutated_tree(random, tomllib.loads(text)))
    except (TypeError, AttributeError, RecursionError):  # no longer a tree that TOML can hold
        return text
