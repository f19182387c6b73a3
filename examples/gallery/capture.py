"""Two PUMA 560 arms plan, reach for, touch and hold a tumbling satellite (WD89)."""

import phistar as ps

FILM = {"speed": 4.0}


def motion() -> ps.Trajectory:
    return ps.Scene.load("grapple").run(seed=0)
