"""A slider-crank and a four-bar with a rod that bends, in Exudyn: absolute nodal coordinates, cable elements.

Run in an environment that has exudyn beside phistar (pip install exudyn):
`python benchmarks/multibody/exudyn_linkages.py`. Prints the far pin's place and the rod's middle at five times, which
`tests/dynamics/test_flexible_linkages.py` has, and how far `ps.beam` is from the far pin with a few modes.
The crank turns as told, so that its own inertia does not matter: it starts at rest and reaches 100 rad/s in 20 ms.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import math

import exudyn as exu
import numpy as np
from exudyn.beams import GenerateStraightLineANCFCable2D
from exudyn.itemInterface import (
    CoordinateConstraint,
    DistanceConstraint,
    MarkerBodyPosition,
    MarkerNodeCoordinate,
    MarkerNodePosition,
    MassPoint2D,
    NodePoint2D,
    NodePointGround,
    ObjectANCFCable2D,
    ObjectGround,
)
from segmented_motions import MOTIONS

CRANK, ROD, ROCKER, MASS = 0.15, 0.3, 0.25, 0.05
EI, RHO, EA = 4.0, 0.2, 4e6
SPEED, RISE = 100.0, 0.02
START = 0.5  # rad, where the crank begins
TIMES = (0.02, 0.03, 0.04, 0.05, 0.06)


def angle(t: float) -> float:
    """The crank's angle: its rate rises by 3τ² − 2τ³."""
    tau = min(t / RISE, 1.0)
    return START + SPEED * (RISE * (tau**3 - 0.5 * tau**4) + max(t - RISE, 0.0))


def far_pin(kind: str) -> tuple[float, float]:
    """Where the rod's far end is at the start: on the line y = 0, or on the rocker's circle about (ROD, 0)."""
    x, y = CRANK * math.cos(START), CRANK * math.sin(START)
    if kind == "slider-crank":
        return x + math.sqrt(ROD**2 - y**2), 0.0
    away = math.hypot(ROD - x, y)
    along = (ROD**2 - ROCKER**2 + away**2) / (2.0 * away)
    across = math.sqrt(ROD**2 - along**2)
    ux, uy = (ROD - x) / away, -y / away
    return x + along * ux - across * uy, y + along * uy + across * ux


def motion(kind: str, elements: int, step: float) -> np.ndarray:
    """Rows of the far pin's x, y and the rod's middle x, y at the times, m."""
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddNode(NodePointGround(referenceCoordinates=[0, 0, 0]))
    held = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    pin, end = (CRANK * math.cos(START), CRANK * math.sin(START)), far_pin(kind)
    cable = ObjectANCFCable2D(physicsMassPerLength=RHO, physicsBendingStiffness=EI, physicsAxialStiffness=EA)
    nodes = GenerateStraightLineANCFCable2D(mbs, [*pin, 0], [*end, 0], elements, cable)[0]
    told = (lambda t: CRANK * math.cos(angle(t)) - pin[0], lambda t: CRANK * math.sin(angle(t)) - pin[1])
    for entry, target in enumerate(told):
        driven = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=entry))
        follow = lambda mbs, t, number, offset, target=target: target(t)  # noqa: E731
        mbs.AddObject(CoordinateConstraint(markerNumbers=[held, driven], offset=0.0, offsetUserFunction=follow))
    load = mbs.AddNode(NodePoint2D(referenceCoordinates=list(end)))
    mbs.AddObject(MassPoint2D(physicsMass=MASS, nodeNumber=load))
    for entry in (0, 1):
        pair = [mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=n, coordinate=entry)) for n in (nodes[-1], load)]
        mbs.AddObject(CoordinateConstraint(markerNumbers=pair))
    if kind == "slider-crank":
        across = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=load, coordinate=1))
        mbs.AddObject(CoordinateConstraint(markerNumbers=[held, across]))
    else:
        pivot = mbs.AddObject(ObjectGround())
        ends = [
            mbs.AddMarker(MarkerBodyPosition(bodyNumber=pivot, localPosition=[ROD, 0, 0])),
            mbs.AddMarker(MarkerNodePosition(nodeNumber=load)),
        ]
        mbs.AddObject(DistanceConstraint(markerNumbers=ends, distance=ROCKER))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.95
    settings.timeIntegration.newton.relativeTolerance = 1e-6
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    found, begin = [], 0.0
    for time in TIMES:
        settings.timeIntegration.startTime, settings.timeIntegration.endTime = begin, time
        settings.timeIntegration.numberOfSteps = round((time - begin) / step)
        mbs.SolveDynamic(settings, updateInitialValues=True)
        places = [mbs.GetNodeOutput(nodes[k], exu.OutputVariableType.Position)[:2] for k in (-1, elements // 2)]
        found.append(np.concatenate(places))
        begin = time
    return np.array(found)


if __name__ == "__main__":
    for kind in ("slider-crank", "four-bar"):
        for elements, step in ((8, 1e-5), (16, 1e-5), (16, 5e-6)):
            print(kind, elements, step)
            found = np.array(motion(kind, elements, step))
            print(np.round(found, 6).tolist(), flush=True)
        for modes in (1, 2, 4):
            far = np.abs(MOTIONS[kind].bent(modes) - found[:, :2]).max() / ROD
            print(f"  {modes} modes: {far:.1e} of the rod's length from it", flush=True)
