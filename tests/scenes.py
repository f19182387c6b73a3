"""Little scenes, as the text of their files: a ball, a floor, and what a test puts in their place or beside them."""

import json

FLOOR = {"name": "ground", "shapes": [{"name": "floor", "plane": True}]}
LISTS = ("parts", "parts.shapes", "contacts", "disturbances", "sensors")
BRIEF = {"duration": 0.02, "sample": 0.01, "step": 0.005}


def ball(name="ball", **changes):
    """A free ball of 1 kg and 0.1 m at the origin."""
    return {"name": name, "joint": "free", "mass": 1.0} | changes | {"shapes": [{"sphere": 0.1}]}


def little_scene(*parts, time=BRIEF, **tables):
    """Its file, one entry a line: `little_scene(FLOOR, ball(mass=2.0), surface={"friction": 0.4})`.

    Numbers and words come first, then tables, then lists of tables, each in the order given.
    """
    given = {"format_version": 1, "time": time, "parts": parts or (ball(),)} | tables
    order = sorted(given.items(), key=lambda entry: 2 * (entry[0] in LISTS) + isinstance(entry[1], dict))
    return "\n".join(_lines(dict(order))) + "\n"


def _lines(tables, place=""):
    for key, value in tables.items():
        inner = f"{place}{key}"
        if isinstance(value, dict) and not place:
            yield f"[{inner}]"
            yield from _lines(value, f"{inner}.")
        elif inner in LISTS:
            for each in value:
                yield f"[[{inner}]]"
                yield from _lines(each, f"{inner}.")
        else:
            yield f"{key} = {_value(value)}"


def _value(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
