"""The same capture from a base that nothing holds: it gives way, and all momentum stays."""

import phistar as ps

FILM = {"speed": 4.0}


def motion() -> ps.Trajectory:
    return ps.Scene.load("grapple-free").run(seed=0)
